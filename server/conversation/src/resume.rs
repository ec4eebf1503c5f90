//! A session back from its transcript: the thread, repaired where it must be, and everything else the file keeps.
//!
//! "Full (everything, validated and repaired), partial, minimal, tried in this order when damage forbids the
//! better one." Nothing is written here: what a repair adds comes back in [`Loaded::new_messages`].

mod digest;
mod materialise;
mod repair;
mod report;

use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;
use uuid::Uuid;

use crate::{
    message::{Message, SessionId},
    record::{CostState, Prefix, Record, decode, repaired_json, transcript_path},
    scan::{Entry, Envelope, Kind, Place, Scan, scan},
    thread::{Index, Walk},
};
use materialise::{Window, materialise};
use report::Report;

/// No model takes more than a few megabytes; a longer history stays on disk but for its newest part.
const LARGEST_THREAD: u64 = 160 << 20;
/// What a message costs in memory besides its text, roughly.
const MESSAGE_OVERHEAD: u64 = 256;
/// More records beside the path than any session has; a hostile file does not cost more.
const LARGEST_BESIDE: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// The thread as it was.
    Full,
    /// A digest of the thread, then its last rounds.
    Partial,
    /// What is known about the project and what was going on.
    Minimal,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub strategy: Strategy,
    /// Root to newest leaf, from the last compact boundary on; every tool call has its result.
    pub thread: Vec<Arc<Message>>,
    /// To be appended to the transcript, in this order, before anything else.
    pub new_messages: Vec<Arc<Message>>,
    /// To be appended after them, so that what is told now is not told again by the next resume.
    pub new_records: Vec<Record>,
    pub prefix: Option<Prefix>,
    /// Given by the user, else generated; `None`: the first prompt has to do.
    pub title: Option<String>,
    pub cost: CostState,
    /// Oldest first.
    pub read_files: Vec<Value>,
    pub cwd: Option<PathBuf>,
    /// The mode's name, if it was ever recorded.
    pub mode: Option<String>,
    /// Prompts that waited behind a turn and never ran, oldest first.
    pub queued: Vec<String>,
    /// One sentence for each kind of thing that was not as it should be.
    pub repairs: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no such session here.
    #[error("no such session")]
    NotFound,
    /// Tell the user; the file may be readable later.
    #[error("the transcript cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// Loads the branch with the newest message. `None`: the best strategy that yields something.
pub fn load(directory: &Path, session: &SessionId, strategy: Option<Strategy>) -> Result<Loaded, LoadError> {
    let path = transcript_path(directory, session);
    let mut scan = scan_session(&path)?;
    let mut report = Report::default();
    let chosen = choose(&scan, &mut report);
    let extras = read_extras(&path, &scan)?;
    // The index of a long file is large; what follows needs only what was chosen from it.
    scan.entries = Vec::new();

    let mut thread = materialise(&path, &chosen.path, &mut report)?;
    let beside = materialise(&path, &chosen.beside, &mut report)?;
    report.elsewhere = report.elsewhere.saturating_sub(repair::join_parallel(&mut thread, beside));
    let paired = repair::pair(thread, &mut report);

    let mut loaded = Loaded {
        strategy: Strategy::Full,
        thread: paired.thread,
        new_messages: paired.new_messages,
        new_records: extras.queued.iter().map(|(turn, _)| Record::Dequeued { turn: turn.clone() }).collect(),
        prefix: extras.prefix,
        title: extras.title,
        cost: extras.cost,
        read_files: extras.read_files,
        cwd: extras.cwd,
        mode: extras.mode,
        queued: extras.queued.into_iter().map(|(_, text)| text).collect(),
        repairs: Vec::new(),
    };
    loaded.strategy = strategy.unwrap_or(match loaded.thread.is_empty() {
        false => Strategy::Full,
        true if !chosen.stray.is_empty() => Strategy::Partial,
        true if extras.has_state => Strategy::Minimal,
        true => Strategy::Full,
    });
    if loaded.strategy != Strategy::Full {
        if loaded.thread.is_empty() {
            let stray = materialise(&path, &chosen.stray, &mut report)?;
            loaded.thread = repair::pair(stray, &mut report).thread;
        }
        digest::replace_thread(&mut loaded, extras.git_branch.as_deref());
    }
    loaded.repairs = report.sentences(&scan.damage, scan.bytes, &loaded);
    Ok(loaded)
}

fn scan_session(path: &Path) -> Result<Scan, LoadError> {
    scan(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => LoadError::NotFound,
        _ => LoadError::Io(error),
    })
}

/// What has to be read again, now for its content.
#[derive(Default)]
struct Chosen {
    path: Vec<Wanted>,
    beside: Vec<Wanted>,
    /// Messages to make a digest of when nothing is on the path.
    stray: Vec<Wanted>,
}

#[derive(Clone, Copy)]
struct Wanted {
    place: Place,
    uuid: Uuid,
    /// `Some`: the parent that it gets instead of the one it names.
    parent: Option<Option<Uuid>>,
}

fn choose(scan: &Scan, report: &mut Report) -> Chosen {
    let index = Index::new(&scan.entries);
    report.duplicates = index.duplicates;
    let Some(leaf) = index.newest_leaf() else {
        let newest = scan.entries.iter().filter(|entry| entry.kind != Kind::Link).rev().take(LARGEST_BESIDE);
        let mut stray: Vec<Wanted> = newest.map(|entry| wanted(entry, None)).collect();
        stray.reverse();
        return Chosen { stray, ..Chosen::default() };
    };
    let mut walk = index.walk(leaf);
    let beside = index.beside(&walk, LARGEST_BESIDE);
    report.left_on_disk = keep_newest(&mut walk, &scan.entries);
    report.take(&walk);
    let take = |positions: &[usize]| -> Vec<Wanted> {
        let known = positions.iter().filter_map(|position| Some((position, scan.entries.get(*position)?)));
        known.map(|(position, entry)| wanted(entry, walk.relinked.get(position).copied())).collect()
    };
    Chosen { path: take(&walk.path), beside: take(&beside), stray: Vec::new() }
}

fn wanted(entry: &Entry, parent: Option<Option<Uuid>>) -> Wanted {
    Wanted { place: entry.place(), uuid: entry.uuid, parent }
}

/// Cuts the old end of a path that no memory should hold. Returns how many messages stay behind.
fn keep_newest(walk: &mut Walk, entries: &[Entry]) -> u64 {
    let mut size = 0;
    let fits = |position: &&usize| {
        let length = entries.get(**position).map_or(0, |entry| u64::from(entry.place().length));
        size += length + MESSAGE_OVERHEAD;
        size <= LARGEST_THREAD
    };
    let kept = walk.path.iter().rev().take_while(fits).count().max(1);
    let left_out = walk.path.len().saturating_sub(kept);
    walk.path.drain(..left_out);
    left_out as u64
}

#[derive(Default)]
struct ReadExtras {
    prefix: Option<Prefix>,
    title: Option<String>,
    cost: CostState,
    read_files: Vec<Value>,
    cwd: Option<PathBuf>,
    mode: Option<String>,
    /// Turn and text.
    queued: Vec<(String, String)>,
    git_branch: Option<String>,
    has_state: bool,
}

fn read_extras(path: &Path, scan: &Scan) -> io::Result<ReadExtras> {
    let mut window = Window::open(path)?;
    let mut extras = ReadExtras::default();
    let places = &scan.extras;
    let mut record = |place: &Option<Place>| -> io::Result<Option<Record>> {
        let Some(place) = place else { return Ok(None) };
        let line = window.bytes(*place)?;
        Ok(decode(line).or_else(|_| decode(repaired_json(line).as_bytes())).ok())
    };
    if let Some(Record::Prefix(prefix)) = record(&places.prefix)? {
        extras.prefix = Some(prefix);
    }
    if let Some(Record::Cost(cost)) = record(&places.cost)? {
        extras.cost = cost;
    }
    for place in &places.read_files {
        if let Some(Record::ReadFiles(files)) = record(&Some(*place))? {
            extras.read_files.push(files);
        }
    }
    if let Some(Record::Mode(mode)) = record(&places.mode)? {
        extras.mode = Some(mode);
    }
    let mut dequeued = HashSet::new();
    for place in &places.queue_operations {
        match record(&Some(*place))? {
            Some(Record::Queued { turn, text }) => extras.queued.push((turn, text)),
            Some(Record::Dequeued { turn }) => {
                dequeued.insert(turn);
            }
            _ => {}
        }
    }
    extras.queued.retain(|(turn, _)| !dequeued.contains(turn));
    let field = |record: Option<Record>, name: &str| match record {
        Some(Record::Unknown(value)) => value.get(name).and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    extras.title = match record(&places.custom_title)? {
        Some(Record::Title(title)) if !title.trim().is_empty() => Some(title),
        _ => field(record(&places.generated_title)?, "aiTitle"),
    };
    if extras.title.is_none() && !places.summaries.is_empty() {
        // Claude Code has written summaries of other sessions into the file at hand; only one that names a
        // message of this session speaks of it.
        let index = Index::new(&scan.entries);
        for place in places.summaries.iter().rev() {
            let leaf = Envelope::parse(window.bytes(*place)?).and_then(|envelope| envelope.leaf());
            if leaf.is_some_and(|leaf| index.find(leaf).is_some()) {
                let summary = decode(window.bytes(*place)?).ok();
                extras.title = field(summary, "summary");
                break;
            }
        }
    }
    let last = scan.entries.iter().rev().find(|entry| !entry.sidechain && entry.kind != Kind::Link);
    if let Some(entry) = last.or(scan.entries.last())
        && let Some(envelope) = Envelope::parse(window.bytes(entry.place())?)
    {
        extras.cwd = envelope.cwd().map(PathBuf::from);
        extras.git_branch = envelope.git_branch();
    }
    extras.has_state = places.prefix.is_some()
        || places.cost.is_some()
        || places.custom_title.is_some()
        || places.generated_title.is_some()
        || !places.read_files.is_empty();
    Ok(extras)
}

#[cfg(test)]
mod tests;
