//! The notes of a session by rules: a round of edits that fill the sections from what happened, then a word.
//!
//! What the rules made is made anew each time; what somebody else has written into a section stays above it.

use conversation::{Block, RequestMessage, Role};
use serde_json::json;

use super::{
    plan::{Step, ToolCall},
    summary::{self, Told},
};
use crate::{QuerySource, Request};

/// The line that marks the directive for them.
const NOTES_TAG: &str = "<reverie-fork kind=\"session_memory\">";

/// Bytes of a section: fewer than 2,000 tokens of any text.
const SECTION: usize = 5_000;

/// `None` where no notes are asked for.
pub(super) fn step(request: &Request) -> Option<Step> {
    if request.source != QuerySource::SessionMemory {
        return None;
    }
    let (at, directive) = request.messages.iter().enumerate().rev().find_map(directive)?;
    if at + 1 < request.messages.len() {
        return Some(Step::Answer("The notes are up to date.".to_owned()));
    }
    let told = summary::told(&request.messages, directive);
    let calls = page(directive).map(|page| edits(&page, &told)).unwrap_or_default();
    Some(match calls.is_empty() {
        true => Step::Answer("There is nothing to write down.".to_owned()),
        false => Step::Calls(calls),
    })
}

fn directive((at, message): (usize, &RequestMessage)) -> Option<(usize, &str)> {
    let texts = message.content.iter().rev().filter_map(|block| match block {
        Block::Text { text } if message.role == Role::User => Some(text.as_str()),
        _ => None,
    });
    texts.into_iter().find(|text| text.starts_with(NOTES_TAG)).map(|text| (at, text))
}

/// The notes as the directive shows them.
struct Page<'a> {
    path: &'a str,
    sections: Vec<Section<'a>>,
}

struct Section<'a> {
    name: &'a str,
    /// The heading, and the line in italics below it.
    head: &'a str,
    body: &'a str,
    /// Both.
    text: &'a str,
}

/// Between our own tags, or, where the words are the user's, from the first heading on.
fn page(directive: &str) -> Option<Page<'_>> {
    const OPEN: &str = "<session-notes path=\"";
    let (path, notes) = match directive.split_once(OPEN).and_then(|(_, rest)| rest.split_once("\">\n")) {
        Some((path, rest)) => (path, rest.split_once("\n</session-notes>")?.0),
        None => {
            let is_path = |word: &&str| word.starts_with('/') && word.ends_with("/session-memory/summary.md");
            let mut words = directive.split([' ', '\n', '\t', '"', '`', ',', ':']);
            (words.find(is_path)?, directive.get(directive.find("\n# ")? + 1..)?)
        }
    };
    let mut sections = Vec::new();
    let mut rest = notes;
    loop {
        let end = rest.find("\n# ").map_or(rest.len(), |at| at + 1);
        let (text, next) = rest.split_at(end);
        sections.extend(section(text.trim_end()));
        if next.is_empty() {
            break;
        }
        rest = next;
    }
    Some(Page { path, sections })
}

fn section(text: &str) -> Option<Section<'_>> {
    let name = text.strip_prefix("# ")?.lines().next()?;
    let mut lines = text.split_inclusive('\n');
    let heading = lines.next()?.len();
    let is_italic = |line: &&str| line.trim_end().len() > 1 && line.starts_with(['_', '*']);
    let described = lines.next().filter(is_italic).map_or(0, str::len);
    let (head, body) = text.split_at(heading + described);
    Some(Section { name: name.trim(), head: head.trim_end(), body: body.trim(), text })
}

/// One for each section that changes.
fn edits(page: &Page<'_>, told: &Told) -> Vec<ToolCall> {
    let filled = |section: &Section<'_>| -> Option<String> {
        let made = match section.name {
            "Session Title" if !section.body.is_empty() => return None,
            "Session Title" => return told.title.clone(),
            "Current State" => &told.current,
            "Task specification" => &told.requests,
            "Files and Functions" => &told.files,
            "Workflow" => &told.commands,
            "Errors & Corrections" => &told.errors,
            "Key results" => &told.results,
            "Worklog" => &told.worklog,
            _ => return None,
        };
        Some(body(section, made, told.is_whole))
    };
    let mut changes: Vec<(&Section<'_>, String)> =
        page.sections.iter().filter_map(|section| Some((section, filled(section)?))).collect();
    // A form that the rules do not know.
    if let Some(last) = page.sections.last().filter(|_| changes.is_empty()) {
        changes.push((last, body(last, &told.worklog, told.is_whole)));
    }
    let changed = changes.into_iter().filter(|(section, body)| section.body != body && !body.is_empty());
    changed
        .map(|(section, body)| {
            let new = format!("{}\n{body}", section.head);
            let input = json!({ "file_path": page.path, "old_string": section.text, "new_string": new });
            ToolCall::new("Edit", input)
        })
        .collect()
}

/// What was there and is not ours, then what the rules say. Where the beginning of the conversation is gone,
/// what was said about it stays.
fn body(section: &Section<'_>, made: &[String], is_whole: bool) -> String {
    let is_ours = |line: &&str| line.starts_with("- ") || line.starts_with("  > ");
    let foreign = section.body.lines().filter(|line| !is_ours(line) && !line.trim().is_empty());
    let key = |line: &str| line.split_once(": ").map_or(line, |(key, _)| key).to_owned();
    let keys: Vec<String> = made.iter().map(|item| key(item)).collect();
    let is_kept = |line: &&str| !is_whole && section.name != "Current State" && !keys.contains(&key(line));
    let earlier = section.body.lines().filter(|line| line.starts_with("- ")).filter(is_kept);
    let mut lines: Vec<String> = foreign.map(str::to_owned).collect();
    let items: Vec<String> = earlier.map(str::to_owned).chain(made.iter().cloned()).collect();
    lines.push(summary::fitted(&items, SECTION));
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}

#[cfg(test)]
mod tests;
