//! What a client can ask about the server itself: models, settings, health.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListModelsParams {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListModelsResult {
    pub models: Vec<Model>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// `provider/model`, as the setting `model` and `reverie/session/new` take it.
    pub id: String,
    pub name: String,
    pub context_window: u64,
    pub max_output_tokens: u64,
    /// Whether a key or a server for it is configured.
    pub available: bool,
    /// Whether a new session uses it.
    pub default: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GetSettingsParams {}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GetSettingsResult {
    pub settings: Vec<Setting>,
}

/// An effective setting and where its value came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// The dotted key: `permissions.defaultMode`.
    pub key: String,
    pub value: Value,
    /// `default`, or the file or place that set it.
    pub source: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DoctorParams {
    /// Whether to mend what can be mended; without it only what costs nothing is: caches, indexes, totals.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub repair: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorResult {
    pub checks: Vec<Check>,
    /// The last 50 repairs, newest first.
    #[serde(default)]
    pub repairs: Vec<Repair>,
}

/// Something that was put right, or should have been.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repair {
    /// When, in RFC 3339.
    pub at: String,
    /// What was repaired: a session, an index, a file.
    pub subject: String,
    /// The check that found it.
    pub check: String,
    pub detail: String,
    pub success: bool,
}

/// One thing the doctor looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    pub name: String,
    pub status: CheckStatus,
    /// What was found; may have several lines.
    pub detail: String,
    /// What the user can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckStatus {
    Ok,
    Warning,
    Failed,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListCommandsParams {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListCommandsResult {
    /// In the order to show them.
    pub commands: Vec<SlashCommand>,
}

/// What a prompt may begin with: `/name arguments`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlashCommand {
    /// Without the slash.
    pub name: String,
    pub description: String,
    /// What to type after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument_hint: Option<String>,
    pub source: CommandSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CommandSource {
    /// Part of Reverie.
    BuiltIn,
    /// A command file or skill of the user's.
    User,
    /// A command file or skill of the project's.
    Project,
}
