//! What joins a user's message besides their words: mentions, what they look at, prompts typed meanwhile.
//!
//! Each is a reminder, rendered here once and kept as rendered.

use std::{fmt::Write, path::Path, sync::Arc};

use context::fragment;
use conversation::{Block, Record};
use serde_json::json;
use workspace::{Encoding, Range};

use crate::{
    session::Session,
    turn::Turn,
    types::{AgentError, Prompt, PromptPart},
};

const MENTION_LINES: usize = 2_000;
const MENTION_BYTES: usize = 50_000;
const SELECTION_BYTES: usize = 10_000;
const FOLDER_ENTRIES: usize = 200;

/// The API's limit for one image, in base64 characters.
const IMAGE_CHARS: usize = 7_000_000;
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The user's own words and images, as blocks. Refuses what no model takes.
pub(crate) fn content(prompt: &Prompt) -> Result<Vec<Block>, AgentError> {
    let mut blocks = Vec::new();
    for part in &prompt.parts {
        match part {
            PromptPart::Text(text) if text.trim().is_empty() => {}
            PromptPart::Text(text) => blocks.push(Block::text(text)),
            PromptPart::Mention { .. } => {}
            PromptPart::Image { media_type, data } => {
                if !IMAGE_TYPES.contains(&media_type.as_str()) {
                    return Err(AgentError::Invalid(format!(
                        "images of type {media_type} are not supported; use one of {}",
                        IMAGE_TYPES.join(", ")
                    )));
                }
                if data.len() > IMAGE_CHARS {
                    return Err(AgentError::Invalid(
                        "the image is larger than 5 MB; make it smaller".to_owned(),
                    ));
                }
                let source = json!({"type": "base64", "media_type": media_type, "data": data});
                blocks.push(Block::Image { source });
            }
        }
    }
    let mentions = prompt.parts.iter().any(|part| matches!(part, PromptPart::Mention { .. }));
    if blocks.is_empty() && !mentions {
        return Err(AgentError::Invalid("the prompt is empty".to_owned()));
    }
    if blocks.is_empty() {
        blocks.push(Block::text("See the attached files."));
    }
    Ok(blocks)
}

/// The user's own words alone.
pub(crate) fn words(prompt: &Prompt) -> String {
    let texts = prompt.parts.iter().filter_map(|part| match part {
        PromptPart::Text(text) => Some(text.as_str()),
        PromptPart::Mention { .. } | PromptPart::Image { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Appends the prompt's attachments behind its message.
pub(crate) async fn attach(session: &Arc<Session>, prompt: Prompt) {
    let mentions = prompt.parts.iter().any(|part| matches!(part, PromptPart::Mention { .. }));
    if !mentions && prompt.active_file.is_none() {
        return;
    }
    let session = Arc::clone(session);
    if let Err(error) = tokio::task::spawn_blocking(move || read_and_attach(&session, &prompt)).await {
        tracing::error!(%error, "attachments could not be read");
    }
}

fn read_and_attach(session: &Session, prompt: &Prompt) {
    for part in &prompt.parts {
        if let PromptPart::Mention { path, range } = part {
            let text = mention(session, path, *range);
            session.attach("mention", fragment::reminder(&text, MENTION_BYTES * 2));
        }
    }
    if let Some(text) = editor_state(session, prompt) {
        session.attach("editor", fragment::reminder(&text, SELECTION_BYTES * 2));
    }
}

/// Takes prompts typed during the turn into it: they are answered with the next request.
pub(crate) async fn join_queued(turn: &mut Turn) {
    loop {
        let Some(queued) = turn.session.state().queue.pop_front() else { return };
        // Was checked when it was queued.
        if let Ok(blocks) = content(&queued.prompt) {
            turn.session.append_user(blocks);
            turn.session.record(&Record::Dequeued { turn: queued.turn.clone() });
            attach(&turn.session, queued.prompt).await;
        }
        turn.session.state().joined.push(queued.turn);
    }
}

pub(crate) fn tell_interrupted(turn: &Turn) {
    let text = "The user stopped the answer here. Do not take it up again unless they ask.";
    turn.session.attach("interrupted", fragment::reminder(text, text.len() * 2));
}

fn mention(session: &Session, path: &Path, range: Option<Range>) -> String {
    let shown = path.display();
    if path.is_dir() {
        return format!("The user mentions the folder {shown}. It contains:\n{}", folder(path));
    }
    let (first, lines) = match range {
        Some(range) => lines_of(range),
        None => (1, MENTION_LINES),
    };
    match session.shared.workspace.read_lines(path, first, lines.min(MENTION_LINES), MENTION_BYTES) {
        Ok(read) => {
            let mut text = format!("The user mentions {shown}");
            if range.is_some() {
                let _infallible =
                    write!(text, ", lines {first} to {}", first + read.line_count.saturating_sub(1));
            }
            text.push_str(". It reads:\n");
            text.push_str(&read.text);
            if read.truncated && range.is_none() {
                text.push_str("\n(cut here; use Read for the rest)");
            }
            text
        }
        Err(error) => format!("The user mentions {shown}, which could not be read: {error}."),
    }
}

fn folder(path: &Path) -> String {
    let Ok(entries) = std::fs::read_dir(path) else { return "(it could not be read)".to_owned() };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| {
            let slash = if entry.path().is_dir() { "/" } else { "" };
            format!("{}{slash}", entry.file_name().to_string_lossy().escape_debug())
        })
        .take(10 * FOLDER_ENTRIES)
        .collect();
    names.sort();
    let left_out = names.len().saturating_sub(FOLDER_ENTRIES);
    names.truncate(FOLDER_ENTRIES);
    let mut text = names.join("\n");
    if left_out > 0 {
        let _infallible = write!(text, "\n(and {left_out} more)");
    }
    text
}

fn editor_state(session: &Session, prompt: &Prompt) -> Option<String> {
    let path = prompt.active_file.as_ref()?;
    let mut text = format!("The user has {} open in the editor; this may or may not matter.", path.display());
    if let Some(range) = prompt.selection
        && range.start != range.end
    {
        let (first, lines) = lines_of(range);
        if let Ok(read) = session.shared.workspace.read_lines(path, first, lines, SELECTION_BYTES) {
            let last = first + read.line_count.saturating_sub(1);
            let selected = selected(&read.text, range, session.shared.workspace.encoding());
            let _infallible = write!(text, " They have selected, in lines {first} to {last}:\n{selected}");
        }
    }
    Some(text)
}

/// The lines of a range, from 1, and how many: its end is exclusive, so a selection of whole lines ends in column 0 of
/// the line after.
fn lines_of(range: Range) -> (usize, usize) {
    let first = range.start.line as usize + 1;
    let whole_lines = range.end.character == 0 && range.end.line > range.start.line;
    let last = range.end.line as usize + usize::from(!whole_lines);
    (first, (last + 1).saturating_sub(first).max(1))
}

/// The part of the lines that is selected.
fn selected(lines: &str, range: Range, encoding: Encoding) -> &str {
    let lines = lines.strip_suffix('\n').unwrap_or(lines);
    let last_line = lines.rfind('\n').map_or(0, |newline| newline + 1);
    let spans = range.end.line > range.start.line;
    let whole_lines = range.end.character == 0 && spans;
    let end = if whole_lines {
        lines.len()
    } else {
        last_line + column(lines.get(last_line..), range.end.character, encoding)
    };
    let start = column(lines.lines().next(), range.start.character, encoding);
    lines.get(start..end).unwrap_or(lines)
}

/// Where a column of a line is, in bytes.
fn column(line: Option<&str>, character: u32, encoding: Encoding) -> usize {
    let line = line.unwrap_or_default();
    let mut left = character as usize;
    for (byte, character) in line.char_indices() {
        let width = match encoding {
            Encoding::Utf8 => character.len_utf8(),
            Encoding::Utf16 => character.len_utf16(),
        };
        if left < width {
            return byte;
        }
        left -= width;
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use workspace::Position;

    use super::*;

    fn range(start: (u32, u32), end: (u32, u32)) -> Range {
        let at = |(line, character)| Position { line, character };
        Range { start: at(start), end: at(end) }
    }

    #[test]
    fn a_selection_of_whole_lines_ends_before_the_next() {
        assert_eq!(lines_of(range((2, 0), (4, 0))), (3, 2));
        assert_eq!(lines_of(range((2, 0), (4, 1))), (3, 3));
        assert_eq!(lines_of(range((2, 3), (2, 5))), (3, 1));
        assert_eq!(selected("one\ntwo\n", range((2, 0), (4, 0)), Encoding::Utf8), "one\ntwo");
    }

    #[test]
    fn columns_count_as_the_editor_counts() {
        assert_eq!(selected("abcd\n", range((0, 1), (0, 3)), Encoding::Utf8), "bc");
        assert_eq!(selected("𝄞xy\nzw\n", range((0, 2), (1, 1)), Encoding::Utf16), "xy\nz");
        assert_eq!(selected("𝄞xy\nzw\n", range((0, 4), (1, 1)), Encoding::Utf8), "xy\nz");
        assert_eq!(selected("ab\n", range((0, 1), (0, 99)), Encoding::Utf8), "b");
    }
}
