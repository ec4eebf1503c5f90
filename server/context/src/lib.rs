//! What fits into a model's window, how full it is, and in which form things enter it: what is sent of a
//! conversation, stage by stage, and what stands for it once it is too long.
//!
//! Values in, values out: never calls a model, never touches the disk.

pub mod budget;
pub mod calibration;
pub mod collapse;
pub mod compact;
pub mod estimate;
pub mod event;
pub mod fork;
pub mod fragment;
pub mod kind;
pub mod ledger;
pub mod measure;
pub mod microcompact;
pub mod notes;
pub mod partial;
pub mod prepare;
pub mod projection;
pub mod reactive;
pub mod result_store;
pub mod rounds;
pub mod session_compact;
pub mod snip;
pub mod tokenizer;

#[cfg(test)]
mod sample;

pub use budget::{Budget, Level};
pub use calibration::Calibration;
pub use event::{Change, CompactionRecord, Entry, Event, Recorded, Replacement, ResultRef, Trigger};
pub use kind::Composition;
pub use ledger::History;
pub use prepare::{CacheEdits, Clear, Gate, Prepared, Shelf, Situation, Switches, prepare};
pub use projection::Projection;
