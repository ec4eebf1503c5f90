//! What can go wrong with a file, in words for a model and a user.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a file could not be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReadError {
    /// Nothing is there: it may be created.
    #[error("the file does not exist")]
    NotFound,
    /// A folder: list it instead.
    #[error("this is a directory, not a file")]
    Directory,
    /// A FIFO, device or socket; never opened. The word names the kind.
    #[error("this is a {0}, not a regular file; it is not read")]
    Special(&'static str),
    /// Not text; the words say what it looks like.
    #[error("this is not a text file: {0}")]
    Binary(String),
    /// Too large to be read whole: read a part by lines.
    #[error(
        "the file is too large to be read whole ({bytes} bytes, at most {} bytes); read a part of it with offset and limit",
        crate::read::MAX_WHOLE
    )]
    TooLarge { bytes: u64 },
    /// The operating system does not let us read it.
    #[error("permission denied")]
    Denied,
    /// Anything else, in the operating system's words.
    #[error("{0}")]
    Io(String),
}

/// Why a file was not written; in every case it is as it was before.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum WriteError {
    /// The text is not the one the change was made for: read it again and redo the change.
    #[error("not applied: the file changed since it was read; read it again")]
    Changed,
    /// It was to be created but is there already: read it first.
    #[error("the file already exists; read it before writing to it")]
    Exists,
    /// The editor, or the nature of the place, forbids it; the words say why.
    #[error("{0}")]
    Refused(String),
    /// The file is in Latin-1 and the new text has a character that Latin-1 lacks.
    #[error(
        "the file is encoded in Latin-1, which has no {character:?} (line {line}); use only Latin-1 characters or convert the file to UTF-8 first"
    )]
    NotLatin1 { character: char, line: usize },
    /// The present content could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Anything else, in the operating system's words.
    #[error("{0}")]
    Io(String),
}

/// Why a change to a document could not be taken over.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DocumentError {
    /// The client changes what it never opened: to be logged, nothing else can be done.
    #[error("the document is not open: {}", .0.display())]
    NotOpen(PathBuf),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => ReadError::NotFound,
            io::ErrorKind::PermissionDenied => ReadError::Denied,
            io::ErrorKind::IsADirectory => ReadError::Directory,
            _ => ReadError::Io(words(&error)),
        }
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AlreadyExists => WriteError::Exists,
            _ => WriteError::Io(words(&error)),
        }
    }
}

/// The operating system's words, plainer where users meet them often.
fn words(error: &io::Error) -> String {
    use rustix::io::Errno;
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::LOOP) => "the symbolic links of this path form a loop".to_owned(),
        Some(Errno::NOTDIR) => "a part of the path is a file, not a directory".to_owned(),
        Some(Errno::NAMETOOLONG) => "the path is too long".to_owned(),
        Some(Errno::NOSPC) => "no space left on the disk".to_owned(),
        Some(Errno::DQUOT) => "the disk quota is exhausted".to_owned(),
        Some(Errno::ROFS) => "the file system is read-only".to_owned(),
        Some(Errno::ACCESS | Errno::PERM) => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
