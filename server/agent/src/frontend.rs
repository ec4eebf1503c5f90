//! What the agent needs of whoever shows it: `lsp` implements this for editors and the terminal alike.

use conversation::SessionId;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tools::Preview;

use crate::event::SessionEvent;

pub trait Frontend: Send + Sync {
    /// Takes an event; never blocks, never reorders.
    fn event(&self, event: SessionEvent);

    /// Asks the user. Resolves to a denial where nobody can answer.
    fn ask_permission(&self, question: PermissionQuestion) -> BoxFuture<'_, PermissionAnswer>;

    /// A question of the agent; `None` where nobody can answer.
    fn ask_user(
        &self,
        session: SessionId,
        question: String,
        options: Vec<String>,
    ) -> BoxFuture<'_, Option<String>>;
}

#[derive(Clone, Debug)]
pub struct PermissionQuestion {
    pub session: SessionId,
    pub tool_use_id: String,
    pub tool: String,
    pub input: Value,
    pub reason: String,
    pub preview: Option<Preview>,
    /// The rule that "always" would write: `Bash(cargo test:*)`.
    pub rule: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionOption {
    AllowOnce,
    AllowSession,
    AllowAlways,
    Deny,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionAnswer {
    pub option: PermissionOption,
    /// What the user wants the model to know, mostly with a denial.
    pub message: Option<String>,
}
