//! A reply as the Messages API puts it on the wire: a list of server-sent events, or one JSON object.

use bytes::Bytes;
use serde_json::{Value, json};

use super::reply::ReplyBlock;

/// Texts travel in pieces of this many characters, so that every test sees deltas.
const DELTA_CHARS: usize = 16;

pub(super) struct Message<'a> {
    pub id: String,
    pub model: &'a str,
    pub blocks: &'a [ReplyBlock],
    pub stop_reason: &'a str,
    pub applied_edits: Option<&'a Value>,
    pub usage: Value,
}

pub(super) fn events(message: &Message<'_>) -> Vec<Bytes> {
    let mut events = Vec::new();
    let mut push = |data: Value| {
        let kind = data["type"].as_str().unwrap_or_default();
        events.push(Bytes::from(format!("event: {kind}\ndata: {data}\n\n")));
    };
    let mut start_usage = message.usage.clone();
    // As the provider does; of what costs nothing, nothing.
    if start_usage["output_tokens"] != 0 {
        start_usage["output_tokens"] = json!(1);
    }
    push(json!({ "type": "message_start", "message": {
        "id": message.id, "type": "message", "role": "assistant", "model": message.model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": start_usage,
    } }));
    push(json!({ "type": "ping" }));
    for (index, block) in message.blocks.iter().enumerate() {
        let (start, deltas) = start_and_deltas(block, &message.id);
        push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        for delta in deltas {
            push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        push(json!({ "type": "content_block_stop", "index": index }));
    }
    let mut end = json!({
        "type": "message_delta",
        "delta": { "stop_reason": message.stop_reason, "stop_sequence": null },
        "usage": message.usage,
    });
    if let Some(edits) = message.applied_edits {
        end["context_management"] = json!({ "applied_edits": edits });
    }
    push(end);
    push(json!({ "type": "message_stop" }));
    events
}

/// For a request that did not ask for a stream.
pub(super) fn whole(message: &Message<'_>) -> Value {
    let content: Vec<Value> = message.blocks.iter().map(whole_block).collect();
    json!({
        "id": message.id, "type": "message", "role": "assistant", "model": message.model, "content": content,
        "stop_reason": message.stop_reason, "stop_sequence": null, "usage": message.usage,
    })
}

pub(super) fn whole_block(block: &ReplyBlock) -> Value {
    match block {
        ReplyBlock::Text(text) => json!({ "type": "text", "text": text }),
        ReplyBlock::Thinking { thinking, signature } => {
            json!({ "type": "thinking", "thinking": thinking, "signature": signature })
        }
        ReplyBlock::ToolUse { id, name, input } => {
            json!({ "type": "tool_use", "id": id, "name": name, "input": input })
        }
        ReplyBlock::TruncatedToolUse { name, .. } => json!({ "type": "tool_use", "name": name, "input": {} }),
        ReplyBlock::Other(value) => value.clone(),
    }
}

fn start_and_deltas(block: &ReplyBlock, message_id: &str) -> (Value, Vec<Value>) {
    match block {
        ReplyBlock::Text(text) => {
            let deltas = pieces(text).map(|piece| json!({ "type": "text_delta", "text": piece }));
            (json!({ "type": "text", "text": "" }), deltas.collect())
        }
        ReplyBlock::Thinking { thinking, signature } => {
            let deltas = pieces(thinking).map(|piece| json!({ "type": "thinking_delta", "thinking": piece }));
            let signature = json!({ "type": "signature_delta", "signature": signature });
            (
                json!({ "type": "thinking", "thinking": "", "signature": "" }),
                deltas.chain([signature]).collect(),
            )
        }
        ReplyBlock::ToolUse { id, name, input } => tool_use(id.as_deref(), name, &input.to_string()),
        ReplyBlock::TruncatedToolUse { name, input_json } => {
            tool_use(Some(&format!("toolu_cut_in_{message_id}")), name, input_json)
        }
        ReplyBlock::Other(value) => (value.clone(), Vec::new()),
    }
}

fn tool_use(id: Option<&str>, name: &str, input_json: &str) -> (Value, Vec<Value>) {
    // The first delta of an input is empty on the real wire too.
    let deltas = [String::new()].into_iter().chain(pieces(input_json));
    (
        json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
        deltas.map(|piece| json!({ "type": "input_json_delta", "partial_json": piece })).collect(),
    )
}

pub(super) fn pieces(text: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = characters.chunks(DELTA_CHARS).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}
