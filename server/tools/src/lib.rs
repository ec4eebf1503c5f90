//! The tools a model can call: the trait, the one list, a file per tool.
//!
//! A tool never asks for permission (it says what it will touch) and never talks to the user but through
//! [`AgentHost`]. Its failure is output for the model, not an error of ours.

mod ask_user;
mod bash;
mod bash_output;
mod change;
mod diff;
mod edit;
mod glob;
mod grep;
mod kill_shell;
mod list;
mod multi_edit;
mod read;
pub mod read_state;
mod schema;
mod search;
pub mod shell;
#[cfg(test)]
mod testing;
mod todo_write;
pub mod todos;
pub mod tool;
mod write;

pub use ask_user::AskUser;
pub use bash::Bash;
pub use bash_output::BashOutput;
pub use edit::Edit;
pub use glob::Glob;
pub use grep::Grep;
pub use kill_shell::KillShell;
pub use list::{all, find};
pub use multi_edit::MultiEdit;
pub use read::Read;
pub use read_state::{ReadState, Seen};
pub use shell::{JobInfo, JobStatus, Shell};
pub use todo_write::TodoWrite;
pub use todos::{Todo, TodoStatus, Todos};
pub use tool::{AgentHost, Display, MayRead, Preview, Progress, Tool, ToolContext, ToolFailure, ToolOutput};
pub use write::Write;
