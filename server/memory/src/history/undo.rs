//! The way back: what was before some changes is put back, where nobody has changed it since.
//!
//! A memory and its line in the index go together ([`lines`]). Files are written before the undo is recorded: what a
//! crash leaves in between is a change on disk like any other.

mod lines;

use std::collections::{BTreeMap, HashSet};
use std::io;

use jiff::Timestamp;
use thiserror::Error;

use super::content::Contents;
use super::locked::{Draft, Locked};
use super::{Author, Change, ContentId};
use crate::index::is_index;

/// Follows the name of a file that somebody is writing in.
pub const UNSAVED: &str = "has unsaved changes; save or close it first";

/// What is to be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// One change, by its id.
    Change(String),
    /// One change, by its id, with all that was changed with it for the same reason: what the user did at once.
    Together(String),
    /// A turn, a dream or an undo.
    Group(String),
    /// Everything from a time on.
    Since(Timestamp),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// That are again as they were.
    pub paths: Vec<String>,
    /// That were left alone, and why, in words that follow the path.
    pub conflicts: Vec<(String, String)>,
    /// Recorded for it, in the order of `paths`.
    pub changes: Vec<Change>,
}

#[derive(Debug, Error)]
pub enum UndoError {
    /// The history does not go back that far, or never knew it: show the history.
    #[error("the history has no change or group {0}")]
    Unknown(String),
    /// The history cannot be read or written; what was restored is noticed at the next look.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What an undo has done so far.
struct Deeds<'a> {
    /// That somebody is writing in: what he has not saved would be lost.
    unsaved: &'a HashSet<String>,
    drafts: Vec<Draft>,
    /// That were as they should be.
    untouched: Vec<String>,
    conflicts: Vec<(String, String)>,
}

/// The targeted changes of one file.
struct Way {
    /// Their places in the log.
    places: Vec<usize>,
    before: Option<ContentId>,
    after: Option<ContentId>,
    /// Each begins with what the one before it left.
    unbroken: bool,
}

impl Locked {
    pub(super) fn undo(
        &mut self,
        target: &Target,
        author: &Author,
        unsaved: &HashSet<String>,
    ) -> Result<Undone, UndoError> {
        // What nobody has seen yet must not be taken for what was left.
        self.observe(&Author::on_disk())?;
        let ways = self.ways(target);
        if let (true, Target::Change(id) | Target::Together(id) | Target::Group(id)) =
            (ways.is_empty(), target)
        {
            return Err(UndoError::Unknown(id.clone()));
        }
        let (drafts, untouched, conflicts) = (Vec::new(), Vec::new(), Vec::new());
        let mut deeds = Deeds { unsaved, drafts, untouched, conflicts };
        for (path, way) in ways.iter().filter(|(path, _)| !is_index(path)) {
            self.go_back(path, way, author, &mut deeds)?;
        }
        for (path, way) in ways.iter().filter(|(path, _)| is_index(path)) {
            self.go_back(path, way, author, &mut deeds)?;
        }
        self.follow_in_indexes(target, &ways, author, &mut deeds)?;
        let Deeds { mut drafts, conflicts, .. } = deeds;
        self.name_group(&mut drafts);
        let changes = if drafts.is_empty() { Vec::new() } else { self.commit(drafts)? };
        let paths = changes.iter().map(|change| change.path.clone()).collect();
        Ok(Undone { paths, conflicts, changes })
    }

    fn ways(&self, target: &Target) -> BTreeMap<String, Way> {
        let named = |id: &String| self.log.changes.iter().find(|change| change.id == *id);
        let first = if let Target::Together(id) = target { named(id) } else { None };
        let is_meant = |change: &Change| match target {
            Target::Change(id) => change.id == *id,
            Target::Together(id) => {
                let is_with = |first: &Change| {
                    first.group.is_some() && first.group == change.group && first.why == change.why
                };
                change.id == *id || first.is_some_and(is_with)
            }
            Target::Group(group) => change.group.as_ref() == Some(group),
            Target::Since(time) => change.at >= *time,
        };
        let mut ways: BTreeMap<String, Way> = BTreeMap::new();
        for (place, change) in self.log.changes.iter().enumerate().filter(|(_, change)| is_meant(change)) {
            let (before, after) = (change.before, change.after);
            let way = ways.entry(change.path.clone());
            let way = way.or_insert(Way { places: Vec::new(), before, after: before, unbroken: true });
            way.unbroken &= way.after == before;
            way.after = after;
            way.places.push(place);
        }
        ways
    }

    fn go_back(&mut self, path: &str, way: &Way, author: &Author, deeds: &mut Deeds<'_>) -> io::Result<()> {
        let now = match self.look_at(path) {
            Ok(now) => now.map(|(bytes, _)| bytes),
            Err(error) => {
                deeds.conflicts.push((path.to_owned(), format!("cannot be read: {error}")));
                return Ok(());
            }
        };
        let is_now = now.as_deref().map(ContentId::of);
        if is_now == way.before {
            deeds.untouched.push(path.to_owned());
            return Ok(());
        }
        if is_now != way.after {
            deeds.conflicts.push((path.to_owned(), self.changed_since(path, way)));
            return Ok(());
        }
        if !way.unbroken {
            let words = "was also changed by others in between, whose work would be lost";
            deeds.conflicts.push((path.to_owned(), words.to_owned()));
            return Ok(());
        }
        match way.before.map(|id| Contents::new(&self.folder).get(id)).transpose() {
            Ok(before) => self.put_back(path, now.as_deref(), before.as_deref(), author, deeds),
            Err(error) => {
                deeds.conflicts.push((path.to_owned(), format!("cannot be put back: {error}")));
                Ok(())
            }
        }
    }

    /// Makes the file what it was. That it cannot be written is a conflict; that the present cannot be kept, an error.
    fn put_back(
        &mut self,
        path: &str,
        now: Option<&[u8]>,
        before: Option<&[u8]>,
        author: &Author,
        deeds: &mut Deeds<'_>,
    ) -> io::Result<()> {
        if deeds.unsaved.contains(path) {
            let conflict = (path.to_owned(), UNSAVED.to_owned());
            if !deeds.conflicts.contains(&conflict) {
                deeds.conflicts.push(conflict);
            }
            return Ok(());
        }
        self.keep(now)?;
        self.keep(before)?;
        let written =
            self.beneath.locate(&self.dir.join(path)).map_err(Into::into).and_then(|place| match before {
                Some(bytes) => self.beneath.write(&place, bytes),
                None => self.beneath.remove(&place),
            });
        if let Err(error) = written {
            deeds.conflicts.push((path.to_owned(), format!("cannot be put back: {error}")));
            return Ok(());
        }
        self.expect(path, before);
        deeds.drafts.push(Draft {
            path: path.to_owned(),
            author: author.clone(),
            before: now.map(ContentId::of),
            after: before.map(ContentId::of),
        });
        Ok(())
    }

    fn changed_since(&self, path: &str, way: &Way) -> String {
        let last = way.places.last();
        let later = |place: &usize| last.is_none_or(|last| place > last);
        let mut changes = self.log.changes.iter().enumerate().filter(|(place, _)| later(place));
        match changes.find(|(_, change)| change.path == path) {
            Some((_, change)) => format!("was changed since, by {} at {}", change.by.as_str(), change.at),
            None => "was changed since".to_owned(),
        }
    }
}
