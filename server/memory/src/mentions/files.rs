//! Which files a workspace has, as far as a mention needs it.
//!
//! People write a path from wherever they stand: `src/main.rs`, `server/x/src/main.rs`, `main.rs`. What is not found
//! from a root is looked up in a list of all files, which is made when it is first needed and kept until somebody says
//! that it is old, or a name is new and not in it. Where the list had to end early, everything may exist.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Place, has_ending_of_a_file};

/// Names that are listed.
const MOST: usize = 200_000;
/// Renamings that are kept in mind.
const MOST_RENAMED: usize = 10_000;
/// Renamings of one file that are followed.
const MOST_STEPS: usize = 20;
/// Folders that hold what others wrote, or what was made from the rest.
const CLOSED: [&str; 6] = [".git", "node_modules", "target", ".venv", "dist", "__pycache__"];
/// Folders that often do: they are listed, but what comes and goes there is no news.
const OFTEN_MADE: [&str; 8] = ["build", "out", "obj", "coverage", "venv", "tmp", ".next", ".cache"];
/// Names that were looked for in vain and are kept in mind.
const MOST_MISSED: usize = 10_000;
/// A list is as good as new for so many times as long as it took to make.
const REST: u32 = 50;

#[derive(Debug, Default)]
pub struct Files {
    roots: Vec<PathBuf>,
    listed: Mutex<Option<Arc<Listed>>>,
    /// From where files were to where they are, relative to a root; of those that somebody told about.
    renamed: Mutex<HashMap<String, String>>,
    /// Where a name last led.
    found: Mutex<HashMap<String, PathBuf>>,
    /// When a name was first looked for in vain.
    missed: Mutex<HashMap<String, Instant>>,
}

#[derive(Debug)]
struct Listed {
    /// From a name to the folders it is in: the root's number, and the path from it with a `/` at both ends.
    folders: HashMap<String, Vec<(usize, String)>>,
    is_complete: bool,
    began: Instant,
    took: Duration,
}

impl Files {
    pub fn new(roots: Vec<PathBuf>) -> Self {
        Self { roots, ..Self::default() }
    }

    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Files may have come since they were listed. That one has gone is noticed anyway. Whoever asks meanwhile does not
    /// wait.
    pub fn list_again(&self) {
        let is_listed = lock(&self.listed).is_some();
        if is_listed {
            let listed = Arc::new(Listed::of(&self.roots));
            *lock(&self.listed) = Some(listed);
        }
    }

    /// Whether the list is right about a place.
    pub fn is_as_listed(&self, place: &Path) -> bool {
        let Some(listed) = lock(&self.listed).clone() else { return true };
        let relative = self.roots.iter().find_map(|root| place.strip_prefix(root).ok()?.to_str());
        let Some(relative) = relative.filter(|path| !is_in(path, &CLOSED)) else { return true };
        let is_listed = self.below(&listed, relative).any(|listed| listed == place);
        is_listed == place.symlink_metadata().is_ok()
    }

    /// Somebody renamed a file or a folder.
    pub fn rename(&self, old: &Path, new: &Path) {
        let relative = |path: &Path| {
            self.roots.iter().find_map(|root| Some(path.strip_prefix(root).ok()?.to_str()?.to_owned()))
        };
        if let (Some(old), Some(new)) = (relative(old), relative(new)) {
            let mut renamed = lock(&self.renamed);
            if renamed.len() < MOST_RENAMED {
                renamed.insert(old, new);
            }
        }
    }

    /// Where the file is now, as far as somebody told, and it is there.
    pub fn renamed(&self, path: &str) -> Option<String> {
        let renamed = lock(&self.renamed);
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

    /// Whether a name leads nowhere, as far as anybody can be sure. A name that never led anywhere may mean something
    /// else: a library, a branch, what is made by a build.
    pub fn is_gone(&self, path: &str, place: Place) -> bool {
        if is_in(path, &CLOSED) || is_in(path, &OFTEN_MADE) || self.at_a_root(path).is_some() {
            return false;
        }
        match self.last_found(path) {
            // Another whose path ends so is another.
            Some(last) if self.is_at_a_root(&last, path) => true,
            Some(_) => !self.may_be_elsewhere(path),
            None => self.is_meant_to_be_a_file(path, place) && !self.may_be_elsewhere(path),
        }
    }

    /// Where the file is, if it is there: from a root, else the only one whose path ends so.
    pub fn find(&self, path: &str) -> Option<PathBuf> {
        self.at_a_root(path).or_else(|| {
            if self.last_found(path).is_some_and(|last| self.is_at_a_root(&last, path)) {
                return None;
            }
            let listed = self.listed();
            let mut found = self.below(&listed, path).filter(|found| found.exists());
            let only = found.next().filter(|_| listed.is_complete && found.next().is_none())?;
            lock(&self.found).insert(path.to_owned(), only.clone());
            Some(only)
        })
    }

    /// Whether it is, or was, the path of a file from a root.
    pub(super) fn knows(&self, path: &str) -> bool {
        self.at_a_root(path).is_some() || self.last_found(path).is_some()
    }

    /// Where a name led when it last led anywhere.
    pub fn last_found(&self, path: &str) -> Option<PathBuf> {
        lock(&self.found).get(path).cloned()
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
        self.below(&self.listed(), name).filter(|found| found.is_file()).take(most).collect()
    }

    fn at_a_root(&self, path: &str) -> Option<PathBuf> {
        let places = self.roots.iter().map(|root| root.join(path));
        let found = places.into_iter().find(|place| place.symlink_metadata().is_ok())?;
        let mut last = lock(&self.found);
        if last.get(path) != Some(&found) {
            last.insert(path.to_owned(), found.clone());
        }
        Some(found)
    }

    fn is_at_a_root(&self, place: &Path, path: &str) -> bool {
        self.roots.iter().any(|root| root.join(path) == place)
    }

    fn is_meant_to_be_a_file(&self, path: &str, place: Place) -> bool {
        let Some((folder, name)) = path.rsplit_once('/') else { return place == Place::Link };
        // `src/utils/date` may be `src/utils/date.ts`, or a branch.
        has_ending_of_a_file(name)
            || self.roots.iter().any(|root| {
                let Ok(entries) = root.join(folder).read_dir() else { return false };
                let with_ending = format!("{name}.");
                !entries.flatten().any(|it| it.file_name().to_string_lossy().starts_with(&with_ending))
            })
    }

    fn may_be_elsewhere(&self, path: &str) -> bool {
        let first_missed = {
            let mut missed = lock(&self.missed);
            if missed.len() > MOST_MISSED {
                missed.clear();
            }
            *missed.entry(path.to_owned()).or_insert_with(Instant::now)
        };
        let has = |listed: &Listed| {
            !listed.is_complete || self.below(listed, path).any(|found| found.symlink_metadata().is_ok())
        };
        let listed = self.listed();
        if has(&listed) {
            return true;
        }
        // A name that is newer than the list may be of a file that is, too.
        let is_worth_a_look = listed.began < first_missed && listed.began.elapsed() > listed.took * REST;
        if is_worth_a_look {
            self.list_again();
        }
        is_worth_a_look && has(&self.listed())
    }

    /// Where the list has something whose path ends so.
    fn below(&self, listed: &Listed, path: &str) -> impl Iterator<Item = PathBuf> {
        let (folder, name) = path
            .rsplit_once('/')
            .map_or(("/".to_owned(), path), |(folder, name)| (format!("/{folder}/"), name));
        let ends = |(_, other): &&(usize, String)| other.ends_with(&folder);
        let folders = listed.folders.get(name).map(Vec::as_slice).unwrap_or_default();
        let paths = folders.iter().filter(ends).filter_map(|(root, folder)| {
            Some(self.roots.get(*root)?.join(folder.trim_start_matches('/')).join(name))
        });
        paths.collect::<Vec<PathBuf>>().into_iter()
    }

    fn listed(&self) -> Arc<Listed> {
        let mut listed = lock(&self.listed);
        Arc::clone(listed.get_or_insert_with(|| Arc::new(Listed::of(&self.roots))))
    }
}

impl Listed {
    fn of(roots: &[PathBuf]) -> Self {
        let began = Instant::now();
        let mut listed = Self { folders: HashMap::new(), is_complete: true, began, took: Duration::ZERO };
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
        listed.took = began.elapsed();
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

fn is_in(path: &str, folders: &[&str]) -> bool {
    path.split('/').any(|part| folders.contains(&part))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
