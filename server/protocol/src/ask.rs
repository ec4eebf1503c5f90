//! What the server asks of the client: permissions, answers, saves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool call that needs the user's word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskPermissionParams {
    pub session_id: String,
    /// The call; its `toolStart` update came before this request.
    pub tool_use_id: String,
    pub tool: String,
    pub input: Value,
    /// Why it asks.
    pub reason: String,
    /// What will happen, for the user to judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<PermissionPreview>,
    /// The answers to offer, in this order.
    pub options: Vec<PermissionOption>,
}

/// What a call will do, in the form that shows it best.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum PermissionPreview {
    /// A unified diff.
    Diff { text: String },
    /// A shell command.
    Command { text: String },
    /// Plain text.
    Text { text: String },
}

/// One answer, with the words to show for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionOption {
    pub id: PermissionChoice,
    pub label: String,
    /// What the answer allows from now on, as a permission rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PermissionChoice {
    AllowOnce,
    AllowSession,
    /// Also writes the rule that the option's label shows.
    AllowAlways,
    Deny,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskPermissionResult {
    pub option: PermissionChoice,
    /// What the model should know, mostly with a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A question of the agent to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskUserParams {
    pub session_id: String,
    pub question: String,
    /// Answers to choose from; the user may also write another. Empty for an open question.
    pub options: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskUserResult {
    /// The user's answer; absent when the user dismissed the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// Asks the client to write an open document to disk, as the user's "save" would.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SaveDocumentParams {
    pub uri: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SaveDocumentResult {
    /// Whether the document is on disk now.
    pub saved: bool,
}

/// The plan that the agent made in plan mode: nothing is changed until it is approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskPlanParams {
    pub session_id: String,
    pub tool_use_id: String,
    /// Markdown.
    pub plan: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskPlanResult {
    pub approved: bool,
    /// With an approval: whether edits inside the workspace need no further question.
    #[serde(default)]
    pub accept_edits: bool,
    /// With a rejection: what to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
