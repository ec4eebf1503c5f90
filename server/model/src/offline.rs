//! The embedded model: deterministic rules behind the same trait as the real ones, so that everything works on
//! a machine with nothing configured. It knows only what the request says, and has no state.
//!
//! Here: the provider and the stream of events. What to do next is [`plan`]'s.

mod answer;
mod dream;
mod extract;
mod find;
mod forget;
mod fork;
mod gist;
mod intent;
mod notes;
mod overview;
mod page;
mod plan;
mod rank;
mod remember;
mod results;
mod situation;
mod summary;
mod terms;

use conversation::{Block, ResultContent, StopReason, Usage};
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use serde_json::{Map, Value};

pub use self::summary::{COLLAPSE_TAG, SUMMARY_TAG};
use self::{
    plan::{Step, ToolCall},
    situation::Situation,
};
use crate::{Delta, Event, EventStream, ModelError, Provider, Request, fnv::Fnv};

#[derive(Debug, Default)]
pub struct Offline;

impl Offline {
    pub fn new() -> Self {
        Self
    }
}

impl Provider for Offline {
    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ModelError>> {
        let events = respond(&request).into_iter().map(Ok);
        std::future::ready(Ok(stream::iter(events).boxed())).boxed()
    }
}

/// The whole response, as the events of its stream.
fn respond(request: &Request) -> Vec<Event> {
    let asked = summary::answer(request).map(Step::Answer);
    let asked = asked.or_else(|| notes::step(request)).or_else(|| fork::step(request));
    let (step, introduced) = match asked {
        Some(step) => (step, true),
        None => {
            let situation = Situation::of(request);
            (plan::next(&situation), !situation.first_answer)
        }
    };
    let fingerprint = fingerprint(request);
    let mut usage = Usage { input_tokens: request_tokens(request), ..Usage::default() };
    let mut events =
        vec![Event::Started { id: format!("msg_{fingerprint}"), model: request.model.clone(), usage }];
    let (bytes, stop_reason) = match step {
        Step::Answer(text) if introduced => (say(&mut events, &text), StopReason::EndTurn),
        Step::Answer(text) => {
            let text = format!("{}\n\n{text}", answer::INTRODUCTION);
            (say(&mut events, &text), StopReason::EndTurn)
        }
        Step::Calls(calls) => (call(&mut events, &fingerprint, calls), StopReason::ToolUse),
    };
    usage.output_tokens = tokens(bytes);
    events.push(Event::Finished { stop_reason, usage, applied: Vec::new() });
    events
}

/// One text block in small deltas, as a reader would want them; returns its size in bytes.
fn say(events: &mut Vec<Event>, text: &str) -> usize {
    const DELTA: usize = 24;
    events.push(Event::BlockStarted { index: 0, block: Block::text("") });
    let mut delta = String::new();
    for word in text.split_inclusive([' ', '\n']) {
        delta.push_str(word);
        if delta.len() >= DELTA {
            events.push(Event::BlockDelta { index: 0, delta: Delta::Text(std::mem::take(&mut delta)) });
        }
    }
    if !delta.is_empty() {
        events.push(Event::BlockDelta { index: 0, delta: Delta::Text(delta) });
    }
    events.push(Event::BlockFinished { index: 0 });
    text.len()
}

fn call(events: &mut Vec<Event>, fingerprint: &str, calls: Vec<ToolCall>) -> usize {
    let mut bytes = 0;
    for (index, call) in calls.into_iter().enumerate() {
        let block = Block::ToolUse {
            id: format!("toolu_{fingerprint}_{index}"),
            name: call.tool.to_owned(),
            input: Value::Object(Map::new()),
        };
        let input = call.input.to_string();
        bytes += input.len() + call.tool.len();
        events.push(Event::BlockStarted { index, block });
        events.push(Event::BlockDelta { index, delta: Delta::InputJson(input) });
        events.push(Event::BlockFinished { index });
    }
    bytes
}

fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

fn request_tokens(request: &Request) -> u64 {
    let mut bytes: usize = request.system.iter().map(|block| block.text.len()).sum();
    for tool in request.tools.iter() {
        bytes += tool.name.len() + tool.description.len() + tool.input_schema.to_string().len();
    }
    bytes += request.messages.iter().flat_map(|message| &message.content).map(block_bytes).sum::<usize>();
    tokens(bytes)
}

fn block_bytes(block: &Block) -> usize {
    match block {
        Block::Text { text } => text.len(),
        Block::ToolUse { name, input, .. } => name.len() + input.to_string().len(),
        Block::ToolResult { content: ResultContent::Text(text), .. } => text.len(),
        Block::ToolResult { content: ResultContent::Blocks(blocks), .. } => {
            blocks.iter().map(block_bytes).sum()
        }
        Block::Thinking { thinking, .. } => thinking.len(),
        // 2,000 tokens each, whatever their size.
        Block::Image { .. } | Block::Document { .. } => 8_000,
        Block::RedactedThinking { .. } | Block::Unknown(_) => 0,
    }
}

/// Names the response after its request: the same conversation gives the same bytes.
fn fingerprint(request: &Request) -> String {
    let mut hash = Fnv::new();
    hash.add(request.source.as_str().as_bytes());
    for block in request.system.iter() {
        hash.add(block.text.as_bytes());
    }
    hash.add_json(&request.messages);
    format!("{:016x}", hash.value())
}

#[cfg(test)]
mod tests;
