//! What the model has seen of which file, so that nothing it has not seen is overwritten.
//!
//! "Edit, and Write of an existing file, demand a prior Read and refuse on a change since": the tools ask here.
//! It survives a resume: the agent keeps [`ReadState::changes`] in the transcript and gives it back.

use std::{
    collections::BTreeSet,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
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
    /// Whether nothing of the file was left out.
    pub full: bool,
    /// Milliseconds since 1970.
    pub at: u64,
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

    pub fn saw(&self, path: &Path, fingerprint: Fingerprint, lines: (usize, usize), full: bool) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        self.with(|inner| {
            inner.files.put(path.to_owned(), Seen { fingerprint, lines, full, at });
            inner.new.insert(path.to_owned());
        });
    }

    /// After a write of ours the text need not be read again: of a file that the model wrote whole it knows all.
    pub fn wrote(&self, path: &Path, fingerprint: Fingerprint, line_count: usize) {
        self.saw(path, fingerprint, (1, line_count), true);
    }

    /// Likewise after an edit of ours; what the model had not seen of the file it still has not.
    pub fn edited(&self, path: &Path, fingerprint: Fingerprint, line_count: usize) {
        let (lines, full) = match self.get(path) {
            Some(seen) if !seen.full => (seen.lines, false),
            _ => ((1, line_count), true),
        };
        self.saw(path, fingerprint, lines, full);
    }

    pub fn get(&self, path: &Path) -> Option<Seen> {
        self.with(|inner| inner.files.get(path).cloned())
    }

    /// All that is known, the longest unused first.
    pub fn to_value(&self) -> Value {
        self.with(|inner| inner.entries(|_| true))
    }

    /// What was seen since the last call, to be kept in the transcript; `None` when nothing was.
    pub fn changes(&self) -> Option<Value> {
        self.with(|inner| {
            let new = std::mem::take(&mut inner.new);
            (!new.is_empty()).then(|| inner.entries(|path| new.contains(path)))
        })
    }

    /// Takes back what [`Self::to_value`] or [`Self::changes`] gave; entries it cannot read are left out.
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
    fn entries(&self, wanted: impl Fn(&Path) -> bool) -> Value {
        let oldest_first = self.files.iter().rev().filter(|(path, _)| wanted(path));
        let entries = oldest_first.map(|(path, seen)| Entry { path: path.clone(), seen: seen.clone() });
        // A path that is not UTF-8 has no JSON form; it is read again after a resume.
        Value::Array(entries.filter_map(|entry| serde_json::to_value(entry).ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(size: u64) -> Fingerprint {
        Fingerprint { mtime_ns: 7, size, hash: Some(u64::MAX) }
    }

    #[test]
    fn what_was_seen_survives_being_kept() {
        let state = ReadState::new();
        state.saw(Path::new("/a"), fingerprint(1), (1, 3), true);
        state.saw(Path::new("/b"), fingerprint(2), (5, 9), false);
        let kept: Value = serde_json::from_str(&state.to_value().to_string()).unwrap();

        let again = ReadState::new();
        again.restore(&kept);
        assert_eq!(again.get(Path::new("/a")), state.get(Path::new("/a")));
        assert_eq!(again.get(Path::new("/b")), state.get(Path::new("/b")));
        assert_eq!(again.changes(), None);
    }

    #[test]
    fn only_what_is_new_is_taken() {
        let state = ReadState::new();
        let paths = |value: Option<Value>| {
            let value = value.unwrap_or_default();
            let entries = value.as_array().cloned().unwrap_or_default();
            entries.iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        state.saw(Path::new("/a"), fingerprint(1), (1, 3), true);
        assert_eq!(paths(state.changes()), ["/a"]);
        assert_eq!(state.changes(), None);
        state.saw(Path::new("/c"), fingerprint(1), (1, 3), true);
        state.wrote(Path::new("/a"), fingerprint(2), 4);
        assert_eq!(paths(state.changes()), ["/c", "/a"]);
    }

    #[test]
    fn an_edit_keeps_what_was_known_of_the_rest() {
        let state = ReadState::new();
        state.saw(Path::new("/part"), fingerprint(1), (1, 3), false);
        state.edited(Path::new("/part"), fingerprint(2), 9);
        let seen = state.get(Path::new("/part")).unwrap();
        assert_eq!((seen.fingerprint, seen.lines, seen.full), (fingerprint(2), (1, 3), false));
        state.wrote(Path::new("/part"), fingerprint(2), 9);
        state.edited(Path::new("/part"), fingerprint(3), 10);
        let seen = state.get(Path::new("/part")).unwrap();
        assert_eq!((seen.fingerprint, seen.lines, seen.full), (fingerprint(3), (1, 10), true));
    }

    #[test]
    fn damaged_entries_are_left_out() {
        let state = ReadState::new();
        state.restore(&serde_json::json!([{"path": "/x"}, 3, null]));
        state.restore(&serde_json::json!("nonsense"));
        assert_eq!(state.to_value(), serde_json::json!([]));
    }

    #[test]
    fn the_longest_unused_is_forgotten_first() {
        let state = ReadState::new();
        for number in 0..CAPACITY.get() {
            state.saw(Path::new(&format!("/{number}")), fingerprint(1), (1, 1), true);
        }
        assert!(state.get(Path::new("/0")).is_some());
        state.saw(Path::new("/one more"), fingerprint(1), (1, 1), true);
        assert!(state.get(Path::new("/0")).is_some());
        assert!(state.get(Path::new("/1")).is_none());
    }
}
