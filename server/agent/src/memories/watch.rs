//! Sees what changes in a memory directory behind the server's back: another editor, Claude Code, git, the user.
//!
//! By the system's word where it gives one, else by looking every second.

use std::{
    path::Path,
    sync::{Arc, Weak},
    time::Duration,
};

use memory::history::History;
use notify::{
    Config, EventKind, RecommendedWatcher, RecursiveMode, Watcher, event::AccessKind, event::AccessMode,
};
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use super::Memories;
use crate::frontend::Frontend;

/// Changes come in flocks: a file is written in several steps, git writes many.
const DEBOUNCE: Duration = Duration::from_millis(150);
/// Where the system does not tell.
const POLL: Duration = Duration::from_secs(1);

/// Dropping it ends the watch.
pub(super) struct Watch {
    _task: AbortOnDropHandle<()>,
}

pub(super) fn begin(memories: &Arc<Memories>, frontend: &Arc<dyn Frontend>) -> Watch {
    let task = tokio::spawn(run(Arc::downgrade(memories), Arc::clone(frontend)));
    Watch { _task: AbortOnDropHandle::new(task) }
}

async fn run(memories: Weak<Memories>, frontend: Arc<dyn Frontend>) {
    let changed = Arc::new(Notify::new());
    let Some(directory) = memories.upgrade().map(|memories| memories.directory().to_owned()) else { return };
    let (watched, notice) = (directory.clone(), Arc::clone(&changed));
    let watcher = tokio::task::spawn_blocking(move || watcher(&watched, notice)).await;
    let watcher = match watcher {
        Ok(Ok(watcher)) => Some(watcher),
        Ok(Err(error)) => {
            tracing::warn!(%error, "memories cannot be watched; they are looked at every second");
            None
        }
        Err(error) => {
            tracing::error!(%error, "watching memories panicked");
            None
        }
    };
    // The first look: what was changed while no server ran.
    loop {
        let Some(memories) = memories.upgrade() else { return };
        memories.store.set_watched(watcher.is_some());
        look(memories, &frontend).await;
        match watcher {
            Some(_) => changed.notified().await,
            None => tokio::time::sleep(POLL).await,
        }
        tokio::time::sleep(DEBOUNCE).await;
    }
}

/// Records what changed as the user's, and tells of it. Waits for whoever is writing.
async fn look(memories: Arc<Memories>, frontend: &Arc<dyn Frontend>) {
    let frontend = Arc::clone(frontend);
    // Not in the lock's queue: whoever comes behind would wait for a long command, too.
    let nobody_writes = loop {
        match Arc::clone(&memories.writing).try_write_owned() {
            Ok(guard) => break guard,
            Err(_held) => tokio::time::sleep(DEBOUNCE).await,
        }
    };
    let looked = tokio::task::spawn_blocking(move || {
        memories.store.mark_stale();
        let observed = History::open(memories.directory()).and_then(|history| history.observe());
        memories.tell(&*frontend, None, observed);
        drop(nobody_writes);
        memories.store.refresh();
    });
    if let Err(error) = looked.await {
        tracing::error!(%error, "looking at memories panicked");
    }
}

fn watcher(directory: &Path, changed: Arc<Notify>) -> notify::Result<RecommendedWatcher> {
    let heard = move |event: notify::Result<notify::Event>| {
        let concerned = match event {
            Ok(event) => {
                event.need_rescan()
                    || (is_change(event.kind) && event.paths.iter().any(|path| !is_ours(path)))
            }
            Err(_) => true,
        };
        if concerned {
            changed.notify_one();
        }
    };
    // A link in it may lead to all of the disk. The directory itself may be behind one.
    let mut watcher = RecommendedWatcher::new(heard, Config::default().with_follow_symlinks(false))?;
    watcher.watch(&directory.canonicalize()?, RecursiveMode::Recursive)?;
    Ok(watcher)
}

/// The server's own folder: its changes would call for the next look.
fn is_ours(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".history")
}

fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    }
}
