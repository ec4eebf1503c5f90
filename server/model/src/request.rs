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
    /// Of a fork: where the parent's last request ended, as the number of blocks up to there, those of all messages
    /// together (see [`Request::blocks`]). There the cache has an entry. `None`: behind the last user message that
    /// an assistant message follows.
    pub shared: Option<usize>,
    pub context_edits: ContextEdits,
}

impl Request {
    /// The blocks of all messages: what a fork of the conversation says as [`Request::shared`].
    pub fn blocks(&self) -> usize {
        self.messages.iter().map(|message| message.content.len()).sum()
    }
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

/// What the provider is asked to leave out of the conversation by itself, where it says that it can (see
/// [`Supports`]). The messages are sent whole all the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextEdits {
    pub clear_tool_uses: Option<ClearToolUses>,
    pub clear_thinking: Option<Keep>,
    /// Ids of the calls whose results are deleted in the cache. Pinned: once sent, an id is in every request.
    pub cache_deletions: Vec<String>,
}

/// Old tool results go once the input is longer than `trigger` tokens; the cache breaks there, so that it must be worth
/// `clear_at_least` tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClearToolUses {
    pub trigger: u64,
    pub clear_at_least: u64,
}

impl Default for ClearToolUses {
    fn default() -> Self {
        Self { trigger: 180_000, clear_at_least: 140_000 }
    }
}

/// Whose thoughts stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Those of the last turns.
    Turns(u64),
    All,
}

/// Which [`ContextEdits`] a provider takes for a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Supports {
    /// `clear_tool_uses` and `clear_thinking`.
    pub context_management: bool,
    /// `cache_deletions`.
    pub cache_edits: bool,
}

/// On whose behalf a request is made: accounting, logs and tests go by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuerySource {
    Main,
    /// A search of the web by itself.
    WebSearch,
    /// Which memories a message calls for.
    Recall,
    /// The summary that stands for the conversation from then on.
    Compact,
    /// The summary of one span of it.
    Collapse,
    /// What of the conversation is worth a memory.
    Extraction,
    /// The notes that a session keeps about itself.
    SessionMemory,
    /// The tidying of the memories.
    Dream,
}

impl QuerySource {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::WebSearch => "web_search",
            Self::Recall => "recall",
            Self::Compact => "compact",
            Self::Collapse => "collapse",
            Self::Extraction => "extraction",
            Self::SessionMemory => "session_memory",
            Self::Dream => "dream",
        }
    }

    /// Nothing precedes and nothing follows such a request: what it would write to the cache, nobody would read.
    pub fn is_single(&self) -> bool {
        matches!(self, Self::Recall)
    }

    /// Sends a conversation's system prompt, tools and messages byte for byte, and a directive behind them.
    pub fn is_fork(&self) -> bool {
        match self {
            Self::Compact | Self::Collapse | Self::Extraction | Self::SessionMemory | Self::Dream => true,
            Self::Main | Self::WebSearch | Self::Recall => false,
        }
    }

    /// Nobody asked for it: it is on no turn's account.
    pub fn is_by_itself(&self) -> bool {
        matches!(self, Self::Extraction | Self::SessionMemory | Self::Dream)
    }

    /// A fork of one request, as a rule: it reads what the conversation has in the cache, and "writes nothing to the
    /// cache behind the shared prefix".
    pub fn is_one_shot(&self) -> bool {
        matches!(self, Self::Compact | Self::Collapse | Self::SessionMemory)
    }
}
