//! `changes.jsonl`: one change a line, only ever appended to, but for the oldest, which go.
//!
//! A line that cannot be read is skipped and counted; one without its end was being written when the process died, and
//! the next writer cuts it off. A later line with the id of an earlier one replaces it.

use std::collections::HashMap;
use std::io::{self, Write as _};

use workspace::{Durable, Private};

use super::{Change, MOST_CHANGES, is_tracked};

const NAME: &str = "changes.jsonl";
/// What is read of the log, from its end; with the bounds of its fields it is never longer.
const LARGEST: u64 = 64 << 20;

#[derive(Debug, Default)]
pub(super) struct Log {
    /// The oldest first.
    pub changes: Vec<Change>,
    /// Lines that could not be read.
    pub skipped: usize,
    /// Lines in the file.
    lines: usize,
    /// Where the last whole line ends, and where the file does.
    end: u64,
    len: u64,
}

pub(super) fn read(folder: &Private) -> io::Result<Log> {
    let Some((start, bytes)) = folder.read_end(NAME, LARGEST)? else { return Ok(Log::default()) };
    let mut log = Log { end: start, len: start + bytes.len() as u64, ..Log::default() };
    let mut places: HashMap<String, usize> = HashMap::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if !line.ends_with(b"\n") {
            break;
        }
        log.end += line.len() as u64;
        log.lines += 1;
        match serde_json::from_slice::<Change>(line) {
            Ok(change) if is_tracked(&change.path) => match places.get(&change.id) {
                Some(place) => {
                    if let Some(earlier) = log.changes.get_mut(*place) {
                        *earlier = change;
                    }
                }
                None => {
                    places.insert(change.id.clone(), log.changes.len());
                    log.changes.push(change);
                }
            },
            Ok(_) | Err(_) => log.skipped += 1,
        }
    }
    if log.skipped > 0 {
        tracing::warn!(lines = log.skipped, "lines of the memory history could not be read");
    }
    log.changes.drain(..log.changes.len().saturating_sub(MOST_CHANGES));
    Ok(log)
}

impl Log {
    /// On the disk when this returns. Only for whoever holds the lock.
    pub(super) fn append(&mut self, folder: &Private, changes: &[Change]) -> io::Result<()> {
        let mut text = Vec::new();
        for change in changes {
            serde_json::to_writer(&mut text, change)?;
            text.push(b'\n');
        }
        let mut file = folder.open_log(NAME)?;
        if self.len > self.end {
            file.set_len(self.end)?;
        }
        if let Err(error) = file.write_all(&text).and_then(|()| file.sync_data()) {
            // What did not fit must not stand before what comes later; if this fails too, the next writer does it.
            if let Err(error) = file.set_len(self.end) {
                tracing::warn!(%error, "half a line was left at the end of the memory history");
            }
            return Err(error);
        }
        self.end += text.len() as u64;
        self.len = self.end;
        self.lines += changes.len();
        for change in changes {
            match self.changes.iter_mut().rev().find(|earlier| earlier.id == change.id) {
                Some(earlier) => *earlier = change.clone(),
                None => self.changes.push(change.clone()),
            }
        }
        Ok(())
    }

    /// In lines of the file.
    pub(super) fn is_longer_than(&self, changes: usize) -> bool {
        self.lines > changes
    }

    /// Takes out the oldest and all that is not a change, and gives back what was taken out.
    pub(super) fn keep_newest(&mut self, folder: &Private, most: usize) -> io::Result<Vec<Change>> {
        let excess = self.changes.len().saturating_sub(most);
        let mut text = Vec::new();
        for change in self.changes.iter().skip(excess) {
            serde_json::to_writer(&mut text, change)?;
            text.push(b'\n');
        }
        folder.write(NAME, &text, Durable::Now)?;
        self.end = text.len() as u64;
        self.len = self.end;
        let removed: Vec<Change> = self.changes.drain(..excess).collect();
        self.lines = self.changes.len();
        Ok(removed)
    }

    pub(super) fn last_of(&self, path: &str) -> Option<&Change> {
        self.changes.iter().rev().find(|change| change.path == path)
    }
}
