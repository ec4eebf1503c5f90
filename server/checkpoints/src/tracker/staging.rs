//! The copies of the workspace's files: one file without a name, gone with the process however it ends.
//!
//! To hash every file and give it a place in the store would be slower by far, and would leave behind contents that
//! nobody ever needs.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::store::Store;

#[derive(Debug)]
pub(super) struct Staging {
    file: File,
    end: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    offset: u64,
    pub len: u64,
}

impl Staging {
    pub fn create(store: &Store) -> io::Result<Self> {
        let (path, file) = store.create_temporary()?;
        std::fs::remove_file(path)?;
        Ok(Self { file, end: AtomicU64::new(0) })
    }

    pub fn put(&self, bytes: &[u8]) -> io::Result<Region> {
        let len = bytes.len() as u64;
        let offset = self.end.fetch_add(len, Ordering::Relaxed);
        self.file.write_all_at(bytes, offset)?;
        Ok(Region { offset, len })
    }

    pub fn get(&self, region: Region) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(region.len).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, region.offset)?;
        Ok(bytes)
    }

    /// How many bytes were put, needed or not.
    pub fn len(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }
}
