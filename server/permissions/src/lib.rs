//! `decide(tool, access, policy)` → allow, ask or deny, and why.
//!
//! It sees values and returns a value; the disk is looked at only to follow links and to know a repository. Asking
//! the user is `agent`'s, running the tool is `tools`'.

pub mod access;
pub mod decide;
pub mod modes;
mod names;
pub mod paths;
mod programs;
mod protected;
pub mod read_filter;
pub mod rules;
mod secrets;
pub mod shell;
pub mod suggest;
#[cfg(test)]
mod testing;

pub use access::{Access, Judged, Reach};
pub use decide::{Decision, Policy, decide};
pub use modes::Mode;
pub use read_filter::ReadFilter;
pub use rules::{Rule, RuleError, Rules};
pub use suggest::suggest_rule;
