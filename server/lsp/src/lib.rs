//! The language server: editors on one side, the agent on the other.
//!
//! The only crate that knows JSON-RPC. Frames come in through `framing`, become messages in `message` and are taken in
//! wire order by `ingress`; requests go to `handlers` through tower-lsp's router; everything outgoing leaves through
//! `outbound`. No handler runs a turn or waits for the client.

mod client;
mod configuration;
mod convert;
mod documents;
mod framing;
mod frontend;
mod handlers;
mod ingress;
mod language;
mod lifecycle;
mod message;
mod outbound;
mod server;
mod settings_watch;
#[cfg(test)]
mod testing;
mod uri;

use std::path::PathBuf;

use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};
use tower_lsp::jsonrpc::{ErrorCode, Id, Request, Response};

pub use agent::{Faults, WallClock};
use framing::{Frame, FrameReader};
use ingress::Ingress;
use lifecycle::{ENDING_LIMIT, End, LAST_WORDS_LIMIT};
use message::BadMessage;
use outbound::Outbound;
use server::Server;

/// What a server is started with.
pub struct Options {
    pub environment: settings::Environment,
    /// The workspace folder of a client that names none.
    pub cwd: PathBuf,
    /// What the command line sets; an object like a settings file.
    pub command_line_settings: Option<Value>,
    /// Whether to end when the process that `initialize` names is gone; not for clients in this very process.
    pub watch_parent: bool,
    /// Where tests let it fail; none by default.
    pub faults: Faults,
}

/// Serves one client until it exits, closes the link or dies. Returns the process's exit code: 0 after `shutdown`, 1
/// without. The caller should end the process then, since a blocked read of stdin may outlive this call.
pub async fn serve<I, O>(input: I, output: O, options: Options) -> u8
where
    I: AsyncRead + Unpin + Send + 'static,
    O: AsyncWrite + Unpin + Send + 'static,
{
    let watch_parent = options.watch_parent;
    let outbound = Outbound::default();
    let server = Server::new(options, outbound.clone());
    run(server, outbound, input, output, watch_parent).await
}

async fn run<I, O>(server: Server, outbound: Outbound, input: I, output: O, watch_parent: bool) -> u8
where
    I: AsyncRead + Unpin + Send + 'static,
    O: AsyncWrite + Unpin + Send + 'static,
{
    let writer = tokio::spawn(outbound.clone().write_to(output));
    let mut ingress = Ingress::new(server.clone().into_service(), server.clone());
    let parent_death = async {
        if !watch_parent {
            std::future::pending::<()>().await;
        }
        lifecycle::process_death(server.parent().await).await;
    };
    let end = tokio::select! {
        end = read(FrameReader::new(input), &mut ingress) => end,
        () = parent_death => End::ParentDied,
        () = outbound.broken() => End::OutputClosed,
    };
    tracing::info!(?end, "ending");
    let ending = async {
        server.shut_down().await;
        // A client that only closed its own side may still be reading.
        if end == End::InputClosed {
            ingress.all_answered().await;
        }
    };
    if timeout(ENDING_LIMIT, ending).await.is_err() {
        tracing::warn!("not everything ended in time");
    }
    outbound.close();
    if timeout(LAST_WORDS_LIMIT, writer).await.is_err() {
        tracing::debug!("the client did not read everything");
    }
    lifecycle::exit_code(ingress.shutdown_received())
}

async fn read<I, S>(mut frames: FrameReader<I>, ingress: &mut Ingress<S>) -> End
where
    I: AsyncRead + Unpin,
    S: tower::Service<Request, Response = Option<Response>, Future: Send + 'static>,
{
    loop {
        let body = match frames.next().await {
            Frame::Body(body) => body,
            Frame::Bad(message) => {
                ingress.refuse(BadMessage { id: Id::Null, code: ErrorCode::ParseError, message }).await;
                continue;
            }
            Frame::End => return End::InputClosed,
        };
        let bad = match message::parse(&body) {
            Ok(incoming) => {
                if ingress.receive(incoming).await.is_break() {
                    return End::Exit;
                }
                continue;
            }
            Err(bad) => bad,
        };
        frames.reject(body);
        ingress.refuse(bad).await;
    }
}

#[cfg(test)]
mod tests;
