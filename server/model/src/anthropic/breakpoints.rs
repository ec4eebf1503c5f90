//! Where a request's cache breakpoints go: a pure function of the request, so that the same conversation is marked
//! in the same way after a resume and in a fork.
//!
//! The provider writes a cache entry at each marked block (at most four) and, for each mark, looks for an earlier
//! entry at the marked block itself and at the blocks before it, [`LOOK_BACK`] positions in all. Marks cost
//! nothing: every token is written once. What counts is that each request marks a block where an earlier request
//! wrote an entry:
//!
//! 1. the end of the static system prompt, which every session of a release shares;
//! 2. the end of the system prompt, which the sessions of a project share;
//! 3. the end of the *previous* request, that is the last block of the user message before the last assistant
//!    message: the previous request marked it as its own end (4). Marked again, it is found exactly, however many
//!    blocks lie between: thirty parallel calls with their thirty results are 60 blocks, far beyond the look-back,
//!    and re-buy nothing. It is also where a fork of the turn branches off;
//! 4. the end of this request, for the next one.
//!
//! Two shapes need more thought. The first request of a session has no previous one; the mark that is left goes
//! behind the reminders that open the conversation (instructions, memories), which the next session of the project
//! shares while its prompt differs. And when so many blocks follow (3) that the look-back from (4) does not reach
//! it, an entry can lie between the two where neither sees it: a turn that was cancelled after its request, whose
//! message then grew by a new prompt with many mentions. So one more mark goes [`LOOK_BACK`] blocks before the
//! end, where the reach of (4) stops, and "the static-system breakpoint yields".
//!
//! A fork of several rounds is marked in the same way. One of a single request marks where the parent's last request
//! ended in place of (3), and has no (4): it reads the parent's prefix, and nobody would read what it wrote.

use conversation::{Block, RequestMessage, Role};

use crate::{Request, SystemBlock};

/// "20-block look-back": the marked block is the first of them.
const LOOK_BACK: usize = 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Breakpoints {
    /// Indices of system blocks.
    pub system: Vec<usize>,
    /// Indices of messages and, in them, of blocks.
    pub messages: Vec<(usize, usize)>,
}

/// Whether a block is sent at all: the API refuses text without a visible character and thinking that is not
/// signed (another provider's, or of a stream that was cut).
pub(crate) fn is_sent(block: &Block) -> bool {
    match block {
        Block::Text { text } => !text.trim_ascii().is_empty(),
        Block::Thinking { signature, .. } => !signature.is_empty(),
        Block::RedactedThinking { data } => !data.is_empty(),
        Block::Unknown(value) => value.is_object(),
        Block::ToolUse { .. } | Block::ToolResult { .. } | Block::Image { .. } | Block::Document { .. } => {
            true
        }
    }
}

pub(crate) fn system_is_sent(block: &SystemBlock) -> bool {
    !block.text.trim_ascii().is_empty()
}

impl Breakpoints {
    pub fn of(request: &Request) -> Self {
        if request.source.is_single() {
            return Self::default();
        }
        let static_end =
            request.system.iter().rposition(|block| system_is_sent(block) && block.ends_static_part);
        let system_end = request.system.iter().rposition(system_is_sent);

        let flat = Flat::new(&request.messages);
        let one_shot = request.source.is_one_shot();
        let end = flat.last_markable(flat.blocks.len()).filter(|_| !one_shot);
        let parents_end =
            request.shared.filter(|_| one_shot).and_then(|blocks| flat.last_markable_of(blocks));
        let previous = parents_end
            .or_else(|| previous_end(&request.messages, &flat))
            .filter(|previous| Some(*previous) != end);
        let shared_opening = if previous.is_none() { opening(&request.messages, &flat) } else { None };
        let intermediate = match (previous, end) {
            (Some(previous), Some(end)) if end - previous >= LOOK_BACK => {
                flat.last_markable(end + 1 - LOOK_BACK).filter(|position| *position > previous)
            }
            _ => None,
        };

        let mut system: Vec<usize> =
            static_end.filter(|_| intermediate.is_none()).into_iter().chain(system_end).collect();
        system.dedup();
        let mut positions: Vec<usize> =
            [shared_opening, previous, intermediate, end].into_iter().flatten().collect();
        positions.dedup();
        let messages = positions
            .iter()
            .filter_map(|position| flat.blocks.get(*position))
            .map(|block| block.place)
            .collect();
        Self { system, messages }
    }
}

/// Position of the last block of the user message before the last assistant message: there the previous request
/// ended. `None` for the first request.
fn previous_end(messages: &[RequestMessage], flat: &Flat) -> Option<usize> {
    let assistant = messages.iter().rposition(|message| message.role == Role::Assistant)?;
    let user = messages.get(..assistant)?.iter().rposition(|message| message.role == Role::User)?;
    flat.last_markable(flat.end_of(user))
}

/// Position of the last of the reminders that open the conversation.
fn opening(messages: &[RequestMessage], flat: &Flat) -> Option<usize> {
    let is_reminder =
        |block: &&Block| matches!(block, Block::Text { text } if text.starts_with("<system-reminder>"));
    let reminders = messages.first()?.content.iter().take_while(is_reminder).count();
    flat.blocks.iter().rposition(|block| block.place.0 == 0 && block.place.1 < reminders)
}

/// All blocks that are sent, in one row: the look-back does not know messages.
struct Flat {
    blocks: Vec<FlatBlock>,
}

struct FlatBlock {
    /// Message and block.
    place: (usize, usize),
    /// Among all blocks, those included that are not sent.
    number: usize,
    /// "Thinking blocks cannot be cached directly"; what we do not know may not take the mark either.
    markable: bool,
}

impl Flat {
    fn new(messages: &[RequestMessage]) -> Self {
        let mut blocks = Vec::with_capacity(messages.len() * 2);
        let mut number = 0;
        for (message_index, message) in messages.iter().enumerate() {
            for (block_index, block) in message.content.iter().enumerate() {
                if is_sent(block) {
                    let markable = !matches!(
                        block,
                        Block::Thinking { .. } | Block::RedactedThinking { .. } | Block::Unknown(_)
                    );
                    blocks.push(FlatBlock { place: (message_index, block_index), number, markable });
                }
                number += 1;
            }
        }
        Self { blocks }
    }

    /// The position after the message's last block.
    fn end_of(&self, message: usize) -> usize {
        self.blocks.partition_point(|block| block.place.0 <= message)
    }

    /// The last position among the request's first `blocks`, those included that are not sent.
    fn last_markable_of(&self, blocks: usize) -> Option<usize> {
        self.last_markable(self.blocks.partition_point(|block| block.number < blocks))
    }

    /// The last position before `end` that can be marked.
    fn last_markable(&self, end: usize) -> Option<usize> {
        self.blocks.get(..end)?.iter().rposition(|block| block.markable)
    }
}

#[cfg(test)]
mod tests;
