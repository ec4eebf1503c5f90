//! What a request says: the question, what was done about it so far, and what the reminders know.

use conversation::{Block, ResultContent, Role};
use jiff::civil::Date;
use memory::dates::find_date;
use serde_json::Value;

use super::summary;
use crate::Request;

#[derive(Debug, Default)]
pub(super) struct Situation {
    /// The last thing the user typed.
    pub(super) question: String,
    /// The tool rounds since then, oldest first.
    pub(super) rounds: Vec<Vec<Call>>,
    /// Whether nothing was said in this conversation yet.
    pub(super) first_answer: bool,
    pub(super) reminders: Vec<String>,
    /// The memories that came to mind at the question: the file, and the lines that are shown of it.
    pub(super) recalled: Vec<Recalled>,
    pub(super) memory_dir: Option<String>,
    /// What is worth keeping goes into the log of the day.
    pub(super) keeps_log: bool,
    pub(super) working_dir: Option<String>,
    pub(super) today: Option<Date>,
    pub(super) tools: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Recalled {
    pub(super) path: String,
    pub(super) lines: Vec<(usize, String)>,
}

/// A tool call and what came of it.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) input: Value,
    pub(super) output: String,
    pub(super) failed: bool,
}

impl Call {
    pub(super) fn input_text(&self, field: &str) -> &str {
        self.input.get(field).and_then(Value::as_str).unwrap_or_default()
    }
}

impl Situation {
    pub(super) fn of(request: &Request) -> Self {
        let mut situation = Self { first_answer: true, ..Self::default() };
        situation.tools = request.tools.iter().map(|tool| tool.name.clone()).collect();
        for block in request.system.iter() {
            for line in block.text.lines() {
                let line = line.trim_start_matches(['-', '*', ' ']);
                if let Some(path) = line.strip_prefix("Memory directory:") {
                    situation.memory_dir = Some(folder(path));
                } else if line.starts_with(memory::daily::LEAD) {
                    situation.keeps_log = true;
                } else if let Some(path) = line.strip_prefix("Working directory:") {
                    situation.working_dir = Some(folder(path));
                }
            }
        }
        for message in &request.messages {
            match message.role {
                Role::User => situation.read_user(&message.content),
                Role::Assistant => situation.read_assistant(&message.content),
            }
        }
        // A conversation that went on over midnight was told so by itself.
        let later = situation.reminders.iter().rev().filter(|reminder| reminder.starts_with("Today is "));
        let first = situation
            .reminders
            .iter()
            .flat_map(|reminder| reminder.lines())
            .chain(request.system.iter().flat_map(|block| block.text.lines()))
            .filter(|line| ["date", "today"].iter().any(|word| line.to_lowercase().contains(word)));
        situation.today = later.map(String::as_str).chain(first).find_map(find_date);
        situation
    }

    pub(super) fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool == name)
    }

    /// The path as people in this folder would say it.
    pub(super) fn relative<'a>(&self, path: &'a str) -> &'a str {
        self.working_dir
            .as_deref()
            .and_then(|folder| path.strip_prefix(folder)?.strip_prefix('/'))
            .unwrap_or(path)
            .trim_start_matches("./")
    }

    pub(super) fn absolute(&self, path: &str) -> String {
        match &self.working_dir {
            Some(folder) if !path.starts_with('/') && !path.starts_with("~/") => {
                format!("{folder}/{}", path.trim_start_matches("./"))
            }
            _ => path.to_owned(),
        }
    }

    pub(super) fn in_memory(&self, path: &str) -> bool {
        let inside = |folder| path.strip_prefix(folder).is_some_and(|rest: &str| rest.starts_with('/'));
        self.memory_dir.as_deref().is_some_and(inside)
    }

    fn read_user(&mut self, content: &[Block]) {
        let known = self.reminders.len();
        let mut typed = String::new();
        for block in content {
            match block {
                // Something was said before, and perhaps asked for.
                Block::Text { text } if summary::stands_in(text) => {
                    self.first_answer = false;
                    let asked = || summary::last_request(text).unwrap_or_default();
                    self.question = Some(std::mem::take(&mut self.question))
                        .filter(|question| !question.is_empty())
                        .unwrap_or_else(asked);
                }
                Block::Text { text } => {
                    let own = without_reminders(text, |reminder| self.reminders.push(reminder.to_owned()));
                    typed.push_str(&own);
                }
                Block::ToolResult { tool_use_id, content, is_error } => {
                    let calls = self.rounds.iter_mut().flatten();
                    if let Some(call) = calls.rev().find(|call| call.id == *tool_use_id) {
                        call.output = result_text(content);
                        call.failed = *is_error;
                    }
                }
                _ => {}
            }
        }
        if !typed.trim().is_empty() {
            self.question = typed.trim().to_owned();
            self.rounds.clear();
            self.recalled.clear();
        }
        let new = self.reminders.iter().skip(known).filter_map(|reminder| recalled(reminder));
        self.recalled.extend(new.collect::<Vec<_>>());
    }

    fn read_assistant(&mut self, content: &[Block]) {
        let mut round = Vec::new();
        for block in content {
            match block {
                Block::Text { text } if !text.trim().is_empty() => self.first_answer = false,
                Block::ToolUse { id, name, input } => round.push(Call {
                    id: id.clone(),
                    tool: name.clone(),
                    input: input.clone(),
                    output: String::new(),
                    failed: false,
                }),
                _ => {}
            }
        }
        if !round.is_empty() {
            self.rounds.push(round);
        }
    }
}

/// What is outside `<system-reminder>` tags; what is inside goes to `reminder`.
pub(super) fn without_reminders(text: &str, mut reminder: impl FnMut(&str)) -> String {
    const OPEN: &str = "<system-reminder>";
    const CLOSE: &str = "</system-reminder>";
    let mut typed = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(OPEN) {
        let (inside, after) = inside.split_once(CLOSE).unwrap_or((inside, ""));
        typed.push_str(before);
        reminder(inside.trim());
        rest = after;
    }
    typed.push_str(rest);
    if !typed.trim().is_empty() {
        typed.push('\n');
    }
    typed
}

/// A reminder that shows a memory.
fn recalled(reminder: &str) -> Option<Recalled> {
    let path = memory::recall::shown_path(reminder)?;
    let title = reminder.lines().position(|line| line.starts_with("Memory"))?;
    let lines = reminder.lines().skip(title + 2).enumerate().map(|(at, line)| (at + 1, line.to_owned()));
    Some(Recalled { path: path.to_owned(), lines: lines.collect() })
}

fn folder(path: &str) -> String {
    path.trim().trim_matches('`').trim_end_matches('/').to_owned()
}

pub(super) fn result_text(content: &ResultContent) -> String {
    match content {
        ResultContent::Text(text) => text.clone(),
        ResultContent::Blocks(blocks) => {
            let texts = blocks.iter().filter_map(|block| match block {
                Block::Text { text } => Some(text.as_str()),
                Block::Image { .. } => Some("(an image, which the offline model cannot see)"),
                Block::Document { .. } => Some("(a document, which the offline model cannot read)"),
                _ => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}
