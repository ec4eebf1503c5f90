//! One pass over a transcript: where its records are and how they hang together, without their content.
//!
//! Reads in pieces on two threads, so that neither a file of 1 GB nor a line of 100 MB has to fit into memory
//! whole. Bad lines are skipped, counted and searched for the records inside them; nothing here fails because
//! of what a file contains.

mod envelope;
mod salvage;

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

use uuid::Uuid;

pub(crate) use envelope::Envelope;

use crate::{
    message::PreservedSegment,
    record::{
        BRANCHES, CHECKPOINT, COMPACT_BOUNDARY, CONTEXT, COST, CUSTOM_TITLE, FORKED_FROM, FORMAT_VERSION,
        GENERATED_TITLE, HEAD, MODE, MODEL_CHOICE, PREFIX, QUEUE_OPERATION, READ_FILES, identity,
    },
};

/// A longer line is skipped and reported rather than held in memory.
pub(crate) const LONGEST_LINE: u64 = 128 << 20;
/// Smaller files are not worth a second thread.
const SHARE: u64 = 4 << 20;
const THREADS: u64 = 2;
const BUFFER: usize = 256 << 10;
/// Kinds we do not know are counted by name, up to so many names.
const UNKNOWN_KINDS: usize = 8;

/// Kinds of Claude Code's that hold nothing we could take over; they are no news to anyone.
const FOREIGN_KINDS: &[&str] = &[
    "agent-color",
    "agent-name",
    "agent-setting",
    "attribution-snapshot",
    "content-replacement",
    "continued-in",
    "file-history-delta",
    "file-history-snapshot",
    "last-prompt",
    "marble-origami-commit",
    "marble-origami-snapshot",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    QUEUE_OPERATION,
    "speculation-accept",
    "summary",
    "tag",
    "task-summary",
    "worktree-state",
];

#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) bytes: u64,
    /// Everything with a uuid, in file order.
    pub(crate) entries: Vec<Entry>,
    /// What compact boundaries say about where they belong, by their uuids, in file order.
    pub(crate) boundaries: Vec<(Uuid, Links)>,
    pub(crate) extras: Extras,
    pub(crate) damage: Damage,
    lines: u64,
}

/// A record that others may name as their parent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) uuid: Uuid,
    /// Nil: none.
    pub(crate) parent: Uuid,
    offset: u64,
    length: u32,
    pub(crate) kind: Kind,
    pub(crate) sidechain: bool,
    pub(crate) boundary: bool,
}

impl Entry {
    pub(crate) fn new(uuid: Uuid, parent: Uuid, kind: Kind, place: Place) -> Self {
        let Place { offset, length } = place;
        Self { uuid, parent, offset, length, kind, sidechain: false, boundary: false }
    }

    pub(crate) fn place(&self) -> Place {
        Place { offset: self.offset, length: self.length }
    }
}

/// What ties a compact boundary to other records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Links {
    pub(crate) preserved: Option<PreservedSegment>,
    pub(crate) complete_with: Option<Uuid>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    User,
    Assistant,
    System,
    Attachment,
    /// No message, but part of the chain: Claude Code's progress records are.
    Link,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

/// Where the newest of each other record is.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    pub(crate) prefixes: Vec<Place>,
    pub(crate) cost: Option<Place>,
    pub(crate) custom_title: Option<Place>,
    pub(crate) generated_title: Option<Place>,
    pub(crate) summaries: Vec<Place>,
    pub(crate) read_files: Vec<Place>,
    pub(crate) mode: Option<Place>,
    pub(crate) model_choice: Option<Place>,
    /// Those that name a turn.
    pub(crate) queue_operations: Vec<Place>,
    pub(crate) heads: Vec<HeadPlace>,
    /// The oldest: a session begins once.
    pub(crate) forked_from: Option<Place>,
    pub(crate) branches: Option<Place>,
    pub(crate) checkpoints: Vec<Place>,
    pub(crate) context: Vec<Place>,
}

/// A head record and how many entries come before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadPlace {
    pub(crate) place: Place,
    pub(crate) after: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Damage {
    pub(crate) bad_lines: u64,
    pub(crate) first_bad_line: Option<u64>,
    pub(crate) nul_runs: u64,
    pub(crate) glued_lines: u64,
    /// Records found inside of bad lines.
    pub(crate) recovered: u64,
    pub(crate) oversized_lines: u64,
    pub(crate) without_uuid: u64,
    pub(crate) newer_records: u64,
    pub(crate) newest_format: u64,
    /// The file ends inside of a record.
    pub(crate) torn_tail: bool,
    pub(crate) unknown_kinds: BTreeMap<String, u64>,
}

impl Damage {
    /// Whether something was there that could not be read.
    pub(crate) fn lost_records(&self) -> bool {
        self.torn_tail || self.bad_lines + self.nul_runs + self.oversized_lines > 0
    }
}

pub(crate) fn scan(path: &Path) -> io::Result<Scan> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let bytes = metadata.len();
    if bytes < 2 * SHARE {
        return scan_range(path, 0, bytes, bytes);
    }
    let share = bytes.div_ceil(THREADS);
    let parts: Vec<io::Result<Scan>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|number| (number * share, ((number + 1) * share).min(bytes)))
            .map(|(start, end)| scope.spawn(move || scan_range(path, start, end, bytes)))
            .collect();
        let stopped = || Err(io::Error::other("the reader of the transcript panicked"));
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| stopped())).collect()
    });
    let mut whole = Scan { bytes, ..Scan::default() };
    for part in parts {
        whole.append(part?);
    }
    Ok(whole)
}

/// The lines that begin in `start..end` of the first `bytes` bytes of the file.
fn scan_range(path: &Path, start: u64, end: u64, bytes: u64) -> io::Result<Scan> {
    let mut scan = Scan { bytes, ..Scan::default() };
    let mut file = File::open(path)?;
    // A line begins here only if a line ends right before.
    let mut offset = start.saturating_sub(1);
    file.seek(SeekFrom::Start(offset))?;
    let mut reader = BufReader::with_capacity(BUFFER, file.take(bytes - offset));
    if start > 0 {
        offset += reader.skip_until(b'\n')? as u64;
    }
    let mut line = Vec::new();
    while offset < end {
        line.clear();
        let mut length = reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? as u64;
        if length == 0 {
            break;
        }
        let is_terminated = line.last() == Some(&b'\n');
        if !is_terminated && length == LONGEST_LINE {
            length += reader.skip_until(b'\n')? as u64;
            scan.lines += 1;
            scan.damage.oversized_lines += 1;
        } else {
            scan.line(offset, &line, is_terminated);
        }
        if line.capacity() > 4 * BUFFER {
            line = Vec::new();
        }
        offset += length;
    }
    Ok(scan)
}

impl Scan {
    fn line(&mut self, offset: u64, line: &[u8], is_terminated: bool) {
        self.lines += 1;
        let record = trim(line);
        if record.is_empty() {
            return;
        }
        let lead = (record.as_ptr() as usize - line.as_ptr() as usize) as u64;
        if let Some(envelope) = Envelope::parse(record) {
            self.record(offset + lead, record, &envelope);
            return;
        }
        let found = salvage::records(record, |position, bytes, envelope| {
            self.record(offset + lead + position as u64, bytes, envelope);
        });
        self.damage.nul_runs += found.nul_runs;
        if !found.rubbish {
            self.damage.glued_lines += u64::from(found.records > 1);
            return;
        }
        self.damage.recovered += found.records;
        if is_terminated {
            self.damage.bad_lines += 1;
            self.damage.first_bad_line.get_or_insert(self.lines);
        } else {
            self.damage.torn_tail = true;
        }
    }

    fn record(&mut self, offset: u64, bytes: &[u8], envelope: &Envelope<'_>) {
        let Ok(length) = u32::try_from(bytes.len()) else { return };
        let place = Place { offset, length };
        let format = envelope.format();
        if format > FORMAT_VERSION {
            self.damage.newer_records += 1;
            self.damage.newest_format = self.damage.newest_format.max(format);
        }
        let name = envelope.kind();
        let kind = match name {
            "user" => Kind::User,
            "assistant" => Kind::Assistant,
            "system" => Kind::System,
            "attachment" => Kind::Attachment,
            _ => {
                self.other_record(envelope, place);
                Kind::Link
            }
        };
        let uuid = match (envelope.uuid(), kind) {
            (Some(uuid), _) => uuid,
            (None, Kind::Link) => return,
            (None, _) => {
                self.damage.without_uuid += 1;
                identity(&[&offset.to_be_bytes(), bytes].concat())
            }
        };
        let boundary = kind == Kind::System && envelope.subtype() == COMPACT_BOUNDARY;
        if boundary && let Some(links) = Envelope::links(bytes) {
            self.boundaries.push((uuid, links));
        }
        let parent = match envelope.parent() {
            None if boundary => Envelope::logical_parent(bytes),
            parent => parent,
        };
        self.entries.push(Entry {
            sidechain: envelope.is_sidechain(),
            boundary,
            ..Entry::new(uuid, parent.unwrap_or(Uuid::nil()), kind, place)
        });
    }

    fn other_record(&mut self, envelope: &Envelope<'_>, place: Place) {
        match envelope.kind() {
            PREFIX => self.extras.prefixes.push(place),
            COST => self.extras.cost = Some(place),
            READ_FILES => self.extras.read_files.push(place),
            MODE => self.extras.mode = Some(place),
            MODEL_CHOICE => self.extras.model_choice = Some(place),
            HEAD => self.extras.heads.push(HeadPlace { place, after: self.entries.len() }),
            FORKED_FROM => self.extras.forked_from = self.extras.forked_from.or(Some(place)),
            BRANCHES => self.extras.branches = Some(place),
            CHECKPOINT => self.extras.checkpoints.push(place),
            CONTEXT => self.extras.context.push(place),
            QUEUE_OPERATION if envelope.names_turn() => self.extras.queue_operations.push(place),
            CUSTOM_TITLE => self.extras.custom_title = Some(place),
            GENERATED_TITLE => self.extras.generated_title = Some(place),
            "summary" => self.extras.summaries.push(place),
            kind if FOREIGN_KINDS.contains(&kind) => {}
            kind => count(&mut self.damage.unknown_kinds, kind, 1),
        }
    }

    /// Takes over what was found further down in the same file.
    fn append(&mut self, mut next: Scan) {
        let before = self.entries.len();
        self.entries.append(&mut next.entries);
        self.boundaries.append(&mut next.boundaries);
        let (extras, newer) = (&mut self.extras, next.extras);
        extras.prefixes.extend(newer.prefixes);
        extras.cost = newer.cost.or(extras.cost);
        extras.custom_title = newer.custom_title.or(extras.custom_title);
        extras.generated_title = newer.generated_title.or(extras.generated_title);
        extras.summaries.extend(newer.summaries);
        extras.read_files.extend(newer.read_files);
        extras.mode = newer.mode.or(extras.mode);
        extras.model_choice = newer.model_choice.or(extras.model_choice);
        extras.queue_operations.extend(newer.queue_operations);
        let heads = newer.heads.into_iter();
        extras.heads.extend(heads.map(|head| HeadPlace { after: head.after + before, ..head }));
        extras.forked_from = extras.forked_from.or(newer.forked_from);
        extras.branches = newer.branches.or(extras.branches);
        extras.checkpoints.extend(newer.checkpoints);
        extras.context.extend(newer.context);
        let (damage, more) = (&mut self.damage, next.damage);
        damage.first_bad_line = damage.first_bad_line.or(more.first_bad_line.map(|line| self.lines + line));
        damage.bad_lines += more.bad_lines;
        damage.nul_runs += more.nul_runs;
        damage.glued_lines += more.glued_lines;
        damage.recovered += more.recovered;
        damage.oversized_lines += more.oversized_lines;
        damage.without_uuid += more.without_uuid;
        damage.newer_records += more.newer_records;
        damage.newest_format = damage.newest_format.max(more.newest_format);
        damage.torn_tail |= more.torn_tail;
        for (kind, number) in more.unknown_kinds {
            count(&mut damage.unknown_kinds, &kind, number);
        }
        self.lines += next.lines;
    }
}

fn count(kinds: &mut BTreeMap<String, u64>, kind: &str, number: u64) {
    let name: String = kind.chars().take(40).filter(|c| !c.is_control()).collect();
    let is_new = !kinds.contains_key(&name);
    let name = if is_new && kinds.len() >= UNKNOWN_KINDS { "others".to_owned() } else { name };
    *kinds.entry(name).or_default() += number;
}

/// Calls with the place and the bytes of each record that a damaged line still holds.
pub(crate) fn records_in(line: &[u8], mut visit: impl FnMut(usize, &[u8])) {
    salvage::records(line, |position, bytes, _| visit(position, bytes));
}

/// Without line break, blanks and byte order mark.
pub(crate) fn trim(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii();
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii_start()
}

#[cfg(test)]
mod tests;
