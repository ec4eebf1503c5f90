//! A thread as a request carries it.
//!
//! Pure and deterministic, because the prompt cache is bought with it: "once a byte was sent, it is sent again
//! identically". Whatever is complete in a thread renders the same, block for block, however much is appended
//! later. A thread with holes still renders to something that the API accepts.

use std::collections::{HashMap, HashSet};

use crate::{
    message::{Block, Body, Message, RequestMessage, Role},
    pairing::{ResponseKey, interrupted_result},
};

/// Roles alternate; every tool call is followed by its results in call order; empty text, results without a
/// call, and thinking that nothing follows are left out, since the API refuses them.
pub fn request_messages<'a>(thread: impl IntoIterator<Item = &'a Message>) -> Vec<RequestMessage> {
    let mut rendering = Rendering::default();
    for message in thread {
        match &message.body {
            Body::User { content } => content.iter().for_each(|block| rendering.user_block(block)),
            Body::Attachment(attachment) => rendering.user_block(&Block::text(&attachment.text)),
            Body::Assistant { content, .. } => rendering.response(message, content),
            Body::System { .. } => {}
        }
    }
    rendering.finish_exchange();
    rendering.messages
}

/// One exchange at a time: a response, then what the user's side says to it.
#[derive(Default)]
struct Rendering<'a> {
    messages: Vec<RequestMessage>,
    key: ResponseKey,
    response: Vec<Block>,
    /// The calls of the response, in order.
    calls: Vec<&'a str>,
    results: HashMap<String, Block>,
    /// The user's side but for the results.
    others: Vec<Block>,
    /// Every call rendered so far; ids are unique in a request.
    known_calls: HashSet<&'a str>,
}

impl<'a> Rendering<'a> {
    fn response(&mut self, message: &'a Message, content: &'a [Block]) {
        if !self.key.continues_with(message) {
            self.finish_exchange();
        }
        self.key = ResponseKey::of(message);
        for block in content {
            match block {
                Block::ToolUse { id, .. } => {
                    if self.known_calls.insert(id) {
                        self.calls.push(id);
                        self.response.push(block.clone());
                    }
                }
                block if is_blank(block) => {}
                block => self.response.push(block.clone()),
            }
        }
    }

    fn user_block(&mut self, block: &Block) {
        self.key.replied();
        match block {
            Block::ToolResult { tool_use_id, .. } => {
                self.results.entry(tool_use_id.clone()).or_insert_with(|| block.clone());
            }
            block if is_blank(block) => {}
            block => self.others.push(block.clone()),
        }
    }

    fn finish_exchange(&mut self) {
        let mut response = std::mem::take(&mut self.response);
        while matches!(response.last(), Some(Block::Thinking { .. } | Block::RedactedThinking { .. })) {
            response.pop();
        }
        self.push(Role::Assistant, response);

        let mut reply = Vec::with_capacity(self.calls.len() + self.others.len());
        for call in self.calls.drain(..) {
            reply.push(self.results.remove(call).unwrap_or_else(|| interrupted_result(call.to_owned())));
        }
        self.results.clear();
        reply.append(&mut self.others);
        self.push(Role::User, reply);
        self.key = ResponseKey::default();
    }

    fn push(&mut self, role: Role, content: Vec<Block>) {
        if content.is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            _ => self.messages.push(RequestMessage { role, content }),
        }
    }
}

fn is_blank(block: &Block) -> bool {
    matches!(block, Block::Text { text } if text.trim().is_empty())
}

#[cfg(test)]
mod tests;
