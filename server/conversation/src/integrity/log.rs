//! The last repairs and whether they succeeded, for whoever asks later.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::transcript::{atomic, create_private_dir};

/// "The last 50 repairs and their success are shown."
const KEPT: usize = 50;
/// Another process holds the lock for as long as it takes to write some kilobytes.
const LOCK_ATTEMPTS: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Something that was put right, or should have been.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    pub at: Timestamp,
    /// What was repaired: a session, an index, a file.
    pub subject: String,
    /// The check that found it.
    pub check: String,
    pub detail: String,
    pub success: bool,
}

/// `repairs.jsonl` in the cache.
pub struct RepairLog {
    path: PathBuf,
}

impl RepairLog {
    pub fn open(cache: &Path) -> Self {
        Self { path: cache.join("repairs.jsonl") }
    }

    /// Oldest first. A log that cannot be read is an empty one.
    pub fn recent(&self) -> Vec<Repair> {
        let bytes = fs::read(&self.path).unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n');
        let mut repairs: Vec<Repair> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        repairs.drain(..repairs.len().saturating_sub(KEPT));
        repairs
    }

    pub fn add(&self, new: &[Repair]) -> io::Result<()> {
        if new.is_empty() {
            return Ok(());
        }
        let _lock = self.lock()?;
        let mut repairs = self.recent();
        repairs.extend_from_slice(new);
        repairs.drain(..repairs.len().saturating_sub(KEPT));
        let mut text = Vec::new();
        for repair in repairs {
            serde_json::to_writer(&mut text, &repair)?;
            text.push(b'\n');
        }
        atomic::replace(&self.path, |file| file.write_all(&text))
    }

    fn lock(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            create_private_dir(folder)?;
        }
        let lock = File::options().create(true).append(true).open(self.path.with_extension("lock"))?;
        for _ in 0..LOCK_ATTEMPTS {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(fs::TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
                Err(fs::TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }
}
