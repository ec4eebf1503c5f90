//! Where a thread can be cut: never between a tool call and its result, never between the records of one
//! response, never between a user message and the attachments that join it.

use std::{collections::HashSet, ops::Range, sync::Arc};

use conversation::{Block, Body, Message, pairing::ResponseKey};

/// The positions at which a part of the thread may begin, ascending. The first is 0, if there is anything.
pub fn cuts(thread: &[Arc<Message>]) -> Vec<usize> {
    let mut cuts = Vec::new();
    for exchange in exchanges(thread) {
        let messages = thread.get(exchange.clone()).unwrap_or_default();
        cuts.push(exchange.start);
        cuts.extend(prompts(messages).into_iter().map(|at| exchange.start + at));
    }
    cuts
}

/// What lies between the cuts.
pub fn pieces(thread: &[Arc<Message>]) -> Vec<Range<usize>> {
    let starts = cuts(thread);
    let ends = starts.iter().skip(1).copied().chain([thread.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// API rounds: a response and what answers it, with the prompt it was asked by if it was. What is left of a thread
/// before its first response or behind its last one is a round, and so is the summary of a compaction.
pub fn rounds(thread: &[Arc<Message>]) -> Vec<Range<usize>> {
    let mut rounds: Vec<Range<usize>> = Vec::new();
    let mut open: Option<Range<usize>> = None;
    for piece in pieces(thread) {
        let messages = thread.get(piece.clone()).unwrap_or_default();
        let round = open.take().map_or(piece.start, |prompt| prompt.start)..piece.end;
        let is_summary = messages.iter().any(|message| message.flags.compact_summary);
        match is_summary || messages.iter().any(|message| is_response(message)) {
            true => rounds.push(round),
            false => open = Some(round),
        }
    }
    rounds.extend(open);
    rounds
}

/// Where the last response begins: its first record, if it has several.
pub(crate) fn last_response(thread: &[Arc<Message>]) -> Option<usize> {
    let last = exchanges(thread).pop()?;
    thread.get(last.clone())?.iter().any(|message| is_response(message)).then_some(last.start)
}

pub(crate) fn is_response(message: &Message) -> bool {
    matches!(message.body, Body::Assistant { .. })
}

/// Typed by the user, or put into their place by us; no mere results.
pub(crate) fn is_prompt(message: &Message) -> bool {
    match &message.body {
        Body::User { content } => !content.iter().any(|block| matches!(block, Block::ToolResult { .. })),
        _ => false,
    }
}

/// Responses with all that comes before the next one, and what comes before the first.
fn exchanges(thread: &[Arc<Message>]) -> Vec<Range<usize>> {
    let mut starts = Vec::new();
    let mut key = ResponseKey::default();
    let mut is_blank = true;
    for (at, message) in thread.iter().enumerate() {
        match &message.body {
            Body::Assistant { .. } => {
                if !key.continues_with(message) {
                    // Notices in front of everything stay with what follows them.
                    starts.push(if is_blank { 0 } else { at });
                }
                key = ResponseKey::of(message);
                is_blank = false;
            }
            Body::User { .. } | Body::Attachment(_) => {
                key.replied();
                is_blank = false;
            }
            Body::System { .. } => {}
        }
    }
    if starts.first() != Some(&0) && !thread.is_empty() {
        starts.insert(0, 0);
    }
    let ends = starts.iter().skip(1).copied().chain([thread.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// The prompts of an exchange that come when nothing is open, so that they may begin a part; not its first
/// message.
fn prompts(exchange: &[Arc<Message>]) -> Vec<usize> {
    let mut waiting: HashSet<&str> = HashSet::new();
    let mut found = Vec::new();
    let mut before = Before::Nothing;
    for (at, message) in exchange.iter().enumerate() {
        match &message.body {
            Body::Assistant { content, .. } => {
                // Whatever stood between two records of the response is not behind it.
                found.clear();
                before = Before::Response;
                waiting.extend(content.iter().filter_map(|block| match block {
                    Block::ToolUse { id, .. } => Some(id.as_str()),
                    _ => None,
                }));
            }
            Body::User { content } => {
                let is_free = matches!(before, Before::Response | Before::User) && waiting.is_empty();
                if is_prompt(message) && is_free {
                    found.push(at);
                }
                for block in content {
                    if let Block::ToolResult { tool_use_id, .. } = block {
                        waiting.remove(tool_use_id.as_str());
                    }
                }
                before = Before::User;
            }
            Body::Attachment(_) if waiting.is_empty() => match before {
                Before::Response => {
                    found.push(at);
                    before = Before::Attachment;
                }
                Before::Nothing => before = Before::Attachment,
                Before::Attachment | Before::User => {}
            },
            Body::Attachment(_) | Body::System { .. } => {}
        }
    }
    found
}

/// What the user's side of an exchange has come to.
enum Before {
    Nothing,
    Response,
    /// With no user message before it, it joins the one that follows.
    Attachment,
    User,
}

#[cfg(test)]
mod tests;
