//! How sure it is that a message is answered, and that one hit answers it, from evidence that compares across
//! messages and stores.
//!
//! Both are logistic regressions on the dev queries of `corpora/recall`: the first tells answerable messages
//! from unanswerable ones, the second right hits from wrong ones.

use super::Hit;

/// What speaks for a hit beside its score.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// How many telling words of the message the document has.
    pub telling: u32,
    /// Which share of the message's words the store knows at all.
    pub known_share: f32,
    /// How rare the message's words are in the store, 0 to 1: a message about something else has rare ones.
    pub mean_rarity: f32,
    /// Which share of the name and the description, by rarity, is in the message.
    pub head_share: f32,
    /// Which share of the score comes from words that stand together in both.
    pub nearness_share: f32,
    /// The score as a share of the best hit's.
    pub lead: f32,
    /// How far the next hit is behind, as a share of the best hit's score.
    pub gap: f32,
}

impl Evidence {
    /// That something like this hit answers the message.
    pub(super) fn answerable(&self) -> f32 {
        let sum = 2.3 * (self.telling as f32).ln_1p() + 0.5 * self.known_share - 9.5 * self.mean_rarity
            + 4.8 * self.head_share
            + 11.0 * self.nearness_share
            + 1.6;
        logistic(sum)
    }

    /// That this hit is a right one. Of hits with 0.7 or more nine of ten are where the numbers were fitted, and
    /// three of four on a task that was left out of the fit.
    fn right(&self) -> f32 {
        let sum = 0.2 * self.answerable().max(1e-6).ln()
            + 2.4 * self.head_share
            + 3.8 * self.nearness_share
            + 2.6 * self.lead
            + 3.3 * self.gap
            - 5.3;
        logistic(sum)
    }
}

/// Compares each hit with the best and with the next one; they come in order.
pub(super) fn compare(hits: &mut [Hit]) {
    let best = hits.first().map_or(0.0, |hit| hit.score);
    if best <= 0.0 {
        return;
    }
    let scores: Vec<f32> = hits.iter().map(|hit| hit.score).collect();
    let next = scores.iter().skip(1).copied().chain([0.0]);
    for (hit, next) in hits.iter_mut().zip(next) {
        let evidence = &mut hit.parts.evidence;
        evidence.lead = hit.score / best;
        evidence.gap = (hit.score - next) / best;
        hit.confidence = evidence.right();
    }
}

fn logistic(sum: f32) -> f32 {
    1.0 / (1.0 + (-sum).exp())
}
