//! A request as the Messages API wants it, written straight into bytes: no copy of the conversation is made.
//!
//! What the provider is to leave out is in `edits`.
//!
//! The order of keys is fixed and nothing depends on anything but the request: same request, same bytes.

mod edits;

use std::borrow::Cow;

use conversation::{Block, RequestMessage, ResultContent, Role};
use serde::{Serialize, Serializer, ser::SerializeMap as _, ser::SerializeSeq as _};
use serde_json::{Map, Value};

pub(super) use self::edits::{CLEAR_THINKING, CLEAR_TOOL_USES};
use self::edits::{CacheEdit, ContextManagement, Deletions};
use super::breakpoints::{Breakpoints, is_sent, system_is_sent};
use crate::{ContextEdits, Request, ToolDefinition};

/// The suffix of a model's name that asks for the window of a million tokens; not a part of the name.
pub(super) const LONG_CONTEXT_SUFFIX: &str = "[1m]";

/// The body of `POST /v1/messages`.
pub(super) fn body(request: &Request) -> Result<Vec<u8>, serde_json::Error> {
    write(request, &request.context_edits, Some(request.max_tokens), Some(true))
}

/// The body of `POST /v1/messages/count_tokens`: all of the conversation is counted.
pub(super) fn count_body(request: &Request) -> Result<Vec<u8>, serde_json::Error> {
    write(request, &ContextEdits::default(), None, None)
}

fn write(
    request: &Request,
    edits: &ContextEdits,
    max_tokens: Option<u64>,
    stream: Option<bool>,
) -> Result<Vec<u8>, serde_json::Error> {
    let marks = Breakpoints::of(request);
    let deletions = Deletions::of(edits, &request.messages);
    let body = Body {
        model: request.model.strip_suffix(LONG_CONTEXT_SUFFIX).unwrap_or(&request.model),
        max_tokens,
        tools: &request.tools,
        system: System { request, marks: &marks },
        messages: Messages { messages: &request.messages, marks: &marks, deletions: &deletions },
        context_management: ContextManagement::of(edits),
        output_config: request.output_schema.as_ref().map(OutputConfig::of),
        stream,
    };
    let mut bytes = Vec::with_capacity(estimate(request));
    serde_json::to_writer(&mut bytes, &body)?;
    Ok(bytes)
}

/// Growing a large vector by doubling copies it; a guess of its size is cheaper.
fn estimate(request: &Request) -> usize {
    let block = |block: &Block| match block {
        Block::Text { text } => text.len(),
        Block::ToolResult { content: ResultContent::Text(text), .. } => text.len(),
        _ => 512,
    };
    let blocks = request.messages.iter().flat_map(|message| &message.content);
    let messages: usize = blocks.map(|content| block(content) + 128).sum();
    let system: usize = request.system.iter().map(|block| block.text.len()).sum();
    (messages + system + request.tools.len() * 2048) * 9 / 8 + 1024
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "tools")]
    tools: &'a [ToolDefinition],
    #[serde(skip_serializing_if = "System::is_empty")]
    system: System<'a>,
    messages: Messages<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_management: Option<ContextManagement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    format: OutputFormat<'a>,
}

#[derive(Serialize)]
struct OutputFormat<'a> {
    r#type: &'static str,
    schema: &'a Value,
}

impl<'a> OutputConfig<'a> {
    fn of(schema: &'a Value) -> Self {
        Self { format: OutputFormat { r#type: "json_schema", schema } }
    }
}

fn tools<S: Serializer>(tools: &[ToolDefinition], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Tool<'a> {
        Ours {
            name: &'a str,
            description: &'a str,
            input_schema: &'a Value,
        },
        Providers {
            name: &'a str,
            #[serde(flatten)]
            parameters: &'a Map<String, Value>,
        },
    }
    serializer.collect_seq(tools.iter().map(|tool| match tool.provider_parameters() {
        Some(parameters) => Tool::Providers { name: &tool.name, parameters },
        None => {
            Tool::Ours { name: &tool.name, description: &tool.description, input_schema: &tool.input_schema }
        }
    }))
}

#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename = "ephemeral")]
struct CacheControl {}

fn mark(marked: bool) -> Option<CacheControl> {
    marked.then_some(CacheControl {})
}

struct System<'a> {
    request: &'a Request,
    marks: &'a Breakpoints,
}

impl System<'_> {
    fn is_empty(&self) -> bool {
        !self.request.system.iter().any(system_is_sent)
    }
}

impl Serialize for System<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let blocks = self.request.system.iter().enumerate().filter(|(_, block)| system_is_sent(block));
        serializer.collect_seq(blocks.map(|(index, block)| WireBlock::Text {
            text: &block.text,
            cache_control: mark(self.marks.system.contains(&index)),
        }))
    }
}

struct Messages<'a> {
    messages: &'a [RequestMessage],
    marks: &'a Breakpoints,
    deletions: &'a Deletions<'a>,
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let last = self.messages.len().saturating_sub(1);
        let mut sequence = serializer.serialize_seq(None)?;
        for (index, message) in self.messages.iter().enumerate() {
            if !message.content.iter().any(is_sent) {
                continue;
            }
            // "Final assistant content cannot end with trailing whitespace": only where an answer is continued.
            let trims = index == last && message.role == Role::Assistant;
            sequence.serialize_element(&WireMessage {
                role: message.role,
                content: Content {
                    index,
                    blocks: &message.content,
                    marks: self.marks,
                    deletions: self.deletions,
                    trims,
                },
            })?;
        }
        sequence.end()
    }
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: Role,
    content: Content<'a>,
}

struct Content<'a> {
    index: usize,
    blocks: &'a [Block],
    marks: &'a Breakpoints,
    deletions: &'a Deletions<'a>,
    trims: bool,
}

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let blocks = self.blocks.iter().enumerate().filter(|(_, block)| is_sent(block));
        let trimmed = self.blocks.iter().rposition(is_sent).filter(|_| self.trims);
        let sent = blocks.map(|(index, block)| {
            let marked = self.marks.messages.contains(&(self.index, index));
            WireBlock::new(block, marked, trimmed == Some(index)).referred_to(self.deletions)
        });
        // Behind the marked blocks: the next request, where it stands in another message, finds what they cached.
        let edits = self.deletions.edits_behind(self.index).map(|edits| WireBlock::CacheEdits { edits });
        serializer.collect_seq(sent.chain(edits))
    }
}

/// A [`Block`] with room for the mark, borrowing its contents.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireBlock<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: Input<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: ToolResult<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_reference: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: &'a Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Document {
        source: &'a Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    CacheEdits {
        edits: Vec<CacheEdit<'a>>,
    },
    #[serde(untagged)]
    Unknown(Unmarked<'a>),
}

impl<'a> WireBlock<'a> {
    fn new(block: &'a Block, marked: bool, trims: bool) -> Self {
        let cache_control = mark(marked);
        match block {
            Block::Text { text } => {
                Self::Text { text: if trims { text.trim_ascii_end() } else { text }, cache_control }
            }
            Block::Thinking { thinking, signature } => Self::Thinking { thinking, signature },
            Block::RedactedThinking { data } => Self::RedactedThinking { data },
            Block::ToolUse { id, name, input } => {
                Self::ToolUse { id: tool_use_id(id), name, input: Input(input), cache_control }
            }
            Block::ToolResult { tool_use_id: id, content, is_error } => Self::ToolResult {
                tool_use_id: tool_use_id(id),
                content: ToolResult::new(content),
                is_error: *is_error,
                cache_reference: None,
                cache_control,
            },
            Block::Image { source } => Self::Image { source, cache_control },
            Block::Document { source } => Self::Document { source, cache_control },
            Block::Unknown(value) => Self::Unknown(Unmarked(value)),
        }
    }

    /// With the name by which an edit refers to it.
    fn referred_to(mut self, deletions: &Deletions<'_>) -> Self {
        if let Self::ToolResult { tool_use_id, cache_reference, .. } = &mut self {
            *cache_reference = deletions.contains(tool_use_id).then(|| tool_use_id.clone());
        }
        self
    }
}

/// The API takes ids of letters, digits, `_` and `-`; other providers' ids have more in them.
fn tool_use_id(id: &str) -> Cow<'_, str> {
    let allowed = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    if !id.is_empty() && id.chars().all(allowed) {
        return Cow::Borrowed(id);
    }
    let replaced: String =
        id.chars().map(|character| if allowed(character) { character } else { '_' }).collect();
    Cow::Owned(if replaced.is_empty() { "_".to_owned() } else { replaced })
}

/// A tool's input, which must be an object: a call that was cut short may have left anything.
struct Input<'a>(&'a Value);

impl Serialize for Input<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(object) => object.serialize(serializer),
            _ => Map::new().serialize(serializer),
        }
    }
}

/// A tool's output. Never empty: the API refuses an empty error, and models stumble over empty results.
#[derive(Serialize)]
#[serde(untagged)]
enum ToolResult<'a> {
    Text(&'a str),
    Blocks(Vec<WireBlock<'a>>),
}

impl<'a> ToolResult<'a> {
    fn new(content: &'a ResultContent) -> Self {
        let nothing = Self::Text("(no output)");
        match content {
            ResultContent::Text(text) if text.trim_ascii().is_empty() => nothing,
            ResultContent::Text(text) => Self::Text(text),
            ResultContent::Blocks(blocks) if !blocks.iter().any(is_sent) => nothing,
            ResultContent::Blocks(blocks) => Self::Blocks(
                blocks
                    .iter()
                    .filter(|block| is_sent(block))
                    .map(|block| WireBlock::new(block, false, false))
                    .collect(),
            ),
        }
    }
}

/// A block of a kind we do not know, as it came, but without another program's mark: four is the limit.
struct Unmarked<'a>(&'a Value);

impl Serialize for Unmarked<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Value::Object(object) = self.0 else { return self.0.serialize(serializer) };
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in object.iter().filter(|(key, _)| *key != "cache_control") {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests;
