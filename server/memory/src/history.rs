//! The record of every change to a memory directory, in `<memory dir>/.history/`: what was before, what is after, who,
//! why, when and from which session; and the way back ([`History::undo`]).
//!
//! `changes.jsonl` is the log, `contents/` holds the bytes it names, `known.json` what was last seen of each file, so
//! that a change made while nobody looked (git, another program, the user) is noticed at the next look. Several servers
//! may share one directory: whoever writes holds `lock`; whoever reads needs nothing. Contents are written before the
//! log and the log before `known.json`, so a crash between any two leaves a state that can be read.
//!
//! Leaves to others: writing memories, and telling about changes.

mod content;
pub(crate) mod diff;
mod known;
mod locked;
mod log;
mod undo;

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use workspace::{Beneath, Private};

pub use self::content::ContentId;
use self::content::Contents;
use self::locked::{Limits, Locked};
pub use self::undo::{Target, UNSAVED, UndoError, Undone};

/// The folder, in the memory directory.
pub const FOLDER: &str = ".history";

/// Folders in which there are no memories.
const CLOSED: [&str; 2] = [FOLDER, ".git"];
/// Changes that are kept; the oldest go.
const MOST_CHANGES: usize = 2_000;
/// Files that are watched over.
const MOST_FILES: usize = 10_000;
/// What is larger is no memory: it is not read, and its content is not kept.
const LARGEST_FILE: u64 = 8 << 20;

/// One file, from one state to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// A UUID (version 7); later changes have greater ones.
    pub id: String,
    /// Relative to the memory directory.
    pub path: String,
    pub at: Timestamp,
    pub by: By,
    pub why: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The turn, dream or undo it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// `None`: there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<ContentId>,
    /// `None`: there is no file any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ContentId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    Model,
    Extraction,
    Dream,
    User,
    Team,
}

/// Who changes something, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    pub by: By,
    pub why: String,
    pub session: Option<String>,
    pub message: Option<String>,
    pub group: Option<String>,
}

/// Cheap to make and to clone; every call looks at the disk anew.
#[derive(Clone)]
pub struct History {
    dir: PathBuf,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    limits: Limits,
}

impl By {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Extraction => "extraction",
            Self::Dream => "dream",
            Self::User => "user",
            Self::Team => "team",
        }
    }
}

impl Author {
    pub fn new(by: By, why: impl Into<String>) -> Self {
        Self { by, why: why.into(), session: None, message: None, group: None }
    }

    /// Somebody whom nobody saw: the user, by whatever means.
    fn on_disk() -> Self {
        Self::new(By::User, locked::ON_DISK)
    }
}

impl fmt::Debug for History {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("History").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl History {
    /// The memory directory must exist. Nothing is written before there is something to record.
    pub fn open(dir: &Path) -> io::Result<Self> {
        Self::open_with_clock(dir, Arc::new(Timestamp::now))
    }

    pub fn open_with_clock(dir: &Path, clock: Arc<dyn Fn() -> Timestamp + Send + Sync>) -> io::Result<Self> {
        let dir = dir.canonicalize()?;
        Beneath::open(&dir)?;
        Ok(Self { dir, clock, limits: Limits::default() })
    }

    /// Records what the caller has written: the bytes before and after, `None` for no file. `None` if they are the same.
    ///
    /// What lies between the last look and `before` was someone else's and is recorded first; if somebody has observed
    /// this very change already, that record becomes this author's.
    pub fn record(
        &self,
        path: &str,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
        author: &Author,
    ) -> io::Result<Option<Change>> {
        if !is_tracked(path) {
            let words = format!("{path:?} is not a memory's path");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        self.lock()?.record(path, before, after, author)
    }

    /// Records as the user's whatever differs on disk from what was last seen. The very first look records nothing and
    /// keeps everything, so that the first change after it can be undone.
    pub fn observe(&self) -> io::Result<Vec<Change>> {
        self.observe_as(&Author::on_disk())
    }

    /// Likewise, but as the work of someone who may have touched anything: a command.
    pub fn observe_as(&self, author: &Author) -> io::Result<Vec<Change>> {
        self.lock()?.observe(author)
    }

    /// The newest first.
    pub fn changes(&self, path: Option<&str>, limit: usize) -> io::Result<Vec<Change>> {
        let Some(folder) = self.folder()? else { return Ok(Vec::new()) };
        let newest_first = log::read(&folder)?.changes.into_iter().rev();
        Ok(newest_first.filter(|change| path.is_none_or(|path| change.path == path)).take(limit).collect())
    }

    /// What was before; `Ok(None)` if there was no file. [`io::ErrorKind::NotFound`] if it is no longer kept.
    pub fn before(&self, change: &Change) -> io::Result<Option<Vec<u8>>> {
        self.content(change.before)
    }

    /// What was after; otherwise likewise.
    pub fn after(&self, change: &Change) -> io::Result<Option<Vec<u8>>> {
        self.content(change.after)
    }

    /// The change as a unified diff, or words that say why it cannot be shown.
    pub fn diff(&self, change: &Change) -> String {
        match (self.before(change), self.after(change)) {
            (Ok(before), Ok(after)) => diff::unified(&change.path, before.as_deref(), after.as_deref()),
            (Err(error), _) | (_, Err(error)) => {
                format!("the change of {} cannot be shown: {error}\n", change.path)
            }
        }
    }

    /// Puts back what was before the first of the targeted changes, byte for byte, for every file that still is what
    /// the last of them left. The others are conflicts and stay, and so is what is `unsaved` in an editor. An undo is
    /// recorded and can be undone.
    pub fn undo(
        &self,
        target: &Target,
        author: &Author,
        unsaved: &HashSet<String>,
    ) -> Result<Undone, UndoError> {
        self.lock()?.undo(target, author, unsaved)
    }

    fn lock(&self) -> io::Result<Locked> {
        Locked::open(&self.dir, (self.clock)(), self.limits)
    }

    fn folder(&self) -> io::Result<Option<Private>> {
        Beneath::open(&self.dir)?.private(FOLDER)
    }

    fn content(&self, id: Option<ContentId>) -> io::Result<Option<Vec<u8>>> {
        let Some(id) = id else { return Ok(None) };
        let Some(folder) = self.folder()? else { return Err(io::ErrorKind::NotFound.into()) };
        Contents::new(&folder).get(id).map(Some)
    }
}

/// Whether this can be the path of a memory: the log is a file like any other, and what it names is written to.
fn is_tracked(path: &str) -> bool {
    let mut names = path.split('/');
    let plain =
        |name: &str| !matches!(name, "" | "." | "..") && !CLOSED.contains(&name) && !name.contains('\0');
    names.all(plain) && is_markdown(path)
}

fn is_markdown(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("md"))
}

#[cfg(test)]
mod tests;
