//! The workspace as it was last seen: folders, what is in them, and where the copies of the files are.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use ignore::gitignore::Gitignore;

use super::staging::Region;
use crate::entry::Why;
use crate::present::Stamp;

/// Folders by absolute path. One that did not change is shared with the index before.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub folders: HashMap<PathBuf, Arc<Folder>>,
}

#[derive(Clone, Debug)]
pub(super) struct Folder {
    pub listing: Listing,
    /// By name; empty if not listed.
    pub children: Vec<Child>,
    /// Of its own `.gitignore`.
    pub rules: Option<Arc<Gitignore>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Listing {
    /// All children are known.
    Whole(Seen),
    /// Nothing is known about what is in it.
    Not(Why),
}

#[derive(Clone, Debug)]
pub(super) struct Child {
    pub name: OsString,
    pub seen: Seen,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Folder,
    File(Content),
    Symlink(PathBuf),
    /// Never looked into.
    Ignored,
    Special,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    Kept(Region),
    Not(Why),
}

/// How something looked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub stamp: Stamp,
    /// It had changed so shortly before that another change may not show.
    pub fresh: bool,
}

/// The clock of a file system ticks every few milliseconds, that of an old one every two seconds; nanoseconds of zero
/// tell the latter.
const TICK: i64 = 50_000_000;
const OLD_TICK: i64 = 2_000_000_000;

impl Seen {
    /// `now` in nanoseconds since 1970, not later than the look.
    pub fn at(stamp: Stamp, now: i64) -> Self {
        let tick = if stamp.changed % 1_000_000_000 == 0 { OLD_TICK } else { TICK };
        Self { stamp, fresh: stamp.changed.saturating_add(tick) >= now }
    }

    /// Whether what looks like `stamp` is surely the same.
    pub fn is_still(&self, stamp: &Stamp) -> bool {
        !self.fresh && self.stamp == *stamp
    }
}

impl Folder {
    pub fn unlisted(why: Why) -> Self {
        Self { listing: Listing::Not(why), children: Vec::new(), rules: None }
    }

    pub fn is_listed(&self) -> bool {
        matches!(self.listing, Listing::Whole(_))
    }

    pub fn child(&self, name: &OsStr) -> Option<&Child> {
        let position = self.children.binary_search_by(|child| child.name.as_os_str().cmp(name)).ok()?;
        self.children.get(position)
    }
}

impl Child {
    pub fn is_tracked(&self) -> bool {
        matches!(self.kind, Kind::Folder | Kind::File(_) | Kind::Symlink(_))
    }
}

impl Index {
    /// All files of which there is a copy.
    pub fn regions_mut(&mut self) -> impl Iterator<Item = &mut Region> {
        // Only compaction needs this, when no other index shares the folders.
        let children = self.folders.values_mut().flat_map(|folder| Arc::make_mut(folder).children.iter_mut());
        children.filter_map(|child| match &mut child.kind {
            Kind::File(Content::Kept(region)) => Some(region),
            _ => None,
        })
    }

    pub fn kept_bytes(&self) -> u64 {
        let children = self.folders.values().flat_map(|folder| &folder.children);
        let kept = children.map(|child| match &child.kind {
            Kind::File(Content::Kept(region)) => region.len,
            _ => 0,
        });
        kept.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::stamp_at;

    #[test]
    fn what_changed_within_a_tick_of_the_clock_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let handle = std::fs::File::open(folder.path()).unwrap();
        let stamp = stamp_at(handle, OsStr::new("file")).unwrap().unwrap();
        let changed = |changed| Stamp { changed, ..stamp };
        let second = 1_000_000_000;
        for (stamp, now, still) in [
            (changed(5 * second + 1), 5 * second + 2, false),
            (changed(5 * second + 1), 6 * second, true),
            (changed(5 * second), 6 * second, false),
            (changed(5 * second), 8 * second, true),
            (changed(9 * second + 1), 6 * second, false),
        ] {
            assert_eq!(Seen::at(stamp, now).is_still(&stamp), still, "{stamp:?} at {now}");
        }
        assert!(!Seen::at(changed(1), 6 * second).is_still(&changed(2)));
    }
}
