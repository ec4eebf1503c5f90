//! What fills the context window, and what changed it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{session::ProgressToken, update::Usage};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextReportParams {
    pub session_id: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextReportResult {
    /// The model's context window, in tokens.
    pub window: u64,
    /// How much of it the next request would use.
    pub used: u64,
    pub level: ContextLevel,
    /// What uses it, by kind.
    pub parts: Vec<ContextPart>,
    /// Every change to the context so far, oldest first.
    pub ledger: Vec<ContextChange>,
    /// Above so many tokens the conversation is compacted by itself.
    pub threshold: u64,
    /// How much is left until then, in percent of the threshold.
    pub percent_left: u64,
    /// What happens next, in words.
    pub next_step: String,
    pub compactions: Compactions,
    /// Whether `reverie/session/uncompact` can take the last compaction back.
    pub can_uncompact: bool,
    /// What was spent, by who asked.
    pub sources: Vec<SourceCost>,
    /// Absent where the session has none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<SessionNotes>,
}

/// The notes that a session keeps about itself, for compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionNotes {
    /// The file, absolute.
    pub path: String,
    /// The last message that they cover; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upto: Option<String>,
    /// When they were last written, in RFC 3339.
    pub updated_at: String,
}

/// The last ten compactions, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Compactions {
    pub list: Vec<PastCompaction>,
    pub tokens_saved: u64,
    /// Absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_ratio: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PastCompaction {
    pub layer: String,
    pub trigger: CompactTrigger,
    /// How many messages it stands for.
    pub messages: u64,
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// Tokens before for each token after.
    pub ratio: f64,
    /// The share of the nine sections that the summary has; absent where no model wrote one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// Why a conversation was compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompactTrigger {
    Auto,
    Manual,
    /// A request was too long.
    Reactive,
}

/// What one kind of request has cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceCost {
    /// `main`, `compact`, `recall`, …
    pub source: String,
    pub usage: Usage,
    /// The share of its input that came from the cache, 0 to 1.
    pub cache_hit_rate: f64,
    pub cost_usd: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextOriginalParams {
    pub session_id: String,
    /// Of a tool call, of a message, or `original` of a line of the ledger.
    pub id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextOriginalResult {
    pub text: String,
    /// The file that has it, absolute.
    pub path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextLayoutParams {
    pub session_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextLayoutResult {
    /// One for each tool, block of the system prompt and block of a message; ◆ marks where the cache is written.
    pub lines: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactSessionParams {
    pub session_id: String,
    /// `auto` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<CompactMode>,
    /// What the summary has to mind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// For `from` and `upTo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_uuid: Option<String>,
    /// Only shows what it would be; the same request without it then takes the summary that was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_done_token: Option<ProgressToken>,
}

/// What of a conversation is replaced by a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompactMode {
    /// By the session's notes if they will do, else as `full`.
    Auto,
    Full,
    /// By the session's notes; the newest messages stay.
    SessionMemory,
    /// A message and what follows it.
    From,
    /// What comes before a message.
    UpTo,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactSessionResult {
    /// What was done: `full`, `sessionMemory`, `from`, `upTo`.
    pub layer: String,
    pub tokens_before: u64,
    pub tokens_after: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UncompactSessionParams {
    pub session_id: String,
}

/// How full the window is, by share of the effective window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ContextLevel {
    Normal,
    Warning,
    Error,
    Critical,
}

/// One kind of content in the window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextPart {
    pub name: String,
    pub tokens: u64,
}

/// One change that a layer made to the context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextChange {
    /// When, in RFC 3339.
    pub at: String,
    pub layer: String,
    pub detail: String,
    /// How many messages it touched.
    pub messages: u64,
    pub tokens_freed: u64,
    pub cache: CacheEffect,
    /// Where the original is: a file, or an id for `reverie/context/original`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
}

/// Whether the provider's prompt cache survived a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CacheEffect {
    Kept,
    Broken,
}
