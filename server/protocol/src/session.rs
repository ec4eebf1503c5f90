//! Sessions: making, finding, resuming, prompting and ending them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    history::Branch,
    memory::MemoryEventFile,
    position::Range,
    update::{TodoItem, ToolDisplay},
};

/// An object without fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Empty {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewSessionParams {
    /// The folder the session works in, absolute; the first workspace folder if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// `provider/model` or a model's name; the default model if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The permission mode: `default`, `acceptEdits`, `plan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewSessionResult {
    pub session_id: String,
    /// What answers in it, as `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its permission mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListSessionsParams {
    /// `nextCursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The most sessions to return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only sessions whose title or first prompt contains this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Whether the sessions of all projects are listed, not only those of the workspace.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListSessionsResult {
    /// Newest first.
    pub sessions: Vec<SessionSummary>,
    /// Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// What a list shows of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    pub session_id: String,
    pub title: String,
    pub first_prompt: String,
    /// When it last changed, in RFC 3339.
    pub updated_at: String,
    /// The size of its transcript.
    pub bytes: u64,
    /// What it cost so far, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The folder it works in, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// How many ways it went, where that is known and more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branches: Option<u64>,
    /// The session it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResumeSessionParams {
    pub session_id: String,
    /// The last message of the branch to go on with; the newest branch if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_uuid: Option<String>,
    /// How much to bring back; the best that the transcript allows if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<ResumeStrategy>,
}

/// How much of a session is brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ResumeStrategy {
    /// Everything, validated and repaired.
    Full,
    /// User messages, tool results, tasks, decisions, errors and project state.
    Partial,
    /// Project state only.
    Minimal,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResumeSessionResult {
    pub session_id: String,
    /// What was possible.
    pub strategy: ResumeStrategy,
    /// The conversation so far, to show, oldest first.
    pub messages: Vec<SessionMessage>,
    /// What was damaged and how it was mended, one sentence each.
    pub repairs: Vec<String>,
    /// The ways the conversation went, newest first; empty where there is but one.
    #[serde(default)]
    pub branches: Vec<Branch>,
    /// Empty where it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What answers in it, as `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its permission mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// What is to be done, as the agent last wrote it down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todos: Vec<TodoItem>,
    /// The last message before a compaction, if the conversation begins with one: for `reverie/session/earlier`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_uuid: Option<String>,
    /// The turn that runs. What it has said of its present answer is not among the messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_turn_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EarlierMessagesParams {
    pub session_id: String,
    /// The last message that is wanted: `earlierUuid` of what is shown already.
    pub message_uuid: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EarlierMessagesResult {
    /// Oldest first. Those that the compaction kept are among them, with the ids they have in the later part.
    pub messages: Vec<SessionMessage>,
    /// As in `ResumeSessionResult`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_uuid: Option<String>,
}

/// One piece of a resumed conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionMessage {
    pub uuid: String,
    pub role: MessageRole,
    pub kind: MessageKind,
    pub text: String,
    /// When, in RFC 3339.
    pub timestamp: String,
    /// Of a tool call and of its result: which call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// Of a tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Of a tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Of a tool's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// Of a tool's result: how to show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<ToolDisplay>,
    /// Of an attachment: the memory that was put beside the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recalled: Option<MemoryEventFile>,
    /// Of an attachment: the file or folder that the user mentioned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mentioned: Option<MentionedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MentionedFile {
    pub uri: String,
    /// Whole lines; absent for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MessageRole {
    User,
    Assistant,
    System,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MessageKind {
    Text,
    Thinking,
    ToolUse,
    ToolResult,
    Attachment,
    Notice,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptSessionParams {
    pub session_id: String,
    /// What the user typed, pointed at and pasted, in order.
    pub prompt: Vec<PromptPart>,
    /// What the editor shows while the user types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor: Option<EditorState>,
    /// LSP's token for `$/progress` of this turn; without it the server makes one if the client can show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_done_token: Option<ProgressToken>,
}

/// LSP's progress token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ProgressToken {
    Number(i32),
    String(String),
}

/// One piece of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PromptPart {
    Text {
        text: String,
    },
    /// A file, or a part of one, that the prompt is about.
    Mention {
        /// A `file:` URI.
        uri: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        range: Option<Range>,
    },
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        media_type: String,
        /// The bytes in base64.
        data: String,
    },
}

/// What the user looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EditorState {
    /// The document with the focus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_uri: Option<String>,
    /// What is selected in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Range>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptSessionResult {
    /// The turn that answers this prompt; it ends with its own `turnEnd` update.
    pub turn_id: String,
    /// Whether a turn was running already: the prompt then joins it at the next round boundary.
    pub queued: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelSessionParams {
    pub session_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteSessionParams {
    pub session_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenameSessionParams {
    pub session_id: String,
    pub title: String,
}
