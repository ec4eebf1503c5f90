//! Which files a workspace has, as far as a reference needs it.
//!
//! People write a path from wherever they stand: `src/main.rs`, `server/x/src/main.rs`, `main.rs`. What is not found
//! from a root is looked up in a list of all files, which is made when it is first needed. Where the list had to end
//! early, everything may exist.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Names that are listed.
const MOST: usize = 200_000;
/// Folders that hold what others wrote, or what was made from the rest.
const CLOSED: [&str; 6] = [".git", "node_modules", "target", ".venv", "dist", "__pycache__"];

pub(super) struct Files<'a> {
    roots: &'a [PathBuf],
    listed: Option<Listed>,
}

struct Listed {
    /// From a name to the folders it is in, relative to a root, with a `/` at both ends.
    folders: HashMap<String, Vec<String>>,
    is_complete: bool,
}

impl<'a> Files<'a> {
    pub(super) fn new(roots: &'a [PathBuf]) -> Self {
        Self { roots, listed: None }
    }

    /// Whether the first folder of the path is in a root: then the rest is meant to be, too.
    pub(super) fn has_folder(&self, path: &str) -> bool {
        let first = path.split('/').next().unwrap_or_default();
        self.roots.iter().any(|root| root.join(first).is_dir())
    }

    pub(super) fn may_have(&mut self, path: &str) -> bool {
        if self.roots.iter().any(|root| root.join(path).symlink_metadata().is_ok()) {
            return true;
        }
        let listed = self.listed.get_or_insert_with(|| Listed::of(self.roots));
        let (folder, name) = path
            .rsplit_once('/')
            .map_or(("/".to_owned(), path), |(folder, name)| (format!("/{folder}/"), name));
        let folders = listed.folders.get(name).map(Vec::as_slice).unwrap_or_default();
        !listed.is_complete || folders.iter().any(|other| other.ends_with(&folder))
    }
}

impl Listed {
    fn of(roots: &[PathBuf]) -> Self {
        let mut listed = Self { folders: HashMap::new(), is_complete: true };
        let mut count = 0;
        let mut left: Vec<(PathBuf, String)> =
            roots.iter().map(|root| (root.clone(), "/".to_owned())).collect();
        while let Some((folder, relative)) = left.pop() {
            count += listed.add(&folder, &relative, &mut left);
            if count > MOST {
                listed.is_complete = false;
                break;
            }
        }
        listed
    }

    fn add(&mut self, folder: &Path, relative: &str, left: &mut Vec<(PathBuf, String)>) -> usize {
        let Ok(entries) = folder.read_dir() else { return 1 };
        let mut count = 1;
        for entry in entries.flatten().take(MOST) {
            count += 1;
            let Ok(name) = entry.file_name().into_string() else { continue };
            // Links are not followed: `file_type` is the link's own.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !CLOSED.contains(&name.as_str()) {
                left.push((entry.path(), format!("{relative}{name}/")));
            }
            self.folders.entry(name).or_default().push(relative.to_owned());
        }
        count
    }
}
