//! The words of a conversation: messages, their content blocks and what they cost.
//!
//! Blocks serialise in the Messages API's shape, which is also the transcript's: one format, written once.
//! What we do not know is kept as it came ([`Block::Unknown`]) and goes out again unchanged.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// Names a session on disk and on the wire: a UUID in its hyphenated lower-case form.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    pub fn random() -> Self {
        Self(Uuid::new_v4().to_string())
    }

    /// `None` for anything but a UUID: a session id becomes a file name, so nothing else may pass.
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text).ok().filter(|_| text.len() == 36).map(|uuid| Self(uuid.to_string()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One entry of the history. Its order in the transcript is its arrival; its place in a thread is its parent.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub uuid: Uuid,
    pub parent: Option<Uuid>,
    pub timestamp: Timestamp,
    pub flags: Flags,
    pub body: Body,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Made by us rather than typed by the user.
    pub meta: bool,
    /// Belongs to a sub-agent's thread.
    pub sidechain: bool,
    /// Stands for the messages that a compaction removed.
    pub compact_summary: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    User {
        content: Vec<Block>,
    },
    Assistant {
        /// The provider's id of the response; `None` for messages made locally.
        id: Option<String>,
        /// `<synthetic>` for messages made locally.
        model: String,
        content: Vec<Block>,
        stop_reason: Option<StopReason>,
        /// Absent for synthetic messages.
        usage: Option<Usage>,
    },
    /// Shown to the user, never sent to the model.
    System {
        subtype: String,
        text: String,
        /// Of a compact boundary: what stands behind it, and what was kept.
        compaction: Option<Box<Compaction>>,
    },
    /// A reminder that joins the nearest user message; rendered once, when it was made, and frozen.
    Attachment(Attachment),
}

/// What a compact boundary says about itself, under Claude Code's names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Compaction {
    /// `auto` or `manual`.
    pub trigger: String,
    /// Tokens of the context before it.
    pub pre_tokens: u64,
    /// And after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_tokens: Option<u64>,
    /// The last message before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compacted_message_uuid: Option<Uuid>,
    /// Tools that were loaded late; their definitions are sent again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pre_compact_discovered_tools: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserved_segment: Option<PreservedSegment>,
    /// The last record of the compaction. A file without it was cut before the compaction was whole: then it never
    /// happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete_with: Option<Uuid>,
}

/// Messages that a compaction kept. They stay where they are in the file; the thread has them behind the anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreservedSegment {
    pub head_uuid: Uuid,
    /// The message they follow: the summary, or the boundary if they come before the summary.
    pub anchor_uuid: Uuid,
    pub tail_uuid: Uuid,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// What it is, for views: `mention`, `editor`, `todo`, `queued`, …
    pub kind: String,
    /// The exact text sent, wrapper included.
    pub text: String,
}

/// The model name of messages that no model wrote.
pub const SYNTHETIC_MODEL: &str = "<synthetic>";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
}

/// One content block, in the Messages API's shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    Thinking {
        thinking: String,
        /// Must return to the provider exactly as it came.
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        /// Optional in the API.
        #[serde(default)]
        content: ResultContent,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    Image {
        source: Value,
    },
    Document {
        source: Value,
    },
    /// A kind this version does not know; passed on as it came.
    #[serde(untagged)]
    Unknown(Value),
}

impl Body {
    /// A word to the user that no model sees.
    pub fn notice(subtype: &str, text: impl Into<String>) -> Self {
        Self::System { subtype: subtype.to_owned(), text: text.into(), compaction: None }
    }
}

impl Message {
    /// What the boundary at the head of a compacted thread says.
    pub fn compaction(&self) -> Option<&Compaction> {
        match &self.body {
            Body::System { compaction, .. } => compaction.as_deref(),
            _ => None,
        }
    }
}

impl Block {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ResultContent {
    Text(String),
    Blocks(Vec<Block>),
}

impl Default for ResultContent {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

/// Why a response ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    ToolUse,
    MaxTokens,
    StopSequence,
    PauseTurn,
    Refusal,
    #[serde(untagged)]
    Other(String),
}

/// Tokens of one response or a sum of them, with the API's own names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_input_tokens: u64,
    pub cache_creation_input_tokens: u64,
}

/// Servers and files may claim anything; what is claimed must leave room for adding to it.
const LARGEST_CONTEXT: u64 = 1 << 48;

impl Usage {
    /// What the response found in the window plus what it added: the size of the context after it.
    pub fn context_tokens(&self) -> u64 {
        let found = self.input_tokens.saturating_add(self.cache_read_input_tokens);
        let all = found.saturating_add(self.cache_creation_input_tokens).saturating_add(self.output_tokens);
        all.min(LARGEST_CONTEXT)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let add = |sum: &mut u64, tokens| *sum = sum.saturating_add(tokens);
        add(&mut self.input_tokens, other.input_tokens);
        add(&mut self.output_tokens, other.output_tokens);
        add(&mut self.cache_read_input_tokens, other.cache_read_input_tokens);
        add(&mut self.cache_creation_input_tokens, other.cache_creation_input_tokens);
    }
}

/// A message as a request carries it: roles alternate, attachments are joined, responses are whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestMessage {
    pub role: Role,
    pub content: Vec<Block>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usages_that_lie_can_be_added_up() {
        let lie = Usage {
            input_tokens: u64::MAX,
            output_tokens: u64::MAX,
            cache_read_input_tokens: u64::MAX,
            cache_creation_input_tokens: u64::MAX,
        };
        let mut sum = lie;
        sum += lie;
        assert_eq!(sum, lie);
        assert_eq!(sum.context_tokens(), LARGEST_CONTEXT);
    }
}
