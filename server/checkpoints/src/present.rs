//! What is at a path now.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use crate::blob::Blob;
use crate::entry::State;
use crate::folder::{Place, is_absence};

/// Larger files are not read: far above any text that is edited, and read into memory in one piece.
pub(crate) const LARGEST: u64 = 64 << 20;
/// How often a file that changes while it is read is read again.
const TRIES: usize = 3;

/// The looks of something, by which a change is noticed without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub kind: FileType,
    pub mode: u32,
    pub len: u64,
    /// Nanoseconds since 1970, as is the next.
    pub modified: i64,
    /// Cannot be set by anybody, so that a change that hides behind an old `modified` is seen all the same.
    pub changed: i64,
    pub device: u64,
    pub inode: u64,
}

impl Stamp {
    #[expect(clippy::unnecessary_cast, reason = "the types of the fields differ between platforms")]
    pub fn of(stat: &Stat) -> Self {
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        let raw = stat.st_mode as u32;
        Self {
            kind: FileType::from_raw_mode(stat.st_mode),
            mode: raw & 0o7777,
            len: stat.st_size as u64,
            modified: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
        }
    }

    /// The same but for the time of the last change, which also moves when another name of the file comes or goes.
    pub fn resembles(&self, other: &Self) -> bool {
        Self { changed: other.changed, ..*self } == *other
    }

    pub fn unread(&self) -> State {
        State::Unread { mode: self.mode, len: self.len, modified: self.modified }
    }
}

/// The looks of what `name` is; `None` if there is nothing.
pub(crate) fn stamp_at(folder: impl AsFd, name: &OsStr) -> io::Result<Option<Stamp>> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Stamp::of(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn link_target(folder: impl AsFd, name: &OsStr) -> io::Result<PathBuf> {
    let target = readlinkat(folder, name, Vec::new())?;
    Ok(std::ffi::OsString::from_vec(target.into_bytes()).into())
}

/// Reads a regular file of at most `largest` bytes. `None` for one that is larger, that is no regular file (any
/// more), or that does not hold still. The stamp is that of these bytes.
pub(crate) fn read_at(
    folder: impl AsFd,
    name: &OsStr,
    largest: u64,
    bytes: &mut Vec<u8>,
) -> io::Result<Option<Stamp>> {
    // Not to wait for the other end of a pipe that took the file's place.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut file = match openat(folder, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::LOOP) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut before = Stamp::of(&fstat(&file)?);
    for _ in 0..TRIES {
        if before.kind != FileType::RegularFile || before.len > largest {
            return Ok(None);
        }
        bytes.clear();
        bytes.reserve(usize::try_from(before.len).unwrap_or(0).saturating_add(1));
        (&mut file).take(largest + 1).read_to_end(bytes)?;
        let after = Stamp::of(&fstat(&file)?);
        if after == before && bytes.len() as u64 == after.len {
            return Ok(Some(after));
        }
        before = after;
        io::Seek::rewind(&mut file)?;
    }
    Ok(None)
}

/// What is at `path`; `keep` is given the content of a file.
pub(crate) fn state(
    path: &Path,
    mut keep: impl FnMut(&[u8]) -> io::Result<Blob>,
) -> io::Result<Option<State>> {
    let place = match Place::of(path) {
        Ok(place) => place,
        // A link in place of a folder above: what is behind it is not what this path was.
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some(stamp) = stamp_at(&place.folder, &place.name)? else { return Ok(None) };
    Ok(Some(match stamp.kind {
        FileType::Directory => State::Folder { mode: stamp.mode },
        FileType::Symlink => State::Symlink { target: link_target(&place.folder, &place.name)? },
        FileType::RegularFile => {
            let mut bytes = Vec::new();
            match read_at(&place.folder, &place.name, LARGEST, &mut bytes)? {
                Some(stamp) => State::File { blob: keep(&bytes)?, mode: stamp.mode, len: stamp.len },
                None => stamp.unread(),
            }
        }
        _ => stamp.unread(),
    }))
}

/// What is at `path`, unread.
pub(crate) fn looks(path: &Path) -> Option<State> {
    let place = Place::of(path).ok()?;
    Some(stamp_at(&place.folder, &place.name).ok()??.unread())
}
