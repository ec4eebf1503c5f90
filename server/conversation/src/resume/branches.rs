//! What the branches of a transcript are about, for whoever has to choose one.

use std::{collections::HashSet, io, path::Path, sync::Arc};

use jiff::Timestamp;
use uuid::Uuid;

use super::{choose::BranchPlaces, materialise::Window, materialise::is_prompt};
use crate::{
    excerpt::one_line,
    message::{Block, Body, Message},
    record::{Record, decode, repaired_json},
    scan::Place,
};

/// A thread of the session that can be gone on with.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// Its last message, which [`load`](crate::load) takes; nil: before the first message.
    pub leaf: Uuid,
    /// What the user said first where it leaves the others; empty if that was nothing.
    pub first_prompt: String,
    /// From the first message of the thread to its last.
    pub messages: usize,
    pub updated_at: Timestamp,
    /// The one that is loaded.
    pub current: bool,
}

/// The newest so many are told. Whoever has more does not choose from a list.
const MOST_BRANCHES: usize = 100;
const PROMPT_CHARS: usize = 300;
/// A longer record is no prompt that anybody typed.
const LONGEST_PROMPT: u32 = 1 << 20;
const WINDOW: u64 = 16 << 10;

/// `joined`: records that are part of the current thread though they lie beside its path.
pub(super) fn describe(
    path: &Path,
    places: &[BranchPlaces],
    thread: &[Arc<Message>],
    joined: &HashSet<Uuid>,
) -> io::Result<Vec<Branch>> {
    let mut branches = Vec::new();
    let Some((current, others)) = places.split_first() else { return Ok(branches) };
    branches.push(Branch {
        leaf: current.leaf.map_or(Uuid::nil(), |(leaf, _)| leaf),
        first_prompt: String::new(),
        messages: current.messages,
        updated_at: thread.last().map_or(Timestamp::UNIX_EPOCH, |message| message.timestamp),
        current: true,
    });
    let mut joints = HashSet::new();
    let mut window = Window::open(path, WINDOW)?;
    for branch in others {
        let Some((leaf, place)) = branch.leaf.filter(|(leaf, _)| !joined.contains(leaf)) else { continue };
        let last = read(&mut window, place)?;
        let may_be_parallel = branch.may_be_parallel && branch.joint.is_none();
        if last.as_deref().is_some_and(|last| is_no_branch(last, branch, may_be_parallel)) {
            continue;
        }
        branches.push(Branch {
            leaf,
            first_prompt: first_prompt(&mut window, &branch.prompts)?,
            messages: branch.messages,
            updated_at: last.map_or(Timestamp::UNIX_EPOCH, |message| message.timestamp),
            current: false,
        });
        joints.extend(branch.joint);
        if branches.len() == MOST_BRANCHES {
            break;
        }
    }
    if let Some(current) = branches.first_mut() {
        current.first_prompt = prompt_of_current(thread, &joints);
    }
    Ok(branches)
}

/// The first prompt after the newest message that another branch grows from, else the last one before it.
fn prompt_of_current(thread: &[Arc<Message>], joints: &HashSet<Uuid>) -> String {
    let joint = thread.iter().rposition(|message| joints.contains(&message.uuid));
    let (shared, own) = thread.split_at(joint.map_or(0, |joint| joint + 1));
    let after = own.iter().find_map(|message| prompt(message));
    after.or_else(|| shared.iter().rev().find_map(|message| prompt(message))).unwrap_or_default()
}

/// How many branches there are, without reading the current thread.
pub(super) fn count(path: &Path, places: &[BranchPlaces]) -> io::Result<u64> {
    let mut window = Window::open(path, WINDOW)?;
    let mut count = 0;
    for branch in places {
        let last = match branch.leaf {
            Some((_, place)) if branch.is_single => read(&mut window, place)?,
            _ => None,
        };
        let is_no_branch = |last: &Message| is_no_branch(last, branch, branch.may_be_parallel);
        count += u64::from(!last.as_deref().is_some_and(is_no_branch));
    }
    Ok(count.min(MOST_BRANCHES as u64))
}

fn first_prompt(window: &mut Window, places: &[Place]) -> io::Result<String> {
    for place in places.iter().filter(|place| place.length <= LONGEST_PROMPT) {
        if let Some(text) = read(window, *place)?.as_deref().and_then(prompt) {
            return Ok(text);
        }
    }
    Ok(String::new())
}

fn prompt(message: &Message) -> Option<String> {
    let Body::User { content } = &message.body else { return None };
    content.iter().filter(|_| is_prompt(message)).find_map(|block| match block {
        Block::Text { text } if !text.trim().is_empty() => Some(one_line(text, PROMPT_CHARS)),
        _ => None,
    })
}

/// Claude Code ties each result to the block that called, so that of parallel calls only one lies on the way; and
/// notes of its own hang anywhere.
fn is_no_branch(last: &Message, branch: &BranchPlaces, may_be_parallel: bool) -> bool {
    match &last.body {
        Body::User { content } => {
            may_be_parallel && content.iter().any(|block| matches!(block, Block::ToolResult { .. }))
        }
        Body::System { .. } => branch.is_single,
        Body::Assistant { .. } | Body::Attachment(_) => false,
    }
}

fn read(window: &mut Window, place: Place) -> io::Result<Option<Arc<Message>>> {
    let line = window.bytes(place)?;
    let record = decode(line).or_else(|_| decode(repaired_json(line).as_bytes()));
    Ok(match record {
        Ok(Record::Message(message)) => Some(message),
        _ => None,
    })
}
