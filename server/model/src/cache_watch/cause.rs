//! Why the cache was missed: the first part of the prefix that is not what it was.

use std::{fmt, time::Duration};

use conversation::Role;
use jiff::Timestamp;

use super::{
    Known,
    fingerprint::{BlockPrint, Fingerprint, Part, head},
    kept::{Place, folded},
};

/// A request read less from the cache than the one before had left there. `Display` is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    pub at: Timestamp,
    /// Tokens.
    pub expected: u64,
    pub read: u64,
    pub cause: Cause,
    pub(super) diff: Option<String>,
}

impl Break {
    /// The part that changed, before and after, for the debug log; `None` where what was there is not known any more.
    pub fn diff(&self) -> Option<&str> {
        self.diff.as_deref()
    }
}

/// Indices are those of the request; what people read counts from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    Model {
        from: String,
        to: String,
    },
    Tool {
        name: String,
    },
    ToolsAdded {
        names: Vec<String>,
    },
    ToolsRemoved {
        names: Vec<String>,
    },
    ToolsReordered,
    /// `what` is the beginning of the block.
    System {
        index: usize,
        what: String,
    },
    Message {
        index: usize,
        role: Role,
        what: String,
    },
    /// One of these, both ends included: a resumed session knows no more.
    Messages {
        first: usize,
        last: usize,
    },
    /// The conversation ends before this message, and went on before.
    MessagesRemoved {
        index: usize,
    },
    Expired {
        idle: Duration,
    },
    /// The request begins as the one before did: the provider has lost it.
    Unknown,
}

/// How the words for [`Cause::Expired`] end.
const EXPIRED: &str = "what was cached expired";

impl Cause {
    /// Whether these words, of a cause or of a break, say that nothing but time has passed.
    pub fn is_expiry(words: &str) -> bool {
        words.ends_with(EXPIRED)
    }
}

impl fmt::Display for Break {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { expected, read, cause, .. } = self;
        write!(out, "{read} of {expected} tokens were read from the prompt cache: {cause}")
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { from, to } => write!(out, "the model changed from {from} to {to}"),
            Self::Tool { name } => write!(out, "the tool {name} changed"),
            Self::ToolsAdded { names } => write!(out, "tools were added: {}", names.join(", ")),
            Self::ToolsRemoved { names } => write!(out, "tools were removed: {}", names.join(", ")),
            Self::ToolsReordered => write!(out, "the tools are in another order"),
            Self::System { index, what } if what.is_empty() => {
                write!(out, "block {} of the system prompt changed", index + 1)
            }
            Self::System { index, what } => {
                write!(out, "block {} of the system prompt changed ({what:?})", index + 1)
            }
            Self::Message { index, role, what } => {
                let whose = match role {
                    Role::User => "user",
                    Role::Assistant => "assistant",
                };
                write!(out, "message {} ({whose}) changed ({what:?})", index + 1)
            }
            Self::Messages { first, last } if first == last => write!(out, "message {} changed", first + 1),
            Self::Messages { first, last } => {
                write!(out, "one of the messages {} to {} changed", first + 1, last + 1)
            }
            Self::MessagesRemoved { index } => {
                write!(out, "the conversation was cut before message {}", index + 1)
            }
            Self::Expired { idle } => {
                write!(out, "nothing was sent for {} minutes, and {EXPIRED}", idle.as_secs() / 60)
            }
            Self::Unknown => write!(out, "the request begins as before; the provider no longer had it"),
        }
    }
}

/// The first difference in the order of the prefix.
pub(super) fn find(known: &Known, new: &Fingerprint) -> Option<Cause> {
    let old = &known.sent.print;
    if old.model != new.model {
        return Some(Cause::Model { from: old.model.clone(), to: new.model.clone() });
    }
    if known.places.is_empty() {
        return changed_tool(&old.tools, &new.tools)
            .or_else(|| changed_system(&old.system, &new.system))
            .or_else(|| changed_block(&old.blocks, &new.blocks));
    }
    changed_tool(&old.tools, &folded(&new.tools))
        .or_else(|| changed_system(&old.system, &folded(&new.system)))
        .or_else(|| changed_place(&known.places, &new.blocks))
}

fn changed_tool(old: &[Part], new: &[Part]) -> Option<Cause> {
    let missing = |from: &[Part], list: &[Part]| -> Vec<String> {
        let missing = list.iter().filter(|tool| !from.iter().any(|other| other.name == tool.name));
        missing.map(|tool| tool.name.clone()).collect()
    };
    let at = first_difference(old, new, |old, new| old == new)?;
    let (added, removed) = (missing(old, new), missing(new, old));
    Some(match (old.get(at), new.get(at)) {
        (Some(old), Some(new)) if old.name == new.name => Cause::Tool { name: new.name.clone() },
        (Some(old), _) if removed.contains(&old.name) => Cause::ToolsRemoved { names: removed },
        (_, Some(new)) if added.contains(&new.name) => Cause::ToolsAdded { names: added },
        _ => Cause::ToolsReordered,
    })
}

fn changed_system(old: &[Part], new: &[Part]) -> Option<Cause> {
    let index = first_difference(old, new, |old, new| old.hash == new.hash)?;
    let what = new.get(index).or(old.get(index)).map(|part| part.name.clone()).unwrap_or_default();
    Some(Cause::System { index, what })
}

/// How much of a message is shown in the words for people.
const SHOWN: usize = 48;

fn changed_block(old: &[BlockPrint], new: &[BlockPrint]) -> Option<Cause> {
    let same = |old: &BlockPrint, new: &BlockPrint| old.hash == new.hash && old.message == new.message;
    let at = old.iter().zip(new).position(|(old, new)| !same(old, new));
    match at.and_then(|at| new.get(at)) {
        Some(BlockPrint { message, role, head: text, .. }) => {
            Some(Cause::Message { index: *message, role: *role, what: head(text, SHOWN).to_owned() })
        }
        None => Some(Cause::MessagesRemoved { index: old.get(new.len())?.message }),
    }
}

fn changed_place(places: &[Place], new: &[BlockPrint]) -> Option<Cause> {
    let mut first = 0;
    for place in places {
        match new.get(place.last_block) {
            None => {
                return Some(Cause::MessagesRemoved { index: new.last().map_or(0, |last| last.message + 1) });
            }
            Some(block) if block.up_to_here != place.hash => {
                return Some(Cause::Messages { first, last: place.message });
            }
            Some(_) => first = place.message + 1,
        }
    }
    None
}

/// `None`: the same; behind the end of one of them counts as a difference.
fn first_difference<T>(old: &[T], new: &[T], same: impl Fn(&T, &T) -> bool) -> Option<usize> {
    let within = old.iter().zip(new).position(|(old, new)| !same(old, new));
    within.or_else(|| (old.len() != new.len()).then(|| old.len().min(new.len())))
}
