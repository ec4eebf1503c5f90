//! What a request can lose that was refused as too long.

use std::{borrow::Cow, cmp::Reverse, sync::Arc};

use conversation::{Block, Body, Message, ResultContent};

use crate::{measure::Tokens, rounds};

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

/// What is sent without the pictures and documents that are too large, alone or together; words say that they are
/// missing. `None`: there are none.
pub fn without_large_media<'a>(view: &[Cow<'a, Message>]) -> Option<Vec<Cow<'a, Message>>> {
    let mut sizes: Vec<(usize, usize)> = Vec::new();
    for (at, message) in view.iter().enumerate() {
        each_media(content(message), &mut |block| sizes.push((at, size_of(block))));
    }
    sizes.sort_by_key(|(_, size)| Reverse(*size));
    let mut total: usize = sizes.iter().map(|(_, size)| size).sum();
    let mut largest = usize::MAX;
    for (_, size) in &sizes {
        if total <= ALL_MEDIA {
            break;
        }
        total -= size;
        largest = *size;
    }
    let goes = |block: &Block| {
        let own_limit = match block {
            Block::Image { .. } => LARGEST_IMAGE,
            _ => LARGEST_DOCUMENT,
        };
        size_of(block) >= largest || size_of(block) > own_limit
    };
    let mut is_changed = false;
    let stripped = view.iter().map(|message| {
        let mut has_large = false;
        each_media(content(message), &mut |block| has_large |= goes(block));
        if !has_large {
            return message.clone();
        }
        is_changed = true;
        let mut message = message.clone().into_owned();
        if let Body::User { content } | Body::Assistant { content, .. } = &mut message.body {
            content.iter_mut().for_each(|block| strip(block, &goes));
        }
        Cow::Owned(message)
    });
    let stripped = stripped.collect();
    is_changed.then_some(stripped)
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

fn strip(block: &mut Block, goes: &dyn Fn(&Block) -> bool) {
    match block {
        Block::Image { .. } if goes(block) => {
            *block = Block::text("[An image stood here. It was too large to be sent.]");
        }
        Block::Document { .. } if goes(block) => {
            *block = Block::text("[A document stood here. It was too large to be sent.]");
        }
        Block::ToolResult { content: ResultContent::Blocks(blocks), .. } => {
            blocks.iter_mut().for_each(|block| strip(block, goes));
        }
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
