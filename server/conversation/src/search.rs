//! Full text over all sessions: who said what, when, in which session.
//!
//! An index of words is kept in the cache, one for each directory of transcripts, and brought up to date by
//! [`SearchIndex::refresh`], in the background. It only makes searches quick: every hit is read again from its
//! transcript, and what the index does not know yet is searched there. Without an index, with a damaged one or with
//! one that cannot be written, a search finds the same.

mod batch;
mod bytes;
mod directory;
mod manifest;
mod matching;
mod reading;
mod said;
mod segment;
mod words;

use std::{
    collections::HashSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::SystemTime,
};

use jiff::Timestamp;
use uuid::Uuid;

use crate::message::SessionId;
use directory::{DirectoryIndex, Look, Pending, Worth, folder_for, folder_of_all};
use manifest::Snapshot;
use matching::{Asked, snippet};
use reading::{each_message, message_at};
use said::Said;
use segment::{Segment, Set};

const DEFAULT_LIMIT: usize = 20;
const LARGEST_LIMIT: usize = 1_000;
/// Until so many bytes are new, they are searched where they are.
const WORTH_A_SEGMENT: u64 = 512 << 10;
/// Fewer bytes are not worth a second thread.
const SHARE: u64 = 4 << 20;

/// Who said it. What a tool returned is not the user's word, though a request carries it as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Speaker {
    User = 0,
    Assistant = 1,
    Tool = 2,
}

impl Speaker {
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        [Self::User, Self::Assistant, Self::Tool].into_iter().find(|speaker| speaker.name() == name)
    }
}

/// All conditions hold for every hit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Words, all of which must occur; the last one may be a beginning. `"Words in quotes"` stand together. Blank:
    /// everything that fits the other conditions.
    pub text: String,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Not after.
    pub until: Option<Timestamp>,
    pub role: Option<Speaker>,
    pub session: Option<SessionId>,
    pub message: Option<Uuid>,
    /// What answers this message.
    pub parent: Option<Uuid>,
    /// 0: a default.
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub session: SessionId,
    pub message: Uuid,
    pub role: Speaker,
    pub timestamp: Timestamp,
    /// At most 200 characters around the match, on one line.
    pub snippet: String,
}

pub struct SearchIndex {
    directories: Vec<DirectoryIndex>,
}

impl SearchIndex {
    /// Does nothing yet. `cache`: where the index may be kept; `directories`: where the transcripts are.
    pub fn open(cache: &Path, directories: &[PathBuf]) -> Self {
        Self::with_threshold(cache, directories, WORTH_A_SEGMENT)
    }

    fn with_threshold(cache: &Path, directories: &[PathBuf], threshold: u64) -> Self {
        let mut known = HashSet::new();
        let directories = directories.iter().filter(|directory| known.insert((*directory).clone()));
        let directories = directories
            .map(|directory| DirectoryIndex::new(directory.clone(), folder_for(cache, directory), threshold));
        Self { directories: directories.collect() }
    }

    /// Brings the index up to date: at once where little changed, some seconds for the first time. Not for a thread
    /// that has something else to do. `stop` is asked now and then; what was done until then stays done.
    pub fn refresh(&self, stop: &dyn Fn() -> bool) -> io::Result<()> {
        let mut refreshed = Ok(());
        for directory in self.directories.iter().take_while(|_| !stop()) {
            // One directory that cannot be indexed does not keep the others from it.
            refreshed = refreshed.and(refresh(directory, Worth::Much, stop));
        }
        refreshed
    }

    /// Brings those up to date that were written before `before` and whose transcripts have changed since, however
    /// little. Returns how many there were.
    pub fn refresh_stale(&self, before: SystemTime) -> io::Result<usize> {
        let (mut stale, mut refreshed) = (0, Ok(()));
        for directory in self.directories.iter().filter(|directory| directory.is_stale(before)) {
            stale += 1;
            refreshed = refreshed.and(refresh(directory, Worth::Anything, &|| false));
        }
        refreshed.map(|()| stale)
    }

    /// Removes what is kept for other directories than these and was not written since `before`: they are gone.
    /// Returns how many there were.
    pub fn remove_unused(cache: &Path, directories: &[PathBuf], before: SystemTime) -> usize {
        let used: HashSet<PathBuf> =
            directories.iter().map(|directory| folder_for(cache, directory)).collect();
        let is_ours = |folder: &Path| {
            folder
                .file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| Uuid::try_parse(name).is_ok())
        };
        let is_old = |folder: &Path| {
            let written = fs::metadata(folder).and_then(|metadata| metadata.modified());
            written.is_ok_and(|written| written < before)
        };
        let folders = fs::read_dir(folder_of_all(cache)).into_iter().flatten().flatten();
        let unused = folders
            .map(|entry| entry.path())
            .filter(|folder| !used.contains(folder) && is_ours(folder) && is_old(folder));
        unused.filter(|folder| fs::remove_dir_all(folder).is_ok()).count()
    }

    /// Newest first.
    pub fn search(&self, query: &Query) -> Vec<Hit> {
        let search = Search::new(query);
        if search.asked == Asked::Nothing {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut streams = Vec::new();
        for directory in &self.directories {
            let snapshot = directory.snapshot();
            let look = directory.look(&snapshot);
            match search.streams(directory, &snapshot, look) {
                Ok((indexed, pending)) => {
                    streams.extend(indexed);
                    found.extend(search.scan(&pending));
                }
                Err(_) => {
                    directory.give_up();
                    found.extend(search.scan(&directory.look(&Snapshot::default()).pending));
                }
            }
        }
        search.newest(found, streams)
    }
}

fn refresh(directory: &DirectoryIndex, worth: Worth, stop: &dyn Fn() -> bool) -> io::Result<()> {
    directory.refresh(worth, stop).or_else(|error| match error.kind() {
        // Silently again, from the beginning.
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            directory.give_up();
            directory.refresh(worth, stop)
        }
        _ => Err(error),
    })
}

struct Search<'a> {
    query: &'a Query,
    asked: Asked,
    limit: usize,
}

/// A message that was read and fits.
struct Found {
    when: i64,
    hit: Hit,
}

/// The messages of a segment that may fit, newest first.
struct Stream<'a> {
    directory: &'a DirectoryIndex,
    segment: Arc<Segment>,
    look: Arc<Look>,
    candidates: Set,
    next: Option<(i64, usize)>,
}

impl<'a> Search<'a> {
    fn new(query: &'a Query) -> Self {
        let limit = if query.limit == 0 { DEFAULT_LIMIT } else { query.limit.min(LARGEST_LIMIT) };
        Self { query, asked: Asked::parse(&query.text), limit }
    }

    fn streams<'d>(
        &self,
        directory: &'d DirectoryIndex,
        snapshot: &Snapshot,
        mut look: Look,
    ) -> io::Result<(Vec<Stream<'d>>, Vec<Pending>)> {
        let mut pending = std::mem::take(&mut look.pending);
        if let Some(session) = &self.query.session {
            pending.retain(|pending| pending.session == *session);
            look.live.retain(|_, live| live == session);
        }
        let look = Arc::new(look);
        let mut streams = Vec::new();
        for (_, segment) in &snapshot.segments {
            let mut candidates = Set::all(segment.keys().len());
            if let Asked::Clauses(clauses) = &self.asked {
                for clause in clauses {
                    let last = clause.words.len().saturating_sub(1);
                    for (number, word) in clause.words.iter().enumerate() {
                        candidates.intersect(&match clause.is_prefix && number == last {
                            true => segment.with_prefix(word)?,
                            false => segment.with_word(word)?,
                        });
                    }
                }
            }
            segment.narrow(&mut candidates, self.query.message, self.query.parent)?;
            let mut stream = Stream {
                directory,
                segment: Arc::clone(segment),
                look: Arc::clone(&look),
                candidates,
                next: None,
            };
            stream.advance(self);
            streams.push(stream);
        }
        Ok((streams, pending))
    }

    /// Takes from what was found and from the index whatever is newer, until there is enough.
    fn newest<'d>(&self, mut found: Vec<Found>, mut streams: Vec<Stream<'d>>) -> Vec<Hit> {
        found.sort_by_key(|found| found.when);
        let mut hits: Vec<Hit> = Vec::new();
        // A fork has its source's messages.
        let mut shown = HashSet::new();
        let mut files = Files::default();
        while hits.len() < self.limit {
            let newest = streams.iter_mut().filter(|stream| stream.next.is_some()).max_by_key(|s| s.next);
            let scanned = found.last().map(|found| found.when);
            let hit = match newest {
                Some(stream) if scanned.is_none_or(|when| stream.next.is_some_and(|next| next.0 > when)) => {
                    let hit = self.read(stream, &mut files);
                    stream.advance(self);
                    hit
                }
                _ => match found.pop() {
                    Some(found) => Some(found.hit),
                    None => break,
                },
            };
            if let Some(hit) = hit
                && shown.insert(hit.message)
            {
                hits.push(hit);
            }
        }
        hits
    }

    /// The index only says where to look.
    fn read<'d>(&self, stream: &Stream<'d>, files: &mut Files<'d>) -> Option<Hit> {
        let (_, number) = stream.next?;
        let document = stream.segment.document(number).ok()?;
        let session = stream.look.live.get(&document.generation)?;
        let file = files.open(stream.directory, session).ok()?;
        let said = message_at(file, document.offset, document.length).ok()??;
        self.hit(session, &said).filter(|hit| hit.message == document.uuid)
    }

    fn hit(&self, session: &SessionId, said: &Said) -> Option<Hit> {
        let query = self.query;
        let fits = query.since.is_none_or(|since| said.timestamp >= since)
            && query.until.is_none_or(|until| said.timestamp <= until)
            && query.role.is_none_or(|role| said.speaker == role)
            && query.message.is_none_or(|message| said.uuid == message)
            && query.parent.is_none_or(|parent| said.parent == Some(parent));
        if !fits {
            return None;
        }
        let place = self.asked.find(&said.text)?;
        Some(Hit {
            session: session.clone(),
            message: said.uuid,
            role: said.speaker,
            timestamp: said.timestamp,
            snippet: snippet(&said.text, place),
        })
    }

    /// Reads what the index does not know.
    fn scan(&self, pending: &[Pending]) -> Vec<Found> {
        let bytes: u64 = pending.iter().map(|pending| pending.bytes.saturating_sub(pending.from)).sum();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut found = Vec::new();
            while let Some(pending) = pending.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.scan_one(pending, &mut found);
            }
            found
        };
        if bytes < SHARE {
            return work();
        }
        std::thread::scope(|scope| {
            let other = scope.spawn(work);
            let mut found = work();
            found.extend(other.join().unwrap_or_default());
            found
        })
    }

    fn scan_one(&self, pending: &Pending, found: &mut Vec<Found>) {
        let read = each_message(&pending.path, pending.from, |said, _, _| {
            if let Some(hit) = self.hit(&pending.session, &said) {
                found.push(Found { when: said.timestamp.as_millisecond(), hit });
            }
            // Only the newest will be shown.
            if found.len() >= 4 * self.limit.max(64) {
                found.sort_by_key(|found| std::cmp::Reverse(found.when));
                found.truncate(2 * self.limit);
            }
            Ok(true)
        });
        // A file that cannot be read has nothing to say; listings leave it out too.
        read.map(|_| ()).unwrap_or_default();
    }
}

/// Transcripts that were just read: hits often come from a few sessions in turn.
#[derive(Default)]
struct Files<'a>(Vec<(&'a Path, SessionId, File)>);

impl<'a> Files<'a> {
    fn open(&mut self, directory: &'a DirectoryIndex, session: &SessionId) -> io::Result<&mut File> {
        const MOST_FILES: usize = 16;
        let folder = directory.directory.as_path();
        let known = self.0.iter().position(|(in_folder, known, _)| known == session && *in_folder == folder);
        let at = match known {
            Some(at) => at,
            None => {
                if self.0.len() == MOST_FILES {
                    self.0.remove(0);
                }
                self.0.push((folder, session.clone(), File::open(directory.path(session))?));
                self.0.len() - 1
            }
        };
        self.0.get_mut(at).map(|(_, _, file)| file).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Stream<'_> {
    fn advance(&mut self, search: &Search<'_>) {
        let query = search.query;
        let (since, until) =
            (query.since.map(|t| t.as_millisecond()), query.until.map(|t| t.as_millisecond()));
        while let Some(number) = self.candidates.pop() {
            let Some(key) = self.segment.keys().get(number) else { continue };
            if since.is_some_and(|since| key.when < since) {
                break;
            }
            if until.is_none_or(|until| key.when <= until)
                && query.role.is_none_or(|role| role == key.speaker)
                && self.look.live.contains_key(&self.segment.generation(key))
            {
                self.next = Some((key.when, number));
                return;
            }
        }
        self.next = None;
    }
}

#[cfg(test)]
mod tests;
