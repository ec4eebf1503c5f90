//! The file a session is written to: append-only, one record a line, one `write` a record.
//!
//! A record is safe from a crash of ours once [`Transcript::append`] has returned `Ok`, and from a power cut
//! after [`Transcript::sync`]. What the disk refuses waits in memory, within a bound. Reading is
//! [`load`](crate::load)'s business; it may begin while a transcript is open, for opening changes nothing.

mod lines;

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    listing::tail::Tail,
    record::{Record, Stamp, encode, transcript_path},
};
use lines::Lines;

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
    cost: Repeated,
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
            cost: Repeated::default(),
        };
        Self { path: transcript_path(directory, &stamp.session), stamp, state: Mutex::new(state) }
    }

    /// Goes on with a session. Changes nothing of what is there; behind a torn record it begins a fresh line.
    pub fn open(directory: &Path, stamp: Stamp) -> Result<Self, TranscriptError> {
        let transcript = Self::create(directory, stamp);
        // A session that exists must not be created by opening it.
        let file = options().open(&transcript.path)?;
        transcript.state().connect(file)?;
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
        state.lost += usize::from(matches!(written, Err(TranscriptError::Full | TranscriptError::Encode(_))));
        state.buffer = line;
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
        if state.lines.is_waiting() {
            self.connect(&mut state)?;
            state.lines.flush()?;
        }
        Ok(state.lines.writer().map(File::try_clone).transpose()?)
    }

    fn connect(&self, state: &mut State) -> Result<(), TranscriptError> {
        if state.lines.writer().is_some() {
            return Ok(());
        }
        let file = self.create_file()?;
        state.connect(file)
    }

    fn create_file(&self) -> io::Result<File> {
        if let Some(directory) = self.path.parent() {
            let mut builder = DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(directory)?;
        }
        options().create(true).open(&self.path)
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

impl State {
    fn connect(&mut self, mut file: File) -> Result<(), TranscriptError> {
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
            self.cost.restore(tail.cost);
        }
        self.lines.set_writer(file, last != [b'\n']);
        Ok(())
    }

    fn append(&mut self, record: &Record, line: &[u8]) -> Result<(), TranscriptError> {
        let written = self.lines.append(line);
        if matches!(written, Err(TranscriptError::Full)) {
            return written;
        }
        match record {
            Record::Title(_) => self.title.written(line),
            Record::Cost(_) => self.cost.written(line),
            Record::Message(_)
            | Record::Prefix(_)
            | Record::ReadFiles(_)
            | Record::Mode(_)
            | Record::Queued { .. }
            | Record::Dequeued { .. }
            | Record::Unknown(_) => {}
        }
        for repeated in [&mut self.title, &mut self.cost] {
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
