//! The partial and the minimal resume: a fresh thread that begins with a digest of the old one.
//!
//! The digest says what the transcript says, shortened; it draws no conclusions. It stands behind a compact
//! boundary, so that the old thread stays in the file and the new one is found by the next resume.

use std::{fmt::Write, sync::Arc};

use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use super::{
    Loaded, Strategy,
    materialise::is_prompt,
    project_state::{Progress, ProjectState},
};
use crate::{
    excerpt::one_line,
    message::{Block, Body, Flags, Message, ResultContent},
    record::{COMPACT_BOUNDARY, derived_uuid},
};

const HEADING: &str = "# What is known about the session so far\n\nA digest of a transcript that is not replayed as a whole. Details are missing; look again where they matter.\n";
/// "context files (≤ 20, newest)"
const FILES: usize = 20;
const PROMPTS: usize = 40;
const RESULTS: usize = 30;
const ERRORS: usize = 10;
const CONCLUSIONS: usize = 20;
const LONG: usize = 600;
const SHORT: usize = 160;
/// Rounds that follow the digest word for word, if they are not too long.
const ROUNDS: usize = 3;
const ROUND_MESSAGES: usize = 60;

/// `known`: what is known about the project besides.
pub(super) fn replace_thread(loaded: &mut Loaded, git_branch: Option<&str>, known: Option<ProjectState>) {
    let old = std::mem::take(&mut loaded.thread);
    let rounds = match loaded.strategy {
        Strategy::Full | Strategy::Partial => last_rounds(&old),
        Strategy::Minimal => &[],
    };
    let text = match loaded.strategy {
        Strategy::Full | Strategy::Partial => render(&old, loaded, git_branch),
        Strategy::Minimal => render_state(&old, loaded, git_branch, known.unwrap_or_default()),
    };
    let leaf = old.last().map(|message| message.uuid);
    let timestamp = old.last().map_or_else(Timestamp::now, |message| message.timestamp);

    let boundary = Message {
        uuid: derived_uuid(leaf.unwrap_or(Uuid::nil()), "boundary"),
        parent: leaf,
        timestamp,
        flags: Flags::default(),
        body: Body::notice(COMPACT_BOUNDARY, "The conversation goes on from a digest of what could be read."),
    };
    let digest = Message {
        uuid: derived_uuid(boundary.uuid, "digest"),
        parent: Some(boundary.uuid),
        timestamp,
        flags: Flags { meta: true, compact_summary: true, sidechain: false },
        body: Body::User { content: vec![Block::text(text)] },
    };
    let mut parent = digest.uuid;
    let mut thread = vec![Arc::new(boundary), Arc::new(digest)];
    for message in rounds {
        let uuid = derived_uuid(message.uuid, "copy");
        let flags = Flags { sidechain: false, ..message.flags };
        thread.push(Arc::new(Message { uuid, parent: Some(parent), flags, ..Message::clone(message) }));
        parent = uuid;
    }
    loaded.new_messages = thread.clone();
    loaded.thread = thread;
}

fn last_rounds(thread: &[Arc<Message>]) -> &[Arc<Message>] {
    let prompts =
        thread.iter().enumerate().filter(|(_, message)| is_prompt(message)).map(|(position, _)| position);
    let starts: Vec<usize> = prompts.collect();
    let newest = starts.get(starts.len().saturating_sub(ROUNDS)..).unwrap_or_default();
    let fitting = newest.iter().find(|start| thread.len() - **start <= ROUND_MESSAGES);
    fitting.and_then(|start| thread.get(*start..)).unwrap_or_default()
}

/// The state of the project, with what this session adds to it.
fn render_state(
    old: &[Arc<Message>],
    loaded: &Loaded,
    git_branch: Option<&str>,
    mut known: ProjectState,
) -> String {
    known.learn(Progress {
        session: None,
        title: loaded.title.as_deref(),
        cwd: loaded.cwd.as_deref(),
        git_branch,
        thread: old,
        notes: None,
    });
    format!("{HEADING}{}", known.sections())
}

fn render(old: &[Arc<Message>], loaded: &Loaded, git_branch: Option<&str>) -> String {
    let mut text = HEADING.to_owned();
    let mut facts = Vec::new();
    facts.extend(loaded.title.as_ref().map(|title| format!("Session: {}", one_line(title, SHORT))));
    facts.extend(loaded.cwd.as_ref().map(|cwd| format!("Working directory: {}", cwd.display())));
    facts.extend(git_branch.map(|branch| format!("Branch: {branch}")));
    facts.extend(old.last().map(|message| format!("Last activity: {}", message.timestamp)));
    section(&mut text, "Project", facts);

    let contents = Contents::of(old);
    section(&mut text, "Files that were worked with, newest first", contents.files);
    section(&mut text, "What the user said", newest(contents.prompts, PROMPTS));
    section(&mut text, "Results of tools, shortened", newest(contents.results, RESULTS));
    section(&mut text, "Errors", newest(contents.errors, ERRORS));
    section(
        &mut text,
        "What the assistant said at the end of its turns",
        newest(contents.conclusions, CONCLUSIONS),
    );
    section(&mut text, "Tasks", contents.tasks);
    text
}

/// What a digest is made of, oldest first but for the files.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) prompts: Vec<String>,
    results: Vec<String>,
    errors: Vec<String>,
    /// What the assistant said at the end of its turns.
    pub(super) conclusions: Vec<String>,
    pub(super) tasks: Vec<String>,
    pub(super) files: Vec<String>,
}

impl Contents {
    pub(super) fn of(thread: &[Arc<Message>]) -> Self {
        let mut contents = Self::default();
        for (position, message) in thread.iter().enumerate() {
            match &message.body {
                Body::User { content } if is_prompt(message) => {
                    contents
                        .prompts
                        .extend(content.iter().filter_map(plain_text).map(|text| one_line(text, LONG)));
                }
                Body::User { content } => content.iter().for_each(|block| contents.result(block)),
                Body::Assistant { content, .. } => {
                    content.iter().for_each(|block| contents.call(block));
                    let mut rest = thread.iter().skip(position + 1);
                    let next =
                        rest.find(|next| matches!(next.body, Body::User { .. } | Body::Assistant { .. }));
                    let ends_turn = next.is_none_or(|next| is_prompt(next));
                    let last = content.iter().rev().find_map(plain_text).filter(|_| ends_turn);
                    contents.conclusions.extend(last.map(|text| one_line(text, LONG)));
                }
                Body::System { .. } | Body::Attachment(_) => {}
            }
        }
        contents.files.reverse();
        contents.files.truncate(FILES);
        contents
    }

    fn result(&mut self, block: &Block) {
        let Block::ToolResult { content, is_error, .. } = block else { return };
        let text = match content {
            ResultContent::Text(text) => Some(text.as_str()),
            ResultContent::Blocks(blocks) => blocks.iter().find_map(plain_text),
        };
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return };
        let results = if *is_error { &mut self.errors } else { &mut self.results };
        results.push(one_line(text, SHORT));
    }

    fn call(&mut self, block: &Block) {
        let Block::ToolUse { name, input, .. } = block else { return };
        if let Some(file) = input.get("file_path").and_then(Value::as_str) {
            self.files.retain(|known| known != file);
            self.files.push(file.to_owned());
        }
        if let ("TodoWrite", Some(todos)) = (name.as_str(), input.get("todos").and_then(Value::as_array)) {
            let task = |todo: &Value| {
                let status = todo.get("status").and_then(Value::as_str).unwrap_or("pending");
                Some(format!("[{status}] {}", one_line(todo.get("content")?.as_str()?, SHORT)))
            };
            self.tasks = todos.iter().filter_map(task).collect();
        }
    }
}

pub(super) fn section(
    text: &mut String,
    heading: &str,
    lines: impl IntoIterator<Item = impl std::fmt::Display>,
) {
    let mut lines = lines.into_iter().peekable();
    if lines.peek().is_none() {
        return;
    }
    text.push_str("\n## ");
    text.push_str(heading);
    text.push('\n');
    for line in lines {
        // Writing to a string cannot fail.
        writeln!(text, "- {line}").unwrap_or_default();
    }
}

fn newest(mut lines: Vec<String>, limit: usize) -> Vec<String> {
    lines.drain(..lines.len().saturating_sub(limit));
    lines
}

fn plain_text(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text } if !text.trim().is_empty() => Some(text),
        _ => None,
    }
}
