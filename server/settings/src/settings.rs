//! The settings themselves: every key that something reads, its type, its default, and what it means.
//!
//! The struct is the file format: the schema is made from it, and a layer is checked by it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error},
};
use serde_json::{Map, Value};

use crate::{Environment, directories};

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
    /// Environment variables to set, for Reverie and for what it runs.
    pub env: BTreeMap<String, String>,
    #[serde(skip)]
    pub(crate) entries: Vec<Entry>,
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
        self.entries.clone()
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
            entries: Vec::new(),
        }
    }
}

/// JSON schema of a settings file.
pub fn schema() -> Value {
    schemars::schema_for!(Settings).to_value()
}

/// An object only: serde would also take a list of the fields in their order, a second spelling of every key
/// that the restrictions by path would not see.
fn object<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<T, D::Error> {
    let fields = Map::deserialize(deserializer)?;
    T::deserialize(Value::Object(fields)).map_err(D::Error::custom)
}

fn objects<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    let objects = BTreeMap::<String, Map<String, Value>>::deserialize(deserializer)?;
    objects
        .into_iter()
        .map(|(name, fields)| Ok((name, T::deserialize(Value::Object(fields)).map_err(D::Error::custom)?)))
        .collect()
}

fn dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(deserializer)? {
        Some(amount) if amount < 0.0 => Err(D::Error::custom(format!("{amount} is negative"))),
        amount => Ok(amount),
    }
}

fn tokens<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match Option::<u64>::deserialize(deserializer)? {
        Some(0) => Err(D::Error::custom("must be more than 0")),
        count => Ok(count),
    }
}

fn positive_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        0 => Err(D::Error::custom("must be more than 0")),
        count => Ok(count),
    }
}
