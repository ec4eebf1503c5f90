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
    /// Calls that change nothing may run together, and before the response they are part of has ended. What touches
    /// the session changes it, or takes something from it that cannot be taken twice: its turn matters.
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::Read { .. } => true,
            Self::Session | Self::Write { .. } => false,
            Self::Command { read_only, .. } => *read_only,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_reads_runs_together() {
        let command = |read_only| Access::Command { command: "ls".to_owned(), read_only };
        assert!(Access::Read { path: PathBuf::from("/a") }.is_read_only());
        assert!(command(true).is_read_only());
        assert!(!command(false).is_read_only());
        assert!(!Access::Write { path: PathBuf::from("/a") }.is_read_only());
        assert!(!Access::Session.is_read_only());
    }
}
