//! What the store weighs, and the removal of what nobody needs any more.

use std::collections::HashSet;
use std::fs::DirEntry;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::Store;
use crate::blob::Blob;

/// A temporary file this old belongs to a process that was killed.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub blobs: usize,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    pub removed: Size,
    pub kept: Size,
}

impl Store {
    pub fn size(&self) -> io::Result<Size> {
        let mut size = Size::default();
        self.for_each_blob(|_, entry| {
            size.blobs += 1;
            size.bytes += entry.metadata()?.len();
            Ok(())
        })?;
        Ok(size)
    }

    /// Removes the blobs that are not in `keep` and that nobody has put for at least `unused`.
    pub fn collect(
        &self,
        keep: impl IntoIterator<Item = Blob>,
        unused: Duration,
        now: SystemTime,
    ) -> io::Result<Collected> {
        let keep: HashSet<Blob> = keep.into_iter().collect();
        let mut collected = Collected::default();
        self.for_each_blob(|blob, entry| {
            let needed = blob.is_some_and(|blob| keep.contains(&blob));
            let unused = if blob.is_some() { unused } else { ABANDONED };
            let len = entry.metadata()?.len();
            let removed =
                !needed && is_unused(&entry.path(), unused, now)? && remove(&entry.path(), unused, now)?;
            let counted = if removed { &mut collected.removed } else { &mut collected.kept };
            counted.blobs += 1;
            counted.bytes += len;
            Ok(())
        })?;
        Ok(collected)
    }

    /// Calls with the blob, or with `None` for a temporary file.
    fn for_each_blob(
        &self,
        mut visit: impl FnMut(Option<Blob>, DirEntry) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut visit = |blob, entry| match visit(blob, entry) {
            // Somebody else was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        let entries = match std::fs::read_dir(self.blobs()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        for entry in entries {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                visit(None, entry)?;
                continue;
            }
            let first = entry.file_name();
            for entry in std::fs::read_dir(entry.path())? {
                let entry = entry?;
                let name = format!("{}{}", first.to_string_lossy(), entry.file_name().to_string_lossy());
                visit(name.parse().ok(), entry)?;
            }
        }
        Ok(())
    }
}

/// A time in the future counts as now.
fn is_unused(path: &Path, unused: Duration, now: SystemTime) -> io::Result<bool> {
    let put = path.metadata()?.modified()?;
    Ok(now.duration_since(put).is_ok_and(|age| age >= unused))
}

/// Whether the blob is gone. One that somebody puts at this very moment has either been renewed before it was moved
/// aside, which is seen here, or is not found by them afterwards and written again.
fn remove(path: &Path, unused: Duration, now: SystemTime) -> io::Result<bool> {
    let aside = path.with_extension("old");
    std::fs::rename(path, &aside)?;
    if is_unused(&aside, unused, now)? {
        std::fs::remove_file(&aside)?;
        return Ok(true);
    }
    std::fs::rename(&aside, path)?;
    Ok(false)
}
