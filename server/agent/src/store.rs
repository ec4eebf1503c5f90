//! Sessions on disk: finding, listing, opening, renaming, throwing away.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use conversation::{LoadError, Record, SessionId, Stamp, Transcript, TranscriptError};
use settings::directories;

use crate::{
    files, report,
    session::{Session, State},
    shared::Shared,
    types::{AgentError, Resumed, SessionPage, SessionSummary, Strategy},
};

const PAGE: usize = 50;
const LARGEST_PAGE: usize = 1_000;

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
    stamp: impl FnOnce(&Path) -> Stamp,
) -> Result<(Arc<Session>, Resumed), AgentError> {
    let directory = find(shared, id)?;
    let loaded =
        conversation::load(&directory, id, strategy.map(to_conversation)).map_err(|error| match error {
            LoadError::NotFound => AgentError::UnknownSession(id.to_string()),
            error => AgentError::Unavailable(format!("session {id} cannot be read: {error}")),
        })?;
    let folder = loaded.cwd.clone().filter(|cwd| cwd.is_dir());
    let cwd =
        folder.or_else(|| shared.workspace.roots().into_iter().next()).unwrap_or_else(|| PathBuf::from("/"));
    let transcript = append_to(&directory, id, stamp(&cwd))?;
    let mut repairs = loaded.repairs;
    for message in &loaded.new_messages {
        if let Err(error) = transcript.append(&Record::Message(Arc::clone(message))) {
            repairs.push(format!("the repairs could not be written to the transcript: {error}"));
            break;
        }
    }
    let resumed = Resumed {
        id: id.clone(),
        strategy: from_conversation(loaded.strategy),
        messages: report::shown_messages(&loaded.thread),
        repairs,
    };
    let state = State {
        thread: loaded.thread,
        saved_prefix: loaded.prefix,
        cost: loaded.cost,
        title: loaded.title,
        ..State::default()
    };
    let settings = shared.settings(&cwd).settings;
    let session = Session::new(id.clone(), cwd, Arc::clone(shared), &settings, transcript, state);
    for files in loaded.read_files {
        session.reads.restore(&files);
    }
    Ok((session, resumed))
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

pub(crate) fn trash(shared: &Shared, id: &SessionId) -> Result<(), AgentError> {
    let directory = find(shared, id)?;
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

fn to_conversation(strategy: Strategy) -> conversation::Strategy {
    match strategy {
        Strategy::Full => conversation::Strategy::Full,
        Strategy::Partial => conversation::Strategy::Partial,
        Strategy::Minimal => conversation::Strategy::Minimal,
    }
}

fn from_conversation(strategy: conversation::Strategy) -> Strategy {
    match strategy {
        conversation::Strategy::Full => Strategy::Full,
        conversation::Strategy::Partial => Strategy::Partial,
        conversation::Strategy::Minimal => Strategy::Minimal,
    }
}
