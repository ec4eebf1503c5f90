//! The settings themselves: every key that something reads, its type, its default, and what it means.
//!
//! The struct is the file format: the schema is made from it, and a layer is checked by it.

mod check;
mod mcp_server;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{Environment, directories};
use check::{dollars, hosts, object, objects, positive_count, servers, tokens, variables};
pub use mcp_server::{McpServer, McpTransport};

/// Settings of Reverie. Unknown keys are kept and ignored.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// The model of new sessions: `provider/model`, a name, or an alias such as `sonnet`.
    pub model: Option<String>,
    /// The model that takes over while the main one is overloaded.
    pub fallback_model: Option<String>,
    #[serde(deserialize_with = "object")]
    pub permissions: Permissions,
    /// Replaces the standing part of the system prompt.
    pub system_prompt: Option<String>,
    /// Added to the system prompt.
    pub append_system_prompt: Option<String>,
    /// The language to answer in.
    pub language: Option<String>,
    /// How answers are to be written, in words.
    pub output_style: Option<String>,
    #[serde(deserialize_with = "object")]
    pub budgets: Budgets,
    /// A session stops when it has cost this many US dollars.
    #[serde(deserialize_with = "dollars")]
    #[schemars(range(min = 0))]
    pub max_cost: Option<f64>,
    /// A turn stops after this many requests to the model.
    #[serde(deserialize_with = "positive_count")]
    #[schemars(range(min = 1))]
    pub max_rounds: u32,
    /// Whether memories are kept and used. A layer can only switch this off.
    pub auto_memory_enabled: bool,
    /// An absolute folder (or one below `~/`) for memories instead of the project's own.
    pub auto_memory_directory: Option<String>,
    /// What is known about models, by `provider/model`: for models that the built-in table does not list.
    #[serde(deserialize_with = "objects")]
    pub models: BTreeMap<String, ModelSettings>,
    /// Environment variables to set, for Reverie and for what it runs. A trusted folder may set some.
    #[serde(deserialize_with = "variables")]
    pub env: BTreeMap<String, String>,
    #[serde(deserialize_with = "object")]
    pub sandbox: Sandbox,
    #[serde(deserialize_with = "object")]
    pub web_fetch: WebFetch,
    /// MCP servers of your own, by name.
    #[serde(deserialize_with = "servers")]
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// Servers of a project's `.mcp.json` that never start, though the folder is trusted. Lists of all files join.
    pub disabled_mcpjson_servers: Vec<String>,
    #[serde(skip)]
    pub(crate) entries: Arc<[Entry]>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Permissions {
    /// Rules such as `Bash(cargo test:*)` for calls that need no question. Lists of all files join.
    pub allow: Vec<String>,
    /// Rules for calls that always ask.
    pub ask: Vec<String>,
    /// Rules for calls that are refused; these win.
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

/// One effective value and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Dotted: `permissions.allow`.
    pub key: String,
    pub value: Value,
    /// `default`, a file, `editor` or `command line`; for joined lists all of them.
    pub source: String,
}

impl Settings {
    /// Every effective value, unknown keys included, in the order of the keys. Secrets are masked.
    pub fn entries(&self) -> Vec<Entry> {
        self.entries.to_vec()
    }

    /// The process's environment with the `env` setting applied: what providers and tools should see.
    pub fn environment(&self, environment: &Environment) -> Environment {
        environment.clone().with_variables(&self.env)
    }

    /// "The DISABLE variable, SIMPLE, REMOTE without a dir, the setting, default on", in this order.
    pub fn auto_memory(&self, environment: &Environment) -> bool {
        if let Some(disabled) = environment.switch("CLAUDE_CODE_DISABLE_AUTO_MEMORY") {
            return !disabled;
        }
        let simple = environment.switch("CLAUDE_CODE_SIMPLE") == Some(true);
        let remote = environment.switch("CLAUDE_CODE_REMOTE") == Some(true)
            && environment.get("CLAUDE_CODE_REMOTE_MEMORY_DIR").is_none();
        !simple && !remote && self.auto_memory_enabled
    }

    /// Where memories of the folder's project are: override variable, setting, default.
    pub fn memory_dir(&self, environment: &Environment, folder: &Path) -> PathBuf {
        let configured = || directories::memory_path(environment, self.auto_memory_directory.as_deref()?);
        directories::memory_override(environment)
            .or_else(configured)
            .unwrap_or_else(|| directories::memory_dir(environment, folder))
    }
}

/// Stops a turn that never ends by itself; no honest turn comes near.
const MAX_ROUNDS: u32 = 500;

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: None,
            fallback_model: None,
            permissions: Permissions::default(),
            system_prompt: None,
            append_system_prompt: None,
            language: None,
            output_style: None,
            budgets: Budgets::default(),
            max_cost: None,
            max_rounds: MAX_ROUNDS,
            auto_memory_enabled: true,
            auto_memory_directory: None,
            models: BTreeMap::new(),
            env: BTreeMap::new(),
            sandbox: Sandbox::default(),
            web_fetch: WebFetch::default(),
            mcp_servers: BTreeMap::new(),
            disabled_mcpjson_servers: Vec::new(),
            entries: Arc::default(),
        }
    }
}

/// JSON schema of a settings file.
pub fn schema() -> Value {
    schemars::schema_for!(Settings).to_value()
}

#[cfg(test)]
mod tests;
