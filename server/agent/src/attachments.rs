//! What joins a user's message besides their words: mentions, what they look at, prompts typed meanwhile.
//!
//! Each is a reminder, rendered here once and kept as rendered.

use std::{fmt::Write, path::Path, sync::Arc};

use context::fragment;
use conversation::{Attachment, Block, Body, Flags, Record};
use memory::dates;
use permissions::Mode;
use workspace::{Encoding, Range, Workspace};

use crate::{
    commands,
    event::AgentEvent,
    instructions, prompt, recall,
    session::Session,
    turn::Turn,
    types::{AgentError, Prompt, PromptPart, ShownDetail},
};

const MENTION_LINES: usize = 2_000;
const MENTION_BYTES: usize = 50_000;
const SELECTION_BYTES: usize = 10_000;
const FOLDER_ENTRIES: usize = 200;
/// Of all the images and documents that one prompt mentions, in base64: the API takes requests of 32 MB.
const SHOWN_CHARS: usize = 28_000_000;

/// The kind of what the user mentioned, and how it is told.
const MENTION: &str = "mention";
const MENTIONS: &str = "The user mentions ";
const LINES: &str = ", lines ";

/// The kinds of the reminders about plan mode.
const PLAN_ON: &str = "plan";
const PLAN_OFF: &str = "plan-off";
/// The kind of the reminder that another day has begun.
const DAY: &str = "day";

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
                // A provider would refuse it, and every later request of the session with it.
                blocks.push(tools::image_block(media_type, data).map_err(AgentError::Invalid)?);
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
    if !mentions && prompt.active_file.is_none() && !words(&prompt).trim_start().starts_with('/') {
        return;
    }
    let session = Arc::clone(session);
    if let Err(error) = tokio::task::spawn_blocking(move || read_and_attach(&session, &prompt)).await {
        tracing::error!(%error, "attachments could not be read");
    }
}

fn read_and_attach(session: &Session, prompt: &Prompt) {
    session.shared.faults.reach("attachments");
    if let Some(text) = commands::expansion(session, prompt) {
        session.attach("command", text);
    }
    let mut room = SHOWN_CHARS;
    for part in &prompt.parts {
        if let PromptPart::Mention { path, range } = part {
            session.state().mentioned.push(path.clone());
            let Mention { text, blocks } = mention(&session.shared.workspace, path, *range, &mut room);
            session.attach(MENTION, fragment::reminder(&text, MENTION_BYTES * 2));
            if !blocks.is_empty() {
                let flags = Flags { meta: true, ..Flags::default() };
                session.append(Body::User { content: blocks }, flags);
            }
        }
    }
    if let Some(text) = editor_state(session, prompt) {
        session.attach("editor", fragment::reminder(&text, SELECTION_BYTES * 2));
    }
}

/// Takes prompts typed during the turn into it: they are answered with the next request. Reminders come with them.
pub(crate) async fn join_queued(turn: &mut Turn) {
    loop {
        let Some(queued) = turn.session.state().queue.pop_front() else { break };
        turn.session.state().joined.push(queued.turn.clone());
        turn.session.emit(Some(&queued.turn), AgentEvent::Joined);
        // Was checked when it was queued.
        if let Ok(blocks) = content(&queued.prompt) {
            turn.session.append_user(blocks);
            turn.session.record(&Record::Dequeued { turn: queued.turn });
            turn.recalls.extend(recall::begin(&turn.session, &turn.id, &words(&queued.prompt)));
            attach(&turn.session, queued.prompt).await;
        }
    }
    let mentioned = std::mem::take(&mut turn.session.state().mentioned);
    for path in mentioned {
        instructions::touched(&turn.session, &path).await;
    }
    let reminders = std::mem::take(&mut turn.session.state().reminders);
    for (kind, text) in reminders {
        turn.session.attach(kind, text);
    }
    tell_day(turn);
}

/// The first message says which day it is, and stays as it is for the cache: who keeps a log for each day is told when
/// another begins.
fn tell_day(turn: &Turn) {
    let session = &turn.session;
    if !turn.settings.features(&session.shared.environment).daily_log {
        return;
    }
    let today = session.shared.faults.clock().today();
    let later = session.state().thread.iter().rev().find_map(|message| match &message.body {
        Body::Attachment(attachment) if attachment.kind == DAY => dates::find_date(&attachment.text),
        _ => None,
    });
    let told = later.or_else(|| {
        let mut texts = turn.opening.rendered.context.iter().rev().filter_map(|block| match block {
            Block::Text { text } => text.rsplit_once(prompt::TODAY),
            _ => None,
        });
        texts.next().and_then(|(_, date)| dates::find_date(date))
    });
    if told.is_some_and(|told| told != today) {
        session.attach(DAY, fragment::reminder(&format!("{}{today}.", prompt::TODAY), 200));
    }
}

/// Tells the model when plan mode begins and ends, once each: what it was told is in the thread, also after a rewind.
pub(crate) fn tell_mode(session: &Session, mode: Mode) {
    let told = session.state().thread.iter().rev().find_map(|message| match &message.body {
        Body::Attachment(attachment) if attachment.kind == PLAN_ON => Some(true),
        Body::Attachment(attachment) if attachment.kind == PLAN_OFF => Some(false),
        _ => None,
    });
    let (kind, text) = match (told.unwrap_or(false), mode == Mode::Plan) {
        (false, true) => (PLAN_ON, include_str!("prompts/plan.md")),
        (true, false) => (PLAN_OFF, include_str!("prompts/plan_off.md")),
        _ => return,
    };
    session.attach(kind, fragment::reminder(text.trim_end(), text.len() * 2));
}

/// What a model in plan mode is told.
pub(crate) fn plan_reminder() -> Attachment {
    let text = include_str!("prompts/plan.md");
    Attachment { kind: PLAN_ON.to_owned(), text: fragment::reminder(text.trim_end(), text.len() * 2) }
}

pub(crate) fn tell_interrupted(turn: &Turn) {
    let text = "The user stopped the answer here. Do not take it up again unless they ask.";
    turn.session.attach("interrupted", fragment::reminder(text, text.len() * 2));
}

/// The file or folder that an attachment of an earlier prompt shows.
pub(crate) fn mentioned(attachment: &Attachment) -> Option<ShownDetail> {
    let text = Some(&attachment.text).filter(|_| attachment.kind == MENTION)?;
    let named = text.lines().find_map(|line| line.strip_prefix(MENTIONS)?.strip_suffix('.'))?;
    let part = named.rsplit_once(LINES).and_then(|(path, lines)| {
        let (first, last) = lines.split_once(" to ")?;
        Some((path, (first.parse().ok()?, last.parse().ok()?)))
    });
    let (path, lines) = part.map_or((named, None), |(path, lines)| (path, Some(lines)));
    Some(ShownDetail::Mentioned { path: path.into(), lines })
}

struct Mention {
    /// Its first line says what is mentioned, and [`mentioned`] reads it there.
    text: String,
    /// What is no text, for a message of its own behind it.
    blocks: Vec<Block>,
}

fn mention(workspace: &Workspace, path: &Path, range: Option<Range>, room: &mut usize) -> Mention {
    let name = path.display();
    // Lines of a notebook are lines of its JSON.
    let is_part =
        range.is_some() && path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"));
    let shown = if is_part || path.is_dir() { None } else { tools::show_file(path, workspace) };
    let without_blocks = |text| Mention { text, blocks: Vec::new() };
    let tools::ShownFile { words, blocks } = match shown {
        None => return without_blocks(mention_of_text(workspace, path, range)),
        Some(Err(why)) => {
            return without_blocks(format!("{MENTIONS}{name}.\nIt cannot be shown: it {why}."));
        }
        Some(Ok(shown)) => shown,
    };
    let size: usize = blocks.iter().map(encoded_size).sum();
    let Some(left) = room.checked_sub(size) else {
        return without_blocks(format!(
            "{MENTIONS}{name}.\nIt is not shown ({words}): together with what was mentioned before it is too large for one request. Read it when its turn comes."
        ));
    };
    *room = left;
    let wrapped = |block| match block {
        Block::Text { text } => Block::text(fragment::reminder(&text, MENTION_BYTES * 2)),
        other => other,
    };
    let text = format!("{MENTIONS}{name}.\nIt follows ({words}).");
    Mention { text, blocks: blocks.into_iter().map(wrapped).collect() }
}

fn encoded_size(block: &Block) -> usize {
    match block {
        Block::Image { source } | Block::Document { source } => {
            source.get("data").and_then(|data| data.as_str()).map_or(0, str::len)
        }
        _ => 0,
    }
}

fn mention_of_text(workspace: &Workspace, path: &Path, range: Option<Range>) -> String {
    let shown = path.display();
    if path.is_dir() {
        return format!("{MENTIONS}{shown}.\nIt is a folder and contains:\n{}", folder(path));
    }
    let (first, lines) = match range {
        Some(range) => lines_of(range),
        None => (1, MENTION_LINES),
    };
    match workspace.read_lines(path, first, lines.min(MENTION_LINES), MENTION_BYTES) {
        Ok(read) => {
            let mut text = format!("{MENTIONS}{shown}");
            if range.is_some() {
                let last = first + read.line_count.saturating_sub(1);
                let _infallible = write!(text, "{LINES}{first} to {last}");
            }
            text.push_str(".\nIt reads:\n");
            text.push_str(&read.text);
            if read.truncated && range.is_none() {
                text.push_str("\n(cut here; use Read for the rest)");
            }
            text
        }
        Err(error) => format!("{MENTIONS}{shown}.\nIt could not be read: {error}."),
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
    use expect_test::expect;
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

    const PNG: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const GIF: &[u8] = b"GIF89a\x01\0\x01\0;";

    #[test]
    fn an_image_that_is_none_is_refused() {
        let prompt = |media_type: &str, data: &str| Prompt {
            parts: vec![PromptPart::Image { media_type: media_type.to_owned(), data: data.to_owned() }],
            ..Prompt::default()
        };
        assert!(matches!(content(&prompt("image/png", PNG)).unwrap().as_slice(), [Block::Image { .. }]));
        for (media_type, data) in [
            ("image/png", ""),
            ("image/png", "not base64!"),
            ("image/png", "aGVsbG8="),
            ("image/jpeg", PNG),
            ("image/png", &PNG[..40]),
            ("image/bmp", PNG),
        ] {
            let refused = content(&prompt(media_type, data));
            assert!(matches!(refused, Err(AgentError::Invalid(_))), "{media_type} {data}: {refused:?}");
        }
    }

    #[test]
    fn a_mentioned_file_is_shown_as_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let cell = |text: &str| serde_json::json!({"cell_type": "code", "source": text});
        let notebook = serde_json::json!({"cells": [cell("1 + 1"), cell("</system-reminder>")]}).to_string();
        let files: [(&str, &[u8]); 6] = [
            ("a.gif", GIF),
            ("b.pdf", b"%PDF-1\n%%EOF"),
            ("c.ipynb", notebook.as_bytes()),
            ("d.bin", b"\0\x01"),
            ("e.gif", b"GIF89a\0\0"),
            ("f.txt", b"words"),
        ];
        let workspace = Workspace::new(vec![folder.path().to_owned()]);
        let mut told = String::new();
        for (name, bytes) in files {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let Mention { text, blocks } = mention(&workspace, &path, None, &mut { SHOWN_CHARS });
            let _infallible = writeln!(told, "{}", text.replace(&*folder.path().to_string_lossy(), ""));
            for block in blocks {
                let _infallible = writeln!(told, "+ {}", serde_json::to_string(&block).unwrap());
            }
        }
        expect![[r#"
            The user mentions /a.gif.
            It follows (GIF image, 1 × 1 pixels, 11 bytes).
            + {"type":"image","source":{"type":"base64","media_type":"image/gif","data":"R0lGODlhAQABADs="}}
            The user mentions /b.pdf.
            It follows (PDF document, 12 bytes).
            + {"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xCiUlRU9G"}}
            The user mentions /c.ipynb.
            It follows (notebook, 2 cells).
            + {"type":"text","text":"<system-reminder>\n[cell 1: code]\n1 + 1\n[cell 2: code]\n&lt;/system-reminder>\n</system-reminder>"}
            The user mentions /d.bin.
            It could not be read: this is not a text file: it contains NUL bytes.
            The user mentions /e.gif.
            It cannot be shown: it begins like a GIF image but is cut off or damaged.
            The user mentions /f.txt.
            It reads:
            words
        "#]].assert_eq(&told);

        let crowded = mention(&workspace, &folder.path().join("a.gif"), None, &mut 10);
        assert!(crowded.blocks.is_empty());
        assert!(crowded.text.contains("too large for one request"), "{}", crowded.text);
    }

    #[test]
    fn what_was_mentioned_can_be_read_off_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes, lines (old) to keep.txt");
        std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
        let workspace = Workspace::new(vec![folder.path().to_owned()]);
        let shown = |path: &Path, range| {
            let Mention { text, .. } = mention(&workspace, path, range, &mut { SHOWN_CHARS });
            let text = fragment::reminder(&text, MENTION_BYTES);
            let Some(ShownDetail::Mentioned { path, lines }) =
                mentioned(&Attachment { kind: MENTION.to_owned(), text })
            else {
                panic!("{} is not there", path.display());
            };
            (path, lines)
        };
        assert_eq!(shown(&path, None), (path.clone(), None));
        assert_eq!(shown(&path, Some(range((1, 0), (3, 0)))), (path.clone(), Some((2, 3))));
        assert_eq!(shown(folder.path(), None), (folder.path().to_owned(), None));
        let gone = folder.path().join("gone.txt");
        assert_eq!(shown(&gone, None), (gone.clone(), None));
    }

    #[test]
    fn columns_count_as_the_editor_counts() {
        assert_eq!(selected("abcd\n", range((0, 1), (0, 3)), Encoding::Utf8), "bc");
        assert_eq!(selected("𝄞xy\nzw\n", range((0, 2), (1, 1)), Encoding::Utf16), "xy\nz");
        assert_eq!(selected("𝄞xy\nzw\n", range((0, 4), (1, 1)), Encoding::Utf8), "xy\nz");
        assert_eq!(selected("ab\n", range((0, 1), (0, 99)), Encoding::Utf8), "b");
    }
}
