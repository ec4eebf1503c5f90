//! What a file was when it was read, by what the system says about it, so that a change can be noticed without reading.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::rules;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stamp {
    Missing,
    File {
        len: u64,
        /// In nanoseconds.
        modified: i64,
        inode: u64,
    },
    /// A folder of rules, by the names of what it may hold: an editor's own files come and go beside them.
    Folder {
        names: u64,
    },
}

impl Stamp {
    /// Links are followed: it is the content that matters.
    pub fn of(path: &Path) -> Self {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Self::of_names(&rules::entries(path)),
            Ok(metadata) => Self::of_file(&metadata),
            Err(_) => Self::Missing,
        }
    }

    pub(super) fn of_file(metadata: &fs::Metadata) -> Self {
        let modified = metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec());
        Self::File { len: metadata.len(), modified, inode: metadata.ino() }
    }

    pub(super) fn of_names(entries: &[PathBuf]) -> Self {
        // FNV-1a: stable across releases, which std's hasher does not promise.
        let names = entries.iter().filter_map(|path| path.file_name());
        let bytes = names.flat_map(|name| name.as_encoded_bytes().iter().chain(b"/"));
        let names = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        Self::Folder { names }
    }
}

/// Which of them are not what they were.
pub fn changed(files: &[(PathBuf, Stamp)]) -> Vec<PathBuf> {
    let changed = files.iter().filter(|(path, stamp)| Stamp::of(path) != *stamp);
    changed.map(|(path, _)| path.clone()).collect()
}
