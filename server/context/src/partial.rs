//! Compaction of a part: from a message on, or up to one.

use std::{ops::Range, sync::Arc};

use conversation::{Body, Message};
use uuid::Uuid;

use crate::rounds;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The message and what follows it are summarised; the cache of what precedes it stays good.
    From,
    /// What precedes the message is summarised.
    UpTo,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialPlan {
    pub summarise: Range<usize>,
    pub keep: Range<usize>,
}

/// Words for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPossible {
    #[error("the message is not in this conversation any more")]
    NoSuchMessage,
    #[error("there is nothing to summarise before this message")]
    NothingBefore,
}

/// The message's place is moved back to where the thread can be cut, so that it stays on its side.
pub fn partial(thread: &[Arc<Message>], at: Uuid, direction: Direction) -> Result<PartialPlan, NotPossible> {
    let place = thread.iter().position(|message| message.uuid == at).ok_or(NotPossible::NoSuchMessage)?;
    let cuts = rounds::cuts(thread);
    let cut = cuts.into_iter().rev().find(|cut| *cut <= place).unwrap_or(0);
    let (before, after) = (0..cut, cut..thread.len());
    match direction {
        Direction::From => Ok(PartialPlan { summarise: after, keep: before }),
        Direction::UpTo => {
            let mut removed = thread.iter().take(cut);
            let says_something = |message: &Arc<Message>| {
                !matches!(message.body, Body::System { .. }) && !message.flags.compact_summary
            };
            match removed.any(says_something) {
                true => Ok(PartialPlan { summarise: before, keep: after }),
                false => Err(NotPossible::NothingBefore),
            }
        }
    }
}

#[cfg(test)]
mod tests;
