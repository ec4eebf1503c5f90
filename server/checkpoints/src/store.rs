//! The contents of files that the agent changed, by the hash of their bytes: `<folder>/blobs/ab/cdef…`.
//!
//! Only what an entry needs comes here, so the store stays small. A blob is there under its name only when it is
//! written whole, which outlives a kill; [`Store::sync`], once a turn, makes it outlive a power cut, as for the
//! transcript that names it. Folders are 0700 and files 0600: contents may be secret.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::blob::Blob;
use crate::entry::State;

mod collect;

pub use collect::{Collected, Size};

/// With more blobs than this to sync, one sync of the file system is cheaper.
const SYNC_EACH: usize = 32;

#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    unsynced: Mutex<BTreeSet<Blob>>,
}

impl Store {
    /// Touches nothing; the folder is made when there is something to keep. All sessions of a project, and all
    /// processes, may share one.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), unsynced: Mutex::default() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps a content.
    pub fn put(&self, bytes: &[u8]) -> io::Result<Blob> {
        let blob = Blob::of(bytes);
        let path = self.path_of(blob);
        if !is_there(&path, bytes.len()) {
            let temporary = self.write_temporary(bytes)?;
            if let Err(error) = self.give_place(&temporary, &path) {
                discard(&temporary);
                return Err(error);
            }
        }
        self.unsynced().insert(blob);
        Ok(blob)
    }

    /// The bytes of a file, if they are still what they were.
    pub fn get(&self, blob: Blob) -> io::Result<Vec<u8>> {
        let bytes = std::fs::read(self.path_of(blob))?;
        if Blob::of(&bytes) != blob {
            let words = format!("the copy {blob} of a file is damaged");
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
        Ok(bytes)
    }

    /// Likewise, by state; only a file has a content.
    pub fn content(&self, state: &State) -> io::Result<Vec<u8>> {
        match state {
            State::File { blob, .. } => self.get(*blob),
            State::Symlink { .. } | State::Folder { .. } | State::Unread { .. } => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, "only a file has a content"))
            }
        }
    }

    /// Makes all that was put survive a power cut. Takes some milliseconds.
    pub fn sync(&self) -> io::Result<()> {
        let blobs = std::mem::take(&mut *self.unsynced());
        let synced = self.sync_blobs(&blobs);
        if synced.is_err() {
            self.unsynced().extend(blobs);
        }
        synced
    }

    pub(crate) fn has(&self, blob: Blob) -> bool {
        self.path_of(blob).exists()
    }

    fn sync_blobs(&self, blobs: &BTreeSet<Blob>) -> io::Result<()> {
        if blobs.is_empty() {
            return Ok(());
        }
        #[cfg(target_os = "linux")]
        if blobs.len() > SYNC_EACH {
            return Ok(rustix::fs::syncfs(File::open(&self.folder)?)?);
        }
        let mut folders = BTreeSet::from([self.blobs()]);
        for blob in blobs {
            let path = self.path_of(*blob);
            File::open(&path)?.sync_all()?;
            folders.extend(path.parent().map(Path::to_owned));
        }
        for folder in folders {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }

    fn blobs(&self) -> PathBuf {
        self.folder.join("blobs")
    }

    fn path_of(&self, blob: Blob) -> PathBuf {
        let name = blob.to_string();
        let (first, rest) = name.split_at_checked(2).unwrap_or(("", &name));
        self.blobs().join(first).join(rest)
    }

    fn write_temporary(&self, bytes: &[u8]) -> io::Result<PathBuf> {
        let (path, mut file) = self.create_temporary()?;
        match file.write_all(bytes) {
            Ok(()) => Ok(path),
            Err(error) => {
                discard(&path);
                Err(error)
            }
        }
    }

    /// A new file of our own in the store's folder.
    pub(crate) fn create_temporary(&self) -> io::Result<(PathBuf, File)> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let folder = self.blobs();
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{}-{number}.tmp", std::process::id()));
            let opened = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path);
            match opened {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => make_folder(&folder)?,
                // Left by a process of the same number that was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn give_place(&self, temporary: &Path, path: &Path) -> io::Result<()> {
        match std::fs::rename(temporary, path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_folder(path.parent().unwrap_or(&self.folder))?;
                std::fs::rename(temporary, path)
            }
            other => other,
        }
    }

    fn unsynced(&self) -> std::sync::MutexGuard<'_, BTreeSet<Blob>> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the blob is kept already. If so it counts as new from now on, so that no collector takes it away before
/// the entry that needs it is written.
fn is_there(path: &Path, len: usize) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let whole = file.metadata().is_ok_and(|metadata| metadata.len() == len as u64);
    whole && file.set_modified(SystemTime::now()).is_ok()
}

fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn discard(temporary: &Path) {
    if let Err(error) = std::fs::remove_file(temporary) {
        tracing::warn!(path = %temporary.display(), %error, "a temporary file was left behind");
    }
}

#[cfg(test)]
mod tests;
