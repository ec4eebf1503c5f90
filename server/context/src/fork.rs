//! A fork of a conversation: the same request, byte for byte, and a directive behind it. The directive begins with
//! a line by which whoever answers knows what is asked. Nothing is decided by it: users and files may say it too.

use conversation::{Block, RequestMessage, Role};

/// How every such line begins.
const MARK: &str = "<reverie-fork ";

/// Whether these messages are a fork's own already, with its directive at their end: a fork is not forked.
pub fn is_forked(messages: &[RequestMessage]) -> bool {
    let last = messages.last().filter(|last| last.role == Role::User);
    last.is_some_and(|last| {
        last.content.iter().any(|block| matches!(block, Block::Text { text } if text.starts_with(MARK)))
    })
}

/// The first line of a request for a summary that stands for the conversation from then on.
pub const COMPACT: &str = "<reverie-fork kind=\"compact\">";
/// Of a request for the summary of a span.
pub const COLLAPSE: &str = "<reverie-fork kind=\"collapse\">";
/// Of a request to bring the session's notes up to date.
pub const NOTES: &str = "<reverie-fork kind=\"session_memory\">";
