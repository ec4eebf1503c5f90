//! Dreams: what puts memories in order between sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{task::Gate, update::Usage};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartDreamParams {
    /// Whose conversation it starts from; the one that was used last if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Only shows what it would change; false if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum StartDreamResult {
    /// It has begun; its end is told by `reverie/dream/progress`.
    Started { dream_id: String },
    /// It has not, and why.
    Skipped { skipped: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopDreamParams {
    pub dream_id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DreamStatusParams {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DreamStatusResult {
    pub state: DreamState,
    /// RFC 3339; absent where there was no dream yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_consolidated_at: Option<String>,
    /// Other sessions that were touched since.
    pub sessions_since: u64,
    /// In the order in which they are looked at.
    pub gates: Vec<Gate>,
    /// The dream that runs here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<DreamProgressParams>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DreamState {
    Idle,
    Running,
    /// Another process dreams.
    Locked,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DreamProgressParams {
    pub dream_id: String,
    pub status: DreamOutcome,
    pub phase: DreamPhase,
    pub rounds: u32,
    /// Absolute paths.
    pub files_touched: Vec<String>,
    /// What it said last, or how it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The last rounds, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latest: Vec<DreamRound>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DreamOutcome {
    Running,
    Completed,
    Failed,
    Killed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DreamPhase {
    Starting,
    /// Since its first change.
    Updating,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DreamRound {
    pub text: String,
    pub tool_calls: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DreamReportParams {
    /// The last dream if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dream_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DreamReportResult {
    pub dream_id: String,
    pub status: DreamOutcome,
    /// Nothing was written.
    pub dry_run: bool,
    /// What set it off.
    pub trigger: String,
    /// RFC 3339.
    pub started_at: String,
    /// RFC 3339.
    pub ended_at: String,
    /// The file of the report, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The report, in Markdown.
    pub text: String,
    pub changes: Vec<DreamChange>,
    pub usage: Usage,
    pub cost_usd: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DreamChange {
    /// For `reverie/memory/undo`; absent where nothing was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_id: Option<String>,
    /// Absolute.
    pub path: String,
    pub why: String,
    /// Unified.
    pub diff: String,
}
