//! The tools a model can call: the trait, the one list, a file per tool.
//!
//! A tool never asks for permission (it says what it will touch) and never talks to the user but through
//! [`AgentHost`]. Its failure is output for the model, not an error of ours.

mod ask_user;
mod base64;
mod bash;
mod bash_output;
mod change;
mod diagnostics;
mod diff;
mod edit;
mod exit_plan_mode;
mod glob;
mod grep;
pub mod host;
mod kill_shell;
mod list;
mod media;
mod multi_edit;
mod open_files;
mod past;
mod propose;
mod read;
pub mod read_state;
mod schema;
mod search;
pub mod shell;
mod skill;
mod symbols;
#[cfg(test)]
mod testing;
mod todo_write;
pub mod todos;
pub mod tool;
mod toolbox;
mod typed;
pub mod untrusted;
mod web_fetch;
mod write;

pub use edit::EditCall;
pub use host::{AgentHost, EditorDiagnostic, EditorSymbol, PlanAnswer, Severity, SymbolQuery};
pub use media::image_block;
pub use past::past_display;
pub use propose::{Proposed, propose};
pub use read::{ShownFile, show_file};
pub use read_state::{ReadState, Seen};
pub use shell::{JobInfo, JobStatus, Shell};
pub use todos::{Todo, TodoStatus, Todos};
pub use tool::{
    Display, FetchPolicy, MayRead, Needs, Preview, Progress, Tool, ToolContext, ToolFailure, ToolOutput,
};
pub use toolbox::Toolbox;
