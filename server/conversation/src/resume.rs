//! A session back from its transcript: the thread, repaired where it must be, and everything else the file keeps.
//!
//! "Full (everything, validated and repaired), partial, minimal, tried in this order when damage forbids the
//! better one." Nothing is written here: what a repair adds comes back in [`Loaded::new_messages`].

mod branches;
mod choose;
mod digest;
mod extras;
mod materialise;
pub mod project_state;
mod repair;
mod report;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;
use uuid::Uuid;

pub use branches::Branch;
pub use repair::{Cut, cut};
pub(crate) use report::unsent_prompts;

use crate::{
    message::{Message, SessionId},
    record::{CostState, ForkedFrom, Prefix, Record, transcript_path},
    scan::{Damage, Place, scan},
};
use choose::{Wanted, choose};
use extras::{Extras, read_extras, read_heads};
use materialise::{Window, materialise};
pub use project_state::{Progress, ProjectState};
use report::Report;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The thread as it was.
    #[default]
    Full,
    /// A digest of the thread, then its last rounds.
    Partial,
    /// What is known about the project and what was going on.
    Minimal,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    pub strategy: Strategy,
    /// From the root, or the last compact boundary, to where the session goes on; every tool call has its result.
    pub thread: Vec<Arc<Message>>,
    /// To be appended to the transcript, in this order, before anything else.
    pub new_messages: Vec<Arc<Message>>,
    /// To be appended after them, so that what is told now is not told again by the next resume.
    pub new_records: Vec<Record>,
    pub prefix: Option<Prefix>,
    /// Given by the user, else generated; `None`: the first prompt has to do.
    pub title: Option<String>,
    /// By the user.
    pub title_is_given: bool,
    pub cost: CostState,
    /// Oldest first; nothing that was read after the end of the thread, for the model has not seen it.
    pub read_files: Vec<Value>,
    pub cwd: Option<PathBuf>,
    /// The mode's name, if it was ever recorded.
    pub mode: Option<String>,
    /// The model that was chosen for the session, if one ever was.
    pub model: Option<String>,
    /// Prompts that waited behind a turn and never ran, oldest first.
    pub queued: Vec<String>,
    /// The current one first, then the newest; every message of the main thread is on one of them.
    pub branches: Vec<Branch>,
    pub forked_from: Option<ForkedFrom>,
    /// Oldest first.
    pub checkpoints: Vec<Value>,
    /// What was decided about the context, oldest first, on whatever branch.
    pub context: Vec<Value>,
    /// The message that the next one follows; `None`: there is none. Not the last of the thread where a compaction
    /// kept messages and nothing was said since.
    pub tip: Option<Uuid>,
    /// One sentence for each kind of thing that was not as it should be.
    pub repairs: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no such session here.
    #[error("no such session")]
    NotFound,
    /// The place to go on from is not in the main thread or a branch of it.
    #[error("the session has no message {0}")]
    NoSuchMessage(Uuid),
    /// Tell the user; the file may be readable later.
    #[error("the transcript cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// `strategy` `None`: the best one that yields something. `at`: the message to go on from, on whatever branch;
/// `None`: where the session was rewound to, else its newest message.
pub fn load(
    directory: &Path,
    session: &SessionId,
    strategy: Option<Strategy>,
    at: Option<Uuid>,
) -> Result<Loaded, LoadError> {
    match read(&transcript_path(directory, session), strategy, at) {
        Err(LoadError::Io(error)) if at.is_none() && matches!(strategy, None | Some(Strategy::Minimal)) => {
            without_transcript(directory, error)
        }
        reading => Ok(reading?.loaded),
    }
}

/// What is known about the project, when that is all.
fn without_transcript(directory: &Path, error: io::Error) -> Result<Loaded, LoadError> {
    let Some(known) = ProjectState::read(directory) else { return Err(LoadError::Io(error)) };
    let repairs =
        vec![format!("The transcript cannot be read ({error}); the project's state stands in for it.")];
    let mut loaded = Loaded { strategy: Strategy::Minimal, repairs, ..Loaded::default() };
    digest::replace_thread(&mut loaded, None, Some(known));
    Ok(loaded)
}

/// What was read, and everything that was noticed on the way.
pub(crate) struct Reading {
    pub(crate) loaded: Loaded,
    pub(crate) report: Report,
    pub(crate) damage: Damage,
    pub(crate) bytes: u64,
    pub(crate) extras: Noticed,
}

/// What the records beside the messages tell a check-up.
pub(crate) struct Noticed {
    pub(crate) has_cost: bool,
    pub(crate) broken_prefix: bool,
    pub(crate) dequeued_from_nowhere: usize,
    /// What listings were told.
    pub(crate) recorded_branches: Option<u64>,
}

pub(crate) fn read(path: &Path, strategy: Option<Strategy>, at: Option<Uuid>) -> Result<Reading, LoadError> {
    let mut scan = scan(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => LoadError::NotFound,
        _ => LoadError::Io(error),
    })?;
    let mut report = Report::default();
    let heads = read_heads(path, &scan)?;
    let chosen = choose(&scan, &heads, at, &mut report)?;
    let is_sent = |uuid| chosen.path.iter().any(|wanted| wanted.uuid == uuid);
    let extras = read_extras(path, &scan, is_sent)?;
    // The index of a long file is large; what follows needs only what was chosen from it.
    scan.entries = Vec::new();

    let mut thread = materialise(path, &chosen.path, &mut report)?;
    let beside = materialise(path, &chosen.beside, &mut report)?;
    let joined = repair::join_parallel(&mut thread, beside);
    report.elsewhere = report.elsewhere.saturating_sub(joined.len() as u64);
    let branches = branches::describe(path, &chosen.branches, &thread, &joined)?;
    let paired = repair::pair(thread, &mut report);

    let mut loaded = Loaded {
        strategy: Strategy::Full,
        thread: paired.thread,
        new_messages: paired.new_messages,
        new_records: new_records(&extras, &branches),
        prefix: extras.prefix,
        title_is_given: extras.given_title.is_some(),
        title: extras.given_title.or(extras.generated_title),
        cost: extras.cost.clone().unwrap_or_default(),
        read_files: files_seen(extras.read_files, chosen.next_offset),
        cwd: extras.cwd,
        mode: extras.mode,
        model: extras.model,
        queued: extras.queued.into_iter().map(|(_, text)| text).collect(),
        branches,
        forked_from: extras.forked_from,
        checkpoints: extras.checkpoints,
        context: extras.context,
        tip: chosen.tip,
        repairs: Vec::new(),
    };
    let is_lost = loaded.thread.is_empty() && !chosen.at_beginning;
    let known = || path.parent().and_then(ProjectState::read);
    loaded.strategy = strategy.unwrap_or(match is_lost {
        false => Strategy::Full,
        true if !chosen.stray.is_empty() => Strategy::Partial,
        true if extras.has_state => Strategy::Minimal,
        true if scan.damage.lost_records() && known().is_some() => Strategy::Minimal,
        true => Strategy::Full,
    });
    report.empty = is_lost;
    if loaded.strategy != Strategy::Full {
        if loaded.thread.is_empty() {
            let stray = materialise(path, &chosen.stray, &mut report)?;
            loaded.thread = repair::pair(stray, &mut report).thread;
        }
        report.empty &= loaded.thread.is_empty();
        digest::replace_thread(&mut loaded, extras.git_branch.as_deref(), known());
    }
    if let Some(added) = loaded.new_messages.last() {
        loaded.tip = Some(added.uuid);
    }
    // Another branch is gone on with: the next resume finds the way too, though nothing may be said until then.
    if at.is_some() && loaded.new_messages.is_empty() {
        loaded.new_records.push(Record::Head { uuid: loaded.tip });
    }
    loaded.repairs = report.sentences(&scan.damage, scan.bytes, &loaded);
    let extras = Noticed {
        has_cost: extras.cost.is_some(),
        broken_prefix: extras.broken_prefix,
        dequeued_from_nowhere: extras.dequeued_from_nowhere,
        recorded_branches: extras.branches,
    };
    Ok(Reading { loaded, report, damage: scan.damage, bytes: scan.bytes, extras })
}

fn files_seen(records: Vec<(Place, Value)>, until: Option<u64>) -> Vec<Value> {
    let seen = records.into_iter().filter(|(place, _)| until.is_none_or(|until| place.offset < until));
    seen.map(|(_, files)| files).collect()
}

/// How many branches a listing should tell of.
pub(crate) fn count_branches(path: &Path) -> Result<u64, LoadError> {
    let scan = scan(path)?;
    let heads = read_heads(path, &scan)?;
    let chosen = choose(&scan, &heads, None, &mut Report::default())?;
    Ok(branches::count(path, &chosen.branches)?)
}

/// Calls with the bytes at each place; ascending ones cost one pass.
pub(crate) fn each_line(
    path: &Path,
    places: impl Iterator<Item = Place>,
    mut visit: impl FnMut(&[u8]),
) -> io::Result<()> {
    let mut window = Window::open(path, 256 << 10)?;
    for place in places {
        visit(window.bytes(place)?);
    }
    Ok(())
}

fn new_records(extras: &Extras, branches: &[Branch]) -> Vec<Record> {
    let given_up = extras.queued.iter().map(|(turn, _)| Record::Dequeued { turn: turn.clone() });
    let mut records: Vec<Record> = given_up.collect();
    // Listings do not look for branches; they have to be told.
    let count = branches.len() as u64;
    if count > 0 && extras.branches.unwrap_or(1) != count {
        records.push(Record::Branches(count));
    }
    records
}

#[cfg(test)]
mod branch_tests;
#[cfg(test)]
mod tests;
