//! All threads of a transcript: every message lies on at least one branch, so that nothing in the file is out of
//! reach. Structure only; what the branches say is read by a resume.

use std::collections::HashSet;

use super::{Index, Unvisited, Walk};
use crate::scan::{Entry, Kind};

/// Messages of a limb among which its first prompt is looked for.
const PROMPT_CANDIDATES: usize = 8;
/// Claude Code writes the progress of a tool between its call and its result.
const MOST_LINKS: usize = 64;
/// Nobody has so many; a hostile file does not cost more.
const MOST_LIMBS: usize = 10_000;
/// Where links run in loops, so many walks are tried to reach everything, and fewer where each takes long.
const MOST_WALKS: usize = 200;
const MOST_STEPS: usize = 20_000_000;
/// Where there is no parent, or no limb.
const NONE: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(crate) struct Branches {
    /// The current one first, then by the place of their last messages, newest first.
    pub(crate) limbs: Vec<Limb>,
    /// For each position the limb it lies on.
    owner: Vec<u32>,
}

/// The part of a thread that it does not share with the limbs before it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Limb {
    /// `None`: the session was rewound to before its first message.
    pub(crate) leaf: Option<usize>,
    /// From the root to the leaf.
    pub(crate) messages: usize,
    /// Positions of user messages where it leaves the limbs before it, oldest first; none for the current one.
    pub(crate) prompts: Vec<usize>,
    /// The user left it by rewinding.
    pub(crate) left_on_purpose: bool,
    /// One record on a response: perhaps the result of one of several calls, and no branch.
    pub(crate) may_be_parallel: bool,
    /// One message that grows from another limb.
    pub(crate) is_single: bool,
    /// It grows from the current thread.
    pub(crate) on_current: bool,
    /// What it grows from on an earlier limb.
    pub(crate) joint: Option<usize>,
}

impl Index<'_> {
    /// `current`: the walk that is loaded.
    pub(crate) fn branches(&self, current: &Walk) -> Branches {
        let parents = self.parents();
        let has_child = self.has_child(&parents);
        let left: HashSet<usize> =
            self.heads.iter().filter_map(|head| self.last_message(head.after)).collect();
        let mut growth = Growth {
            index: self,
            parents: &parents,
            unowned: Unvisited::new(self),
            depth: vec![0; self.entries.len()],
            branches: Branches { limbs: Vec::new(), owner: vec![NONE; self.entries.len()] },
        };
        growth.add_path(current);
        let is_leaf = |position: &usize| has_child.get(*position) == Some(&false);
        for leaf in (0..self.entries.len()).rev().filter(|position| self.is_main_message(*position)) {
            if growth.branches.limbs.len() >= MOST_LIMBS {
                break;
            }
            if is_leaf(&leaf) && !growth.unowned.was_visited(leaf) {
                growth.grow(leaf, left.contains(&leaf));
            }
        }
        // Only loops are left: no message of theirs is the last one.
        while growth.branches.limbs.len() < MOST_LIMBS
            && let Some(leaf) = growth.unowned.nearest_before(self.entries.len())
        {
            growth.grow(leaf, false);
        }
        let mut branches = growth.branches;
        // As long as every message comes after its parent, walks go where the limbs are.
        if parents.iter().zip(0_u32..).any(|(parent, position)| *parent != NONE && *parent >= position) {
            self.reach_the_rest(&parents, &mut branches);
        }
        branches
    }

    /// Walks find their own way around loops. What they miss gets limbs of its own.
    fn reach_the_rest(&self, parents: &[u32], branches: &mut Branches) {
        let mut reached = vec![false; self.entries.len()];
        let walks = (MOST_STEPS / self.entries.len().max(1)).clamp(4, MOST_WALKS);
        let leaves: Vec<usize> = branches.limbs.iter().filter_map(|limb| limb.leaf).take(walks).collect();
        for leaf in leaves {
            self.reach(leaf, parents, &mut reached);
        }
        let missed = |reached: &[bool]| {
            let is_missed =
                |position: &usize| self.is_main_message(*position) && reached.get(*position) == Some(&false);
            (0..self.entries.len()).rev().find(is_missed)
        };
        for _ in 0..walks {
            let Some(leaf) = missed(&reached) else { break };
            let messages = self.reach(leaf, parents, &mut reached);
            branches.limbs.push(Limb { leaf: Some(leaf), messages, prompts: vec![leaf], ..Limb::default() });
        }
    }

    /// Marks what a walk passes, and what a compact boundary at its end stands for. Returns how much it passes.
    fn reach(&self, leaf: usize, parents: &[u32], reached: &mut [bool]) -> usize {
        let mut next = Some(leaf);
        let mut passed = 0;
        while let Some(leaf) = next {
            let walk = self.walk(leaf);
            passed += walk.path.len();
            let mut is_new = false;
            for position in &walk.path {
                if let Some(mark) = reached.get_mut(*position) {
                    is_new |= !std::mem::replace(mark, true);
                }
            }
            let root = walk.path.first().filter(|_| is_new);
            let boundary = root.filter(|root| self.entries.get(**root).is_some_and(|entry| entry.boundary));
            let parent = boundary.and_then(|boundary| parents.get(*boundary));
            next = parent.filter(|parent| **parent != NONE).map(|parent| *parent as usize);
        }
        passed
    }

    /// The parent of each position, tied to what came before where the link is broken.
    fn parents(&self) -> Vec<u32> {
        let mut parents = Vec::with_capacity(self.entries.len());
        let mut previous = None;
        for (position, entry) in self.entries.iter().enumerate() {
            let parent = self.parent_in_file(position, entry, previous);
            parents.push(parent.and_then(|parent| u32::try_from(parent).ok()).unwrap_or(NONE));
            if self.is_main_message(position) {
                previous = Some(position);
            }
        }
        parents
    }

    fn parent_in_file(&self, position: usize, entry: &Entry, previous: Option<usize>) -> Option<usize> {
        if entry.parent.is_nil() {
            let begins = self.is_beginning(position, entry) && !entry.boundary;
            return previous.filter(|_| !begins);
        }
        // Nearly always, it is the record before.
        if let Some(before) = position.checked_sub(1)
            && self.entries.get(before).is_some_and(|earlier| earlier.uuid == entry.parent)
            && !self.is_duplicate(before)
        {
            return Some(before);
        }
        self.find(entry.parent).filter(|parent| *parent != position).or(previous)
    }

    /// Whether a message follows, perhaps behind records that are none.
    fn has_child(&self, parents: &[u32]) -> Vec<bool> {
        let mut has_child = vec![false; self.entries.len()];
        for position in 0..self.entries.len() {
            if !self.is_main_message(position) {
                continue;
            }
            let mut at = position;
            while let Some(parent) = parents.get(at).filter(|parent| **parent != NONE) {
                at = *parent as usize;
                let Some(mark) = has_child.get_mut(at) else { break };
                let was_marked = std::mem::replace(mark, true);
                let is_link = self.entries.get(at).is_some_and(|entry| entry.kind == Kind::Link);
                if was_marked || !is_link {
                    break;
                }
            }
        }
        has_child
    }

    /// The newest message among the first `count` entries.
    fn last_message(&self, count: usize) -> Option<usize> {
        (0..count.min(self.entries.len())).rev().find(|position| self.is_main_message(*position))
    }
}

impl Branches {
    /// Takes from the walk's counts what lies on branches that the user left on purpose: that is no news.
    pub(crate) fn forgive(&self, index: &Index<'_>, walk: &mut Walk) {
        if !self.limbs.iter().any(|limb| limb.left_on_purpose) {
            return;
        }
        let root = walk.path.first().copied().unwrap_or_default();
        for (position, owner) in self.owner.iter().enumerate() {
            let is_forgiven = self.limbs.get(*owner as usize).is_some_and(|limb| limb.left_on_purpose);
            if *owner != 0 && is_forgiven && index.is_turn(position) {
                let count = if position > root { &mut walk.elsewhere } else { &mut walk.before };
                *count = count.saturating_sub(1);
            }
        }
    }
}

struct Growth<'a> {
    index: &'a Index<'a>,
    parents: &'a [u32],
    /// What lies on no limb yet.
    unowned: Unvisited,
    /// Messages from the root to each position.
    depth: Vec<u32>,
    branches: Branches,
}

impl Growth<'_> {
    fn add_path(&mut self, walk: &Walk) {
        let mut limb = Limb { leaf: walk.path.last().copied(), ..Limb::default() };
        for position in walk.path.iter().rev() {
            self.own(*position);
        }
        // What a compact boundary hides is part of the same thread.
        let mut path: Vec<usize> = walk.path.first().map_or_else(Vec::new, |root| self.ancestors(*root));
        path.reverse();
        path.extend_from_slice(&walk.path);
        limb.messages = self.measure(0, &path);
        self.branches.limbs.push(limb);
    }

    fn grow(&mut self, leaf: usize, left_on_purpose: bool) {
        self.own(leaf);
        let mut path = vec![leaf];
        path.extend(self.ancestors(leaf));
        path.reverse();
        let limb = self.branches.limbs.len();
        let joint = path.first().and_then(|root| self.parent(*root));
        let joint = joint.filter(|joint| self.is_owned(*joint) && self.owner(*joint) != limb);
        let joint = joint.map(|joint| self.message_before(joint));
        let base = joint.and_then(|joint| self.depth.get(joint)).copied().unwrap_or_default();
        let messages = self.measure(base, &path);
        let is_single = messages == base as usize + 1;
        let lead = joint.and_then(|joint| self.branches.limbs.get(self.owner(joint)));
        let left_with_lead = is_single && lead.is_some_and(|lead| lead.left_on_purpose);
        let is_user = |position: &usize| self.kind(*position) == Some(Kind::User);
        let limb = Limb {
            leaf: Some(leaf),
            messages,
            left_on_purpose: left_on_purpose || left_with_lead,
            may_be_parallel: is_single && joint.and_then(|joint| self.kind(joint)) == Some(Kind::Assistant),
            is_single: is_single && joint.is_some(),
            on_current: joint.is_some_and(|joint| self.owner(joint) == 0),
            prompts: path.iter().copied().filter(is_user).take(PROMPT_CANDIDATES).collect(),
            joint,
        };
        self.branches.limbs.push(limb);
    }

    /// Takes everything from the parent of `position` to the root or to another limb.
    fn ancestors(&mut self, position: usize) -> Vec<usize> {
        let mut path = Vec::new();
        let limb = self.branches.limbs.len();
        let mut at = position;
        while let Some(parent) = self.parent(at) {
            let next = match self.is_owned(parent) {
                false => Some(parent),
                // A loop: what is nearest before it may be what it hung on.
                true if self.owner(parent) == limb => self.unowned.nearest_before(at),
                true => None,
            };
            let Some(next) = next else { break };
            self.own(next);
            path.push(next);
            at = next;
        }
        path
    }

    fn kind(&self, position: usize) -> Option<Kind> {
        self.index.entries.get(position).map(|entry| entry.kind)
    }

    /// The message here, or right before records that are none.
    fn message_before(&self, position: usize) -> usize {
        let mut at = position;
        for _ in 0..MOST_LINKS {
            match (self.kind(at), self.parent(at)) {
                (Some(Kind::Link), Some(parent)) => at = parent,
                _ => break,
            }
        }
        at
    }

    fn parent(&self, position: usize) -> Option<usize> {
        self.parents.get(position).filter(|parent| **parent != NONE).map(|parent| *parent as usize)
    }

    fn own(&mut self, position: usize) {
        self.unowned.visit(position);
        let number = u32::try_from(self.branches.limbs.len()).unwrap_or(NONE);
        if let Some(owner) = self.branches.owner.get_mut(position) {
            *owner = number;
        }
    }

    fn is_owned(&self, position: usize) -> bool {
        self.unowned.was_visited(position)
    }

    fn owner(&self, position: usize) -> usize {
        self.branches.owner.get(position).map_or(usize::MAX, |owner| *owner as usize)
    }

    /// Numbers the messages of a path that begins after `base` others.
    fn measure(&mut self, base: u32, path: &[usize]) -> usize {
        let mut depth = base;
        for position in path {
            depth = depth.saturating_add(u32::from(self.kind(*position) != Some(Kind::Link)));
            if let Some(mark) = self.depth.get_mut(*position) {
                *mark = depth;
            }
        }
        depth as usize
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::tests::entries;
    use super::*;
    use crate::thread::Head;

    fn check(entries: &[Entry], heads: &[Head], expected: Expect) {
        let index = Index::new(entries, heads);
        let walk = match index.head() {
            Some(Head { target: None, .. }) => Walk::default(),
            Some(Head { target: Some(target), .. }) => index.walk(index.find_message(target).unwrap()),
            None => index.walk(index.newest_leaf().unwrap()),
        };
        let branches = index.branches(&walk);
        let number = |position: usize| entries[position].uuid.as_u128() & 0xffff;
        let lines: Vec<String> = branches
            .limbs
            .iter()
            .map(|limb| {
                let leaf = limb.leaf.map(number);
                let joint = limb.joint.map(number);
                let prompts: Vec<u128> = limb.prompts.iter().map(|position| number(*position)).collect();
                let purpose = if limb.left_on_purpose { " on purpose" } else { "" };
                format!("{leaf:?} of {} from {joint:?}, prompts {prompts:?}{purpose}\n", limb.messages)
            })
            .collect();
        expected.assert_eq(&lines.concat());
        let owned = (0..entries.len()).filter(|position| index.is_main_message(*position));
        assert!(owned.into_iter().all(|position| branches.owner[position] != NONE), "out of reach");
    }

    #[test]
    fn one_thread_is_one_branch() {
        check(
            &entries(&[(1, 0), (2, 1), (3, 2)]),
            &[],
            expect![[r#"
                Some(3) of 3 from None, prompts []
            "#]],
        );
    }

    #[test]
    fn branches_of_branches_are_told_from_where_they_leave() {
        check(
            &entries(&[(1, 0), (2, 1), (3, 2), (4, 1), (5, 4), (6, 4), (7, 2)]),
            &[],
            expect![[r#"
                Some(7) of 3 from None, prompts []
                Some(6) of 3 from Some(1), prompts [4, 6]
                Some(5) of 3 from Some(4), prompts [5]
                Some(3) of 3 from Some(2), prompts [3]
            "#]],
        );
    }

    #[test]
    fn earlier_beginnings_and_loops_stay_in_reach() {
        check(
            &entries(&[(1, 0), (2, 1), (3, 0), (4, 6), (5, 4), (6, 5), (7, 3)]),
            &[],
            expect![[r#"
                Some(7) of 2 from None, prompts []
                Some(2) of 2 from None, prompts [1, 2]
                Some(6) of 3 from None, prompts [4, 5, 6]
            "#]],
        );
    }

    #[test]
    fn what_a_boundary_hides_is_no_branch() {
        let mut compacted = entries(&[(1, 0), (2, 1), (3, 2), (4, 3), (5, 4)]);
        compacted[2].boundary = true;
        compacted[2].kind = Kind::System;
        let mut nameless = compacted.clone();
        nameless[2].parent = uuid::Uuid::nil();
        for entries in [compacted, nameless] {
            check(
                &entries,
                &[],
                expect![[r#"
                    Some(5) of 5 from None, prompts []
                "#]],
            );
        }
    }

    #[test]
    fn a_rewound_thread_is_current_and_what_was_left_is_on_purpose() {
        let thread = entries(&[(1, 0), (2, 1), (3, 2)]);
        let head = |number: u32| Head { target: Some(crate::sample::uuid(number)), after: 3 };
        check(
            &thread,
            &[head(1)],
            expect![[r#"
                Some(1) of 1 from None, prompts []
                Some(3) of 3 from Some(1), prompts [2, 3] on purpose
            "#]],
        );
        check(
            &thread,
            &[Head { target: None, after: 3 }],
            expect![[r#"
                None of 0 from None, prompts []
                Some(3) of 3 from None, prompts [1, 2, 3] on purpose
            "#]],
        );
    }

    #[test]
    fn what_follows_a_rewind_to_the_beginning_begins_anew_whatever_it_is() {
        let mut anew = entries(&[(1, 0), (2, 1), (3, 0), (4, 3)]);
        anew[2].kind = Kind::Attachment;
        check(
            &anew,
            &[Head { target: None, after: 2 }],
            expect![[r#"
                Some(4) of 2 from None, prompts []
                Some(2) of 2 from None, prompts [1, 2] on purpose
            "#]],
        );
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, cases: 2_000, ..Default::default() })]

        #[test]
        fn whatever_the_links_every_message_is_on_some_walk(
            links in proptest::collection::vec((1_u32..14, 0_u32..16, 0_u8..12), 1..14),
            rewinds in proptest::collection::vec((0_usize..14, 0_u32..14), 0..3),
        ) {
            let mut entries = entries(&links.iter().map(|(number, parent, _)| (*number, *parent)).collect::<Vec<_>>());
            for (entry, (_, _, kind)) in entries.iter_mut().zip(&links) {
                entry.kind = match kind {
                    0..5 => Kind::User,
                    5..9 => Kind::Assistant,
                    9 => Kind::Link,
                    10 => Kind::Attachment,
                    _ => Kind::System,
                };
                entry.boundary = *kind == 11;
            }
            let mut heads: Vec<Head> = rewinds
                .into_iter()
                .map(|(after, target)| Head { target: (target > 0).then(|| crate::sample::uuid(target)), after: after.min(links.len()) })
                .collect();
            heads.sort_by_key(|head| head.after);
            let index = Index::new(&entries, &heads);
            let Some(newest) = index.newest_leaf() else { return Ok(()) };
            let current = index.walk(newest);
            let branches = index.branches(&current);
            let parents = index.parents();
            let mut reached = vec![false; entries.len()];
            for leaf in branches.limbs.iter().filter_map(|limb| limb.leaf) {
                index.reach(leaf, &parents, &mut reached);
            }
            let unreached: Vec<usize> =
                (0..entries.len()).filter(|position| index.is_main_message(*position) && !reached[*position]).collect();
            proptest::prop_assert!(unreached.is_empty(), "{unreached:?} of {:?}", branches.limbs);
        }
    }
}
