//! `reverie lsp`: the server on stdin and stdout.

use settings::Environment;

use crate::logging;

pub async fn run() -> anyhow::Result<u8> {
    let environment = Environment::of_process();
    logging::start(&environment, logging::Stderr::Everything);
    let options = lsp::Options {
        environment,
        cwd: std::env::current_dir()?,
        command_line_settings: None,
        watch_parent: true,
    };
    Ok(lsp::serve(tokio::io::stdin(), tokio::io::stdout(), options).await)
}
