//! The history of compactions: what each of them saved, and all of them together.

use crate::event::CompactionRecord;

/// How many are remembered.
const LAST: usize = 10;

/// The last ten compactions, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    pub compactions: Vec<Compaction>,
    pub tokens_saved: u64,
    /// Of the ratios; `None` if there was no compaction.
    pub average_ratio: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Compaction {
    pub record: CompactionRecord,
    /// Tokens before for each token after.
    pub ratio: f64,
}

impl History {
    pub fn of(records: &[CompactionRecord]) -> Self {
        let last = records.iter().skip(records.len().saturating_sub(LAST));
        let compactions: Vec<Compaction> =
            last.map(|record| Compaction { record: record.clone(), ratio: ratio(record) }).collect();
        let saved = |past: &Compaction| past.record.tokens_before.saturating_sub(past.record.tokens_after);
        let ratios: f64 = compactions.iter().map(|past| past.ratio).sum();
        Self {
            // A transcript may say anything.
            tokens_saved: compactions.iter().map(saved).fold(0, u64::saturating_add),
            average_ratio: (!compactions.is_empty()).then(|| ratios / compactions.len() as f64),
            compactions,
        }
    }

    /// In one line; `None` if there was no compaction.
    pub fn in_words(&self) -> Option<String> {
        let average = self.average_ratio?;
        let count = crate::measure::counted(self.compactions.len(), "compaction");
        Some(format!("{count}: {} tokens saved, {average:.1} to 1 on average", self.tokens_saved))
    }
}

fn ratio(record: &CompactionRecord) -> f64 {
    record.tokens_before as f64 / record.tokens_after.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Trigger;

    fn record(before: u64, after: u64) -> CompactionRecord {
        CompactionRecord {
            layer: "full".to_owned(),
            trigger: Trigger::Auto,
            messages: 20,
            tokens_before: before,
            tokens_after: after,
            score: None,
        }
    }

    #[test]
    fn ratios_are_averaged_and_savings_added_up() {
        let history = History::of(&[record(100_000, 10_000), record(80_000, 40_000)]);
        let ratios: Vec<f64> = history.compactions.iter().map(|past| past.ratio).collect();
        assert_eq!(
            (ratios, history.tokens_saved, history.average_ratio),
            (vec![10.0, 2.0], 130_000, Some(6.0))
        );
    }

    #[test]
    fn only_the_last_ten_count() {
        let records: Vec<_> = (1..=12).map(|number| record(number * 1_000, 1_000)).collect();
        let history = History::of(&records);
        assert_eq!(history.compactions.len(), 10);
        assert_eq!(history.compactions.first().map(|past| past.ratio), Some(3.0));
    }

    #[test]
    fn no_compaction_has_no_average_and_an_empty_result_no_infinite_ratio() {
        assert_eq!(History::of(&[]).average_ratio, None);
        assert_eq!(History::of(&[record(5, 0)]).average_ratio, Some(5.0));
        assert_eq!(History::of(&[record(5, 9)]).tokens_saved, 0);
        assert_eq!(History::of(&[record(u64::MAX, 0), record(u64::MAX, 0)]).tokens_saved, u64::MAX);
    }
}
