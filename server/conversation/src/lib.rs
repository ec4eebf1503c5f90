//! Messages and threads, and the transcript that keeps them: append-only JSONL in Claude Code's layout.
//!
//! Owns what a conversation *is* and how it survives on disk. Never talks to a model, an editor or a tool.

mod excerpt;
pub mod export;
pub mod fork;
pub mod integrity;
pub mod listing;
pub mod message;
pub mod pairing;
pub mod record;
pub mod request;
pub mod resume;
mod scan;
pub mod search;
mod thread;
pub mod transcript;

#[cfg(test)]
mod sample;

pub use export::{Format, export};
pub use fork::{ForkError, Forked, fork};
pub use integrity::{Repair, RepairLog};
pub use listing::{Summary, list};
pub use message::{
    Attachment, Block, Body, Compaction, Flags, Message, PreservedSegment, RequestMessage, ResultContent,
    Role, SYNTHETIC_MODEL, SessionId, StopReason, Usage,
};
pub use pairing::INTERRUPTED;
pub use record::{
    COMPACT_BOUNDARY, CostState, DecodeError, ForkedFrom, ModelCost, Prefix, Record, Stamp, decode,
    transcript_path,
};
pub use request::request_messages;
pub use resume::{Branch, Cut, LoadError, Loaded, Progress, ProjectState, Strategy, cut, load};
pub use search::{Hit, Query, SearchIndex, Speaker};
pub use transcript::{Incident, Transcript, TranscriptError};
