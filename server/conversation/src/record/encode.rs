//! Records to lines. The fields and their order are Claude Code's.

use std::{borrow::Cow, io::Write};

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::{
    BRANCHES, CHECKPOINT, COMPACT_BOUNDARY, CONTEXT, COST, CUSTOM_TITLE, FORKED_FROM, FORMAT_VERSION,
    GENERATED_TITLE, HEAD, MODE, MODEL_CHOICE, PREFIX, QUEUE_OPERATION, READ_FILES,
};
use super::{CostState, Prefix, Record, Stamp};
use crate::message::{Block, Body, Compaction, Message, SYNTHETIC_MODEL, StopReason, Usage};

/// Appends the record to `line`, with its line break.
pub(crate) fn encode(record: &Record, stamp: &Stamp, line: &mut Vec<u8>) -> serde_json::Result<()> {
    match record {
        Record::Message(message) => serde_json::to_writer(&mut *line, &message_line(message, Some(stamp)))?,
        Record::Prefix(prefix) => write(line, PREFIX, stamp, Own::Prefix(prefix))?,
        Record::Title(title) => write(line, CUSTOM_TITLE, stamp, Own::Title { custom_title: title })?,
        Record::GeneratedTitle(title) => {
            write(line, GENERATED_TITLE, stamp, Own::GeneratedTitle { ai_title: title })?;
        }
        Record::Cost(cost) => write(line, COST, stamp, Own::Cost(cost))?,
        Record::ReadFiles(files) => write(line, READ_FILES, stamp, Own::ReadFiles { files })?,
        Record::Mode(mode) => write(line, MODE, stamp, Own::Mode { mode })?,
        Record::Queued { turn, text } => write_queue(line, stamp, "enqueue", Some(text), turn)?,
        Record::Dequeued { turn } => write_queue(line, stamp, "dequeue", None, turn)?,
        Record::Head { uuid } => write(line, HEAD, stamp, Own::Head { head_uuid: *uuid })?,
        Record::ForkedFrom(from) => {
            let own = Own::ForkedFrom { from_session: from.session.as_str(), from_message: from.message };
            write(line, FORKED_FROM, stamp, own)?;
        }
        Record::Branches(count) => write(line, BRANCHES, stamp, Own::Branches { count: *count })?,
        Record::Checkpoint(checkpoint) => write(line, CHECKPOINT, stamp, Own::Checkpoint { checkpoint })?,
        Record::Context(context) => write(line, CONTEXT, stamp, Own::Context { context })?,
        Record::ModelChoice(model) => write(line, MODEL_CHOICE, stamp, Own::Model { model })?,
        Record::Unknown(value) => serde_json::to_writer(&mut *line, value)?,
    }
    line.write_all(b"\n").map_err(serde_json::Error::io)
}

fn write(line: &mut Vec<u8>, kind: &'static str, stamp: &Stamp, own: Own<'_>) -> serde_json::Result<()> {
    let session_id = stamp.session.as_str();
    serde_json::to_writer(line, &OwnLine { kind, session_id, reverie_format: FORMAT_VERSION, own })
}

fn write_queue(
    line: &mut Vec<u8>,
    stamp: &Stamp,
    operation: &'static str,
    content: Option<&str>,
    turn_id: &str,
) -> serde_json::Result<()> {
    let (kind, timestamp, session_id) = (QUEUE_OPERATION, jiff::Timestamp::now(), stamp.session.as_str());
    let reverie_format = FORMAT_VERSION;
    serde_json::to_writer(
        line,
        &QueueLine { kind, operation, timestamp, session_id, content, turn_id, reverie_format },
    )
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct QueueLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    operation: &'static str,
    timestamp: jiff::Timestamp,
    session_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    turn_id: &'a str,
    reverie_format: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OwnLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    session_id: &'a str,
    reverie_format: u64,
    #[serde(flatten)]
    own: Own<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Own<'a> {
    Prefix(&'a Prefix),
    #[serde(rename_all = "camelCase")]
    Title {
        custom_title: &'a str,
    },
    #[serde(rename_all = "camelCase")]
    GeneratedTitle {
        ai_title: &'a str,
    },
    Cost(&'a CostState),
    ReadFiles {
        files: &'a Value,
    },
    Mode {
        mode: &'a str,
    },
    // Not "uuid": this is no part of the chain.
    #[serde(rename_all = "camelCase")]
    Head {
        head_uuid: Option<Uuid>,
    },
    #[serde(rename_all = "camelCase")]
    ForkedFrom {
        from_session: &'a str,
        from_message: Option<Uuid>,
    },
    Branches {
        count: u64,
    },
    Checkpoint {
        checkpoint: &'a Value,
    },
    Context {
        context: &'a Value,
    },
    Model {
        model: &'a str,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageLine<'a> {
    parent_uuid: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logical_parent_uuid: Option<Uuid>,
    is_sidechain: bool,
    user_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    git_branch: Option<&'a str>,
    #[serde(flatten)]
    body: BodyFields<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_meta: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_compact_summary: bool,
    uuid: Uuid,
    timestamp: jiff::Timestamp,
    reverie_format: u64,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum BodyFields<'a> {
    User {
        message: UserFields<'a>,
    },
    Assistant {
        message: AssistantFields<'a>,
    },
    System {
        subtype: &'a str,
        content: &'a str,
        level: &'static str,
        #[serde(rename = "compactMetadata", skip_serializing_if = "Option::is_none")]
        compaction: Option<&'a Compaction>,
    },
    Attachment {
        attachment: AttachmentFields<'a>,
    },
}

#[derive(Serialize)]
struct UserFields<'a> {
    role: &'static str,
    content: &'a [Block],
}

#[derive(Serialize)]
struct AssistantFields<'a> {
    model: &'a str,
    id: Option<Cow<'a, str>>,
    #[serde(rename = "type")]
    kind: &'static str,
    role: &'static str,
    content: &'a [Block],
    stop_reason: Option<&'a StopReason>,
    stop_sequence: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

#[derive(Serialize)]
struct AttachmentFields<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    text: &'a str,
}

/// The line of a message; without a stamp it says nothing about its surroundings.
pub(crate) fn message_line<'a>(message: &'a Message, stamp: Option<&'a Stamp>) -> MessageLine<'a> {
    // As in Claude Code, a boundary ends the chain that is sent and keeps the older one under another name.
    let is_boundary = matches!(&message.body, Body::System { subtype, .. } if subtype == COMPACT_BOUNDARY);
    MessageLine {
        parent_uuid: message.parent.filter(|_| !is_boundary),
        logical_parent_uuid: message.parent.filter(|_| is_boundary),
        is_sidechain: message.flags.sidechain,
        user_type: "external",
        cwd: stamp.map(|stamp| stamp.cwd.to_string_lossy()),
        session_id: stamp.map(|stamp| stamp.session.as_str()),
        version: stamp.map(|stamp| stamp.version.as_str()),
        git_branch: stamp.map(|stamp| stamp.git_branch.as_deref().unwrap_or("")),
        body: body_fields(message),
        is_meta: message.flags.meta,
        is_compact_summary: message.flags.compact_summary,
        uuid: message.uuid,
        timestamp: message.timestamp,
        reverie_format: FORMAT_VERSION,
    }
}

fn body_fields(message: &Message) -> BodyFields<'_> {
    match &message.body {
        Body::User { content } => BodyFields::User { message: UserFields { role: "user", content } },
        Body::Assistant { id, model, content, stop_reason, usage } => {
            let id = id.as_deref().map(Cow::Borrowed);
            // Claude Code reads id and usage of every assistant message.
            let (id, usage) = match model == SYNTHETIC_MODEL {
                true => {
                    (id.or_else(|| Some(message.uuid.to_string().into())), usage.or(Some(Usage::default())))
                }
                false => (id, *usage),
            };
            BodyFields::Assistant {
                message: AssistantFields {
                    model,
                    id,
                    kind: "message",
                    role: "assistant",
                    content,
                    stop_reason: stop_reason.as_ref(),
                    stop_sequence: None,
                    usage,
                },
            }
        }
        Body::System { subtype, text, compaction } => {
            let compaction = compaction.as_deref();
            BodyFields::System { subtype, content: text, level: "info", compaction }
        }
        Body::Attachment(attachment) => BodyFields::Attachment {
            attachment: AttachmentFields { kind: &attachment.kind, text: &attachment.text },
        },
    }
}
