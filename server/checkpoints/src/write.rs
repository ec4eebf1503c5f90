//! One file before and after a tool writes it.

use std::io;
use std::path::{Path, PathBuf};

use crate::blob::Blob;
use crate::entry::{Change, Fate, Observed, State, Uncaptured, Why};
use crate::present::state;
use crate::store::Store;

/// What a file was before a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    /// The file that a write to the path would change: links are resolved.
    pub path: PathBuf,
    pub state: Option<State>,
    /// The folders above it that do not exist, outermost first.
    missing: Vec<PathBuf>,
}

impl Store {
    /// Keeps what is at `path`, which must be absolute.
    pub fn before_write(&self, path: &Path) -> io::Result<Before> {
        let (path, missing) = resolve(path)?;
        let state = state(&path, |bytes| self.put(bytes))?;
        Ok(Before { path, state, missing })
    }

    /// What the write did. A document that was changed in the editor and not saved is not changed.
    pub fn after_write(&self, before: Before) -> io::Result<Observed> {
        let Before { path, state: before, missing } = before;
        let look = |path: &Path| state(path, |bytes| Ok(Blob::of(bytes)));
        let mut observed = Observed::default();
        for folder in missing {
            if let after @ Some(_) = look(&folder)? {
                observed.changes.push(Change { path: folder, before: None, after });
            }
        }
        let after = look(&path)?;
        if before == after {
            return Ok(observed);
        }
        if let Some(State::Unread { .. }) = before {
            let fate = if after.is_some() { Fate::Modified } else { Fate::Deleted };
            observed.uncaptured.push(Uncaptured { path, fate, why: Why::TooLarge });
        } else {
            observed.changes.push(Change { path, before, after });
        }
        Ok(observed)
    }
}

/// Where a write to `path` goes, and the folders that it has to make.
pub(crate) fn resolve(path: &Path) -> io::Result<(PathBuf, Vec<PathBuf>)> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return Ok((other?, Vec::new())),
    }
    let mut absent = Vec::new();
    for above in path.ancestors() {
        match above.canonicalize() {
            Ok(existing) => {
                let mut folders = vec![existing];
                for name in absent.into_iter().rev() {
                    let inner = folders.last().map(|folder| folder.join(name));
                    folders.extend(inner);
                }
                let path = folders.pop().unwrap_or_default();
                // A link that leads nowhere is not missing, and no folder can be made in its place.
                let missing = folders.into_iter().skip(1).filter(|folder| !folder.is_symlink());
                return Ok((path, missing.collect()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => absent.extend(above.file_name()),
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Fixture {
        root: PathBuf,
        store: Store,
        _folder: tempfile::TempDir,
    }

    fn fixture() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        Fixture { store: Store::new(root.join("store")), root, _folder: folder }
    }

    #[test]
    fn a_written_file_and_the_folders_made_for_it_are_told() {
        let Fixture { root, store, _folder } = fixture();
        let path = root.join("a/b/c.txt");
        let before = store.before_write(&path).unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(&path, "new").unwrap();
        let observed = store.after_write(before).unwrap();
        let paths: Vec<_> = observed.changes.iter().map(|change| change.path.clone()).collect();
        assert_eq!(paths, [root.join("a"), root.join("a/b"), path.clone()]);
        assert!(observed.changes.iter().all(|change| change.before.is_none() && change.after.is_some()));

        let before = store.before_write(&path).unwrap();
        std::fs::write(&path, "newer").unwrap();
        let observed = store.after_write(before).unwrap();
        let [Change { before: Some(before), .. }] = observed.changes.as_slice() else {
            panic!("{observed:?}")
        };
        assert_eq!(store.content(before).unwrap(), b"new");
    }

    #[test]
    fn a_write_that_changes_nothing_is_no_change() {
        let Fixture { root, store, _folder } = fixture();
        for name in ["there", "not/there"] {
            std::fs::write(root.join("there"), "text").unwrap();
            let before = store.before_write(&root.join(name)).unwrap();
            assert!(store.after_write(before).unwrap().is_empty());
        }
    }

    #[test]
    fn a_write_through_a_link_changes_its_target() {
        let Fixture { root, store, _folder } = fixture();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("real/file"), "old").unwrap();
        symlink("real", root.join("folder-link")).unwrap();
        symlink("folder-link/file", root.join("link")).unwrap();
        assert_eq!(store.before_write(&root.join("link")).unwrap().path, root.join("real/file"));
        let created = store.before_write(&root.join("folder-link/new/file")).unwrap();
        assert_eq!(created.path, root.join("real/new/file"));
        assert_eq!(created.missing, [root.join("real/new")]);
        symlink("nowhere", root.join("dangling")).unwrap();
        let refused = store.before_write(&root.join("dangling/file")).unwrap();
        assert!(store.after_write(refused).unwrap().is_empty());
    }

    #[test]
    fn a_file_too_large_for_a_copy_is_told() {
        let Fixture { root, store, _folder } = fixture();
        let path = root.join("large");
        std::fs::File::create(&path).unwrap().set_len(crate::present::LARGEST + 1).unwrap();
        let before = store.before_write(&path).unwrap();
        std::fs::write(&path, "small").unwrap();
        let observed = store.after_write(before).unwrap();
        assert_eq!(observed.changes, []);
        assert_eq!(observed.uncaptured, [Uncaptured { path, fate: Fate::Modified, why: Why::TooLarge }]);
        assert_eq!(store.size().unwrap().blobs, 0);
    }
}
