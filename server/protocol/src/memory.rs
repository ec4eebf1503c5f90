//! What is remembered: seen, searched, changed, explained, taken back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::position::Range;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListMemoriesParams {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListMemoriesResult {
    /// The memory directory, absolute.
    pub dir: String,
    /// In the order of their paths.
    pub memories: Vec<Memory>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// Absolute.
    pub path: String,
    pub name: String,
    pub description: String,
    /// `user`, `feedback`, `project` or `reference`; null if the file says none of these.
    pub r#type: Option<String>,
    pub scope: MemoryScope,
    /// RFC 3339.
    pub modified_at: String,
    /// It names files that are not there any more.
    pub stale: bool,
    /// How often it was recalled.
    #[serde(default)]
    pub recalled: u32,
    /// How often an answer named it.
    #[serde(default)]
    pub cited: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MemoryScope {
    Private,
    Team,
    Agent,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadMemoryParams {
    /// Absolute, or relative to the memory directory.
    pub path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadMemoryResult {
    pub content: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WriteMemoryParams {
    /// Absolute, or relative to the memory directory.
    pub path: String,
    pub content: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WriteMemoryResult {
    /// Absolute.
    pub path: String,
    /// For `reverie/memory/undo`, with `together`; absent if everything was as it should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeleteMemoryParams {
    /// Absolute, or relative to the memory directory.
    pub path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteMemoryResult {
    /// For `reverie/memory/undo`, with `together`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchMemoryParams {
    pub query: String,
    /// 10 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchMemoryResult {
    /// Best first.
    pub hits: Vec<MemoryHit>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryHit {
    /// Absolute.
    pub path: String,
    pub score: f64,
    pub snippet: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainMemoryParams {
    pub session_id: String,
    /// The last turn that recalled something, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// What would be recalled for this text now, instead of what was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainMemoryResult {
    /// Best first.
    pub candidates: Vec<MemoryCandidate>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryCandidate {
    /// Absolute.
    pub path: String,
    pub score: f64,
    pub decision: RecallDecision,
    /// In words, with the parts of the score.
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RecallDecision {
    Recalled,
    /// Shown or read before.
    Filtered,
    NotSelected,
    OverBudget,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryHistoryParams {
    /// Of one file; absolute, or relative to the memory directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// 50 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only this change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_id: Option<String>,
    /// Whether the whole texts are wanted too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contents: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryHistoryResult {
    /// Newest first.
    pub changes: Vec<MemoryChange>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryChange {
    pub id: String,
    /// Absolute.
    pub path: String,
    /// RFC 3339.
    pub at: String,
    pub by: MemoryActor,
    pub why: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The message that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_uuid: Option<String>,
    /// A unified diff.
    pub diff: String,
    /// With `contents`: what the file was; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// With `contents`: what it became; absent where it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MemoryActor {
    Recall,
    Model,
    Extraction,
    Dream,
    User,
    Team,
}

/// One of `changeId`, `dreamId` and `since` says what to take back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoMemoryParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_id: Option<String>,
    /// With `changeId`: also all that was changed with it for the same reason, as a merge changes several files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub together: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dream_id: Option<String>,
    /// RFC 3339: all that was changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UndoMemoryResult {
    /// What is again as it was; absolute.
    pub undone: Vec<String>,
    /// What was changed since and therefore left alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<crate::KeptFile>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LintMemoryParams {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LintMemoryResult {
    pub findings: Vec<MemoryFinding>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryFinding {
    /// Absolute.
    pub path: String,
    /// From 1.
    pub line: u32,
    /// Stable: `dead-link`, `secret`, …
    pub code: String,
    pub message: String,
    /// What would mend it, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryEventParams {
    pub kind: MemoryEventKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    pub by: MemoryActor,
    pub files: Vec<MemoryEventFile>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MemoryEventKind {
    /// Shown to the model because of the user's message.
    Recalled,
    Saved,
    Updated,
    Deleted,
    Undone,
    /// It names files that are not there any more.
    Stale,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryEventFile {
    /// Absolute.
    pub path: String,
    pub name: String,
    pub r#type: Option<String>,
    pub reason: String,
    /// For `reverie/memory/undo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_id: Option<String>,
    /// A unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReloadInstructionsParams {
    pub session_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReloadInstructionsResult {
    /// What the session goes by from its next request on, in the order it is sent.
    pub files: Vec<InstructionFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstructionFile {
    /// Absolute.
    pub path: String,
    /// `managed`, `user`, `project` or `local`.
    pub memory_type: String,
    /// `session_start`, `nested_traversal`, `path_glob_match`, `include` or `compact`.
    pub load_reason: String,
}

/// Two memories that say the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MergeMemoriesParams {
    /// Goes; absolute, or relative to the memory directory.
    pub path: String,
    /// Stays, with what the other said besides.
    pub into: String,
}

/// Something to remember about a place in a file of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RememberPlaceParams {
    pub uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// What is to be remembered. Without it a memory is begun that names the place, and shown to be written
    /// (`window/showDocument`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenMemoriesParams {
    /// Absolute. Of several, the user chooses one.
    pub paths: Vec<String>,
}

/// What happened to memories, at the places of open documents that they speak of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryInlineParams {
    pub kind: MemoryEventKind,
    pub by: MemoryActor,
    pub places: Vec<MemoryPlace>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryPlace {
    /// Of an open document, as the client wrote it.
    pub uri: String,
    pub range: Range,
    /// To be shown behind the line for a while.
    pub text: String,
    /// The memory's; absolute.
    pub path: String,
    /// For `reverie/memory/undo`, where there is something to take back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_id: Option<String>,
}
