//! Sees when files come and go that memories name: the folders on the way to each are watched, none below them, and of
//! what happens there only what has one of these names counts. So a workspace of any size costs as much as is remembered
//! of it, and nothing while nothing happens.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use language::{Files, Knowledge};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _, event::ModifyKind};

/// Beyond this, changes are seen by what the client tells.
const MOST_FOLDERS: usize = 4_096;

#[derive(Default)]
pub(super) struct Watch {
    /// Made with the first folder: it starts a thread.
    watcher: Option<RecommendedWatcher>,
    /// With what tells a folder from another of the same name: one that was removed is not watched any more.
    watched: BTreeMap<PathBuf, (u64, u64)>,
    names: Arc<Mutex<HashSet<OsString>>>,
}

impl Watch {
    /// Watches what the memories name from now on, and nothing else. `tell` is called with what comes or goes; with
    /// nothing, where nobody knows what it was.
    pub(super) fn turn_to(
        &mut self,
        knowledge: &Knowledge,
        files: &Files,
        tell: impl Fn(&[PathBuf]) + Send + Sync + 'static,
    ) {
        let mut names: HashSet<OsString> = HashSet::new();
        let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
        for path in knowledge.named_paths() {
            names.extend(Path::new(path).components().map(|part| part.as_os_str().to_owned()));
            // It may come back where it was.
            let found = files.find(path).or_else(|| files.last_found(path));
            for root in files.roots() {
                let place =
                    found.clone().filter(|found| found.starts_with(root)).unwrap_or_else(|| root.join(path));
                names.extend(place.strip_prefix(root).into_iter().flatten().map(ToOwned::to_owned));
                let between = place.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
                folders.extend(between.map(Path::to_owned));
            }
        }
        *self.names.lock().unwrap_or_else(PoisonError::into_inner) = names;
        let identity = |folder: PathBuf| {
            let metadata = fs::metadata(&folder).ok().filter(fs::Metadata::is_dir)?;
            Some((folder, (metadata.dev(), metadata.ino())))
        };
        let wanted: BTreeMap<PathBuf, (u64, u64)> =
            folders.into_iter().filter_map(identity).take(MOST_FOLDERS).collect();
        if let Err(error) = self.watch(wanted, tell) {
            tracing::warn!(%error, "not all that memories name can be watched");
        }
    }

    fn watch(
        &mut self,
        wanted: BTreeMap<PathBuf, (u64, u64)>,
        tell: impl Fn(&[PathBuf]) + Send + Sync + 'static,
    ) -> notify::Result<()> {
        if self.watcher.is_none() && !wanted.is_empty() {
            let names = Arc::clone(&self.names);
            self.watcher =
                Some(notify::recommended_watcher(move |event: notify::Result<Event>| match event {
                    Ok(event) if event.need_rescan() => tell(&[]),
                    Ok(event) if is_coming_or_going(event.kind) && names_one(&event, &names) => {
                        tell(&event.paths);
                    }
                    Ok(_) => {}
                    Err(_) => tell(&[]),
                })?);
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
        let new: Vec<_> =
            wanted.into_iter().filter(|(folder, _)| !self.watched.contains_key(folder)).collect();
        let mut problem = Ok(());
        for (folder, identity) in new {
            match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => drop(self.watched.insert(folder, identity)),
                // The others can be watched all the same.
                Err(error) => problem = Err(error),
            }
        }
        problem
    }
}

fn is_coming_or_going(kind: EventKind) -> bool {
    matches!(kind, EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)))
}

fn names_one(event: &Event, names: &Mutex<HashSet<OsString>>) -> bool {
    let names = names.lock().unwrap_or_else(PoisonError::into_inner);
    event.paths.iter().filter_map(|path| path.file_name()).any(|name| names.contains(name))
}
