//! The body of a `model` block: a JSON list of content blocks, or lines.
//!
//! ```text
//! text, on as many lines as it needs
//! thinking what the model thinks
//! tool Read {"file_path": "<workspace>/a.txt"}
//! truncated Write {"file_path": "<wo
//! summary what stands in each of the nine sections
//! applied [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2}]
//! stop=max_tokens
//! fault=529 · fault=400:what the provider says · fault=cut:3 · fault=finish:3 · fault=garbled:2 · fault=stall:2
//! ```

use serde_json::{Value, json};

use crate::model_server::{Reply, ReplyBlock, SUMMARY_SECTIONS};

pub fn reply(body: &str) -> Reply {
    if body.trim_start().starts_with('[') {
        let blocks: Vec<Value> = serde_json::from_str(body).expect("a JSON list of content blocks");
        return Reply::blocks(blocks.into_iter().map(from_json).collect());
    }
    let mut blocks = Vec::new();
    let mut text = String::new();
    let mut stop = None;
    let mut faults = Vec::new();
    let mut applied = None;
    for line in body.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let block = match word {
            "tool" => {
                let (name, input) = rest.split_once(' ').unwrap_or((rest, "{}"));
                let input = serde_json::from_str(input).unwrap_or_else(|error| panic!("{line}: {error}"));
                ReplyBlock::ToolUse { id: None, name: name.to_owned(), input }
            }
            "truncated" => {
                let (name, input) = rest.split_once(' ').unwrap_or((rest, ""));
                ReplyBlock::TruncatedToolUse { name: name.to_owned(), input_json: input.to_owned() }
            }
            "summary" => ReplyBlock::Text(summary(rest)),
            "applied" => {
                applied = Some(serde_json::from_str(rest).unwrap_or_else(|error| panic!("{line}: {error}")));
                continue;
            }
            "thinking" => ReplyBlock::Thinking { thinking: rest.to_owned(), signature: "signed".to_owned() },
            _ => {
                match line.split_once('=') {
                    Some(("stop", reason)) => stop = Some(reason.to_owned()),
                    Some(("fault", fault)) => faults.push(fault.to_owned()),
                    _ => {
                        text.push_str(line);
                        text.push('\n');
                    }
                }
                continue;
            }
        };
        push_text(&mut blocks, &mut text);
        blocks.push(block);
    }
    push_text(&mut blocks, &mut text);
    let mut reply = Reply::blocks(blocks);
    if let Some(reason) = stop {
        reply = reply.stop_reason(&reason);
    }
    if let Some(edits) = applied {
        reply = reply.applied_edits(edits);
    }
    faults.iter().fold(reply, |reply, fault| with_fault(reply, fault))
}

/// What a model writes that was asked to summarise a conversation.
fn summary(text: &str) -> String {
    let sections =
        SUMMARY_SECTIONS.iter().enumerate().map(|(at, title)| format!("{}. {title}\n{text}\n", at + 1));
    format!("<analysis>\nthoughts\n</analysis>\n<summary>\n{}</summary>", sections.collect::<String>())
}

fn with_fault(reply: Reply, fault: &str) -> Reply {
    if let Ok(status) = fault.parse() {
        return Reply::status(status).header("retry-after", "0");
    }
    let (kind, count) = fault.split_once(':').unwrap_or((fault, "2"));
    if let Ok(status) = kind.parse() {
        let error = json!({ "type": "invalid_request_error", "message": count });
        return Reply::status(status).body(&json!({ "type": "error", "error": error }).to_string());
    }
    let count = count.parse().unwrap_or_else(|error| panic!("fault={fault}: {error}"));
    match kind {
        "cut" => reply.cut_after_events(count),
        "finish" => reply.finishing_after_events(count),
        "stall" => reply.stalling_after_events(count),
        "garbled" => reply.garbled_before_event(count, &b"event: \xff\xfe{{{\ndata: {]\n\n"[..]),
        _ => panic!("no such fault: {fault}"),
    }
}

fn from_json(block: Value) -> ReplyBlock {
    let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
    match block["type"].as_str() {
        Some("text") => ReplyBlock::Text(text("text")),
        Some("thinking") => ReplyBlock::Thinking { thinking: text("thinking"), signature: text("signature") },
        Some("tool_use") => ReplyBlock::ToolUse {
            id: block["id"].as_str().map(str::to_owned),
            name: text("name"),
            input: block["input"].clone(),
        },
        _ => ReplyBlock::Other(block),
    }
}

fn push_text(blocks: &mut Vec<ReplyBlock>, text: &mut String) {
    let whole = std::mem::take(text);
    if !whole.trim().is_empty() {
        blocks.push(ReplyBlock::Text(whole.trim_end().to_owned()));
    }
}
