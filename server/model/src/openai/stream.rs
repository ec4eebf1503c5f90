//! Chunks of a completion, from servers that agree on the outline and on little else.
//!
//! Text and reasoning are passed on as they come. Tool calls are gathered and passed on whole, when the answer is:
//! servers send them in pieces, at once, interleaved, with and without index or id, and a call that only looks
//! complete must never run.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use conversation::{Block, StopReason, Usage};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    Delta, Event, ModelError, Transient,
    failure::{self, Origin},
    sse::{Decoder, Progress},
};

pub(super) struct Completion {
    origin: Arc<Origin>,
    started: bool,
    next_index: usize,
    open: Option<Open>,
    calls: Vec<Call>,
    finish_reason: Option<String>,
    usage: Usage,
    /// The ids of the conversation's calls: many servers number those of each answer from 0.
    known_calls: HashSet<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Text,
    Thinking,
}

#[derive(Default)]
struct Call {
    /// The server's own number for it, if it gives one.
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Completion {
    /// `known_calls` are the ids in the request; the answer's are different from them.
    pub(super) fn new(origin: Arc<Origin>, known_calls: HashSet<String>) -> Self {
        Self {
            origin,
            started: false,
            next_index: 0,
            open: None,
            calls: Vec::new(),
            finish_reason: None,
            usage: Usage::default(),
            known_calls,
        }
    }

    fn start(&mut self, chunk: &Chunk, events: &mut VecDeque<Event>) {
        if !self.started {
            self.started = true;
            let id = chunk.id.clone().unwrap_or_default();
            let model = chunk.model.clone().unwrap_or_else(|| self.origin.model.clone());
            events.push_back(Event::Started { id, model, usage: Usage::default() });
        }
    }

    fn add_words(&mut self, kind: Open, text: Option<String>, events: &mut VecDeque<Event>) {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return };
        if self.open != Some(kind) {
            self.close(events);
            let block = match kind {
                Open::Text => Block::text(""),
                Open::Thinking => Block::Thinking { thinking: String::new(), signature: String::new() },
            };
            events.push_back(Event::BlockStarted { index: self.next_index, block });
            self.open = Some(kind);
        }
        let delta = match kind {
            Open::Text => Delta::Text(text),
            Open::Thinking => Delta::Thinking(text),
        };
        events.push_back(Event::BlockDelta { index: self.next_index, delta });
    }

    fn close(&mut self, events: &mut VecDeque<Event>) {
        if self.open.take().is_some() {
            events.push_back(Event::BlockFinished { index: self.next_index });
            self.next_index += 1;
        }
    }

    /// A piece belongs to the call with its index, else its id, else to the last one; but a new id with a name is
    /// a new call whatever its index says.
    fn add_call(&mut self, piece: CallPiece) {
        let id = piece.id.unwrap_or_default();
        let function = piece.function.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let same = |call: &Call| match piece.index {
            Some(index) => call.index == Some(index) && (id.is_empty() || name.is_empty() || call.id == id),
            None if !id.is_empty() => call.id == id,
            None => name.is_empty(),
        };
        let position = self.calls.iter().rposition(same);
        if position.is_none() {
            self.calls.push(Call { index: piece.index, ..Call::default() });
        }
        let call = match position {
            Some(position) => self.calls.get_mut(position),
            None => self.calls.last_mut(),
        };
        let Some(call) = call else { return };
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        match function.arguments {
            Some(Value::String(arguments)) => call.arguments.push_str(&arguments),
            None | Some(Value::Null) => {}
            Some(arguments) => call.arguments = arguments.to_string(),
        }
    }

    /// Passes on the calls and the end. `said_so`: the server has declared the answer finished.
    fn finish(&mut self, said_so: bool, events: &mut VecDeque<Event>) -> Result<(), ModelError> {
        let mut calls = std::mem::take(&mut self.calls);
        for call in &mut calls {
            if call.arguments.trim_ascii().is_empty() {
                call.arguments = "{}".to_owned();
            }
            let whole = serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok();
            if call.name.is_empty() || (!said_so && !whole) {
                return Err(self
                    .origin
                    .broken_stream("makes no sense: a tool call without its name or input"));
            }
        }
        self.close(events);
        let reason = self.finish_reason.take();
        let stop_reason = match reason.as_deref() {
            Some("length") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            Some("stop" | "tool_calls" | "function_call" | "eos" | "") | None => {
                if calls.is_empty() {
                    StopReason::EndTurn
                } else {
                    StopReason::ToolUse
                }
            }
            Some(other) => StopReason::Other(other.to_owned()),
        };
        for (number, call) in calls.into_iter().enumerate() {
            let is_new = !call.id.is_empty() && self.known_calls.insert(call.id.clone());
            let id = if is_new { call.id } else { own_id(number) };
            let index = self.next_index;
            self.next_index += 1;
            let input = Value::Object(Map::new());
            events.push_back(Event::BlockStarted {
                index,
                block: Block::ToolUse { id, name: call.name, input },
            });
            events.push_back(Event::BlockDelta { index, delta: Delta::InputJson(call.arguments) });
            events.push_back(Event::BlockFinished { index });
        }
        events.push_back(Event::Finished { stop_reason, usage: self.usage, applied: Vec::new() });
        Ok(())
    }
}

impl Decoder for Completion {
    fn decode(&mut self, data: &str, events: &mut VecDeque<Event>) -> Result<Progress, ModelError> {
        let data = data.trim_ascii();
        if data.is_empty() {
            return Ok(Progress::Ping);
        }
        if data == "[DONE]" {
            if !self.started {
                return Err(self.origin.broken_stream("ended before it began"));
            }
            self.finish(self.finish_reason.is_some(), events)?;
            return Ok(Progress::Finished);
        }
        let Ok(chunk) = serde_json::from_str::<Chunk>(data) else {
            return Err(self.origin.broken_stream("was garbled"));
        };
        if let Some(error) = chunk.error.as_ref().filter(|error| !error.is_null()) {
            return Err(failure::from_report(&self.origin, error));
        }
        self.start(&chunk, events);
        if let Some(usage) = chunk.usage {
            self.usage = usage.into();
        }
        // Only one answer was asked for.
        if let Some(choice) = chunk.choices.unwrap_or_default().into_iter().next() {
            let delta = choice.delta.unwrap_or_default();
            self.add_words(Open::Thinking, delta.reasoning_content.or(delta.reasoning), events);
            self.add_words(Open::Text, delta.content.or(delta.refusal), events);
            delta.tool_calls.unwrap_or_default().into_iter().for_each(|piece| self.add_call(piece));
            self.finish_reason = choice.finish_reason.or(self.finish_reason.take());
        }
        Ok(Progress::Content)
    }

    /// Not every server says `[DONE]`, and usage may be missing: the reason to finish is what counts.
    fn end(&mut self, why: ModelError, events: &mut VecDeque<Event>) -> Result<(), ModelError> {
        let cut =
            matches!(why, ModelError::Transient { kind: Transient::BrokenStream | Transient::Stalled, .. });
        if cut && self.finish_reason.is_some() { self.finish(true, events) } else { Err(why) }
    }
}

/// Ids tie results to calls through the whole conversation, so one that we make must not come again.
fn own_id(number: usize) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("call_{:x}_{number}", since.as_nanos())
}

#[derive(Deserialize)]
struct Chunk {
    id: Option<String>,
    model: Option<String>,
    choices: Option<Vec<Choice>>,
    usage: Option<WireUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(alias = "message")]
    delta: Option<WireDelta>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct WireDelta {
    content: Option<String>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Deserialize)]
struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Default, Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    /// A string of JSON by the book; some servers send the object.
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        let prompt = usage.prompt_tokens.unwrap_or(0);
        let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens).unwrap_or(0);
        Self {
            input_tokens: prompt.saturating_sub(cached),
            output_tokens: usage.completion_tokens.unwrap_or(0),
            cache_read_input_tokens: cached.min(prompt),
            cache_creation_input_tokens: 0,
        }
    }
}
