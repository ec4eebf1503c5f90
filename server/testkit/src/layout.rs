//! Prints a request one line per item, for snapshots and for reading: what is in it, how big, where the cache breaks.
//!
//! ```text
//! tools 9 · 8214 B · 2054 t
//! system 0 · 4120 B · 1030 t ◆ "You are Reverie…"
//! user 0.0 text · 48 B · 12 t "what is in a.txt?"
//! ```

use serde_json::Value;

use crate::prompt_block::{PromptBlock, Section, Ttl, prompt_blocks};

#[derive(Clone, Debug)]
pub struct LayoutOptions {
    /// One line per tool instead of one for all.
    pub each_tool: bool,
    /// Sizes of tools and system, which differ from machine to machine; messages always show theirs.
    pub prefix_sizes: bool,
    /// How many characters of a text to show.
    pub text_chars: usize,
    /// Machine-dependent strings and what stands for them, replaced before anything is measured.
    pub replacements: Vec<(String, String)>,
}

impl Default for LayoutOptions {
    fn default() -> Self {
        Self { each_tool: true, prefix_sizes: true, text_chars: 60, replacements: Vec::new() }
    }
}

pub fn layout(body: &Value, options: &LayoutOptions) -> String {
    let blocks: Vec<PromptBlock> = prompt_blocks(body)
        .into_iter()
        .map(|block| PromptBlock { value: replaced(&block.value, &options.replacements), ..block })
        .collect();
    let mut lines = Vec::new();
    let tools: Vec<&PromptBlock> = blocks.iter().filter(|block| block.section == Section::Tool).collect();
    if options.each_tool {
        for tool in &tools {
            let name = tool.value["name"].as_str().unwrap_or("?");
            lines.push(format!("tool {name}{}{}", sizes(&[tool], options.prefix_sizes), mark(tool)));
        }
    } else if !tools.is_empty() {
        let marks: String = tools.iter().map(|tool| mark(tool)).collect();
        lines.push(format!("tools {}{}{marks}", tools.len(), sizes(&tools, options.prefix_sizes)));
    }
    let mut system_index = 0;
    let mut position = (usize::MAX, 0);
    for block in &blocks {
        match &block.section {
            Section::Tool => {}
            Section::System => {
                let shown = if options.prefix_sizes {
                    abbreviated(&text_of(&block.value), options.text_chars)
                } else {
                    String::new()
                };
                let line = format!(
                    "system {system_index}{}{} {shown}",
                    sizes(&[block], options.prefix_sizes),
                    mark(block)
                );
                lines.push(line.trim_end().to_owned());
                system_index += 1;
            }
            Section::Message { index, role } => {
                position = if position.0 == *index { (*index, position.1 + 1) } else { (*index, 0) };
                lines.push(format!(
                    "{role} {}.{} {}{}{} {}",
                    position.0,
                    position.1,
                    kind_of(&block.value),
                    sizes(&[block], true),
                    mark(block),
                    abbreviated(&text_of(&block.value), options.text_chars)
                ));
            }
        }
    }
    if !body["context_management"].is_null() {
        lines.push(format!("context_management {}", body["context_management"]["edits"]));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Dates as the first message carries them differ from day to day: `2026-01-31` becomes `<date>`.
pub fn without_dates(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_date = |at: usize| {
        bytes.get(at..at + 10).is_some_and(|date| {
            date.iter()
                .enumerate()
                .all(|(i, b)| if i == 4 || i == 7 { *b == b'-' } else { b.is_ascii_digit() })
        })
    };
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        if is_date(at) {
            result.push_str("<date>");
            at += 10;
        } else {
            result.push(character);
            at += character.len_utf8();
        }
    }
    result
}

/// Ids are made anew each time.
fn without_uuids(text: &str) -> String {
    const LENGTH: usize = 36;
    let is_uuid = |bytes: &[u8]| {
        bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    };
    let mut rest = text;
    let mut result = String::with_capacity(text.len());
    while let Some(character) = rest.chars().next() {
        let taken = match rest.as_bytes().get(..LENGTH).is_some_and(is_uuid) {
            true => LENGTH,
            false => character.len_utf8(),
        };
        result.push_str(if taken == LENGTH { "<uuid>" } else { &rest[..taken] });
        rest = &rest[taken..];
    }
    result
}

fn replaced(value: &Value, replacements: &[(String, String)]) -> Value {
    match value {
        Value::String(text) => {
            let text = replacements.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to));
            Value::String(without_uuids(&without_dates(&text)))
        }
        Value::Array(items) => items.iter().map(|item| replaced(item, replacements)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), replaced(value, replacements))).collect()
        }
        other => other.clone(),
    }
}

fn sizes(blocks: &[&PromptBlock], shown: bool) -> String {
    if !shown {
        return String::new();
    }
    let bytes: usize = blocks.iter().map(|block| block.json().len()).sum();
    let tokens: u64 = blocks.iter().map(|block| block.tokens()).sum();
    format!(" · {bytes} B · {tokens} t")
}

fn mark(block: &PromptBlock) -> &'static str {
    match block.breakpoint {
        None => "",
        Some(Ttl::FiveMinutes) => " ◆",
        Some(Ttl::OneHour) => " ◆1h",
    }
}

fn kind_of(block: &Value) -> String {
    let kind = block["type"].as_str().unwrap_or("?");
    match kind {
        "tool_use" => format!(
            "{kind} {} {}",
            block["id"].as_str().unwrap_or("?"),
            block["name"].as_str().unwrap_or("?")
        ),
        "tool_result" => {
            let error = if block["is_error"] == true { " error" } else { "" };
            format!("{kind} {}{error}", block["tool_use_id"].as_str().unwrap_or("?"))
        }
        _ => kind.to_owned(),
    }
}

fn text_of(block: &Value) -> String {
    match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap_or_default().to_owned(),
        Some("thinking") => block["thinking"].as_str().unwrap_or_default().to_owned(),
        Some("tool_use") => block["input"].to_string(),
        Some("tool_result") => match &block["content"] {
            Value::String(text) => text.clone(),
            Value::Array(inner) => inner.iter().map(text_of).collect::<Vec<_>>().join(" | "),
            other => other.to_string(),
        },
        Some(kind @ ("image" | "document")) => {
            format!("{kind} {}", block["source"]["media_type"].as_str().unwrap_or("?"))
        }
        _ => block.to_string(),
    }
}

/// The beginning of a text on one line, as a quoted string.
fn abbreviated(text: &str, chars: usize) -> String {
    let mut shown: String = text.chars().take(chars).collect();
    if text.chars().count() > chars {
        shown.push('…');
    }
    format!("{shown:?}")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn request() -> Value {
        json!({
            "tools": [
                { "name": "Read", "input_schema": { "type": "object" } },
                { "name": "Edit", "input_schema": { "type": "object" }, "cache_control": { "type": "ephemeral", "ttl": "1h" } },
            ],
            "system": [{ "type": "text", "text": "be good", "cache_control": { "type": "ephemeral" } }],
            "messages": [
                { "role": "user", "content": "in /tmp/abc today is 2026-11-16, look at the very long line that this sentence makes" },
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "t1", "name": "Read", "input": { "a": "/tmp/abc/x" } }] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "t1", "content": "no\nway", "is_error": true },
                    { "type": "text", "text": "go on", "cache_control": { "type": "ephemeral" } },
                ] },
            ],
        })
    }

    #[test]
    fn one_line_per_item_with_sizes_and_breakpoints() {
        expect![[r#"
            tool Read · 48 B · 12 t
            tool Edit · 48 B · 12 t ◆1h
            system 0 · 32 B · 8 t ◆ "be good"
            user 0.0 text · 105 B · 27 t "in /tmp/abc today is <date>, look at the very long line that…"
            assistant 1.0 tool_use t1 Read · 70 B · 18 t "{\"a\":\"/tmp/abc/x\"}"
            user 2.0 tool_result t1 error · 77 B · 20 t "no\nway"
            user 2.1 text · 30 B · 8 t ◆ "go on"
        "#]]
        .assert_eq(&layout(&request(), &LayoutOptions::default()));
    }

    #[test]
    fn machine_dependent_parts_can_be_left_out() {
        let options = LayoutOptions {
            each_tool: false,
            prefix_sizes: false,
            text_chars: 20,
            replacements: vec![("/tmp/abc".to_owned(), "<w>".to_owned())],
        };
        expect![[r#"
            tools 2 ◆1h
            system 0 ◆
            user 0.0 text · 100 B · 25 t "in <w> today is <dat…"
            assistant 1.0 tool_use t1 Read · 65 B · 17 t "{\"a\":\"<w>/x\"}"
            user 2.0 tool_result t1 error · 77 B · 20 t "no\nway"
            user 2.1 text · 30 B · 8 t ◆ "go on"
        "#]]
        .assert_eq(&layout(&request(), &options));
    }

    #[test]
    fn ids_are_the_same_each_time() {
        let text = "é 01a1e833-e819-72f0-b13d-152aa1bd89e3, 01a1e833-e819-72f0-b13d";
        assert_eq!(without_uuids(text), "é <uuid>, 01a1e833-e819-72f0-b13d");
    }
}
