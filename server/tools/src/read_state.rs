//! What the model has seen of which file, so that nothing it has not seen is overwritten.
//!
//! "Edit, and Write of an existing file, demand a prior Read and refuse on a change since": the tools ask here.
//! It survives a resume: the agent keeps [`ReadState::changes`] in the transcript and gives it back.

use std::{
    collections::BTreeSet,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use lru::LruCache;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workspace::Fingerprint;

/// Files beyond this many are forgotten, the longest unused first; they are simply read again.
const CAPACITY: NonZeroUsize = NonZeroUsize::MIN.saturating_add(499);

/// What was seen of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seen {
    pub fingerprint: Fingerprint,
    /// The first and last line seen, from 1; (1, 0) of an empty file.
    pub lines: (usize, usize),
    /// Whether the last of them is the file's last.
    #[serde(default)]
    pub to_end: bool,
    /// Whether some of them were too long to be shown whole.
    #[serde(default)]
    pub cut: bool,
}

impl Seen {
    /// Whether nothing of the file was left out.
    pub fn is_whole(&self) -> bool {
        self.lines.0 == 1 && self.to_end && !self.cut
    }

    /// With what was seen before of the same text, if the two are one run of lines.
    fn joined(mut self, before: &Self) -> Self {
        let ((first, last), (first_before, last_before)) = (self.lines, before.lines);
        let touch = first <= last_before.saturating_add(1) && first_before <= last.saturating_add(1);
        if touch && self.fingerprint == before.fingerprint {
            self.lines = (first.min(first_before), last.max(last_before));
            self.to_end |= before.to_end;
            self.cut |= before.cut;
        }
        self
    }
}

/// One per session; paths are absolute and lexically clean.
#[derive(Debug)]
pub struct ReadState {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    files: LruCache<PathBuf, Seen>,
    /// Files seen since the last [`ReadState::changes`].
    new: BTreeSet<PathBuf>,
}

/// A line of the kept state.
#[derive(Serialize, Deserialize)]
struct Entry {
    path: PathBuf,
    #[serde(flatten)]
    seen: Seen,
}

impl ReadState {
    pub fn new() -> Arc<Self> {
        let inner = Inner { files: LruCache::new(CAPACITY), new: BTreeSet::new() };
        Arc::new(Self { inner: Mutex::new(inner) })
    }

    /// A part that follows on what was seen before adds to it, so that a long file can be read in pieces.
    pub fn saw(&self, path: &Path, seen: Seen) {
        self.with(|inner| {
            let seen = match inner.files.get(path) {
                Some(before) => seen.joined(before),
                None => seen,
            };
            inner.put(path, seen);
        });
    }

    /// After a write of ours the text need not be read again: of a file that the model wrote whole it knows all.
    pub fn wrote(&self, path: &Path, fingerprint: Fingerprint, line_count: usize) {
        let seen = Seen { fingerprint, lines: (1, line_count), to_end: true, cut: false };
        self.with(|inner| inner.put(path, seen));
    }

    /// Likewise after an edit of ours; what the model had not seen of the file it still has not. `line_counts` are
    /// those of the whole text, before and after.
    pub fn edited(&self, path: &Path, fingerprint: Fingerprint, line_counts: (usize, usize)) {
        self.with(|inner| {
            let Some(before) = inner.files.get(path).cloned() else { return };
            let lines = match before.lines {
                (1, _) if before.to_end => (1, line_counts.1),
                // The edit may have been before, in or after these lines: those that are sure in each case.
                (first, last) => {
                    let (more, fewer) = (
                        line_counts.1.saturating_sub(line_counts.0),
                        line_counts.0.saturating_sub(line_counts.1),
                    );
                    (if first == 1 { 1 } else { first + more }, last.saturating_sub(fewer))
                }
            };
            inner.put(path, Seen { fingerprint, lines, ..before });
        });
    }

    pub fn get(&self, path: &Path) -> Option<Seen> {
        self.with(|inner| inner.files.get(path).cloned())
    }

    /// The files that were seen last, the newest first.
    pub fn newest(&self, count: usize) -> Vec<PathBuf> {
        self.with(|inner| inner.files.iter().take(count).map(|(path, _)| path.clone()).collect())
    }

    /// What was seen since the last call, to be kept in the transcript; `None` when nothing was.
    pub fn changes(&self) -> Option<Value> {
        self.with(|inner| {
            let new = std::mem::take(&mut inner.new);
            (!new.is_empty()).then(|| inner.entries(|path| new.contains(path)))
        })
    }

    /// All that was seen, for somebody who goes on from here on their own.
    pub fn all(&self) -> Value {
        self.with(|inner| inner.entries(|_| true))
    }

    /// Takes back what [`Self::changes`] gave; entries it cannot read are left out.
    pub fn restore(&self, value: &Value) {
        let entries = value.as_array().map(Vec::as_slice).unwrap_or_default();
        self.with(|inner| {
            for entry in entries.iter().filter_map(|entry| Entry::deserialize(entry).ok()) {
                inner.files.put(entry.path, entry.seen);
            }
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        work(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Inner {
    fn put(&mut self, path: &Path, seen: Seen) {
        self.files.put(path.to_owned(), seen);
        self.new.insert(path.to_owned());
    }

    fn entries(&self, wanted: impl Fn(&Path) -> bool) -> Value {
        let oldest_first = self.files.iter().rev().filter(|(path, _)| wanted(path));
        let entries = oldest_first.map(|(path, seen)| Entry { path: path.clone(), seen: seen.clone() });
        // A path that is not UTF-8 has no JSON form; it is read again after a resume.
        Value::Array(entries.filter_map(|entry| serde_json::to_value(entry).ok()).collect())
    }
}

#[cfg(test)]
mod tests;
