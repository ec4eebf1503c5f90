//! How much history there is: at most so many changes and so many bytes; the oldest go.

use std::collections::HashSet;
use std::io;

use super::{Change, ContentId, Contents, Locked, MOST_CHANGES};

#[derive(Clone, Copy, Debug)]
pub(in crate::history) struct Limits {
    pub changes: usize,
    /// Of contents.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { changes: MOST_CHANGES, bytes: 32 << 20 }
    }
}

impl Limits {
    /// What is left of contents when they are too many, so that it takes a while until the next time.
    fn bytes_left(self) -> u64 {
        self.bytes / 4 * 3
    }

    /// Of these, for files as they are now: without them the next change of such a file could not be undone.
    fn bytes_for_present(self) -> u64 {
        self.bytes / 4
    }
}

impl Locked {
    pub(super) fn limit(&mut self) -> io::Result<()> {
        if self.log.is_longer_than(self.limits.changes) {
            let removed = self.log.keep_newest(&self.folder, self.limits.changes)?;
            self.forget(&removed)?;
        }
        if self.known.kept > self.limits.bytes {
            self.sweep()?;
        }
        Ok(())
    }

    /// Contents that only these changes needed.
    fn forget(&self, removed: &[Change]) -> io::Result<()> {
        let needed: HashSet<ContentId> =
            self.log.changes.iter().flat_map(contents_of).chain(self.present()).collect();
        for id in removed.iter().flat_map(contents_of).filter(|id| !needed.contains(id)) {
            Contents::new(&self.folder).remove(id)?;
        }
        Ok(())
    }

    /// First the present, the smallest files before others, then changes from the newest back, as long as there is room.
    fn sweep(&mut self) -> io::Result<()> {
        let sizes = Contents::new(&self.folder).sizes()?;
        let size_of = |id: &ContentId| sizes.get(id).copied().unwrap_or_default();
        let mut kept: HashSet<ContentId> = HashSet::new();
        let mut bytes = 0;
        let mut present: Vec<ContentId> = self.present().collect();
        present.sort_by_key(size_of);
        for id in present {
            if bytes + size_of(&id) > self.limits.bytes_for_present() {
                break;
            }
            if kept.insert(id) {
                bytes += size_of(&id);
            }
        }
        let mut most = 0;
        for change in self.log.changes.iter().rev() {
            let new: HashSet<ContentId> = contents_of(change).filter(|id| !kept.contains(id)).collect();
            let more: u64 = new.iter().map(size_of).sum();
            if bytes + more > self.limits.bytes_left() {
                break;
            }
            bytes += more;
            kept.extend(new);
            most += 1;
        }
        // The log first: it must not name what is gone while it could still name it.
        self.log.keep_newest(&self.folder, most)?;
        Contents::new(&self.folder).keep_only(&kept)?;
        self.known.kept = bytes;
        self.known.write(&self.folder)
    }

    fn present(&self) -> impl Iterator<Item = ContentId> {
        self.known.files.values().map(|seen| seen.sha256)
    }
}

fn contents_of(change: &Change) -> impl Iterator<Item = ContentId> {
    [change.before, change.after].into_iter().flatten()
}
