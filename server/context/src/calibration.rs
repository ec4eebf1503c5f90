//! What a kind of text weighs with a model: a factor on the estimate by bytes, learnt from the usage that
//! responses report.
//!
//! Factors are estimated as a Kalman filter does it, in logarithms: each knows how uncertain it is, what is
//! learnt from a mixture is shared out by size and uncertainty, and the more is known, the less the next
//! observation moves.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::kind::Composition;

/// How far a factor may be from 1 before anything is known: a third, give or take.
const UNKNOWN: f64 = 0.35 * 0.35;
/// Of JSON, whose estimate is meant to be too large rather than too small: what a mixture gets wrong is mostly its fault.
const UNKNOWN_JSON: f64 = 0.7 * 0.7;
/// As sure as a factor can get: what is talked about changes, and what it weighs with it.
const SUREST: f64 = 0.03 * 0.03;
/// How much two texts of one kind differ.
const DIFFERENCE: f64 = 0.1;
/// Tokens that a provider wraps around messages: an observation of as few says nothing.
const WRAPPING: f64 = 25.0;
/// How wrong the size of an image or a document may be.
const FIXED_DIFFERENCE: f64 = 0.5;
/// Beyond so many deviations an observation is doubted, and at a factor of e in any case.
const DOUBT: f64 = 3.0;
const LARGEST_SURPRISE: f64 = 1.0;
/// Two doubted observations confirm each other if they differ by less (in logarithms).
const AGREEMENT: f64 = 0.25;
const SMALLEST_FACTOR: f64 = 0.05;
const LARGEST_FACTOR: f64 = 20.0;

/// Factors by model and kind of text. A file format: what was learnt outlives the session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Calibration {
    models: BTreeMap<String, Factors>,
}

impl Calibration {
    /// Whether something was learnt about the model.
    pub fn knows(&self, model: &str) -> bool {
        self.models.contains_key(model)
    }

    pub fn tokens(&self, model: &str, composition: &Composition) -> u64 {
        let text: f64 = match self.models.get(model) {
            Some(factors) => factors.weigh(composition).iter().sum(),
            None => composition.kinds().iter().sum(),
        };
        text.round() as u64 + composition.fixed
    }

    /// What a piece of conversation was estimated as, and how many tokens the provider says that it was.
    pub fn learn(&mut self, model: &str, composition: &Composition, reported: u64) {
        let text = reported.saturating_sub(composition.fixed);
        if text > 0 {
            self.models.entry(model.to_owned()).or_default().learn(composition, text as f64);
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Factors {
    code: Factor,
    prose: Factor,
    json: Factor,
    cjk: Factor,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Factor {
    #[serde(deserialize_with = "sane_value")]
    value: f64,
    /// The variance of the value's logarithm.
    #[serde(deserialize_with = "sane_variance")]
    variance: f64,
    /// The last observation, mostly of this kind, that was too far off to be believed: reported / estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    doubted: Option<f64>,
}

/// The file may have been written by anybody.
fn sane_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(f64::deserialize(deserializer)?.clamp(SMALLEST_FACTOR, LARGEST_FACTOR))
}

fn sane_variance<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(f64::deserialize(deserializer)?.clamp(SUREST, UNKNOWN_JSON))
}

impl Default for Factor {
    fn default() -> Self {
        Self { value: 1.0, variance: UNKNOWN, doubted: None }
    }
}

impl Default for Factors {
    fn default() -> Self {
        let json = Factor { variance: UNKNOWN_JSON, ..Factor::default() };
        Self { json, code: Factor::default(), prose: Factor::default(), cjk: Factor::default() }
    }
}

impl Factors {
    /// In the order of [`Composition::kinds`].
    fn each(&self) -> [&Factor; 4] {
        [&self.code, &self.prose, &self.json, &self.cjk]
    }

    fn each_mut(&mut self) -> [&mut Factor; 4] {
        [&mut self.code, &mut self.prose, &mut self.json, &mut self.cjk]
    }

    /// The tokens of each kind.
    fn weigh(&self, composition: &Composition) -> [f64; 4] {
        let mut tokens = composition.kinds();
        for (tokens, factor) in tokens.iter_mut().zip(self.each()) {
            *tokens *= factor.value;
        }
        tokens
    }

    fn learn(&mut self, composition: &Composition, reported: f64) {
        let expected = self.weigh(composition);
        let total: f64 = expected.iter().sum();
        if total < WRAPPING {
            return;
        }
        let shares = expected.map(|tokens| tokens / total);
        let surprise = (reported / total).ln();
        let mut noise = DIFFERENCE.powi(2) + (WRAPPING / total).powi(2);
        noise += (FIXED_DIFFERENCE * composition.fixed as f64 / total).powi(2);
        let believable = (DOUBT * (self.variance(&shares) + noise).sqrt()).min(LARGEST_SURPRISE);
        if surprise.abs() > believable {
            let estimated: f64 = composition.kinds().iter().sum();
            if !self.is_confirmed(&shares, reported / estimated) {
                return;
            }
            self.forget(&shares, surprise);
        }
        if let Some(factor) = self.leading(&shares) {
            factor.doubted = None;
        }
        let variance = self.variance(&shares) + noise;
        for (factor, share) in self.each_mut().into_iter().zip(shares) {
            let gain = factor.variance * share / variance;
            let value = factor.value * (gain * surprise).exp();
            factor.value = value.clamp(SMALLEST_FACTOR, LARGEST_FACTOR);
            factor.variance = (factor.variance * (1.0 - gain * share)).max(SUREST);
        }
    }

    fn variance(&self, shares: &[f64; 4]) -> f64 {
        self.each().iter().zip(shares).map(|(factor, share)| factor.variance * share.powi(2)).sum()
    }

    /// One observation that is far off may be a hidden prompt or a miscount; a second one like it, with no
    /// usual one in between, is how the provider counts.
    fn is_confirmed(&mut self, shares: &[f64; 4], ratio: f64) -> bool {
        let Some(factor) = self.leading(shares) else { return false };
        let before = factor.doubted.replace(ratio);
        before.is_some_and(|before| (ratio / before).ln().abs() < AGREEMENT)
    }

    /// Of the kind that is most of it.
    fn leading(&mut self, shares: &[f64; 4]) -> Option<&mut Factor> {
        let most = self.each_mut().into_iter().zip(shares).max_by(|(_, a), (_, b)| a.total_cmp(b));
        most.map(|(factor, _)| factor)
    }

    /// What was known about these kinds was wrong by as much as the surprise.
    fn forget(&mut self, shares: &[f64; 4], surprise: f64) {
        for (factor, share) in self.each_mut().into_iter().zip(shares) {
            if *share > 0.0 {
                factor.variance = UNKNOWN.max(surprise.powi(2));
            }
        }
    }
}

#[cfg(test)]
mod tests;
