//! The history while one writer holds it: what was seen, what is recorded, what has to go.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use workspace::{Beneath, Durable, FoundKind, Private, Stamp};

use super::content::Contents;
use super::known::{Known, Seen};
use super::log::{self, Log};
use super::{
    Author, By, CLOSED, Change, ContentId, FOLDER, LARGEST_FILE, MOST_CHANGES, MOST_FILES, is_markdown,
    is_tracked,
};
use crate::guard::wait_for;

mod limits;

pub(super) use self::limits::Limits;

const LOCK: &str = "lock";
/// With more contents than this to sync, one sync of the file system is cheaper.
const SYNC_EACH: usize = 16;
/// Of an observed change nobody knows more.
pub(super) const ON_DISK: &str = "changed on disk";
/// Characters kept of a reason, and of an id.
const LONGEST_WHY: usize = 2_000;
const LONGEST_ID: usize = 200;

pub(super) struct Locked {
    pub dir: PathBuf,
    pub beneath: Beneath,
    pub folder: Private,
    pub log: Log,
    pub known: Known,
    now: Timestamp,
    limits: Limits,
    /// How many were written since the last commit.
    contents: usize,
    /// Held for as long as this lives.
    _lock: File,
}

/// A change before it has its id.
pub(super) struct Draft {
    pub path: String,
    pub author: Author,
    pub before: Option<ContentId>,
    pub after: Option<ContentId>,
}

impl Locked {
    pub(super) fn open(dir: &Path, now: Timestamp, limits: Limits) -> io::Result<Self> {
        let beneath = Beneath::open(dir)?;
        let folder = beneath.create_private(FOLDER)?;
        let lock = wait_for(folder.open_log(LOCK)?, "the memory history is held by another server")?;
        let log = log::read(&folder)?;
        let known = Known::read(&folder, &log)?;
        Ok(Self { dir: dir.to_owned(), beneath, folder, log, known, now, limits, contents: 0, _lock: lock })
    }

    pub(super) fn record(
        &mut self,
        path: &str,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
        author: &Author,
    ) -> io::Result<Option<Change>> {
        let (old, new) = (before.map(ContentId::of), after.map(ContentId::of));
        if old == new {
            return Ok(None);
        }
        if !self.known.complete {
            self.observe(&Author::on_disk())?;
            // What is on disk by now is the caller's; to the record the file begins with what was before.
            if self.log.last_of(path).is_none() {
                self.keep(before)?;
                self.expect(path, before);
            }
        }
        if let Some(claimed) = self.claimed(path, old, new, author) {
            self.log.append(&self.folder, std::slice::from_ref(&claimed))?;
            return Ok(Some(claimed));
        }
        self.keep(before)?;
        self.keep(after)?;
        let mut drafts = Vec::new();
        let known = self.known.content_of(path);
        if known != old {
            let author = Author::on_disk();
            drafts.push(Draft { path: path.to_owned(), author, before: known, after: old });
        }
        drafts.push(Draft { path: path.to_owned(), author: author.clone(), before: old, after: new });
        self.expect(path, after);
        Ok(self.commit(drafts)?.pop())
    }

    /// What differs on disk from what was last seen, as this author's.
    pub(super) fn observe(&mut self, author: &Author) -> io::Result<Vec<Change>> {
        let wanted = |name: &OsStr, kind| {
            kind == FoundKind::File && std::str::from_utf8(name.as_bytes()).is_ok_and(is_markdown)
        };
        let found = self.beneath.walk(&CLOSED, &wanted, MOST_FILES)?;
        let mut drafts = Vec::new();
        let mut present = HashSet::new();
        let mut looked = !self.known.complete;
        for file in &found {
            let Some(path) = file.path.to_str().filter(|path| is_tracked(path)) else { continue };
            present.insert(path);
            let old = self.known.files.get(path).cloned();
            if old.as_ref().is_some_and(|old| old.is_still(file.stamp)) {
                continue;
            }
            // What cannot be read, or is too large to be a memory, is as it was for us.
            let Ok(Some((bytes, stamp))) = self.look_at(path) else { continue };
            let new = Seen::new(&bytes, stamp);
            if old.as_ref().map(|old| old.sha256) != Some(new.sha256) {
                if old.is_none() && self.known.files.len() >= MOST_FILES {
                    continue;
                }
                self.keep(Some(&bytes))?;
                if old.is_some() || self.known.complete {
                    drafts.push(observed(author, path, old.as_ref().map(|old| old.sha256), Some(new.sha256)));
                }
            }
            looked |= old.as_ref() != Some(&new);
            self.known.set(path, Some(new));
        }
        let missing: Vec<String> =
            self.known.files.keys().filter(|path| !present.contains(path.as_str())).cloned().collect();
        for path in missing {
            // Only what is surely gone: a folder may have become unreadable, and a walk has its limits.
            if let Ok(None) = self.look_at(&path) {
                drafts.push(observed(author, &path, self.known.content_of(&path), None));
                self.known.set(&path, None);
            }
        }
        self.known.complete = true;
        if drafts.is_empty() && !looked {
            return Ok(Vec::new());
        }
        self.name_group(&mut drafts);
        self.commit(drafts)
    }

    /// Several changes that came together belong together: a group of no other name is called after its first change.
    pub(super) fn name_group(&self, drafts: &mut [Draft]) {
        let [first, _, ..] = drafts else { return };
        let name = next_id(self.last_id().as_deref(), self.now, first);
        for draft in drafts {
            draft.author.group.get_or_insert_with(|| name.clone());
        }
    }

    /// The bytes of a memory now.
    pub(super) fn look_at(&self, path: &str) -> io::Result<Option<(Vec<u8>, Stamp)>> {
        match self.beneath.locate(&self.dir.join(path)) {
            Ok(place) => self.beneath.look_at(&place, LARGEST_FILE),
            Err(_) => Ok(None),
        }
    }

    pub(super) fn keep(&mut self, bytes: Option<&[u8]>) -> io::Result<()> {
        let Some(bytes) = bytes else { return Ok(()) };
        let durable = if self.contents < SYNC_EACH { Durable::Now } else { Durable::Later };
        let taken = Contents::new(&self.folder).put(bytes, durable)?;
        self.known.kept = self.known.kept.saturating_add(taken);
        self.contents += usize::from(taken > 0);
        Ok(())
    }

    /// From now on the file is known to hold this.
    pub(super) fn expect(&mut self, path: &str, bytes: Option<&[u8]>) {
        self.known.set(path, bytes.map(|bytes| Seen::unlooked(ContentId::of(bytes), bytes.len() as u64)));
    }

    /// Writes down what happened: when this returns, it is on the disk.
    pub(super) fn commit(&mut self, drafts: Vec<Draft>) -> io::Result<Vec<Change>> {
        if self.contents > SYNC_EACH {
            self.folder.sync()?;
        }
        self.contents = 0;
        let mut last = self.last_id();
        let mut changes = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let id = next_id(last.as_deref(), self.now, &draft);
            last = Some(id.clone());
            changes.push(draft.into_change(id, self.now));
        }
        if !changes.is_empty() {
            self.log.append(&self.folder, &changes)?;
        }
        self.known.write(&self.folder)?;
        // What is recorded is recorded; there is a next time to make room.
        if let Err(error) = self.limit() {
            tracing::warn!(%error, "the memory history could not be shortened");
        }
        Ok(changes)
    }

    fn last_id(&self) -> Option<String> {
        self.log.changes.iter().map(|change| change.id.clone()).max()
    }

    /// A change that somebody saw on disk before its author could record it.
    fn claimed(
        &self,
        path: &str,
        before: Option<ContentId>,
        after: Option<ContentId>,
        author: &Author,
    ) -> Option<Change> {
        let seen = self.log.last_of(path)?;
        let is_it =
            seen.by == By::User && seen.why == ON_DISK && (seen.before, seen.after) == (before, after);
        let draft = Draft { path: path.to_owned(), author: author.clone(), before, after };
        is_it.then(|| draft.into_change(seen.id.clone(), seen.at))
    }
}

impl Draft {
    fn into_change(self, id: String, at: Timestamp) -> Change {
        let Author { by, why, session, message, group } = self.author;
        let short = |id: Option<String>| id.map(|id| cut(&id, LONGEST_ID));
        Change {
            id,
            path: self.path,
            at,
            by,
            why: cut(&why, LONGEST_WHY),
            session: short(session),
            message: short(message),
            group: short(group),
            before: self.before,
            after: self.after,
        }
    }
}

fn observed(author: &Author, path: &str, before: Option<ContentId>, after: Option<ContentId>) -> Draft {
    Draft { path: path.to_owned(), author: author.clone(), before, after }
}

fn cut(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

/// A UUID of version 7 that is greater than all before it, whatever the clock does. What is random in others is made
/// from the change: two in one directory never have the same time and counter.
pub(super) fn next_id(last: Option<&str>, now: Timestamp, draft: &Draft) -> String {
    let milliseconds = u64::try_from(now.as_millisecond()).unwrap_or_default();
    let (time, counter) = match last.and_then(time_and_counter) {
        Some((time, counter)) if time >= milliseconds && counter < 0xfff => (time, counter + 1),
        Some((time, _)) if time >= milliseconds => (time + 1, 0),
        _ => (milliseconds, 0),
    };
    let digest =
        Sha256::digest(format!("{time} {counter} {} {:?} {:?}", draft.path, draft.before, draft.after));
    let rest = digest.iter().take(8).fold(0_u64, |rest, byte| rest << 8 | u64::from(*byte));
    let (high, low) = (time >> 16 & 0xffff_ffff, time & 0xffff);
    let (variant, node) = (rest >> 48 & 0x3fff | 0x8000, rest & 0xffff_ffff_ffff);
    format!("{high:08x}-{low:04x}-7{counter:03x}-{variant:04x}-{node:012x}")
}

fn time_and_counter(id: &str) -> Option<(u64, u64)> {
    let mut parts = id.split('-');
    let (high, low, counter) = (parts.next()?, parts.next()?, parts.next()?);
    let number = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let time = number(high)? << 16 | number(low)? & 0xffff;
    Some((time & 0xffff_ffff_ffff, number(counter.strip_prefix('7')?)?))
}
