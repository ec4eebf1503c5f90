//! Small threads for the tests of this crate, written as a line of words each:
//! `user text`, `meta text`, `summary text`, `boundary`, `notice`, `attachment text`, `say response-id text`,
//! `think response-id`, `call response-id Tool call-id …` (several pairs), `result call-id text` (`text*1000`
//! repeats it).

use std::sync::Arc;

use conversation::{
    Attachment, Block, Body, COMPACT_BOUNDARY, Flags, Message, RequestMessage, ResultContent, Role, Usage,
};
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

pub(crate) fn uuid(number: usize) -> Uuid {
    Uuid::from_u128(0x1111_0000_0000_4000_8000_0000_0000_0000 + number as u128)
}

pub(crate) fn time(second: i64) -> Timestamp {
    Timestamp::from_second(1_750_000_000 + second).unwrap()
}

/// Message `number` comes a second after the one before it.
pub(crate) fn message(number: usize, body: Body) -> Message {
    Message {
        uuid: uuid(number),
        parent: number.checked_sub(1).map(uuid),
        timestamp: time(number as i64),
        flags: Flags::default(),
        body,
    }
}

/// The messages are numbered from 0.
pub(crate) fn thread(lines: &str) -> Vec<Arc<Message>> {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.enumerate().map(|(number, line)| Arc::new(parse(number, line))).collect()
}

fn parse(number: usize, line: &str) -> Message {
    let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
    let user = |text: &str| Body::User { content: vec![Block::text(repeated(text))] };
    let (id, more) = rest.split_once(' ').unwrap_or((rest, ""));
    let body = match kind {
        "user" | "meta" | "summary" => user(rest),
        "boundary" => Body::System { subtype: COMPACT_BOUNDARY.to_owned(), text: String::new() },
        "notice" => Body::System { subtype: "notice".to_owned(), text: String::new() },
        "attachment" => Body::Attachment(Attachment { kind: "editor".to_owned(), text: repeated(rest) }),
        "say" => response(id, vec![Block::text(repeated(more))]),
        "think" => {
            response(id, vec![Block::Thinking { thinking: "hm".to_owned(), signature: "s".to_owned() }])
        }
        "call" => {
            let words: Vec<&str> = more.split(' ').collect();
            response(id, words.chunks(2).map(|pair| call(pair[0], pair[1])).collect())
        }
        "result" => Body::User { content: vec![result(id, &repeated(more))] },
        other => panic!("{other}"),
    };
    let mut message = message(number, body);
    message.flags.meta = matches!(kind, "meta" | "summary");
    message.flags.compact_summary = kind == "summary";
    message
}

fn repeated(text: &str) -> String {
    match text.rsplit_once('*').and_then(|(text, times)| Some((text, times.parse().ok()?))) {
        Some((text, times)) => text.repeat(times),
        None => text.to_owned(),
    }
}

pub(crate) fn response(id: &str, content: Vec<Block>) -> Body {
    let id = Some(id.to_owned());
    Body::Assistant { id, model: "claude".to_owned(), content, stop_reason: None, usage: None }
}

pub(crate) fn call(name: &str, id: &str) -> Block {
    Block::ToolUse { id: id.to_owned(), name: name.to_owned(), input: json!({}) }
}

pub(crate) fn result(id: &str, text: &str) -> Block {
    let content = ResultContent::Text(text.to_owned());
    Block::ToolResult { tool_use_id: id.to_owned(), content, is_error: false }
}

pub(crate) fn with_usage(message: &Message, tokens: u64) -> Arc<Message> {
    let mut message = message.clone();
    if let Body::Assistant { usage, .. } = &mut message.body {
        *usage = Some(Usage { input_tokens: tokens, ..Usage::default() });
    }
    Arc::new(message)
}

/// One token for each byte that is sent, so that tests can count by hand.
pub(crate) fn bytes(message: &Message) -> u64 {
    match &message.body {
        Body::User { content } | Body::Assistant { content, .. } => content.iter().map(block_bytes).sum(),
        Body::Attachment(attachment) => attachment.text.len() as u64,
        Body::System { .. } => 0,
    }
}

fn block_bytes(block: &Block) -> u64 {
    match block {
        Block::Text { text } => text.len() as u64,
        Block::ToolResult { content: ResultContent::Text(text), .. } => text.len() as u64,
        Block::ToolResult { content: ResultContent::Blocks(blocks), .. } => {
            blocks.iter().map(block_bytes).sum()
        }
        Block::ToolUse { .. } | Block::Thinking { .. } => 1,
        _ => 2_000,
    }
}

/// A request, one line for each block; long texts by their size.
pub(crate) fn layout<'a>(view: impl IntoIterator<Item = &'a Message>) -> String {
    layout_of(&conversation::request_messages(view))
}

pub(crate) fn layout_of(messages: &[RequestMessage]) -> String {
    let mut lines = String::new();
    for message in messages {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        for block in &message.content {
            lines.push_str(&format!("{role}: {}\n", shown(block)));
        }
    }
    lines
}

fn shown(block: &Block) -> String {
    let text = |text: &str| match text.len() {
        0..=120 => text.replace('\n', "⏎"),
        length => format!("{length} bytes"),
    };
    match block {
        Block::Text { text: said } => text(said),
        Block::ToolUse { id, name, .. } => format!("{name} {id}"),
        Block::ToolResult { tool_use_id, content: ResultContent::Text(said), .. } => {
            format!("result {tool_use_id}: {}", text(said))
        }
        Block::ToolResult { tool_use_id, content: ResultContent::Blocks(blocks), .. } => {
            let blocks: Vec<String> = blocks.iter().map(shown).collect();
            format!("result {tool_use_id}: [{}]", blocks.join(", "))
        }
        Block::Thinking { .. } => "(thinking)".to_owned(),
        Block::Image { .. } => "(image)".to_owned(),
        Block::Document { .. } => "(document)".to_owned(),
        other => format!("{other:?}"),
    }
}
