//! Messages and threads, and the transcript that keeps them: append-only JSONL in Claude Code's layout.
//!
//! Owns what a conversation *is* and how it survives on disk. Never talks to a model, an editor or a tool.

pub mod message;

pub use message::{
    Attachment, Block, Body, Flags, Message, RequestMessage, ResultContent, Role, SessionId, StopReason,
    Usage,
};
