//! The full text behind what is not sent as it was: a result that was put aside or cleared, a span that was collapsed or
//! left out, a conversation that was compacted. All of it is on disk.

use std::{
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use conversation::{Block, Body, Format, Message, ResultContent};
use uuid::Uuid;

use crate::{
    results,
    session::Session,
    store,
    types::{AgentError, Original},
};

/// Compactions that are gone through, the newest first, for a result that is not in the conversation any more.
const MOST_COMPACTIONS: usize = 100;

/// `id` names a call, a message, or what a line of the ledger says. May read the transcript.
pub(crate) fn find(session: &Session, id: &str) -> Result<Original, AgentError> {
    if let Some(original) = in_results(session, id) {
        return Ok(original);
    }
    let found = match Uuid::try_parse(id) {
        Ok(uuid) => message(session, uuid),
        Err(_) => result(session, id),
    };
    // A call of a branch that was left has its file still.
    let found = found.or_else(|| put_aside(session, id).map(Ok));
    found.unwrap_or_else(|| Err(AgentError::Invalid(format!("this session has nothing with the id {id}"))))
}

/// The ledger names the file of a result by its path, and those of several by their folder.
fn in_results(session: &Session, id: &str) -> Option<Original> {
    let path = Path::new(id);
    if path == session.results_dir() {
        let files = std::fs::read_dir(path).ok()?.flatten().map(|entry| entry.path().display().to_string());
        let mut files: Vec<String> = files.collect();
        files.sort();
        return Some(Original { text: files.join("\n"), path: path.to_owned() });
    }
    (path.parent()? == session.results_dir()).then(|| read(path.to_owned())).flatten()
}

fn put_aside(session: &Session, id: &str) -> Option<Original> {
    let (name, folder) = (results::file_name(id), session.results_dir());
    ["txt", "json"].iter().find_map(|extension| read(folder.join(format!("{name}.{extension}"))))
}

/// Where the text that was sent says that the rest is: calls of several responses may have one id, and a fork says what
/// its source said.
fn named_by(session: &Session, id: &str, sent: &str) -> Option<Original> {
    let (name, folder) = (results::file_name(id), session.project_dir());
    let path = sent.strip_prefix("<persisted-output>")?.lines().map(PathBuf::from).find(|path| {
        let Ok(inside) = path.strip_prefix(&folder) else { return false };
        // Whose text this is nobody knows: it leads to a result of a session, or nowhere.
        let parts: Vec<Component<'_>> = inside.components().collect();
        matches!(parts[..], [Component::Normal(_), Component::Normal(kept), Component::Normal(_)] if kept == "tool-results")
            && path.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| is_namesake(stem, &name))
    })?;
    read(path)
}

/// `call_0`, `call_0-2`: see `results`.
fn is_namesake(stem: &str, name: &str) -> bool {
    stem.strip_prefix(name).is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix('-').is_some_and(|number| number.parse::<u32>().is_ok())
    })
}

fn read(path: PathBuf) -> Option<Original> {
    Some(Original { text: results::read(&path)?, path })
}

type Found = Option<Result<Original, AgentError>>;

/// A result that is still in the transcript, though perhaps no longer in what is sent.
fn result(session: &Session, id: &str) -> Found {
    let mut thread = session.state().thread.clone();
    for _ in 0..MOST_COMPACTIONS {
        let results = thread.iter().rev().filter_map(|message| match &message.body {
            Body::User { content } => Some(content.iter()),
            _ => None,
        });
        let found = results.flatten().find_map(|block| match block {
            Block::ToolResult { tool_use_id, content, .. } if tool_use_id == id => Some(text_of(content)),
            _ => None,
        });
        if let Some(text) = found {
            let same = || put_aside(session, id).filter(|kept| kept.text == text);
            let kept = named_by(session, id, &text).or_else(same);
            return Some(Ok(kept.unwrap_or_else(|| Original { text, path: transcript(session) })));
        }
        let before = thread.first().filter(|first| first.compaction().is_some())?.parent?;
        thread = match store::read(&session.shared, &session.id, Some(before)) {
            Ok(loaded) => loaded.thread,
            Err(error) => return Some(Err(error)),
        };
    }
    None
}

fn message(session: &Session, uuid: Uuid) -> Found {
    let thread = session.state().thread.clone();
    let span = session.state().window.span_at(uuid);
    let (messages, what) = match thread.iter().position(|message| message.uuid == uuid) {
        // What a compaction stands for is what was said before it.
        Some(at) if thread.get(at).is_some_and(|it| it.compaction().is_some()) => {
            return Some(before(session, thread.get(at)?));
        }
        Some(at) => match span {
            Some(ids) => {
                let is_in = |message: &&Arc<Message>| ids.contains(&message.uuid);
                (thread.iter().filter(is_in).cloned().collect(), "The span")
            }
            None => (vec![Arc::clone(thread.get(at)?)], "The message"),
        },
        None => {
            let loaded = match store::read(&session.shared, &session.id, Some(uuid)) {
                Ok(loaded) => loaded,
                Err(AgentError::Invalid(_)) => return None,
                Err(error) => return Some(Err(error)),
            };
            let found = loaded.thread.into_iter().find(|message| message.uuid == uuid)?;
            if found.compaction().is_some() {
                return Some(before(session, &found));
            }
            (vec![found], "The message")
        }
    };
    let text = conversation::export(&messages, what, Format::Markdown);
    Some(Ok(Original { text, path: transcript(session) }))
}

fn before(session: &Session, boundary: &Message) -> Result<Original, AgentError> {
    let Some(parent) = boundary.parent else {
        return Err(AgentError::Invalid("nothing was said before this".to_owned()));
    };
    let loaded = store::read(&session.shared, &session.id, Some(parent))?;
    let text = conversation::export(&loaded.thread, "Before the compaction", Format::Markdown);
    Ok(Original { text, path: transcript(session) })
}

fn transcript(session: &Session) -> PathBuf {
    session.transcript.path().to_owned()
}

fn text_of(content: &ResultContent) -> String {
    match content {
        ResultContent::Text(text) => text.clone(),
        ResultContent::Blocks(blocks) => {
            let text = |block: &Block| match block {
                Block::Text { text } => text.clone(),
                other => serde_json::to_string(other).unwrap_or_default(),
            };
            blocks.iter().map(text).collect::<Vec<_>>().join("\n")
        }
    }
}
