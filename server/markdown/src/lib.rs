//! Markdown that people and agents write for an agent: reading a file of unknown origin, its frontmatter, what of it is
//! prose, where its links lead, what of it nobody sees.
//!
//! Never fails on a text: whatever is written gives a value, and where something is wrong, words about it.

pub mod file;
pub mod frontmatter;
pub mod hidden;
pub mod links;
pub mod prose;
