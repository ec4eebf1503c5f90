//! What the agent changed in files, for the user to keep or take back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListChangesParams {
    pub session_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListChangesResult {
    /// In the order of their paths.
    pub files: Vec<ChangedFile>,
}

/// A text file that the agent changed in this session, and the user has neither kept nor taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFile {
    /// Absolute.
    pub path: String,
    pub state: ChangedState,
    /// Lines.
    pub added: u64,
    /// Lines.
    pub removed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChangedState {
    Created,
    Modified,
    Deleted,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadChangeParams {
    pub session_id: String,
    /// Absolute.
    pub path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadChangeResult {
    /// What the file was before the agent touched it, with what was kept since; absent where there was none. Lines end
    /// with a line feed, whatever they end with in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What it is now, in the editor where it is open; absent where it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// In their order.
    pub hunks: Vec<ChangedHunk>,
}

/// Lines that differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedHunk {
    /// For `reverie/changes/resolve`; fits this state of the file only.
    pub id: String,
    pub before: LineSpan,
    pub after: LineSpan,
}

/// Lines of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineSpan {
    /// From 0.
    pub start: u64,
    /// How many; 0 where lines were only removed or added.
    pub lines: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolveChangesParams {
    pub session_id: String,
    /// Absolute; all files if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// One hunk of the file; the whole file if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunk_id: Option<String>,
    /// Whether it stays; otherwise it is taken back, in the editor where the file is open.
    pub keep: bool,
}
