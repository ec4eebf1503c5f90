//! How many tokens something is, without a tokenizer: by bytes. And how large a conversation is: by what the
//! last response reported, plus an estimate of what came after.

use std::{io, sync::Arc};

use conversation::{Block, Body, Message, ResultContent, message::SYNTHETIC_MODEL};
use serde::Serialize;

const BYTES_PER_TOKEN: u64 = 4;
/// Braces, quotes and short keys make JSON denser.
const JSON_BYTES_PER_TOKEN: u64 = 2;
const IMAGE_OR_DOCUMENT: u64 = 2_000;

pub fn tokens_of_text(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES_PER_TOKEN)
}

/// Of the value as it would be written out.
pub fn tokens_of_json(value: &impl Serialize) -> u64 {
    let mut written = ByteCount(0);
    // Counting cannot fail; a value that cannot be written is not sent either.
    match serde_json::to_writer(&mut written, value) {
        Ok(()) | Err(_) => written.0.div_ceil(JSON_BYTES_PER_TOKEN),
    }
}

pub fn tokens_of_blocks(blocks: &[Block]) -> u64 {
    blocks.iter().map(tokens_of_block).sum()
}

/// What stands in front of every conversation: system prompt, tools, first message.
pub fn prefix_tokens<'a>(
    system: impl IntoIterator<Item = &'a str>,
    tools: &impl Serialize,
    first_message: &[Block],
) -> u64 {
    let system: u64 = system.into_iter().map(tokens_of_text).sum();
    system + tokens_of_json(tools) + tokens_of_blocks(first_message)
}

/// The size of the context, without the prefix as long as no response has reported a usage.
pub fn context_tokens(thread: &[Arc<Message>]) -> u64 {
    context_tokens_with_prefix(thread, || 0)
}

/// The size of the context. `prefix` is asked only when no response has reported a usage yet, which would
/// contain it.
pub fn context_tokens_with_prefix(thread: &[Arc<Message>], prefix: impl FnOnce() -> u64) -> u64 {
    let reported = thread.iter().enumerate().rev().find_map(|(at, message)| match &message.body {
        Body::Assistant { id, model, usage: Some(usage), .. } if model != SYNTHETIC_MODEL => {
            Some((at, id.as_deref(), usage.context_tokens()))
        }
        _ => None,
    });
    let Some((at, id, tokens)) = reported else {
        return prefix() + thread.iter().map(|message| tokens_of_message(message)).sum::<u64>();
    };
    // A response is recorded in pieces, with results of its tool calls in between: those came after it.
    let first = match id {
        Some(_) => thread.iter().position(|message| response_id(message) == id).unwrap_or(at),
        None => at,
    };
    let after = thread.iter().enumerate().skip(first).filter(|(position, message)| {
        let of_the_response = *position == at || (id.is_some() && response_id(message) == id);
        !of_the_response
    });
    tokens + after.map(|(_, message)| tokens_of_message(message)).sum::<u64>()
}

/// Of what the model sees of the message.
pub fn tokens_of_message(message: &Message) -> u64 {
    match &message.body {
        Body::User { content } | Body::Assistant { content, .. } => tokens_of_blocks(content),
        Body::Attachment(attachment) => tokens_of_text(&attachment.text),
        Body::System { .. } => 0,
    }
}

fn response_id(message: &Message) -> Option<&str> {
    match &message.body {
        Body::Assistant { id, .. } => id.as_deref(),
        _ => None,
    }
}

fn tokens_of_block(block: &Block) -> u64 {
    match block {
        Block::Text { text } => tokens_of_text(text),
        Block::Thinking { thinking, .. } => tokens_of_text(thinking),
        Block::RedactedThinking { data } => tokens_of_text(data),
        Block::ToolUse { name, input, .. } => tokens_of_text(name) + tokens_of_json(input),
        Block::ToolResult { content: ResultContent::Text(text), .. } => tokens_of_text(text),
        Block::ToolResult { content: ResultContent::Blocks(blocks), .. } => tokens_of_blocks(blocks),
        Block::Image { .. } | Block::Document { .. } => IMAGE_OR_DOCUMENT,
        Block::Unknown(value) => tokens_of_json(value),
    }
}

struct ByteCount(u64);

impl io::Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
