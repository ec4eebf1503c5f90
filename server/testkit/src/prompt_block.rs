//! A request as the prompt cache sees it: a flat list of blocks in the order tools → system → messages.
//!
//! Owns the flattening and the size of a block; what the list means for the cache is `prompt_cache`'s, how it
//! looks on paper is `layout`'s.

use std::collections::HashSet;

use serde_json::Value;

use crate::model_server::all_text;

/// How long a cache entry lives without being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ttl {
    FiveMinutes,
    OneHour,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Section {
    Tool,
    System,
    Message { index: usize, role: String },
}

#[derive(Clone, Debug)]
pub struct PromptBlock {
    pub section: Section,
    /// As sent, with `cache_control` and `cache_reference` taken out. Text given as a plain string has become a text
    /// block.
    pub value: Value,
    pub breakpoint: Option<Ttl>,
    /// Deleted in the cache by a block of `cache_edits`: still a part of the prefix, but the model does not see it.
    pub deleted: bool,
}

impl PromptBlock {
    /// The compact JSON of the block, keys in the order they were sent in.
    pub fn json(&self) -> String {
        self.value.to_string()
    }

    /// A word to the cache rather than to the model.
    pub fn is_edit(&self) -> bool {
        self.value["type"] == "cache_edits"
    }

    /// Whether the model sees it.
    pub fn is_seen(&self) -> bool {
        !self.deleted && !self.is_edit()
    }

    /// What the model reads of it, without the quoting that only the wire needs.
    pub fn words(&self) -> String {
        let text = match self.value["type"].as_str() {
            Some("text") => self.value["text"].as_str(),
            Some("thinking") => self.value["thinking"].as_str(),
            Some("tool_use") => return format!("{} {}", self.value["name"], self.value["input"]),
            Some("tool_result") => return all_text(&self.value["content"]),
            _ => None,
        };
        text.map_or_else(|| self.json(), str::to_owned)
    }

    /// Four bytes of JSON make a token here, rounded up. What the model does not see, nobody pays for.
    pub fn tokens(&self) -> u64 {
        if self.is_seen() { self.json().len().div_ceil(4) as u64 } else { 0 }
    }
}

/// The blocks of a Messages API request. Parts of the wrong type are skipped: `validation` speaks about those.
pub fn prompt_blocks(body: &Value) -> Vec<PromptBlock> {
    let mut blocks = Vec::new();
    for tool in body["tools"].as_array().into_iter().flatten() {
        blocks.push(prompt_block(Section::Tool, tool));
    }
    push_content(&mut blocks, &Section::System, &body["system"]);
    for (index, message) in body["messages"].as_array().into_iter().flatten().enumerate() {
        let role = message["role"].as_str().unwrap_or_default().to_owned();
        push_content(&mut blocks, &Section::Message { index, role }, &message["content"]);
    }
    // Automatic caching: a mark on the request itself stands for one on its last block.
    if let (Some(ttl), Some(last)) = (ttl_of(&body["cache_control"]), blocks.last_mut()) {
        last.breakpoint = Some(ttl);
    }
    let edits =
        blocks.iter().filter(|block| block.is_edit()).filter_map(|block| block.value["edits"].as_array());
    let deleted: HashSet<String> =
        edits.flatten().filter_map(|edit| edit["cache_reference"].as_str()).map(str::to_owned).collect();
    for block in &mut blocks {
        let id = block.value["tool_use_id"].as_str();
        block.deleted = id.is_some_and(|id| deleted.contains(id));
    }
    blocks
}

fn push_content(blocks: &mut Vec<PromptBlock>, section: &Section, content: &Value) {
    match content {
        Value::String(text) => {
            let value = serde_json::json!({ "type": "text", "text": text });
            blocks.push(PromptBlock { section: section.clone(), value, breakpoint: None, deleted: false });
        }
        Value::Array(items) => blocks.extend(items.iter().map(|item| prompt_block(section.clone(), item))),
        _ => {}
    }
}

pub(crate) fn prompt_block(section: Section, block: &Value) -> PromptBlock {
    let mut value = block.clone();
    if let Some(fields) = value.as_object_mut() {
        fields.shift_remove("cache_control");
        fields.shift_remove("cache_reference");
    }
    PromptBlock { section, value, breakpoint: ttl_of(&block["cache_control"]), deleted: false }
}

fn ttl_of(cache_control: &Value) -> Option<Ttl> {
    cache_control.as_object()?;
    match cache_control["ttl"].as_str() {
        Some("1h") => Some(Ttl::OneHour),
        _ => Some(Ttl::FiveMinutes),
    }
}
