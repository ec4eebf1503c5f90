//! What a session tells the client while it works: `reverie/session/update`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::{CacheEffect, ContextLevel};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionUpdateParams {
    pub session_id: String,
    /// Absent outside turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Counts the session's updates from 0 without gaps, so that a client can tell that it missed one.
    pub seq: u64,
    pub update: Update,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Update {
    /// More of the answer.
    TextDelta { text: String },
    /// More of the model's thinking.
    ThinkingDelta { text: String },
    /// A tool call begins; it may ask for permission next.
    ToolStart { tool_use_id: String, tool: String, input: Value },
    /// More output of a running tool.
    ToolProgress { tool_use_id: String, text: String },
    /// A tool call ended.
    ToolEnd { tool_use_id: String, ok: bool, display: ToolDisplay },
    /// What the last response used and cost.
    Usage {
        usage: Usage,
        /// Tokens in the window now.
        context_used: u64,
        context_window: u64,
        level: ContextLevel,
        /// How much is left until the conversation is compacted, in percent of what fits until then.
        percent_left: u64,
        /// What happens next, in words.
        next_step: String,
        /// The share of the last request's input that came from the cache, 0 to 1.
        cache_hit_rate: f64,
        /// What the session cost so far.
        cost_usd: f64,
    },
    /// A layer changed the context.
    Context {
        layer: String,
        detail: String,
        tokens_freed: u64,
        cache: CacheEffect,
        /// Where the original is, as in the ledger.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        original: Option<String>,
    },
    /// A request failed and is repeated after a pause.
    Retry {
        /// Counts from 1.
        attempt: u32,
        delay_ms: u64,
        reason: String,
        /// Whether what was shown of the current answer is void and comes again.
        #[serde(default)]
        discard: bool,
    },
    /// Something the user should know.
    Notice { level: NoticeLevel, text: String },
    /// The whole todo list, as it is now.
    Todo { items: Vec<TodoItem> },
    /// The plan that the agent proposes, in Markdown.
    Plan { text: String },
    /// The session has a new title.
    Title { title: String },
    /// The last update of its turn.
    /// The prompt of this turn waited, and has joined the turn that runs.
    Joined {},
    /// The conversation itself has led to another model or mode: by an approved plan, or a command.
    Configured {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<String>,
    },
    TurnEnd {
        stop_reason: StopReason,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<TurnError>,
        /// The prompt that began the turn; absent where it joined another turn, and where nothing was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt_uuid: Option<String>,
        /// The last message of the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_uuid: Option<String>,
    },
}

/// How to show what a tool did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ToolDisplay {
    Text {
        text: String,
    },
    /// A change to one file.
    Diff {
        /// Absolute.
        path: String,
        /// A unified diff.
        diff: String,
    },
    Files {
        /// Absolute.
        paths: Vec<String>,
    },
    Terminal {
        command: String,
        output: String,
        /// Absent while it runs on, and after a signal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
    },
}

/// Tokens of one response, or a sum of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Input that was neither read from nor written to the cache.
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}

/// One line of the todo list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodoItem {
    pub content: String,
    pub status: TodoStatus,
    /// How to say it while it is under way: "running the tests".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
}

/// As the models write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    EndTurn,
    Cancelled,
    MaxRounds,
    Budget,
    Refused,
    Blocked,
    Error,
}

/// What went wrong in a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnError {
    /// Stable, for programs.
    pub code: String,
    /// For people.
    pub message: String,
}
