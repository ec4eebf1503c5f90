//! What the stages decide: each decision is a record in the transcript, and what is sent is a fold of them
//! ([`Projection`](crate::Projection)). The thread itself is never edited.
//!
//! "Stored as the exact text sent, and replayed": an event holds every word it puts into a request.

use std::{collections::HashSet, path::PathBuf, sync::Arc};

use conversation::Message;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A decision, when it was made, and its line in the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    pub at: Timestamp,
    /// The last message of the thread when it was decided. A thread without this message knows nothing of the
    /// decision: a rewind to before it takes it back.
    pub after: Option<Uuid>,
    #[serde(flatten)]
    pub event: Event,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<Entry>,
}

/// What a stage decided, before it is recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub event: Event,
    pub entry: Option<Entry>,
}

impl Change {
    pub fn recorded(self, at: Timestamp, after: Option<Uuid>) -> Recorded {
        Recorded { at, after, event: self.event, entry: self.entry }
    }

    pub(crate) fn tokens_freed(&self) -> u64 {
        self.entry.as_ref().map_or(0, |entry| entry.tokens_freed)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// Results went to the disk.
    Stored {
        results: Vec<Replacement>,
    },
    /// Messages left the request. `removed` adds to what was removed before; the marker stands for all of it.
    Snipped {
        removed: Vec<Uuid>,
        marker: String,
    },
    /// Results were emptied. Everything that was deleted by cache edits is among them.
    Cleared {
        results: Vec<ResultRef>,
    },
    /// Results are deleted in the provider's cache; repeated with every request from now on.
    CacheEdits {
        deleted: Vec<ResultRef>,
    },
    /// A span that a summary will stand for; both ends belong to it.
    Staged {
        first: Uuid,
        last: Uuid,
    },
    /// Its summary, not used yet.
    Summarised {
        first: Uuid,
        last: Uuid,
        summary: String,
    },
    /// The span has left the request, with every message in it. `summary` is the whole text sent instead.
    Collapsed {
        first: Uuid,
        last: Uuid,
        messages: Vec<Uuid>,
        summary: String,
    },
    /// The images and documents of these messages are no longer sent.
    MediaDropped {
        messages: Vec<Uuid>,
    },
    /// The session's notes cover the conversation up to this message.
    Notes {
        upto: Uuid,
    },
    /// What is worth a memory was taken out of the conversation up to this message.
    Extracted {
        upto: Uuid,
    },
    /// A skill was invoked.
    Skill {
        name: String,
        text: String,
    },
    Compacted(CompactionRecord),
    /// Nothing but a line in the ledger.
    Remark,
}

impl Event {
    /// What it says about these messages alone; `None` if that is nothing, or if it says nothing about messages.
    fn about(&self, messages: &HashSet<Uuid>) -> Option<Self> {
        let has = |message: &Uuid| messages.contains(message);
        let these = |ids: &[Uuid]| some(ids.iter().copied().filter(has).collect());
        let of_these =
            |results: &[ResultRef]| some(results.iter().filter(|it| has(&it.message)).cloned().collect());
        Some(match self {
            Self::Stored { results } => {
                let results = some(results.iter().filter(|it| has(&it.message)).cloned().collect())?;
                Self::Stored { results }
            }
            Self::Snipped { removed, marker } => {
                Self::Snipped { removed: these(removed)?, marker: marker.clone() }
            }
            Self::Cleared { results } => Self::Cleared { results: of_these(results)? },
            Self::CacheEdits { deleted } => Self::CacheEdits { deleted: of_these(deleted)? },
            Self::MediaDropped { messages } => Self::MediaDropped { messages: these(messages)? },
            Self::Staged { first, last } | Self::Summarised { first, last, .. }
                if has(first) && has(last) =>
            {
                self.clone()
            }
            // A part of a span has no summary.
            Self::Collapsed { messages, .. } if messages.iter().all(has) => self.clone(),
            Self::Notes { upto } | Self::Extracted { upto } if has(upto) => self.clone(),
            Self::Staged { .. }
            | Self::Summarised { .. }
            | Self::Collapsed { .. }
            | Self::Notes { .. }
            | Self::Extracted { .. }
            | Self::Skill { .. }
            | Self::Compacted(_)
            | Self::Remark => return None,
        })
    }
}

/// What holds in a thread about messages that stay when it is cut short behind them: decided once more, after a message
/// that stays too. In the ledger it is already.
pub fn carried(
    events: &[Recorded],
    thread: &[Arc<Message>],
    kept: &[Arc<Message>],
    after: Uuid,
) -> Vec<Recorded> {
    let ids = |messages: &[Arc<Message>]| messages.iter().map(|message| message.uuid).collect::<HashSet<_>>();
    let (thread, kept) = (ids(thread), ids(kept));
    let holds = |recorded: &&Recorded| recorded.after.is_none_or(|after| thread.contains(&after));
    let carry = |recorded: &Recorded| {
        let event = recorded.event.about(&kept)?;
        Some(Recorded { at: recorded.at, after: Some(after), event, entry: None })
    };
    events.iter().filter(holds).filter_map(carry).collect()
}

fn some<T>(items: Vec<T>) -> Option<Vec<T>> {
    (!items.is_empty()).then_some(items)
}

/// One result of one message. Some servers number the calls of each response anew: the id alone names nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultRef {
    pub message: Uuid,
    pub tool_use_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Replacement {
    pub message: Uuid,
    pub tool_use_id: String,
    /// Exactly what is sent.
    pub text: String,
    /// Where the whole result is.
    pub path: PathBuf,
}

/// The names of the layers in the ledger.
pub mod layer {
    pub const STORAGE: &str = "storage";
    pub const SNIP: &str = "snip";
    pub const MICROCOMPACT: &str = "microcompact";
    pub const CACHE_EDITS: &str = "cacheEdits";
    pub const COLLAPSE: &str = "collapse";
    pub const SESSION_MEMORY: &str = "sessionMemory";
    pub const FULL: &str = "full";
    pub const PARTIAL: &str = "partial";
    pub const REACTIVE: &str = "reactive";
}

/// A line of the ledger: what changed in the request, in words for the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub layer: String,
    pub detail: String,
    /// How many were touched.
    pub messages: u64,
    pub tokens_freed: u64,
    /// Whether the provider's cache still fits what is sent.
    pub cache_kept: bool,
    /// Where the original is: a path, or the id of the first message that was touched, to ask for it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionRecord {
    pub layer: String,
    pub trigger: Trigger,
    pub messages: u64,
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// Of the summary; `None` where no model wrote one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Trigger {
    Auto,
    Manual,
    Reactive,
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn an_event_is_one_flat_record_and_comes_back_as_it_was() {
        let recorded = Recorded {
            at: Timestamp::from_second(1_750_000_000).unwrap(),
            after: Some(Uuid::from_u128(7)),
            event: Event::Stored {
                results: vec![Replacement {
                    message: Uuid::from_u128(7),
                    tool_use_id: "t1".to_owned(),
                    text: "short".to_owned(),
                    path: "/r/t1.txt".into(),
                }],
            },
            entry: Some(Entry { layer: "storage".to_owned(), tokens_freed: 12, ..Entry::default() }),
        };
        let line = serde_json::to_string(&recorded).unwrap();
        expect![[r#"{"at":"2025-06-15T15:06:40Z","after":"00000000-0000-0000-0000-000000000007","event":"stored","results":[{"message":"00000000-0000-0000-0000-000000000007","toolUseId":"t1","text":"short","path":"/r/t1.txt"}],"entry":{"layer":"storage","detail":"","messages":0,"tokensFreed":12,"cacheKept":false}}"#]]
        .assert_eq(&line);
        assert_eq!(serde_json::from_str::<Recorded>(&line).unwrap(), recorded);
    }

    #[test]
    fn compactions_and_remarks_are_flat_too() {
        let record = CompactionRecord {
            layer: "full".to_owned(),
            trigger: Trigger::Auto,
            messages: 40,
            tokens_before: 170_000,
            tokens_after: 9_000,
            score: Some(1.0),
        };
        for event in [Event::Compacted(record), Event::Remark, Event::Notes { upto: Uuid::nil() }] {
            let recorded = Recorded { at: Timestamp::UNIX_EPOCH, after: None, event, entry: None };
            let line = serde_json::to_string(&recorded).unwrap();
            assert_eq!(serde_json::from_str::<Recorded>(&line).unwrap(), recorded, "{line}");
        }
    }
}
