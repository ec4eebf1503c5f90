//! How many tokens something is, without a tokenizer: by bytes. And how large a conversation is: by what the
//! last response reported, plus an estimate of what came after.

use std::{io, sync::Arc};

use conversation::{Block, Body, Message, ResultContent, Usage, message::SYNTHETIC_MODEL};
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
        // Servers that do not count say 0.
        Body::Assistant { id, model, usage: Some(usage), .. }
            if model != SYNTHETIC_MODEL && usage.context_tokens() > 0 =>
        {
            Some((at, Response { id: id.as_deref(), usage }))
        }
        _ => None,
    });
    let Some((at, response)) = reported else {
        return prefix() + tokens_of_messages(thread);
    };
    let (upto, after) = thread.split_at_checked(at + 1).unwrap_or((thread, &[]));
    response.usage.context_tokens() + results_within(upto, &response) + tokens_of_messages(after)
}

/// A response is recorded in pieces, with results of its tool calls in between: those came after it. `upto` ends
/// with its last piece.
fn results_within(upto: &[Arc<Message>], response: &Response<'_>) -> u64 {
    let (mut within, mut since_piece) = (0, 0);
    for message in upto.iter().rev().skip(1) {
        match &message.body {
            Body::Assistant { .. } if response.has_piece(message) => {
                within += std::mem::take(&mut since_piece)
            }
            Body::User { content }
                if content.iter().all(|block| matches!(block, Block::ToolResult { .. })) =>
            {
                since_piece += tokens_of_blocks(content);
            }
            Body::System { .. } => {}
            Body::Assistant { .. } | Body::User { .. } | Body::Attachment(_) => break,
        }
    }
    within
}

/// The newest response that says what it used.
struct Response<'a> {
    id: Option<&'a str>,
    usage: &'a Usage,
}

impl Response<'_> {
    /// Some servers give every response the same id; but no two that follow each other were asked with as much.
    fn has_piece(&self, message: &Message) -> bool {
        let asked_with = |usage: &Usage| usage.context_tokens() - usage.output_tokens;
        match &message.body {
            Body::Assistant { id: Some(id), usage, .. } => {
                Some(id.as_str()) == self.id
                    && usage.is_none_or(|usage| asked_with(&usage) == asked_with(self.usage))
            }
            _ => false,
        }
    }
}

/// Of what the model sees of the message.
pub fn tokens_of_message(message: &Message) -> u64 {
    match &message.body {
        Body::User { content } | Body::Assistant { content, .. } => tokens_of_blocks(content),
        Body::Attachment(attachment) => tokens_of_text(&attachment.text),
        Body::System { .. } => 0,
    }
}

fn tokens_of_messages(messages: &[Arc<Message>]) -> u64 {
    messages.iter().map(|message| tokens_of_message(message)).sum()
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
