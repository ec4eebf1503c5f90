//! What a project's next session has to know when a transcript cannot be replayed: "project facts, context files (≤ 20,
//! newest), decisions, pending tasks, last session; kept as a small Markdown file beside the transcripts".
//!
//! Whoever learns something goes through [`ProjectState::update`]: the end of a turn with [`ProjectState::learn`], others
//! by changing the fields.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Read, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::digest::Contents;
use crate::{
    excerpt::one_line,
    message::{Message, SessionId},
    transcript::atomic,
};

const NAME: &str = "project-state.md";
/// A longer one was not written by us; what is behind that is not read.
const LONGEST: u64 = 64 << 10;
/// "context files (≤ 20, newest)"
const FILES: usize = 20;
const FACTS: usize = 40;
const DECISIONS: usize = 20;
const TASKS: usize = 40;
const LINE: usize = 600;
/// The end of a turn looks at so many messages: the others were the end of another.
const RECENT: usize = 200;

/// One line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectState {
    /// `What: how it is`.
    pub facts: Vec<String>,
    /// Newest first.
    pub files: Vec<String>,
    /// Oldest first.
    pub decisions: Vec<String>,
    /// Those that are not done.
    pub tasks: Vec<String>,
    pub last_session: Vec<String>,
}

/// A session as far as it went.
#[derive(Clone, Copy)]
pub struct Progress<'a> {
    pub session: Option<&'a SessionId>,
    pub title: Option<&'a str>,
    pub cwd: Option<&'a Path>,
    pub git_branch: Option<&'a str>,
    pub thread: &'a [Arc<Message>],
    /// Where it keeps notes about itself, if it does.
    pub notes: Option<&'a Path>,
}

impl ProjectState {
    /// `directory`: where the transcripts are. `None` if nothing is known.
    pub fn read(directory: &Path) -> Option<Self> {
        let mut bytes = Vec::new();
        File::open(path(directory)).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
        let state = Self::parse(&String::from_utf8_lossy(&bytes));
        (state != Self::default()).then_some(state)
    }

    /// Changes what is known, whoever else does so at the same time. Waits for the disk.
    pub fn update(directory: &Path, change: impl FnOnce(&mut Self)) -> io::Result<()> {
        let path = path(directory);
        let _turn = atomic::lock(&path)?;
        let before = Self::read(directory).unwrap_or_default();
        let mut state = before.clone();
        change(&mut state);
        state.tidy();
        if state == before {
            return Ok(());
        }
        atomic::replace(&path, |file| file.write_all(state.to_markdown().as_bytes()))
    }

    /// Takes in what a session did last.
    pub fn learn(&mut self, progress: Progress<'_>) {
        let Progress { session, title, cwd, git_branch, thread, notes } = progress;
        if let Some(cwd) = cwd {
            self.set_fact("Working directory", &cwd.display().to_string());
        }
        if let Some(branch) = git_branch {
            self.set_fact("Branch", branch);
        }
        let recent = thread.get(thread.len().saturating_sub(RECENT)..).unwrap_or_default();
        let Some(last) = recent.last() else { return };
        let contents = Contents::of(recent);
        self.files.retain(|known| !contents.files.contains(known));
        self.files.splice(0..0, contents.files);
        self.decisions.retain(|known| !contents.conclusions.contains(known));
        self.decisions.extend(contents.conclusions);
        // Without a list of its own the session has left the tasks as they were.
        if !contents.tasks.is_empty() {
            self.tasks = contents.tasks;
        }
        let asked = contents.prompts.last().map(|prompt| format!("Asked last: {prompt}"));
        let title = title.map(|title| format!("Title: {title}"));
        let session = session.map(|session| format!("Session: {session}"));
        let when = Some(format!("Last activity: {}", last.timestamp));
        let notes = notes.map(|path| format!("Notes: {}", path.display()));
        self.last_session = [session, title, when, asked, notes].into_iter().flatten().collect();
        self.tidy();
    }

    /// The sections, for a file or for a model.
    pub(super) fn sections(&self) -> String {
        let mut text = String::new();
        for (heading, lines) in HEADINGS.iter().zip(self.lists()) {
            super::digest::section(&mut text, heading, lines.iter().map(String::as_str));
        }
        text
    }

    fn set_fact(&mut self, what: &str, how: &str) {
        let fact = format!("{what}: {how}");
        let known =
            self.facts.iter_mut().find(|fact| fact.split_once(": ").is_some_and(|(it, _)| it == what));
        match known {
            Some(known) => *known = fact,
            None => self.facts.push(fact),
        }
    }

    /// Short, on one line each, and not too many.
    fn tidy(&mut self) {
        self.tasks.retain(|task| !task.starts_with("[completed]"));
        let excess = self.decisions.len().saturating_sub(DECISIONS);
        self.decisions.drain(..excess);
        self.facts.truncate(FACTS);
        self.files.truncate(FILES);
        self.tasks.truncate(TASKS);
        for line in self.lists_mut().into_iter().flatten() {
            *line = one_line(line, LINE);
        }
        self.lists_mut().into_iter().for_each(|lines| lines.retain(|line| !line.is_empty()));
    }

    fn to_markdown(&self) -> String {
        let mut text = "# Project state\n\nWhat a session here begins with when its transcript cannot be replayed. Reverie rewrites this file at the end of a turn.\n".to_owned();
        // Writing to a string cannot fail.
        write!(text, "{}", self.sections()).unwrap_or_default();
        text
    }

    /// Whatever is not a line of a section that is known is passed over.
    fn parse(text: &str) -> Self {
        let mut state = Self::default();
        let mut section = None;
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                section = HEADINGS.iter().position(|known| *known == heading.trim());
            } else if let (Some(at), Some(item)) = (section, line.strip_prefix("- "))
                && let Some(lines) = state.lists_mut().into_iter().nth(at)
            {
                lines.push(item.to_owned());
            }
        }
        state.tidy();
        state
    }

    /// In the order of their headings.
    fn lists(&self) -> [&Vec<String>; 5] {
        [&self.facts, &self.files, &self.decisions, &self.tasks, &self.last_session]
    }

    fn lists_mut(&mut self) -> [&mut Vec<String>; 5] {
        [&mut self.facts, &mut self.files, &mut self.decisions, &mut self.tasks, &mut self.last_session]
    }
}

const HEADINGS: [&str; 5] =
    ["Project", "Context files, newest first", "Decisions", "Pending tasks", "Last session"];

fn path(directory: &Path) -> PathBuf {
    directory.join(NAME)
}

#[cfg(test)]
mod tests;
