//! Sessions and the loop that runs them: prompt → request → stream → tools → again.
//!
//! Never knows JSON-RPC or an editor's types: what it has to say goes through [`Frontend`].

pub mod event;
pub mod frontend;

pub use event::{AgentEvent, ContextLevel, NoticeLevel, SessionEvent, TodoItem, TurnEnd, TurnId, TurnStop};
pub use frontend::{Frontend, PermissionAnswer, PermissionOption, PermissionQuestion};
