//! Watches the prompt cache: what a request leaves there, the next one should find. Where it does not, something in
//! front of the conversation's end has changed, and here is said what.
//!
//! Pure: the clock comes in. One watch follows one conversation, request by request; a request of another kind (a side
//! query, a fork) passes unseen. What was sent is kept as hashes (see `fingerprint`), for a resumed session in a form
//! of about a kilobyte (see `kept`).

mod cause;
mod diff;
mod fingerprint;
mod kept;

use std::{sync::Arc, time::Duration};

use conversation::Usage;
use jiff::Timestamp;
use serde_json::Value;

use self::kept::{Kept, Place};
pub use self::{
    cause::{Break, Cause},
    fingerprint::Fingerprint,
};
use crate::{QuerySource, Request, SystemBlock, ToolDefinition};

/// "5 min or 1 h": our breakpoints ask for the shorter one, which is also the default.
const LIFETIME: Duration = Duration::from_secs(5 * 60);

/// "Unless a break was announced (…, > 1 h idle)": after so long nobody expects anything to be there.
const FORGOTTEN: Duration = Duration::from_secs(60 * 60);

/// "Falls below the expectation by more than 5 % and 2,000 tokens."
const TOLERATED_SHARE: u64 = 20;
const TOLERATED_TOKENS: u64 = 2_000;

#[derive(Debug, Default)]
pub struct CacheWatch {
    /// That of the first request.
    kind: Option<QuerySource>,
    known: Option<Known>,
    pending: Option<Sent>,
    announced: bool,
}

/// The last request that was answered, and what it left in the cache.
#[derive(Debug)]
struct Known {
    sent: Sent,
    /// Of a resumed session, in place of the blocks.
    places: Vec<Place>,
    expected: u64,
}

#[derive(Debug)]
struct Sent {
    at: Timestamp,
    print: Fingerprint,
    /// For a diff; unknown after a resume. The handles cost nothing; of the messages there are only the heads.
    tools: Option<Arc<[ToolDefinition]>>,
    system: Option<Arc<[SystemBlock]>>,
}

impl CacheWatch {
    /// A request is about to be sent. One that failed, and is sent again, is noted again.
    pub fn before(&mut self, request: &Request, now: Timestamp) {
        if request.source.is_single() || self.kind.as_ref().is_some_and(|kind| *kind != request.source) {
            return;
        }
        self.kind.get_or_insert_with(|| request.source.clone());
        self.pending = Some(Sent {
            at: now,
            print: Fingerprint::of(request),
            tools: Some(Arc::clone(&request.tools)),
            system: Some(Arc::clone(&request.system)),
        });
    }

    /// The next miss is expected: something was changed on purpose.
    pub fn announce(&mut self) {
        self.announced = true;
    }

    /// What the provider counted for the request that [`before`](Self::before) noted.
    pub fn after(&mut self, usage: &Usage, now: Timestamp) -> Option<Break> {
        let sent = self.pending.take()?;
        let announced = std::mem::take(&mut self.announced);
        let (read, written) = (usage.cache_read_input_tokens, usage.cache_creation_input_tokens);
        let expected = read.saturating_add(written);
        let known = self.known.take();
        let found = known
            .filter(|known| !announced && is_missed(known.expected, read))
            .filter(|known| known.idle_before(&sent) <= FORGOTTEN)
            // Another provider, which does not count.
            .filter(|known| expected > 0 || known.sent.print.model == sent.print.model)
            .map(|known| known.broken_by(&sent, read, now));
        self.known = Some(Known { sent, places: Vec::new(), expected });
        found
    }

    /// What a resumed session needs to go on watching; null before the first answer.
    pub fn kept(&self) -> Value {
        let kept = self.known.as_ref().map(|known| Kept::of(known, self.announced));
        kept.and_then(|kept| serde_json::to_value(kept).ok()).unwrap_or_default()
    }

    /// Goes on where [`kept`](Self::kept) was taken. What cannot be read (another release wrote it) is a fresh start.
    pub fn restore(kept: Value) -> Self {
        let Ok(kept) = serde_json::from_value::<Kept>(kept) else { return Self::default() };
        Self { kind: None, announced: kept.announced, known: Some(kept.into_known()), pending: None }
    }
}

impl Known {
    fn broken_by(&self, sent: &Sent, read: u64, now: Timestamp) -> Break {
        let idle = self.idle_before(sent);
        let cause = if idle > LIFETIME {
            Cause::Expired { idle }
        } else {
            cause::find(self, &sent.print).unwrap_or(Cause::Unknown)
        };
        let diff = diff::of(&cause, &self.sent, sent);
        Break { at: now, expected: self.expected, read, cause, diff }
    }

    fn idle_before(&self, next: &Sent) -> Duration {
        Duration::try_from(next.at.duration_since(self.sent.at)).unwrap_or_default()
    }
}

fn is_missed(expected: u64, read: u64) -> bool {
    let missing = expected.saturating_sub(read);
    missing > TOLERATED_TOKENS && missing > expected / TOLERATED_SHARE
}

#[cfg(test)]
mod tests;
