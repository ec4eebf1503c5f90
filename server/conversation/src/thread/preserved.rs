//! What compactions left standing: the messages that one kept come behind its summary (or before it) although they lie
//! further up in the file, and a compaction that was never whole is passed by.

use super::{Index, Walk};
use crate::scan::{Entry, Links};

/// How far back what was kept is looked for: what a compaction kept may have been kept by an earlier one.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// Only compactions before this position count: links in a damaged file may lead anywhere.
    before: usize,
    levels: usize,
}

impl Default for Reach {
    fn default() -> Self {
        Self { before: usize::MAX, levels: 500 }
    }
}

impl Index<'_> {
    /// The walk to this leaf, or to what was said before a compaction that was cut before it was whole: that one never
    /// happened.
    pub(crate) fn whole_walk(&self, leaf: usize) -> Walk {
        let mut walk = self.walk(leaf);
        while let Some(boundary) = walk.path.first().copied()
            && let Some(entry) = self.entries.get(boundary).filter(|entry| entry.boundary)
            && !self.is_whole(entry, &walk)
            // The way back ends.
            && let Some(before) = self.find(entry.parent).filter(|before| *before < boundary)
        {
            walk = self.walk(before);
        }
        walk
    }

    fn is_whole(&self, boundary: &Entry, walk: &Walk) -> bool {
        match self.links_of(boundary).and_then(|links| links.complete_with) {
            Some(last) => self.find(last).is_some(),
            // Nobody compacts to nothing.
            None => walk.path.len() > 1,
        }
    }

    /// `walk` begins at a boundary.
    pub(super) fn insert_preserved(&self, walk: &mut Walk, reach: Reach) {
        let Some((boundary, entry)) = walk.path.first().and_then(|at| Some((*at, self.entries.get(*at)?)))
        else {
            return;
        };
        let Some(segment) = self.links_of(entry).and_then(|links| links.preserved) else { return };
        let at = |uuid| self.find(uuid);
        let (Some(head), Some(anchor), Some(tail)) =
            (at(segment.head_uuid), at(segment.anchor_uuid), at(segment.tail_uuid))
        else {
            return;
        };
        let Some(place) = walk.path.iter().position(|position| *position == anchor) else { return };
        // What was kept is older than what it was kept from: the way back ends.
        if tail >= boundary || boundary >= reach.before || reach.levels == 0 {
            return;
        }
        let mut kept = self.walk_within(tail, Reach { before: boundary, levels: reach.levels - 1 });
        let Some(first) = kept.path.iter().position(|position| *position == head) else { return };
        kept.path.drain(..first);
        kept.path.retain(|position| !walk.path.contains(position));
        walk.path.splice(place + 1..place + 1, kept.path);
        walk.relinked.extend(kept.relinked);
        walk.dangling += kept.dangling;
        walk.loops += kept.loops;
        walk.stitched += kept.stitched;
    }

    fn links_of(&self, boundary: &Entry) -> Option<Links> {
        self.boundaries.iter().rev().find(|(uuid, _)| *uuid == boundary.uuid).map(|(_, links)| *links)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        message::PreservedSegment,
        sample::uuid,
        scan::Kind,
        thread::{Walk, tests::entries},
    };

    fn links(number: u32, segment: Option<(u32, u32, u32)>, last: u32) -> (uuid::Uuid, Links) {
        let preserved = segment.map(|(head, anchor, tail)| PreservedSegment {
            head_uuid: uuid(head),
            anchor_uuid: uuid(anchor),
            tail_uuid: uuid(tail),
        });
        (uuid(number), Links { preserved, complete_with: Some(uuid(last)) })
    }

    /// The numbers of the messages on the way to `leaf`. A boundary is written as its number, its parent, `true`.
    fn way(chain: &[(u32, u32, bool)], boundaries: &[(uuid::Uuid, Links)], leaf: u32) -> Vec<u32> {
        let plain: Vec<(u32, u32)> = chain.iter().map(|(number, parent, _)| (*number, *parent)).collect();
        let mut entries = entries(&plain);
        for (entry, (_, _, boundary)) in entries.iter_mut().zip(chain) {
            if *boundary {
                (entry.boundary, entry.kind) = (true, Kind::System);
            }
        }
        let index = Index::with_boundaries(&entries, &[], boundaries);
        let Walk { path, .. } = index.whole_walk(index.find(uuid(leaf)).unwrap());
        path.into_iter().map(|position| chain[position].0).collect()
    }

    /// 1 … 4 are said, 10 is a boundary with its summary 11, 12 comes with it, 13 is said later.
    const COMPACTED: &[(u32, u32, bool)] = &[
        (1, 0, false),
        (2, 1, false),
        (3, 2, false),
        (4, 3, false),
        (10, 4, true),
        (11, 10, false),
        (12, 11, false),
        (13, 12, false),
    ];

    #[test]
    fn what_was_kept_follows_the_summary() {
        let kept = [links(10, Some((3, 11, 4)), 12)];
        assert_eq!(way(COMPACTED, &kept, 13), [10, 11, 3, 4, 12, 13]);
        // Rewound to right behind what was kept.
        assert_eq!(way(COMPACTED, &kept, 11), [10, 11, 3, 4]);
        // And into it: that is before the compaction.
        assert_eq!(way(COMPACTED, &kept, 3), [1, 2, 3]);
    }

    #[test]
    fn what_was_kept_may_come_before_the_summary() {
        assert_eq!(way(COMPACTED, &[links(10, Some((1, 10, 2)), 12)], 13), [10, 1, 2, 11, 12, 13]);
    }

    #[test]
    fn a_second_compaction_keeps_what_the_first_one_kept() {
        let twice = [COMPACTED, &[(20, 13, true), (21, 20, false), (22, 21, false)]].concat();
        let both = [links(10, Some((3, 11, 4)), 12), links(20, Some((4, 21, 13)), 21)];
        assert_eq!(way(&twice, &both, 22), [20, 21, 4, 12, 13, 22]);
    }

    #[test]
    fn a_compaction_that_was_cut_never_happened() {
        let kept = [links(10, Some((3, 11, 4)), 12)];
        for whole in 5..7 {
            let cut = &COMPACTED[..whole];
            assert_eq!(way(cut, &kept, cut[whole - 1].0), [1, 2, 3, 4], "{whole}");
        }
        assert_eq!(way(&COMPACTED[..7], &kept, 12), [10, 11, 3, 4, 12]);
        // Of another program, which does not say what belongs to it.
        assert_eq!(way(&COMPACTED[..5], &[], 10), [1, 2, 3, 4]);
    }

    #[test]
    fn what_was_kept_and_leads_back_to_its_own_compaction_ends() {
        // The parent of 3 was lost, and what was written in its place is behind the boundary.
        let mut damaged = COMPACTED.to_vec();
        damaged[2].1 = 12;
        assert_eq!(way(&damaged, &[links(10, Some((3, 11, 4)), 12)], 13), [10, 11, 3, 4, 12, 13]);
    }

    #[test]
    fn links_that_lead_nowhere_keep_nothing() {
        for segment in [(9, 11, 4), (3, 9, 4), (3, 11, 9), (4, 11, 3), (3, 11, 13)] {
            assert_eq!(way(COMPACTED, &[links(10, Some(segment), 12)], 13), [10, 11, 12, 13], "{segment:?}");
        }
    }
}
