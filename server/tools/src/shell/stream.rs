//! Shows a command's output while it runs: in batches, never more than an editor can take.

use std::time::Duration;

use tokio::time::Instant;

use super::text;
use crate::tool::Progress;

const INTERVAL: Duration = Duration::from_millis(100);

/// What is shown at once; of more only the end is.
const BATCH_BYTES: usize = 4 * 1024;

pub(super) struct Stream {
    progress: Option<Progress>,
    pending: Vec<u8>,
    due: Instant,
}

impl Stream {
    pub(super) fn new(progress: Option<Progress>) -> Self {
        Self { progress, pending: Vec::new(), due: Instant::now() }
    }

    /// When [`Stream::show`] should be called; `None` while there is nothing to show.
    pub(super) fn due(&self) -> Option<Instant> {
        (self.pending.len() > text::incomplete_end(&self.pending)).then_some(self.due)
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.progress.is_none() {
            return;
        }
        self.pending.extend_from_slice(bytes.get(bytes.len().saturating_sub(BATCH_BYTES)..).unwrap_or(bytes));
        let surplus = self.pending.len().saturating_sub(BATCH_BYTES);
        self.pending.drain(..surplus);
    }

    /// Shows what has come, but for a character whose rest is still on its way.
    pub(super) fn show(&mut self) {
        let whole = self.pending.len() - text::incomplete_end(&self.pending);
        if let (Some(progress), Some(bytes)) = (&self.progress, self.pending.get(..whole))
            && !bytes.is_empty()
        {
            progress(text::readable(bytes));
        }
        self.pending.drain(..whole);
        self.due = Instant::now() + INTERVAL;
    }
}
