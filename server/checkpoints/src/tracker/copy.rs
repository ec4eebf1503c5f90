//! Making the copies that a walk found wanting, within the limits of bytes and time.

use std::ffi::OsStr;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rustix::fs::FileType;

use super::index::{Child, Content, Index, Kind, Seen};
use super::staging::Staging;
use super::walk::Wanted;
use super::{Clock, Config};
use crate::entry::Why;
use crate::folder::{open, open_beneath};
use crate::present::read_at;

/// Whether there was time for all.
pub(super) fn copy(
    config: &Config,
    index: &mut Index,
    mut wanted: Vec<Wanted>,
    staging: &Staging,
    clock: &Clock<'_>,
) -> bool {
    if wanted.is_empty() {
        return true;
    }
    // What is near the root is the most likely to be missed.
    wanted.sort_by_cached_key(|wanted| (wanted.folder.components().count(), wanted.folder.clone()));
    let copying = Copying {
        config,
        index,
        staging,
        clock,
        now: clock.nanoseconds(),
        room: AtomicU64::new(config.limits.bytes.saturating_sub(index.kept_bytes())),
        next: AtomicUsize::new(0),
    };
    let threads = config.threads().min(wanted.len());
    let parts: Vec<Vec<Copied>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..threads).map(|_| scope.spawn(|| copying.work(&wanted))).collect();
        let own = copying.work(&wanted);
        let joined =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.chain([own]).collect()
    });
    for copied in parts.into_iter().flatten() {
        let folder = wanted.get(copied.group).and_then(|wanted| index.folders.get_mut(&wanted.folder));
        let Some(folder) = folder.map(Arc::make_mut) else { continue };
        if let Some(child) = folder.children.get_mut(copied.position) {
            child.kind = Kind::File(copied.content);
            child.seen = copied.seen;
        }
    }
    !clock.is_over()
}

struct Copying<'a> {
    config: &'a Config,
    index: &'a Index,
    staging: &'a Staging,
    clock: &'a Clock<'a>,
    now: i64,
    room: AtomicU64,
    next: AtomicUsize,
}

struct Copied {
    group: usize,
    position: usize,
    seen: Seen,
    content: Content,
}

impl Copying<'_> {
    fn work(&self, wanted: &[Wanted]) -> Vec<Copied> {
        let (mut all, mut buffer) = (Vec::new(), Vec::new());
        loop {
            let group = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(wanted) = wanted.get(group) else { return all };
            let relative = wanted.folder.strip_prefix(&wanted.root).unwrap_or(Path::new(""));
            let handle = open(&wanted.root).and_then(|root| open_beneath(root, relative));
            let Some(folder) = self.index.folders.get(&wanted.folder) else { continue };
            for &position in &wanted.positions {
                if self.clock.is_over() {
                    return all;
                }
                let Some(child) = folder.children.get(position) else { continue };
                let (seen, content) = match &handle {
                    Ok(handle) => self.file(handle, child, &mut buffer),
                    Err(_) => (child.seen, Content::Not(Why::Unreadable)),
                };
                all.push(Copied { group, position, seen, content });
            }
        }
    }

    fn file(&self, handle: &impl std::os::fd::AsFd, child: &Child, buffer: &mut Vec<u8>) -> (Seen, Content) {
        let name: &OsStr = &child.name;
        let without = |why| (Seen::at(child.seen.stamp, self.now), Content::Not(why));
        if child.seen.stamp.kind != FileType::RegularFile
            || child.seen.stamp.len > self.config.limits.file_bytes
        {
            return without(Why::TooLarge);
        }
        let stamp = match read_at(handle, name, self.config.limits.file_bytes, buffer) {
            Ok(Some(stamp)) => stamp,
            // It grew, or does not hold still.
            Ok(None) => return without(Why::NotReady),
            Err(_) => return without(Why::Unreadable),
        };
        let taken =
            self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(stamp.len));
        if taken.is_err() {
            return without(Why::OverBudget);
        }
        match self.staging.put(buffer) {
            Ok(region) => (Seen::at(stamp, self.now), Content::Kept(region)),
            Err(error) => {
                tracing::debug!(%error, "no copy of a file could be made");
                without(Why::OverBudget)
            }
        }
    }
}
