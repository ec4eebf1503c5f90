//! The events of a streamed answer, checked: whoever reads the result may rely on blocks that start once, grow,
//! finish once, and on an end that was really said.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use conversation::{Block, StopReason, Usage};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::wire;
use crate::{
    AppliedEdit, Delta, Event, ModelError,
    failure::{self, Origin},
    sse::{Decoder, Progress},
};

pub(super) struct Messages {
    origin: Arc<Origin>,
    started: bool,
    usage: Usage,
    stop_reason: Option<StopReason>,
    applied: Vec<AppliedEdit>,
    /// Blocks that have started and not finished.
    open: BTreeMap<usize, Open>,
    /// All blocks below this have started.
    next_index: usize,
    called_tool: bool,
}

enum Open {
    Text,
    Thinking,
    Redacted,
    /// The input that came with the start, for servers that send it whole; void as soon as a piece arrives.
    ToolUse {
        whole_input: Option<Map<String, Value>>,
    },
    /// Of a kind we do not know: put together here and passed on when it is whole.
    Unknown {
        block: Map<String, Value>,
        input: String,
    },
}

impl Messages {
    pub(super) fn new(origin: Arc<Origin>) -> Self {
        Self {
            origin,
            started: false,
            usage: Usage::default(),
            stop_reason: None,
            applied: Vec::new(),
            open: BTreeMap::new(),
            next_index: 0,
            called_tool: false,
        }
    }

    fn senseless(&self, what: &str) -> ModelError {
        self.origin.broken_stream(&format!("makes no sense: {what}"))
    }

    /// Like the counts of the usage, what was applied is repeated: the last word holds.
    fn note_edits(&mut self, report: Option<&Value>) {
        let edits = report.and_then(|report| report.get("applied_edits")).and_then(Value::as_array);
        if let Some(edits) = edits.filter(|edits| !edits.is_empty()) {
            self.applied = edits.iter().filter_map(applied_edit).collect();
        }
    }

    fn start_block(
        &mut self,
        index: usize,
        block: Map<String, Value>,
        events: &mut VecDeque<Event>,
    ) -> Result<(), ModelError> {
        if !self.started || index < self.next_index {
            return Err(self.senseless("a block out of order"));
        }
        self.next_index = index + 1;
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut push = |block: Block, first: Option<Delta>| {
            events.push_back(Event::BlockStarted { index, block });
            events.extend(first.map(|delta| Event::BlockDelta { index, delta }));
        };
        let open = match text("type").as_str() {
            "text" => {
                let first = text("text");
                push(Block::text(""), (!first.is_empty()).then_some(Delta::Text(first)));
                Open::Text
            }
            "thinking" => {
                let (first, signature) = (text("thinking"), text("signature"));
                let empty = Block::Thinking { thinking: String::new(), signature: String::new() };
                push(empty, (!first.is_empty()).then_some(Delta::Thinking(first)));
                if !signature.is_empty() {
                    events.push_back(Event::BlockDelta { index, delta: Delta::Signature(signature) });
                }
                Open::Thinking
            }
            "redacted_thinking" => {
                push(Block::RedactedThinking { data: text("data") }, None);
                Open::Redacted
            }
            "tool_use" => {
                let (id, name) = (text("id"), text("name"));
                if id.is_empty() || name.is_empty() {
                    return Err(self.senseless("a tool call without a name or an id"));
                }
                let input = Value::Object(Map::new());
                push(Block::ToolUse { id, name, input }, None);
                self.called_tool = true;
                let whole_input = block.get("input").and_then(Value::as_object).cloned();
                Open::ToolUse { whole_input: whole_input.filter(|input| !input.is_empty()) }
            }
            _ => Open::Unknown { block, input: String::new() },
        };
        self.open.insert(index, open);
        Ok(())
    }

    fn extend_block(
        &mut self,
        index: usize,
        delta: Map<String, Value>,
        events: &mut VecDeque<Event>,
    ) -> Result<(), ModelError> {
        let Some(open) = self.open.get_mut(&index) else {
            return Err(self.senseless("a piece of a block that is not open"));
        };
        let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let kind = text("type");
        let piece = match (open, kind.as_str()) {
            (Open::Unknown { input, .. }, "input_json_delta") => {
                input.push_str(&text("partial_json"));
                return Ok(());
            }
            (Open::Unknown { block, .. }, _) => {
                merge(block, delta);
                return Ok(());
            }
            (Open::Text, "text_delta") => Delta::Text(text("text")),
            (Open::Thinking, "thinking_delta") => Delta::Thinking(text("thinking")),
            (Open::Thinking, "signature_delta") => Delta::Signature(text("signature")),
            (Open::ToolUse { whole_input }, "input_json_delta") => {
                let piece = text("partial_json");
                if !piece.is_empty() {
                    *whole_input = None;
                }
                Delta::InputJson(piece)
            }
            (_, "text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta") => {
                return Err(self.senseless("a piece of another kind than its block"));
            }
            // Not sent back: what is cited goes back in the results of the search.
            (Open::Text, "citations_delta") => {
                let Some(citation) = delta.get("citation") else { return Ok(()) };
                Delta::Citation(citation.clone())
            }
            // Whatever comes next: nothing we show or send back.
            _ => return Ok(()),
        };
        events.push_back(Event::BlockDelta { index, delta: piece });
        Ok(())
    }

    fn finish_block(&mut self, index: usize, events: &mut VecDeque<Event>) -> Result<(), ModelError> {
        match self.open.remove(&index) {
            None => return Err(self.senseless("the end of a block that is not open")),
            Some(Open::ToolUse { whole_input: Some(input) }) => {
                let delta = Delta::InputJson(Value::Object(input).to_string());
                events.push_back(Event::BlockDelta { index, delta });
            }
            Some(Open::Unknown { mut block, input }) => {
                if !input.is_empty() {
                    let Ok(input) = serde_json::from_str(&input) else {
                        return Err(self.senseless("an input that is not JSON"));
                    };
                    block.insert("input".to_owned(), input);
                }
                events.push_back(Event::BlockStarted { index, block: Block::Unknown(Value::Object(block)) });
            }
            Some(Open::Text | Open::Thinking | Open::Redacted | Open::ToolUse { whole_input: None }) => {}
        }
        events.push_back(Event::BlockFinished { index });
        Ok(())
    }
}

impl Decoder for Messages {
    fn decode(&mut self, data: &str, events: &mut VecDeque<Event>) -> Result<Progress, ModelError> {
        if data.trim_ascii().is_empty() {
            return Ok(Progress::Ping);
        }
        let Ok(event) = serde_json::from_str::<WireEvent>(data) else {
            return Err(self.origin.broken_stream("was garbled"));
        };
        match event {
            WireEvent::MessageStart { message } => {
                if self.started {
                    return Err(self.senseless("a second beginning"));
                }
                self.started = true;
                message.usage.merge_into(&mut self.usage);
                self.note_edits(message.context_management.as_ref());
                events.push_back(Event::Started { id: message.id, model: message.model, usage: self.usage });
            }
            WireEvent::ContentBlockStart { index, content_block } => {
                self.start_block(index, content_block, events)?;
            }
            WireEvent::ContentBlockDelta { index, delta } => self.extend_block(index, delta, events)?,
            WireEvent::ContentBlockStop { index } => self.finish_block(index, events)?,
            WireEvent::MessageDelta { delta, usage, context_management } => {
                self.note_edits(context_management.as_ref());
                self.stop_reason = delta.stop_reason.or(self.stop_reason.take());
                usage.unwrap_or_default().merge_into(&mut self.usage);
            }
            WireEvent::MessageStop => {
                if !self.started || !self.open.is_empty() {
                    return Err(self.senseless("an end in the middle"));
                }
                let said = self.stop_reason.take();
                let implied = if self.called_tool { StopReason::ToolUse } else { StopReason::EndTurn };
                let stop_reason = said.unwrap_or(implied);
                let applied = std::mem::take(&mut self.applied);
                events.push_back(Event::Finished { stop_reason, usage: self.usage, applied });
                return Ok(Progress::Finished);
            }
            WireEvent::Error(report) => return Err(failure::from_report(&self.origin, &report)),
            WireEvent::Ping | WireEvent::Unknown => return Ok(Progress::Ping),
        }
        Ok(Progress::Content)
    }

    fn end(&mut self, why: ModelError, _events: &mut VecDeque<Event>) -> Result<(), ModelError> {
        Err(why)
    }
}

/// `None` for an edit that nobody asked for.
fn applied_edit(edit: &Value) -> Option<AppliedEdit> {
    let count = |name: &str| edit.get(name).and_then(Value::as_u64).unwrap_or(0);
    let input_tokens = count("cleared_input_tokens");
    match edit.get("type").and_then(Value::as_str)? {
        wire::CLEAR_TOOL_USES => {
            Some(AppliedEdit::ClearedToolUses { tool_uses: count("cleared_tool_uses"), input_tokens })
        }
        wire::CLEAR_THINKING => {
            Some(AppliedEdit::ClearedThinking { turns: count("cleared_thinking_turns"), input_tokens })
        }
        _ => None,
    }
}

/// What a delta says about a block of an unknown kind: texts grow, the rest is replaced.
fn merge(block: &mut Map<String, Value>, delta: Map<String, Value>) {
    for (key, value) in delta {
        match (block.get_mut(&key), value) {
            _ if key == "type" => {}
            (Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
            (_, value) => {
                block.insert(key, value);
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireEvent {
    MessageStart {
        message: WireMessage,
    },
    ContentBlockStart {
        index: usize,
        content_block: Map<String, Value>,
    },
    ContentBlockDelta {
        index: usize,
        delta: Map<String, Value>,
    },
    ContentBlockStop {
        index: usize,
    },
    MessageDelta {
        #[serde(default)]
        delta: WireMessageDelta,
        usage: Option<WireUsage>,
        context_management: Option<Value>,
    },
    MessageStop,
    Error(Value),
    Ping,
    #[serde(other)]
    Unknown,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireMessage {
    id: String,
    model: String,
    usage: WireUsage,
    context_management: Option<Value>,
}

#[derive(Default, Deserialize)]
struct WireMessageDelta {
    stop_reason: Option<StopReason>,
}

/// Counts so far: later events repeat or raise them, and leave out what they do not know.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl WireUsage {
    fn merge_into(&self, usage: &mut Usage) {
        let raise = |count: &mut u64, seen: Option<u64>| *count = (*count).max(seen.unwrap_or(0));
        raise(&mut usage.input_tokens, self.input_tokens);
        raise(&mut usage.output_tokens, self.output_tokens);
        raise(&mut usage.cache_read_input_tokens, self.cache_read_input_tokens);
        raise(&mut usage.cache_creation_input_tokens, self.cache_creation_input_tokens);
    }
}
