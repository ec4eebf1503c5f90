//! The oldest messages leave the request, not the history: whole responses with what answers them, never from the
//! last response on. A marker says how many are missing.
//!
//! What a compaction left of the past stays, and so does the prompt that is being worked on: without them the rest
//! means nothing.

use std::{ops::Range, sync::Arc};

use conversation::{Body, Message};

use crate::{
    event::{Change, Entry, Event, layer},
    measure::{Tokens, counted, tokens_of_text},
    projection::Projection,
    rounds,
};

/// As few as bring `used` down to the budget.
pub(crate) fn snip(
    thread: &[Arc<Message>],
    projection: &Projection,
    used: u64,
    budget: u64,
    tokens: Tokens<'_>,
) -> Option<Change> {
    if used <= budget {
        return None;
    }
    let prompt = thread.iter().rposition(|message| rounds::is_prompt(message) && !message.flags.meta);
    let parts = removable(thread, projection).into_iter();
    let parts = parts.filter(|part| prompt.is_none_or(|prompt| !part.contains(&prompt)));
    let sizes = sizes(thread, projection, tokens);
    let (mut removed, mut freed) = (Vec::new(), 0);
    // The marker takes a little of what is freed.
    let wanted = used - budget + tokens_of_text(&marker(thread.len()), tokens);
    for part in parts {
        if freed >= wanted {
            break;
        }
        freed += size_of(&part, &sizes);
        removed.push(part);
    }
    change(thread, projection, &removed, &sizes, tokens)
}

/// Everything before the last response, whatever the budget; `None` if nothing can go.
pub fn by_command(thread: &[Arc<Message>], projection: &Projection, tokens: Tokens<'_>) -> Option<Change> {
    let sizes = sizes(thread, projection, tokens);
    change(thread, projection, &removable(thread, projection), &sizes, tokens)
}

/// What can leave, oldest first. A collapsed span leaves whole, for one text stands for it.
fn removable(thread: &[Arc<Message>], projection: &Projection) -> Vec<Range<usize>> {
    let end = rounds::last_response(thread).unwrap_or(0);
    let mut parts: Vec<Range<usize>> = Vec::new();
    for piece in rounds::pieces(thread) {
        let messages = thread.get(piece.clone()).unwrap_or_default();
        let Some(first) = messages.first() else { continue };
        let stays = messages.iter().any(|message| message.flags.compact_summary);
        if piece.end > end || stays || projection.is_snipped(first.uuid) {
            continue;
        }
        let before = parts.last_mut().filter(|part| part.end == piece.start);
        let span_before = before.as_ref().and_then(|part| thread.get(part.start));
        let span_before = span_before.and_then(|first| projection.commit_of(first.uuid));
        match before {
            Some(part) if span_before.is_some_and(|span| span.messages.contains(&first.uuid)) => {
                part.end = piece.end;
            }
            _ => parts.push(piece),
        }
    }
    parts
}

fn change(
    thread: &[Arc<Message>],
    projection: &Projection,
    parts: &[Range<usize>],
    sizes: &[u64],
    tokens: Tokens<'_>,
) -> Option<Change> {
    let messages: Vec<&Arc<Message>> =
        parts.iter().filter_map(|part| thread.get(part.clone())).flatten().collect();
    let first = messages.first()?.uuid;
    let is_heard = |message: &Message| !matches!(message.body, Body::System { .. });
    let is_snipped = |message: &Arc<Message>| projection.is_snipped(message.uuid);
    let removed = messages.iter().filter(|message| is_heard(message)).count();
    let total = removed + thread.iter().filter(|message| is_snipped(message) && is_heard(message)).count();
    let marker = marker(total);

    let old_marker = thread.iter().position(is_snipped).and_then(|at| sizes.get(at)).copied().unwrap_or(0);
    let freed = (parts.iter().map(|part| size_of(part, sizes)).sum::<u64>() + old_marker)
        .checked_sub(tokens_of_text(&marker, tokens))
        .filter(|freed| *freed > 0)?;
    let entry = Entry {
        layer: layer::SNIP.to_owned(),
        detail: format!("{} left the request; {total} are left out in all", counted(removed, "old message")),
        messages: removed as u64,
        tokens_freed: freed,
        cache_kept: false,
        original: Some(first.to_string()),
    };
    let removed = messages.iter().map(|message| message.uuid).collect();
    Some(Change { event: Event::Snipped { removed, marker }, entry: Some(entry) })
}

/// What each message takes of the window; what stands for several counts for the first of them.
fn sizes(thread: &[Arc<Message>], projection: &Projection, tokens: Tokens<'_>) -> Vec<u64> {
    let mut sizes = vec![0; thread.len()];
    for (at, message) in projection.sent(thread) {
        if let Some(size) = sizes.get_mut(at) {
            *size = projection.tokens_of(&message, tokens);
        }
    }
    sizes
}

fn size_of(part: &Range<usize>, sizes: &[u64]) -> u64 {
    sizes.get(part.clone()).unwrap_or_default().iter().sum()
}

fn marker(messages: usize) -> String {
    format!(
        "[Left out here to make room: {} of this conversation. The session's history still has them; if you \
         need something that was said there, ask the user about it.]",
        counted(messages, "earlier message")
    )
}

#[cfg(test)]
mod tests;
