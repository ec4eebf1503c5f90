//! What the provider is to leave out, in its words: `context_management` for rules that it applies itself, a block of
//! `cache_edits` for single results.

use std::{borrow::Cow, collections::HashSet};

use conversation::{Block, RequestMessage, Role};
use serde::{Serialize, Serializer};

use super::tool_use_id;
use crate::{ClearToolUses, ContextEdits, Keep, anthropic::breakpoints::is_sent};

pub(in crate::anthropic) const CLEAR_TOOL_USES: &str = "clear_tool_uses_20250919";
pub(in crate::anthropic) const CLEAR_THINKING: &str = "clear_thinking_20251015";

#[derive(Serialize)]
pub(super) struct ContextManagement {
    edits: Vec<Edit>,
}

impl ContextManagement {
    pub(super) fn of(edits: &ContextEdits) -> Option<Self> {
        // The API wants thinking in front of the rest.
        let thinking = edits.clear_thinking.map(|keep| Edit::ClearThinking { keep: WireKeep(keep) });
        let tool_uses = edits.clear_tool_uses.map(Edit::clear_tool_uses);
        let edits: Vec<Edit> = thinking.into_iter().chain(tool_uses).collect();
        (!edits.is_empty()).then_some(Self { edits })
    }
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Edit {
    #[serde(rename = "clear_thinking_20251015")]
    ClearThinking { keep: WireKeep },
    #[serde(rename = "clear_tool_uses_20250919")]
    ClearToolUses { trigger: Count, clear_at_least: Count },
}

impl Edit {
    fn clear_tool_uses(ClearToolUses { trigger, clear_at_least }: ClearToolUses) -> Self {
        let tokens = |value| Count { kind: "input_tokens", value };
        Self::ClearToolUses { trigger: tokens(trigger), clear_at_least: tokens(clear_at_least) }
    }
}

#[derive(Serialize)]
struct Count {
    #[serde(rename = "type")]
    kind: &'static str,
    value: u64,
}

struct WireKeep(Keep);

impl Serialize for WireKeep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Keep::Turns(value) => Count { kind: "thinking_turns", value }.serialize(serializer),
            Keep::All => serializer.serialize_str("all"),
        }
    }
}

/// The results that go, and the message that says so.
pub(super) struct Deletions<'a> {
    /// In the order in which they were decided, as the wire writes them.
    ids: Vec<Cow<'a, str>>,
    known: HashSet<Cow<'a, str>>,
    last_user_message: Option<usize>,
}

impl<'a> Deletions<'a> {
    /// A result that is not in the messages any more cannot be referred to.
    pub(super) fn of(edits: &'a ContextEdits, messages: &'a [RequestMessage]) -> Self {
        let mut wanted: HashSet<Cow<'_, str>> =
            edits.cache_deletions.iter().map(|id| tool_use_id(id)).collect();
        let mut known = HashSet::new();
        if !wanted.is_empty() {
            for block in messages.iter().flat_map(|message| &message.content) {
                if let Block::ToolResult { tool_use_id: id, .. } = block {
                    known.extend(wanted.take(&tool_use_id(id)));
                }
            }
        }
        let mut ids: Vec<Cow<'_, str>> = Vec::with_capacity(known.len());
        for id in edits.cache_deletions.iter().map(|id| tool_use_id(id)) {
            if known.contains(&id) && !ids.contains(&id) {
                ids.push(id);
            }
        }
        let speaks =
            |message: &RequestMessage| message.role == Role::User && message.content.iter().any(is_sent);
        Self { ids, known, last_user_message: messages.iter().rposition(speaks) }
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.known.contains(id)
    }

    /// The edits, if they belong behind the blocks of this message.
    pub(super) fn edits_behind(&self, message: usize) -> Option<Vec<CacheEdit<'_>>> {
        let here = self.last_user_message == Some(message) && !self.ids.is_empty();
        here.then(|| self.ids.iter().map(|id| CacheEdit { kind: "delete", cache_reference: id }).collect())
    }
}

#[derive(Serialize)]
pub(super) struct CacheEdit<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    cache_reference: &'a str,
}
