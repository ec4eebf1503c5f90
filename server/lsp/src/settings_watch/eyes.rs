//! Notices changes of a few files: by the system's word where it gives one, else by looking.
//!
//! Folders are watched, not files, and not what is below them: a file that is replaced or made anew is noticed too.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use tokio::sync::Notify;

/// What changes settings: the files, the folder that has two of them, and what the user has said about trust.
pub(super) const NAMES: [&str; 5] =
    ["settings.json", "settings.local.json", "managed-settings.json", "reverie-trust.json", ".claude"];

pub(super) struct Eyes {
    changed: Arc<Notify>,
    /// Made with the first look: it starts a thread.
    watcher: Option<RecommendedWatcher>,
    /// With what told the folders from others of the same name: one that was removed is not watched any more.
    watched: BTreeMap<PathBuf, (u64, u64)>,
    blind: bool,
    stamps: Vec<Option<(u64, u64, i64, i64)>>,
}

impl Eyes {
    pub(super) fn new(changed: Arc<Notify>) -> Self {
        Self { changed, watcher: None, watched: BTreeMap::new(), blind: false, stamps: Vec::new() }
    }

    /// Whether the system tells of changes.
    pub(super) fn are_open(&self) -> bool {
        !self.blind
    }

    /// Watches for changes of these files from now on.
    pub(super) fn turn_to(&mut self, files: &[PathBuf]) {
        self.stamps = stamps(files);
        match self.try_to_watch(files) {
            Ok(()) => self.blind = false,
            Err(error) => {
                if !self.blind {
                    tracing::warn!(%error, "settings files cannot be watched; they are looked at every few seconds");
                }
                self.blind = true;
            }
        }
    }

    /// Whether one of the files is not what it was at the last look.
    pub(super) fn see_a_change(&self, files: &[PathBuf]) -> bool {
        self.stamps != stamps(files)
    }

    fn try_to_watch(&mut self, files: &[PathBuf]) -> notify::Result<()> {
        let wanted: BTreeMap<PathBuf, (u64, u64)> = files
            .iter()
            .flat_map(|file| folders(file))
            .filter_map(|folder| {
                let metadata = fs::metadata(&folder).ok()?;
                Some((folder, (metadata.dev(), metadata.ino())))
            })
            .collect();
        if self.watcher.is_none() {
            self.watcher = Some(watcher(Arc::clone(&self.changed))?);
        }
        let Some(watcher) = &mut self.watcher else { return Ok(()) };
        for (folder, identity) in &self.watched {
            if wanted.get(folder) != Some(identity)
                && let Err(error) = watcher.unwatch(folder)
            {
                tracing::debug!(%error, "a folder that was not watched any more");
            }
        }
        self.watched.retain(|folder, identity| wanted.get(folder) == Some(identity));
        for (folder, identity) in wanted {
            if self.watched.contains_key(&folder) {
                continue;
            }
            match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder, identity);
                }
                // Gone meanwhile, or nobody may look into it: then there is nothing to notice.
                Err(notify::Error { kind: notify::ErrorKind::PathNotFound, .. }) => {}
                Err(notify::Error { kind: notify::ErrorKind::Io(error), .. })
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Where changes of a file show: in its folder, or in the one above while that is missing; and where a link leads.
fn folders(file: &Path) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    let parent = file.parent().filter(|parent| parent.is_dir());
    folders.extend(parent.or_else(|| file.parent()?.parent()).map(Path::to_path_buf));
    if file.is_symlink()
        && let Ok(target) = fs::canonicalize(file)
    {
        folders.extend(target.parent().map(Path::to_path_buf));
    }
    folders
}

fn watcher(changed: Arc<Notify>) -> notify::Result<RecommendedWatcher> {
    notify::recommended_watcher(move |event: notify::Result<Event>| {
        let concerned = match event {
            Ok(event) => {
                event.need_rescan()
                    || (is_change(event.kind) && event.paths.iter().any(|path| is_watched_name(path)))
            }
            Err(error) => {
                tracing::debug!(%error, "a change of settings files may have been missed");
                true
            }
        };
        if concerned {
            changed.notify_one();
        }
    })
}

/// Reading is none, or our own looks would call for the next.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    }
}

pub(super) fn is_watched_name(path: &Path) -> bool {
    path.file_name().is_some_and(|file| NAMES.iter().any(|name| file == *name))
}

fn stamps(files: &[PathBuf]) -> Vec<Option<(u64, u64, i64, i64)>> {
    let stamp = |file: &PathBuf| {
        let metadata = fs::metadata(file).ok()?;
        Some((metadata.ino(), metadata.len(), metadata.ctime(), metadata.ctime_nsec()))
    };
    files.iter().map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_missing_is_watched_from_above() {
        let root = tempfile::TempDir::new().unwrap();
        let file = root.path().join("project/.claude/settings.json");
        fs::create_dir(root.path().join("project")).unwrap();
        assert_eq!(folders(&file), BTreeSet::from([root.path().join("project")]));
        fs::create_dir(root.path().join("project/.claude")).unwrap();
        assert_eq!(folders(&file), BTreeSet::from([root.path().join("project/.claude")]));
    }

    #[test]
    fn without_the_systems_word_a_look_finds_every_change() {
        let root = tempfile::TempDir::new().unwrap();
        let files = [root.path().join("settings.json")];
        let mut eyes = Eyes::new(Arc::default());
        eyes.turn_to(&files);
        assert!(!eyes.see_a_change(&files));
        for text in ["{}", "{ }"] {
            fs::write(&files[0], text).unwrap();
            assert!(eyes.see_a_change(&files));
            eyes.turn_to(&files);
        }
        fs::remove_file(&files[0]).unwrap();
        assert!(eyes.see_a_change(&files));
    }
}
