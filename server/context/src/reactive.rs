//! What a request can lose that was refused as too long.

use std::{borrow::Cow, cmp::Reverse, sync::Arc};

use conversation::{Block, Body, Message, ResultContent};
use uuid::Uuid;

use crate::{
    event::{Change, Entry, Event, layer},
    measure::{Tokens, counted},
    rounds,
};

/// Of one picture, in bytes as they are sent.
const LARGEST_IMAGE: usize = 5_000_000;
/// Of one document.
const LARGEST_DOCUMENT: usize = 10_000_000;
/// Of all of them: a request may have 32 MB, and it is not made of media alone.
const ALL_MEDIA: usize = 20_000_000;
/// Where nobody says how much is too much, this share of the conversation goes first.
const SHARE: u64 = 5;

/// Where to end what is summarised, so that the request for the summary fits: what is behind stays as it is. Each
/// keeps about twice as much out of the summary as the one before, beginning with what is too much.
pub fn peeled(thread: &[Arc<Message>], over_by: Option<u64>, tokens: Tokens<'_>) -> Vec<usize> {
    let total: u64 = thread.iter().map(|message| tokens(message)).sum();
    let mut wanted = over_by.unwrap_or(total / SHARE).max(1);
    let (mut points, mut kept) = (Vec::new(), 0);
    let rounds = rounds::rounds(thread);
    // The first round has to be left for the summary.
    for round in rounds.iter().skip(1).rev() {
        let messages = thread.get(round.clone()).unwrap_or_default();
        kept += messages.iter().map(|message| tokens(message)).sum::<u64>();
        if kept >= wanted {
            points.push(round.start);
            wanted = kept.saturating_mul(2);
        }
    }
    points
}

/// Leaves out the pictures and documents that are too large, alone or together; all of them, where none seems to be and a
/// provider says so all the same. `None`: there are none.
pub fn drop_media(view: &[Cow<'_, Message>], tokens: Tokens<'_>) -> Option<Change> {
    let mut media: Vec<(Uuid, usize, bool)> = Vec::new();
    for message in view {
        each_media(content(message), &mut |block| {
            media.push((message.uuid, size_of(block), size_of(block) > limit_of(block)));
        });
    }
    media.sort_by_key(|(_, size, _)| Reverse(*size));
    let mut total: usize = media.iter().map(|(_, size, _)| size).sum();
    for (_, size, goes) in &mut media {
        *goes |= total > ALL_MEDIA;
        total -= if *goes { *size } else { 0 };
    }
    if !media.iter().any(|(_, _, goes)| *goes) {
        media.iter_mut().for_each(|(_, _, goes)| *goes = true);
    }
    let is_meant =
        |message: &&Cow<'_, Message>| media.iter().any(|(uuid, _, goes)| *goes && *uuid == message.uuid);
    let meant: Vec<&Cow<'_, Message>> = view.iter().filter(is_meant).collect();
    let first = meant.first()?.uuid;
    let freed = meant.iter().map(|message| {
        let without = without_media(Cow::Borrowed(&***message));
        tokens(message).saturating_sub(tokens(&without))
    });
    let entry = Entry {
        layer: layer::REACTIVE.to_owned(),
        detail: format!("the images and documents of {} are no longer sent", counted(meant.len(), "message")),
        messages: meant.len() as u64,
        tokens_freed: freed.sum(),
        cache_kept: false,
        original: Some(first.to_string()),
    };
    let messages = meant.iter().map(|message| message.uuid).collect();
    Some(Change { event: Event::MediaDropped { messages }, entry: Some(entry) })
}

/// The message with words in place of its images and documents.
pub(crate) fn without_media(message: Cow<'_, Message>) -> Cow<'_, Message> {
    let mut message = message.into_owned();
    if let Body::User { content } | Body::Assistant { content, .. } = &mut message.body {
        content.iter_mut().for_each(strip);
    }
    Cow::Owned(message)
}

fn limit_of(block: &Block) -> usize {
    match block {
        Block::Image { .. } => LARGEST_IMAGE,
        _ => LARGEST_DOCUMENT,
    }
}

fn content(message: &Message) -> &[Block] {
    match &message.body {
        Body::User { content } | Body::Assistant { content, .. } => content,
        Body::System { .. } | Body::Attachment(_) => &[],
    }
}

fn each_media(blocks: &[Block], visit: &mut dyn FnMut(&Block)) {
    for block in blocks {
        match block {
            Block::Image { .. } | Block::Document { .. } => visit(block),
            Block::ToolResult { content: ResultContent::Blocks(blocks), .. } => each_media(blocks, visit),
            _ => {}
        }
    }
}

fn strip(block: &mut Block) {
    match block {
        Block::Image { .. } => *block = Block::text("[An image stood here. It was too large to be sent.]"),
        Block::Document { .. } => {
            *block = Block::text("[A document stood here. It was too large to be sent.]")
        }
        Block::ToolResult { content: ResultContent::Blocks(blocks), .. } => blocks.iter_mut().for_each(strip),
        _ => {}
    }
}

/// In bytes as they are sent; what is only referred to takes none.
fn size_of(block: &Block) -> usize {
    match block {
        Block::Image { source } | Block::Document { source } => {
            source.get("data").and_then(|data| data.as_str()).map_or(0, str::len)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
