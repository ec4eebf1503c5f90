//! The prompt of `ask`: from the command line, from stdin, or from both.

use std::io::{self, IsTerminal, Read};

use anyhow::Context;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{FileType, fstat},
};

use crate::{arguments::PromptWords, terminal};

/// How long a pipe that nobody announced with `-` may stay silent before the prompt goes without it.
const PIPE_PATIENCE: Timespec = Timespec { tv_sec: 3, tv_nsec: 0 };

/// `None`: there is nothing to ask.
pub fn read(words: PromptWords) -> anyhow::Result<Option<String>> {
    let stdin = io::stdin();
    let PromptWords { text, stdin: announced } = words;
    let wanted = match &text {
        _ if announced => true,
        Some(_) => has_text(&stdin),
        None => !stdin.is_terminal(),
    };
    let piped = if wanted { read_all(&stdin)? } else { String::new() };
    // `git diff | reverie ask "review this"`: what is piped in stands behind the prompt.
    Ok(match (text, piped.trim().is_empty()) {
        (Some(text), true) => Some(text),
        (Some(text), false) => Some(format!("{text}\n\n{piped}")),
        (None, false) => Some(piped),
        (None, true) => None,
    })
}

fn read_all(stdin: &io::Stdin) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    stdin.lock().read_to_end(&mut bytes).context("stdin cannot be read")?;
    String::from_utf8(bytes).context("what came on stdin is not text")
}

/// A file has text; a pipe does once something comes. One that stays silent was inherited by a script that never
/// meant it, and must not stop the prompt.
fn has_text(stdin: &io::Stdin) -> bool {
    let Ok(status) = fstat(stdin) else { return false };
    match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => true,
        FileType::Fifo => {
            let mut fds = [PollFd::new(stdin, PollFlags::IN)];
            let ready = poll(&mut fds, Some(&PIPE_PATIENCE)).is_ok_and(|ready| ready > 0);
            if !ready {
                terminal::complain(
                    "nothing comes from the pipe: asking without it (a '-' behind the prompt waits for it)",
                );
            }
            ready
        }
        _ => false,
    }
}
