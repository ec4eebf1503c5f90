//! What one line of a transcript holds. Messages and titles keep Claude Code's shape, so that either program can
//! go on with the other's sessions; what only we need has kinds of its own.
//!
//! [`decode`] reads any line of either program. A kind it does not know is [`Record::Unknown`]: the line stays in
//! the file as it is.

mod decode;
mod encode;
mod text;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

pub use decode::{DecodeError, decode};
pub(crate) use encode::{MessageLine, encode, message_line};
pub(crate) use text::{identity, repaired_json};

use crate::message::{Block, Message, SessionId, Usage};

/// The version of our records; a reader that meets a higher one warns and takes what it knows.
pub const FORMAT_VERSION: u64 = 1;

/// The subtype of the system record behind which the thread that is sent begins.
pub const COMPACT_BOUNDARY: &str = "compact_boundary";

pub(crate) const PREFIX: &str = "reverie-prefix";
pub(crate) const COST: &str = "reverie-cost";
pub(crate) const READ_FILES: &str = "reverie-read-files";
pub(crate) const MODE: &str = "reverie-mode";
pub(crate) const MODEL_CHOICE: &str = "reverie-model";
pub(crate) const HEAD: &str = "reverie-head";
pub(crate) const FORKED_FROM: &str = "reverie-forked-from";
pub(crate) const CHECKPOINT: &str = "reverie-checkpoint";
pub(crate) const CONTEXT: &str = "reverie-context";
pub(crate) const BRANCHES: &str = "reverie-branches";
pub(crate) const CUSTOM_TITLE: &str = "custom-title";
pub(crate) const GENERATED_TITLE: &str = "ai-title";
/// Claude Code's; ours name the turn besides.
pub(crate) const QUEUE_OPERATION: &str = "queue-operation";

/// Where a session's transcript is.
pub fn transcript_path(directory: &Path, session: &SessionId) -> PathBuf {
    directory.join(format!("{session}.jsonl"))
}

/// What every message of a session says about its surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub session: SessionId,
    pub cwd: PathBuf,
    /// Of the program that writes.
    pub version: String,
    pub git_branch: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one is made at a time, and written")]
pub enum Record {
    Message(Arc<Message>),
    Prefix(Prefix),
    /// Given by the user; the last one counts.
    Title(String),
    /// Made by a model; counts where the user gave none, and then the last one does.
    GeneratedTitle(String),
    Cost(CostState),
    /// What the file tools have seen, in their own form.
    ReadFiles(Value),
    /// How far tools may go without asking, by the mode's name; the last one counts.
    Mode(String),
    /// A prompt waits behind the turn that runs.
    Queued {
        turn: String,
        text: String,
    },
    /// It waits no longer: it runs, or was given up on purpose.
    Dequeued {
        turn: String,
    },
    /// The session was rewound: its thread ends with this message, and the next one makes a branch. `None`: before
    /// the first message. It counts until a message is appended after it.
    Head {
        uuid: Option<Uuid>,
    },
    /// The session began as a copy of another one's thread.
    ForkedFrom(ForkedFrom),
    /// How many branches there are, for listings. Written by [`Transcript`](crate::Transcript) itself.
    Branches(u64),
    /// A state of the user's files that can be restored, in the form of who keeps it.
    Checkpoint(Value),
    /// What was decided about the context, in the form of who decides it.
    Context(Value),
    /// The model the user chose for the session; the last one counts.
    ModelChoice(String),
    /// Of another program or a later version.
    Unknown(Value),
}

/// The rendered start of every request of the session, kept so that a resume sends the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prefix {
    pub model: String,
    pub system: Value,
    pub tools: Value,
    /// The first user message, made by us.
    pub context: Vec<Block>,
    /// Which files of instructions are in it, in the form of who reads them.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub instructions: Value,
    /// The compaction it was rendered for; it counts only where that is a part of the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<Uuid>,
}

/// Where a session was forked from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkedFrom {
    pub session: SessionId,
    /// The last message that was copied; `None` if there was none to copy.
    pub message: Option<Uuid>,
}

/// What the session has used so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostState {
    pub models: BTreeMap<String, ModelCost>,
    /// The same by who asked: `main`, `compact`, `recall`, …
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, ModelCost>,
}

impl CostState {
    pub fn cost_usd(&self) -> f64 {
        self.models.values().map(|model| model.cost_usd).sum()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelCost {
    pub usage: Usage,
    pub cost_usd: f64,
}

/// A uuid that follows from another: making the same message twice, by a repair or by a projection, makes one
/// message.
pub fn derived_uuid(from: Uuid, purpose: &str) -> Uuid {
    let purpose = identity(purpose.as_bytes()).as_u128();
    uuid::Builder::from_custom_bytes((from.as_u128().rotate_left(17) ^ purpose).to_be_bytes()).into_uuid()
}

/// The message that answers the calls of a response, or of the records up to this one, which were interrupted.
pub(crate) fn interrupted_uuid(after: Uuid) -> Uuid {
    derived_uuid(after, "interrupted")
}

#[cfg(test)]
pub(crate) mod tests;
