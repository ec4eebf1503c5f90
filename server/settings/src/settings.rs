//! The settings themselves: every key that something reads, its type, its default, and what it means.
//!
//! The struct is the file format: the schema is made from it, and a layer is checked by it.

pub(crate) mod check;
mod effective;
mod mcp_server;
mod sections;

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use check::{dollars, object, objects, percent, positive_count, servers, variables};
pub use mcp_server::{McpServer, McpTransport};
pub use sections::{
    Budgets, Inline, ModelSettings, Notifications, PermissionMode, Permissions, Reverie, Sandbox, Team,
    WebFetch,
};

/// Settings of Reverie. Unknown keys are kept and ignored.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// The model of new sessions: `provider/model`, a name, or an alias such as `sonnet`.
    pub model: Option<String>,
    /// The model that takes over while the main one is overloaded.
    pub fallback_model: Option<String>,
    /// The model of small tasks; `ANTHROPIC_SMALL_FAST_MODEL` where it is not set.
    pub small_model: Option<String>,
    /// The model that picks memories, where it is not the small one.
    pub selector_model: Option<String>,
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
    /// Whether a long conversation is compacted before it fills the window.
    pub auto_compact_enabled: bool,
    /// Compacts at this percentage of the usable window instead of shortly before it is full.
    #[serde(deserialize_with = "percent")]
    #[schemars(range(min = 1, max = 100))]
    pub auto_compact_percent: Option<u8>,
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
    /// Programs to run at events, by the name of the event. Lists of all files join.
    pub hooks: Map<String, Value>,
    /// Agents besides those in files, by name.
    pub agents: Map<String, Value>,
    #[serde(deserialize_with = "object")]
    pub notifications: Notifications,
    #[serde(deserialize_with = "object")]
    pub inline: Inline,
    #[serde(deserialize_with = "object")]
    pub team: Team,
    #[serde(deserialize_with = "object")]
    pub(crate) reverie: Reverie,
    #[serde(skip)]
    pub(crate) entries: Arc<[Entry]>,
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
}

/// Stops a turn that never ends by itself; no honest turn comes near.
const MAX_ROUNDS: u32 = 500;

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: None,
            fallback_model: None,
            small_model: None,
            selector_model: None,
            permissions: Permissions::default(),
            system_prompt: None,
            append_system_prompt: None,
            language: None,
            output_style: None,
            budgets: Budgets::default(),
            max_cost: None,
            max_rounds: MAX_ROUNDS,
            auto_compact_enabled: true,
            auto_compact_percent: None,
            auto_memory_enabled: true,
            auto_memory_directory: None,
            models: BTreeMap::new(),
            env: BTreeMap::new(),
            sandbox: Sandbox::default(),
            web_fetch: WebFetch::default(),
            mcp_servers: BTreeMap::new(),
            disabled_mcpjson_servers: Vec::new(),
            hooks: Map::new(),
            agents: Map::new(),
            notifications: Notifications::default(),
            inline: Inline::default(),
            team: Team::default(),
            reverie: Reverie::default(),
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
