//! What a result was made from, by what the system says about it without reading it: a result holds for as long as
//! nothing of that has changed. Links and folders that come and go count as changes too.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::directories;

/// A process works in a handful of folders.
const MOST: usize = 16;
/// What was changed this recently may be changed again within the clock's grain and look the same.
const FRESH: Duration = Duration::from_secs(2);

/// Everything the system says about a file's content. The change time cannot be set by programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(metadata: &fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether a later change is sure to make another stamp.
    pub(crate) fn is_settled(&self, now: SystemTime) -> bool {
        let (Ok(seconds), Ok(nanoseconds)) = (self.changed.0.try_into(), self.changed.1.try_into()) else {
            return false;
        };
        let changed = UNIX_EPOCH + Duration::new(seconds, nanoseconds);
        now.duration_since(changed).is_ok_and(|age| age > FRESH)
    }
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Look {
    Nothing,
    /// A file, or a folder by its list of entries.
    Is(Stamp),
    Link {
        itself: Stamp,
        /// With all links resolved.
        target: Option<PathBuf>,
        is: Option<Stamp>,
    },
}

impl Look {
    fn at(path: &Path) -> Self {
        let Ok(metadata) = fs::symlink_metadata(path) else { return Self::Nothing };
        let itself = Stamp::of(&metadata);
        if !metadata.is_symlink() {
            return Self::Is(itself);
        }
        let is = fs::metadata(path).ok().map(|metadata| Stamp::of(&metadata));
        Self::Link { itself, target: fs::canonicalize(path).ok(), is }
    }

    fn is_settled(&self, now: SystemTime) -> bool {
        match self {
            Self::Nothing => true,
            Self::Is(stamp) => stamp.is_settled(now),
            Self::Link { itself, is, .. } => {
                itself.is_settled(now) && is.is_none_or(|stamp| stamp.is_settled(now))
            }
        }
    }
}

/// Where a folder is, whatever is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    /// With all links resolved.
    real: PathBuf,
    is_folder: bool,
}

impl Place {
    fn of(path: &Path) -> Self {
        Self { real: directories::canonical(path), is_folder: path.is_dir() }
    }
}

/// Everything that was looked at for a result, each as it was before it was read.
#[derive(Clone, Debug)]
pub struct Seen {
    since: SystemTime,
    is_settled: bool,
    looks: Vec<(PathBuf, Look)>,
    places: Vec<(PathBuf, Place)>,
    git_roots: Vec<(PathBuf, Option<PathBuf>)>,
}

impl Seen {
    /// Begins at `now`.
    pub fn new(now: SystemTime) -> Self {
        Self { since: now, is_settled: true, looks: Vec::new(), places: Vec::new(), git_roots: Vec::new() }
    }

    /// To be called before a file is read or a folder is listed.
    pub fn look(&mut self, path: &Path) {
        let look = Look::at(path);
        self.is_settled &= look.is_settled(self.since);
        self.looks.push((path.to_owned(), look));
    }

    /// [`directories::canonical`].
    pub fn canonical(&mut self, path: &Path) -> PathBuf {
        self.place(path).real
    }

    pub(crate) fn is_folder(&mut self, path: &Path) -> bool {
        self.place(path).is_folder
    }

    /// [`directories::git_root`].
    pub fn git_root(&mut self, folder: &Path) -> Option<PathBuf> {
        if let Some((_, root)) = self.git_roots.iter().find(|(known, _)| known == folder) {
            return root.clone();
        }
        let root = directories::git_root(folder);
        self.git_roots.push((folder.to_owned(), root.clone()));
        root
    }

    fn place(&mut self, path: &Path) -> Place {
        if let Some((_, place)) = self.places.iter().find(|(known, _)| known == path) {
            return place.clone();
        }
        let place = Place::of(path);
        self.places.push((path.to_owned(), place.clone()));
        place
    }

    fn holds(&self) -> bool {
        self.git_roots.iter().all(|(folder, root)| directories::git_root(folder) == *root)
            && self.places.iter().all(|(path, place)| Place::of(path) == *place)
            && self.looks.iter().all(|(path, look)| Look::at(path) == *look)
    }
}

/// For those who keep no result: nothing is older than this.
impl Default for Seen {
    fn default() -> Self {
        Self::new(UNIX_EPOCH)
    }
}

/// Results by what they are for, each made again when something that was looked at for it has changed.
#[derive(Debug)]
pub struct Known<K, V>(Mutex<Vec<Arc<Entry<K, V>>>>);

#[derive(Debug)]
struct Entry<K, V> {
    key: K,
    value: V,
    seen: Seen,
}

impl<K: PartialEq, V: Clone> Known<K, V> {
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// The result for `key`, which says everything it depends on besides what `make` looks at.
    pub fn get(&self, now: SystemTime, key: K, make: impl FnOnce(&mut Seen) -> V) -> V {
        let known = self.entries().iter().find(|entry| entry.key == key).cloned();
        if let Some(known) = known.filter(|known| known.seen.holds()) {
            return known.value.clone();
        }
        let mut seen = Seen::new(now);
        let value = make(&mut seen);
        let mut entries = self.entries();
        entries.retain(|entry| entry.key != key);
        if seen.is_settled {
            if entries.len() >= MOST {
                entries.remove(0);
            }
            entries.push(Arc::new(Entry { key, value: value.clone(), seen }));
        }
        value
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Arc<Entry<K, V>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: PartialEq, V: Clone> Default for Known<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
