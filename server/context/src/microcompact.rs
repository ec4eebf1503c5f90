//! Old tool results make room: emptied, when the provider's cache has gone cold anyway, or deleted in that cache,
//! while it is warm. Only of tools whose output can be had again; never what a person or the model wrote.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use conversation::{Block, Body, Message, pairing::ResponseKey};
use jiff::{SignedDuration, Timestamp};

use crate::{
    event::{Change, Entry, Event, ResultRef, layer},
    measure::{Tokens, counted},
    projection::{Projection, with_results},
    rounds,
};

/// What is sent instead of a result that was emptied.
pub const CLEARED: &str = "[Old tool result content cleared]";

const TOOLS: [&str; 10] =
    ["Read", "Bash", "BashOutput", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "MultiEdit", "Write"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clear {
    /// Since the last response.
    pub after: Duration,
    /// How many of the newest results stay; at least one does.
    pub keep: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheEdits {
    /// More results than this are too many.
    pub over: usize,
    /// How many of the newest stay then.
    pub keep: usize,
}

/// Empties all but the newest results, if the last response is long ago. What is deleted in the cache is emptied
/// too: the cache that knew of it is gone.
pub(crate) fn clear(
    thread: &[Arc<Message>],
    projection: &Projection,
    clear: Clear,
    now: Timestamp,
    tokens: Tokens<'_>,
) -> Option<Change> {
    let last = thread.iter().rfind(|message| rounds::is_response(message))?;
    let wait = SignedDuration::try_from(clear.after).ok()?;
    if now.duration_since(last.timestamp) < wait {
        return None;
    }
    let mut found = compactable(thread, projection);
    found.retain(|(_, result)| !projection.is_cleared(result));
    let (deleted, whole): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(_, result)| projection.is_deleted(result));
    let count = whole.len().saturating_sub(clear.keep.max(1));
    if count == 0 {
        return None;
    }
    let mut all: Vec<(usize, ResultRef)> = deleted.into_iter().chain(whole.into_iter().take(count)).collect();
    all.sort_by_key(|(at, _)| *at);
    let entry = Entry {
        layer: layer::MICROCOMPACT.to_owned(),
        detail: format!("{} emptied: the last response is long ago", counted(all.len(), "old result")),
        messages: messages(&all),
        tokens_freed: freed(thread, projection, &all, CLEARED, tokens),
        cache_kept: false,
        original: Some(all.first()?.1.message.to_string()),
    };
    let results = all.into_iter().map(|(_, result)| result).collect();
    Some(Change { event: Event::Cleared { results }, entry: Some(entry) })
}

/// Deletes all but the newest results in the provider's cache, if there are too many.
pub(crate) fn delete_in_cache(
    thread: &[Arc<Message>],
    projection: &Projection,
    edits: CacheEdits,
    tokens: Tokens<'_>,
) -> Option<Change> {
    let mut found = compactable(thread, projection);
    found.retain(|(_, result)| !projection.is_cleared(result) && !projection.is_deleted(result));
    if found.len() <= edits.over {
        return None;
    }
    found.truncate(found.len().saturating_sub(edits.keep));
    let entry = Entry {
        layer: layer::CACHE_EDITS.to_owned(),
        detail: format!("{} deleted in the provider's cache", counted(found.len(), "old result")),
        messages: messages(&found),
        tokens_freed: freed(thread, projection, &found, "", tokens),
        cache_kept: true,
        original: Some(found.first()?.1.message.to_string()),
    };
    let deleted = found.into_iter().map(|(_, result)| result).collect();
    Some(Change { event: Event::CacheEdits { deleted }, entry: Some(entry) })
}

/// The results that are sent and could be done without, oldest first, with the place of their message.
fn compactable(thread: &[Arc<Message>], projection: &Projection) -> Vec<(usize, ResultRef)> {
    let mut found = Vec::new();
    let mut key = ResponseKey::default();
    // Of the response at hand: ids may come again in the next.
    let mut tools: HashMap<&str, &str> = HashMap::new();
    for (at, message) in thread.iter().enumerate() {
        match &message.body {
            Body::Assistant { content, .. } => {
                if !key.continues_with(message) {
                    tools.clear();
                }
                key = ResponseKey::of(message);
                tools.extend(content.iter().filter_map(|block| match block {
                    Block::ToolUse { id, name, .. } => Some((id.as_str(), name.as_str())),
                    _ => None,
                }));
            }
            Body::User { content } => {
                key.replied();
                if projection.is_left_out(message.uuid) {
                    continue;
                }
                for block in content {
                    if let Block::ToolResult { tool_use_id, .. } = block
                        && tools.get(tool_use_id.as_str()).is_some_and(|tool| TOOLS.contains(tool))
                    {
                        let (message, tool_use_id) = (message.uuid, tool_use_id.clone());
                        found.push((at, ResultRef { message, tool_use_id }));
                    }
                }
            }
            Body::Attachment(_) => key.replied(),
            Body::System { .. } => {}
        }
    }
    found
}

fn freed(
    thread: &[Arc<Message>],
    projection: &Projection,
    results: &[(usize, ResultRef)],
    instead: &str,
    tokens: Tokens<'_>,
) -> u64 {
    let (mut before, mut after) = (0, 0);
    // In the order of the thread: those of one message are neighbours.
    for of_message in results.chunk_by(|(one, _), (other, _)| one == other) {
        let Some(message) = of_message.first().and_then(|(at, _)| thread.get(*at)) else { continue };
        let sent = projection.with_results(message);
        let emptied = with_results(&sent, &|id| {
            let result = ResultRef { message: message.uuid, tool_use_id: id.to_owned() };
            let is_emptied = of_message.iter().any(|(_, emptied)| *emptied == result);
            let is_deleted = projection.is_deleted(&result);
            is_emptied.then_some(instead).or(is_deleted.then_some(""))
        });
        before += projection.tokens_of(message, tokens);
        after += tokens(&emptied);
    }
    u64::saturating_sub(before, after)
}

fn messages(results: &[(usize, ResultRef)]) -> u64 {
    results.iter().map(|(at, _)| at).collect::<HashSet<_>>().len() as u64
}

#[cfg(test)]
mod tests;
