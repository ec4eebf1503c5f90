//! The binary `reverie`: a server for editors, and a client of that same server for the terminal.

mod arguments;
mod ask;
mod chat;
mod client;
mod context_report;
mod conversation;
mod debug;
mod doctor;
mod dream;
mod logging;
mod memory;
mod opening;
mod prompt;
mod questions;
mod serve;
mod sessions;
mod signals;
mod terminal;
mod trust;
mod view;

use std::{io::Write, process::ExitCode};

use arguments::Command;

/// The sizes below are small on purpose: the work is waiting for a network and for people.
const WORKER_THREADS: usize = 2;

fn main() -> ExitCode {
    if let Some(code) = sandbox::enter() {
        return code;
    }
    let command = match arguments::parse(std::env::args_os()) {
        Ok(command) => command,
        Err(message) => {
            terminal::complain(&format!("{message}\nTry 'reverie --help'."));
            return ExitCode::from(exit::USAGE);
        }
    };
    let code = match run(command) {
        Ok(code) => code,
        Err(error) => {
            terminal::complain(&format!("{error:#}"));
            exit::FAILED
        }
    };
    ExitCode::from(code)
}

fn run(command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Print(text) => {
            // A closed pipe (`reverie --help | head -1`) is nobody's error.
            if let Err(error) = std::io::stdout().write_all(text.as_bytes()) {
                tracing::debug!(%error, "stdout is closed");
            }
            Ok(exit::DONE)
        }
        Command::DebugTokens => debug::tokens(),
        Command::DebugShell => debug::shell::shell(),
        Command::DebugSecrets => debug::secrets(),
        Command::DebugLayout { session, cwd } => in_runtime(debug::layout::run(&session, cwd)),
        Command::DebugRank { directory } => debug::rank::run(directory),
        Command::Dream { what, scope } => in_runtime(dream::run(what, scope)),
        Command::Memory { what, scope } => in_runtime(memory::run(what, scope)),
        Command::DebugPath { root, deed } => debug::path::run(&root, deed),
        Command::DebugSandbox(contained) => debug::sandbox::run(contained),
        Command::Lsp { assistant } => in_runtime(serve::run(assistant)),
        Command::Ask(options) => in_runtime(ask::run(options)),
        Command::Chat(options) => in_runtime(chat::run(options)),
        Command::SessionsList { query, all, scope } => in_runtime(sessions::list(query, all, scope)),
        Command::SessionsShow { id, scope } => in_runtime(sessions::show(&id, scope)),
        Command::SessionsSearch { search, scope } => in_runtime(sessions::search(search, scope)),
        Command::SessionsExport { id, format, to, scope } => {
            in_runtime(sessions::export(&id, format, to, scope))
        }
        Command::SessionsFork { id, scope } => in_runtime(sessions::fork(&id, scope)),
        Command::SessionsRewind { id, message, restore_files, force, scope } => {
            in_runtime(sessions::rewind(&id, &message, restore_files, force, scope))
        }
        Command::Trust { change, scope } => in_runtime(trust::run(change, scope)),
        Command::Doctor { repair, repairs, scope } => in_runtime(doctor::run(repair, repairs, scope)),
    }
}

fn in_runtime(work: impl Future<Output = anyhow::Result<u8>>) -> anyhow::Result<u8> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(WORKER_THREADS).enable_all().build()?;
    let outcome = runtime.block_on(work);
    // A read of stdin that nobody waits for any more must not keep the process.
    runtime.shutdown_background();
    outcome
}

/// What the process says when it ends.
mod exit {
    pub const DONE: u8 = 0;
    pub const FAILED: u8 = 1;
    pub const USAGE: u8 = 2;
    pub const CANCELLED: u8 = 130;
}
