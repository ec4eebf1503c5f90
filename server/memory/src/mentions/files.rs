//! Which files a workspace has, as far as a mention needs it.
//!
//! People write a path from wherever they stand: `src/main.rs`, `server/x/src/main.rs`, `main.rs`. What is not found
//! from a root is looked up in a list of all files, which is made when it is first needed and kept until somebody says
//! that it is old. Where the list had to end early, everything may exist.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Names that are listed.
const MOST: usize = 200_000;
/// Renamings that are kept in mind.
const MOST_RENAMED: usize = 10_000;
/// Renamings of one file that are followed.
const MOST_STEPS: usize = 20;
/// Folders that hold what others wrote, or what was made from the rest.
const CLOSED: [&str; 6] = [".git", "node_modules", "target", ".venv", "dist", "__pycache__"];

#[derive(Debug, Default)]
pub struct Files {
    roots: Vec<PathBuf>,
    listed: Mutex<Option<Arc<Listed>>>,
    /// From where files were to where they are, relative to a root; of those that somebody told about.
    renamed: Mutex<HashMap<String, String>>,
}

#[derive(Debug)]
struct Listed {
    /// From a name to the folders it is in: the root's number, and the path from it with a `/` at both ends.
    folders: HashMap<String, Vec<(usize, String)>>,
    is_complete: bool,
}

impl Files {
    pub fn new(roots: Vec<PathBuf>) -> Self {
        Self { roots, listed: Mutex::default(), renamed: Mutex::default() }
    }

    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Files may have come since they were listed. That one has gone is noticed anyway. Whoever asks meanwhile does not
    /// wait.
    pub fn list_again(&self) {
        let is_listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if is_listed {
            let listed = Arc::new(Listed::of(&self.roots));
            *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = Some(listed);
        }
    }

    /// Somebody renamed a file or a folder.
    pub fn rename(&self, old: &Path, new: &Path) {
        let relative = |path: &Path| {
            self.roots.iter().find_map(|root| Some(path.strip_prefix(root).ok()?.to_str()?.to_owned()))
        };
        if let (Some(old), Some(new)) = (relative(old), relative(new)) {
            let mut renamed = self.renamed.lock().unwrap_or_else(PoisonError::into_inner);
            if renamed.len() < MOST_RENAMED {
                renamed.insert(old, new);
            }
        }
    }

    /// Where the file is now, as far as somebody told, and it is there.
    pub fn renamed(&self, path: &str) -> Option<String> {
        let renamed = self.renamed.lock().unwrap_or_else(PoisonError::into_inner);
        // By its own name rather than by a folder's.
        let next = |path: &str| {
            let fitting = renamed.iter().filter_map(|(old, new)| {
                let below = path.strip_prefix(old.as_str())?;
                (below.is_empty() || below.starts_with('/')).then(|| (old.len(), format!("{new}{below}")))
            });
            fitting.max().map(|(_, new)| new)
        };
        // Again and again, but not in a circle.
        let mut new = next(path)?;
        for _ in 0..MOST_STEPS {
            if self.roots.iter().any(|root| root.join(&new).exists()) {
                return Some(new);
            }
            new = next(&new)?;
        }
        None
    }

    /// Whether the first folder of the path is in a root: then the rest is meant to be, too.
    pub fn has_folder(&self, path: &str) -> bool {
        let first = path.split('/').next().unwrap_or_default();
        self.roots.iter().any(|root| root.join(first).is_dir())
    }

    pub fn may_have(&self, path: &str) -> bool {
        let from_a_root = |root: &PathBuf| root.join(path).symlink_metadata().is_ok();
        self.roots.iter().any(from_a_root)
            || !self.listed().is_complete
            || self.below(path).any(|found| found.symlink_metadata().is_ok())
    }

    /// Where the file is, if it is there: from a root, else the only one whose path ends so.
    pub fn find(&self, path: &str) -> Option<PathBuf> {
        let from_a_root = self.roots.iter().map(|root| root.join(path)).find(|found| found.exists());
        from_a_root.or_else(|| {
            let mut found = self.below(path).filter(|found| found.exists());
            found.next().filter(|_| found.next().is_none())
        })
    }

    /// The path, relative to a root, of the only file of this name.
    pub fn only_one_named(&self, name: &str) -> Option<String> {
        let listed = self.listed();
        let folders = listed.folders.get(name).filter(|_| listed.is_complete)?;
        let is_file = |(root, folder): &&(usize, String)| {
            self.roots.get(*root).is_some_and(|root| root.join(format!(".{folder}{name}")).is_file())
        };
        let mut found = folders.iter().filter(is_file);
        let (_, folder) = found.next()?;
        found.next().is_none().then(|| format!("{}{name}", folder.trim_start_matches('/')))
    }

    /// Where files of this name are.
    pub fn named(&self, name: &str, most: usize) -> Vec<PathBuf> {
        self.below(name).filter(|found| found.is_file()).take(most).collect()
    }

    /// Where the list has something whose path ends so.
    fn below(&self, path: &str) -> impl Iterator<Item = PathBuf> {
        let (folder, name) = path
            .rsplit_once('/')
            .map_or(("/".to_owned(), path), |(folder, name)| (format!("/{folder}/"), name));
        let listed = self.listed();
        let ends = |(_, other): &&(usize, String)| other.ends_with(&folder);
        let folders = listed.folders.get(name).map(Vec::as_slice).unwrap_or_default();
        let paths = folders.iter().filter(ends).filter_map(|(root, folder)| {
            Some(self.roots.get(*root)?.join(folder.trim_start_matches('/')).join(name))
        });
        paths.collect::<Vec<PathBuf>>().into_iter()
    }

    fn listed(&self) -> Arc<Listed> {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(listed.get_or_insert_with(|| Arc::new(Listed::of(&self.roots))))
    }
}

impl Listed {
    fn of(roots: &[PathBuf]) -> Self {
        let mut listed = Self { folders: HashMap::new(), is_complete: true };
        let mut count = 0;
        let mut left: Vec<(PathBuf, usize, String)> =
            roots.iter().enumerate().map(|(number, root)| (root.clone(), number, "/".to_owned())).collect();
        while let Some((folder, root, relative)) = left.pop() {
            count += listed.add(&folder, root, &relative, &mut left);
            if count > MOST {
                listed.is_complete = false;
                break;
            }
        }
        listed
    }

    fn add(
        &mut self,
        folder: &Path,
        root: usize,
        relative: &str,
        left: &mut Vec<(PathBuf, usize, String)>,
    ) -> usize {
        let Ok(entries) = folder.read_dir() else { return 1 };
        let mut count = 1;
        for entry in entries.flatten().take(MOST) {
            count += 1;
            let Ok(name) = entry.file_name().into_string() else { continue };
            // Links are not followed: `file_type` is the link's own.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !CLOSED.contains(&name.as_str()) {
                left.push((entry.path(), root, format!("{relative}{name}/")));
            }
            self.folders.entry(name).or_default().push((root, relative.to_owned()));
        }
        count
    }
}
