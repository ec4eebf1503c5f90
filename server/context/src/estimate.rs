//! How many tokens something is, without a tokenizer: by bytes. And how large a conversation is: by what the
//! last response reported, plus an estimate of what came after.

use std::sync::Arc;

use conversation::{Block, Body, COMPACT_BOUNDARY, Message, ResultContent, Usage, message::SYNTHETIC_MODEL};
use serde::Serialize;

use crate::{
    calibration::Calibration,
    kind::{BYTES_PER_TOKEN, Composition, IMAGE_OR_DOCUMENT, JSON_BYTES_PER_TOKEN, written_bytes},
};

pub fn tokens_of_text(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES_PER_TOKEN)
}

/// Of the value as it would be written out.
pub fn tokens_of_json(value: &impl Serialize) -> u64 {
    written_bytes(value).div_ceil(JSON_BYTES_PER_TOKEN)
}

pub fn tokens_of_blocks(blocks: &[Block]) -> u64 {
    blocks.iter().map(tokens_of_block).sum()
}

/// The size of the context: what the last response reported, and what came after it by what was learnt about the
/// model. `None`: nothing was reported yet.
pub fn context_tokens(thread: &[Arc<Message>], model: &str, calibration: &Calibration) -> Option<u64> {
    let response = Response::last_of(thread)?;
    let after = response.followers(thread).into_iter().map(Composition::of_message).sum();
    Some(response.usage.context_tokens() + calibration.tokens(model, &after))
}

/// Something that was sent and came back with a number: what [`Calibration::learn`] is fed with after each
/// response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    pub composition: Composition,
    /// What it was in the provider's tokens.
    pub reported: u64,
}

/// What came between the last two responses, and by how much the input grew. `None` where the one has nothing
/// to do with the other: a compaction or a switch of models lies between them, or the context shrank. Not to
/// be asked after a request that left out more of the thread than the one before it.
pub fn observation(thread: &[Arc<Message>]) -> Option<Observation> {
    let last = Response::last_of(thread)?;
    let (before, _) = thread.split_at_checked(last.pieces(thread).first)?;
    let previous = Response::last_of(before)?;
    let between = previous.followers(before);
    if last.model != previous.model || between.iter().any(|message| is_boundary(message)) {
        return None;
    }
    let reported = last.input_tokens().checked_sub(previous.usage.context_tokens())?;
    let composition = between.into_iter().map(Composition::of_message).sum();
    (reported > 0).then_some(Observation { composition, reported })
}

/// What the first response was asked with, but for what stands in front of every conversation, and how large all of it
/// was. `None` once there is a second one.
pub fn first_observation(thread: &[Arc<Message>]) -> Option<Observation> {
    let first = Response::last_of(thread)?;
    let (before, _) = thread.split_at_checked(first.pieces(thread).first)?;
    if Response::last_of(before).is_some() {
        return None;
    }
    let composition = before.iter().map(|message| Composition::of_message(message)).sum();
    Some(Observation { composition, reported: first.input_tokens() })
}

/// A response that says what it used.
struct Response<'a> {
    id: Option<&'a str>,
    model: &'a str,
    usage: &'a Usage,
    /// The place of its last piece in the thread.
    at: usize,
}

/// A response is recorded in pieces, with results of its tool calls in between: those came after it.
struct Pieces<'a> {
    first: usize,
    results: Vec<&'a Message>,
}

impl<'a> Response<'a> {
    /// Behind the boundary of a compaction stand older responses too, which report a context that is gone.
    fn last_of(thread: &'a [Arc<Message>]) -> Option<Self> {
        let boundary = thread.first().filter(|message| is_boundary(message));
        let mut messages = thread.iter().enumerate().rev();
        messages.find_map(|(at, message)| match &message.body {
            // Servers that do not count say 0.
            Body::Assistant { id, model, usage: Some(usage), .. }
                if model != SYNTHETIC_MODEL
                    && usage.context_tokens() > 0
                    && boundary.is_none_or(|boundary| message.timestamp >= boundary.timestamp) =>
            {
                Some(Self { id: id.as_deref(), model, usage, at })
            }
            _ => None,
        })
    }

    fn input_tokens(&self) -> u64 {
        asked_with(self.usage)
    }

    /// What came after it, each message once.
    fn followers(&self, thread: &'a [Arc<Message>]) -> Vec<&'a Message> {
        let mut followers = self.pieces(thread).results;
        followers.extend(thread.iter().skip(self.at + 1).map(|message| &**message));
        followers
    }

    fn pieces(&self, thread: &'a [Arc<Message>]) -> Pieces<'a> {
        let mut pieces = Pieces { first: self.at, results: Vec::new() };
        let mut since_piece = Vec::new();
        for (at, message) in thread.iter().enumerate().take(self.at).rev() {
            match &message.body {
                Body::Assistant { .. } if self.has_piece(message) => {
                    pieces.first = at;
                    pieces.results.append(&mut since_piece);
                }
                Body::User { content }
                    if content.iter().all(|block| matches!(block, Block::ToolResult { .. })) =>
                {
                    since_piece.push(&**message);
                }
                Body::System { .. } => {}
                Body::Assistant { .. } | Body::User { .. } | Body::Attachment(_) => break,
            }
        }
        pieces
    }

    /// Some servers give every response the same id; but no two that follow each other were asked with as
    /// much.
    fn has_piece(&self, message: &Message) -> bool {
        match &message.body {
            Body::Assistant { id: Some(id), usage, .. } => {
                Some(id.as_str()) == self.id
                    && usage.is_none_or(|usage| asked_with(&usage) == self.input_tokens())
            }
            _ => false,
        }
    }
}

fn asked_with(usage: &Usage) -> u64 {
    Usage { output_tokens: 0, ..*usage }.context_tokens()
}

fn is_boundary(message: &Message) -> bool {
    matches!(&message.body, Body::System { subtype, .. } if subtype == COMPACT_BOUNDARY)
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

#[cfg(test)]
mod tests;
