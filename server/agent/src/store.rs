//! Sessions on disk: finding, listing, opening, renaming, throwing away.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use conversation::{
    Block, Body, ForkError, Format as ExportFormat, LoadError, Loaded, Message, Record, SessionId, Stamp,
    Strategy, Transcript, TranscriptError,
};
use permissions::Mode;
use serde::Deserialize;
use serde_json::Value;
use settings::directories;
use tools::{Todo, TodoStatus};
use uuid::Uuid;

use crate::{
    files,
    instructions::{self, Sheet},
    report,
    session::{Rendered, Session, State},
    shared::Shared,
    types::{AgentError, Reach, Resumed, SessionPage, SessionSummary, ShownRole},
    window::Window,
};

/// How long a session that another process has open is waited for.
const LOCK_TRIES: u32 = 25;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

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
    reach: Reach,
) -> Result<SessionPage, AgentError> {
    let start: usize = match cursor {
        None => 0,
        Some(text) => text
            .parse()
            .map_err(|_| AgentError::Invalid("the cursor is not one that was given out".to_owned()))?,
    };
    let limit = limit.unwrap_or(PAGE).clamp(1, LARGEST_PAGE);
    let wanted = query.map(str::to_lowercase);
    let mut matching =
        conversation::list(&searched_dirs(shared, None, reach)).into_iter().filter(|summary| {
            let Some(wanted) = &wanted else { return true };
            summary.title.to_lowercase().contains(wanted)
                || summary.first_prompt.to_lowercase().contains(wanted)
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
            branches: Some(summary.branches),
            forked_from: summary.forked_from.map(|from| from.session),
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
    branch: Option<Uuid>,
    stamp: impl Fn(&Path) -> Stamp,
) -> Result<(Arc<Session>, Resumed), AgentError> {
    let directory = find(shared, id)?;
    let default = shared.workspace.roots().into_iter().next().unwrap_or_else(|| PathBuf::from("/"));
    // Locked first: what another process writes until it lets go must be in what is read.
    let transcript = append_to(&directory, id, stamp(&default))?;
    let loaded =
        conversation::load(&directory, id, strategy, branch).map_err(|error| unreadable(id, error))?;
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
        before: before(&loaded.thread),
        repairs,
        branches: if loaded.branches.len() > 1 { loaded.branches } else { Vec::new() },
    };
    let rendered = loaded.prefix.as_ref().and_then(Rendered::of);
    let stale = loaded.prefix.as_ref().filter(|_| rendered.is_none());
    let sheet = loaded.prefix.as_ref().map(|prefix| Sheet::of(&prefix.instructions)).unwrap_or_default();
    let state = State {
        model_name: loaded.model.or_else(|| stale.map(|prefix| prefix.model.clone())),
        opening_is_stale: stale.is_some(),
        rendered,
        window: Window::restore(loaded.context, &loaded.thread),
        tip: loaded.tip,
        thread: loaded.thread,
        cost: loaded.cost,
        title_is_given: loaded.title_is_given,
        title: loaded.title,
        mode: loaded.mode.as_deref().and_then(Mode::parse).filter(|mode| *mode != Mode::Bypass),
        ..State::default()
    };
    let settings = shared.settings(&cwd).settings;
    let checkpoints = loaded.checkpoints.into_iter().filter_map(|entry| serde_json::from_value(entry).ok());
    let checkpoints = checkpoints.collect();
    let session =
        Session::new(id.clone(), cwd, Arc::clone(shared), &settings, transcript, state, checkpoints);
    *session.instructions() = sheet;
    instructions::settle(&session);
    for files in loaded.read_files {
        session.reads.restore(&files);
    }
    session.recall_todos();
    Ok((session, resumed))
}

/// Makes a session that shares this one's past. The source may be open, here or elsewhere: it is only read.
pub(crate) fn fork(
    shared: &Shared,
    id: &SessionId,
    at: Option<Uuid>,
    stamp: &Stamp,
) -> Result<(), AgentError> {
    let directory = find(shared, id)?;
    conversation::fork(&directory, id, at, stamp).map(|_| ()).map_err(|error| match error {
        ForkError::Source(error) => unreadable(id, error),
        ForkError::Empty => AgentError::Invalid(format!("session {id} has no message to fork from")),
        ForkError::Write(error) => AgentError::Unavailable(format!("the fork could not be written: {error}")),
    })
}

/// The session as a text. It may be open elsewhere: it is only read.
pub(crate) fn export(shared: &Shared, id: &SessionId, format: ExportFormat) -> Result<String, AgentError> {
    let loaded = read(shared, id, None)?;
    let thread = whole(shared, id, loaded.thread);
    let said = || report::shown_messages(&thread).into_iter().find(|it| it.role == ShownRole::User);
    let first = || said().and_then(|prompt| prompt.text.lines().next().map(str::to_owned));
    let title = loaded.title.clone().or_else(first).unwrap_or_else(|| format!("Session {id}"));
    Ok(conversation::export(&thread, &title, format))
}

/// The thread with what was said before its compactions, as far as that can be read.
fn whole(shared: &Shared, id: &SessionId, mut thread: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
    let mut seen: HashSet<Uuid> = HashSet::new();
    let mut parts = Vec::new();
    loop {
        let before =
            thread.first().filter(|first| first.compaction().is_some()).and_then(|first| first.parent);
        let older =
            before.filter(|before| seen.insert(*before)).and_then(|at| read(shared, id, Some(at)).ok());
        let Some(older) = older else {
            parts.push(thread);
            break;
        };
        let known: HashSet<Uuid> = older.thread.iter().map(|message| message.uuid).collect();
        // What a compaction kept was said before it.
        thread.retain(|message| !known.contains(&message.uuid));
        parts.push(std::mem::replace(&mut thread, older.thread));
    }
    parts.into_iter().rev().flatten().collect()
}

fn unreadable(id: &SessionId, error: LoadError) -> AgentError {
    match error {
        LoadError::NotFound => AgentError::UnknownSession(id.to_string()),
        LoadError::NoSuchMessage(message) => {
            AgentError::Invalid(format!("session {id} has no message {message}"))
        }
        LoadError::Io(error) => AgentError::Unavailable(format!("session {id} cannot be read: {error}")),
    }
}

/// A session as its transcript has it, on a branch if one is named. Nothing is locked or written.
pub(crate) fn read(shared: &Shared, id: &SessionId, branch: Option<Uuid>) -> Result<Loaded, AgentError> {
    let directory = find(shared, id)?;
    conversation::load(&directory, id, Some(Strategy::Full), branch).map_err(|error| unreadable(id, error))
}

/// The last message that a compaction at the beginning of a thread stands for.
pub(crate) fn before(thread: &[Arc<Message>]) -> Option<Uuid> {
    thread.first().filter(|first| first.compaction().is_some()).and_then(|boundary| boundary.parent)
}

/// Where a session works, as far as the beginning of its transcript says.
pub(crate) fn folder_of(shared: &Shared, id: &SessionId) -> Option<PathBuf> {
    let listed = conversation::list(&[find(shared, id).ok()?]);
    listed.into_iter().find(|summary| summary.session == *id)?.cwd
}

/// The todo list as the last call of its tool left it.
pub(crate) fn last_todos(thread: &[Arc<Message>]) -> Option<Vec<Todo>> {
    let calls = thread.iter().rev().filter_map(|message| match &message.body {
        Body::Assistant { content, .. } => Some(content.iter().rev()),
        _ => None,
    });
    let last = calls.flatten().find_map(|block| match block {
        Block::ToolUse { name, input, .. } if name == "TodoWrite" => input.get("todos")?.as_array(),
        _ => None,
    })?;
    Some(todos(last))
}

pub(crate) fn todos(listed: &[Value]) -> Vec<Todo> {
    let text = |todo: &Value, key: &str| todo.get(key).and_then(Value::as_str).map(str::to_owned);
    let todos = listed.iter().filter_map(|todo| {
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
    move_to_trash(&directory, id).map_err(|error| {
        AgentError::Unavailable(format!("session {id} could not be moved to the trash: {error}"))
    })
}

pub(crate) fn move_to_trash(directory: &Path, id: &SessionId) -> std::io::Result<()> {
    let trash = directory.join(TRASH);
    files::create_private_dir(&trash)?;
    fs::rename(directory.join(format!("{id}.jsonl")), trash.join(format!("{id}.jsonl")))?;
    match fs::rename(directory.join(id.as_str()), trash.join(id.as_str())) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The project dirs of the workspace's folders: all worktrees and subfolders of their repositories.
pub(crate) fn session_dirs(shared: &Shared) -> Vec<PathBuf> {
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

/// Where to look for what was said: in the folder of the session that is named, else as far as it should reach.
pub(crate) fn searched_dirs(shared: &Shared, session: Option<&SessionId>, reach: Reach) -> Vec<PathBuf> {
    let here = session_dirs(shared);
    match session.and_then(|id| find(shared, id).ok()) {
        // With those that are searched most: their index is at hand.
        Some(directory) if here.contains(&directory) => return here,
        Some(directory) => return vec![directory],
        None => {}
    }
    match reach {
        Reach::Workspace => here,
        Reach::Everywhere => all_dirs(shared),
    }
}

/// The project dirs of all projects.
pub(crate) fn all_dirs(shared: &Shared) -> Vec<PathBuf> {
    let projects = directories::config_home(&shared.environment).join("projects");
    let entries = fs::read_dir(projects).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut dirs: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    dirs.sort();
    dirs
}

/// The folder that holds the session: one of this workspace's, else any project's.
fn find(shared: &Shared, id: &SessionId) -> Result<PathBuf, AgentError> {
    let name = format!("{id}.jsonl");
    let holds = |dir: &PathBuf| dir.join(&name).is_file();
    if let Some(dir) = session_dirs(shared).into_iter().find(holds) {
        return Ok(dir);
    }
    all_dirs(shared).into_iter().find(holds).ok_or_else(|| AgentError::UnknownSession(id.to_string()))
}

fn append_to(directory: &Path, id: &SessionId, stamp: Stamp) -> Result<Transcript, AgentError> {
    let mut opened = Transcript::open(directory, stamp.clone());
    // A process that was killed while it started another is held on to by that for a moment.
    for _ in 0..LOCK_TRIES {
        if !matches!(opened, Err(TranscriptError::Busy)) {
            break;
        }
        std::thread::sleep(LOCK_PAUSE);
        opened = Transcript::open(directory, stamp.clone());
    }
    opened.map_err(|error| match error {
        TranscriptError::Busy => AgentError::Unavailable(format!(
            "session {id} is open in another Reverie; close it there, or start a new session here"
        )),
        error => AgentError::Unavailable(format!("session {id} cannot be written: {error}")),
    })
}
