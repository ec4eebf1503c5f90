//! The files as the editor sees them: open buffers first, the disk behind them.
//!
//! Reads go through open buffers; writes go to the editor for open documents and atomically to disk for closed
//! ones. Never runs a tool, never knows JSON-RPC: the editor is the trait [`Editor`].

mod beneath;
mod buffers;
pub mod editor;
mod edits;
mod error;
mod fingerprint;
mod folder;
mod format;
mod line_changes;
mod position;
mod read;
mod temporary;
#[cfg(test)]
mod testing;
mod workspace;
mod write;

pub use beneath::{Beneath, BeneathError, Durable, Found, FoundKind, Private, Refusal, Relative, Stamp};
pub use buffers::{ContentChange, DocumentInfo};
pub use editor::{EditRefused, Editor, Encoding, NoEditor, Position, Range, TextEdit};
pub use error::{DocumentError, ReadError, WriteError};
pub use fingerprint::Fingerprint;
pub use format::text_of;
pub use line_changes::{LineChange, line_changes, splice_lines};
pub use position::Measured;
pub use read::{FileText, Lines, MAX_WHOLE};
pub use workspace::Workspace;
pub use write::{Basis, Route, Written};
