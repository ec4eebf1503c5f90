//! Whether the file that is written to is still the one at its path, and what to do when it is not.
//!
//! A deleted file lives on as long as it is open: everything is written again from it. One that was replaced gets
//! what it lacks. A file that was moved away goes on where it is: whoever moved it has it.

use std::{
    collections::HashSet,
    fmt,
    fs::{self, File, Metadata},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write},
    path::Path,
};

use super::{State, TranscriptError, options};

/// What another program did to the transcript, and what came of it. To be told to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incident {
    /// It was deleted, and is whole again.
    Restored,
    /// Another file is in its place, which has got what it lacked.
    Rejoined,
    /// It is shorter than it was. What was cut off is gone from the disk; who has it in memory may append it again.
    Shortened,
}

impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Restored => {
                "another program deleted the transcript; it was written again, and nothing is lost"
            }
            Self::Rejoined => {
                "another program replaced the transcript; what the new file lacked was added to it"
            }
            Self::Shortened => {
                "another program shortened the transcript; what was cut off is gone from the disk"
            }
        })
    }
}

/// Tells a file from whatever else may be at its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// `None` where files have none that lasts.
    pub(super) fn of(file: &File, path: &Path) -> Option<Self> {
        let own = Self::in_metadata(&file.metadata().ok()?)?;
        // Some network and FUSE file systems make up a new number each time they are asked.
        (Self::in_metadata(&fs::metadata(path).ok()?) == Some(own)).then_some(own)
    }

    #[cfg(unix)]
    fn in_metadata(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        Some(Self { device: metadata.dev(), inode: metadata.ino() })
    }

    #[cfg(not(unix))]
    fn in_metadata(_: &Metadata) -> Option<Self> {
        None
    }
}

enum Presence {
    There {
        bytes: u64,
    },
    /// Moved to where its mover wants it, or out of sight for now.
    Elsewhere,
    Deleted,
    Replaced,
}

impl State {
    /// Makes sure that what is written next is found again. One look at the path, if all is well.
    pub(super) fn stay(&mut self, path: &Path) -> Result<(), TranscriptError> {
        let Some(identity) = self.identity else { return Ok(()) };
        let Some(file) = self.lines.writer() else { return Ok(()) };
        match presence(file, identity, path) {
            Presence::There { bytes } => {
                if bytes < self.least_bytes {
                    self.incident = Some(Incident::Shortened);
                    self.lines.set_torn();
                }
                self.least_bytes = bytes;
                Ok(())
            }
            Presence::Elsewhere => Ok(()),
            Presence::Deleted | Presence::Replaced => {
                self.orphan = self.lines.take_writer();
                self.return_to(path)
            }
        }
    }

    /// Puts the records of a file that is no longer at its path back there.
    pub(super) fn return_to(&mut self, path: &Path) -> Result<(), TranscriptError> {
        let Some(mut orphan) = self.orphan.take() else { return Ok(()) };
        let returned = match options().open(path) {
            Ok(file) => self.rejoin(file, &mut orphan, path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.restore(&mut orphan, path),
            Err(error) => Err(error.into()),
        };
        returned.map_err(|error| {
            // Until the next try, records wait.
            self.lines.take_writer();
            self.orphan = Some(orphan);
            TranscriptError::Gone(error.to_string())
        })
    }

    fn restore(&mut self, orphan: &mut File, path: &Path) -> Result<(), TranscriptError> {
        let file = write_again(orphan, path)?;
        self.connect(file, path)?;
        self.incident = Some(Incident::Restored);
        Ok(())
    }

    fn rejoin(&mut self, file: File, orphan: &mut File, path: &Path) -> Result<(), TranscriptError> {
        let mut known = HashSet::new();
        self.connect(file.try_clone()?, path)?;
        (&file).seek(SeekFrom::Start(0))?;
        each_line(&mut &file, |line| {
            known.insert(fingerprint(line));
            Ok(())
        })?;
        orphan.seek(SeekFrom::Start(0))?;
        // Before anything that waits: it is older.
        let waiting = self.lines.take_waiting();
        let lacking = each_line(&mut &*orphan, |line| match known.insert(fingerprint(line)) {
            true => self.lines.append(line).map_err(|error| io::Error::other(error.to_string())),
            false => Ok(()),
        });
        self.lines.put_back(waiting);
        lacking?;
        self.incident = Some(Incident::Rejoined);
        Ok(())
    }
}

fn presence(file: &File, identity: Identity, path: &Path) -> Presence {
    match fs::metadata(path) {
        Ok(metadata) if Identity::in_metadata(&metadata) == Some(identity) => {
            Presence::There { bytes: metadata.len() }
        }
        Ok(_) => Presence::Replaced,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            match file.metadata() {
                Ok(metadata) if links(&metadata) == 0 => Presence::Deleted,
                _ => Presence::Elsewhere,
            }
        }
        Err(_) => Presence::Elsewhere,
    }
}

#[cfg(unix)]
fn links(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

#[cfg(not(unix))]
fn links(_: &Metadata) -> u64 {
    1
}

/// A new file at `path` with the content of `source`: all of it or none.
fn write_again(source: &mut File, path: &Path) -> io::Result<File> {
    source.seek(SeekFrom::Start(0))?;
    super::atomic::write_new(path, |file| {
        let mut writer = BufWriter::new(file);
        io::copy(source, &mut writer)?;
        writer.flush()
    })
}

/// Calls with every line, each with its line break; one that a torn file lacks is added.
fn each_line(file: &mut impl io::Read, mut visit: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(256 << 10, file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        visit(&line)?;
        line.clear();
    }
    Ok(())
}

fn fingerprint(line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.trim_ascii().hash(&mut hasher);
    hasher.finish()
}
