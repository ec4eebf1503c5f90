//! The walk through the workspace. It looks at everything and reads nothing: a folder whose own stamp did not change has
//! the same names as before, so that only they are looked at again.
//!
//! The folders are shared out among a few threads. A folder that cannot be looked at in time stays as it was.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rustix::fs::{Dir, FileType, fstat};

use super::index::{Child, Content, Folder, Index, Kind, Listing, Seen};
use super::rules::{self, CACHE_TAG, Rules};
use super::{Clock, Config};
use crate::entry::Why;
use crate::folder::{is_absence, open_beneath};
use crate::present::{Stamp, link_target, stamp_at};

/// A root whose walk is wanted.
pub(super) struct Root<'a> {
    pub path: &'a Path,
    pub rules: Rules,
    /// Whether the rules are others than at the last walk.
    pub rules_changed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Walked {
    pub index: Index,
    /// Files without a copy, or with one that may be old.
    pub wanted: Vec<Wanted>,
    pub cut: bool,
}

/// Some files of a folder.
#[derive(Debug)]
pub(super) struct Wanted {
    pub root: PathBuf,
    pub folder: PathBuf,
    /// Among the children of the folder.
    pub positions: Vec<usize>,
}

pub(super) fn walk(config: &Config, roots: Vec<Root<'_>>, old: &Index, clock: &Clock<'_>) -> Walked {
    let walk = Walk {
        config,
        old,
        clock,
        now: clock.nanoseconds(),
        roots: roots.iter().map(|root| (root.path, crate::folder::open(root.path).ok())).collect(),
        queue: Mutex::default(),
        changed: Condvar::new(),
        files: AtomicUsize::new(0),
        cut: AtomicBool::new(false),
    };
    for (number, root) in roots.into_iter().enumerate() {
        let old = old.folders.get(root.path).cloned();
        let Root { path, rules, rules_changed } = root;
        walk.push([Task { root: number, path: path.to_owned(), old, rules, rules_changed }]);
    }
    let parts: Vec<Walked> = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..config.threads()).map(|_| scope.spawn(|| walk.work())).collect();
        let own = walk.work();
        // Half a walk would look as if files were gone.
        let joined =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.chain([own]).collect()
    });
    let mut walked = Walked { cut: walk.cut.load(Ordering::Relaxed), ..Walked::default() };
    for part in parts {
        walked.index.folders.extend(part.index.folders);
        walked.wanted.extend(part.wanted);
    }
    walked
}

struct Walk<'a> {
    config: &'a Config,
    old: &'a Index,
    clock: &'a Clock<'a>,
    now: i64,
    roots: Vec<(&'a Path, Option<OwnedFd>)>,
    queue: Mutex<Queue>,
    changed: Condvar,
    files: AtomicUsize,
    cut: AtomicBool,
}

#[derive(Default)]
struct Queue {
    /// First in, first out: what is near the root comes first where not all can be had.
    tasks: VecDeque<Task>,
    working: usize,
}

struct Task {
    root: usize,
    path: PathBuf,
    old: Option<Arc<Folder>>,
    /// That hold in its parent.
    rules: Rules,
    rules_changed: bool,
}

impl Walk<'_> {
    fn work(&self) -> Walked {
        let mut walked = Walked::default();
        while let Some(working) = self.next() {
            self.folder(&working.task, &mut walked);
        }
        walked
    }

    fn push(&self, tasks: impl IntoIterator<Item = Task>) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.tasks.extend(tasks);
        drop(queue);
        self.changed.notify_all();
    }

    /// Waits until there is something to do, or nobody who could still find something.
    fn next(&self) -> Option<Working<'_>> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(task) = queue.tasks.pop_front() {
                queue.working += 1;
                return Some(Working { walk: self, task });
            }
            if queue.working == 0 {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn folder(&self, task: &Task, walked: &mut Walked) {
        if self.clock.is_over() {
            self.cut.store(true, Ordering::Relaxed);
            return self.carry(task, Why::NotReady, walked);
        }
        let Some((root, Some(root_handle))) = self.roots.get(task.root) else { return };
        let relative = task.path.strip_prefix(root).unwrap_or(Path::new(""));
        let opened = open_beneath(root_handle, relative).and_then(|handle| {
            let stamp = Stamp::of(&fstat(&handle)?);
            Ok((handle, stamp))
        });
        match opened {
            Ok((handle, stamp)) => match self.look(task, &handle, stamp, walked) {
                Ok(()) => {}
                Err(why) => self.carry(task, why, walked),
            },
            Err(error) if is_absence(&error) => {}
            Err(_) => self.carry(task, Why::Unreadable, walked),
        }
    }

    /// `Err` if the folder cannot be listed.
    fn look(&self, task: &Task, handle: &OwnedFd, stamp: Stamp, walked: &mut Walked) -> Result<(), Why> {
        let old = task.old.as_deref().filter(|old| old.is_listed());
        let same_names = match old.map(|old| old.listing) {
            Some(Listing::Whole(seen)) => seen.is_still(&stamp),
            _ => false,
        };
        let known = |old: &Folder| old.children.iter().map(|child| child.name.clone()).collect();
        let (names, listing): (Vec<OsString>, _) = match old {
            Some(old) if same_names => (known(old), old.listing),
            _ => match (self.list(handle, old.map_or(0, |old| old.children.len())), old) {
                (Ok(names), _) => (names, Listing::Whole(Seen::at(stamp, self.now))),
                // It grew too large. What was known is still looked after.
                (Err(Why::OverBudget), Some(old)) => {
                    self.cut.store(true, Ordering::Relaxed);
                    (known(old), old.listing)
                }
                (Err(why), _) => return Err(why),
            },
        };
        self.files.fetch_add(names.len(), Ordering::Relaxed);
        if old.is_none() && task.path != self.root(task) && is_cache_folder(&names, handle) {
            return Err(Why::Ignored);
        }
        let stamps = names.into_iter().filter_map(|name| {
            let stamp = stamp_at(handle, &name).ok().flatten()?;
            Some((name, stamp))
        });
        let stamps: Vec<(OsString, Stamp)> = stamps.collect();

        let (own, own_changed) = self.own_rules(task, handle, &stamps, old);
        let rules = own.as_ref().map_or_else(|| task.rules.clone(), |own| task.rules.with(own));
        let rules_changed = task.rules_changed || own_changed;

        let mut folder = Folder { listing, children: Vec::new(), rules: own };
        let (mut wanted, mut tasks) = (Vec::new(), Vec::new());
        let mut unchanged = same_names && !rules_changed;
        for (name, stamp) in stamps {
            let before = old.and_then(|old| old.child(&name));
            let path = || task.path.join(&name);
            let ignored = match before {
                // Once there is a copy it is kept up to date: what is ignored from now on is not gone.
                Some(before) if before.is_tracked() => false,
                Some(Child { kind: Kind::Ignored, seen, .. })
                    if !rules_changed && seen.stamp.kind == stamp.kind =>
                {
                    true
                }
                _ => self.is_excluded(&path(), &name) || rules.ignore(&path(), stamp.kind.is_dir()),
            };
            let folder_path = stamp.kind.is_dir().then(path);
            let child = self.child(handle, name, stamp, before, ignored);
            unchanged &=
                before.is_some_and(|before| before.seen.is_still(&stamp) && is_settled(&before.kind));
            match (&child.kind, folder_path) {
                (Kind::Folder, Some(path)) => {
                    let old = self.old.folders.get(&path).cloned();
                    // One that was a file, say, before is another folder than what was there at that time.
                    let old = old.filter(|_| matches!(before, Some(Child { kind: Kind::Folder, .. })));
                    let (root, rules) = (task.root, rules.clone());
                    tasks.push(Task { root, path, old, rules, rules_changed });
                }
                (kind @ Kind::File(_), _) if child.seen.fresh || !is_settled(kind) => {
                    wanted.push(folder.children.len());
                }
                _ => {}
            }
            folder.children.push(child);
        }
        self.push(tasks);
        if !wanted.is_empty() {
            let (root, folder) = (self.root(task).to_owned(), task.path.clone());
            walked.wanted.push(Wanted { root, folder, positions: wanted });
        }
        let folder = match &task.old {
            Some(old) if unchanged => Arc::clone(old),
            _ => Arc::new(folder),
        };
        walked.index.folders.insert(task.path.clone(), folder);
        Ok(())
    }

    fn child(
        &self,
        handle: &OwnedFd,
        name: OsString,
        stamp: Stamp,
        before: Option<&Child>,
        ignored: bool,
    ) -> Child {
        let seen = Seen::at(stamp, self.now);
        let kind = match (stamp.kind, before) {
            _ if ignored => Kind::Ignored,
            (FileType::Directory, _) => Kind::Folder,
            // A copy that may be old is better than none until it is made anew.
            (FileType::RegularFile, Some(Child { kind: kind @ Kind::File(_), seen, .. }))
                if seen.stamp == stamp =>
            {
                return Child { name, kind: kind.clone(), seen: *seen };
            }
            (FileType::RegularFile, _) => Kind::File(Content::Not(Why::NotReady)),
            (FileType::Symlink, Some(Child { kind: kind @ Kind::Symlink(_), seen, .. }))
                if seen.is_still(&stamp) =>
            {
                kind.clone()
            }
            (FileType::Symlink, _) => link_target(handle, &name).map_or(Kind::Special, Kind::Symlink),
            _ => Kind::Special,
        };
        Child { name, seen, kind }
    }

    /// The rules of the folder's `.gitignore`, and whether they are others than before.
    fn own_rules(
        &self,
        task: &Task,
        handle: &OwnedFd,
        stamps: &[(OsString, Stamp)],
        old: Option<&Folder>,
    ) -> (Option<Arc<ignore::gitignore::Gitignore>>, bool) {
        let name = OsStr::new(".gitignore");
        let found = stamps.binary_search_by(|(other, _)| other.as_os_str().cmp(name)).ok();
        let stamp = found.and_then(|position| stamps.get(position)).map(|(_, stamp)| stamp);
        let before = old.and_then(|old| old.child(name));
        match (stamp, before) {
            (None, None) => (None, false),
            (None, Some(_)) => (None, true),
            (Some(stamp), Some(before)) if before.seen.is_still(stamp) => {
                (old.and_then(|old| old.rules.clone()), false)
            }
            (Some(_), _) => (Some(rules::of_folder(handle, &task.path)), true),
        }
    }

    /// By name. `Err` if there are too many; `known` of them have been counted as affordable before.
    fn list(&self, handle: &OwnedFd, known: usize) -> Result<Vec<OsString>, Why> {
        let room = self.config.limits.files.saturating_sub(self.files.load(Ordering::Relaxed)).max(known);
        let mut names = Vec::new();
        let read: io::Result<()> = (|| {
            for entry in Dir::read_from(handle)? {
                let entry = entry?;
                let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
                if name != "." && name != ".." && !is_temporary(&name) {
                    names.push(name);
                }
                if names.len() > room {
                    break;
                }
            }
            Ok(())
        })();
        read.map_err(|_| Why::Unreadable)?;
        if names.len() > room {
            return Err(Why::OverBudget);
        }
        names.sort_unstable();
        Ok(names)
    }

    /// What is known of a folder that is not looked at stays known, and so does what is below it.
    fn carry(&self, task: &Task, why: Why, walked: &mut Walked) {
        let mut rest = vec![(task.path.clone(), task.old.clone())];
        while let Some((path, old)) = rest.pop() {
            let old = old.filter(|old| old.is_listed());
            let folder = old.unwrap_or_else(|| Arc::new(Folder::unlisted(why)));
            for child in folder.children.iter().filter(|child| matches!(child.kind, Kind::Folder)) {
                let path = path.join(&child.name);
                let old = self.old.folders.get(&path).cloned();
                rest.push((path, old));
            }
            walked.index.folders.insert(path, folder);
        }
    }

    fn is_excluded(&self, path: &Path, name: &OsStr) -> bool {
        name == ".git" || self.config.exclude.iter().any(|excluded| excluded == path)
    }

    fn root(&self, task: &Task) -> &Path {
        self.roots.get(task.root).map_or(Path::new(""), |(path, _)| path)
    }
}

/// A task that is being worked on; done when dropped, even by a panic.
struct Working<'a> {
    walk: &'a Walk<'a>,
    task: Task,
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        let mut queue = self.walk.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.working -= 1;
        drop(queue);
        self.walk.changed.notify_all();
    }
}

/// Whether there is nothing to be gained from reading the file again as long as it stays the same.
fn is_settled(kind: &Kind) -> bool {
    !matches!(kind, Kind::File(Content::Not(Why::NotReady | Why::OverBudget | Why::Unreadable)))
}

/// Written by us or by the editor's side of us, and gone in a moment.
fn is_temporary(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b".reverie-") && name.as_bytes().ends_with(b".tmp")
}

fn is_cache_folder(names: &[OsString], handle: &OwnedFd) -> bool {
    names.binary_search_by(|name| name.as_os_str().cmp(OsStr::new(CACHE_TAG))).is_ok()
        && rules::is_cache(handle)
}
