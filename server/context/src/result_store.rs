//! Tool results that are too large to be sent: they go to the disk, and the model is told where they are. Which
//! ones do is decided here; writing is the caller's ([`Shelf`]).
//!
//! "Seen and replaced → the same text for ever; seen and kept → never replaced here."

use std::{
    cmp::Reverse,
    path::{Path, PathBuf},
    sync::Arc,
};

use conversation::{Block, Body, Message, ResultContent};

use crate::{
    event::{Change, Entry, Event, Replacement, layer},
    measure::{Tokens, at_line_end, counted, tokens_of_block},
    projection::{Projection, with_results},
    rounds,
};

/// What a tool's output may be, whatever the tool says.
const LARGEST_OUTPUT: usize = 50_000;
/// What one result may be in any case, in tokens.
const LARGEST_RESULT: u64 = 100_000;
const PREVIEW_BYTES: usize = 2_000;
const ENDING_BYTES: usize = 500;
/// Below this, a replacement would be no shorter.
const SMALLEST_STORED: usize = 3_000;

/// What is sent for a result without any content, which some models take for a sign to stop.
pub const PLACEHOLDER: &str = "The tool finished without any output.";

/// The disk.
pub trait Shelf {
    /// Where the content is from now on; `None` if it could not be written, and the result stays whole.
    fn keep(&mut self, tool_use_id: &str, content: &ResultContent) -> Option<PathBuf>;
}

/// How many characters a result of the tool may have; `own` is what the settings say about it. `None`: the tool
/// bounds itself.
pub fn limit_of(tool: &str, own: Option<u64>) -> Option<usize> {
    let own = own.map(|own| usize::try_from(own).unwrap_or(usize::MAX));
    let limit = match (own, tool) {
        (Some(own), _) => own,
        (None, "Read") => return None,
        (None, "Bash" | "BashOutput" | "Grep") => 30_000,
        (None, _) => LARGEST_OUTPUT,
    };
    Some(limit.min(LARGEST_OUTPUT))
}

/// How large the result is, in tokens, if that is more than any single result may have.
pub fn largest_result(content: &ResultContent, tokens: Tokens<'_>) -> Option<u64> {
    Some(tokens_of(content, tokens)).filter(|count| *count > LARGEST_RESULT)
}

pub fn tokens_of(content: &ResultContent, tokens: Tokens<'_>) -> u64 {
    let block = Block::ToolResult { tool_use_id: String::new(), content: content.clone(), is_error: false };
    tokens_of_block(block, tokens)
}

/// How many characters of text the result has.
pub fn length_of(content: &ResultContent) -> usize {
    match content {
        ResultContent::Text(text) => text.chars().count(),
        ResultContent::Blocks(blocks) => {
            blocks.iter().filter_map(text_of).map(|text| text.chars().count()).sum()
        }
    }
}

/// What is sent instead of a result that is kept in a file.
pub fn replacement(content: &ResultContent, path: &Path) -> String {
    let joined;
    let text = match content {
        ResultContent::Text(text) => text.as_str(),
        ResultContent::Blocks(blocks) => {
            joined = blocks.iter().filter_map(text_of).collect::<Vec<_>>().join("\n");
            &joined
        }
    };
    let shown = at_line_end(text, PREVIEW_BYTES);
    let end = last_lines(text.get(shown.len()..).unwrap_or_default());
    let safe = |text: &str| text.replace("</persisted-output", "&lt;/persisted-output");
    format!(
        "<persisted-output>\n\
         This output is too large to be shown whole: {size} in {lines}. All of it is in this file:\n\
         {path}\n\
         Read shows more of it, with an offset and a limit; Grep finds a passage in it.\n\n\
         It begins with ({shown_size}):\n\
         {shown}\n\
         …\n\
         It ends with:\n\
         {end}\n\
         </persisted-output>",
        size = size_in_words(text.len()),
        lines = counted(text.lines().count(), "line"),
        path = path.display(),
        shown_size = size_in_words(shown.len()),
        shown = safe(shown),
        end = safe(end.trim_end()),
    )
}

/// How a command ended is said at its end.
fn last_lines(text: &str) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(ENDING_BYTES));
    let end = text.get(from..).unwrap_or_default();
    match end.trim_end().split_once('\n') {
        Some((cut, whole)) if from > 0 && !whole.is_empty() => end.get(cut.len() + 1..).unwrap_or(end),
        _ => end,
    }
}

/// The beginning and the end of a result that cannot be put aside, about `limit` characters of it.
pub fn shortened(content: ResultContent, limit: usize) -> ResultContent {
    match content {
        ResultContent::Text(text) => ResultContent::Text(both_ends(text, limit)),
        ResultContent::Blocks(mut blocks) => {
            let texts = blocks.iter().filter(|block| text_of(block).is_some()).count();
            for block in &mut blocks {
                if let Block::Text { text } = block {
                    *text = both_ends(std::mem::take(text), limit / texts.max(1));
                }
            }
            ResultContent::Blocks(blocks)
        }
    }
}

fn both_ends(text: String, limit: usize) -> String {
    let half = limit / 2;
    let head = at_line_end(&text, half);
    let from = text.ceil_char_boundary(text.len().saturating_sub(half));
    if from <= head.len() {
        return text;
    }
    let tail = text.get(from..).unwrap_or_default();
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[{} are left out here]\n{tail}", size_in_words(left_out))
}

/// Of the results that no request has carried yet, the largest go to the shelf until all of them together have at
/// most `limit` characters.
pub(crate) fn store(
    thread: &[Arc<Message>],
    projection: &Projection,
    limit: usize,
    shelf: &mut dyn Shelf,
    tokens: Tokens<'_>,
) -> Option<Change> {
    let mut fresh = fresh_results(thread, projection);
    let mut total: usize = fresh.iter().map(|result| result.length).sum();
    fresh.retain(|result| result.can_go && result.length > SMALLEST_STORED);
    fresh.sort_by_key(|result| Reverse(result.length));
    let mut stored = Vec::new();
    for result in fresh {
        if total <= limit {
            break;
        }
        let Some(path) = shelf.keep(result.tool_use_id, result.content) else { continue };
        let text = replacement(result.content, &path);
        total = (total + text.chars().count()).saturating_sub(result.length);
        let (message, tool_use_id) = (result.message.uuid, result.tool_use_id.to_owned());
        stored.push(Replacement { message, tool_use_id, text, path });
    }
    let first = stored.first()?;
    let original = match stored.as_slice() {
        [only] => &only.path,
        _ => first.path.parent().unwrap_or(&first.path),
    };
    let touched: Vec<&Arc<Message>> = thread
        .iter()
        .filter(|message| stored.iter().any(|replacement| replacement.message == message.uuid))
        .collect();
    let entry = Entry {
        layer: layer::STORAGE.to_owned(),
        detail: format!("{} of one message went to the disk", counted(stored.len(), "large result")),
        messages: touched.len() as u64,
        tokens_freed: touched.iter().map(|message| freed(message, projection, &stored, tokens)).sum(),
        cache_kept: true,
        original: Some(original.display().to_string()),
    };
    Some(Change { event: Event::Stored { results: stored }, entry: Some(entry) })
}

struct Fresh<'a> {
    message: &'a Message,
    tool_use_id: &'a str,
    content: &'a ResultContent,
    /// In characters, as it is sent.
    length: usize,
    can_go: bool,
}

/// What answers the last response: sent together, as one user message.
fn fresh_results<'a>(thread: &'a [Arc<Message>], projection: &Projection) -> Vec<Fresh<'a>> {
    let start = rounds::last_response(thread).unwrap_or(thread.len());
    let mut fresh = Vec::new();
    for message in thread.iter().skip(start).filter(|message| !projection.is_left_out(message.uuid)) {
        let sent = projection.with_results(message);
        let (Body::User { content }, Body::User { content: sent }) = (&message.body, &sent.body) else {
            continue;
        };
        for (block, sent) in content.iter().zip(sent) {
            if let (Block::ToolResult { tool_use_id, content, .. }, Block::ToolResult { content: sent, .. }) =
                (block, sent)
            {
                let can_go = !projection.is_changed(message.uuid, tool_use_id) && is_text(content);
                fresh.push(Fresh { message, tool_use_id, content, length: length_of(sent), can_go });
            }
        }
    }
    fresh
}

fn freed(message: &Message, projection: &Projection, stored: &[Replacement], tokens: Tokens<'_>) -> u64 {
    let before = projection.with_results(message);
    let after = with_results(&before, &|id| {
        let of_result = |result: &&Replacement| result.message == message.uuid && result.tool_use_id == id;
        stored.iter().find(of_result).map(|result| result.text.as_str())
    });
    tokens(&before).saturating_sub(tokens(&after))
}

/// A picture cannot be read back from a file of text.
fn is_text(content: &ResultContent) -> bool {
    match content {
        ResultContent::Text(_) => true,
        ResultContent::Blocks(blocks) => blocks.iter().all(|block| text_of(block).is_some()),
    }
}

fn text_of(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text } => Some(text),
        _ => None,
    }
}

fn size_in_words(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1_000.0),
        _ => format!("{:.1} MB", bytes as f64 / 1_000_000.0),
    }
}

#[cfg(test)]
mod tests;
