//! The files as the editor sees them: open buffers first, the disk behind them.
//!
//! Reads go through open buffers; writes go to the editor for open documents and atomically to disk for closed
//! ones. Never runs a tool, never knows JSON-RPC: the editor is the trait [`Editor`].

pub mod editor;

pub use editor::{EditRefused, Editor, Encoding, NoEditor, Position, Range, TextEdit};
