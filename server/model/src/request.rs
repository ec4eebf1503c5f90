//! What goes to a provider, before any provider's wire format.

use std::sync::Arc;

use conversation::RequestMessage;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug)]
pub struct Request {
    /// The model's name without the provider: `claude-sonnet-4-5`.
    pub model: String,
    pub system: Arc<[SystemBlock]>,
    pub tools: Arc<[ToolDefinition]>,
    pub messages: Vec<RequestMessage>,
    pub max_tokens: u64,
    /// What the answer has to look like, as a JSON schema. Providers that do not have it leave it out.
    pub output_schema: Option<serde_json::Value>,
    pub source: QuerySource,
}

/// One block of the system prompt. The static ones come first and are the same for every session of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemBlock {
    pub text: String,
    /// The last block before the dynamic boundary carries the mark: a cache breakpoint goes here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_static_part: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    pub name: String,
    pub description: String,
    /// JSON schema; of a tool that the provider runs itself its parameters (see `web_search`).
    pub input_schema: serde_json::Value,
}

/// On whose behalf a request is made: accounting, logs and tests go by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuerySource {
    Main,
    /// A search of the web by itself.
    WebSearch,
    /// Which memories a message calls for.
    Recall,
}

impl QuerySource {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::WebSearch => "web_search",
            Self::Recall => "recall",
        }
    }

    /// Nothing follows on such a request: what it would write to the cache, nobody would read.
    pub fn is_single(&self) -> bool {
        matches!(self, Self::Recall)
    }
}
