//! A fork that is asked to work on the memories: how it is known, and what it has done so far.

use conversation::{Block, RequestMessage, Role};
use memory::{
    directive::{Asked, DREAM, EXTRACT},
    index,
};

use super::{
    dream, extract,
    plan::Step,
    results::whole_text,
    situation::{Call, Situation},
};
use crate::Request;

/// What a directive asks for, and what came of it up to now.
pub(super) struct Task<'a> {
    pub(super) asked: Asked,
    /// The conversation before the directive.
    pub(super) messages: &'a [RequestMessage],
    /// The tool rounds since the directive.
    pub(super) rounds: Vec<Vec<Call>>,
}

/// `None` where nothing of this kind is asked for.
pub(super) fn step(request: &Request) -> Option<Step> {
    // What a user typed is no directive, whatever it begins with.
    if !request.source.is_fork() {
        return None;
    }
    let (at, directive) = last_text(&request.messages)?;
    let asked = Asked::of(directive)?;
    let messages = request.messages.get(..at).unwrap_or_default();
    let task = Task { asked, messages, rounds: Situation::of(request).rounds };
    match directive.lines().next()? {
        EXTRACT => Some(extract::step(&task)),
        DREAM => Some(dream::step(&task)),
        _ => None,
    }
}

/// The last text on the user's side, and the number of its message: a directive that stands further back was followed.
fn last_text(messages: &[RequestMessage]) -> Option<(usize, &str)> {
    let of_user = messages.iter().enumerate().rev().filter(|(_, message)| message.role == Role::User);
    of_user.flat_map(|(at, message)| message.content.iter().rev().map(move |block| (at, block))).find_map(
        |(at, block)| match block {
            Block::Text { text } => Some((at, text.as_str())),
            _ => None,
        },
    )
}

impl Task<'_> {
    pub(super) fn path(&self, relative: &str) -> String {
        format!("{}/{relative}", self.asked.directory)
    }

    pub(super) fn index_path(&self) -> String {
        self.path(index::NAME)
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.rounds.iter().flatten()
    }

    /// The reading of a file of the directory.
    pub(super) fn reading(&self, relative: &str) -> Option<&Call> {
        let path = self.path(relative);
        self.calls().find(|call| call.tool == "Read" && call.input_text("file_path") == path)
    }

    /// The file as it is, if all of it was shown: only then may it be written anew.
    pub(super) fn text(&self, relative: &str) -> Option<String> {
        whole_text(self.reading(relative)?)
    }

    pub(super) fn is_missing(&self, relative: &str) -> bool {
        let says_so = |call: &Call| {
            let output = call.output.to_lowercase();
            call.failed
                && ["does not exist", "no such file", "not found"].iter().any(|it| output.contains(it))
        };
        self.reading(relative).is_some_and(says_so)
    }

    /// The calls that changed something, or tried to.
    pub(super) fn writes(&self) -> impl Iterator<Item = &Call> {
        self.calls().filter(|call| matches!(call.tool.as_str(), "Write" | "Edit"))
    }
}
