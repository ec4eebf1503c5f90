//! What a folder holds, to be compared with what it holds later: contents, modes, times, links.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

pub type Tree = BTreeMap<PathBuf, Entry>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    mode: u32,
    owner: (u32, u32),
    links: u64,
    changed: (i64, i64),
    /// The bytes of a file, the target of a link.
    pub content: Option<Vec<u8>>,
}

/// Everything below a folder but what is below `except`.
pub fn tree(folder: &Path, except: &Path) -> Tree {
    let mut found = Tree::new();
    look(folder, except, &mut found);
    found
}

/// The paths that are not as they were.
pub fn differences(before: &Tree, after: &Tree) -> Vec<PathBuf> {
    let all = before.keys().chain(after.keys().filter(|path| !before.contains_key(*path)));
    all.filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
}

fn look(path: &Path, except: &Path, found: &mut Tree) {
    let metadata = fs::symlink_metadata(path).expect("nobody else is here");
    let kind = metadata.file_type();
    let content = if kind.is_file() {
        Some(fs::read(path).expect("it can be read"))
    } else if kind.is_symlink() {
        Some(fs::read_link(path).expect("it can be read").into_os_string().into_encoded_bytes())
    } else {
        None
    };
    let entry = Entry {
        mode: metadata.mode(),
        owner: (metadata.uid(), metadata.gid()),
        links: metadata.nlink(),
        changed: (metadata.mtime(), metadata.mtime_nsec()),
        content,
    };
    found.insert(path.to_owned(), entry);
    if kind.is_dir() && path != except {
        for child in fs::read_dir(path).expect("it can be listed") {
            look(&child.expect("it can be listed").path(), except, found);
        }
    }
}
