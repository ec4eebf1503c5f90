//! Makes tool calls and their results complete, so that the thread can be sent and built upon.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use uuid::Uuid;

use super::Report;
use crate::{
    message::{Block, Body, Flags, Message},
    pairing::{OpenCalls, interrupted_result},
    record::interrupted_uuid,
};

/// A thread up to one of its messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cut {
    /// Every tool call has its result.
    pub thread: Vec<Arc<Message>>,
    /// The last of them, if they were added here; to be appended to the transcript.
    pub new_messages: Vec<Arc<Message>>,
}

/// The thread up to and with the message `last`; `None` cuts everything off. Calls whose results are cut off count
/// as interrupted: what they did cannot be unseen by the files. Returns `None` if there is no such message.
pub fn cut(thread: &[Arc<Message>], last: Option<Uuid>) -> Option<Cut> {
    let Some(last) = last else { return Some(Cut::default()) };
    let end = thread.iter().position(|message| message.uuid == last)?;
    let kept = thread.get(..=end).unwrap_or_default().to_vec();
    let Paired { thread, new_messages } = pair(kept, &mut Report::default());
    Some(Cut { thread, new_messages })
}

pub(super) struct Paired {
    pub(super) thread: Vec<Arc<Message>>,
    pub(super) new_messages: Vec<Arc<Message>>,
}

/// Drops results that answer nothing and answers calls that have no result. An answer in the middle is made anew
/// with every resume: appended to the file it would be the newest message, and so the end of the thread.
pub(super) fn pair(thread: Vec<Arc<Message>>, report: &mut Report) -> Paired {
    let mut calls = OpenCalls::default();
    let mut paired: Vec<Arc<Message>> = Vec::with_capacity(thread.len());
    let mut last_of_response = 0;
    for mut message in thread {
        match &message.body {
            Body::Assistant { .. } => {
                let left_over = calls.response(&message);
                if let (false, Some(response)) = (left_over.is_empty(), paired.get(last_of_response)) {
                    report.interrupted += left_over.len() as u64;
                    let answer = interrupted_results(response, left_over);
                    paired.insert(last_of_response + 1, answer);
                }
                last_of_response = paired.len();
            }
            Body::User { content } => {
                calls.replied();
                let orphans: Vec<bool> = content.iter().map(|block| is_orphan(block, &mut calls)).collect();
                let count = orphans.iter().filter(|is_orphan| **is_orphan).count();
                if count > 0 {
                    report.orphaned_results += count as u64;
                    if count == content.len() {
                        continue;
                    }
                    if let Body::User { content } = &mut Arc::make_mut(&mut message).body {
                        let mut orphans = orphans.into_iter();
                        content.retain(|_| orphans.next() != Some(true));
                    }
                }
            }
            Body::Attachment(_) => calls.replied(),
            Body::System { .. } => {}
        }
        paired.push(message);
    }
    let mut new_messages = Vec::new();
    let left_over = calls.finish();
    if let (false, Some(leaf)) = (left_over.is_empty(), paired.last()) {
        report.interrupted += left_over.len() as u64;
        let answer = interrupted_results(leaf, left_over);
        new_messages.push(Arc::clone(&answer));
        paired.push(answer);
    }
    Paired { thread: paired, new_messages }
}

fn is_orphan(block: &Block, calls: &mut OpenCalls) -> bool {
    matches!(block, Block::ToolResult { tool_use_id, .. } if !calls.answer(tool_use_id))
}

fn interrupted_results(after: &Message, calls: Vec<String>) -> Arc<Message> {
    Arc::new(Message {
        uuid: interrupted_uuid(after.uuid),
        parent: Some(after.uuid),
        timestamp: after.timestamp,
        flags: Flags { meta: true, ..after.flags },
        body: Body::User { content: calls.into_iter().map(interrupted_result).collect() },
    })
}

/// Puts records beside the path into it: the other blocks of a response that is on it, and the results of their
/// calls. Returns those that were taken.
pub(super) fn join_parallel(thread: &mut Vec<Arc<Message>>, beside: Vec<Arc<Message>>) -> HashSet<Uuid> {
    if beside.is_empty() {
        return HashSet::new();
    }
    // Which response each record of the path or beside it belongs to, and which calls of which response have
    // results already.
    let mut responses: HashMap<Uuid, String> = HashMap::new();
    let mut answered: HashSet<CallOf> = HashSet::new();
    let mut called: HashSet<CallOf> = HashSet::new();
    let mut newest = None;
    for message in thread.iter() {
        note(message, &mut responses, &mut called);
        newest = response_id(message).map(str::to_owned).or(newest);
        answered.extend(newest.iter().flat_map(|response| calls_answered(message, response)));
    }
    let mut joining: HashMap<String, Vec<Arc<Message>>> = HashMap::new();
    for message in beside {
        let Some(response) = message.parent.and_then(|parent| responses.get(&parent)).cloned() else {
            continue;
        };
        let belongs = match &message.body {
            Body::Assistant { id: Some(id), .. } => *id == response,
            Body::User { .. } => {
                let mut calls = calls_answered(&message, &response).peekable();
                calls.peek().is_some()
                    && calls.all(|call| called.contains(&call) && !answered.contains(&call))
            }
            _ => false,
        };
        if belongs {
            note(&message, &mut responses, &mut called);
            answered.extend(calls_answered(&message, &response));
            joining.entry(response).or_default().push(message);
        }
    }
    let taken: HashSet<Uuid> = joining.values().flatten().map(|message| message.uuid).collect();
    if taken.is_empty() {
        return taken;
    }
    // Each response takes its own right after its last record on the path.
    let mut joined = Vec::with_capacity(thread.len() + taken.len());
    for message in thread.drain(..).rev() {
        if let Some(mut more) = response_id(&message).and_then(|id| joining.remove(id)) {
            more.sort_by_key(|message| matches!(message.body, Body::User { .. }));
            joined.extend(more.into_iter().rev());
        }
        joined.push(message);
    }
    joined.reverse();
    *thread = joined;
    taken
}

/// A response's id and a call's: some servers number the calls of each response anew.
type CallOf = (String, String);

fn note(message: &Message, responses: &mut HashMap<Uuid, String>, called: &mut HashSet<CallOf>) {
    if let (Some(id), Body::Assistant { content, .. }) = (response_id(message), &message.body) {
        responses.insert(message.uuid, id.to_owned());
        called.extend(content.iter().filter_map(|block| match block {
            Block::ToolUse { id: call, .. } => Some((id.to_owned(), call.clone())),
            _ => None,
        }));
    }
}

fn response_id(message: &Message) -> Option<&str> {
    match &message.body {
        Body::Assistant { id, .. } => id.as_deref(),
        _ => None,
    }
}

fn calls_answered(message: &Message, response: &str) -> impl Iterator<Item = CallOf> {
    let content = match &message.body {
        Body::User { content } => content.as_slice(),
        _ => &[],
    };
    content.iter().filter_map(|block| match block {
        Block::ToolResult { tool_use_id, .. } => Some((response.to_owned(), tool_use_id.clone())),
        _ => None,
    })
}
