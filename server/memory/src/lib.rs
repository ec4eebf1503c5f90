//! What the agent knows before the user speaks, and what comes to mind when they do: instructions (CLAUDE.md), the
//! memory directory, recall; and how all of it is seen, corrected and taken back.
//!
//! Never calls a model: where one is needed it returns a plan that `agent` carries out. Writes nowhere but below the
//! memory directory, by handle ([`workspace::Beneath`]).

pub mod compose;
pub mod daily;
pub mod dates;
pub mod desk;
pub mod directive;
pub mod dream_lock;
mod guard;
pub mod history;
pub mod index;
pub mod instructions;
pub mod lint;
pub mod mentions;
pub mod ranker;
pub mod recall;
pub mod rules;
pub mod scan;
pub mod secrets;
pub mod store;
pub mod topic;

pub use store::{Memory, Store};
pub use topic::{Kind, Topic};
