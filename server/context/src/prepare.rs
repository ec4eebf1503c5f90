//! What happens to a conversation before it is sent: the stages, in their order, each on what the ones before it
//! left.

use std::{borrow::Cow, sync::Arc};

use conversation::{Body, Message};
use jiff::Timestamp;

use crate::{
    collapse,
    event::Change,
    measure::Tokens,
    microcompact,
    projection::{Projection, Span},
    result_store, snip,
};
pub use crate::{
    microcompact::{CacheEdits, Clear},
    result_store::Shelf,
};

/// A conversation shorter than this is not compacted by itself.
const FEWEST_MESSAGES: usize = 10;

/// What may be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switches {
    pub storage: bool,
    /// For the results of one user message together, in characters.
    pub message_limit: usize,
    /// The budget, in tokens.
    pub snip: Option<u64>,
    pub clear: Option<Clear>,
    pub cache_edits: Option<CacheEdits>,
    pub collapse: bool,
    /// Off as well where only a refused request compacts, and after too many failures.
    pub auto_compact: bool,
}

pub struct Situation<'a> {
    pub thread: &'a [Arc<Message>],
    pub projection: &'a Projection,
    /// What the meter says, without what was freed since the last response.
    pub used: u64,
    /// The window without the reserve for output.
    pub effective: u64,
    /// Compaction starts above it.
    pub threshold: u64,
    pub switches: &'a Switches,
    pub now: Timestamp,
    pub tokens: Tokens<'a>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// To be recorded and applied, in this order.
    pub changes: Vec<Change>,
    /// After them.
    pub used: u64,
    pub gate: Gate,
}

/// What has to be done before the request can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Nothing.
    Open,
    Compact,
    /// These have to be summarised, and then [committed](collapse::commit).
    CollapseNow {
        staged: Vec<Span>,
    },
}

pub fn prepare(situation: &Situation<'_>, shelf: &mut dyn Shelf) -> Prepared {
    let Situation { thread, switches, tokens, now, effective, .. } = *situation;
    let mut state = State::new(situation);

    if switches.storage {
        state.take(result_store::store(thread, &state.projection, switches.message_limit, shelf, tokens));
    }
    if let Some(budget) = switches.snip {
        state.take(snip::snip(thread, &state.projection, state.used, budget, tokens));
    }
    let cleared =
        switches.clear.and_then(|clear| microcompact::clear(thread, &state.projection, clear, now, tokens));
    let deleted = match (&cleared, switches.cache_edits) {
        (None, Some(edits)) => microcompact::delete_in_cache(thread, &state.projection, edits, tokens),
        _ => None,
    };
    state.take(cleared.or(deleted));
    if switches.collapse {
        state.take(collapse::stage(thread, &state.projection, state.used, effective, tokens));
        if state.is_nearly_full(effective) {
            state.take(collapse::commit(&state.projection, thread, tokens));
        }
    }

    let gate = gate(situation, &state);
    Prepared { changes: state.changes, used: state.used, gate }
}

/// While spans are collapsed, they take the place of compaction, as long as there are any.
fn gate(situation: &Situation<'_>, state: &State<'_>) -> Gate {
    let switches = situation.switches;
    if switches.collapse {
        if !state.is_nearly_full(situation.effective) {
            return Gate::Open;
        }
        let staged = collapse::waiting(&state.projection, situation.thread);
        if !staged.is_empty() {
            return Gate::CollapseNow { staged };
        }
    }
    let heard = situation.thread.iter().filter(|message| !matches!(message.body, Body::System { .. }));
    match switches.auto_compact && state.used > situation.threshold && heard.count() >= FEWEST_MESSAGES {
        true => Gate::Compact,
        false => Gate::Open,
    }
}

/// What the stages have come to so far.
struct State<'a> {
    projection: Cow<'a, Projection>,
    used: u64,
    changes: Vec<Change>,
    now: Timestamp,
    thread: &'a [Arc<Message>],
}

impl<'a> State<'a> {
    fn new(situation: &Situation<'a>) -> Self {
        let Situation { projection, used, now, thread, .. } = *situation;
        Self { projection: Cow::Borrowed(projection), used, changes: Vec::new(), now, thread }
    }

    fn take(&mut self, changes: impl IntoIterator<Item = Change>) {
        let after = self.thread.last().map(|message| message.uuid);
        for change in changes {
            self.used = self.used.saturating_sub(change.tokens_freed());
            self.projection.to_mut().apply(&change.clone().recorded(self.now, after));
            self.changes.push(change);
        }
    }

    fn is_nearly_full(&self, effective: u64) -> bool {
        self.used >= effective * collapse::COMMIT_AT / 100
    }
}

#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod tests;
