//! The last repairs and whether they succeeded, for whoever asks later.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::transcript::atomic;

/// "The last 50 repairs and their success are shown."
const KEPT: usize = 50;

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
        let _lock = atomic::lock(&self.path)?;
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
}
