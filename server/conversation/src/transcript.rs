//! The file a session is written to: append-only, one record a line, one `write` a record.
//!
//! A record is safe from a crash of ours once [`Transcript::append`] has returned `Ok`, and from a power cut
//! after [`Transcript::sync`]. What the disk refuses waits in memory, within a bound. Reading is
//! [`load`](crate::load)'s business; it may begin while a transcript is open, for opening changes nothing.

pub(crate) mod atomic;
mod lines;
mod presence;

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

pub use presence::Incident;

use crate::{
    listing::tail::Tail,
    record::{Record, Stamp, encode, transcript_path},
    resume::count_branches,
};
use lines::Lines;
use presence::Identity;

/// A listing reads only the end of a file: title and cost are repeated there before they are out of its sight.
const REPEAT_AFTER: u64 = 32 << 10;

pub struct Transcript {
    path: PathBuf,
    stamp: Stamp,
    state: Mutex<State>,
}

#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// Open it read-only or start another session.
    #[error("another process has this session open")]
    Busy,
    /// Show it. The record is kept in memory and written with the next one that can be written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Show it. So much is waiting to be written that this record was not kept; see [`Transcript::lost`].
    #[error("the transcript could not be written for too long; the newest records are lost")]
    Full,
    /// Show it. The file was deleted or replaced under us and cannot be made again; the record is kept in memory, and
    /// the next one tries again.
    #[error("another program deleted or replaced the transcript, and it cannot be written again: {0}")]
    Gone(String),
    /// The record cannot be put into JSON; nothing was written, and it counts as lost.
    #[error("the record cannot be written: {0}")]
    Encode(#[from] serde_json::Error),
}

struct State {
    /// Without a file until the first append of a new session, and for as long as there can be none.
    lines: Lines<File>,
    lost: usize,
    buffer: Vec<u8>,
    title: Repeated,
    generated_title: Repeated,
    cost: Repeated,
    branches: Repeated,
    /// Of the file that is written to; `None` where it cannot be known.
    identity: Option<Identity>,
    /// It is at least so long, unless somebody cuts it.
    least_bytes: u64,
    /// A file that is no longer at its path and could not be put back yet.
    orphan: Option<File>,
    incident: Option<Incident>,
}

/// A record whose newest version has to stay near the end of the file.
#[derive(Default)]
struct Repeated {
    line: Vec<u8>,
    bytes_since: u64,
}

impl Transcript {
    /// A new session. There is nothing on disk until the first append.
    pub fn create(directory: &Path, stamp: Stamp) -> Self {
        let state = State {
            lines: Lines::without_writer(),
            lost: 0,
            buffer: Vec::new(),
            title: Repeated::default(),
            generated_title: Repeated::default(),
            cost: Repeated::default(),
            branches: Repeated::default(),
            identity: None,
            least_bytes: 0,
            orphan: None,
            incident: None,
        };
        Self { path: transcript_path(directory, &stamp.session), stamp, state: Mutex::new(state) }
    }

    /// Goes on with a session. Changes nothing of what is there; behind a torn record it begins a fresh line.
    pub fn open(directory: &Path, stamp: Stamp) -> Result<Self, TranscriptError> {
        let transcript = Self::create(directory, stamp);
        // A session that exists must not be created by opening it.
        let file = options().open(&transcript.path)?;
        transcript.state().connect(file, &transcript.path)?;
        Ok(transcript)
    }

    /// Writes one whole line with one `write`. After an error that is worth a new try the record waits in
    /// memory, also when there is no file yet; `Ok` means that it and all before it that are not
    /// [`lost`](Self::lost) are in the file.
    pub fn append(&self, record: &Record) -> Result<(), TranscriptError> {
        let mut state = self.state();
        let mut line = std::mem::take(&mut state.buffer);
        line.clear();
        let written = encode(record, &self.stamp, &mut line).map_err(TranscriptError::from).and_then(|()| {
            let connected = self.connect(&mut state);
            match state.append(record, &line) {
                // Why there is no file says more than that there is none.
                Err(TranscriptError::Io(error)) => connected.and(Err(error.into())),
                written => written,
            }
        });
        if written.is_ok() && matches!(record, Record::Head { .. }) {
            self.recount(&mut state);
        }
        state.lost += usize::from(matches!(written, Err(TranscriptError::Full | TranscriptError::Encode(_))));
        state.buffer = line;
        written
    }

    /// Writes these with one `write`: a kill leaves all of them, or the first few, which together are not whole.
    pub fn append_all(&self, records: &[Record]) -> Result<(), TranscriptError> {
        let mut lines = Vec::new();
        for record in records {
            encode(record, &self.stamp, &mut lines)?;
        }
        let mut state = self.state();
        let connected = self.connect(&mut state);
        let Some(last) = records.last() else { return Ok(()) };
        let written = match state.append(last, &lines) {
            Err(TranscriptError::Io(error)) => connected.and(Err(error.into())),
            written => written,
        };
        state.lost += if matches!(written, Err(TranscriptError::Full)) { records.len() } else { 0 };
        written
    }

    /// How many records will never be in the file: there was no room to keep them until it could be written.
    pub fn lost(&self) -> usize {
        self.state().lost
    }

    /// Returns when everything appended is on the disk itself. Holds up nobody who appends meanwhile.
    pub fn sync(&self) -> Result<(), TranscriptError> {
        match self.flushed_file()? {
            Some(file) => Ok(file.sync_data()?),
            None => Ok(()),
        }
    }

    /// What another program did to the file since this was last asked.
    pub fn take_incident(&self) -> Option<Incident> {
        self.state().incident.take()
    }

    /// Lets other processes have the session, whoever still holds on to this one. For the end of a server.
    pub fn release(&self) -> Result<(), TranscriptError> {
        match self.state().lines.writer() {
            Some(file) => Ok(file.unlock()?),
            None => Ok(()),
        }
    }

    /// The same with another stamp: where a session worked is in its file, which is locked before it is read.
    #[must_use]
    pub fn stamped(self, stamp: Stamp) -> Self {
        Self { stamp, ..self }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `None` if there is nothing to be in it.
    fn flushed_file(&self) -> Result<Option<File>, TranscriptError> {
        let mut state = self.state();
        if state.lines.is_waiting() || state.has_file() {
            self.connect(&mut state)?;
            state.lines.flush()?;
        }
        Ok(state.lines.writer().map(File::try_clone).transpose()?)
    }

    fn connect(&self, state: &mut State) -> Result<(), TranscriptError> {
        if state.has_file() {
            state.stay(&self.path)?;
            return state.return_to(&self.path);
        }
        if let Some(directory) = self.path.parent() {
            create_private_dir(directory)?;
        }
        let file = options().create(true).open(&self.path)?;
        state.connect(file, &self.path)
    }

    /// Tells listings how many branches there are after a rewind. They can do without, and the next resume counts
    /// again.
    fn recount(&self, state: &mut State) {
        let Ok(count) = count_branches(&self.path) else { return };
        let mut line = Vec::new();
        let record = Record::Branches(count);
        if encode(&record, &self.stamp, &mut line).is_ok() {
            state.append(&record, &line).unwrap_or_default();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Nobody else reads what is said here.
pub(crate) fn create_private_dir(directory: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

impl State {
    /// It is open, though perhaps no longer at its path.
    fn has_file(&self) -> bool {
        self.lines.writer().is_some() || self.orphan.is_some()
    }

    fn connect(&mut self, mut file: File, path: &Path) -> Result<(), TranscriptError> {
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => TranscriptError::Busy,
            TryLockError::Error(error) => TranscriptError::Io(error),
        })?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file").into());
        }
        let length = file.seek(SeekFrom::End(0))?;
        let mut last = [b'\n'];
        if length > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            let tail = Tail::read(&mut file, length)?;
            self.title.restore(tail.custom_title);
            self.generated_title.restore(tail.generated_title);
            self.cost.restore(tail.cost);
            self.branches.restore(tail.branches);
        }
        self.identity = Identity::of(&file, path);
        self.least_bytes = length;
        self.lines.set_writer(file, last != [b'\n']);
        Ok(())
    }

    fn append(&mut self, record: &Record, line: &[u8]) -> Result<(), TranscriptError> {
        let written = self.lines.append(line);
        if written.is_ok() {
            self.least_bytes = self.least_bytes.saturating_add(line.len() as u64);
        }
        if matches!(written, Err(TranscriptError::Full)) {
            return written;
        }
        match record {
            Record::Title(_) => self.title.written(line),
            Record::GeneratedTitle(_) => self.generated_title.written(line),
            Record::Cost(_) => self.cost.written(line),
            Record::Branches(_) => self.branches.written(line),
            Record::Message(_)
            | Record::Prefix(_)
            | Record::ReadFiles(_)
            | Record::Mode(_)
            | Record::Queued { .. }
            | Record::Dequeued { .. }
            | Record::Head { .. }
            | Record::ForkedFrom(_)
            | Record::Checkpoint(_)
            | Record::Context(_)
            | Record::ModelChoice(_)
            | Record::Unknown(_) => {}
        }
        for repeated in [&mut self.title, &mut self.generated_title, &mut self.cost, &mut self.branches] {
            repeated.bytes_since += line.len() as u64;
            // What waits is not made longer by what can be said again later.
            if written.is_ok() && !repeated.line.is_empty() && repeated.bytes_since > REPEAT_AFTER {
                self.lines.append(&repeated.line)?;
                repeated.bytes_since = repeated.line.len() as u64;
            }
        }
        written
    }
}

impl Repeated {
    fn written(&mut self, line: &[u8]) {
        self.line.clear();
        self.line.extend_from_slice(line);
        self.bytes_since = 0;
    }

    fn restore(&mut self, found: Option<(Vec<u8>, u64)>) {
        // What waits to be written is newer than what the file has.
        if let Some((line, bytes_since)) = found.filter(|_| self.line.is_empty()) {
            *self = Self { line, bytes_since };
        }
    }
}

#[cfg(test)]
mod tests;
