//! A memory directory kept in mind: what each file says of itself, and the ranker over all of them.
//!
//! [`Store::refresh`] compares with the disk and reads only what changed. Whoever watches the directory says when that is
//! needed; nobody else has to look twice.

mod usage;

use std::{
    collections::{BTreeMap, HashSet},
    io::Read,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError, atomic::AtomicBool, atomic::Ordering},
    time::SystemTime,
};

use jiff::Timestamp;

use crate::{
    ranker::{Document, Hit, Query, Ranker, Ranking},
    scan::{self, Found, Stamp},
    topic::{Kind, Topic},
};

pub use usage::{Counts, Use};

/// What of a file is ranked. Nobody reads on either.
const READ_BYTES: u64 = 64 * 1024;

/// From this many changed files on, all are read by several threads.
const MANY: usize = 64;

/// One memory, as its file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Relative to the directory.
    pub path: String,
    /// The file's name without its ending, if it gives none.
    pub name: String,
    /// Empty if it has none.
    pub description: String,
    pub kind: Option<Kind>,
    pub modified: Timestamp,
    pub bytes: u64,
    pub source: Option<String>,
    pub counts: Counts,
}

/// What the ranker said of a query, and what there is to choose from.
pub struct Ranked {
    pub hits: Vec<Hit>,
    /// How sure it is that anything here answers.
    pub confidence: f32,
    /// Those of the hits, and the newest of the others up to the limit.
    pub memories: Vec<Memory>,
}

pub struct Store {
    directory: PathBuf,
    state: Mutex<State>,
    /// Something may have changed on disk since the last look.
    is_stale: AtomicBool,
    /// Somebody says when something changes.
    is_watched: AtomicBool,
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, (Stamp, Memory)>,
    ranker: Option<Ranker>,
}

impl Store {
    /// Touches nothing.
    pub fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            state: Mutex::default(),
            is_stale: AtomicBool::new(true),
            is_watched: AtomicBool::new(false),
        }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Something has changed on disk, or may have.
    pub fn mark_stale(&self) {
        self.is_stale.store(true, Ordering::SeqCst);
    }

    /// From now on somebody calls [`Store::mark_stale`] whenever something changes, or no longer.
    pub fn set_watched(&self, watched: bool) {
        self.is_watched.store(watched, Ordering::SeqCst);
        self.mark_stale();
    }

    /// Every memory, in the order of the paths.
    pub fn memories(&self) -> Vec<Memory> {
        self.refresh();
        self.state().files.values().map(|(_, memory)| memory.clone()).collect()
    }

    /// The memory at a path, relative to the directory, as it was at the last look.
    pub fn memory(&self, path: &str) -> Option<Memory> {
        self.state().files.get(path).map(|(_, memory)| memory.clone())
    }

    /// The memories that have to do with a text, best first, among all there are.
    pub fn rank(&self, text: &str, limit: usize, now: Timestamp) -> Ranked {
        self.rank_until(text, limit, now, None)
    }

    /// Likewise, but as if files that were changed later were not there.
    pub fn rank_until(&self, text: &str, limit: usize, now: Timestamp, until: Option<Timestamp>) -> Ranked {
        self.refresh();
        let state = self.state();
        let query = Query {
            text,
            limit,
            now: now.as_second(),
            not_after: until.map(Timestamp::as_second),
            without: &|_| false,
        };
        let ranking = state.ranker.as_ref().map(|ranker| ranker.rank(&query)).unwrap_or_default();
        let Ranking { hits, confidence } = ranking;
        let memories = state.chosen(&hits, limit);
        Ranked { hits, confidence, memories }
    }

    /// A file whole, up to a megabyte; of what is no ordinary file, an error.
    pub fn read(&self, path: &str) -> std::io::Result<String> {
        let (file, _) = markdown::file::open_regular(&self.directory.join(path))?;
        let mut bytes = Vec::new();
        file.take(1 << 20).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Notes that memories were recalled or cited, and by which session. Counts are worth a little in ranking, so a lost
    /// one is no harm.
    pub fn count(&self, used: &[(String, Use)], session: Option<&str>, now: Timestamp) {
        if used.is_empty() {
            return;
        }
        if let Err(error) = usage::add(&self.directory, used, session, now) {
            tracing::debug!(%error, "uses of memories were not counted");
        }
        // The counts are part of what is ranked.
        let counts = usage::read(&self.directory);
        let mut state = self.state();
        let State { files, ranker } = &mut *state;
        for (path, _) in used {
            if let Some((stamp, memory)) = files.get_mut(path) {
                let document;
                (*memory, document) =
                    read_one(&self.directory, &Found { path: path.clone(), stamp: *stamp }, &counts);
                ranker.iter_mut().for_each(|ranker| ranker.update(document.clone()));
            }
        }
    }

    /// Brings what is kept in mind up to date with the disk, so that the next who asks need not wait for it.
    pub fn refresh(&self) {
        let is_watched = self.is_watched.load(Ordering::SeqCst);
        if !self.is_stale.swap(false, Ordering::SeqCst) && is_watched {
            return;
        }
        let found = match scan::scan(&self.directory) {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, directory = %self.directory.display(), "memories cannot be looked at");
                self.mark_stale();
                return;
            }
        };
        let mut state = self.state();
        let here: HashSet<&str> = found.iter().map(|found| found.path.as_str()).collect();
        let gone: Vec<String> =
            state.files.keys().filter(|path| !here.contains(path.as_str())).cloned().collect();
        for path in gone {
            state.files.remove(&path);
            if let Some(ranker) = &mut state.ranker {
                ranker.remove(&path);
            }
        }
        let changed: Vec<Found> = found
            .into_iter()
            .filter(|found| state.files.get(&found.path).is_none_or(|(stamp, _)| *stamp != found.stamp))
            .collect();
        if changed.is_empty() && state.ranker.is_some() {
            return;
        }
        let counts = usage::read(&self.directory);
        let read = read_all(&self.directory, &changed, &counts);
        let (memories, documents): (Vec<_>, Vec<_>) = read.into_iter().unzip();
        for (found, memory) in changed.into_iter().zip(memories) {
            state.files.insert(found.path, (found.stamp, memory));
        }
        match &mut state.ranker {
            Some(ranker) => documents.into_iter().for_each(|document| ranker.update(document)),
            None => state.ranker = Some(Ranker::build(documents)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The memories of the hits and the newest of the others, `limit` in all. There may be many, so none is copied that
    /// is not asked for.
    fn chosen(&self, hits: &[Hit], limit: usize) -> Vec<Memory> {
        let of_hits = hits.iter().filter_map(|hit| self.files.get(&hit.id)).map(|(_, memory)| memory);
        let mut chosen: Vec<Memory> = of_hits.cloned().collect();
        let room = limit.saturating_sub(chosen.len());
        if room == 0 {
            return chosen;
        }
        let found: HashSet<&str> = hits.iter().map(|hit| hit.id.as_str()).collect();
        let all = self.files.values().map(|(_, memory)| memory);
        let mut others: Vec<&Memory> = all.filter(|memory| !found.contains(memory.path.as_str())).collect();
        if others.len() > room {
            others.select_nth_unstable_by(room, |one, other| {
                other.modified.cmp(&one.modified).then_with(|| one.path.cmp(&other.path))
            });
            others.truncate(room);
        }
        chosen.extend(others.into_iter().cloned());
        chosen
    }
}

/// In the order of the files.
fn read_all(directory: &Path, files: &[Found], counts: &BTreeMap<String, Counts>) -> Vec<(Memory, Document)> {
    let read = |files: &[Found]| -> Vec<_> {
        files.iter().map(|found| read_one(directory, found, counts)).collect()
    };
    if files.len() < MANY {
        return read(files);
    }
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(4);
    let share = files.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let running: Vec<_> = files.chunks(share).map(|files| scope.spawn(move || read(files))).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

fn read_one(directory: &Path, found: &Found, counts: &BTreeMap<String, Counts>) -> (Memory, Document) {
    let mut bytes = Vec::new();
    let read = markdown::file::open_regular(&directory.join(&found.path)).and_then(|(file, metadata)| {
        // In one go: with a guess at the size it would be many.
        bytes.reserve(metadata.len().min(READ_BYTES) as usize + 1);
        file.take(READ_BYTES).read_to_end(&mut bytes)
    });
    if let Err(error) = read {
        tracing::debug!(%error, path = found.path, "a memory cannot be read");
    }
    let text = String::from_utf8_lossy(&bytes);
    let topic = Topic::parse(&text);
    let stem = found.path.rsplit('/').next().unwrap_or(&found.path);
    let stem = stem.get(..stem.len().saturating_sub(3)).unwrap_or(stem);
    let counts = counts.get(&found.path).cloned().unwrap_or_default();
    let memory = Memory {
        path: found.path.clone(),
        name: topic.name.clone().unwrap_or_else(|| stem.to_owned()),
        description: topic.description.clone().unwrap_or_default(),
        kind: topic.kind,
        modified: timestamp(found.stamp.modified),
        bytes: found.stamp.bytes,
        source: topic.source.clone(),
        counts: counts.clone(),
    };
    let document = Document {
        id: found.path.clone(),
        name: memory.name.clone(),
        description: memory.description.clone(),
        kind: topic.kind,
        body: topic.body.to_owned(),
        modified: memory.modified.as_second(),
        recalled: counts.recalled,
        cited: counts.cited,
    };
    (memory, document)
}

fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests;
