//! What a request is made of, in hashes: enough to say which part of it differs from the one before.
//!
//! The hashes are kept in transcripts: see `fnv`.

use conversation::{Block, ResultContent, Role};

use crate::{Request, SystemBlock, ToolDefinition, anthropic, fnv::Fnv};

/// A request's prefix, part by part, in the order in which the provider caches it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    pub(super) model: String,
    pub(super) tools: Vec<Part>,
    pub(super) system: Vec<Part>,
    pub(super) blocks: Vec<BlockPrint>,
}

/// A tool or a block of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The tool's name, or the head of the text.
    pub(super) name: String,
    pub(super) hash: u32,
}

/// One block of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlockPrint {
    /// Index of its message.
    pub(super) message: usize,
    pub(super) role: Role,
    pub(super) hash: u32,
    /// Of all blocks up to this one.
    pub(super) up_to_here: u32,
    /// The beginning, for showing: the whole would keep the conversation in memory twice.
    pub(super) head: Box<str>,
}

const PART_HEAD: usize = 32;
const BLOCK_HEAD: usize = 160;

impl Fingerprint {
    /// What is not sent is not in it.
    pub fn of(request: &Request) -> Self {
        let tools = request.tools.iter().map(tool).collect();
        let sent = request.system.iter().filter(|block| anthropic::system_is_sent(block));
        let system = sent.map(system_block).collect();
        let mut blocks: Vec<BlockPrint> = Vec::with_capacity(request.blocks());
        let mut up_to_here = Fnv::new();
        for (index, message) in request.messages.iter().enumerate() {
            for block in message.content.iter().filter(|block| anthropic::is_sent(block)) {
                let hash = block_hash(message.role, block);
                up_to_here.add(&hash.to_le_bytes());
                let up_to_here = up_to_here.short();
                let head = head(block_text(block), BLOCK_HEAD).into();
                blocks.push(BlockPrint { message: index, role: message.role, hash, up_to_here, head });
            }
        }
        Self { model: request.model.clone(), tools, system, blocks }
    }
}

fn tool(tool: &ToolDefinition) -> Part {
    let mut hash = Fnv::new();
    hash.add_text(&tool.name);
    hash.add_text(&tool.description);
    hash.add_json(&tool.input_schema);
    Part { name: tool.name.clone(), hash: hash.short() }
}

fn system_block(block: &SystemBlock) -> Part {
    let mut hash = Fnv::new();
    hash.add_text(&block.text);
    Part { name: head(&block.text, PART_HEAD).to_owned(), hash: hash.short() }
}

fn block_hash(role: Role, block: &Block) -> u32 {
    let mut hash = Fnv::new();
    hash.add(match role {
        Role::User => b"u",
        Role::Assistant => b"a",
    });
    match block {
        Block::Text { text } => hash.add_text(text),
        // Most of a conversation; the rest is short.
        Block::ToolResult { tool_use_id, content: ResultContent::Text(text), is_error } => {
            hash.add(if *is_error { b"e" } else { b"r" });
            hash.add_text(tool_use_id);
            hash.add_text(text);
        }
        block => hash.add_json(block),
    }
    hash.short()
}

/// What a person would recognise the block by.
fn block_text(block: &Block) -> &str {
    match block {
        Block::Text { text } => text,
        Block::Thinking { thinking, .. } => thinking,
        Block::ToolUse { name, .. } => name,
        Block::ToolResult { content: ResultContent::Text(text), .. } => text,
        Block::ToolResult { .. } => "(result)",
        Block::Image { .. } => "(image)",
        Block::Document { .. } => "(document)",
        Block::RedactedThinking { .. } => "(thinking)",
        Block::Unknown(_) => "(other)",
    }
}

/// At most so many bytes of the text, cut at a character.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_at_a_character() {
        assert_eq!(head("äöü", 3), "ä");
        assert_eq!(head("a", 3), "a");
    }
}
