//! What the agent needs of whoever shows it: `lsp` implements this for editors and the terminal alike.

use std::path::PathBuf;

use conversation::SessionId;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tools::{EditorDiagnostic, EditorSymbol, PlanAnswer, Preview, SymbolQuery};

use crate::{
    background::{DreamProgress, JobEvent, News},
    event::{MemoryEvent, SessionEvent},
};

pub trait Frontend: Send + Sync {
    /// Takes an event; never blocks, never reorders.
    fn event(&self, event: SessionEvent);

    /// Takes word of what is remembered; never blocks.
    fn memory_event(&self, event: MemoryEvent);

    /// Something in the memory directory is not what it was, be it only the index; never blocks.
    fn memory_changed(&self) {}

    /// Memories were recalled or used: they are what they were, but what is counted of them is not; never blocks.
    fn memory_counted(&self) {}

    /// Takes word of work that nobody asked for, to be shown with a stop; never blocks.
    fn job(&self, event: JobEvent);

    /// Takes word of a dream; never blocks.
    fn dream_progress(&self, progress: DreamProgress);

    /// Something is done that the user may want to look at or take back; never blocks.
    fn news(&self, news: News);

    /// Asks the user. Resolves to a denial where nobody can answer.
    fn ask_permission(&self, question: PermissionQuestion) -> BoxFuture<'_, PermissionAnswer>;

    /// A question of the agent; `None` where nobody can answer.
    fn ask_user(
        &self,
        session: SessionId,
        question: String,
        options: Vec<String>,
    ) -> BoxFuture<'_, Option<String>>;

    /// The plan of plan mode, for the user to approve.
    fn ask_plan(&self, session: SessionId, tool_use_id: String, plan: String) -> BoxFuture<'_, PlanAnswer>;

    /// What the editor's language servers complain about, in one file or in all; `None` where it cannot say.
    fn diagnostics(&self, path: Option<PathBuf>) -> BoxFuture<'_, Option<Vec<EditorDiagnostic>>>;

    /// A file's outline or the workspace's symbols; `None` where the editor cannot say.
    fn symbols(&self, query: SymbolQuery) -> BoxFuture<'_, Option<Vec<EditorSymbol>>>;

    /// What may be asked of the editor, so that no tool is offered that never works.
    fn offers(&self) -> Offers;
}

/// What an editor can tell besides its documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// There are documents that someone looks at.
    pub documents: bool,
    pub diagnostics: bool,
    pub symbols: bool,
    /// Shows by itself whether a folder is trusted, and asks.
    pub trust: bool,
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
