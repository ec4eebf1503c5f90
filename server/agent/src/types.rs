//! What goes into and comes out of the agent's methods.

use std::{path::PathBuf, sync::Arc};

use context::{Entry, ledger::History};
use conversation::{SessionId, Strategy, Usage};
use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;
use tools::Display;
use uuid::Uuid;
use workspace::{Range, Workspace};

use crate::{
    event::{ContextLevel, TodoItem, TurnId},
    faults::Faults,
    frontend::Frontend,
};

#[derive(Debug, Error)]
pub enum AgentError {
    /// No such session, here or on disk.
    #[error("there is no session {0}")]
    UnknownSession(String),
    /// The request cannot be carried out as it is; the text says what to change.
    #[error("{0}")]
    Invalid(String),
    /// The disk, or another process, is in the way; the text says how.
    #[error("{0}")]
    Unavailable(String),
}

pub struct Dependencies {
    pub environment: settings::Environment,
    pub workspace: Workspace,
    pub frontend: Arc<dyn Frontend>,
    /// What the command line set; stronger than any file but the managed one.
    pub command_line_settings: Option<Value>,
    pub faults: Faults,
}

#[derive(Clone, Debug, Default)]
pub struct NewSession {
    pub cwd: Option<PathBuf>,
    pub model: Option<String>,
    pub mode: Option<String>,
    pub title: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Prompt {
    pub parts: Vec<PromptPart>,
    pub active_file: Option<PathBuf>,
    pub selection: Option<Range>,
}

#[derive(Clone, Debug)]
pub enum PromptPart {
    Text(String),
    Mention { path: PathBuf, range: Option<Range> },
    Image { media_type: String, data: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub turn: TurnId,
    pub queued: bool,
}

#[derive(Clone, Debug)]
pub struct ContextReport {
    pub window: u64,
    pub used: u64,
    pub level: ContextLevel,
    /// Compaction begins above it.
    pub threshold: u64,
    /// Until then, of what fits until then.
    pub percent_left: u64,
    pub next_step: &'static str,
    pub parts: Vec<(String, u64)>,
    /// Every change so far, oldest first.
    pub ledger: Vec<(Timestamp, Entry)>,
    /// The last compactions.
    pub compactions: History,
    /// Whether the last compaction can still be taken back.
    pub can_uncompact: bool,
    /// What was spent, by who asked.
    pub sources: Vec<SourceCost>,
    pub notes: Option<SessionNotes>,
}

/// The notes that a session keeps about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionNotes {
    pub path: PathBuf,
    /// The last message that they cover, if it is known.
    pub upto: Option<Uuid>,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug)]
pub struct SourceCost {
    pub source: String,
    pub usage: Usage,
    /// The share of its input that came from the cache.
    pub cache_hit_rate: f64,
    pub cost_usd: f64,
}

/// The full text behind a piece of the conversation that is not sent as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    pub text: String,
    /// The file that has it.
    pub path: PathBuf,
}

#[derive(Clone, Debug)]
pub struct ModelInfo {
    /// `provider/model`, as the setting takes it.
    pub id: String,
    pub name: String,
    pub context_window: u64,
    pub max_output_tokens: u64,
    /// Whether a key or server for it is configured.
    pub available: bool,
    /// What a new session uses.
    pub default: bool,
}

#[derive(Clone, Debug)]
pub struct SettingValue {
    pub key: String,
    pub value: Value,
    /// `default`, or the file or place that set it.
    pub source: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckStatus {
    Ok,
    Warning,
    Failed,
}

#[derive(Clone, Debug)]
pub struct Check {
    pub name: String,
    pub status: CheckStatus,
    pub detail: String,
    /// What the user can do about it.
    pub fix: Option<String>,
}

/// Whose sessions are looked through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Those of the workspace's projects.
    #[default]
    Workspace,
    /// Those of all projects.
    Everywhere,
}

#[derive(Clone, Debug)]
pub struct SessionSummary {
    pub id: SessionId,
    pub title: String,
    pub first_prompt: String,
    pub updated_at: Timestamp,
    pub bytes: u64,
    pub cost_usd: Option<f64>,
    pub cwd: Option<PathBuf>,
    /// How many ways it went, where that is known.
    pub branches: Option<usize>,
    pub forked_from: Option<SessionId>,
}

#[derive(Clone, Debug)]
pub struct SessionPage {
    pub sessions: Vec<SessionSummary>,
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug)]
pub struct ShownMessage {
    pub uuid: uuid::Uuid,
    pub role: ShownRole,
    pub kind: ShownKind,
    pub text: String,
    pub timestamp: Timestamp,
    pub detail: Option<ShownDetail>,
}

/// What a view needs besides the text.
#[derive(Clone, Debug)]
pub enum ShownDetail {
    Call {
        id: String,
        tool: String,
        input: Value,
    },
    Result {
        id: String,
        ok: bool,
        display: Display,
    },
    /// A memory that was put beside the prompt.
    Recalled {
        path: PathBuf,
    },
    /// A file or folder that the user mentioned.
    Mentioned {
        path: PathBuf,
        /// The first and the last, from 1; `None` for all of it.
        lines: Option<(u32, u32)>,
    },
}

/// How a session stands, besides what was said in it.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Empty where it has none.
    pub title: String,
    /// `provider/model`; `None` where none can be had.
    pub model: Option<String>,
    pub mode: &'static str,
    pub todos: Vec<TodoItem>,
    /// The turn that runs.
    pub turn: Option<TurnId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownRole {
    User,
    Assistant,
    System,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownKind {
    Text,
    Thinking,
    ToolUse,
    ToolResult,
    Attachment,
    Notice,
}

#[derive(Clone, Debug)]
pub struct Resumed {
    pub id: SessionId,
    pub strategy: Strategy,
    pub messages: Vec<ShownMessage>,
    pub repairs: Vec<String>,
    /// Empty where the conversation went one way only.
    pub branches: Vec<conversation::Branch>,
    /// The last message before the compaction that the conversation begins with.
    pub before: Option<Uuid>,
}

/// What was said before a compaction.
#[derive(Clone, Debug)]
pub struct Earlier {
    pub messages: Vec<ShownMessage>,
    /// As of a resumed session.
    pub before: Option<Uuid>,
}

/// What a rewind did.
#[derive(Clone, Debug, Default)]
pub struct Rewound {
    pub restored: Vec<PathBuf>,
    /// Left alone, and why.
    pub kept: Vec<(PathBuf, String)>,
    /// The words that were taken back.
    pub prompt: String,
}

/// What a prompt may begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlashCommand {
    pub name: String,
    pub description: String,
    pub argument_hint: Option<String>,
    pub source: CommandSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandSource {
    BuiltIn,
    User,
    Project,
}

/// What was thought about a message: every memory that was looked at, and what became of it.
#[derive(Clone, Debug)]
pub struct RecallReport {
    pub turn: TurnId,
    pub query: String,
    pub candidates: Vec<Recalled>,
}

#[derive(Clone, Debug)]
pub struct Recalled {
    pub path: PathBuf,
    pub score: f64,
    pub decision: memory::recall::Decision,
    pub reason: String,
}

/// A file of instructions that a session goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionFile {
    pub path: PathBuf,
    /// `managed`, `user`, `project` or `local`.
    pub source: String,
    /// Why it was loaded: `session_start`, `include`, …
    pub reason: String,
}
