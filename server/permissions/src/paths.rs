//! Paths as permissions see them: cleaned by their letters, then followed through the links that exist.

use std::path::{Component, Path, PathBuf};

/// Removes `.` and `..` by their letters alone; no file is looked at. `..` at the root stays at the root.
pub fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                cleaned.pop();
            }
            other => cleaned.push(other),
        }
    }
    cleaned
}

/// A path by its letters, and where it really leads.
pub(crate) struct Place {
    pub(crate) written: PathBuf,
    /// `None` when a link in it leads nowhere: then nobody can say where a write would end up.
    pub(crate) real: Option<PathBuf>,
}

impl Place {
    pub(crate) fn of(path: &Path) -> Self {
        let written = clean(path);
        let real = follow(&written);
        Self { written, real }
    }

    /// Where `path` led to when that was looked up.
    pub(crate) fn seen(path: &Path, real: Option<&Path>) -> Self {
        Self { written: clean(path), real: real.map(Path::to_owned) }
    }

    /// Whether it really lies in one of the folders, whatever the links on the way.
    pub(crate) fn is_inside(&self, folders: &[PathBuf]) -> bool {
        folders.iter().any(|folder| self.below(folder).is_some())
    }

    /// The rest of the real path below `folder`.
    pub(crate) fn below(&self, folder: &Path) -> Option<&Path> {
        self.real.as_deref()?.strip_prefix(follow(&clean(folder))?).ok()
    }

    /// The path as written and, if it differs, as it really is.
    pub(crate) fn spellings(&self) -> impl Iterator<Item = &Path> {
        let real = self.real.as_deref().filter(|real| *real != self.written);
        std::iter::once(self.written.as_path()).chain(real)
    }
}

/// The longest part that exists with its links followed, then the rest.
pub(crate) fn follow(path: &Path) -> Option<PathBuf> {
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        match existing.canonicalize() {
            Ok(real) => return Some(missing.iter().rev().fold(real, |real, name| real.join(name))),
            // What is there but leads nowhere is a dangling link or a loop: a write would create its target.
            Err(_) if existing.is_symlink() => return None,
            Err(_) => {
                missing.push(existing.file_name()?);
                existing = existing.parent()?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleaning_is_by_letters() {
        let cases = [
            ("/a/./b//c", "/a/b/c"),
            ("/a/b/../c", "/a/c"),
            ("/../../a", "/a"),
            ("/a/b/..", "/a"),
            ("/", "/"),
            ("/a/", "/a"),
        ];
        for (given, expected) in cases {
            assert_eq!(clean(Path::new(given)), Path::new(expected), "{given}");
        }
    }

    #[test]
    fn links_are_followed_as_far_as_they_exist() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("real")).unwrap();
        std::os::unix::fs::symlink("real", base.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", base.join("dangling")).unwrap();
        std::os::unix::fs::symlink("loop", base.join("loop")).unwrap();

        assert_eq!(follow(&base.join("link/new/file")), Some(base.join("real/new/file")));
        assert_eq!(follow(&base.join("real/file")), Some(base.join("real/file")));
        assert_eq!(follow(&base.join("dangling")), None);
        assert_eq!(follow(&base.join("dangling/file")), None);
        assert_eq!(follow(&base.join("loop/file")), None);
    }
}
