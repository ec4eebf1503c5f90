//! What only the words of a document in their order tell: which words of the message stand together there
//! too, and how much of its name and description is in the message.

use super::{
    index::{Entry, Index},
    lexicon::Worth,
    plan::{Origin, Plan},
    reading::WHOLE,
    vocabulary::Term,
};

/// Words further apart do not stand together.
const WINDOW: u32 = 4;
const OTHER_ORDER: f32 = 0.5;
/// In a long document no more is looked at.
const MOST_WORDS: usize = 2000;
const NOWHERE: u32 = u32::MAX;
const UNWANTED: u16 = u16::MAX;

#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    /// The sum, over pairs of the message, of the lesser weight, by how near they are.
    pub(super) nearness: f32,
    pub(super) head_share: f32,
}

/// Reads one document after another for one plan.
pub(super) struct Reader<'a> {
    plan: &'a Plan,
    index: &'a Index,
    /// By term: its place in the plan.
    places: Vec<u16>,
    /// By place in the plan: the places it pairs with, the pair, and whether the other comes first.
    pairs: Vec<Vec<(usize, usize, bool)>>,
    last_seen: Vec<u32>,
    nearest: Vec<f32>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(plan: &'a Plan, index: &'a Index) -> Self {
        let mut places = vec![UNWANTED; index.vocabulary.len()];
        for (wanted, place) in plan.wanted.iter().zip(0..UNWANTED) {
            if let Some(entry) = places.get_mut(wanted.term.0 as usize) {
                *entry = place;
            }
        }
        let mut pairs = vec![Vec::new(); plan.wanted.len()];
        for (pair, (first, second)) in plan.pairs.iter().enumerate() {
            if let Some(list) = pairs.get_mut(*second) {
                list.push((*first, pair, true));
            }
            if let Some(list) = pairs.get_mut(*first) {
                list.push((*second, pair, false));
            }
        }
        let (last_seen, nearest) = (vec![NOWHERE; plan.wanted.len()], vec![0.0; plan.pairs.len()]);
        Self { plan, index, places, pairs, last_seen, nearest }
    }

    pub(super) fn read(&mut self, entry: &Entry) -> Seen {
        self.last_seen.fill(NOWHERE);
        self.nearest.fill(0.0);
        let [description, body] = entry.starts;
        let (mut head, mut head_met) = (0.0, 0.0);
        let mut position = 0;
        for (word, at) in entry.words.iter().take(MOST_WORDS).zip(0..) {
            // What ends one field and what begins the next do not stand together.
            if at == description || at == body {
                position += WINDOW;
            }
            let is_whole = word & WHOLE != 0;
            position += u32::from(!is_whole);
            let term = Term(word & !WHOLE);
            let place = self.places.get(term.0 as usize).copied().unwrap_or(UNWANTED);
            if at < body && !is_whole {
                let weight = match self.index.vocabulary.worth(term) {
                    Worth::Telling | Worth::Common => self.index.rarity(term),
                    Worth::Stop => 0.0,
                };
                head += weight;
                let said = self.plan.wanted.get(usize::from(place));
                if said.is_some_and(|wanted| wanted.origin != Origin::Expansion) {
                    head_met += weight;
                }
            }
            if place != UNWANTED {
                self.meet(usize::from(place), position);
            }
        }
        let nearness = self.nearest.iter().zip(&self.plan.pairs).map(|(near, (first, second))| {
            let weight = |place: &usize| self.plan.wanted.get(*place).map_or(0.0, |wanted| wanted.weight);
            near * weight(first).min(weight(second))
        });
        Seen { nearness: nearness.sum(), head_share: if head > 0.0 { head_met / head } else { 0.0 } }
    }

    fn meet(&mut self, place: usize, position: u32) {
        for (other, pair, in_order) in self.pairs.get(place).into_iter().flatten() {
            let Some(seen) = self.last_seen.get(*other).filter(|seen| **seen != NOWHERE) else { continue };
            let gap = position - seen;
            if gap > WINDOW {
                continue;
            }
            let near = if *in_order { 1.0 } else { OTHER_ORDER } / (gap.max(1) as f32).sqrt();
            if let Some(nearest) = self.nearest.get_mut(*pair) {
                *nearest = nearest.max(near);
            }
        }
        if let Some(seen) = self.last_seen.get_mut(place) {
            *seen = position;
        }
    }
}
