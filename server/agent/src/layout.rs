//! The next request, one line per item: what is in it, how large, and where the cache is marked.

use std::fmt::Write;

use conversation::{Block, ResultContent, Role};
use model::Request;

/// How much of a text is shown.
const SHOWN_CHARS: usize = 60;

pub(crate) fn lines(request: &Request, tokens: impl Fn(&[Block]) -> u64) -> Vec<String> {
    let marks = model::anthropic::Breakpoints::of(request);
    let mut lines = Vec::new();
    for tool in request.tools.iter() {
        let bytes = serde_json::to_vec(tool).map_or(0, |json| json.len());
        lines.push(format!("tool {} · {bytes} B", tool.name));
    }
    for (index, block) in request.system.iter().enumerate() {
        let mark = if marks.system.contains(&index) { " ◆" } else { "" };
        let tokens = tokens(&[Block::text(&block.text)]);
        lines.push(format!(
            "system {index} · {} B · {tokens} t{mark} {}",
            block.text.len(),
            abbreviated(&block.text)
        ));
    }
    for (index, message) in request.messages.iter().enumerate() {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        for (place, block) in message.content.iter().enumerate() {
            let mark = if marks.messages.contains(&(index, place)) { " ◆" } else { "" };
            let bytes = serde_json::to_vec(block).map_or(0, |json| json.len());
            let tokens = tokens(std::slice::from_ref(block));
            let (kind, text) = described(block);
            lines.push(format!(
                "{role} {index}.{place} {kind} · {bytes} B · {tokens} t{mark} {}",
                abbreviated(&text)
            ));
        }
    }
    lines
}

fn described(block: &Block) -> (String, String) {
    match block {
        Block::Text { text } => ("text".to_owned(), text.clone()),
        Block::Thinking { thinking, .. } => ("thinking".to_owned(), thinking.clone()),
        Block::RedactedThinking { .. } => ("redacted_thinking".to_owned(), String::new()),
        Block::ToolUse { id, name, input } => (format!("tool_use {id} {name}"), input.to_string()),
        Block::ToolResult { tool_use_id, content, is_error } => {
            let error = if *is_error { " error" } else { "" };
            (format!("tool_result {tool_use_id}{error}"), result_text(content))
        }
        Block::Image { .. } => ("image".to_owned(), String::new()),
        Block::Document { .. } => ("document".to_owned(), String::new()),
        Block::Unknown(value) => ("unknown".to_owned(), value.to_string()),
    }
}

fn result_text(content: &ResultContent) -> String {
    match content {
        ResultContent::Text(text) => text.clone(),
        ResultContent::Blocks(blocks) => {
            let mut text = String::new();
            for block in blocks {
                let _infallible = write!(text, "{} ", described(block).1);
            }
            text
        }
    }
}

/// The beginning of a text on one line, as a quoted string.
fn abbreviated(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if text.chars().nth(SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    format!("{shown:?}")
}
