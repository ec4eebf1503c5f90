//! A thread for people to read elsewhere, and for programs to take over.

use std::{fmt::Write, sync::Arc};

use serde::Serialize;
use serde_json::Value;

use crate::{
    excerpt::one_line,
    message::{Block, Body, Message, ResultContent},
    record::{COMPACT_BOUNDARY, FORMAT_VERSION, MessageLine, message_line},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// What was asked, answered and done. Thinking and what only the model was told are left out.
    Markdown,
    /// Every message with all it has, as a transcript writes it.
    Json,
}

const TITLE_CHARS: usize = 200;
/// The input of a call in short.
const INPUT_CHARS: usize = 200;
/// What says most about a call, by tool inputs' usual names.
const TELLING_INPUTS: &[&str] =
    &["command", "file_path", "path", "pattern", "url", "query", "question", "description", "prompt"];

pub fn export(thread: &[Arc<Message>], title: &str, format: Format) -> String {
    match format {
        Format::Markdown => markdown(thread, title),
        Format::Json => json(thread, title),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Export<'a> {
    title: &'a str,
    reverie_format: u64,
    messages: Vec<MessageLine<'a>>,
}

fn json(thread: &[Arc<Message>], title: &str) -> String {
    let messages = thread.iter().map(|message| message_line(message, None)).collect();
    let export = Export { title, reverie_format: FORMAT_VERSION, messages };
    // Strings, numbers and maps with string keys: there is nothing JSON could refuse.
    serde_json::to_string_pretty(&export).unwrap_or_default()
}

fn markdown(thread: &[Arc<Message>], title: &str) -> String {
    let title = one_line(title, TITLE_CHARS);
    let mut page = Page { text: String::new(), speaker: None };
    page.block(&format!("# {}", if title.is_empty() { "Untitled session" } else { &title }));
    if let (Some(first), Some(last)) = (thread.first(), thread.last()) {
        let (from, to) = (day(first), day(last));
        page.block(&if from == to { format!("*{from}*") } else { format!("*{from} to {to}*") });
    }
    for message in thread {
        page.message(message);
    }
    page.text
}

fn day(message: &Message) -> String {
    message.timestamp.strftime("%Y-%m-%d").to_string()
}

struct Page {
    text: String,
    /// Whose heading is above.
    speaker: Option<&'static str>,
}

impl Page {
    fn message(&mut self, message: &Message) {
        match &message.body {
            Body::User { content } => {
                let is_prompt = !message.flags.meta && !message.flags.compact_summary;
                for block in content {
                    match block {
                        Block::ToolResult { content, is_error, .. } => self.result(content, *is_error),
                        block if is_prompt => {
                            // Every prompt has its own heading: it begins a turn.
                            self.speaker = self.speaker.filter(|speaker| *speaker != "User");
                            self.said("User", block);
                        }
                        block if message.flags.compact_summary => {
                            self.said("Summary of what came before", block);
                        }
                        _ => {}
                    }
                }
            }
            Body::Assistant { content, .. } => {
                content.iter().for_each(|block| self.said("Assistant", block));
            }
            Body::System { subtype, .. } if subtype == COMPACT_BOUNDARY => {
                self.block("*What came before was summarised here.*");
            }
            Body::System { text, .. } => {
                let text = one_line(text, TITLE_CHARS);
                if !text.is_empty() {
                    self.block(&format!("> {text}"));
                }
            }
            Body::Attachment(_) => {}
        }
    }

    fn said(&mut self, speaker: &'static str, block: &Block) {
        let shown = match block {
            Block::Text { text } if text.trim().is_empty() => return,
            Block::Text { text } => closed(text.trim_end()),
            Block::Thinking { .. } | Block::RedactedThinking { .. } => return,
            Block::ToolUse { name, input, .. } => {
                format!("**{}** {}", one_line(name, INPUT_CHARS), code(&short_input(input)))
            }
            Block::ToolResult { content, is_error, .. } => return self.result(content, *is_error),
            Block::Image { source } => note("image", source),
            Block::Document { source } => note("document", source),
            Block::Unknown(value) => note(value.get("type").and_then(Value::as_str).unwrap_or("part"), value),
        };
        if self.speaker != Some(speaker) {
            self.block(&format!("## {speaker}"));
            self.speaker = Some(speaker);
        }
        self.block(&shown);
    }

    fn result(&mut self, content: &ResultContent, is_error: bool) {
        let parts = match content {
            ResultContent::Text(text) => vec![text.clone()],
            ResultContent::Blocks(blocks) => blocks
                .iter()
                .map(|block| match block {
                    Block::Text { text } => text.clone(),
                    Block::Image { source } => note("image", source),
                    Block::Document { source } => note("document", source),
                    _ => "*[other content]*".to_owned(),
                })
                .collect(),
        };
        let text = parts.join("\n");
        if is_error {
            self.block("*The call failed:*");
        }
        self.block(&fenced(text.trim_end_matches('\n')));
    }

    fn block(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
        self.text.push('\n');
    }
}

fn short_input(input: &Value) -> String {
    let telling = TELLING_INPUTS.iter().find_map(|name| input.get(name)?.as_str());
    match (telling, input) {
        (Some(text), _) => one_line(text, INPUT_CHARS),
        (None, Value::Object(fields)) if fields.is_empty() => String::new(),
        (None, input) => one_line(&input.to_string(), INPUT_CHARS),
    }
}

/// What stands for bytes that no text can hold.
fn note(what: &str, source: &Value) -> String {
    let kind = source.get("media_type").and_then(Value::as_str);
    let encoded = source.get("data").and_then(Value::as_str).map_or(0, str::len);
    let mut note = format!("*[{what}");
    if let Some(kind) = kind {
        note.push_str(", ");
        note.push_str(kind);
    }
    if encoded > 0 {
        // Base64 has four characters for three bytes.
        write!(note, ", {} KB", (encoded / 4 * 3).div_ceil(1_000)).unwrap_or_default();
    }
    note.push_str("]*");
    one_line(&note, INPUT_CHARS)
}

/// Within a line, between more backticks than it has.
fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let ticks = "`".repeat(longest_run(text, '`') + 1);
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{blank}{text}{blank}{ticks}")
}

fn fenced(text: &str) -> String {
    let fence = "`".repeat((longest_run(text, '`') + 1).max(3));
    format!("{fence}\n{text}\n{fence}")
}

fn longest_run(text: &str, wanted: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for character in text.chars() {
        run = if character == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// With its last fence closed: a text that was cut off must not swallow what follows it.
fn closed(text: &str) -> String {
    let mut open: Option<&str> = None;
    for line in text.lines() {
        let line = line.trim_start();
        let marker = line.chars().next().filter(|marker| matches!(marker, '`' | '~'));
        let Some(marker) = marker else { continue };
        let end = line.find(|character| character != marker).unwrap_or(line.len());
        let (run, rest) = line.split_at(end);
        open = match open {
            Some(fence) if run.starts_with(fence) && rest.trim().is_empty() => None,
            Some(fence) => Some(fence),
            None if run.len() >= 3 && !(marker == '`' && rest.contains('`')) => Some(run),
            None => None,
        };
    }
    match open {
        Some(fence) => format!("{text}\n{fence}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
