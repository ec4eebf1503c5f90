//! What a session tells whoever watches it, in order.

use std::{path::PathBuf, sync::Arc, time::Duration};

use conversation::{Message, SessionId, Usage};
use serde_json::Value;
use tools::{Display, TodoStatus};
use uuid::Uuid;

use crate::history::is_prompt;

pub type TurnId = String;

#[derive(Clone, Debug, PartialEq)]
pub struct SessionEvent {
    pub session: SessionId,
    /// Absent outside turns.
    pub turn: Option<TurnId>,
    pub event: AgentEvent,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AgentEvent {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        text: String,
    },
    ToolStart {
        tool_use_id: String,
        tool: String,
        input: Value,
    },
    ToolProgress {
        tool_use_id: String,
        text: String,
    },
    ToolEnd {
        tool_use_id: String,
        ok: bool,
        display: Display,
    },
    Usage {
        usage: Usage,
        context_used: u64,
        context_window: u64,
        level: ContextLevel,
        /// Until the conversation is compacted, of what fits until then.
        percent_left: u64,
        next_step: &'static str,
        cache_hit_rate: f64,
        cost_usd: f64,
    },
    Context {
        layer: String,
        detail: String,
        tokens_freed: u64,
        cache_kept: bool,
        original: Option<String>,
    },
    /// A request failed and will be repeated. `discard`: something of its answer was shown, and is void.
    Retry {
        attempt: u32,
        delay: Duration,
        reason: String,
        discard: bool,
    },
    Notice {
        level: NoticeLevel,
        text: String,
    },
    Todo {
        items: Vec<TodoItem>,
    },
    /// The plan that was made in plan mode.
    Plan {
        text: String,
    },
    Title {
        title: String,
    },
    /// The prompt of this turn has joined the one that runs.
    Joined,
    /// What was said has led to another model or mode.
    Configured {
        model: Option<String>,
        mode: &'static str,
    },
    /// The last event of its turn.
    TurnEnd(TurnEnd),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextLevel {
    Normal,
    Warning,
    Error,
    Critical,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoItem {
    pub content: String,
    pub status: TodoStatus,
    pub active_form: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TurnEnd {
    pub stop: TurnStop,
    pub usage: Usage,
    /// `(code, message)`; the code is stable.
    pub error: Option<(String, String)>,
    /// Absent where the turn said nothing of its own.
    pub said: Option<Said>,
}

impl TurnEnd {
    /// Of a turn in which no model was asked.
    pub(crate) fn unasked(stop: TurnStop) -> Self {
        Self { stop, usage: Usage::default(), error: None, said: None }
    }
}

/// What of a conversation a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    pub prompt: Uuid,
    pub last: Uuid,
}

impl Said {
    /// Of the turn at the end of a thread.
    pub(crate) fn of(thread: &[Arc<Message>]) -> Option<Self> {
        let prompt = thread.iter().rev().find(|message| is_prompt(message))?;
        Some(Self { prompt: prompt.uuid, last: thread.last()?.uuid })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnStop {
    EndTurn,
    Cancelled,
    MaxRounds,
    Budget,
    Refused,
    Blocked,
    Error,
}

/// What happened to what is remembered.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryEvent {
    pub kind: MemoryEventKind,
    /// Absent where no session had to do with it.
    pub session: Option<SessionId>,
    pub turn: Option<TurnId>,
    pub by: MemoryActor,
    pub files: Vec<MemoryFile>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryEventKind {
    Recalled,
    Saved,
    Updated,
    Deleted,
    Undone,
    /// It names files that are not there any more.
    Stale,
}

/// Who did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryActor {
    Recall,
    Model,
    Extraction,
    Dream,
    User,
    Team,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MemoryFile {
    pub path: PathBuf,
    pub name: String,
    pub kind: Option<memory::Kind>,
    pub reason: String,
    /// What takes it back.
    pub change: Option<String>,
    pub diff: Option<String>,
}
