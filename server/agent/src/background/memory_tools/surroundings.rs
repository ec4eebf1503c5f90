//! What a background agent finds around it: a policy that nobody can widen, walls, documents of its own, and no user.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use futures_util::future::BoxFuture;
use permissions::{Mode, Policy, ReadFilter, shell::Programs};
use sandbox::Walls;
use settings::directories;
use tokio_util::sync::CancellationToken;
use tools::{
    AgentHost, EditorDiagnostic, EditorSymbol, FetchPolicy, PlanAnswer, ReadState, Shell, SymbolQuery, Todos,
    ToolContext,
    shell::{Containment, Surroundings},
};
use workspace::Workspace;

use crate::{session::Session, turn};

/// Nobody sits beside it.
pub(super) const PROGRAMS: Programs = Programs::Few;

/// The session's, without anything that was allowed to the user's own conversation.
pub(super) fn policy(session: &Session, memory_dir: &Path) -> std::io::Result<Policy> {
    let mut policy = turn::current_policy(session);
    policy.mode = Mode::Default;
    policy.rules.allow.clear();
    policy.session_rules.clear();
    policy.unattended = true;
    policy.free_write_dirs = vec![memory_dir.to_owned(), memory_dir.canonicalize()?];
    policy.readable_dirs.extend(policy.free_write_dirs.iter().cloned());
    let related = directories::related_project_dirs(&session.shared.environment, &session.cwd);
    policy.readable_dirs.extend(related);
    Ok(policy)
}

/// The editor's documents as they are now, in a workspace of its own: what is changed in it is seen by nobody else.
pub(super) fn seen_by(editor: &Workspace) -> Workspace {
    let own = Workspace::new(editor.roots());
    for document in editor.documents() {
        if let Some(text) = editor.document_text(&document.path) {
            own.open_document(&document.path, &document.language, document.version, &text);
        }
    }
    own
}

pub(super) fn context(
    session: &Arc<Session>,
    policy: &Policy,
    workspace: Workspace,
    cancel: CancellationToken,
) -> ToolContext {
    let reads = ReadState::new();
    reads.restore(&session.reads.all());
    let home = session.shared.environment.home().to_owned();
    let containment = Containment { main_walls: Some(Walls::closed()), ..Containment::of_this_process() };
    let environment = sandbox::rebuilt_environment(&home, &session.cwd);
    let filter = (policy.clone(), OnceLock::new());
    let may_read: tools::MayRead =
        Arc::new(move |path| filter.1.get_or_init(|| ReadFilter::new(filter.0.clone())).may_read(path));
    ToolContext {
        cwd: session.cwd.clone(),
        cancel,
        progress: Arc::new(|_| {}),
        host: Arc::new(Nobody),
        workspace,
        not_denied: Arc::clone(&may_read),
        may_read,
        target: None,
        reads,
        shell: Shell::within(
            session.cwd.clone(),
            Surroundings { environment, containment, programs: PROGRAMS },
        ),
        judged: None,
        todos: Todos::new(),
        fetch: FetchPolicy::default(),
    }
}

/// No user, and no editor that could be asked.
struct Nobody;

impl AgentHost for Nobody {
    fn ask_user(&self, _question: String, _options: Vec<String>) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    fn ask_plan(&self, _plan: String) -> BoxFuture<'_, PlanAnswer> {
        Box::pin(std::future::ready(PlanAnswer::Nobody))
    }

    fn diagnostics(&self, _path: Option<PathBuf>) -> BoxFuture<'_, Option<Vec<EditorDiagnostic>>> {
        Box::pin(std::future::ready(None))
    }

    fn symbols(&self, _query: SymbolQuery) -> BoxFuture<'_, Option<Vec<EditorSymbol>>> {
        Box::pin(std::future::ready(None))
    }

    fn skills(&self) -> Vec<skills::Skill> {
        Vec::new()
    }
}
