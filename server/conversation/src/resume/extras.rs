//! Everything of a transcript that is no message: title, cost, prefix, modes, what waited, where it was rewound to.

use std::{collections::HashSet, io, path::Path, path::PathBuf};

use serde_json::Value;
use uuid::Uuid;

use super::materialise::Window;
use crate::{
    record::{CostState, ForkedFrom, Prefix, Record, decode, repaired_json},
    scan::{Envelope, Kind, Place, Scan},
    thread::{Head, Index},
};

/// These records are short and far apart.
const WINDOW: u64 = 16 << 10;
/// Of records that pile up, the newest so many are read; a hostile file does not cost more.
const MOST_HEADS: usize = 1_000;
const MOST_CHECKPOINTS: usize = 10_000;
const MOST_DECISIONS: usize = 20_000;

#[derive(Default)]
pub(super) struct Extras {
    pub(super) prefix: Option<Prefix>,
    /// There is one, but it cannot be read.
    pub(super) broken_prefix: bool,
    pub(super) given_title: Option<String>,
    pub(super) generated_title: Option<String>,
    /// `None`: none was ever written.
    pub(super) cost: Option<CostState>,
    pub(super) read_files: Vec<(Place, Value)>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) mode: Option<String>,
    pub(super) model: Option<String>,
    /// Turn and text.
    pub(super) queued: Vec<(String, String)>,
    /// Turns that were never queued and no longer wait.
    pub(super) dequeued_from_nowhere: usize,
    pub(super) git_branch: Option<String>,
    pub(super) forked_from: Option<ForkedFrom>,
    pub(super) checkpoints: Vec<Value>,
    pub(super) context: Vec<Value>,
    /// What listings are told.
    pub(super) branches: Option<u64>,
    pub(super) has_state: bool,
}

/// The places the session was rewound to, in file order.
pub(super) fn read_heads(path: &Path, scan: &Scan) -> io::Result<Vec<Head>> {
    let places = &scan.extras.heads;
    let newest = places.get(places.len().saturating_sub(MOST_HEADS)..).unwrap_or_default();
    let mut heads = Vec::with_capacity(newest.len());
    if newest.is_empty() {
        return Ok(heads);
    }
    let mut window = Window::open(path, WINDOW)?;
    for head in newest {
        if let Some(Record::Head { uuid }) = record(&mut window, Some(head.place))? {
            heads.push(Head { target: uuid, after: head.after });
        }
    }
    Ok(heads)
}

/// `is_sent`: whether a message is a part of the thread.
pub(super) fn read_extras(path: &Path, scan: &Scan, is_sent: impl Fn(Uuid) -> bool) -> io::Result<Extras> {
    let mut window = Window::open(path, WINDOW)?;
    let mut extras = Extras::default();
    let places = &scan.extras;
    let mut read = |place: Option<Place>| record(&mut window, place);
    for place in places.prefixes.iter().rev() {
        match read(Some(*place))? {
            // Of a compaction that was taken back, or was never whole.
            Some(Record::Prefix(prefix)) if !prefix.boundary.is_none_or(&is_sent) => continue,
            Some(Record::Prefix(prefix)) => extras.prefix = Some(prefix),
            _ => extras.broken_prefix = true,
        }
        break;
    }
    if let Some(Record::Cost(cost)) = read(places.cost)? {
        extras.cost = Some(cost);
    }
    for place in &places.read_files {
        if let Some(Record::ReadFiles(files)) = read(Some(*place))? {
            extras.read_files.push((*place, files));
        }
    }
    if let Some(Record::Mode(mode)) = read(places.mode)? {
        extras.mode = Some(mode);
    }
    if let Some(Record::ModelChoice(model)) = read(places.model_choice)? {
        extras.model = Some(model);
    }
    if let Some(Record::ForkedFrom(from)) = read(places.forked_from)? {
        extras.forked_from = Some(from);
    }
    if let Some(Record::Branches(count)) = read(places.branches)? {
        extras.branches = Some(count);
    }
    let oldest = places.checkpoints.len().saturating_sub(MOST_CHECKPOINTS);
    for place in places.checkpoints.iter().skip(oldest) {
        if let Some(Record::Checkpoint(checkpoint)) = read(Some(*place))? {
            extras.checkpoints.push(checkpoint);
        }
    }
    let oldest = places.context.len().saturating_sub(MOST_DECISIONS);
    for place in places.context.iter().skip(oldest) {
        if let Some(Record::Context(context)) = read(Some(*place))? {
            extras.context.push(context);
        }
    }
    let mut dequeued = HashSet::new();
    for place in &places.queue_operations {
        match read(Some(*place))? {
            Some(Record::Queued { turn, text }) => extras.queued.push((turn, text)),
            Some(Record::Dequeued { turn }) => {
                dequeued.insert(turn);
            }
            _ => {}
        }
    }
    for (turn, _) in &extras.queued {
        extras.dequeued_from_nowhere += usize::from(dequeued.contains(turn));
    }
    extras.dequeued_from_nowhere = dequeued.len().saturating_sub(extras.dequeued_from_nowhere);
    extras.queued.retain(|(turn, _)| !dequeued.contains(turn));
    if let Some(Record::Title(title)) = record(&mut window, places.custom_title)? {
        extras.given_title = Some(title).filter(|title| !title.trim().is_empty());
    }
    extras.generated_title = generated_title(&mut window, scan)?;
    let last = scan.entries.iter().rev().find(|entry| !entry.sidechain && entry.kind != Kind::Link);
    if let Some(entry) = last.or(scan.entries.last())
        && let Some(envelope) = Envelope::parse(window.bytes(entry.place())?)
    {
        extras.cwd = envelope.cwd().map(PathBuf::from);
        extras.git_branch = envelope.git_branch();
    }
    extras.has_state = !places.prefixes.is_empty()
        || places.cost.is_some()
        || places.custom_title.is_some()
        || places.generated_title.is_some()
        || !places.read_files.is_empty();
    Ok(extras)
}

/// By a model, else from a summary.
fn generated_title(window: &mut Window, scan: &Scan) -> io::Result<Option<String>> {
    let places = &scan.extras;
    let field = |record: Option<Record>, name: &str| match record {
        Some(Record::Unknown(value)) => value.get(name).and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    if let Some(Record::GeneratedTitle(title)) = record(window, places.generated_title)? {
        return Ok(Some(title));
    }
    if places.summaries.is_empty() {
        return Ok(None);
    }
    // Claude Code has written summaries of other sessions into the file at hand; only one that names a message of
    // this session speaks of it.
    let index = Index::new(&scan.entries, &[]);
    for place in places.summaries.iter().rev() {
        let leaf = Envelope::parse(window.bytes(*place)?).and_then(|envelope| envelope.leaf());
        if leaf.is_some_and(|leaf| index.find(leaf).is_some()) {
            return Ok(field(decode(window.bytes(*place)?).ok(), "summary"));
        }
    }
    Ok(None)
}

fn record(window: &mut Window, place: Option<Place>) -> io::Result<Option<Record>> {
    let Some(place) = place else { return Ok(None) };
    let line = window.bytes(place)?;
    Ok(decode(line).or_else(|_| decode(repaired_json(line).as_bytes())).ok())
}
