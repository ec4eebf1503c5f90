//! Logs: to stderr for servers, and to a file that rotates. Never to stdout, which is the wire.

use std::{
    backtrace::Backtrace,
    fs::DirBuilder,
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use settings::{Environment, directories};
use tracing_appender::rolling::{self, RollingFileAppender};
use tracing_subscriber::{EnvFilter, Layer, fmt::MakeWriter, layer::SubscriberExt, util::SubscriberInitExt};

pub enum Stderr {
    Everything,
    /// The terminal belongs to the conversation.
    Nothing,
}

/// The filter is `REVERIE_LOG`; without it, warnings, and in the file the decisions about permissions. A panic is logged
/// with its backtrace.
pub fn start(environment: &Environment, stderr: Stderr) {
    let wanted = environment.get("REVERIE_LOG");
    let filter = |default: &str| {
        EnvFilter::try_new(wanted.unwrap_or(default)).unwrap_or_else(|_| EnvFilter::new(default))
    };
    let on_stderr = match stderr {
        Stderr::Everything => Some(
            tracing_subscriber::fmt::layer()
                .with_writer(io::stderr)
                .with_ansi(false)
                .with_filter(filter("warn")),
        ),
        Stderr::Nothing => None,
    };
    let folder = directories::config_home(environment).join("reverie-logs");
    let file = LogFile { folder, file: Arc::default() };
    let in_file = tracing_subscriber::fmt::layer()
        .with_writer(file)
        .with_ansi(false)
        .with_filter(filter("warn,permission=info"));
    tracing_subscriber::registry().with(on_stderr).with(in_file).init();
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!("{panic}\n{}", Backtrace::force_capture());
    }));
}

/// Seven days of logs. Opened with the first line, so that a start without trouble does not touch the disk.
#[derive(Clone)]
struct LogFile {
    folder: PathBuf,
    file: Arc<Mutex<Option<RollingFileAppender>>>,
}

impl LogFile {
    fn open(&self) -> io::Result<RollingFileAppender> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        rolling::Builder::new()
            .rotation(rolling::Rotation::DAILY)
            .filename_prefix("reverie")
            .filename_suffix("log")
            .max_log_files(7)
            .build(&self.folder)
            .map_err(io::Error::other)
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            *file = Some(self.open()?);
        }
        file.as_mut().map_or(Ok(line.len()), |file| file.write(line))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map_or(Ok(()), Write::flush)
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
