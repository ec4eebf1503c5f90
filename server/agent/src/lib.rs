//! Sessions and the loop that runs them: prompt → request → stream → tools → again.
//!
//! Never knows JSON-RPC or an editor's types: what it has to say goes through [`Frontend`].

pub mod agent;
mod attachments;
mod doctor;
pub mod event;
mod files;
pub mod frontend;
mod git;
mod opening;
mod prompt;
mod query_loop;
mod report;
mod session;
mod shared;
mod store;
mod stream;
mod tool_call;
mod tool_round;
mod turn;
pub mod types;

pub use agent::Agent;
pub use conversation::Strategy;
pub use event::{AgentEvent, ContextLevel, NoticeLevel, SessionEvent, TodoItem, TurnEnd, TurnId, TurnStop};
pub use frontend::{Frontend, PermissionAnswer, PermissionOption, PermissionQuestion};
pub use tools::{Display, Preview, TodoStatus};
pub use types::{
    Accepted, AgentError, Check, CheckStatus, ContextReport, Dependencies, LedgerEntry, ModelInfo,
    NewSession, Prompt, PromptPart, Resumed, SessionPage, SessionSummary, SettingValue, ShownKind,
    ShownMessage, ShownRole,
};
