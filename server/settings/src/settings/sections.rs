//! The objects that settings are made of.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use super::check::{address, dollars, hosts, object, rules, tokens};
use crate::Features;

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Permissions {
    /// Rules such as `Bash(cargo test:*)` for calls that need no question. Lists of all files join.
    #[serde(deserialize_with = "rules")]
    pub allow: Vec<String>,
    /// Rules for calls that always ask.
    #[serde(deserialize_with = "rules")]
    pub ask: Vec<String>,
    /// Rules for calls that are refused; these win.
    #[serde(deserialize_with = "rules")]
    pub deny: Vec<String>,
    /// The mode of new sessions.
    pub default_mode: PermissionMode,
}

/// Tightest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    Plan,
    #[default]
    Default,
    AcceptEdits,
    #[serde(alias = "bypass")]
    BypassPermissions,
}

impl PermissionMode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::BypassPermissions => "bypassPermissions",
        }
    }
}

/// Limits in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Budgets {
    /// For one turn.
    #[serde(deserialize_with = "dollars")]
    #[schemars(range(min = 0))]
    pub turn_usd: Option<f64>,
    /// For everything on one day, in all sessions.
    #[serde(deserialize_with = "dollars")]
    #[schemars(range(min = 0))]
    pub day_usd: Option<f64>,
    /// For what nobody asked for, on one day: extraction, dreams, notes.
    #[serde(deserialize_with = "dollars")]
    #[schemars(range(min = 0))]
    pub background_day_usd: Option<f64>,
}

/// Walls around the commands of the main agent. Background agents are always inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Sandbox {
    /// Whether Bash can write only in the workspace.
    pub main_bash: bool,
    /// Whether commands inside the walls may use the network.
    pub network: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WebFetch {
    /// Hosts (`docs.internal`, `10.0.0.7`, `localhost:8080`) that may be fetched although their addresses are private.
    #[serde(deserialize_with = "hosts")]
    pub allow_private: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelSettings {
    /// Tokens.
    #[serde(deserialize_with = "tokens")]
    #[schemars(range(min = 1))]
    pub context_window: Option<u64>,
    /// Tokens.
    #[serde(deserialize_with = "tokens")]
    #[schemars(range(min = 1))]
    pub max_output_tokens: Option<u64>,
    /// US dollars for a million tokens.
    #[serde(deserialize_with = "dollars")]
    #[schemars(range(min = 0))]
    pub input_price: Option<f64>,
    /// US dollars for a million tokens.
    #[serde(deserialize_with = "dollars")]
    #[schemars(range(min = 0))]
    pub output_price: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Notifications {
    /// Whether editors keep to themselves what nobody has to answer.
    pub quiet: bool,
}

/// What editors show about memories within files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Inline {
    /// Lines above the place that a memory speaks of.
    pub lens: bool,
    /// Words beside the place that a memory speaks of.
    pub hints: bool,
    /// The memory itself, under the pointer at that place.
    pub hover: bool,
    /// What is wrong in memory files, shown in them.
    pub diagnostics: bool,
    /// What may come next in files that are written for the agent: keys, links, includes.
    pub completion: bool,
    /// Links, definitions, references, symbols and folding in files that are written for the agent.
    pub navigation: bool,
    /// What can be done about a memory or a place: quick fixes, renaming, formatting, “Remember something about this”.
    pub actions: bool,
    /// What has just happened to a memory, for a moment at the place that it speaks of.
    pub notifications: bool,
}

impl Default for Inline {
    fn default() -> Self {
        Self {
            lens: true,
            hints: true,
            hover: true,
            diagnostics: true,
            completion: true,
            navigation: true,
            actions: true,
            notifications: true,
        }
    }
}

#[derive(Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Team {
    /// The server that keeps a team's memories.
    #[serde(deserialize_with = "address")]
    pub url: Option<String>,
    /// The token for that server. Never from a file of the workspace.
    pub token: Option<String>,
}

/// Without the token: it is nothing to log.
impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "…");
        f.debug_struct("Team").field("url", &self.url).field("token", &token).finish()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Reverie {
    #[serde(deserialize_with = "object")]
    pub(crate) features: Features,
}
