//! What the tests of the tools share: a temporary folder, a context on it, an editor and a user that obey.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use conversation::{Block, ResultContent};
use expect_test::Expect;
use futures_util::future::{BoxFuture, pending, ready};
use permissions::Access;
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use workspace::{ContentChange, EditRefused, Editor, Encoding, TextEdit, Workspace};

use crate::{
    host::{AgentHost, EditorDiagnostic, EditorSymbol, PlanAnswer, SymbolQuery},
    read_state::ReadState,
    shell::Shell,
    todos::Todos,
    tool::{Display, FetchPolicy, Preview, Tool, ToolContext, ToolFailure, ToolOutput},
};

pub(crate) struct Bench {
    _folder: TempDir,
    pub(crate) context: ToolContext,
}

/// What a call came to, in a form that reads well in a test.
pub(crate) struct Outcome {
    result: Result<ToolOutput, ToolFailure>,
    cwd: PathBuf,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap();
        let context = ToolContext {
            workspace: Workspace::new(vec![cwd.clone()]),
            cancel: CancellationToken::new(),
            progress: Arc::new(|_| {}),
            host: Arc::new(User::Absent),
            reads: ReadState::new(),
            // No test of the tools depends on the variables of whoever runs it.
            shell: Shell::with_environment(cwd.clone(), vec![("PATH".into(), "/usr/bin:/bin".into())]),
            may_read: Arc::new(|_| true),
            not_denied: Arc::new(|_| true),
            target: None,
            fetch: FetchPolicy::default(),
            todos: Todos::new(),
            judged: None,
            cwd,
        };
        Self { _folder: folder, context }
    }

    pub(crate) fn with_user(mut self, user: User) -> Self {
        self.context.host = Arc::new(user);
        self
    }

    pub(crate) fn answering(mut self, answer: &str) -> Self {
        self.context.host = Arc::new(User::Answers(answer.to_owned()));
        self
    }

    pub(crate) fn never_answering(mut self) -> Self {
        self.context.host = Arc::new(User::Silent);
        self
    }

    /// Searches may not show what lies in this folder.
    pub(crate) fn hiding(mut self, folder: &str) -> Self {
        let folder = self.path(folder);
        self.context.may_read = Arc::new(move |path| !path.starts_with(&folder));
        self
    }

    /// Not even where the user allows it.
    pub(crate) fn denying(mut self, folder: &str) -> Self {
        let folder = self.path(folder);
        self.context.not_denied = Arc::new(move |path| !path.starts_with(&folder));
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.context.cwd.join(name)
    }

    pub(crate) fn with_file(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        self.put(name, text);
        self
    }

    pub(crate) fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The file on disk.
    pub(crate) fn on_disk(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Opens the file in an editor, with this text.
    pub(crate) fn open(&self, name: &str, text: &str, saves: Saves) {
        let workspace = self.context.workspace.clone();
        let editor = ObedientEditor { workspace, version: Mutex::new(1), saves };
        self.context.workspace.attach_editor(Arc::new(editor), Encoding::Utf16);
        self.context.workspace.open_document(&self.path(name), "text", 1, text);
        if text != self.on_disk(name) {
            let change = ContentChange { range: None, text: text.to_owned() };
            self.context.workspace.change_document(&self.path(name), 1, &[change]).unwrap();
        }
    }

    pub(crate) fn access(&self, tool: &dyn Tool, input: &Value) -> Result<Access, ToolFailure> {
        tool.access(input, &self.context)
    }

    pub(crate) fn preview(&self, tool: &dyn Tool, input: &Value) -> Option<Preview> {
        tool.preview(input, &self.context)
    }

    pub(crate) async fn run(&self, tool: &dyn Tool, input: Value) -> Outcome {
        match tool.access(&input, &self.context) {
            Ok(access) => self.run_judged(tool, input, &access).await,
            Err(failure) => Outcome { result: Err(failure), cwd: self.context.cwd.clone() },
        }
    }

    /// Runs a call whose access was taken, and judged, before.
    pub(crate) async fn run_judged(&self, tool: &dyn Tool, input: Value, access: &Access) -> Outcome {
        let mut context = self.context.clone();
        context.binds_to(access);
        Outcome { result: tool.run(input, context).await, cwd: self.context.cwd.clone() }
    }
}

impl Outcome {
    /// The text for the model, then how an editor shows it.
    #[track_caller]
    pub(crate) fn check(&self, expected: Expect) {
        expected.assert_eq(&self.words());
    }

    pub(crate) fn words(&self) -> String {
        let text = match &self.result {
            Err(ToolFailure(words)) => format!("FAILED: {words}"),
            Ok(output) => format!("{}{}", self.text(), shown(&output.display, &self.text())),
        };
        text.replace(&self.cwd.display().to_string(), "CWD")
    }

    pub(crate) fn text(&self) -> String {
        match &self.result {
            Ok(ToolOutput { content: ResultContent::Text(text), .. }) => text.clone(),
            Ok(ToolOutput { content: ResultContent::Blocks(blocks), .. }) => {
                let blocks = blocks.iter().map(|block| match block {
                    Block::Text { text } => format!("{}\n", text.trim_end()),
                    Block::Image { source } | Block::Document { source } => {
                        format!("<{}>\n", source["media_type"].as_str().unwrap())
                    }
                    other => panic!("no block of a result: {other:?}"),
                });
                blocks.collect()
            }
            Err(failure) => panic!("no output: {failure:?}"),
        }
    }

    pub(crate) fn failed(&self) -> bool {
        self.result.is_err()
    }
}

fn shown(display: &Display, text: &str) -> String {
    match display {
        Display::Text { text: same } if same == text => String::new(),
        Display::Text { text } => format!("\n=== shown as text\n{text}"),
        Display::Diff { path, diff } => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            format!("\n=== shown as a diff of {name}\n{diff}")
        }
        other => format!("\n=== shown as {other:?}"),
    }
}

pub(crate) enum User {
    Absent,
    Silent,
    Answers(String),
    Plan(PlanAnswer),
    Skilled(Vec<skills::Skill>),
    /// An editor that knows these.
    Editor {
        diagnostics: Vec<EditorDiagnostic>,
        symbols: Vec<EditorSymbol>,
    },
}

impl AgentHost for User {
    fn ask_user(&self, _question: String, _options: Vec<String>) -> BoxFuture<'_, Option<String>> {
        match self {
            Self::Silent => Box::pin(pending()),
            Self::Absent | Self::Plan(_) | Self::Skilled(_) | Self::Editor { .. } => Box::pin(ready(None)),
            Self::Answers(answer) => Box::pin(ready(Some(answer.clone()))),
        }
    }

    fn ask_plan(&self, _plan: String) -> BoxFuture<'_, PlanAnswer> {
        match self {
            Self::Silent => Box::pin(pending()),
            Self::Plan(answer) => Box::pin(ready(answer.clone())),
            _ => Box::pin(ready(PlanAnswer::Nobody)),
        }
    }

    fn skills(&self) -> Vec<skills::Skill> {
        match self {
            Self::Skilled(skills) => skills.clone(),
            _ => Vec::new(),
        }
    }

    fn diagnostics(&self, path: Option<PathBuf>) -> BoxFuture<'_, Option<Vec<EditorDiagnostic>>> {
        let wanted = |found: &&EditorDiagnostic| path.as_ref().is_none_or(|path| found.path == *path);
        match self {
            Self::Silent => Box::pin(pending()),
            Self::Editor { diagnostics, .. } => {
                Box::pin(ready(Some(diagnostics.iter().filter(wanted).cloned().collect())))
            }
            _ => Box::pin(ready(None)),
        }
    }

    fn symbols(&self, query: SymbolQuery) -> BoxFuture<'_, Option<Vec<EditorSymbol>>> {
        let wanted = |found: &&EditorSymbol| match &query {
            SymbolQuery::File(path) => found.path == *path,
            SymbolQuery::Workspace(name) => found.name.contains(name),
        };
        match self {
            Self::Silent => Box::pin(pending()),
            Self::Editor { symbols, .. } => {
                Box::pin(ready(Some(symbols.iter().filter(wanted).cloned().collect())))
            }
            _ => Box::pin(ready(None)),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Saves {
    Yes,
    No,
}

/// Applies every edit and tells the workspace, as an editor's client does.
struct ObedientEditor {
    workspace: Workspace,
    version: Mutex<i32>,
    saves: Saves,
}

impl Editor for ObedientEditor {
    fn apply_edit(
        &self,
        path: &Path,
        _version: i32,
        mut edits: Vec<TextEdit>,
        _label: &str,
    ) -> BoxFuture<'_, Result<(), EditRefused>> {
        let mut version = self.version.lock().unwrap();
        *version += 1;
        // All ranges are of the text before the edit, so the last goes first.
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start));
        let changes: Vec<ContentChange> = edits
            .into_iter()
            .map(|edit| ContentChange { range: Some(edit.range), text: edit.new_text })
            .collect();
        self.workspace.change_document(path, *version, &changes).unwrap();
        Box::pin(ready(Ok(())))
    }

    fn save(&self, path: &Path) -> BoxFuture<'_, Result<bool, EditRefused>> {
        if self.saves == Saves::Yes {
            fs::write(path, self.workspace.document_text(path).unwrap()).unwrap();
            self.workspace.save_document(path, None);
        }
        Box::pin(ready(Ok(self.saves == Saves::Yes)))
    }
}
