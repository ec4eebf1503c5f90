//! What a tool call will touch, said by the tool before it runs.

use std::path::PathBuf;

use crate::paths::{clean, follow};

/// One per call; paths are absolute and lexically clean (no `.` or `..`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Touches nothing but the session itself (todo list, a question to the user, a background job's output).
    Session,
    /// Reads this file, or searches below this folder.
    Read { path: PathBuf },
    /// Writes this file; made by [`Access::write`].
    Write {
        path: PathBuf,
        /// Where the path leads: what is judged, and what is to be written, even if it leads elsewhere by then. `None`
        /// where a link in it leads nowhere.
        real: Option<PathBuf>,
    },
    /// Runs a shell line; `judged` when it was judged to change nothing.
    Command { command: String, judged: Option<Judged> },
    /// Fetches a page. `host` is the URL's, without a port.
    Fetch { url: String, host: String },
    /// Lets the model's provider search the web.
    Search { query: String },
    /// Calls a tool of another program, such as `mcp__server__tool`; `read_only` is what that program says.
    External { tool: String, read_only: bool },
}

/// A shell line that was found to change nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// What is to be run in its place: programs by their absolute paths, every word quoted, every
    /// pattern replaced by the names it matched, so that the shell finds the words that were judged and no others. Meant for a fresh bash without start-up files.
    pub script: String,
    /// Where it was judged: it means what it says nowhere else.
    pub folder: PathBuf,
    /// What it may read, absolute: the operands that may name files, or the folder it stands in.
    pub reads: Vec<PathBuf>,
    pub reach: Reach,
}

/// How far a command goes from the paths it was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// These files, and the names in these folders.
    #[default]
    Named,
    /// The text of files below these folders.
    Below,
    /// Likewise, wherever links lead.
    ThroughLinks,
}

impl Access {
    pub fn write(path: PathBuf) -> Self {
        let real = follow(&clean(&path));
        Self::Write { path, real }
    }

    /// Calls that change nothing may run together, and before the response they are part of has ended. What touches
    /// the session changes it, or takes something from it that cannot be taken twice: its turn matters.
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::Read { .. } | Self::Fetch { .. } | Self::Search { .. } => true,
            Self::Session | Self::Write { .. } => false,
            Self::Command { judged, .. } => judged.is_some(),
            Self::External { read_only, .. } => *read_only,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_reads_runs_together() {
        let command = |judged| Access::Command { command: "ls".to_owned(), judged };
        let external = |read_only| Access::External { tool: "mcp__a__b".to_owned(), read_only };
        assert!(Access::Read { path: PathBuf::from("/a") }.is_read_only());
        assert!(Access::Fetch { url: "https://a/b".to_owned(), host: "a".to_owned() }.is_read_only());
        assert!(Access::Search { query: "a".to_owned() }.is_read_only());
        assert!(command(Some(Judged::default())).is_read_only());
        assert!(!command(None).is_read_only());
        assert!(external(true).is_read_only());
        assert!(!external(false).is_read_only());
        assert!(!Access::write(PathBuf::from("/a")).is_read_only());
        assert!(!Access::Session.is_read_only());
    }
}
