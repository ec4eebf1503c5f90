//! Sessions on disk: finding, listing, opening, renaming, throwing away.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use conversation::{
    Block, Body, LoadError, Message, Record, SessionId, Stamp, Strategy, Transcript, TranscriptError,
};
use permissions::Mode;
use serde::Deserialize;
use serde_json::Value;
use settings::directories;
use tools::{Todo, TodoStatus};

use crate::{
    files, report,
    session::{Rendered, Session, State},
    shared::Shared,
    types::{AgentError, Resumed, SessionPage, SessionSummary},
};

const PAGE: usize = 50;
const LARGEST_PAGE: usize = 1_000;

/// Whether this process has the session open.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenHere {
    Yes,
    No,
}

/// Deleted sessions wait here, beside the transcripts, until the user empties it.
const TRASH: &str = ".trash";

pub(crate) fn page(
    shared: &Shared,
    cursor: Option<&str>,
    limit: Option<usize>,
    query: Option<&str>,
) -> Result<SessionPage, AgentError> {
    let start: usize = match cursor {
        None => 0,
        Some(text) => text
            .parse()
            .map_err(|_| AgentError::Invalid("the cursor is not one that was given out".to_owned()))?,
    };
    let limit = limit.unwrap_or(PAGE).clamp(1, LARGEST_PAGE);
    let wanted = query.map(str::to_lowercase);
    let mut matching = conversation::list(&session_dirs(shared)).into_iter().filter(|summary| {
        let Some(wanted) = &wanted else { return true };
        summary.title.to_lowercase().contains(wanted) || summary.first_prompt.to_lowercase().contains(wanted)
    });
    let sessions: Vec<SessionSummary> = matching
        .by_ref()
        .skip(start)
        .take(limit)
        .map(|summary| SessionSummary {
            id: summary.session,
            title: summary.title,
            first_prompt: summary.first_prompt,
            updated_at: summary.updated_at,
            bytes: summary.bytes,
            cost_usd: summary.cost_usd,
            cwd: summary.cwd,
        })
        .collect();
    let next_cursor = matching.next().map(|_| (start + sessions.len()).to_string());
    Ok(SessionPage { sessions, next_cursor })
}

/// Loads, repairs and locks a session, and writes down what the repair added.
pub(crate) fn open(
    shared: &Arc<Shared>,
    id: &SessionId,
    strategy: Option<Strategy>,
    stamp: impl Fn(&Path) -> Stamp,
) -> Result<(Arc<Session>, Resumed), AgentError> {
    let directory = find(shared, id)?;
    let default = shared.workspace.roots().into_iter().next().unwrap_or_else(|| PathBuf::from("/"));
    // Locked first: what another process writes until it lets go must be in what is read.
    let transcript = append_to(&directory, id, stamp(&default))?;
    let loaded = conversation::load(&directory, id, strategy).map_err(|error| match error {
        LoadError::NotFound => AgentError::UnknownSession(id.to_string()),
        error => AgentError::Unavailable(format!("session {id} cannot be read: {error}")),
    })?;
    let cwd = loaded.cwd.clone().filter(|cwd| cwd.is_dir()).unwrap_or(default);
    let transcript = transcript.stamped(stamp(&cwd));
    let mut repairs = loaded.repairs;
    for message in &loaded.new_messages {
        if let Err(error) = transcript.append(&Record::Message(Arc::clone(message))) {
            repairs.push(format!("the repairs could not be written to the transcript: {error}"));
            break;
        }
    }
    for record in &loaded.new_records {
        if let Err(error) = transcript.append(record) {
            tracing::warn!(session = %id, %error, "a repair could not be written");
        }
    }
    let resumed = Resumed {
        id: id.clone(),
        strategy: loaded.strategy,
        messages: report::shown_messages(&loaded.thread),
        repairs,
    };
    let state = State {
        thread: loaded.thread,
        rendered: loaded.prefix.as_ref().and_then(Rendered::of),
        cost: loaded.cost,
        title: loaded.title,
        mode: loaded.mode.as_deref().and_then(Mode::parse).filter(|mode| *mode != Mode::Bypass),
        ..State::default()
    };
    let settings = shared.settings(&cwd).settings;
    let session = Session::new(id.clone(), cwd, Arc::clone(shared), &settings, transcript, state);
    for files in loaded.read_files {
        session.reads.restore(&files);
    }
    session.todos.set(last_todos(&session.state().thread));
    Ok((session, resumed))
}

/// The todo list as the last call of its tool left it.
fn last_todos(thread: &[Arc<Message>]) -> Vec<Todo> {
    let calls = thread.iter().rev().filter_map(|message| match &message.body {
        Body::Assistant { content, .. } => Some(content.iter().rev()),
        _ => None,
    });
    let last = calls.flatten().find_map(|block| match block {
        Block::ToolUse { name, input, .. } if name == "TodoWrite" => input.get("todos")?.as_array(),
        _ => None,
    });
    let text = |todo: &Value, key: &str| todo.get(key).and_then(Value::as_str).map(str::to_owned);
    let todos = last.into_iter().flatten().filter_map(|todo| {
        Some(Todo {
            content: text(todo, "content")?,
            status: TodoStatus::deserialize(todo.get("status")?).ok()?,
            active_form: text(todo, "activeForm"),
        })
    });
    todos.collect()
}

pub(crate) fn rename(
    shared: &Shared,
    id: &SessionId,
    title: &str,
    stamp: impl FnOnce(&Path) -> Stamp,
) -> Result<(), AgentError> {
    let directory = find(shared, id)?;
    let cwd = shared.workspace.roots().into_iter().next().unwrap_or_else(|| PathBuf::from("/"));
    append_to(&directory, id, stamp(&cwd))?
        .append(&Record::Title(title.to_owned()))
        .map_err(|error| AgentError::Unavailable(format!("the title could not be written: {error}")))
}

/// `open_here`: its lock is ours. Otherwise nobody may have it open.
pub(crate) fn trash(
    shared: &Shared,
    id: &SessionId,
    stamp: Stamp,
    open_here: OpenHere,
) -> Result<(), AgentError> {
    let directory = find(shared, id)?;
    let _held = match open_here {
        OpenHere::Yes => None,
        OpenHere::No => Some(append_to(&directory, id, stamp)?),
    };
    let trash = directory.join(TRASH);
    let moved = files::create_private_dir(&trash)
        .and_then(|()| fs::rename(directory.join(format!("{id}.jsonl")), trash.join(format!("{id}.jsonl"))))
        .and_then(|()| match fs::rename(directory.join(id.as_str()), trash.join(id.as_str())) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        });
    moved.map_err(|error| {
        AgentError::Unavailable(format!("session {id} could not be moved to the trash: {error}"))
    })
}

/// The project dirs of the workspace's folders: all worktrees and subfolders of their repositories.
fn session_dirs(shared: &Shared) -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    for root in shared.workspace.roots() {
        for dir in directories::related_project_dirs(&shared.environment, &root) {
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
    }
    dirs
}

/// The folder that holds the session: one of this workspace's, else any project's.
fn find(shared: &Shared, id: &SessionId) -> Result<PathBuf, AgentError> {
    let name = format!("{id}.jsonl");
    let holds = |dir: &PathBuf| dir.join(&name).is_file();
    if let Some(dir) = session_dirs(shared).into_iter().find(holds) {
        return Ok(dir);
    }
    let projects = directories::config_home(&shared.environment).join("projects");
    let others = fs::read_dir(projects).into_iter().flatten().flatten().map(|entry| entry.path());
    others.into_iter().find(holds).ok_or_else(|| AgentError::UnknownSession(id.to_string()))
}

fn append_to(directory: &Path, id: &SessionId, stamp: Stamp) -> Result<Transcript, AgentError> {
    Transcript::open(directory, stamp).map_err(|error| match error {
        TranscriptError::Busy => AgentError::Unavailable(format!(
            "session {id} is open in another Reverie; close it there, or start a new session here"
        )),
        error => AgentError::Unavailable(format!("session {id} cannot be written: {error}")),
    })
}
