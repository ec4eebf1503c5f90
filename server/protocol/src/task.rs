//! What runs beside the conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::update::Usage;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListTasksParams {
    /// Only those of one session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListTasksResult {
    /// Oldest first; those that run, and the latest that have ended.
    pub tasks: Vec<Task>,
    pub background: Background,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub task_id: String,
    pub kind: TaskKind,
    /// Absent where it belongs to no session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// What it does: the command of a shell.
    pub title: String,
    pub state: TaskState,
    /// RFC 3339.
    pub started_at: String,
    /// What it is at, or how it ended, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TaskKind {
    /// A command in the background.
    Shell,
    /// Writes down what is worth knowing later.
    Extraction,
    /// Keeps notes of a session.
    SessionMemory,
    /// Puts memories in order.
    Dream,
}

/// What runs by itself, why or why not, and what it has cost today.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Background {
    pub kinds: Vec<BackgroundKind>,
    pub spent_usd: f64,
    /// The setting `budgets.backgroundDayUsd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_usd: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackgroundKind {
    pub kind: TaskKind,
    /// In the order in which they are looked at.
    pub gates: Vec<Gate>,
    pub today: BackgroundAccount,
    /// How the last one ended, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
}

/// One condition of running by itself, as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Stable: `enabled`, `hours`, …
    pub name: String,
    pub open: bool,
    /// Why it is open or not, in words.
    pub detail: String,
}

/// What one kind of background work did and cost today.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundAccount {
    pub runs: u64,
    /// Files written: memories, or notes.
    pub files: u64,
    pub usage: Usage,
    pub cost_usd: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TaskState {
    Running,
    Completed,
    Failed,
    Killed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopTaskParams {
    pub task_id: String,
}
