//! Settings in layers, each value knowing where it came from; the directories.
//!
//! Depends on nothing of ours. Reads files and a snapshot of the environment; never the process environment.

pub mod directories;
pub mod environment;
mod file;
mod json;
mod load;
pub mod local;
mod merge;
mod restrict;
mod settings;

pub use environment::Environment;
pub use load::{Diagnostic, Loaded, Sources};
pub use local::add_allow_rule;
pub use settings::{Budgets, Entry, ModelSettings, PermissionMode, Permissions, Settings, schema};
