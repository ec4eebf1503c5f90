//! What the Messages API refuses in a request. The scripted server answers 400 with these findings, so that every test
//! that sends a request also checks its shape.

mod edits;

use std::collections::HashSet;

use serde_json::Value;

use crate::prompt_cache::MAX_BREAKPOINTS;

const FIELDS: &[&str] = &[
    "cache_control",
    "container",
    "context_management",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

/// Block kinds with the fields they may carry; the first list must be there.
const BLOCKS: &[(&str, &[&str], &[&str])] = &[
    ("text", &["text"], &["citations"]),
    ("thinking", &["thinking", "signature"], &[]),
    ("redacted_thinking", &["data"], &[]),
    ("tool_use", &["id", "name", "input"], &["caller"]),
    ("tool_result", &["tool_use_id"], &["content", "is_error", "cache_reference"]),
    ("cache_edits", &["edits"], &[]),
    ("image", &["source"], &[]),
    ("document", &["source"], &["title", "context", "citations"]),
];

/// Everything wrong with a request body; empty for a good one.
pub fn validate_request(body: &Value) -> Vec<String> {
    let mut findings = Vec::new();
    let Some(fields) = body.as_object() else {
        return vec!["the body must be an object".to_owned()];
    };
    for name in fields.keys().filter(|name| !FIELDS.contains(&name.as_str())) {
        findings.push(format!("{name}: Extra inputs are not permitted"));
    }
    if body["model"].as_str().is_none_or(str::is_empty) {
        findings.push("model: must be a string that is not empty".to_owned());
    }
    if body["max_tokens"].as_u64().is_none_or(|tokens| tokens == 0) {
        findings.push("max_tokens: must be an integer of at least 1".to_owned());
    }
    check_tools(body, &mut findings);
    check_system(body, &mut findings);
    check_messages(body, &mut findings);
    edits::check(body, &mut findings);
    let breakpoints = count_breakpoints(body);
    if breakpoints > MAX_BREAKPOINTS {
        findings.push(format!(
            "A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. Found {breakpoints}."
        ));
    }
    findings
}

fn check_tools(body: &Value, findings: &mut Vec<String>) {
    let mut names = HashSet::new();
    for (index, tool) in body["tools"].as_array().into_iter().flatten().enumerate() {
        let name = tool["name"].as_str().unwrap_or_default();
        let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 128 || !name.chars().all(good) {
            findings.push(format!("tools.{index}.name: {name:?} must match ^[a-zA-Z0-9_-]{{1,128}}$"));
        }
        if !names.insert(name) {
            findings.push(format!("tools.{index}.name: Tool names must be unique, {name:?} is not"));
        }
        // Tools with a `type` run at the provider and have no schema of ours.
        if tool["type"].is_null() && tool["input_schema"]["type"] != "object" {
            findings.push(format!("tools.{index}.input_schema.type: must be \"object\""));
        }
        for field in tool.as_object().into_iter().flat_map(|tool| tool.keys()) {
            let known = ["name", "description", "input_schema", "cache_control", "type"];
            if tool["type"].is_null() && !known.contains(&field.as_str()) {
                findings.push(format!("tools.{index}.{field}: Extra inputs are not permitted"));
            }
        }
        check_cache_control(tool, &format!("tools.{index}"), findings);
    }
}

fn check_system(body: &Value, findings: &mut Vec<String>) {
    match &body["system"] {
        Value::Null | Value::String(_) => {}
        Value::Array(blocks) => {
            for (index, block) in blocks.iter().enumerate() {
                let place = format!("system.{index}");
                if block["type"] != "text" {
                    findings.push(format!("{place}.type: must be \"text\""));
                }
                check_block(block, &place, findings);
            }
        }
        _ => findings.push("system: must be a string or a list of blocks".to_owned()),
    }
}

fn check_messages(body: &Value, findings: &mut Vec<String>) {
    let Some(messages) = body["messages"].as_array().filter(|messages| !messages.is_empty()) else {
        findings.push("messages: at least one message is required".to_owned());
        return;
    };
    let mut expected_role = "user";
    let mut open_calls: Vec<&str> = Vec::new();
    let mut all_calls = HashSet::new();
    for (index, message) in messages.iter().enumerate() {
        let place = format!("messages.{index}");
        for field in message.as_object().into_iter().flat_map(|message| message.keys()) {
            if field != "role" && field != "content" {
                findings.push(format!("{place}.{field}: Extra inputs are not permitted"));
            }
        }
        if message["role"] != expected_role {
            findings.push(format!(
                "{place}.role: roles must alternate, starting with user: {} instead of {expected_role:?}",
                message["role"]
            ));
        }
        expected_role = if message["role"] == "user" { "assistant" } else { "user" };
        check_results(message, &place, &open_calls, findings);
        open_calls.clear();
        match &message["content"] {
            Value::String(text) if text.trim().is_empty() => {
                findings.push(format!("{place}.content: text content blocks must be non-empty"));
            }
            Value::String(_) => {}
            Value::Array(blocks) if blocks.is_empty() => {
                findings.push(format!("{place}.content: must not be empty"));
            }
            Value::Array(blocks) => {
                for (index, block) in blocks.iter().enumerate() {
                    check_block(block, &format!("{place}.content.{index}"), findings);
                    check_side(message, block, &format!("{place}.content.{index}"), findings);
                    if let (Some("tool_use"), Some(id)) = (block["type"].as_str(), block["id"].as_str()) {
                        open_calls.push(id);
                        if !all_calls.insert(id) {
                            findings.push(format!(
                                "{place}.content.{index}.id: `tool_use` ids must be unique: {id}"
                            ));
                        }
                    }
                }
            }
            _ => findings.push(format!("{place}.content: must be a string or a list of blocks")),
        }
    }
    if !open_calls.is_empty() {
        findings.push(format!(
            "messages: `tool_use` ids were found without `tool_result` blocks after them: {}",
            open_calls.join(", ")
        ));
    }
    let last = &messages[messages.len() - 1];
    let last_text = last["content"]
        .as_array()
        .and_then(|blocks| blocks.last())
        .map_or(&last["content"], |block| &block["text"]);
    if last["role"] == "assistant"
        && last_text.as_str().is_some_and(|text| text.ends_with(char::is_whitespace))
    {
        findings.push("messages: final assistant content cannot end with trailing whitespace".to_owned());
    }
}

/// Each call of the message before must be answered here, once, in front of everything else.
fn check_results(message: &Value, place: &str, calls: &[&str], findings: &mut Vec<String>) {
    let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut answered = Vec::new();
    let mut other_seen = false;
    for block in blocks {
        if block["type"] != "tool_result" {
            other_seen = true;
            continue;
        }
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        if other_seen {
            findings.push(format!("{place}: tool_result {id} must come before other content"));
        }
        if !calls.contains(&id) {
            findings.push(format!("{place}: unexpected `tool_use_id` in `tool_result` blocks: {id}"));
        } else if answered.contains(&id) {
            findings.push(format!("{place}: each tool_use must have a single result: {id}"));
        }
        answered.push(id);
    }
    let missing: Vec<&str> = calls.iter().copied().filter(|id| !answered.contains(id)).collect();
    if !missing.is_empty() {
        findings.push(format!(
            "{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {}",
            missing.join(", ")
        ));
    }
}

fn check_side(message: &Value, block: &Value, place: &str, findings: &mut Vec<String>) {
    let only_side = match block["type"].as_str() {
        Some("tool_use" | "thinking" | "redacted_thinking") => "assistant",
        Some("tool_result" | "image" | "document" | "cache_edits") => "user",
        _ => return,
    };
    if message["role"] != only_side {
        findings.push(format!(
            "{place}: `{}` blocks belong to the {only_side}",
            block["type"].as_str().unwrap_or("?")
        ));
    }
}

fn check_block(block: &Value, place: &str, findings: &mut Vec<String>) {
    let kind = block["type"].as_str().unwrap_or_default();
    let Some((_, required, optional)) = BLOCKS.iter().find(|(known, ..)| *known == kind) else {
        findings.push(format!("{place}.type: unknown block type {}", block["type"]));
        return;
    };
    for field in required.iter().filter(|field| block[**field].is_null()) {
        findings.push(format!("{place}.{field}: Field required"));
    }
    for field in block.as_object().into_iter().flat_map(|block| block.keys()) {
        let field = field.as_str();
        if field != "type"
            && field != "cache_control"
            && !required.contains(&field)
            && !optional.contains(&field)
        {
            findings.push(format!("{place}.{field}: Extra inputs are not permitted"));
        }
    }
    match kind {
        "text" if block["text"].as_str().is_some_and(|text| text.trim().is_empty()) => {
            findings.push(format!("{place}: text content blocks must contain non-whitespace text"));
        }
        "tool_use" if !block["input"].is_object() => {
            findings.push(format!("{place}.input: must be an object"));
        }
        "tool_result" => check_result_content(block, place, findings),
        "thinking" | "redacted_thinking" | "cache_edits" if !block["cache_control"].is_null() => {
            findings.push(format!("{place}.cache_control: not allowed on {kind} blocks"));
        }
        _ => {}
    }
    check_cache_control(block, place, findings);
}

fn check_result_content(block: &Value, place: &str, findings: &mut Vec<String>) {
    match &block["content"] {
        Value::Null | Value::String(_) => {}
        Value::Array(inner) => {
            for (index, item) in inner.iter().enumerate() {
                let place = format!("{place}.content.{index}");
                if !matches!(item["type"].as_str(), Some("text" | "image" | "document")) {
                    findings.push(format!("{place}.type: {} cannot be inside a tool_result", item["type"]));
                }
                if !item["cache_control"].is_null() {
                    findings.push(format!("{place}.cache_control: belongs on the tool_result itself"));
                }
                check_block(item, &place, findings);
            }
        }
        _ => findings.push(format!("{place}.content: must be a string or a list of blocks")),
    }
}

fn check_cache_control(block: &Value, place: &str, findings: &mut Vec<String>) {
    let control = &block["cache_control"];
    if control.is_null() {
        return;
    }
    if control["type"] != "ephemeral" {
        findings.push(format!("{place}.cache_control.type: must be \"ephemeral\""));
    }
    if !matches!(&control["ttl"], Value::Null) && control["ttl"] != "5m" && control["ttl"] != "1h" {
        findings.push(format!("{place}.cache_control.ttl: must be \"5m\" or \"1h\""));
    }
    // An empty text is refused with a mark even where it would pass without one.
    if block["type"] == "text" && block["text"] == "" {
        findings.push(format!("{place}.cache_control: cannot be set for empty text blocks"));
    }
}

fn count_breakpoints(value: &Value) -> usize {
    match value {
        Value::Object(fields) => fields
            .iter()
            // What the model wrote, or a schema, may contain any key.
            .filter(|(name, _)| *name != "input" && *name != "input_schema")
            .map(|(name, value)| {
                usize::from(name == "cache_control" && value.is_object()) + count_breakpoints(value)
            })
            .sum(),
        Value::Array(items) => items.iter().map(count_breakpoints).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(change: impl FnOnce(&mut Value), expected: Expect) {
        let mut body = good();
        change(&mut body);
        expected.assert_eq(&validate_request(&body).join("\n"));
    }

    fn good() -> Value {
        json!({
            "model": "m",
            "max_tokens": 100,
            "stream": true,
            "system": [{ "type": "text", "text": "be good", "cache_control": { "type": "ephemeral" } }],
            "tools": [{ "name": "Read", "description": "reads", "input_schema": { "type": "object" } }],
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "hi" }] },
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "hm", "signature": "s" },
                    { "type": "tool_use", "id": "t1", "name": "Read", "input": {} },
                    { "type": "tool_use", "id": "t2", "name": "Read", "input": { "cache_control": {} } },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "t1", "content": "" },
                    { "type": "tool_result", "tool_use_id": "t2", "content": [{ "type": "text", "text": "b" }] },
                    { "type": "text", "text": "go on" },
                ] },
            ],
        })
    }

    #[test]
    fn a_good_request_has_no_findings() {
        check(|_| {}, expect![[""]]);
    }

    #[test]
    fn every_call_is_answered_first_and_once() {
        check(
            |body| {
                body["messages"][2]["content"][1]["tool_use_id"] = json!("t1");
                body["messages"][2]["content"].as_array_mut().unwrap().swap(1, 2);
            },
            expect![[r#"
                messages.2: tool_result t1 must come before other content
                messages.2: each tool_use must have a single result: t1
                messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: t2"#]],
        );
        check(
            |body| {
                body["messages"].as_array_mut().unwrap().pop();
            },
            expect!["messages: `tool_use` ids were found without `tool_result` blocks after them: t1, t2"],
        );
    }

    #[test]
    fn roles_alternate_and_texts_are_not_empty() {
        check(
            |body| {
                body["messages"].as_array_mut().unwrap().insert(
                    1,
                    json!({ "role": "user", "content": [{ "type": "text", "text": " " }], "name": "x" }),
                );
            },
            expect![[r#"
                messages.1.name: Extra inputs are not permitted
                messages.1.role: roles must alternate, starting with user: "user" instead of "assistant"
                messages.1.content.0: text content blocks must contain non-whitespace text"#]],
        );
    }

    #[test]
    fn marks_stand_only_where_the_api_takes_them() {
        let mark = json!({ "type": "ephemeral", "ttl": "2h" });
        check(
            |body| {
                body["messages"][1]["content"][0]["cache_control"] = mark.clone();
                body["messages"][2]["content"][1]["content"][0]["cache_control"] =
                    json!({ "type": "ephemeral" });
                body["tools"][0]["cache_control"] = json!({ "type": "ephemeral" });
                body["messages"][2]["content"][2]["cache_control"] = json!({ "type": "ephemeral" });
            },
            expect![[r#"
                messages.1.content.0.cache_control: not allowed on thinking blocks
                messages.1.content.0.cache_control.ttl: must be "5m" or "1h"
                messages.2.content.1.content.0.cache_control: belongs on the tool_result itself
                A maximum of 4 blocks with cache_control may be provided. Found 5."#]],
        );
    }

    #[test]
    fn unknown_fields_and_kinds_are_named() {
        check(
            |body| {
                body["source"] = json!("main");
                body["max_tokens"] = json!(0);
                body["tools"][0]["name"] = json!("has space");
                body["messages"][0]["content"][0] = json!({ "type": "texd", "text": "x" });
            },
            expect![[r#"
                source: Extra inputs are not permitted
                max_tokens: must be an integer of at least 1
                tools.0.name: "has space" must match ^[a-zA-Z0-9_-]{1,128}$
                messages.0.content.0.type: unknown block type "texd""#]],
        );
    }
}
