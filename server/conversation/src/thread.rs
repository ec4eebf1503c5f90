//! Threads out of a transcript's index: a thread is the walk from a leaf to its root. Editing an earlier message
//! makes a branch, and damage makes holes; the walk finds its way around the latter.

mod branches;
mod preserved;

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use preserved::Reach;

use crate::{
    record::interrupted_uuid,
    scan::{Entry, Kind, Links},
};

/// Where the user rewound the session to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// `None`: before the first message.
    pub(crate) target: Option<Uuid>,
    /// How many entries come before it in the file.
    pub(crate) after: usize,
}

pub(crate) struct Index<'a> {
    entries: &'a [Entry],
    heads: &'a [Head],
    /// What compact boundaries say, by their uuids.
    boundaries: &'a [(Uuid, Links)],
    /// Positions of messages that begin a thread whatever they are: the user had rewound to before the first one.
    begins_anew: HashSet<usize>,
    /// Positions by uuid, then by place in the file.
    by_uuid: Vec<u32>,
    pub(crate) duplicates: u64,
    is_duplicate: Vec<bool>,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Walk {
    /// Positions of the messages, from the root to the leaf.
    pub(crate) path: Vec<usize>,
    /// The messages that got another parent than they name.
    pub(crate) relinked: HashMap<usize, Option<Uuid>>,
    pub(crate) dangling: u64,
    pub(crate) loops: u64,
    /// Beginnings in the middle of the file that were tied to what came before them.
    pub(crate) stitched: u64,
    /// Messages after the walk's beginning that lie on other branches.
    pub(crate) elsewhere: u64,
    /// Messages before the walk's beginning, which has no parent and is no compact boundary.
    pub(crate) before: u64,
}

impl<'a> Index<'a> {
    /// `heads` in file order.
    pub(crate) fn new(entries: &'a [Entry], heads: &'a [Head]) -> Self {
        Self::with_boundaries(entries, heads, &[])
    }

    pub(crate) fn with_boundaries(
        entries: &'a [Entry],
        heads: &'a [Head],
        boundaries: &'a [(Uuid, Links)],
    ) -> Self {
        let mut by_uuid: Vec<u32> =
            (0..entries.len()).filter_map(|position| u32::try_from(position).ok()).collect();
        let uuid_at = |position: &u32| entries.get(*position as usize).map(|entry| entry.uuid);
        by_uuid.sort_unstable_by_key(|position| (uuid_at(position), *position));
        let mut is_duplicate = vec![false; entries.len()];
        let mut duplicates = 0;
        for pair in by_uuid.windows(2) {
            let [first, second] = pair else { continue };
            if uuid_at(first) == uuid_at(second)
                && let Some(mark) = is_duplicate.get_mut(*second as usize)
            {
                *mark = true;
                duplicates += 1;
            }
        }
        let mut index = Self {
            entries,
            heads,
            boundaries,
            begins_anew: HashSet::new(),
            by_uuid,
            duplicates,
            is_duplicate,
        };
        let to_beginning = heads.iter().filter(|head| head.target.is_none());
        index.begins_anew = to_beginning
            .filter_map(|head| (head.after..entries.len()).find(|position| index.is_main_message(*position)))
            .collect();
        index
    }

    /// The newest place the session was rewound to, if nothing was said since.
    pub(crate) fn head(&self) -> Option<Head> {
        let head = *self.heads.last()?;
        let since = (head.after..self.entries.len()).any(|position| self.is_main_message(position));
        (!since).then_some(head)
    }

    /// The message of the main thread with this uuid. An answer that only a resume made stands right behind the
    /// response whose calls were interrupted, and is made again there.
    pub(crate) fn find_message(&self, uuid: Uuid) -> Option<usize> {
        let made_by_resume = || {
            let derived = |entry: &Entry| interrupted_uuid(entry.uuid) == uuid;
            self.entries.iter().position(derived)
        };
        self.find(uuid).or_else(made_by_resume).filter(|position| self.is_main_message(*position))
    }

    /// The first record of this uuid.
    pub(crate) fn find(&self, uuid: Uuid) -> Option<usize> {
        let uuid_at = |position: &u32| self.entries.get(*position as usize).map(|entry| entry.uuid);
        let at = self.by_uuid.partition_point(|position| uuid_at(position) < Some(uuid));
        let position = *self.by_uuid.get(at)?;
        (uuid_at(&position) == Some(uuid)).then_some(position as usize)
    }

    pub(crate) fn uuid(&self, position: usize) -> Option<Uuid> {
        self.entries.get(position).map(|entry| entry.uuid)
    }

    pub(crate) fn newest_leaf(&self) -> Option<usize> {
        (0..self.entries.len()).rev().find(|position| self.is_main_message(*position))
    }

    /// How many messages name a parent that is not there. What a compact boundary stands behind may be.
    pub(crate) fn missing_parents(&self) -> u64 {
        let is_missing = |position: &usize| {
            let entry = self.entries.get(*position).filter(|entry| !entry.parent.is_nil() && !entry.boundary);
            entry.is_some_and(|entry| self.is_main_message(*position) && self.find(entry.parent).is_none())
        };
        (0..self.entries.len()).filter(is_missing).count() as u64
    }

    /// The first message after this one in the file.
    pub(crate) fn next_message(&self, position: usize) -> Option<usize> {
        (position + 1..self.entries.len()).find(|later| self.is_main_message(*later))
    }

    /// From the leaf to the root, or to the newest compact boundary on the way: what is older is not sent, but for what
    /// the compaction kept.
    pub(crate) fn walk(&self, leaf: usize) -> Walk {
        self.walk_within(leaf, Reach::default())
    }

    fn walk_within(&self, leaf: usize, reach: Reach) -> Walk {
        let mut walk = Walk::default();
        let mut unvisited = Unvisited::new(self);
        let mut next = Some(leaf);
        let mut begins_at_boundary = false;
        while let Some(position) = next {
            let Some(entry) = self.entries.get(position) else { break };
            unvisited.visit(position);
            if entry.kind != Kind::Link {
                walk.path.push(position);
            }
            if entry.boundary {
                begins_at_boundary = true;
                break;
            }
            next = self.parent_of(position, entry, &mut unvisited, &mut walk);
        }
        // One of each is enough, however many compactions are gone through.
        drop(unvisited);
        walk.path.reverse();
        if begins_at_boundary {
            self.insert_preserved(&mut walk, reach);
        }
        self.count_the_rest(&mut walk, begins_at_boundary);
        walk
    }

    fn parent_of(
        &self,
        position: usize,
        entry: &Entry,
        unvisited: &mut Unvisited,
        walk: &mut Walk,
    ) -> Option<usize> {
        if entry.parent.is_nil() {
            // A prompt without a parent is a conversation begun anew. Nothing else begins one, unless it is the
            // first in the file.
            let earlier = unvisited.nearest_before(position)?;
            if self.is_beginning(position, entry) {
                return None;
            }
            walk.stitched += 1;
            self.relink(position, Some(earlier), walk);
            return Some(earlier);
        }
        match self.find(entry.parent) {
            Some(parent) if !unvisited.was_visited(parent) => return Some(parent),
            Some(_) => walk.loops += 1,
            None => walk.dangling += 1,
        }
        let earlier = unvisited.nearest_before(position);
        self.relink(position, earlier, walk);
        earlier
    }

    /// Whether a message without a parent is a beginning, rather than what damage left of a thread.
    fn is_beginning(&self, position: usize, entry: &Entry) -> bool {
        entry.kind == Kind::User || entry.sidechain || self.begins_anew.contains(&position)
    }

    fn relink(&self, position: usize, parent: Option<usize>, walk: &mut Walk) {
        let parent = parent.and_then(|parent| self.entries.get(parent)).map(|entry| entry.uuid);
        walk.relinked.insert(position, parent);
    }

    fn count_the_rest(&self, walk: &mut Walk, begins_at_boundary: bool) {
        let Some(root) = walk.path.first().copied() else { return };
        let on_path: HashSet<usize> = walk.path.iter().copied().collect();
        for position in 0..self.entries.len() {
            if on_path.contains(&position) || !self.is_main_message(position) {
                continue;
            }
            let is_turn = self.is_turn(position);
            if is_turn && position > root {
                walk.elsewhere += 1;
            } else if is_turn && !begins_at_boundary {
                walk.before += 1;
            }
        }
    }

    /// Whether somebody speaks here.
    fn is_turn(&self, position: usize) -> bool {
        self.entries.get(position).is_some_and(|entry| matches!(entry.kind, Kind::User | Kind::Assistant))
            && self.is_main_message(position)
    }

    /// Records off the path that hang on its responses: Claude Code ties each result to the block that called,
    /// so of parallel calls only one lies on the way. In file order. What came after the end of the path is no part
    /// of it.
    pub(crate) fn beside(&self, walk: &Walk, limit: usize) -> Vec<usize> {
        if walk.elsewhere == 0 {
            return Vec::new();
        }
        let on_path: HashSet<usize> = walk.path.iter().copied().collect();
        let responses = walk.path.iter().filter_map(|position| self.entries.get(*position));
        let mut responses: HashSet<Uuid> =
            responses.filter(|entry| entry.kind == Kind::Assistant).map(|entry| entry.uuid).collect();
        if let Some(leaf) = walk.path.last().and_then(|leaf| self.entries.get(*leaf)) {
            responses.remove(&leaf.uuid);
        }
        let mut beside = Vec::new();
        for (position, entry) in self.entries.iter().enumerate() {
            if beside.len() == limit {
                break;
            }
            let is_turn = matches!(entry.kind, Kind::User | Kind::Assistant);
            if is_turn
                && responses.contains(&entry.parent)
                && !on_path.contains(&position)
                && self.is_main_message(position)
            {
                beside.push(position);
                if entry.kind == Kind::Assistant {
                    responses.insert(entry.uuid);
                }
            }
        }
        beside
    }

    fn is_main_message(&self, position: usize) -> bool {
        let entry = self.entries.get(position);
        entry.is_some_and(|entry| entry.kind != Kind::Link && !entry.sidechain)
            && !self.is_duplicate(position)
    }

    fn is_duplicate(&self, position: usize) -> bool {
        self.is_duplicate.get(position) == Some(&true)
    }
}

/// Which messages a walk has not seen, with a quick way to the nearest of them before a place in the file: a
/// union-find over positions, so that hostile links cost no quadratic time.
struct Unvisited {
    visited: Vec<bool>,
    /// For each position, one more than a position that is at or before it and may be free; 0: none.
    hint: Vec<u32>,
}

impl Unvisited {
    fn new(index: &Index<'_>) -> Self {
        let mut hint = Vec::with_capacity(index.entries.len());
        for position in 0..index.entries.len() {
            let skipped = u32::from(!index.is_main_message(position));
            hint.push(u32::try_from(position).unwrap_or(u32::MAX - 1) + 1 - skipped);
        }
        Self { visited: vec![false; index.entries.len()], hint }
    }

    fn visit(&mut self, position: usize) {
        if let Some(visited) = self.visited.get_mut(position) {
            *visited = true;
        }
        if let (Some(hint), Ok(before)) = (self.hint.get_mut(position), u32::try_from(position)) {
            *hint = before;
        }
    }

    fn was_visited(&self, position: usize) -> bool {
        self.visited.get(position) == Some(&true)
    }

    fn nearest_before(&mut self, position: usize) -> Option<usize> {
        let mut at = position.checked_sub(1)?;
        loop {
            let hint = *self.hint.get(at)? as usize;
            if hint == at + 1 {
                return Some(at);
            }
            let next = hint.checked_sub(1)?;
            let further = *self.hint.get(next)?;
            if let Some(shortened) = self.hint.get_mut(at) {
                *shortened = further;
            }
            at = next;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{sample::uuid, scan::Place};

    /// `(number, parent)`; parent 0 is none.
    pub(super) fn entries(links: &[(u32, u32)]) -> Vec<Entry> {
        let entry = |(number, parent): &(u32, u32)| {
            let parent = if *parent == 0 { Uuid::nil() } else { uuid(*parent) };
            Entry::new(uuid(*number), parent, Kind::User, Place { offset: 0, length: 0 })
        };
        links.iter().map(entry).collect()
    }

    fn walk(entries: &[Entry]) -> Walk {
        let index = Index::new(entries, &[]);
        index.walk(index.newest_leaf().unwrap())
    }

    #[test]
    fn the_newest_branch_is_taken_and_the_others_are_counted() {
        let walk = walk(&entries(&[(1, 0), (2, 1), (3, 2), (4, 1)]));
        assert_eq!(walk, Walk { path: vec![0, 3], elsewhere: 2, ..Walk::default() });
    }

    #[test]
    fn a_missing_parent_becomes_the_nearest_earlier_message() {
        let walk = walk(&entries(&[(1, 0), (2, 1), (3, 77), (4, 3)]));
        let relinked = HashMap::from([(2, Some(uuid(2)))]);
        assert_eq!(walk, Walk { path: vec![0, 1, 2, 3], relinked, dangling: 1, ..Walk::default() });
    }

    #[test]
    fn a_loop_is_opened_where_it_closes() {
        let walk = walk(&entries(&[(1, 0), (2, 4), (3, 2), (4, 3)]));
        let relinked = HashMap::from([(1, Some(uuid(1)))]);
        assert_eq!(walk, Walk { path: vec![0, 1, 2, 3], relinked, loops: 1, ..Walk::default() });
    }

    #[test]
    fn a_message_that_is_its_own_parent_follows_the_one_before() {
        let walk = walk(&entries(&[(1, 0), (2, 2)]));
        let relinked = HashMap::from([(1, Some(uuid(1)))]);
        assert_eq!(walk, Walk { path: vec![0, 1], relinked, loops: 1, ..Walk::default() });
    }

    #[test]
    fn a_second_beginning_stands_alone_if_a_prompt_and_is_tied_on_otherwise() {
        let mut two_roots = entries(&[(1, 0), (2, 1), (3, 0), (4, 3)]);
        assert_eq!(walk(&two_roots), Walk { path: vec![2, 3], before: 2, ..Walk::default() });
        two_roots[2].kind = Kind::Assistant;
        let relinked = HashMap::from([(2, Some(uuid(2)))]);
        assert_eq!(
            walk(&two_roots),
            Walk { path: vec![0, 1, 2, 3], relinked, stitched: 1, ..Walk::default() }
        );
    }

    #[test]
    fn the_first_of_two_records_with_one_uuid_counts() {
        let twice = entries(&[(1, 0), (2, 1), (2, 1), (3, 2), (1, 0)]);
        let index = Index::new(&twice, &[]);
        assert_eq!(index.duplicates, 2);
        assert_eq!(index.walk(index.newest_leaf().unwrap()).path, [0, 1, 3]);
    }

    #[test]
    fn the_walk_ends_at_a_compact_boundary_and_passes_through_links() {
        let mut chain = entries(&[(1, 0), (2, 1), (3, 2), (4, 3), (5, 4)]);
        chain[1].kind = Kind::System;
        chain[1].boundary = true;
        chain[3].kind = Kind::Link;
        assert_eq!(walk(&chain), Walk { path: vec![1, 2, 4], ..Walk::default() });
    }

    #[test]
    fn jumping_links_cost_no_quadratic_time() {
        // Every odd message names a missing parent while everything between was seen already.
        let count = 50_000;
        let links: Vec<(u32, u32)> = (1..=count)
            .map(|number| (number, if number <= count / 2 { count - number + 1 } else { 1_000_000 }))
            .collect();
        let entries = entries(&links);
        let index = Index::new(&entries, &[]);
        let walk = index.walk(index.newest_leaf().unwrap());
        assert_eq!(walk.path.len(), count as usize);
        assert!(!index.branches(&walk).limbs.is_empty());
    }
}
