//! What comes back: events in the order of the Messages API, whatever provider they come from.

use std::{fmt, time::Duration};

use conversation::{Block, StopReason, Usage};
use futures_util::stream::BoxStream;
use serde_json::Value;
use thiserror::Error;

pub type EventStream = BoxStream<'static, Result<Event, ModelError>>;

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Always first.
    Started {
        id: String,
        model: String,
        usage: Usage,
    },
    /// `block` as it starts: empty text, or a tool call with its name and without its input.
    BlockStarted {
        index: usize,
        block: Block,
    },
    BlockDelta {
        index: usize,
        delta: Delta,
    },
    BlockFinished {
        index: usize,
    },
    /// Always last. A stream that ends without it was cut and yields [`ModelError::Transient`] instead.
    /// `usage` is the whole response's; `applied` what the provider left out of the conversation, as it was asked to.
    Finished {
        stop_reason: StopReason,
        usage: Usage,
        applied: Vec<AppliedEdit>,
    },
}

/// What came of a part of [`ContextEdits`](crate::ContextEdits).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppliedEdit {
    ClearedToolUses { tool_uses: u64, input_tokens: u64 },
    ClearedThinking { turns: u64, input_tokens: u64 },
}

impl AppliedEdit {
    pub fn tokens_freed(&self) -> u64 {
        match self {
            Self::ClearedToolUses { input_tokens, .. } | Self::ClearedThinking { input_tokens, .. } => {
                *input_tokens
            }
        }
    }

    /// Calls or turns.
    pub fn count(&self) -> u64 {
        match self {
            Self::ClearedToolUses { tool_uses: count, .. } | Self::ClearedThinking { turns: count, .. } => {
                *count
            }
        }
    }
}

impl fmt::Display for AppliedEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::ClearedToolUses { .. } => "results of old tool calls",
            Self::ClearedThinking { .. } => "turns of thinking",
        };
        write!(f, "the provider has left out {} {what}", self.count())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    Text(String),
    Thinking(String),
    Signature(String),
    /// A piece of a tool's input; the input is complete when its block is finished.
    InputJson(String),
    /// Where the text before it comes from, as the provider says it: `url`, `title`, `cited_text`. For showing.
    Citation(Value),
}

#[derive(Clone, Debug, Error)]
pub enum ModelError {
    /// Try again, with backoff; what was streamed so far is void.
    #[error("{message}")]
    Transient { kind: Transient, message: String, retry_after: Option<Duration> },
    /// The request does not fit; make it smaller. `over_by` tokens, where the provider says so.
    #[error("{message}")]
    TooLong { message: String, over_by: Option<u64> },
    /// An image or a PDF is too large; send the request without it.
    #[error("{message}")]
    MediaTooLarge { message: String },
    /// The server does not know a field that not all have. Leave it out from now on, and ask again.
    #[error("{message}")]
    Unsupported { field: Field, message: String },
    /// Tell the user, in these words; trying again changes nothing. `code` is stable, for clients and tests:
    /// `auth`, `forbidden`, `model_not_found`, `bad_request`, `no_credit`, `protocol`.
    #[error("{message}")]
    Fatal { code: &'static str, message: String },
}

/// A part of [`ContextEdits`](crate::ContextEdits) that a server refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `clear_tool_uses` and `clear_thinking`.
    ContextManagement,
    /// `clear_thinking` alone: the model does not think, or not for us.
    ClearThinking,
    /// `cache_deletions`.
    CacheEdits,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ContextManagement => "context_management",
            Self::ClearThinking => "context_management for thinking",
            Self::CacheEdits => "cache_edits",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transient {
    /// 529 and its like: a second model may be asked instead.
    Overloaded,
    RateLimited,
    ServerError,
    Network,
    /// Nobody listens at the address: it is wrong, or a server was not started. Worth a few tries, not many.
    Refused,
    /// The stream ended early or made no sense.
    BrokenStream,
    /// Nothing arrived for too long.
    Stalled,
}
