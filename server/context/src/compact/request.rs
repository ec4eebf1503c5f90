//! The request for a summary: without what only costs, and shorter if it is too long itself.

use conversation::{Block, RequestMessage, ResultContent, Role};

use crate::estimate;

/// The share of the rounds that is dropped where nobody says how many tokens are too many: a fifth.
const SHARE: usize = 5;

const LEFT_OUT: &str = "[The earliest messages of this conversation do not fit into this request.]";

/// Pictures and documents become words: a summary does not need them.
pub fn without_media(messages: &mut [RequestMessage]) {
    for message in messages {
        message.content.iter_mut().for_each(name_media);
    }
}

fn name_media(block: &mut Block) {
    match block {
        Block::Image { .. } => *block = Block::text("[image]"),
        Block::Document { .. } => *block = Block::text("[document]"),
        Block::ToolResult { content: ResultContent::Blocks(blocks), .. } => {
            blocks.iter_mut().for_each(name_media);
        }
        _ => {}
    }
}

/// The request without its oldest rounds: as many as cover the tokens that are too many, or a fifth of them. The
/// last one stays, for it ends with the directive. `None`: there is nothing left to drop.
pub fn without_oldest(messages: &[RequestMessage], over_by: Option<u64>) -> Option<Vec<RequestMessage>> {
    // What an earlier attempt put in front is no round.
    let messages = match messages.split_first() {
        Some((first, rest)) if is_note(first) => rest,
        _ => messages,
    };
    let rounds: Vec<&[RequestMessage]> = messages.chunk_by(|_, next| next.role != Role::Assistant).collect();
    let (_, droppable) = rounds.split_last()?;
    let wanted = match over_by {
        Some(over_by) => {
            let mut covered = 0;
            let is_short = |round: &&&[RequestMessage]| {
                let is_short = covered < over_by;
                covered += tokens_of_round(round);
                is_short
            };
            droppable.iter().take_while(is_short).count()
        }
        None => rounds.len().div_ceil(SHARE),
    };
    let dropped = wanted.max(1).min(droppable.len());
    if dropped == 0 {
        return None;
    }
    let note = RequestMessage { role: Role::User, content: vec![Block::text(LEFT_OUT)] };
    let kept = rounds.into_iter().skip(dropped).flatten().cloned();
    Some([note].into_iter().chain(kept).collect())
}

fn is_note(message: &RequestMessage) -> bool {
    matches!(message.content.as_slice(), [Block::Text { text }] if text == LEFT_OUT)
}

fn tokens_of_round(round: &[RequestMessage]) -> u64 {
    round.iter().map(|message| estimate::tokens_of_blocks(&message.content)).sum()
}
