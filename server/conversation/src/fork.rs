//! A session that begins as a copy of another one's thread and goes its own way. The copy is written at once and
//! whole; the source is only read.

use std::{
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use uuid::Uuid;

use crate::{
    excerpt::one_line,
    listing,
    message::{Body, SessionId},
    record::{CostState, ForkedFrom, Record, Stamp, encode, transcript_path},
    resume::{LoadError, Loaded, Strategy, read},
    transcript::atomic,
};

const MARK: &str = "(fork) ";
const TITLE_CHARS: usize = 80;

#[derive(Clone, Debug, PartialEq)]
pub struct Forked {
    /// The new transcript.
    pub path: PathBuf,
    pub from: ForkedFrom,
    pub title: String,
    pub messages: usize,
    /// What was wrong with the source, as a resume tells it.
    pub repairs: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    #[error(transparent)]
    Source(#[from] LoadError),
    /// There is no message to go on from; start a new session instead.
    #[error("the session has no message yet")]
    Empty,
    /// Tell the user. There is no new session.
    #[error("the fork cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// Makes the session `stamp.session` in the same directory. `at`: the last message to copy, on whatever branch;
/// `None`: the whole current thread. The rendered prefix comes along and the messages keep their uuids, so that the
/// requests of both sessions are the same up to there; what was spent stays with the source.
pub fn fork(
    directory: &Path,
    source: &SessionId,
    at: Option<Uuid>,
    stamp: &Stamp,
) -> Result<Forked, ForkError> {
    let loaded = read(&transcript_path(directory, source), Some(Strategy::Full), at)?.loaded;
    let added = loaded.new_messages.len();
    let copied = loaded.thread.len().saturating_sub(added);
    let message = copied.checked_sub(1).and_then(|last| loaded.thread.get(last)).map(|message| message.uuid);
    if message.is_none() {
        return Err(ForkError::Empty);
    }
    let from = ForkedFrom { session: source.clone(), message };
    let title = title(&loaded);
    let path = transcript_path(directory, &stamp.session);
    let messages = loaded.thread.len();
    let repairs = loaded.repairs.clone();
    let records = records(loaded, from.clone(), title.clone());
    atomic::write_new(&path, |file| {
        let mut writer = BufWriter::new(file);
        let mut line = Vec::new();
        for record in records {
            line.clear();
            encode(&record, stamp, &mut line)?;
            writer.write_all(&line)?;
        }
        writer.flush()
    })?;
    Ok(Forked { path, from, title, messages, repairs })
}

/// The origin comes first: a listing reads the beginning of a file.
fn records(loaded: Loaded, from: ForkedFrom, title: String) -> impl Iterator<Item = Record> {
    let mut state = vec![Record::ForkedFrom(from), Record::Title(title)];
    state.push(Record::Cost(CostState::default()));
    state.extend(loaded.mode.map(Record::Mode));
    state.extend(loaded.model.map(Record::ModelChoice));
    state.extend(loaded.prefix.map(Record::Prefix));
    // A straight line, whatever way the source took.
    let messages = loaded.thread.into_iter().scan(None, |parent, mut message| {
        let previous = parent.replace(message.uuid);
        // What was kept is in its place now.
        if message.compaction().is_some()
            && let Body::System { compaction: Some(compaction), .. } = &mut Arc::make_mut(&mut message).body
        {
            (compaction.preserved_segment, compaction.complete_with) = (None, None);
        }
        if message.parent != previous {
            Arc::make_mut(&mut message).parent = previous;
        }
        Some(Record::Message(message))
    });
    state
        .into_iter()
        .chain(messages)
        .chain(loaded.read_files.into_iter().map(Record::ReadFiles))
        .chain(loaded.context.into_iter().map(Record::Context))
}

fn title(loaded: &Loaded) -> String {
    let first = || loaded.thread.iter().find_map(|message| listing::prompt(message));
    let title = loaded.title.clone().or_else(first).unwrap_or_default();
    let title = one_line(&title, TITLE_CHARS);
    match title.strip_prefix(MARK) {
        // A fork of a fork is marked once.
        Some(_) => title,
        None => format!("{MARK}{title}").trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests;
