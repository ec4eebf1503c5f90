//! What is written to the transcript: a hash per tool and system block, and of the messages at a few places. About a
//! kilobyte, however long the conversation is.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Known, Sent,
    fingerprint::{BlockPrint, Fingerprint, Part},
};
use crate::fnv::Fnv;

#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    at: Timestamp,
    model: String,
    expected: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) announced: bool,
    tools: Vec<(String, u32)>,
    system: Vec<u32>,
    places: Vec<Place>,
}

/// All blocks up to this one have this hash.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "(usize, usize, u32)", into = "(usize, usize, u32)")]
pub(super) struct Place {
    pub(super) last_block: usize,
    pub(super) message: usize,
    pub(super) hash: u32,
}

impl From<(usize, usize, u32)> for Place {
    fn from((last_block, message, hash): (usize, usize, u32)) -> Self {
        Self { last_block, message, hash }
    }
}

impl From<Place> for (usize, usize, u32) {
    fn from(place: Place) -> Self {
        (place.last_block, place.message, place.hash)
    }
}

const MOST_PARTS: usize = 24;
const MOST_PLACES: usize = 16;
/// The first messages hold the instructions and the memories, where a change is likeliest: each has a place.
const FIRST_MESSAGES: usize = 4;

impl Kept {
    pub(super) fn of(known: &Known, announced: bool) -> Self {
        let Sent { at, print, .. } = &known.sent;
        let places = if known.places.is_empty() { places(&print.blocks) } else { known.places.clone() };
        Self {
            at: *at,
            model: print.model.clone(),
            expected: known.expected,
            announced,
            tools: folded(&print.tools).into_iter().map(|part| (part.name, part.hash)).collect(),
            system: folded(&print.system).into_iter().map(|part| part.hash).collect(),
            places,
        }
    }

    pub(super) fn into_known(self) -> Known {
        let tools = self.tools.into_iter().map(|(name, hash)| Part { name, hash }).collect();
        let system = self.system.into_iter().map(|hash| Part { name: String::new(), hash }).collect();
        let print = Fingerprint { model: self.model, tools, system, blocks: Vec::new() };
        let sent = Sent { at: self.at, print, tools: None, system: None };
        Known { sent, places: self.places, expected: self.expected }
    }
}

/// So many that the rest is one: a session may have hundreds of tools.
pub(super) fn folded(parts: &[Part]) -> Vec<Part> {
    let Some((kept, rest)) = parts.split_at_checked(MOST_PARTS).filter(|(_, rest)| !rest.is_empty()) else {
        return parts.to_vec();
    };
    let mut hash = Fnv::new();
    for part in rest {
        hash.add_text(&part.name);
        hash.add(&part.hash.to_le_bytes());
    }
    let behind = kept.last().map(|last| last.name.as_str()).unwrap_or_default();
    let rest = Part { name: format!("(one of those behind {behind})"), hash: hash.short() };
    kept.iter().cloned().chain([rest]).collect()
}

/// The ends of the first messages, of the last, and of some in between at even distances.
fn places(blocks: &[BlockPrint]) -> Vec<Place> {
    let is_end =
        |at: usize, block: &BlockPrint| blocks.get(at + 1).is_none_or(|next| next.message != block.message);
    let ends: Vec<Place> = blocks
        .iter()
        .enumerate()
        .filter(|(at, block)| is_end(*at, block))
        .map(|(at, block)| Place { last_block: at, message: block.message, hash: block.up_to_here })
        .collect();
    let Some((first, rest)) = ends.split_at_checked(FIRST_MESSAGES) else { return ends };
    let step = rest.len().div_ceil(MOST_PLACES - FIRST_MESSAGES).max(1);
    let from_the_end = rest.iter().rev().step_by(step).rev();
    first.iter().chain(from_the_end).cloned().collect()
}
