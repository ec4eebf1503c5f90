//! Reading files from disk: whole up to a limit, or by lines at any size.
//!
//! Only regular files are opened, and never in a way that could block: a FIFO without a writer would hang the
//! reader, and opening a device can do things.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, stat, statat};
use rustix::io::Errno;

use crate::error::ReadError;
use crate::fingerprint::{Fingerprint, hash};
use crate::folder;
use crate::format::{self, Format};

mod lines;

pub use lines::Lines;
pub(crate) use lines::{Wanted, lines_of_file, lines_of_text};

/// The most bytes of a file that are read whole.
pub const MAX_WHOLE: u64 = 32 << 20;

/// A whole file or buffer as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileText {
    /// `\n` line ends, no byte order mark.
    pub text: String,
    pub fingerprint: Fingerprint,
    /// Whether it is the text of a document open in the editor, unsaved changes included.
    pub from_buffer: bool,
}

/// A file's text with its own line ends, and all that is needed to write it back.
pub(crate) struct RawFile {
    pub(crate) raw: String,
    pub(crate) format: Format,
    pub(crate) fingerprint: Fingerprint,
}

impl RawFile {
    pub(crate) fn view(&self) -> Cow<'_, str> {
        format::view(&self.raw)
    }
}

/// The text of a whole file.
pub(crate) fn whole(path: &Path) -> Result<RawFile, ReadError> {
    let file = open(path)?;
    let metadata = file.metadata()?;
    decode(bytes(file, &metadata)?, &metadata)
}

/// The decoded text of `bytes`, with the fingerprint of the file they came from.
pub(crate) fn decode(bytes: Vec<u8>, metadata: &Metadata) -> Result<RawFile, ReadError> {
    let (raw, format) = format::decode(bytes)?;
    let hash = hash(format::view(&raw).as_bytes());
    let fingerprint = Fingerprint { hash: Some(hash), ..fingerprint_of(metadata) };
    Ok(RawFile { raw, format, fingerprint })
}

/// The bytes of an opened file.
pub(crate) fn bytes(file: File, metadata: &Metadata) -> Result<Vec<u8>, ReadError> {
    if metadata.len() > MAX_WHOLE {
        return Err(ReadError::TooLarge { bytes: metadata.len() });
    }
    // The size is only a hint: files grow, and those of /proc say 0.
    let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
    file.take(MAX_WHOLE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_WHOLE {
        return Err(ReadError::TooLarge { bytes: bytes.len() as u64 });
    }
    Ok(bytes)
}

/// What is known of a file without reading it.
pub(crate) fn fingerprint(path: &Path) -> Result<Fingerprint, ReadError> {
    let metadata = std::fs::metadata(path)?;
    refuse_special(kind(&metadata))?;
    Ok(fingerprint_of(&metadata))
}

pub(crate) fn fingerprint_of(metadata: &Metadata) -> Fingerprint {
    let mtime_ns = metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec());
    Fingerprint { mtime_ns, size: metadata.len(), hash: None }
}

/// Opens a regular file for reading.
pub(crate) fn open(path: &Path) -> Result<File, ReadError> {
    open_regular(stat(path), |flags| rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty()))
}

/// Likewise by its name in a folder; a link is none.
pub(crate) fn open_in(folder: &OwnedFd, name: &OsStr) -> Result<File, ReadError> {
    let status = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    open_regular(status, |flags| folder::open(folder, name, flags))
}

fn open_regular(
    status: Result<Stat, Errno>,
    open: impl FnOnce(OFlags) -> Result<OwnedFd, Errno>,
) -> Result<File, ReadError> {
    let status = status.map_err(std::io::Error::from)?;
    refuse_special(FileType::from_raw_mode(status.st_mode))?;
    let opened = open(OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY);
    let file = File::from(opened.map_err(std::io::Error::from)?);
    // Asked again of what was really opened: another file may have taken its place.
    refuse_special(kind(&file.metadata()?))?;
    Ok(file)
}

pub(crate) fn refuse_special(kind: FileType) -> Result<(), ReadError> {
    Err(match kind {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => ReadError::Directory,
        FileType::Fifo => ReadError::Special("named pipe"),
        FileType::Socket => ReadError::Special("socket"),
        FileType::CharacterDevice => ReadError::Special("character device"),
        FileType::BlockDevice => ReadError::Special("block device"),
        FileType::Symlink => ReadError::Special("symbolic link"),
        FileType::Unknown => ReadError::Special("special file"),
    })
}

fn kind(metadata: &Metadata) -> FileType {
    let kind = metadata.file_type();
    if kind.is_file() {
        FileType::RegularFile
    } else if kind.is_dir() {
        FileType::Directory
    } else if kind.is_fifo() {
        FileType::Fifo
    } else if kind.is_socket() {
        FileType::Socket
    } else if kind.is_char_device() {
        FileType::CharacterDevice
    } else if kind.is_block_device() {
        FileType::BlockDevice
    } else {
        FileType::Unknown
    }
}

#[cfg(test)]
mod tests;
