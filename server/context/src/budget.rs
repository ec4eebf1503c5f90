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
    /// What compaction takes for the window.
    compaction_window: u64,
    /// The threshold of compaction as a share of the effective window.
    compaction_percent: Option<u8>,
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

/// Who begins a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compaction {
    Automatic,
    /// It is switched off, or failed too often.
    Manual,
}

impl Budget {
    pub fn new(window: u64, max_output: u64) -> Self {
        Self { window, max_output, compaction_window: window, compaction_percent: None }
    }

    /// The same with `CLAUDE_CODE_AUTO_COMPACT_WINDOW`, which replaces the window in all that leads to a
    /// compaction. Never above the model's own window: by then the request could not be sent.
    #[must_use]
    pub fn with_compaction_window(self, tokens: Option<u64>) -> Self {
        let tokens = tokens.filter(|tokens| *tokens > 0).unwrap_or(self.window);
        Self { compaction_window: tokens.min(self.window), ..self }
    }

    /// The same with the setting `autoCompactPercent`, 1 to 100, which replaces the threshold.
    #[must_use]
    pub fn with_compaction_percent(self, percent: Option<u8>) -> Self {
        Self { compaction_percent: percent.map(|percent| percent.clamp(1, 100)), ..self }
    }

    /// What the conversation can use: the window without the reserve.
    pub fn effective_window(&self) -> u64 {
        self.compaction_window - self.reserve()
    }

    pub fn autocompact_threshold(&self) -> u64 {
        if let Some(percent) = self.compaction_percent {
            let share = self.effective_window().saturating_mul(u64::from(percent)) / 100;
            return share.min(self.blocking_limit());
        }
        let buffer = if self.is_small() { self.compaction_window / 8 } else { AUTOCOMPACT_BUFFER };
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

    /// Of the effective window: what levels are made of. More than 1 beyond it.
    pub fn share(&self, used: u64) -> f64 {
        used as f64 / self.effective_window().max(1) as f64
    }

    pub fn level(&self, used: u64) -> Level {
        match self.share(used) {
            share if share >= 0.92 => Level::Critical,
            share if share >= 0.80 => Level::Error,
            share if share >= 0.60 => Level::Warning,
            _ => Level::Normal,
        }
    }

    /// Until compaction, in percent of its threshold. Rounded up: 0 is said only when nothing is left.
    pub fn percent_left(&self, used: u64) -> u64 {
        let threshold = self.autocompact_threshold();
        let left = u128::from(threshold.saturating_sub(used)) * 100;
        u64::try_from(left.div_ceil(u128::from(threshold.max(1)))).unwrap_or(100)
    }

    /// What happens next, in the words of the meter.
    pub fn next_step(&self, used: u64, compaction: Compaction) -> &'static str {
        match compaction {
            _ if used <= self.soon_threshold() => "nothing for now",
            Compaction::Automatic if used <= self.autocompact_threshold() => "compaction soon",
            Compaction::Automatic => "compaction before the next request",
            Compaction::Manual if used <= self.blocking_limit() => "compact soon: it is not done by itself",
            Compaction::Manual => "no more prompts until it is compacted",
        }
    }

    fn reserve(&self) -> u64 {
        let reserve = SUMMARY_RESERVE.min(self.max_output);
        if self.is_small() { reserve.min(self.compaction_window / 4) } else { reserve }
    }

    /// Local models may have windows that the fixed reserves would eat whole; then they are shares.
    fn is_small(&self) -> bool {
        SUMMARY_RESERVE.min(self.max_output) + AUTOCOMPACT_BUFFER > self.compaction_window / 10 * 9
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
    fn the_window_of_compaction_replaces_the_window_in_its_sum_only() {
        let budget = Budget::new(200_000, 64_000);
        check(
            budget.with_compaction_window(Some(100_000)),
            expect!["effective 80000 autocompact 67000 soon 50250 blocking 197000"],
        );
        check(
            budget.with_compaction_window(Some(10_000)),
            expect!["effective 7500 autocompact 6250 soon 4688 blocking 197000"],
        );
        for unchanged in [None, Some(0), Some(200_000), Some(900_000)] {
            assert_eq!(budget.with_compaction_window(unchanged), budget, "{unchanged:?}");
        }
    }

    #[test]
    fn the_percentage_replaces_the_threshold() {
        let budget = Budget::new(200_000, 64_000);
        check(
            budget.with_compaction_percent(Some(50)),
            expect!["effective 180000 autocompact 90000 soon 70000 blocking 197000"],
        );
        check(
            budget.with_compaction_percent(Some(100)).with_compaction_window(Some(100_000)),
            expect!["effective 80000 autocompact 80000 soon 60000 blocking 197000"],
        );
        // Else a prompt would be refused before it is compacted.
        check(
            Budget::new(200_000, 1_000).with_compaction_percent(Some(100)),
            expect!["effective 199000 autocompact 197000 soon 177000 blocking 197000"],
        );
        assert_eq!(budget.with_compaction_percent(None), budget);
        assert_eq!(budget.with_compaction_percent(Some(0)), budget.with_compaction_percent(Some(1)));
    }

    #[test]
    fn what_is_left_ends_at_the_threshold() {
        let budget = Budget::new(200_000, 64_000);
        let left = [0, 1, 83_500, 166_999, 167_000, 500_000].map(|used| budget.percent_left(used));
        assert_eq!(left, [100, 100, 50, 1, 0, 0]);
        assert_eq!(Budget::new(0, 0).percent_left(5), 0);
        assert_eq!(Budget::new(u64::MAX, 64_000).percent_left(5), 100);
        assert!((budget.share(90_000) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn the_meter_says_what_happens_next() {
        let budget = Budget::new(200_000, 64_000);
        let mut story = String::new();
        for used in [147_000, 147_001, 167_000, 167_001, 197_000, 197_001] {
            let [automatic, manual] = [Compaction::Automatic, Compaction::Manual]
                .map(|compaction| budget.next_step(used, compaction));
            story += &format!("{used}: {automatic} | {manual}\n");
        }
        expect![[r#"
            147000: nothing for now | nothing for now
            147001: compaction soon | compact soon: it is not done by itself
            167000: compaction soon | compact soon: it is not done by itself
            167001: compaction before the next request | compact soon: it is not done by itself
            197000: compaction before the next request | compact soon: it is not done by itself
            197001: compaction before the next request | no more prompts until it is compacted
        "#]]
        .assert_eq(&story);
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
