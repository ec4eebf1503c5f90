//! The lines of indexes that go with the memories an undo makes or removes.
//!
//! If the index still is what the same turn left, and that turn did nothing else to it, it is put back byte for byte.
//! Otherwise only the lines that would lead nowhere are taken out, and none is added: where it belongs, only the user
//! knows, and lint offers it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::{Author, Change, ContentId, Contents, Deeds, Locked, Target, Way};
use crate::index;
use crate::index::is_index;

/// A memory that an undo made or removed.
struct Moved {
    path: String,
    is_gone: bool,
    /// The place in the log of the first change that was undone.
    place: usize,
}

impl Locked {
    pub(super) fn follow_in_indexes(
        &mut self,
        target: &Target,
        ways: &BTreeMap<String, Way>,
        author: &Author,
        deeds: &mut Deeds<'_>,
    ) -> io::Result<()> {
        let moved: Vec<Moved> = deeds
            .drafts
            .iter()
            .filter(|draft| !is_index(&draft.path) && draft.before.is_none() != draft.after.is_none())
            .filter_map(|draft| {
                let place = *ways.get(&draft.path)?.places.first()?;
                Some(Moved { path: draft.path.clone(), is_gone: draft.after.is_none(), place })
            })
            .collect();
        let restored = deeds.drafts.iter().map(|draft| &draft.path).chain(&deeds.untouched);
        let restored: BTreeSet<String> = restored.cloned().collect();
        let indexes: BTreeSet<String> = moved.iter().flat_map(|moved| indexes_above(&moved.path)).collect();
        for path in indexes.iter().filter(|path| !restored.contains(*path)) {
            let Ok(now) = self.look_at(path) else { continue };
            let now = now.map(|(bytes, _)| bytes);
            // Of a group, and of a time, the changes of the index were undone with the others, or could not be.
            if matches!(target, Target::Change(_) | Target::Together(_))
                && self.revert_index(path, now.as_deref(), &moved, author, deeds)?
            {
                continue;
            }
            if let Some(now) = now {
                self.take_out_lines(path, &now, target, ways, &moved, author, deeds)?;
            }
        }
        Ok(())
    }

    /// Whether the index could be put back as it was before the turn that the moved memories belong to.
    fn revert_index(
        &mut self,
        path: &str,
        now: Option<&[u8]>,
        moved: &[Moved],
        author: &Author,
        deeds: &mut Deeds<'_>,
    ) -> io::Result<bool> {
        let groups: BTreeSet<&str> = moved.iter().filter_map(|moved| self.group_at(moved.place)).collect();
        let belongs = |change: &&Change| {
            change.path == path && change.group.as_deref().is_some_and(|group| groups.contains(group))
        };
        let mut is_then = now.map(ContentId::of);
        let mut found = None;
        for change in self.log.changes.iter().filter(belongs).rev() {
            if change.after != is_then {
                break;
            }
            is_then = change.before;
            let before = change.before.map(|id| Contents::new(&self.folder).get(id)).transpose();
            let Ok(before) = before else { break };
            if is_only_about(path, moved, before.as_deref(), now) {
                found = Some(before);
                break;
            }
        }
        let Some(before) = found else { return Ok(false) };
        let count = deeds.drafts.len();
        self.put_back(path, now, before.as_deref(), author, deeds)?;
        Ok(deeds.drafts.len() > count)
    }

    #[expect(clippy::too_many_arguments, reason = "one step of the function above")]
    fn take_out_lines(
        &mut self,
        path: &str,
        bytes: &[u8],
        target: &Target,
        ways: &BTreeMap<String, Way>,
        moved: &[Moved],
        author: &Author,
        deeds: &mut Deeds<'_>,
    ) -> io::Result<()> {
        let Ok(text) = std::str::from_utf8(bytes) else { return Ok(()) };
        let mut shorter = text.to_owned();
        for memory in moved.iter().filter(|memory| memory.is_gone) {
            let Some(link) = link_from(path, &memory.path) else { continue };
            if !self.was_dead_before(path, link, bytes, self.beginning(target, ways, memory)) {
                shorter = index::without_target(&shorter, link);
            }
        }
        if shorter != text {
            self.put_back(path, Some(bytes), Some(shorter.as_bytes()), author, deeds)?;
        }
        // What the undone changes did to the index is undone by that, if they did nothing else.
        if let Some(way) = ways.get(path) {
            let get = |id: Option<ContentId>| id.map(|id| Contents::new(&self.folder).get(id)).transpose();
            if let (Ok(before), Ok(after)) = (get(way.before), get(way.after)) {
                let nothing_to_add = moved.iter().all(|memory| memory.is_gone);
                if nothing_to_add && is_only_about(path, moved, before.as_deref(), after.as_deref()) {
                    deeds.conflicts.retain(|(conflict, _)| conflict != path);
                }
            }
        }
        Ok(())
    }

    /// Where what is undone began. A single change belongs to a turn, in which the line may have come first.
    fn beginning(&self, target: &Target, ways: &BTreeMap<String, Way>, memory: &Moved) -> usize {
        let all = || ways.values().filter_map(|way| way.places.first().copied()).min();
        let group = || {
            let group = self.group_at(memory.place)?;
            self.log.changes.iter().position(|change| change.group.as_deref() == Some(group))
        };
        let place = match target {
            Target::Change(_) | Target::Together(_) => group(),
            Target::Group(_) | Target::Since(_) => all(),
        };
        place.unwrap_or(memory.place)
    }

    /// Whether the index had the line already before this place in the log, when there was no such memory.
    fn was_dead_before(&self, path: &str, link: &str, now: &[u8], place: usize) -> bool {
        let of_index = |change: &&Change| change.path == path;
        let (earlier, later) = self.log.changes.split_at_checked(place).unwrap_or((&self.log.changes, &[]));
        let state = match (earlier.iter().rfind(of_index), later.iter().find(of_index)) {
            (Some(change), _) => change.after,
            (None, Some(change)) => change.before,
            (None, None) => Some(ContentId::of(now)),
        };
        let bytes = state.and_then(|id| Contents::new(&self.folder).get(id).ok()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        index::entries(&text).iter().any(|entry| index::same_target(entry.target, link))
    }

    fn group_at(&self, place: usize) -> Option<&str> {
        self.log.changes.get(place)?.group.as_deref()
    }
}

/// Whether two states of an index differ in no other entries than those of the moved memories, and the first has none
/// of a memory that is gone.
fn is_only_about(path: &str, moved: &[Moved], before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let before = String::from_utf8_lossy(before.unwrap_or_default());
    let after = String::from_utf8_lossy(after.unwrap_or_default());
    let names = |target: &str, memory: &Moved| {
        link_from(path, &memory.path).is_some_and(|link| index::same_target(target, link))
    };
    let (before, after) = (index::entries(&before), index::entries(&after));
    let others = |entries: &[index::Entry<'_>]| -> Vec<(String, String, String)> {
        let others = entries.iter().filter(|entry| !moved.iter().any(|memory| names(entry.target, memory)));
        others.map(|entry| (entry.title.to_owned(), entry.target.to_owned(), entry.hook.to_owned())).collect()
    };
    let leads_nowhere =
        |entry: &index::Entry<'_>| moved.iter().any(|memory| memory.is_gone && names(entry.target, memory));
    others(&before) == others(&after) && !before.iter().any(leads_nowhere)
}

/// The indexes that may name a memory: beside it, and in every folder above.
fn indexes_above(path: &str) -> Vec<String> {
    let beside = path.char_indices().filter(|(_, character)| *character == '/');
    let folders = beside.filter_map(|(at, _)| path.get(..=at));
    folders.chain([""]).map(|folder| format!("{folder}{}", index::NAME)).collect()
}

/// The memory's path as that index writes it.
fn link_from<'a>(index: &str, memory: &'a str) -> Option<&'a str> {
    memory.strip_prefix(index.strip_suffix(index::NAME)?)
}
