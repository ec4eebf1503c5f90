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
/// call, and thinking that nothing follows are left out, since the API refuses them. A result belongs to a call of
/// the response right before it; an id that an earlier response has used is given another name.
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
    calls: Vec<Call<'a>>,
    results: HashMap<String, Block>,
    /// The user's side but for the results.
    others: Vec<Block>,
    /// Every id rendered so far: ids are unique in a request.
    rendered_ids: HashSet<String>,
    /// How often an id had to be told apart from an earlier one.
    repetitions: HashMap<&'a str, u32>,
}

/// A call of the response at hand.
struct Call<'a> {
    id: &'a str,
    /// The id in the request: another one if an earlier response has used it.
    rendered_id: String,
}

impl<'a> Rendering<'a> {
    fn response(&mut self, message: &'a Message, content: &'a [Block]) {
        if !self.key.continues_with(message) {
            self.finish_exchange();
        }
        self.key = ResponseKey::of(message);
        for block in content {
            match block {
                // Within one response, an id names one call.
                Block::ToolUse { id, .. } if self.calls.iter().any(|call| call.id == id) => {}
                Block::ToolUse { id, name, input } => {
                    let rendered_id = self.unique_id(id);
                    let (id_in_request, name, input) = (rendered_id.clone(), name.clone(), input.clone());
                    self.response.push(Block::ToolUse { id: id_in_request, name, input });
                    self.calls.push(Call { id, rendered_id });
                }
                block if is_blank(block) => {}
                block => self.response.push(block.clone()),
            }
        }
    }

    /// Depends on what came before alone, so that it stays the same however the thread goes on.
    fn unique_id(&mut self, id: &'a str) -> String {
        let mut candidate = id.to_owned();
        while !self.rendered_ids.insert(candidate.clone()) {
            let repetitions = self.repetitions.entry(id).or_insert(1);
            *repetitions += 1;
            candidate = format!("{id}-{repetitions}");
        }
        candidate
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
            let result = self.results.remove(call.id).map(|result| with_id(result, &call.rendered_id));
            reply.push(result.unwrap_or_else(|| interrupted_result(call.rendered_id)));
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

fn with_id(mut result: Block, id: &str) -> Block {
    if let Block::ToolResult { tool_use_id, .. } = &mut result {
        id.clone_into(tool_use_id);
    }
    result
}

fn is_blank(block: &Block) -> bool {
    matches!(block, Block::Text { text } if text.trim().is_empty())
}

#[cfg(test)]
mod tests;
