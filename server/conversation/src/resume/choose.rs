//! Which records of a transcript make the thread: decided by the index alone, before anything is read.

use uuid::Uuid;

use super::{LoadError, Report};
use crate::{
    scan::{Entry, Kind, Place, Scan},
    thread::{Head, Index, Walk},
};

/// No model takes more than a few megabytes; a longer history stays on disk but for its newest part.
const LARGEST_THREAD: u64 = 160 << 20;
/// What a message costs in memory besides its text, roughly.
const MESSAGE_OVERHEAD: u64 = 256;
/// More records beside the path than any session has; a hostile file does not cost more.
const LARGEST_BESIDE: usize = 10_000;

/// What has to be read again, now for its content.
#[derive(Default)]
pub(super) struct Chosen {
    pub(super) path: Vec<Wanted>,
    pub(super) beside: Vec<Wanted>,
    /// Messages to make a digest of when nothing is on the path.
    pub(super) stray: Vec<Wanted>,
    pub(super) branches: Vec<BranchPlaces>,
    /// Where in the file the first message is that came after the end of the thread; `None`: there is none.
    pub(super) next_offset: Option<u64>,
    /// What the next message follows; not the last of the path where a compaction kept messages.
    pub(super) tip: Option<Uuid>,
    /// The user rewound to before the first message: the thread is empty on purpose.
    pub(super) at_beginning: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) place: Place,
    pub(super) uuid: Uuid,
    /// `Some`: the parent that it gets instead of the one it names.
    pub(super) parent: Option<Option<Uuid>>,
}

/// Where to read what a branch is about.
pub(super) struct BranchPlaces {
    /// `None`: before the first message.
    pub(super) leaf: Option<(Uuid, Place)>,
    pub(super) prompts: Vec<Place>,
    pub(super) messages: usize,
    pub(super) may_be_parallel: bool,
    pub(super) is_single: bool,
    /// The message of the current thread that it grows from.
    pub(super) joint: Option<Uuid>,
}

/// `at`: the message the thread has to end with. Otherwise it ends where the session was rewound to, or with the
/// newest message.
pub(super) fn choose(
    scan: &Scan,
    heads: &[Head],
    at: Option<Uuid>,
    report: &mut Report,
) -> Result<Chosen, LoadError> {
    let index = Index::with_boundaries(&scan.entries, heads, &scan.boundaries);
    report.duplicates = index.duplicates;
    let end = end_of_thread(&index, at, report)?;
    if end == End::Nowhere {
        return Ok(Chosen { stray: strays(scan), ..Chosen::default() });
    }
    let mut walk = match end {
        End::At(leaf) => index.whole_walk(leaf),
        End::Beginning | End::Nowhere => Walk::default(),
    };
    let branches = index.branches(&walk);
    let beside = index.beside(&walk, LARGEST_BESIDE);
    match at {
        None => branches.forgive(&index, &mut walk),
        // Whoever chose a branch knows that there are others.
        Some(_) => (walk.elsewhere, walk.before) = (0, 0),
    }
    report.left_on_disk = keep_newest(&mut walk, &scan.entries);
    report.take(&walk);
    let take = |positions: &[usize]| -> Vec<Wanted> {
        let known = positions.iter().filter_map(|position| Some((position, scan.entries.get(*position)?)));
        known.map(|(position, entry)| wanted(entry, walk.relinked.get(position).copied())).collect()
    };
    let place = |position: &usize| scan.entries.get(*position).map(Entry::place);
    let places = branches.limbs.iter().take(LARGEST_BESIDE).map(|limb| BranchPlaces {
        leaf: limb.leaf.and_then(|leaf| scan.entries.get(leaf)).map(|entry| (entry.uuid, entry.place())),
        prompts: limb.prompts.iter().filter_map(place).collect(),
        messages: limb.messages,
        is_single: limb.is_single,
        may_be_parallel: limb.may_be_parallel,
        joint: limb
            .joint
            .filter(|_| limb.on_current)
            .and_then(|joint| scan.entries.get(joint))
            .map(|e| e.uuid),
    });
    Ok(Chosen {
        path: take(&walk.path),
        beside: take(&beside),
        stray: Vec::new(),
        branches: places.collect(),
        next_offset: match end {
            End::At(leaf) => index.next_message(leaf).as_ref().and_then(place).map(|place| place.offset),
            End::Beginning | End::Nowhere => Some(0),
        },
        tip: match end {
            End::At(leaf) => tip(&index, &walk, leaf),
            End::Beginning | End::Nowhere => None,
        },
        at_beginning: end == End::Beginning,
    })
}

/// The leaf, unless it was passed by: then the end of the path.
fn tip(index: &Index<'_>, walk: &Walk, leaf: usize) -> Option<Uuid> {
    let tip = if walk.path.contains(&leaf) { leaf } else { walk.path.last().copied()? };
    index.uuid(tip)
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    At(usize),
    Beginning,
    /// There is no message.
    Nowhere,
}

fn end_of_thread(index: &Index<'_>, at: Option<Uuid>, report: &mut Report) -> Result<End, LoadError> {
    if let Some(at) = at {
        return index.find_message(at).map(End::At).ok_or(LoadError::NoSuchMessage(at));
    }
    let Some(newest) = index.newest_leaf() else { return Ok(End::Nowhere) };
    Ok(match index.head() {
        None => End::At(newest),
        Some(Head { target: None, .. }) => End::Beginning,
        Some(Head { target: Some(target), .. }) => match index.find_message(target) {
            Some(position) => End::At(position),
            None => {
                report.lost_head = 1;
                End::At(newest)
            }
        },
    })
}

fn strays(scan: &Scan) -> Vec<Wanted> {
    let newest = scan.entries.iter().filter(|entry| entry.kind != Kind::Link).rev().take(LARGEST_BESIDE);
    let mut stray: Vec<Wanted> = newest.map(|entry| wanted(entry, None)).collect();
    stray.reverse();
    stray
}

fn wanted(entry: &Entry, parent: Option<Option<Uuid>>) -> Wanted {
    Wanted { place: entry.place(), uuid: entry.uuid, parent }
}

/// Cuts the old end of a path that no memory should hold. Returns how many messages stay behind.
fn keep_newest(walk: &mut Walk, entries: &[Entry]) -> u64 {
    let mut size = 0;
    let fits = |position: &&usize| {
        let length = entries.get(**position).map_or(0, |entry| u64::from(entry.place().length));
        size += length + MESSAGE_OVERHEAD;
        size <= LARGEST_THREAD
    };
    let kept = walk.path.iter().rev().take_while(fits).count().max(1);
    let left_out = walk.path.len().saturating_sub(kept);
    walk.path.drain(..left_out);
    left_out as u64
}
