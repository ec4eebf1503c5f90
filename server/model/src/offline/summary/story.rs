//! What happened in a conversation: turns, what was done in each, what came of it.

use std::collections::HashMap;

use conversation::{Block, RequestMessage, Role};
use serde_json::Value;

use super::{
    earlier::{self, Earlier},
    is_directive,
    words::{cut, line},
};
use crate::offline::situation::{result_text, without_reminders};

#[derive(Default)]
pub(super) struct Story<'a> {
    /// What stands for messages that were removed before.
    pub(super) earlier: Vec<Earlier<'a>>,
    pub(super) turns: Vec<Turn<'a>>,
}

/// A request of the user, and all until the next one.
#[derive(Default)]
pub(super) struct Turn<'a> {
    /// Empty if the conversation begins in the middle.
    pub(super) request: String,
    pub(super) deeds: Vec<Deed<'a>>,
    /// The last thing that was said; empty if nothing was.
    pub(super) answer: &'a str,
    /// Whether the answer is what the turn ended with.
    pub(super) is_answered: bool,
}

/// A call of a tool.
pub(super) struct Deed<'a> {
    pub(super) tool: &'a str,
    pub(super) input: &'a Value,
    pub(super) outcome: Outcome,
    /// What was said next.
    pub(super) followed_by: &'a str,
}

pub(super) enum Outcome {
    /// The conversation ends before its result.
    Open,
    Done,
    /// The beginning of what it said.
    Failed(String),
}

/// As much of an error as is ever shown.
const LONGEST_ERROR: usize = 400;

impl Deed<'_> {
    /// What the call was about: a path, a command, a pattern.
    pub(super) fn target(&self) -> &str {
        let fields = ["file_path", "notebook_path", "command", "pattern", "url", "query", "path", "question"];
        fields.iter().find_map(|field| self.input.get(*field)?.as_str()).unwrap_or_default()
    }

    /// The call in words: `Bash of "cargo test"`, with the target in backticks.
    pub(super) fn told(&self) -> String {
        match self.target() {
            "" => self.tool.to_owned(),
            target => format!("{} of `{}`", self.tool, line(target, 160)),
        }
    }

    pub(super) fn path(&self) -> Option<&str> {
        ["file_path", "notebook_path"].iter().find_map(|field| self.input.get(*field)?.as_str())
    }
}

impl<'a> Story<'a> {
    /// `directive` asks for the summary and is no part of what happened.
    pub(super) fn of(messages: &'a [RequestMessage], directive: &str) -> Self {
        let mut story = Self::default();
        let mut open: HashMap<&str, (usize, usize)> = HashMap::new();
        for message in messages {
            match message.role {
                Role::User => story.read_user(&message.content, directive, &mut open),
                Role::Assistant => story.read_assistant(&message.content, &mut open),
            }
        }
        story
    }

    pub(super) fn deeds(&self) -> impl DoubleEndedIterator<Item = &Deed<'a>> {
        self.turns.iter().flat_map(|turn| &turn.deeds)
    }

    pub(super) fn requests(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.turns.iter().map(|turn| turn.request.as_str()).filter(|request| !request.is_empty())
    }

    fn read_user(
        &mut self,
        content: &'a [Block],
        directive: &str,
        open: &mut HashMap<&'a str, (usize, usize)>,
    ) {
        let mut typed = String::new();
        for block in content {
            match block {
                Block::Text { text } if text == directive || is_directive(text) => {}
                Block::Text { text } => match earlier::read(text) {
                    Some(earlier) => self.earlier.push(earlier),
                    None => typed.push_str(&without_reminders(text, |_| {})),
                },
                Block::ToolResult { tool_use_id, content, is_error } => {
                    let outcome = if *is_error {
                        Outcome::Failed(cut(&result_text(content), LONGEST_ERROR))
                    } else {
                        Outcome::Done
                    };
                    let place = open.remove(tool_use_id.as_str());
                    let deed = place.and_then(|(turn, at)| self.turns.get_mut(turn)?.deeds.get_mut(at));
                    if let Some(deed) = deed {
                        deed.outcome = outcome;
                    }
                }
                _ => {}
            }
        }
        if !typed.trim().is_empty() {
            self.turns.push(Turn { request: typed.trim().to_owned(), ..Turn::default() });
        }
    }

    fn read_assistant(&mut self, content: &'a [Block], open: &mut HashMap<&'a str, (usize, usize)>) {
        if self.turns.is_empty() {
            self.turns.push(Turn::default());
        }
        let at = self.turns.len() - 1;
        let Some(turn) = self.turns.get_mut(at) else { return };
        for block in content {
            match block {
                // An answer to a directive that was not good enough.
                Block::Text { text } if text.contains("<summary>") => {}
                Block::Text { text } if !text.trim().is_empty() => {
                    turn.answer = text.trim();
                    turn.is_answered = true;
                    let silent = turn.deeds.iter_mut().rev().take_while(|deed| deed.followed_by.is_empty());
                    silent.for_each(|deed| deed.followed_by = text.trim());
                }
                Block::ToolUse { id, name, input } => {
                    open.insert(id, (at, turn.deeds.len()));
                    let (outcome, followed_by) = (Outcome::Open, "");
                    turn.deeds.push(Deed { tool: name, input, outcome, followed_by });
                    turn.is_answered = false;
                }
                _ => {}
            }
        }
    }
}
