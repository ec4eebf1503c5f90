//! How much fits: the window of a model and the thresholds below it.

/// Kept free for a summary's output.
const SUMMARY_RESERVE: u64 = 20_000;
/// Compaction starts this far below the effective window.
const AUTOCOMPACT_BUFFER: u64 = 13_000;
/// Compaction is announced this far below its threshold.
const SOON_BUFFER: u64 = 20_000;
/// Above the window less this, nothing more is sent but a compaction.
const MANUAL_COMPACT_BUFFER: u64 = 3_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Tokens the model can hold.
    pub window: u64,
    /// Tokens the model can write in one response.
    pub max_output: u64,
}

/// How full the effective window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Normal,
    /// 60 %.
    Warning,
    /// 80 %.
    Error,
    /// 92 %.
    Critical,
}

impl Budget {
    pub fn new(window: u64, max_output: u64) -> Self {
        Self { window, max_output }
    }

    /// The same with `CLAUDE_CODE_AUTO_COMPACT_WINDOW`, whose value is passed as it stands: it can only make
    /// the window smaller, and what is no number changes nothing.
    #[must_use]
    pub fn with_window_limit(self, value: Option<&str>) -> Self {
        let limit = value.and_then(|value| value.trim().parse().ok()).filter(|limit| *limit > 0);
        Self { window: limit.map_or(self.window, |limit: u64| limit.min(self.window)), ..self }
    }

    /// What the conversation can use: the window without the reserve.
    pub fn effective_window(&self) -> u64 {
        self.window - self.reserve()
    }

    pub fn autocompact_threshold(&self) -> u64 {
        let buffer = if self.is_small() { self.window / 8 } else { AUTOCOMPACT_BUFFER };
        self.effective_window() - buffer
    }

    /// "Compaction soon" is shown above this.
    pub fn soon_threshold(&self) -> u64 {
        let threshold = self.autocompact_threshold();
        threshold - SOON_BUFFER.min(threshold / 4)
    }

    pub fn blocking_limit(&self) -> u64 {
        self.window - MANUAL_COMPACT_BUFFER.min(self.window / 16)
    }

    pub fn level(&self, used: u64) -> Level {
        let share = used as f64 / self.effective_window().max(1) as f64;
        match share {
            share if share >= 0.92 => Level::Critical,
            share if share >= 0.80 => Level::Error,
            share if share >= 0.60 => Level::Warning,
            _ => Level::Normal,
        }
    }

    fn reserve(&self) -> u64 {
        let reserve = SUMMARY_RESERVE.min(self.max_output);
        if self.is_small() { reserve.min(self.window / 4) } else { reserve }
    }

    /// Local models may have windows that the fixed reserves would eat whole; then they are shares.
    fn is_small(&self) -> bool {
        SUMMARY_RESERVE.min(self.max_output) + AUTOCOMPACT_BUFFER > self.window / 10 * 9
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(budget: Budget, expected: Expect) {
        expected.assert_eq(&format!(
            "effective {} autocompact {} soon {} blocking {}",
            budget.effective_window(),
            budget.autocompact_threshold(),
            budget.soon_threshold(),
            budget.blocking_limit()
        ));
    }

    #[test]
    fn thresholds_of_the_default_window() {
        check(
            Budget::new(200_000, 64_000),
            expect!["effective 180000 autocompact 167000 soon 147000 blocking 197000"],
        );
    }

    #[test]
    fn a_model_that_writes_little_needs_little_reserve() {
        check(
            Budget::new(128_000, 4_096),
            expect!["effective 123904 autocompact 110904 soon 90904 blocking 125000"],
        );
    }

    #[test]
    fn small_windows_keep_most_of_themselves() {
        check(Budget::new(8_192, 8_192), expect!["effective 6144 autocompact 5120 soon 3840 blocking 7680"]);
        check(Budget::new(0, 0), expect!["effective 0 autocompact 0 soon 0 blocking 0"]);
    }

    #[test]
    fn the_window_limit_only_shrinks() {
        let budget = Budget::new(200_000, 64_000);
        assert_eq!(budget.with_window_limit(Some("100000")).window, 100_000);
        for value in [None, Some("900000"), Some("many"), Some("0"), Some("-5")] {
            assert_eq!(budget.with_window_limit(value), budget, "{value:?}");
        }
    }

    #[test]
    fn levels_are_shares_of_the_effective_window() {
        let budget = Budget::new(200_000, 64_000);
        let levels: Vec<_> = [0, 107_999, 108_000, 144_000, 165_599, 165_600, 500_000]
            .iter()
            .map(|used| budget.level(*used))
            .collect();
        use Level::{Critical, Error, Normal, Warning};
        assert_eq!(levels, [Normal, Normal, Warning, Error, Error, Critical, Critical]);
    }
}
