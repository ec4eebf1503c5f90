//! `reverie lsp`: the server on stdin and stdout.

use std::{
    io,
    pin::{Pin, pin},
    task::{Context, Poll},
};

use settings::Environment;
use tokio::{
    io::{AsyncRead, ReadBuf},
    signal::unix::{Signal, SignalKind, signal},
};

use crate::{logging, opening};

/// `assistant`: a log for each day instead of an index.
pub async fn run(assistant: bool) -> anyhow::Result<u8> {
    let environment = Environment::of_process();
    logging::start(&environment, logging::Stderr::Everything);
    let options = lsp::Options {
        environment,
        cwd: std::env::current_dir()?,
        command_line_settings: assistant.then(opening::assistant),
        watch_parent: true,
        faults: lsp::Faults::default(),
    };
    // A file-size limit is a failed write, not the end of the server; a handler makes it one.
    let _file_too_large = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?;
    let input = Input {
        stdin: tokio::io::stdin(),
        terminate: signal(SignalKind::terminate())?,
        interrupt: signal(SignalKind::interrupt())?,
    };
    Ok(lsp::serve(input, tokio::io::stdout(), options).await)
}

/// stdin, which ends when the process is told to: the server then ends as it does when an editor hangs up, turns and
/// their commands included, instead of leaving them behind.
struct Input {
    stdin: tokio::io::Stdin,
    terminate: Signal,
    interrupt: Signal,
}

impl AsyncRead for Input {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.terminate.poll_recv(context).is_ready() || self.interrupt.poll_recv(context).is_ready() {
            return Poll::Ready(Ok(()));
        }
        pin!(&mut self.stdin).poll_read(context, buffer)
    }
}
