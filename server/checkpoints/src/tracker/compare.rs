//! What happened between two walks.

use std::cmp::Ordering;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::index::{Child, Content, Folder, Index, Kind, Listing};
use super::staging::Staging;
use crate::blob::Blob;
use crate::entry::{Change, Fate, Observed, State, Uncaptured, Why};
use crate::store::Store;

/// More than this many are only counted.
const NAMED: usize = 100;

/// What became of `old`. Its contents, as far as they are needed, go to the store.
pub(super) fn compare(
    roots: &[PathBuf],
    old: &Index,
    new: &Index,
    staging: &Staging,
    store: &Store,
) -> Observed {
    let mut comparing = Comparing { old, new, staging, store, observed: Observed::default() };
    for root in roots {
        if let Some(before) = old.folders.get(root) {
            comparing.folder(root, Was::of(before), new.folders.get(root));
        }
    }
    comparing.observed
}

struct Comparing<'a> {
    old: &'a Index,
    new: &'a Index,
    staging: &'a Staging,
    store: &'a Store,
    observed: Observed,
}

/// What is known of the contents of a folder at the walk before.
#[derive(Clone, Copy)]
enum Was<'a> {
    Absent,
    Unknown(Why),
    Known(&'a Arc<Folder>),
}

impl<'a> Was<'a> {
    fn of(folder: &'a Arc<Folder>) -> Self {
        match folder.listing {
            Listing::Whole(_) => Self::Known(folder),
            Listing::Not(why) => Self::Unknown(why),
        }
    }
}

impl<'a> Comparing<'a> {
    fn folder(&mut self, path: &Path, before: Was<'a>, after: Option<&'a Arc<Folder>>) {
        let before = match (before, after) {
            // Nothing was known of it. If that changes, or it is gone, this is the moment to say so.
            (Was::Unknown(why), Some(after)) if after.is_listed() => {
                return self.uncaptured(path, Fate::Unknown, why);
            }
            (Was::Unknown(_), Some(_)) => return,
            (Was::Unknown(why), None) => return self.uncaptured(path, Fate::Deleted, why),
            (Was::Known(before), Some(after)) if Arc::ptr_eq(before, after) => {
                // Those below may differ all the same.
                for child in before.children.iter().filter(|child| matches!(child.kind, Kind::Folder)) {
                    self.below(&path.join(&child.name), Some(child), Some(child));
                }
                return;
            }
            (Was::Known(before), _) => before.children.as_slice(),
            (Was::Absent, _) => &[],
        };
        let after = match after.map(|after| (after.listing, after)) {
            Some((Listing::Not(why), _)) => return self.uncaptured(path, Fate::Unknown, why),
            Some((Listing::Whole(_), after)) => after.children.as_slice(),
            None => &[],
        };
        let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
        loop {
            let order = match (before.peek(), after.peek()) {
                (None, None) => return,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(one), Some(other)) => one.name.cmp(&other.name),
            };
            let one = if order.is_le() { before.next() } else { None };
            let other = if order.is_ge() { after.next() } else { None };
            self.child(path, one, other);
        }
    }

    fn child(&mut self, folder: &Path, before: Option<&'a Child>, after: Option<&'a Child>) {
        let Some(name) = before.or(after).map(|child| &child.name) else { return };
        let path = folder.join(name);
        let fate = match (before, after) {
            (None, _) => Fate::Created,
            (_, None) => Fate::Deleted,
            _ => Fate::Modified,
        };
        match (before.map(|child| &child.kind), after.map(|child| &child.kind)) {
            (Some(Kind::Ignored), _) => return self.ignored(&path, before, after),
            (None, Some(Kind::Ignored)) => return self.uncaptured(&path, fate, Why::Ignored),
            (None, Some(Kind::Special)) => return self.uncaptured(&path, fate, Why::Special),
            (Some(Kind::Special), Some(Kind::Special)) => return,
            (Some(Kind::Special), _) => return self.uncaptured(&path, fate, Why::Special),
            _ => {}
        }
        self.change(&path, before, after);
        self.below(&path, before, after);
    }

    fn below(&mut self, path: &Path, before: Option<&'a Child>, after: Option<&'a Child>) {
        let is_folder = |child: &&Child| matches!(child.kind, Kind::Folder);
        let was = before.filter(is_folder).map(|_| match self.old.folders.get(path) {
            Some(folder) => Was::of(folder),
            // It came and went during the walk.
            None => Was::Unknown(Why::NotReady),
        });
        let is = after.filter(is_folder).and_then(|_| self.new.folders.get(path));
        if was.is_some() || is.is_some() {
            self.folder(path, was.unwrap_or(Was::Absent), is);
        }
    }

    /// Nobody looks into an ignored folder: that it is there is all that is known.
    fn ignored(&mut self, path: &Path, before: Option<&Child>, after: Option<&Child>) {
        let is_folder = |child: Option<&Child>| child.is_some_and(|child| child.seen.stamp.kind.is_dir());
        let fate = match (before, after) {
            (_, None) => Fate::Deleted,
            (_, Some(Child { kind: Kind::Ignored, .. })) if is_folder(before) && is_folder(after) => return,
            // It is ignored no longer.
            _ if is_folder(before) && is_folder(after) => Fate::Unknown,
            (Some(before), Some(after)) if before.seen.stamp == after.seen.stamp => return,
            _ => Fate::Modified,
        };
        self.uncaptured(path, fate, Why::Ignored);
    }

    fn change(&mut self, path: &Path, before: Option<&Child>, after: Option<&Child>) {
        if let (Some(before), Some(after)) = (before, after)
            && before.seen.stamp.mode == after.seen.stamp.mode
            && self.is_same_file(before, after)
        {
            return;
        }
        if let Some(Child { kind: Kind::File(Content::Not(why)), seen, .. }) = before {
            let fate = match after {
                Some(after) if after.seen.stamp == seen.stamp => return,
                Some(_) => Fate::Modified,
                None => Fate::Deleted,
            };
            return self.uncaptured(path, fate, *why);
        }
        let old = before.map(|child| self.state(child, |bytes| self.store.put(bytes))).transpose();
        let new = after.map(|child| self.state(child, |bytes| Ok(Blob::of(bytes)))).transpose();
        match (old, new) {
            (Ok(before), Ok(after)) if before == after => {}
            (Ok(before), Ok(after)) => {
                self.observed.changes.push(Change { path: path.to_owned(), before, after });
            }
            (Err(error), _) | (_, Err(error)) => {
                tracing::error!(path = %path.display(), %error, "what a command changed could not be kept");
                let fate = if after.is_some() { Fate::Modified } else { Fate::Deleted };
                self.uncaptured(path, fate, Why::Unreadable);
            }
        }
    }

    /// Without giving the store anything: what was only touched is not worth a blob.
    fn is_same_file(&self, before: &Child, after: &Child) -> bool {
        match (&before.kind, &after.kind) {
            (Kind::File(Content::Kept(one)), Kind::File(Content::Kept(other))) => {
                let content = |region| self.staging.get(region).ok();
                one == other
                    || (one.len == other.len && content(*one).is_some_and(|one| Some(one) == content(*other)))
            }
            (Kind::File(_), Kind::File(_)) => before.seen.stamp == after.seen.stamp,
            _ => false,
        }
    }

    fn state(&self, child: &Child, keep: impl Fn(&[u8]) -> io::Result<Blob>) -> io::Result<State> {
        let stamp = child.seen.stamp;
        Ok(match &child.kind {
            Kind::Folder => State::Folder { mode: stamp.mode },
            Kind::Symlink(target) => State::Symlink { target: target.clone() },
            Kind::File(Content::Kept(region)) => {
                State::File { blob: keep(&self.staging.get(*region)?)?, mode: stamp.mode, len: region.len }
            }
            Kind::File(Content::Not(_)) | Kind::Ignored | Kind::Special => stamp.unread(),
        })
    }

    fn uncaptured(&mut self, path: &Path, fate: Fate, why: Why) {
        if self.observed.uncaptured.len() < NAMED {
            self.observed.uncaptured.push(Uncaptured { path: path.to_owned(), fate, why });
        } else {
            self.observed.unnamed += 1;
        }
    }
}
