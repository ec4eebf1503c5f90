//! Logs: to stderr for servers, and to a file that rotates. Never to stdout, which is the wire.

use settings::{Environment, directories};
use tracing_subscriber::{EnvFilter, Layer, layer::SubscriberExt, util::SubscriberInitExt};

pub enum Stderr {
    Everything,
    /// The terminal belongs to the conversation.
    Nothing,
}

/// The filter is `REVERIE_LOG`; without it, warnings. A file is only written when the variable is set.
pub fn start(environment: &Environment, stderr: Stderr) {
    let wanted = environment.get("REVERIE_LOG");
    let filter = || EnvFilter::try_new(wanted.unwrap_or("warn")).unwrap_or_else(|_| EnvFilter::new("warn"));
    let on_stderr = match stderr {
        Stderr::Everything => Some(
            tracing_subscriber::fmt::layer()
                .with_writer(std::io::stderr)
                .with_ansi(false)
                .with_filter(filter()),
        ),
        Stderr::Nothing => None,
    };
    let file = wanted.and_then(|_| log_file(environment)).map(|writer| {
        tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(false).with_filter(filter())
    });
    tracing_subscriber::registry().with(on_stderr).with(file).init();
}

fn log_file(environment: &Environment) -> Option<tracing_appender::rolling::RollingFileAppender> {
    let folder = directories::config_home(environment).join("reverie-logs");
    tracing_appender::rolling::Builder::new()
        .rotation(tracing_appender::rolling::Rotation::DAILY)
        .filename_prefix("reverie")
        .filename_suffix("log")
        .max_log_files(7)
        .build(folder)
        .ok()
}
