//! `known.json`: what was last seen of each file, so that a look reads only what may have changed.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use workspace::{Durable, Private, Stamp};

use super::log::Log;
use super::{ContentId, is_tracked};

const NAME: &str = "known.json";
const LARGEST: u64 = 64 << 20;
/// A file that changed more recently may change again without its times showing it.
const SETTLED: Duration = Duration::from_secs(2);

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Known {
    /// Bytes in the store of contents, nearly: a crash may leave some uncounted.
    #[serde(default)]
    pub kept: u64,
    pub files: BTreeMap<String, Seen>,
    /// Whether every file was looked at. Otherwise one that is not known here is not new.
    #[serde(skip)]
    pub complete: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub sha256: ContentId,
    pub len: u64,
    /// In nanoseconds; without them the file has to be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mtime: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ctime: Option<i64>,
}

impl Seen {
    pub(super) fn new(bytes: &[u8], stamp: Stamp) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(SETTLED);
        let settled = i64::try_from(now.as_nanos()).is_ok_and(|now| stamp.changed <= now);
        Self {
            mtime: settled.then_some(stamp.modified),
            ctime: settled.then_some(stamp.changed),
            ..Self::unlooked(ContentId::of(bytes), bytes.len() as u64)
        }
    }

    /// What was said to be in the file; the next look reads it.
    pub(super) fn unlooked(sha256: ContentId, len: u64) -> Self {
        Self { sha256, len, mtime: None, ctime: None }
    }

    pub(super) fn is_still(&self, stamp: Stamp) -> bool {
        (self.len, self.mtime, self.ctime) == (stamp.len, Some(stamp.modified), Some(stamp.changed))
    }
}

impl Known {
    /// What the file says, and what the log knows better: it is written first.
    pub(super) fn read(folder: &Private, log: &Log) -> io::Result<Self> {
        let parsed: Option<Self> =
            folder.read(NAME, LARGEST)?.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let complete = parsed.is_some();
        let mut known = Self { complete, ..parsed.unwrap_or_default() };
        known.files.retain(|path, _| is_tracked(path));
        let newest: BTreeMap<&str, Option<ContentId>> =
            log.changes.iter().map(|change| (change.path.as_str(), change.after)).collect();
        for (path, after) in newest {
            if known.files.get(path).map(|seen| seen.sha256) != after {
                known.set(path, after.map(|id| Seen::unlooked(id, 0)));
            }
        }
        Ok(known)
    }

    pub(super) fn write(&self, folder: &Private) -> io::Result<()> {
        folder.write(NAME, &serde_json::to_vec(self)?, Durable::Now)
    }

    pub(super) fn set(&mut self, path: &str, seen: Option<Seen>) {
        match seen {
            Some(seen) => self.files.insert(path.to_owned(), seen),
            None => self.files.remove(path),
        };
    }

    pub(super) fn content_of(&self, path: &str) -> Option<ContentId> {
        self.files.get(path).map(|seen| seen.sha256)
    }
}
