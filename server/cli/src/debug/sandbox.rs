//! `reverie debug sandbox --memory DIR -- PROGRAM ARGUMENTS…`: runs a program as a background agent's commands are run.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use sandbox::{Ending, Walls};

use crate::terminal;

/// What shells say of a command that was found but not run, and `timeout` of one that took too long.
const NOT_RUN: u8 = 126;
const TOO_LONG: u8 = 124;
/// A signal's number is added to this.
const SIGNALLED: i32 = 128;

#[derive(Debug)]
pub struct Contained {
    pub memory: PathBuf,
    pub what: What,
    pub limit: Duration,
}

/// No command that only looks takes longer.
pub const LIMIT: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub enum What {
    Program {
        program: OsString,
        arguments: Vec<OsString>,
    },
    /// A line for the shell, unjudged.
    Shell(OsString),
}

/// With our streams and in our folder; the program's exit code is ours.
pub fn run(Contained { memory, what, limit }: Contained) -> anyhow::Result<u8> {
    let memory = match memory.canonicalize() {
        Ok(memory) if memory.is_dir() => memory,
        Ok(_) => return Ok(refused(&format!("{} is not a folder", memory.display()))),
        Err(error) => return Ok(refused(&format!("{}: {error}", memory.display()))),
    };
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let home = home.as_deref().unwrap_or(Path::new("/"));
    if let Some(why) = sandbox::too_wide(&memory, home) {
        return Ok(refused(&format!("{} {why}", memory.display())));
    }
    let (program, arguments) = match what {
        What::Program { program, arguments } => (program, arguments),
        What::Shell(line) => (shell(), vec!["-c".into(), line]),
    };
    let ending = sandbox::run(Walls::sealed(memory), home, &program, &arguments, limit)?;
    Ok(match ending {
        Ending::Exited(code) => u8::try_from(code).unwrap_or(u8::MAX),
        Ending::Signalled(signal) => u8::try_from(SIGNALLED + signal).unwrap_or(u8::MAX),
        Ending::TooLong => {
            terminal::complain(&format!("ended, because it took longer than {} s", limit.as_secs()));
            TOO_LONG
        }
        Ending::TooMany => {
            terminal::complain("ended, because it had become too many processes");
            TOO_LONG
        }
    })
}

fn refused(words: &str) -> u8 {
    terminal::complain(&format!("not run: {words}"));
    NOT_RUN
}

fn shell() -> OsString {
    let bash = ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).is_file());
    bash.unwrap_or("/bin/sh").into()
}
