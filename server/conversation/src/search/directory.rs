//! The index of one directory of transcripts, kept in a folder of its own in the cache.
//!
//! Searches take a snapshot and never wait; one process at a time writes. What is not in the index yet, because it
//! is new or because the index is damaged, is searched in the transcripts themselves.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

use super::{
    batch::Batch,
    manifest::{Known, MANIFEST, Snapshot, modified, segment_name, sweep, tail},
    reading::each_message,
    segment::Segment,
};
use crate::{listing::transcripts, message::SessionId, transcript::create_private_dir};

const LOADING_ATTEMPTS: usize = 3;
const MOST_SEGMENTS: usize = 8;
/// While many are being made: what is merged often is copied often.
const MOST_WHILE_BUILDING: usize = 24;

pub(super) struct DirectoryIndex {
    pub(super) directory: PathBuf,
    folder: PathBuf,
    /// Fewer bytes than that are searched where they are; more are worth a segment.
    threshold: u64,
    state: Mutex<State>,
    is_damaged: AtomicBool,
}

#[derive(Default)]
struct State {
    snapshot: Arc<Snapshot>,
    /// Of the manifest that the snapshot is from.
    stamp: Option<(u64, SystemTime)>,
}

/// The transcripts as they are now, against what a snapshot knows of them.
#[derive(Default)]
pub(super) struct Look {
    /// Those whose messages in the segments count, by generation.
    pub(super) live: HashMap<u64, SessionId>,
    pub(super) pending: Vec<Pending>,
    /// Sessions that are known and no longer there.
    gone: Vec<SessionId>,
}

/// What a refresh takes the trouble for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    /// Less is searched where it is.
    Much,
    Anything,
}

/// What is not in the segments.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) session: SessionId,
    pub(super) path: PathBuf,
    pub(super) from: u64,
    pub(super) bytes: u64,
    modified: i64,
    /// `None`: it has to be read from its beginning.
    known: Option<Known>,
}

impl DirectoryIndex {
    pub(super) fn new(directory: PathBuf, folder: PathBuf, threshold: u64) -> Self {
        Self { directory, folder, threshold, state: Mutex::default(), is_damaged: AtomicBool::new(false) }
    }

    pub(super) fn path(&self, session: &SessionId) -> PathBuf {
        crate::record::transcript_path(&self.directory, session)
    }

    /// The newest, whoever wrote it.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        let mut state = self.state();
        let mut stamp = self.stamp();
        for _ in 0..LOADING_ATTEMPTS {
            if stamp == state.stamp {
                break;
            }
            // One that cannot be read is as good as none, unless it was replaced meanwhile.
            let loaded = Snapshot::load(&self.folder);
            let now = self.stamp();
            if loaded.is_ok() || now == stamp {
                *state = State { snapshot: Arc::new(loaded.unwrap_or_default()), stamp };
            }
            stamp = now;
        }
        Arc::clone(&state.snapshot)
    }

    pub(super) fn look(&self, snapshot: &Snapshot) -> Look {
        let mut look = Look::default();
        let mut missing = snapshot.sessions.len();
        for (session, path) in transcripts(&self.directory) {
            let Ok(metadata) = fs::metadata(&path) else { continue };
            let known = snapshot.sessions.get(&session).copied();
            missing -= usize::from(known.is_some());
            if let Some(known) = known
                && known.is_unchanged(&metadata)
            {
                look.live.insert(known.generation, session);
                continue;
            }
            let known = known.filter(|known| known.has_grown(&path, &metadata));
            if let Some(known) = known {
                look.live.insert(known.generation, session.clone());
            }
            look.pending.push(Pending {
                from: known.map_or(0, |known| known.covered),
                bytes: metadata.len(),
                modified: modified(&metadata),
                session,
                path,
                known,
            });
        }
        if missing > 0 {
            let is_gone = |session: &&SessionId| !self.path(session).exists();
            look.gone = snapshot.sessions.keys().filter(is_gone).cloned().collect();
        }
        look
    }

    /// Whether it was written before that and does not know all that was said since. Where there is none, nothing is
    /// stale: the transcripts themselves are searched.
    pub(super) fn is_stale(&self, before: SystemTime) -> bool {
        let is_old = self.stamp().is_some_and(|(_, written)| written < before);
        is_old && !self.look(&self.snapshot()).pending.is_empty()
    }

    /// The next refresh starts again from nothing.
    pub(super) fn give_up(&self) {
        self.is_damaged.store(true, Ordering::Relaxed);
    }

    /// Brings the index up to date, as far as that is worth it. `stop` is asked now and then; what was done until
    /// then stays done.
    pub(super) fn refresh(&self, worth: Worth, stop: &dyn Fn() -> bool) -> io::Result<()> {
        let mut snapshot = self.snapshot();
        let is_damaged = self.is_damaged.load(Ordering::Relaxed);
        let has_dead = |look: &Look| snapshot.sessions.len() / 4 < look.gone.len();
        let look = self.look(&snapshot);
        let pending: u64 =
            look.pending.iter().map(|pending| pending.bytes.saturating_sub(pending.from)).sum();
        let is_enough = match worth {
            Worth::Much => pending >= self.threshold,
            Worth::Anything => !look.pending.is_empty(),
        };
        if !is_damaged && !is_enough && !has_dead(&look) {
            return Ok(());
        }
        create_private_dir(&self.folder)?;
        let lock = File::options().create(true).append(true).open(self.folder.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            // Another process is at it.
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // It may have been done while the lock was asked for.
        snapshot = self.snapshot();
        if is_damaged {
            snapshot = Arc::default();
            self.is_damaged.store(false, Ordering::Relaxed);
        }
        let mut building = Building { index: self, snapshot: snapshot.copy(), batch: Batch::default() };
        if building.snapshot.next == 0 {
            // Files of an index that is given up may still be read by others.
            building.snapshot.next = jiff::Timestamp::now().as_microsecond().unsigned_abs();
        }
        let look = self.look(&snapshot);
        for session in &look.gone {
            building.snapshot.sessions.remove(session);
        }
        for pending in &look.pending {
            if stop() {
                break;
            }
            building.add(pending)?;
        }
        building.flush()?;
        building.merge(stop)?;
        building.publish()?;
        sweep(&self.folder, &self.snapshot());
        Ok(())
    }

    fn stamp(&self) -> Option<(u64, SystemTime)> {
        let metadata = fs::metadata(self.folder.join(MANIFEST)).ok()?;
        Some((metadata.len(), metadata.modified().ok()?))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Building<'a> {
    index: &'a DirectoryIndex,
    snapshot: Snapshot,
    batch: Batch,
}

impl Building<'_> {
    fn add(&mut self, pending: &Pending) -> io::Result<()> {
        let generation = match pending.known {
            Some(known) => known.generation,
            None => self.snapshot.number(),
        };
        let mut from = pending.from;
        loop {
            let batch = &mut self.batch;
            let read = each_message(&pending.path, from, |said, offset, length| {
                batch.add(&said, generation, offset, length);
                Ok(!batch.is_full())
            });
            let covered = match read {
                Ok(covered) => covered,
                // It may be gone again, or nobody may read it.
                Err(_) => return Ok(()),
            };
            let is_done = covered <= from || !self.batch.is_full();
            from = covered;
            self.snapshot.sessions.insert(
                pending.session.clone(),
                Known {
                    generation,
                    covered,
                    tail: tail(&pending.path, covered).unwrap_or_default(),
                    // Until it is done, it counts as changed.
                    bytes: if is_done { pending.bytes } else { u64::MAX },
                    modified: pending.modified,
                },
            );
            if self.batch.is_full() {
                self.flush()?;
                self.publish()?;
            }
            if is_done {
                return Ok(());
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let batch = std::mem::take(&mut self.batch);
        if batch.is_empty() {
            return Ok(());
        }
        let number = self.snapshot.number();
        let path = self.index.folder.join(segment_name(number));
        batch.write(&path)?;
        self.snapshot.segments.push((number, Arc::new(Segment::open(&path)?)));
        self.merge_down_to(MOST_WHILE_BUILDING)
    }

    /// Makes one of the smallest, and of those that are mostly dead.
    fn merge(&mut self, stop: &dyn Fn() -> bool) -> io::Result<()> {
        self.merge_down_to(MOST_SEGMENTS)?;
        let is_live = self.is_live();
        let mostly_dead = |segment: &Segment| {
            let dead = segment.keys().iter().filter(|key| !is_live(segment.generation(key))).count();
            dead * 2 > segment.keys().len()
        };
        let (dying, kept) = std::mem::take(&mut self.snapshot.segments)
            .into_iter()
            .partition(|(_, segment)| !stop() && mostly_dead(segment));
        self.snapshot.segments = kept;
        self.merge_into_one(dying)
    }

    fn merge_down_to(&mut self, most: usize) -> io::Result<()> {
        if self.snapshot.segments.len() <= most {
            return Ok(());
        }
        // So many that the next merge is not soon.
        let excess = self.snapshot.segments.len() - most / 2;
        self.snapshot.segments.sort_by_key(|(_, segment)| segment.keys().len());
        let smallest = self.snapshot.segments.drain(..=excess).collect();
        self.merge_into_one(smallest)
    }

    fn merge_into_one(&mut self, merged: Vec<(u64, Arc<Segment>)>) -> io::Result<()> {
        if merged.is_empty() {
            return Ok(());
        }
        let segments: Vec<&Segment> = merged.iter().map(|(_, segment)| &**segment).collect();
        let number = self.snapshot.number();
        let path = self.index.folder.join(segment_name(number));
        Segment::merge(&segments, &path, self.is_live())?;
        let segment = Segment::open(&path)?;
        if !segment.keys().is_empty() {
            self.snapshot.segments.push((number, Arc::new(segment)));
        }
        Ok(())
    }

    fn is_live(&self) -> impl Fn(u64) -> bool + use<> {
        let live: HashSet<u64> = self.snapshot.sessions.values().map(|known| known.generation).collect();
        move |generation| live.contains(&generation)
    }

    fn publish(&mut self) -> io::Result<()> {
        self.snapshot.store(&self.index.folder)?;
        let snapshot = Arc::new(self.snapshot.copy());
        *self.index.state() = State { snapshot, stamp: self.index.stamp() };
        Ok(())
    }
}

/// A folder of the cache for a directory of transcripts.
pub(super) fn folder_for(cache: &Path, directory: &Path) -> PathBuf {
    let name = crate::record::identity(directory.as_os_str().as_encoded_bytes());
    folder_of_all(cache).join(name.simple().to_string())
}

pub(super) fn folder_of_all(cache: &Path) -> PathBuf {
    cache.join("search")
}
