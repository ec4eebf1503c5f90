//! What a tool may ask of the agent it runs for, and through it of the user and the editor.

use std::path::PathBuf;

use futures_util::future::BoxFuture;

pub trait AgentHost: Send + Sync {
    /// A question to the user; `None` when nobody can answer.
    fn ask_user(&self, question: String, options: Vec<String>) -> BoxFuture<'_, Option<String>>;

    /// Shows a plan, to be approved before anything is changed.
    fn ask_plan(&self, plan: String) -> BoxFuture<'_, PlanAnswer>;

    /// What language servers and the editor report about one file, or about all; `None` when the editor cannot say.
    fn diagnostics(&self, path: Option<PathBuf>) -> BoxFuture<'_, Option<Vec<EditorDiagnostic>>>;

    /// `None` when the editor cannot say.
    fn symbols(&self, query: SymbolQuery) -> BoxFuture<'_, Option<Vec<EditorSymbol>>>;

    /// The skills of the user and the project; may look at the disk.
    fn skills(&self) -> Vec<skills::Skill>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanAnswer {
    Approved {
        /// Whether edits need no further question.
        accept_edits: bool,
    },
    Rejected {
        message: Option<String>,
    },
    /// Nobody is there to answer.
    Nobody,
}

/// Lines and columns are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditorDiagnostic {
    pub path: PathBuf,
    pub line: usize,
    pub column: usize,
    pub severity: Severity,
    pub message: String,
    /// Who reports it: `rust-analyzer`.
    pub source: Option<String>,
    pub code: Option<String>,
}

/// The gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
    Information,
    Hint,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolQuery {
    /// All symbols of a file.
    File(PathBuf),
    /// Those of the workspace whose name fits.
    Workspace(String),
}

/// Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditorSymbol {
    pub name: String,
    /// `function`, `struct`, …
    pub kind: String,
    pub path: PathBuf,
    pub line: usize,
    pub end_line: usize,
    /// What it is a part of.
    pub container: Option<String>,
}
