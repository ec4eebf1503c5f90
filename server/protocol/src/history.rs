//! What was said before: branches, forks, rewinding, exporting and searching.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One way a conversation went: rewinding and editing an earlier prompt begins another, and loses none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Branch {
    /// Its last message: what `reverie/session/resume` takes as `messageUuid` to go on there.
    pub message_uuid: String,
    /// The prompt by which it differs from the others.
    pub first_prompt: String,
    pub messages: u64,
    /// When its last message came, in RFC 3339.
    pub updated_at: String,
    /// Whether this is the one that was resumed.
    pub current: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkSessionParams {
    pub session_id: String,
    /// The last message that the fork shares; all of them if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_uuid: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkSessionResult {
    /// The new session, open.
    pub session_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RewindSessionParams {
    pub session_id: String,
    /// A prompt of the user: the conversation goes back to before it was said.
    pub message_uuid: String,
    /// Whether files go back to what they were then; they do unless this is `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore_files: Option<bool>,
    /// Whether files that somebody else has changed since go back too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RewindSessionResult {
    /// The files that are as they were, absolute.
    pub restored: Vec<String>,
    /// The files that were left alone, each with the reason.
    pub kept: Vec<KeptFile>,
    /// The text of the prompt that was taken back, to edit and send again.
    pub prompt: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptFile {
    /// Absolute.
    pub path: String,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportSessionParams {
    pub session_id: String,
    #[serde(default)]
    pub format: ExportFormat,
    /// A file to write to, absolute; it must not exist. Without it the text is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExportFormat {
    /// For people: prompts, answers, what the tools did.
    #[default]
    Markdown,
    /// For programs: every message as the transcript has it.
    Json,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportSessionResult {
    /// Absent if it was written to a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The file that was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchSessionsParams {
    /// Words that must all occur, in any order; `"in quotes"` for a phrase. Empty: whatever fits the rest.
    pub query: String,
    /// Only what was said at or after this time, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only what was said at or before this time, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<SearchRole>,
    /// Only this session, whatever project it is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Only this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_uuid: Option<String>,
    /// Only what answers this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_uuid: Option<String>,
    /// Whether the sessions of all projects are searched, not only those of the workspace.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// The most hits to return; 20 if absent, and never more than 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Who said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SearchRole {
    User,
    Assistant,
    /// What a tool returned.
    Tool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchSessionsResult {
    /// Newest first.
    pub hits: Vec<SearchHit>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    pub session_id: String,
    pub message_uuid: String,
    pub role: SearchRole,
    /// When it was said, in RFC 3339.
    pub timestamp: String,
    /// The place in one line.
    pub snippet: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigureSessionParams {
    pub session_id: String,
    /// `provider/model` or a model's name, from the next turn on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The permission mode: `default`, `acceptEdits`, `plan`; at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}
