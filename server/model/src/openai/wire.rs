//! A request as chat completions want it. The mapping loses what the other side has no word for: thinking,
//! unknown blocks, cache marks.

use std::borrow::Cow;

use conversation::{Block, RequestMessage, ResultContent, Role};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{Request, ToolDefinition};

/// OpenAI's own models refuse `max_tokens`, everyone else's servers know nothing newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputLimit {
    MaxTokens,
    MaxCompletionTokens,
}

impl OutputLimit {
    pub(super) fn of_server(base_url: &str) -> Self {
        let host = reqwest::Url::parse(base_url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let official = host.is_some_and(|host| host == "openai.com" || host.ends_with(".openai.com"));
        if official { Self::MaxCompletionTokens } else { Self::MaxTokens }
    }
}

pub(super) fn body(request: &Request, limit: OutputLimit) -> Result<Vec<u8>, serde_json::Error> {
    let max = |kind: OutputLimit| (kind == limit).then_some(request.max_tokens);
    let mut messages = Vec::new();
    let system = join(request.system.iter().map(|block| block.text.as_str()));
    if !system.is_empty() {
        messages.push(Message::System { content: system });
    }
    for message in &request.messages {
        match message.role {
            Role::User => add_user_side(message, &mut messages),
            Role::Assistant => messages.extend(assistant(message)),
        }
    }
    // Another provider's own tools mean nothing here.
    let offered = request.tools.iter().filter(|tool| tool.provider_parameters().is_none());
    serde_json::to_vec(&Body {
        model: &request.model,
        messages,
        tools: offered.map(Tool::new).collect(),
        max_tokens: max(OutputLimit::MaxTokens),
        max_completion_tokens: max(OutputLimit::MaxCompletionTokens),
        response_format: request.output_schema.as_ref().map(ResponseFormat::of),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
    })
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    r#type: &'static str,
    json_schema: JsonSchema<'a>,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'static str,
    schema: &'a Value,
}

impl<'a> ResponseFormat<'a> {
    fn of(schema: &'a Value) -> Self {
        Self { r#type: "json_schema", json_schema: JsonSchema { name: "answer", schema } }
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    stream: bool,
    stream_options: StreamOptions,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct Tool<'a> {
    function: FunctionDefinition<'a>,
}

#[derive(Serialize)]
struct FunctionDefinition<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> Tool<'a> {
    fn new(tool: &'a ToolDefinition) -> Self {
        let ToolDefinition { name, description, input_schema } = tool;
        Self { function: FunctionDefinition { name, description, parameters: input_schema } }
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: String,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        /// Empty rather than absent beside tool calls: some chat templates trip over nothing.
        content: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: String,
    },
}

/// A plain string where it can be: not every server takes parts.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(String),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct ToolCall<'a> {
    id: &'a str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(serialize_with = "as_text")]
    arguments: &'a Value,
}

/// Arguments travel as JSON inside a string.
fn as_text<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    let text = if value.is_object() { value.to_string() } else { "{}".to_owned() };
    serializer.serialize_str(&text)
}

/// Tool results become messages of their own, right behind the calls. A tool's message takes text only: its images
/// follow in the user's, before the user's own words, and the text says so.
fn add_user_side<'a>(message: &'a RequestMessage, messages: &mut Vec<Message<'a>>) {
    let mut images = Vec::new();
    let mut parts = Vec::new();
    for block in &message.content {
        let Block::ToolResult { tool_use_id, content, .. } = block else {
            parts.extend(part(block));
            continue;
        };
        let text = match content {
            ResultContent::Text(text) => text.clone(),
            ResultContent::Blocks(blocks) => result_text(blocks, &mut images),
        };
        messages.push(Message::Tool { tool_call_id: tool_use_id, content: text });
    }
    images.append(&mut parts);
    let parts = images;
    if parts.is_empty() {
        return;
    }
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part {
            Part::Text { text } => Some(*text),
            Part::ImageUrl { .. } => None,
        })
        .collect();
    let content = texts.map_or(Content::Parts(parts), |texts| Content::Text(join(texts.into_iter())));
    messages.push(Message::User { content });
}

/// The text of a tool's message; its images are put aside.
fn result_text<'a>(blocks: &'a [Block], images: &mut Vec<Part<'a>>) -> String {
    let texts: Vec<Cow<'_, str>> = blocks
        .iter()
        .filter_map(|block| match (block, part(block)?) {
            (Block::Image { .. }, image) => {
                images.push(image);
                Some(Cow::Owned(format!("(image {} of the next message)", images.len())))
            }
            (_, Part::Text { text }) => Some(Cow::Borrowed(text)),
            (_, Part::ImageUrl { .. }) => None,
        })
        .collect();
    join(texts.iter().map(AsRef::as_ref))
}

fn part(block: &Block) -> Option<Part<'_>> {
    match block {
        Block::Text { text } if text.trim_ascii().is_empty() => None,
        Block::Text { text } => Some(Part::Text { text }),
        Block::Image { source } => {
            let field = |name: &str| source.get(name).and_then(Value::as_str);
            let url = match (field("url"), field("media_type"), field("data")) {
                (Some(url), ..) => url.to_owned(),
                (None, Some(media_type), Some(data)) => format!("data:{media_type};base64,{data}"),
                _ => return None,
            };
            Some(Part::ImageUrl { image_url: ImageUrl { url } })
        }
        Block::Document { source } => Some(Part::Text { text: document_text(source) }),
        Block::Thinking { .. }
        | Block::RedactedThinking { .. }
        | Block::ToolUse { .. }
        | Block::ToolResult { .. }
        | Block::Unknown(_) => None,
    }
}

/// Plain text is text; of anything else, such as a PDF, chat completions know nothing.
fn document_text(source: &Value) -> &str {
    let field = |name: &str| source.get(name).and_then(Value::as_str);
    match (field("type"), field("media_type"), field("data")) {
        (Some("text"), _, Some(text)) => text,
        (_, Some("application/pdf"), _) => "(a PDF document, which this model cannot read)",
        _ => "(a document, which this model cannot read)",
    }
}

/// `None` for an answer of which nothing can be said here.
fn assistant(message: &RequestMessage) -> Option<Message<'_>> {
    let mut texts = Vec::new();
    let mut tool_calls = Vec::new();
    for block in &message.content {
        match block {
            Block::Text { text } => texts.push(text.as_str()),
            Block::ToolUse { id, name, input } => {
                tool_calls.push(ToolCall { id, function: Function { name, arguments: input } });
            }
            _ => {}
        }
    }
    let content = join(texts.into_iter());
    (!content.is_empty() || !tool_calls.is_empty()).then_some(Message::Assistant { content, tool_calls })
}

fn join<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.filter(|text| !text.trim_ascii().is_empty()).collect::<Vec<_>>().join("\n\n")
}
