//! When it is time to bring the notes up to date.

/// The first notes are taken at this size of the conversation.
const FIRST_AT: u64 = 10_000;
/// The next ones after so much growth.
const GROWTH: u64 = 5_000;
/// And after so many tool calls, or at an answer without any.
const CALLS: usize = 3;

/// How far the conversation has come since the notes were brought up to date. Sizes are tokens, without what
/// stands in front of every conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    at_last: Option<u64>,
    calls: usize,
}

impl Progress {
    /// A response has come, and what it called was answered.
    pub fn advance(&mut self, tokens: u64, calls: usize) {
        self.calls += calls;
        // After a compaction growth begins anew.
        self.at_last = self.at_last.map(|at_last| at_last.min(tokens));
    }

    /// `had_calls`: the last response.
    pub fn is_due(&self, tokens: u64, had_calls: bool) -> bool {
        let is_at_rest = self.at_last.is_none() || self.calls >= CALLS || !had_calls;
        tokens >= self.next_at() && is_at_rest
    }

    /// The size at which the next notes are due.
    pub fn next_at(&self) -> u64 {
        self.at_last.map_or(FIRST_AT, |at_last| at_last.saturating_add(GROWTH))
    }

    /// The notes cover the conversation as it was at `then`, with this size; it may have gone on since.
    pub fn updated(&mut self, then: Self, tokens: u64) {
        self.at_last = Some(tokens);
        self.calls = self.calls.saturating_sub(then.calls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_notes_come_with_the_size_alone() {
        let mut progress = Progress::default();
        progress.advance(9_999, 7);
        assert!(!progress.is_due(9_999, false));
        assert!(progress.is_due(10_000, true));
    }

    #[test]
    fn the_next_need_growth_and_either_calls_or_a_rest() {
        let mut progress = Progress::default();
        progress.updated(progress, 10_000);
        assert!(!progress.is_due(14_999, false), "too little was said");
        assert!(progress.is_due(15_000, false), "an answer without calls");
        progress.advance(15_000, 2);
        assert!(!progress.is_due(15_000, true), "in the middle of the work");
        progress.advance(15_500, 1);
        assert!(progress.is_due(15_500, true), "three calls");
    }

    #[test]
    fn after_a_compaction_growth_counts_from_the_smaller_size() {
        let mut progress = Progress::default();
        progress.updated(progress, 150_000);
        progress.advance(20_000, 0);
        assert!(!progress.is_due(24_999, false));
        progress.advance(24_000, 0);
        assert!(progress.is_due(25_000, false));
    }

    #[test]
    fn calls_that_came_while_the_notes_were_written_count_for_the_next() {
        let mut progress = Progress::default();
        progress.advance(12_000, 4);
        let then = progress;
        progress.advance(14_000, 2);
        progress.updated(then, 12_000);
        assert!(!progress.is_due(17_000, true));
        progress.advance(17_000, 1);
        assert!(progress.is_due(17_000, true));
    }
}
