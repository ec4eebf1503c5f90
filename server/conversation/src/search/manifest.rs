//! What the index of a directory consists of: which part of which transcript is in it, and in which files.

use std::{
    collections::HashMap,
    fs::{self, File, Metadata},
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};

use super::{
    bytes::checksum,
    segment::{Segment, damaged},
};
use crate::message::SessionId;

pub(super) const MANIFEST: &str = "manifest";
/// What is compared to tell a file that grew from one that was written anew.
const TAIL: u64 = 256;

/// Characters of the checksum behind it: a number that changed would hide a session without a word.
const SUM: usize = 17;

fn sum_of(stored: &[u8]) -> [u8; SUM] {
    let mut sum = [b'\n'; SUM];
    let digits = format!("{:016x}", checksum(stored));
    sum.iter_mut().skip(1).zip(digits.bytes()).for_each(|(place, digit)| *place = digit);
    sum
}

/// As it is on disk.
#[derive(Default, Serialize, Deserialize)]
struct Stored {
    format: u32,
    next: u64,
    segments: Vec<u64>,
    sessions: HashMap<SessionId, Known>,
}

const FORMAT: u32 = 1;

/// What is known about a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Known {
    /// Changes when the file is read from its beginning again: what older segments say about it no longer counts.
    pub(super) generation: u64,
    /// So many bytes of it are in the segments.
    pub(super) covered: u64,
    /// Of the last bytes of those.
    pub(super) tail: u64,
    /// Of the file when it was last looked at.
    pub(super) bytes: u64,
    pub(super) modified: i64,
}

impl Known {
    pub(super) fn is_unchanged(&self, metadata: &Metadata) -> bool {
        self.bytes == metadata.len() && self.modified == modified(metadata)
    }

    /// Whether the file begins with what was read of it.
    pub(super) fn has_grown(&self, path: &Path, metadata: &Metadata) -> bool {
        metadata.len() >= self.covered && tail(path, self.covered).is_ok_and(|tail| tail == self.tail)
    }
}

pub(super) fn modified(metadata: &Metadata) -> i64 {
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_default()
}

/// Of the bytes before `end`.
pub(super) fn tail(path: &Path, end: u64) -> io::Result<u64> {
    let start = end.saturating_sub(TAIL);
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(end - start).read_to_end(&mut bytes)?;
    Ok(checksum(&bytes) ^ end)
}

/// The index of one directory at one moment; searches keep theirs while it moves on.
#[derive(Default)]
pub(super) struct Snapshot {
    /// For the next generation or segment.
    pub(super) next: u64,
    pub(super) segments: Vec<(u64, Arc<Segment>)>,
    pub(super) sessions: HashMap<SessionId, Known>,
}

impl Snapshot {
    pub(super) fn load(folder: &Path) -> io::Result<Self> {
        let bytes = fs::read(folder.join(MANIFEST))?;
        let (stored, sum) = bytes.split_last_chunk::<SUM>().ok_or_else(damaged)?;
        if sum_of(stored) != *sum {
            return Err(damaged());
        }
        let stored: Stored = serde_json::from_slice(stored)?;
        if stored.format != FORMAT {
            return Err(damaged());
        }
        let segments = stored
            .segments
            .iter()
            .map(|number| Ok((*number, Arc::new(Segment::open(&folder.join(segment_name(*number)))?))));
        let segments = segments.collect::<io::Result<Vec<_>>>()?;
        Ok(Self { next: stored.next, segments, sessions: stored.sessions })
    }

    /// Makes it the one that others load. A crash may lose it: it is made again then.
    pub(super) fn store(&self, folder: &Path) -> io::Result<()> {
        let stored = Stored {
            format: FORMAT,
            next: self.next,
            segments: self.segments.iter().map(|(number, _)| *number).collect(),
            sessions: self.sessions.clone(),
        };
        let aside = folder.join("manifest.tmp");
        let mut bytes = serde_json::to_vec(&stored)?;
        bytes.extend_from_slice(&sum_of(&bytes));
        fs::write(&aside, bytes)?;
        fs::rename(aside, folder.join(MANIFEST))
    }

    pub(super) fn copy(&self) -> Self {
        Self { next: self.next, segments: self.segments.clone(), sessions: self.sessions.clone() }
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

pub(super) fn segment_name(number: u64) -> String {
    format!("{number}.segment")
}

/// Removes files that no manifest names.
pub(super) fn sweep(folder: &Path, snapshot: &Snapshot) {
    let kept: Vec<String> = snapshot.segments.iter().map(|(number, _)| segment_name(*number)).collect();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".segment") && !kept.contains(&name) {
            // Who still reads it has it open.
            fs::remove_file(entry.path()).unwrap_or_default();
        }
    }
}
