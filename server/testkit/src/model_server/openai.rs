//! A reply as a chat-completions server streams it.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    anthropic::{Message, pieces},
    reply::ReplyBlock,
};

pub(super) fn events(message: &Message<'_>, include_usage: bool) -> Vec<Bytes> {
    let mut events = Vec::new();
    let mut push = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": message.id, "object": "chat.completion.chunk", "created": 0, "model": message.model,
            "choices": choices, "usage": usage,
        });
        events.push(Bytes::from(format!("data: {chunk}\n\n")));
    };
    let mut delta =
        |delta: Value| push(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), Value::Null);
    delta(json!({ "role": "assistant", "content": "" }));
    let mut call_index = 0;
    for block in message.blocks {
        match block {
            ReplyBlock::Text(text) => {
                for piece in pieces(text) {
                    delta(json!({ "content": piece }));
                }
            }
            ReplyBlock::Thinking { thinking, .. } => {
                for piece in pieces(thinking) {
                    delta(json!({ "reasoning_content": piece }));
                }
            }
            ReplyBlock::ToolUse { name, .. } | ReplyBlock::TruncatedToolUse { name, .. } => {
                let (id, arguments) = match block {
                    ReplyBlock::ToolUse { id, input, .. } => (id.clone(), input.to_string()),
                    ReplyBlock::TruncatedToolUse { input_json, .. } => {
                        (Some("call_truncated".to_owned()), input_json.clone())
                    }
                    _ => continue,
                };
                delta(json!({ "tool_calls": [{
                    "index": call_index, "id": id, "type": "function", "function": { "name": name, "arguments": "" },
                }] }));
                for piece in pieces(&arguments) {
                    delta(
                        json!({ "tool_calls": [{ "index": call_index, "function": { "arguments": piece } }] }),
                    );
                }
                call_index += 1;
            }
            ReplyBlock::Other(value) => panic!("chat completions cannot carry {value}"),
        }
    }
    let finish = finish_reason(message.stop_reason);
    push(json!([{ "index": 0, "delta": {}, "finish_reason": finish }]), Value::Null);
    if include_usage {
        push(json!([]), usage(&message.usage));
    }
    events.push(Bytes::from_static(b"data: [DONE]\n\n"));
    events
}

fn finish_reason(stop_reason: &str) -> &str {
    match stop_reason {
        "tool_use" => "tool_calls",
        "max_tokens" => "length",
        "refusal" => "content_filter",
        _ => "stop",
    }
}

fn usage(usage: &Value) -> Value {
    let number = |name: &str| usage[name].as_u64().unwrap_or_default();
    let prompt =
        number("input_tokens") + number("cache_read_input_tokens") + number("cache_creation_input_tokens");
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": number("output_tokens"),
        "total_tokens": prompt + number("output_tokens"),
        "prompt_tokens_details": { "cached_tokens": number("cache_read_input_tokens") },
    })
}
