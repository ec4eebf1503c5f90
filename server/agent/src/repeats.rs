//! What the model has before it already: a file that is read again and has not changed gets a word instead of its text.
//!
//! The session's working memory knows where in the thread each reading is. What it says is believed only where the
//! very same text is still there, so that rewinding, or anything else that takes it away, does no harm. And only once:
//! whoever asks again after that has not found it, and gets it whole.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use cache::{Pressure, Priority, Statistics, WorkingMemory};
use conversation::{Block, Body, Message, ResultContent};
use uuid::Uuid;

/// Shorter texts are as soon read as a reference to them.
pub(crate) const WORTH_IT: usize = 1_000;

const SHOWN_ALREADY: &str = "(nothing has changed: another Read of yours with the same input has shown this very \
    text, look there. If it is no longer in sight, read the file once more and it is shown whole)";

#[derive(Default)]
pub(crate) struct Repeats {
    /// The message that has the result of a reading, by the reading's input.
    readings: Mutex<WorkingMemory<String, Uuid>>,
}

impl Repeats {
    /// What to tell the model instead of the text that a Read with this input has returned, if it has that already.
    /// `find` looks for a message in the thread.
    pub fn instead_of(
        &self,
        text: &str,
        input: &str,
        find: impl FnOnce(Uuid) -> Option<Arc<Message>>,
        now: Instant,
    ) -> Option<String> {
        let place = self.take(input, now)?;
        let message = find(place)?;
        has_result(&message, text).then(|| SHOWN_ALREADY.to_owned())
    }

    /// The message has the whole text that a Read with this input has returned.
    pub fn shown(&self, input: String, message: Uuid, now: Instant) {
        self.lock().put(input, message, Priority::Normal, now);
    }

    /// Forgets what was idle for too long, and says how many that were.
    pub fn clean(&self, now: Instant, pressure: Pressure) -> usize {
        self.lock().clean(now, pressure)
    }

    pub fn statistics(&self) -> Statistics {
        self.lock().statistics()
    }

    fn take(&self, input: &str, now: Instant) -> Option<Uuid> {
        let mut readings = self.lock();
        let place = readings.get(input, now).copied();
        readings.forget(input);
        place
    }

    fn lock(&self) -> MutexGuard<'_, WorkingMemory<String, Uuid>> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn has_result(message: &Message, text: &str) -> bool {
    let Body::User { content } = &message.body else { return false };
    content.iter().any(|block| {
        matches!(block, Block::ToolResult { content: ResultContent::Text(there), .. } if there == text)
    })
}

#[cfg(test)]
mod tests {
    use conversation::Flags;
    use jiff::Timestamp;

    use super::*;

    fn result(text: &str) -> Arc<Message> {
        let block = Block::ToolResult {
            tool_use_id: "toolu_1".to_owned(),
            content: ResultContent::Text(text.to_owned()),
            is_error: false,
        };
        Arc::new(Message {
            uuid: Uuid::from_u128(1),
            parent: None,
            timestamp: Timestamp::UNIX_EPOCH,
            flags: Flags::default(),
            body: Body::User { content: vec![block] },
        })
    }

    #[test]
    fn an_unchanged_file_is_shown_once_and_whole_again_when_asked_for_again() {
        let (repeats, now) = (Repeats::default(), Instant::now());
        let find = |uuid: Uuid| (uuid == Uuid::from_u128(1)).then(|| result("text"));
        assert_eq!(repeats.instead_of("text", "a", find, now), None);
        repeats.shown("a".to_owned(), Uuid::from_u128(1), now);
        assert_eq!(repeats.instead_of("text", "a", find, now).as_deref(), Some(SHOWN_ALREADY));
        assert_eq!(repeats.instead_of("text", "a", find, now), None);
        assert_eq!((repeats.statistics().hits, repeats.statistics().misses), (1, 2));
    }

    #[test]
    fn only_the_very_text_that_is_still_in_the_thread_counts() {
        let (repeats, now) = (Repeats::default(), Instant::now());
        for (there, wanted, input) in [
            (Some(result("text")), "changed", "a"),
            (Some(result("text")), "text", "another file"),
            (None, "text", "a"),
        ] {
            repeats.shown("a".to_owned(), Uuid::from_u128(1), now);
            assert_eq!(repeats.instead_of(wanted, input, |_| there, now), None);
        }
    }
}
