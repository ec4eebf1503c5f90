//! What every tool is: a name, a schema, what it will touch, how it runs, how it looks.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use conversation::ResultContent;
use futures_util::future::BoxFuture;
use permissions::{Access, Judged};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use workspace::Workspace;

use crate::{host::AgentHost, read_state::ReadState, shell::Shell, todos::Todos};

pub trait Tool: Send + Sync {
    fn name(&self) -> &str;

    /// What the model reads about the tool; the same bytes in every session.
    fn description(&self) -> String;

    /// JSON schema of the input, keys in a stable order.
    fn input_schema(&self) -> Value;

    /// What the call will touch. A bad input fails here, in words the model can act on, before anything is asked.
    fn access(&self, input: &Value, context: &ToolContext) -> Result<Access, ToolFailure>;

    /// What the user sees when asked to allow the call, besides its input.
    fn preview(&self, _input: &Value, _context: &ToolContext) -> Option<Preview> {
        None
    }

    /// Whether what the call starts goes on when the call is over.
    fn stays(&self, _input: &Value) -> bool {
        false
    }

    /// Without which the tool is of no use: then it is not offered.
    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    /// Runs the call. Must end soon after `context.cancel` fires, with nothing left behind.
    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>>;
}

/// What a tool cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    /// An editor that tells what is open.
    OpenDocuments,
    /// An editor that tells what language servers report.
    Diagnostics,
    /// An editor that tells what code defines.
    Symbols,
    /// A skill that the model may load.
    Skills,
}

/// What a call may use. Cheap to clone; one per call.
#[derive(Clone)]
pub struct ToolContext {
    /// The session's folder: relative paths start here.
    pub cwd: PathBuf,
    pub cancel: CancellationToken,
    pub progress: Progress,
    pub host: Arc<dyn AgentHost>,
    pub workspace: Workspace,
    /// Whether a search may show this file unasked: no rule denies it or asks for it, and it is no secret.
    pub may_read: MayRead,
    /// Whether no rule denies this file: enough below a folder that the user was asked about by name.
    pub not_denied: MayRead,
    /// The real path of the one file that the call may write, as it was judged; see [`ToolContext::binds_to`].
    pub target: Option<PathBuf>,
    /// What the model has read, and thereby may change.
    pub reads: Arc<ReadState>,
    pub shell: Arc<Shell>,
    /// The judgement under which a command may run: exactly this is run, never the line it was made from.
    pub judged: Option<Judged>,
    pub todos: Arc<Todos>,
    pub fetch: FetchPolicy,
}

/// What WebFetch may reach beside the public internet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchPolicy {
    /// Hosts (`wiki.example`) or hosts with a port (`127.0.0.1:8080`) whose addresses are not checked.
    pub allow_private: Vec<String>,
}

impl ToolContext {
    /// A path from a model's input as an absolute, lexically clean one.
    pub fn resolve(&self, field: &str, path: &str) -> Result<PathBuf, ToolFailure> {
        if path.trim().is_empty() {
            return Err(ToolFailure(format!("{field} is empty; give the path of a file or folder")));
        }
        if path.contains('\0') {
            return Err(ToolFailure(format!("{field} contains a NUL character, which no path can")));
        }
        if path == "~" || path.starts_with("~/") {
            return Err(ToolFailure(format!(
                "{field} must be absolute or relative to {}; `~` is not expanded",
                self.cwd.display()
            )));
        }
        Ok(permissions::paths::clean(&self.cwd.join(path)))
    }

    /// Binds the call to what is judged: links that change between the decision and the write lead it nowhere else, and
    /// a command that was found harmless runs as it was found.
    pub fn binds_to(&mut self, access: &Access) {
        match access {
            Access::Write { real, .. } => self.target.clone_from(real),
            Access::Command { judged, .. } => self.judged.clone_from(judged),
            _ => {}
        }
    }

    /// A path as it is shown: relative inside the session's folder, whole outside.
    pub fn shown(&self, path: &Path) -> String {
        let relative = path.strip_prefix(&self.cwd).ok().filter(|rest| !rest.as_os_str().is_empty());
        relative.unwrap_or(path).display().to_string()
    }
}

/// Runs work that waits for the disk, off the threads that serve the editor.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolFailure> + Send + 'static,
) -> Result<T, ToolFailure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            tracing::error!(%error, "a tool failed");
            Err(ToolFailure(
                "the tool failed inside; this is a fault of the server, not of the call".to_owned(),
            ))
        }
    }
}

/// Asked for every file that a search comes upon: must be fast.
pub type MayRead = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// Shows a line of output while the tool runs. Never blocks.
pub type Progress = Arc<dyn Fn(String) + Send + Sync>;

#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    pub content: ResultContent,
    pub display: Display,
}

/// Why a call failed, for the model to act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFailure(pub String);

impl ToolOutput {
    /// Text for the model, shown to the user as it is.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { content: ResultContent::Text(text.clone()), display: Display::Text { text } }
    }
}

/// How an editor shows a finished call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Display {
    Text { text: String },
    Diff { path: PathBuf, diff: String },
    Files { paths: Vec<PathBuf> },
    Terminal { command: String, output: String, exit_code: Option<i32> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preview {
    Diff(String),
    Command(String),
    Text(String),
}
