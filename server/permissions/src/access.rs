//! What a tool call will touch, said by the tool before it runs.

use std::path::PathBuf;

/// One per call; paths are absolute and lexically clean (no `.` or `..`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Touches nothing but the session itself (todo list, a question to the user, a background job's output).
    Session,
    /// Reads this file, or searches below this folder.
    Read {
        path: PathBuf,
    },
    Write {
        path: PathBuf,
    },
    /// Runs a shell line. `read_only` when it was judged to change nothing.
    Command {
        command: String,
        read_only: bool,
    },
}

impl Access {
    /// Calls that change nothing may run together.
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::Session | Self::Read { .. } => true,
            Self::Write { .. } => false,
            Self::Command { read_only, .. } => *read_only,
        }
    }
}
