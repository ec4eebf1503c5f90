//! Who may dream, and when the last dream was done: `<memory dir>/.consolidate-lock`.
//!
//! The file's time is that of the last consolidation; Claude Code, which may work beside us, reads and writes it so. While
//! somebody dreams the file says who, and what its time was before: whoever is killed, or silent for an hour, neither
//! keeps others from dreaming nor moves the time. A holder who wakes up from such a silence has lost the lock, whether
//! somebody else has taken it or not.
//!
//! Calls block: for some milliseconds, or for ten seconds where another process hangs at the wrong moment. When to dream
//! is the caller's.

mod body;
mod file;
mod process;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use thiserror::Error;
use uuid::Uuid;

use self::body::{Body, Running};
use self::file::{Folder, Found, Guarded};
use self::process::Process;

/// After this time without a heartbeat a holder is given up; and so far ahead a clock may be.
const SILENCE: SignedDuration = SignedDuration::from_mins(60);

#[derive(Clone)]
pub struct DreamLock {
    dir: PathBuf,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The last consolidation; while somebody dreams, that one's heartbeat. Never in the future.
    pub last: Option<Timestamp>,
    /// Who has to be given way to.
    pub holder: Option<Holder>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    /// `None` where the holder does not say, as Claude Code.
    pub since: Option<Timestamp>,
    pub heartbeat: Timestamp,
    /// The last consolidation before this dream, where the holder knows it.
    pub previous: Option<Timestamp>,
}

#[derive(Debug)]
pub enum Acquired {
    Held(Hold),
    Busy(Holder),
}

/// The right to dream. Dropped without an end, it leaves the time of the last consolidation as it was.
pub struct Hold {
    lock: DreamLock,
    token: String,
    previous: Option<Timestamp>,
    ended: bool,
}

/// Why a holder has to stop, and to write nothing more.
#[derive(Debug, Error)]
pub enum Lost {
    /// Somebody else may be dreaming: what is done so far stays, nothing is added.
    #[error("another process has taken the dream lock over")]
    Taken,
    /// As above; the next dream does it again.
    #[error("the dream was silent for so long, or the clock has jumped, that others may have taken over")]
    Silent,
    /// Nobody knows: as above.
    #[error("the dream lock cannot be looked at or changed: {0}")]
    Io(#[from] io::Error),
}

impl DreamLock {
    pub fn new(memory_dir: &Path) -> Self {
        Self::with_clock(memory_dir, Arc::new(Timestamp::now))
    }

    pub fn with_clock(memory_dir: &Path, clock: Arc<dyn Fn() -> Timestamp + Send + Sync>) -> Self {
        Self { dir: memory_dir.to_owned(), clock }
    }

    /// Takes nothing, waits for nobody, changes nothing.
    pub fn look(&self) -> io::Result<Seen> {
        match Folder::open(&self.dir) {
            Ok(folder) => self.judge(&folder),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Seen::default()),
            Err(error) => Err(error),
        }
    }

    pub fn acquire(&self) -> io::Result<Acquired> {
        self.try_acquire()
            .map_err(|error| io::Error::new(error.kind(), format!("{} cannot be taken: {error}", file::NAME)))
    }

    fn try_acquire(&self) -> io::Result<Acquired> {
        if let Some(holder) = self.look()?.holder {
            return Ok(Acquired::Busy(holder));
        }
        let guarded = Guarded::open(&self.dir)?;
        let seen = self.judge(&guarded.folder)?;
        if let Some(holder) = seen.holder {
            return Ok(Acquired::Busy(holder));
        }
        let now = (self.clock)();
        let token = Uuid::new_v4().to_string();
        let running = Running {
            process: Process::own(),
            acquired: Some(now),
            token: token.clone(),
            previous: seen.last,
        };
        let occupied = guarded.occupy(&running, now);
        drop(guarded);
        // Made before the error is told: dropping it takes back what was done up to there.
        let hold = Hold { lock: self.clone(), token, previous: seen.last, ended: false };
        occupied?;
        // Claude Code knows no guard: of two who come at the same moment the last to write has it.
        match hold.check() {
            Ok(()) => Ok(Acquired::Held(hold)),
            Err(Lost::Io(error)) => Err(error),
            Err(lost @ (Lost::Taken | Lost::Silent)) => match self.look()?.holder {
                Some(holder) => Ok(Acquired::Busy(holder)),
                None => Err(io::Error::new(io::ErrorKind::ResourceBusy, lost)),
            },
        }
    }

    fn judge(&self, folder: &Folder) -> io::Result<Seen> {
        let Some(found) = folder.read()? else { return Ok(Seen::default()) };
        let now = (self.clock)();
        let last = found.modified.and_then(|time| believable(time, now));
        let heartbeat = found.modified.filter(|time| is_recent(*time, now));
        let seen = match found.body {
            Body::Running(Running { process, acquired, previous, .. }) => {
                let previous = previous.and_then(|time| believable(time, now));
                match heartbeat.filter(|_| process.may_live()) {
                    Some(heartbeat) => {
                        let holder = Holder { pid: process.pid, since: acquired, heartbeat, previous };
                        Seen { last, holder: Some(holder) }
                    }
                    None => Seen { last: previous, holder: None },
                }
            }
            Body::Bare(pid) => {
                let runs = |time: &Timestamp| {
                    pid != std::process::id()
                        && Process::numbered(pid).may_live()
                        && !folder.is_settled(pid, *time)
                };
                let holder = heartbeat.filter(runs).map(|heartbeat| Holder {
                    pid,
                    since: None,
                    heartbeat,
                    previous: None,
                });
                Seen { last, holder }
            }
            Body::Other => Seen { last, holder: None },
        };
        Ok(seen)
    }
}

impl Hold {
    /// What nobody else has.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The last consolidation before this one.
    pub fn previous(&self) -> Option<Timestamp> {
        self.previous
    }

    /// Tells the others that somebody still dreams.
    pub fn beat(&self) -> Result<(), Lost> {
        Ok(self.find(&Folder::open(&self.lock.dir)?)?.touch((self.lock.clock)())?)
    }

    /// Whether this may still write; asked before each change.
    pub fn check(&self) -> Result<(), Lost> {
        self.find(&Folder::open(&self.lock.dir)?).map(drop)
    }

    /// The dream is done: from now on the last consolidation is now.
    pub fn complete(mut self) -> Result<(), Lost> {
        let guarded = Guarded::open(&self.lock.dir)?;
        self.find(&guarded.folder)?;
        guarded.settle((self.lock.clock)())?;
        self.ended = true;
        Ok(())
    }

    /// The dream has failed or was stopped.
    pub fn release(self) {
        drop(self);
    }

    fn find(&self, folder: &Folder) -> Result<Found, Lost> {
        let found = folder.read()?.filter(|found| found.has_token(&self.token)).ok_or(Lost::Taken)?;
        let now = (self.lock.clock)();
        if found.modified.is_some_and(|heartbeat| is_recent(heartbeat, now)) {
            Ok(found)
        } else {
            Err(Lost::Silent)
        }
    }

    /// Also after a long silence: as long as nobody else has it, it is ours to give back.
    fn give_back(&self) -> io::Result<()> {
        let guarded = Guarded::open(&self.lock.dir)?;
        if !guarded.folder.read()?.is_some_and(|found| found.has_token(&self.token)) {
            return Ok(());
        }
        match self.previous {
            Some(previous) => guarded.settle(previous),
            None => guarded.remove(),
        }
    }

    /// Needs no room on the disk and no guard: from now on nobody gives signs of life here.
    fn fall_silent(&self) -> io::Result<()> {
        let found = Folder::open(&self.lock.dir)?.read()?.filter(|found| found.has_token(&self.token));
        found.map_or(Ok(()), |found| found.touch(Timestamp::UNIX_EPOCH))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let Err(error) = self.give_back() else { return };
        tracing::warn!(%error, "the dream lock could not be given back");
        if let Err(error) = self.fall_silent() {
            tracing::warn!(%error, "the dream lock is given up when this process ends, or in an hour");
        }
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold").field("token", &self.token).field("previous", &self.previous).finish()
    }
}

impl fmt::Debug for DreamLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DreamLock").field("dir", &self.dir).finish()
    }
}

fn is_recent(heartbeat: Timestamp, now: Timestamp) -> bool {
    now.duration_since(heartbeat).abs() < SILENCE
}

/// A little ahead is another machine's clock, or a file system that rounds up; more is a clock that was wrong, then or
/// now, and such a time would keep dreams away for as long as it was wrong.
fn believable(time: Timestamp, now: Timestamp) -> Option<Timestamp> {
    (time.duration_since(now) < SILENCE).then_some(time.min(now))
}

#[cfg(test)]
mod tests;
