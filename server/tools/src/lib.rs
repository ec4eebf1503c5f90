//! The tools a model can call: the trait, the one list, a file per tool.
//!
//! A tool never asks for permission (it says what it will touch) and never talks to the user but through
//! [`AgentHost`]. Its failure is output for the model, not an error of ours.

pub mod tool;

pub use tool::{AgentHost, Display, Preview, Progress, Tool, ToolContext, ToolFailure, ToolOutput};
