//! What was freed since the provider last told how large the context is.

use std::{collections::HashMap, sync::Arc};

use conversation::{Body, COMPACT_BOUNDARY, Message, SYNTHETIC_MODEL};
use uuid::Uuid;

use crate::event::{Event, Recorded, ResultRef};

/// What one event has freed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Freed {
    after: Option<Uuid>,
    /// What it touched: of what has left the thread, nothing is counted any more.
    messages: Vec<Uuid>,
    tokens: u64,
    /// A compaction takes the event back.
    pub(super) ends_with_compaction: bool,
}

impl Freed {
    pub(super) fn by(recorded: &Recorded) -> Option<Self> {
        let tokens = recorded.entry.as_ref()?.tokens_freed;
        let of_results = |results: &[ResultRef]| results.iter().map(|result| result.message).collect();
        let messages = match &recorded.event {
            Event::Stored { results } => results.iter().map(|result| result.message).collect(),
            Event::Snipped { removed, .. } => removed.clone(),
            Event::Cleared { results } => of_results(results),
            Event::CacheEdits { deleted } => of_results(deleted),
            Event::Collapsed { messages, .. } | Event::MediaDropped { messages } => messages.clone(),
            // What a compaction freed is not in the thread any more, and the others free nothing.
            Event::Staged { .. }
            | Event::Summarised { .. }
            | Event::Notes { .. }
            | Event::Extracted { .. }
            | Event::Skill { .. }
            | Event::Compacted(_)
            | Event::Remark => return None,
        };
        let ends_with_compaction =
            matches!(recorded.event, Event::CacheEdits { .. } | Event::Collapsed { .. });
        (tokens > 0).then_some(Self { after: recorded.after, messages, tokens, ends_with_compaction })
    }
}

pub(super) fn since_last_report(freed: &[Freed], thread: &[Arc<Message>]) -> u64 {
    if freed.is_empty() {
        return 0;
    }
    let places: HashMap<Uuid, usize> =
        thread.iter().enumerate().map(|(at, message)| (message.uuid, at)).collect();
    let reported = last_reported(thread);
    let counts = |freed: &&Freed| {
        let is_later = match (freed.after, reported) {
            (None, reported) => reported.is_none(),
            (Some(after), reported) => places.get(&after).is_some_and(|after| Some(*after) >= reported),
        };
        is_later && freed.messages.iter().all(|message| places.contains_key(message))
    };
    freed.iter().filter(counts).map(|freed| freed.tokens).sum()
}

/// Where the last response is that tells the size of the context. One from before a compaction tells the old size.
fn last_reported(thread: &[Arc<Message>]) -> Option<usize> {
    let compacted_at = thread.first().and_then(|first| match &first.body {
        Body::System { subtype, .. } if subtype == COMPACT_BOUNDARY => Some(first.timestamp),
        _ => None,
    });
    thread.iter().rposition(|message| match &message.body {
        Body::Assistant { model, usage: Some(usage), .. } => {
            model != SYNTHETIC_MODEL
                && usage.context_tokens() > 0
                && compacted_at.is_none_or(|boundary| message.timestamp >= boundary)
        }
        _ => false,
    })
}
