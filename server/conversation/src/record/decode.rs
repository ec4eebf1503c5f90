//! Lines to records, of ours and of Claude Code's.
//!
//! Nearly all lines are messages in the usual shape: those are read in one pass, straight into blocks. Whatever
//! that pass does not understand goes the long way through a JSON tree, which defines what a line means.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{
    BRANCHES, CHECKPOINT, CONTEXT, COST, CUSTOM_TITLE, FORKED_FROM, ForkedFrom, GENERATED_TITLE, HEAD, MODE,
    MODEL_CHOICE, PREFIX, QUEUE_OPERATION, READ_FILES, Record, identity,
};
use crate::message::{
    Attachment, Block, Body, Flags, Message, ResultContent, SYNTHETIC_MODEL, SessionId, StopReason, Usage,
};

#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Skip the line and say so.
    #[error("not a JSON object: {0}")]
    Json(#[from] serde_json::Error),
    /// The line is kept, but there is nothing to put into a thread.
    #[error("a message without content")]
    NoContent,
}

/// One whole line, with or without its line break.
pub fn decode(line: &[u8]) -> Result<Record, DecodeError> {
    match serde_json::from_slice::<UsualLine>(line).ok().and_then(UsualLine::into_message) {
        Some(message) => Ok(Record::Message(Arc::new(message))),
        None => decode_tree(serde_json::from_slice::<Map<String, Value>>(line)?),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsualLine {
    #[serde(rename = "type")]
    kind: UsualKind,
    uuid: Uuid,
    #[serde(default)]
    parent_uuid: Option<Uuid>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    is_meta: bool,
    #[serde(default)]
    is_compact_summary: bool,
    #[serde(default)]
    is_api_error_message: bool,
    timestamp: Timestamp,
    message: UsualMessage,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum UsualKind {
    User,
    Assistant,
}

#[derive(Deserialize)]
struct UsualMessage {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    model: Option<String>,
    content: UsualContent,
    #[serde(default)]
    stop_reason: Option<StopReason>,
    #[serde(default)]
    usage: Option<Usage>,
}

/// A string or blocks, without the buffering that an untagged enum needs.
enum UsualContent {
    Text(String),
    Blocks(Vec<UsualBlock>),
}

#[derive(Deserialize)]
struct UsualBlock {
    #[serde(rename = "type")]
    kind: BlockKind,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    data: Option<String>,
    source: Option<Value>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Value>,
    tool_use_id: Option<String>,
    content: Option<UsualContent>,
    is_error: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum BlockKind {
    Text,
    Thinking,
    RedactedThinking,
    ToolUse,
    ToolResult,
    Image,
    Document,
}

impl UsualLine {
    fn into_message(self) -> Option<Message> {
        if self.is_api_error_message {
            return None;
        }
        let content = match self.message.content {
            UsualContent::Text(text) => vec![Block::text(text)],
            UsualContent::Blocks(blocks) => known_blocks(blocks)?,
        };
        let body = match self.kind {
            UsualKind::User => Body::User { content },
            UsualKind::Assistant => {
                let model = self.message.model?;
                assistant(self.message.id, model, content, self.message.stop_reason, self.message.usage)
            }
        };
        let flags = Flags {
            meta: self.is_meta,
            sidechain: self.is_sidechain,
            compact_summary: self.is_compact_summary,
        };
        Some(Message { uuid: self.uuid, parent: self.parent_uuid, timestamp: self.timestamp, flags, body })
    }
}

fn known_blocks(blocks: Vec<UsualBlock>) -> Option<Vec<Block>> {
    blocks.into_iter().map(known_block).collect()
}

fn known_block(block: UsualBlock) -> Option<Block> {
    Some(match block.kind {
        BlockKind::Text => Block::Text { text: block.text? },
        BlockKind::Thinking => Block::Thinking { thinking: block.thinking?, signature: block.signature? },
        BlockKind::RedactedThinking => Block::RedactedThinking { data: block.data? },
        BlockKind::Image => Block::Image { source: block.source? },
        BlockKind::Document => Block::Document { source: block.source? },
        BlockKind::ToolUse => Block::ToolUse { id: block.id?, name: block.name?, input: block.input? },
        BlockKind::ToolResult => Block::ToolResult {
            tool_use_id: block.tool_use_id?,
            content: match block.content {
                None => ResultContent::default(),
                Some(UsualContent::Text(text)) => ResultContent::Text(text),
                Some(UsualContent::Blocks(blocks)) => ResultContent::Blocks(known_blocks(blocks)?),
            },
            is_error: block.is_error.unwrap_or(false),
        },
    })
}

impl<'de> Deserialize<'de> for UsualContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = UsualContent;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("text or blocks")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<UsualContent, E> {
                Ok(UsualContent::Text(text.to_owned()))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<UsualContent, E> {
                Ok(UsualContent::Text(text))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut blocks: A) -> Result<UsualContent, A::Error> {
                let mut content = Vec::with_capacity(1);
                while let Some(block) = blocks.next_element()? {
                    content.push(block);
                }
                Ok(UsualContent::Blocks(content))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

fn decode_tree(mut line: Map<String, Value>) -> Result<Record, DecodeError> {
    let kind = line.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let parsed = match kind.as_str() {
        "user" | "assistant" | "system" | "attachment" => {
            return message(&kind, line).map(|message| Record::Message(Arc::new(message)));
        }
        CUSTOM_TITLE => {
            line.get("customTitle").and_then(Value::as_str).map(|title| Record::Title(title.to_owned()))
        }
        GENERATED_TITLE => {
            line.get("aiTitle").and_then(Value::as_str).map(|title| Record::GeneratedTitle(title.to_owned()))
        }
        READ_FILES => line.get_mut("files").map(|files| Record::ReadFiles(files.take())),
        MODE => line.get("mode").and_then(Value::as_str).map(|mode| Record::Mode(mode.to_owned())),
        QUEUE_OPERATION => queue_operation(&line),
        HEAD => head(&line),
        FORKED_FROM => forked_from(&line),
        BRANCHES => line.get("count").and_then(Value::as_u64).map(Record::Branches),
        CHECKPOINT => line.get_mut("checkpoint").map(|checkpoint| Record::Checkpoint(checkpoint.take())),
        CONTEXT => line.get_mut("context").map(|context| Record::Context(context.take())),
        MODEL_CHOICE => {
            line.get("model").and_then(Value::as_str).map(|model| Record::ModelChoice(model.to_owned()))
        }
        PREFIX => serde_json::from_value(Value::Object(line.clone())).ok().map(Record::Prefix),
        COST => serde_json::from_value(Value::Object(line.clone())).ok().map(Record::Cost),
        _ => None,
    };
    Ok(parsed.unwrap_or_else(|| Record::Unknown(Value::Object(line))))
}

/// Claude Code's own name no turn, so nothing can be told about them: `None`.
fn queue_operation(line: &Map<String, Value>) -> Option<Record> {
    let text = |name| line.get(name).and_then(Value::as_str).map(str::to_owned);
    let turn = text("turnId")?;
    match text("operation")?.as_str() {
        "enqueue" => Some(Record::Queued { turn, text: text("content")? }),
        "dequeue" => Some(Record::Dequeued { turn }),
        _ => None,
    }
}

/// What names no place is no head: a session is not rewound to its beginning by a field that got lost.
fn head(line: &Map<String, Value>) -> Option<Record> {
    match line.get("headUuid")? {
        Value::Null => Some(Record::Head { uuid: None }),
        Value::String(uuid) if !uuid.is_empty() => Some(Record::Head { uuid: Some(parse_uuid(uuid)) }),
        _ => None,
    }
}

fn forked_from(line: &Map<String, Value>) -> Option<Record> {
    let session = line.get("fromSession").and_then(Value::as_str).and_then(SessionId::parse)?;
    let message = line.get("fromMessage").and_then(Value::as_str).map(parse_uuid);
    Some(Record::ForkedFrom(ForkedFrom { session, message }))
}

fn message(kind: &str, mut line: Map<String, Value>) -> Result<Message, DecodeError> {
    let flag = |name| line.get(name).and_then(Value::as_bool).unwrap_or(false);
    let id = |name| line.get(name).and_then(Value::as_str).map(parse_uuid);
    let (flags, is_api_error) = (
        Flags {
            meta: flag("isMeta"),
            sidechain: flag("isSidechain"),
            compact_summary: flag("isCompactSummary"),
        },
        flag("isApiErrorMessage"),
    );
    let uuid = id("uuid").unwrap_or_default();
    let parent = id("parentUuid").or_else(|| id("logicalParentUuid"));
    let timestamp = line.get("timestamp").and_then(Value::as_str).and_then(|text| text.parse().ok());
    let body = match kind {
        "system" => Body::System {
            subtype: take_string(&mut line, "subtype").unwrap_or_default(),
            text: take_string(&mut line, "content").unwrap_or_default(),
            // One that makes no sense is as good as none.
            compaction: line.remove("compactMetadata").and_then(|value| serde_json::from_value(value).ok()),
        },
        "attachment" => Body::Attachment(attachment(line.remove("attachment"))),
        _ => {
            let Some(Value::Object(mut message)) = line.remove("message") else {
                return Err(DecodeError::NoContent);
            };
            let content = blocks(message.remove("content").ok_or(DecodeError::NoContent)?);
            match kind {
                "user" => Body::User { content },
                // Shown to the user when it happened; never sent.
                _ if is_api_error => Body::notice("api_error", joined_text(&content)),
                _ => assistant(
                    take_string(&mut message, "id"),
                    take_string(&mut message, "model").unwrap_or_default(),
                    content,
                    message.remove("stop_reason").and_then(|reason| serde_json::from_value(reason).ok()),
                    message.remove("usage").and_then(usage),
                ),
            }
        }
    };
    Ok(Message { uuid, parent, timestamp: timestamp.unwrap_or(Timestamp::UNIX_EPOCH), flags, body })
}

fn assistant(
    id: Option<String>,
    model: String,
    content: Vec<Block>,
    stop_reason: Option<StopReason>,
    usage: Option<Usage>,
) -> Body {
    // "Messages made locally carry model `<synthetic>` and no usage."
    let made_locally = model == SYNTHETIC_MODEL;
    Body::Assistant {
        id: id.filter(|_| !made_locally),
        model,
        content,
        stop_reason,
        usage: usage.filter(|_| !made_locally),
    }
}

fn attachment(value: Option<Value>) -> Attachment {
    let Some(Value::Object(mut fields)) = value else {
        return Attachment { kind: String::new(), text: String::new() };
    };
    let kind = take_string(&mut fields, "type").unwrap_or_default();
    // Claude Code keeps what an attachment was made of, not what was sent. Only what the user typed during a
    // turn can be taken over as it is.
    let text = take_string(&mut fields, "text").or_else(|| match kind.as_str() {
        "queued_command" => take_string(&mut fields, "prompt"),
        _ => None,
    });
    Attachment { kind, text: text.unwrap_or_default() }
}

fn blocks(content: Value) -> Vec<Block> {
    match content {
        Value::String(text) => vec![Block::Text { text }],
        Value::Array(blocks) => blocks.into_iter().map(block).collect(),
        other => vec![Block::Unknown(other)],
    }
}

fn block(value: Value) -> Block {
    match Block::deserialize(&value) {
        Ok(Block::Unknown(_)) | Err(_) => {}
        Ok(block) => return block,
    }
    // `"is_error": null` must not hide a result from its call.
    let mut without_nulls = value.clone();
    if let Value::Object(fields) = &mut without_nulls {
        fields.retain(|_, field| !field.is_null());
    }
    match Block::deserialize(&without_nulls) {
        Ok(Block::Unknown(_)) | Err(_) => Block::Unknown(value),
        Ok(block) => block,
    }
}

fn usage(mut value: Value) -> Option<Usage> {
    value.as_object_mut()?.retain(|_, field| !field.is_null());
    serde_json::from_value(value).ok()
}

fn joined_text(content: &[Block]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn take_string(fields: &mut Map<String, Value>, name: &str) -> Option<String> {
    match fields.get_mut(name)?.take() {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn parse_uuid(text: &str) -> Uuid {
    Uuid::try_parse(text).unwrap_or_else(|_| identity(text.as_bytes()))
}
