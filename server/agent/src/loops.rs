//! A guard against turns that go round in circles: what a compaction removes is fetched again, until the next one removes
//! it again.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use context::compact;
use conversation::{Block, Body, Message};

use crate::{
    event::{NoticeLevel, TurnEnd, TurnStop},
    meter,
    turn::Turn,
};

/// Full again within so many rounds of a compaction …
const FEW_ROUNDS: u32 = 3;
/// … or with nothing but what was called before, and so often in a row: another compaction would not help.
const MOST: u32 = 3;

/// Tools that change something: whoever uses them gets on.
const CHANGES: [&str; 4] = ["Edit", "MultiEdit", "Write", "TodoWrite"];

/// What is known about the compactions of a turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refills {
    rounds_since: u32,
    in_a_row: u32,
    /// What was called before the last compaction.
    called: HashSet<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Circle {
    /// The window is full at once.
    Full,
    /// The same calls are made again.
    Same,
}

impl Refills {
    pub fn round(&mut self) {
        self.rounds_since += 1;
    }

    pub fn compacted(&mut self) {
        self.rounds_since = 0;
    }

    /// The conversation is full. Whether it has gone round in circles long enough.
    fn full(&mut self, thread: &[Arc<Message>]) -> Option<Circle> {
        let is_compacted = thread.first().is_some_and(|first| first.compaction().is_some());
        let calls: Vec<(&str, u64)> = thread.iter().flat_map(|message| calls(message)).collect();
        let only_known = !calls.is_empty() && calls.iter().all(|(_, call)| self.called.contains(call));
        let gets_on = calls.iter().any(|(name, _)| CHANGES.contains(name));
        self.called.extend(calls.iter().map(|(_, call)| call));
        let circle = match is_compacted {
            true if self.rounds_since <= FEW_ROUNDS => Some(Circle::Full),
            true if only_known && !gets_on => Some(Circle::Same),
            _ => None,
        };
        self.in_a_row = if circle.is_some() { self.in_a_row + 1 } else { 0 };
        circle.filter(|_| self.in_a_row >= MOST)
    }
}

/// The tools that a message calls, and what for: which part of a file or a result does not count.
fn calls(message: &Message) -> Vec<(&str, u64)> {
    let Body::Assistant { content, .. } = &message.body else { return Vec::new() };
    content.iter().filter_map(call).collect()
}

fn call(block: &Block) -> Option<(&str, u64)> {
    let Block::ToolUse { name, input, .. } = block else { return None };
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    for (key, value) in input.as_object().into_iter().flatten() {
        if !matches!(key.as_str(), "offset" | "limit" | "head_limit" | "description" | "timeout") {
            (key, value.to_string()).hash(&mut hasher);
        }
    }
    Some((name.as_str(), hasher.finish()))
}

/// Stops a turn that goes round in circles, with words.
pub(crate) fn guard(turn: &Turn) -> Result<(), TurnEnd> {
    let thread = turn.session.state().thread.clone();
    let circle = turn.session.state().window.refills.full(&thread);
    let Some(circle) = circle else { return Ok(()) };
    turn.session.state().window.refills = Refills::default();
    let tokens = meter::of_message(&turn.session, &turn.opening.spec);
    let mut largest: Vec<(u64, String)> =
        thread.iter().filter_map(|message| Some((tokens(message), what_is(&thread, message)?))).collect();
    largest.sort_by(|one, other| other.cmp(one));
    let largest: Vec<String> =
        largest.into_iter().take(3).map(|(tokens, what)| format!("{what} ({tokens} tokens)")).collect();
    let how = match circle {
        Circle::Full => {
            format!("the conversation is full again within {FEW_ROUNDS} rounds of being compacted")
        }
        Circle::Same => {
            "the same is looked at again after each compaction, and nothing is changed".to_owned()
        }
    };
    let text = format!(
        "stopped: {how}, {MOST} times in a row. The largest things in it: {}. Ask for a smaller part of them, or start a \
         new session",
        largest.join(", ")
    );
    turn.notice(NoticeLevel::Error, text);
    Err(turn.end(TurnStop::Blocked))
}

/// What a large message is, in a few words.
fn what_is(thread: &[Arc<Message>], message: &Message) -> Option<String> {
    match &message.body {
        Body::User { content } => {
            let result = content.iter().find_map(|block| match block {
                Block::ToolResult { tool_use_id, .. } => Some(tool_use_id),
                _ => None,
            });
            let Some(id) = result else { return Some("a message".to_owned()) };
            let call = thread.iter().filter_map(|it| match &it.body {
                Body::Assistant { content, .. } => Some(content),
                _ => None,
            });
            call.flatten().find_map(|block| match block {
                Block::ToolUse { id: called, name, input } if called == id => {
                    let of = ["file_path", "path", "command", "url"]
                        .iter()
                        .find_map(|key| input.get(*key)?.as_str());
                    Some(format!("{name} {}", of.unwrap_or_default()).trim_end().to_owned())
                }
                _ => None,
            })
        }
        Body::Attachment(attachment) => Some(match compact::restored_path(attachment) {
            Some(path) => format!("what the summary came with of {path}"),
            None => attachment.kind.clone(),
        }),
        Body::Assistant { .. } => Some("an answer".to_owned()),
        Body::System { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use conversation::{COMPACT_BOUNDARY, Compaction, Flags};
    use jiff::Timestamp;
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;

    fn message(body: Body) -> Arc<Message> {
        let (uuid, timestamp, flags) = (Uuid::nil(), Timestamp::UNIX_EPOCH, Flags::default());
        Arc::new(Message { uuid, parent: None, timestamp, flags, body })
    }

    /// A compacted conversation with these calls in it.
    fn compacted(calls: &[(&str, Value)]) -> Vec<Arc<Message>> {
        let boundary = Body::System {
            subtype: COMPACT_BOUNDARY.to_owned(),
            text: String::new(),
            compaction: Some(Box::new(Compaction::default())),
        };
        let call = |(name, input): &(&str, Value)| {
            let (id, name, input) = ("t".to_owned(), (*name).to_owned(), input.clone());
            let content = vec![Block::ToolUse { id, name, input }];
            message(Body::Assistant {
                id: None,
                model: String::new(),
                content,
                stop_reason: None,
                usage: None,
            })
        };
        [message(boundary)].into_iter().chain(calls.iter().map(call)).collect()
    }

    /// What comes of it when the conversation is full so often, after so many rounds each.
    fn full(times: u32, rounds: u32, thread: impl Fn(u32) -> Vec<Arc<Message>>) -> Option<Circle> {
        let mut refills = Refills::default();
        let mut last = None;
        for time in 0..times {
            (0..rounds).for_each(|_| refills.round());
            last = refills.full(&thread(time));
            refills.compacted();
        }
        last
    }

    #[test]
    fn a_conversation_that_is_full_at_once_three_times_goes_round_in_circles() {
        let other = |time| compacted(&[("Bash", json!({ "command": format!("make {time}") }))]);
        assert_eq!([full(2, 3, other), full(3, 3, other)], [None, Some(Circle::Full)]);
        assert_eq!(full(9, 4, other), None);
    }

    #[test]
    fn so_does_one_that_looks_at_the_same_again_whatever_part_of_it() {
        let same = |time| compacted(&[("Read", json!({ "file_path": "/a", "offset": time }))]);
        // The first time is no repetition.
        assert_eq!([full(3, 40, same), full(4, 40, same)], [None, Some(Circle::Same)]);
    }

    #[test]
    fn whoever_changes_something_gets_on() {
        let edits =
            |_| compacted(&[("Read", json!({ "file_path": "/a" })), ("Edit", json!({ "file_path": "/a" }))]);
        assert_eq!(full(9, 40, edits), None);
    }
}
