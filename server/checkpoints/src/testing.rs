//! Workspaces for tests.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::store::Store;

pub(crate) struct Fixture {
    pub root: PathBuf,
    /// Beside the root; not there yet.
    pub outside: PathBuf,
    pub store: Arc<Store>,
    _folder: tempfile::TempDir,
}

pub(crate) fn fixture(files: &[(&str, &str)]) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let root = top.join("root");
    std::fs::create_dir(&root).unwrap();
    for (path, text) in files {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        std::fs::write(root.join(path), text).unwrap();
    }
    let store = Arc::new(Store::new(top.join("store")));
    Fixture { outside: top.join("outside"), root, store, _folder: folder }
}

/// All there is below, with kind, mode and content.
pub(crate) fn tree(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut tree = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let mode = metadata.permissions().mode() & 0o7777;
            let looks = if metadata.is_symlink() {
                format!("link {:?}", path.read_link().unwrap())
            } else if metadata.is_dir() {
                folders.push(path.clone());
                format!("folder {mode:o}")
            } else if metadata.is_file() {
                format!("file {mode:o} {:?}", std::fs::read(&path).unwrap())
            } else {
                "special".to_owned()
            };
            tree.insert(path, looks);
        }
    }
    tree
}
