//! Small messages for the tests of this crate.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use crate::message::{Attachment, Block, Body, Flags, Message, ResultContent};

/// Message `number` follows message `number - 1`; the first has no parent.
pub(crate) fn message(number: u32, body: Body) -> Arc<Message> {
    Arc::new(Message {
        uuid: uuid(number),
        parent: (number > 1).then(|| uuid(number - 1)),
        timestamp: Timestamp::from_second(1_750_000_000 + i64::from(number)).unwrap(),
        flags: Flags::default(),
        body,
    })
}

pub(crate) fn uuid(number: u32) -> Uuid {
    Uuid::from_u128(0x1111_0000_0000_4000_8000_0000_0000_0000 + u128::from(number))
}

pub(crate) fn user(number: u32, text: &str) -> Arc<Message> {
    message(number, Body::User { content: vec![Block::text(text)] })
}

pub(crate) fn attachment(number: u32, text: &str) -> Arc<Message> {
    message(number, Body::Attachment(Attachment { kind: "editor".to_owned(), text: text.to_owned() }))
}

pub(crate) fn system(number: u32, subtype: &str) -> Arc<Message> {
    message(number, Body::notice(subtype, "note"))
}

pub(crate) fn assistant(number: u32, id: &str, content: Vec<Block>) -> Arc<Message> {
    let body = Body::Assistant {
        id: Some(id.to_owned()),
        model: "claude".to_owned(),
        content,
        stop_reason: None,
        usage: None,
    };
    message(number, body)
}

pub(crate) fn tool_use(id: &str) -> Block {
    Block::ToolUse { id: id.to_owned(), name: "Read".to_owned(), input: json!({ "file_path": "/a" }) }
}

pub(crate) fn result(number: u32, id: &str) -> Arc<Message> {
    message(number, Body::User { content: vec![result_block(id)] })
}

pub(crate) fn result_block(id: &str) -> Block {
    Block::ToolResult {
        tool_use_id: id.to_owned(),
        content: ResultContent::Text(format!("result of {id}")),
        is_error: false,
    }
}
