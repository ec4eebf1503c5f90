//! How far the estimate is off for a model, learnt from the usage that comes back.

use std::collections::BTreeMap;

/// Estimates smaller than this say more about rounding than about the tokenizer.
const SMALLEST_SAMPLE: u64 = 200;
const FACTORS: std::ops::RangeInclusive<f64> = 0.4..=3.0;
/// A sample of this many tokens moves the factor half of the way.
const HALF_WAY: f64 = 4_000.0;
const MODELS: usize = 32;

/// One factor per model; 1 until something was learnt.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    factors: BTreeMap<String, f64>,
}

impl Meter {
    /// A request that was estimated at `estimated` tokens turned out to have `actual`.
    pub fn learn(&mut self, model: &str, estimated: u64, actual: u64) {
        if estimated < SMALLEST_SAMPLE || actual == 0 {
            return;
        }
        let seen = (actual as f64 / estimated as f64).clamp(*FACTORS.start(), *FACTORS.end());
        if let Some(factor) = self.factors.get_mut(model) {
            let weight = estimated as f64 / (estimated as f64 + HALF_WAY);
            *factor += (seen - *factor) * weight;
        } else if self.factors.len() < MODELS {
            self.factors.insert(model.to_owned(), seen);
        }
    }

    pub fn factor(&self, model: &str) -> f64 {
        self.factors.get(model).copied().unwrap_or(1.0)
    }

    /// The estimate, corrected.
    pub fn scale(&self, model: &str, estimated: u64) -> u64 {
        (estimated as f64 * self.factor(model)).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_small_after_a_few_rounds() {
        let mut meter = Meter::default();
        for estimated in [3_000, 5_000, 900, 12_000] {
            let actual = (estimated as f64 * 1.23) as u64;
            meter.learn("a", estimated, actual);
        }
        let error = meter.scale("a", 10_000).abs_diff(12_300) as f64 / 12_300.0;
        assert!(error < 0.03, "{error}");
        assert_eq!(meter.scale("b", 10_000), 10_000, "models do not mix");
    }

    #[test]
    fn nonsense_moves_little() {
        let mut meter = Meter::default();
        meter.learn("a", 10, 1_000);
        meter.learn("a", 10_000, 0);
        assert_eq!(meter.factor("a"), 1.0);
        meter.learn("a", 10_000, u64::MAX);
        assert_eq!(meter.factor("a"), 3.0);
    }
}
