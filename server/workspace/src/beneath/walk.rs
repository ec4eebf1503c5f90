//! Looking at all that is below the folder, and at one file, without following a link or waiting for anybody.
//!
//! Unlike what an agent may write, what is looked at may have any name: the user's files are the user's.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, OFlags, Stat, statat};
use rustix::io::Errno;

use super::{Beneath, BeneathError, Refusal, Relative};
use crate::folder::{self, Missing};

/// Folders inside each other that are looked into.
const DEEPEST: usize = 32;
/// Names of all kinds that are looked at; a folder with more is not a memory folder.
const MOST_NAMES: usize = 200_000;

/// Something below the folder that is not a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Relative to the folder; any bytes.
    pub path: PathBuf,
    pub kind: FoundKind,
    pub stamp: Stamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundKind {
    File,
    Symlink,
    /// A pipe, a socket, a device.
    Special,
}

/// By which a change of a file is noticed without reading it. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub len: u64,
    pub modified: i64,
    /// Of the content or the attributes; unlike the other it cannot be set.
    pub changed: i64,
}

impl Beneath {
    /// What lies below the folder and is wanted by its name, at most `most` of it, sorted by path. Folders of the names
    /// in `closed` are not entered, nor such as cannot be opened.
    pub fn walk(
        &self,
        closed: &[&str],
        wanted: &dyn Fn(&OsStr, FoundKind) -> bool,
        most: usize,
    ) -> io::Result<Vec<Found>> {
        let mut walk = Walk { closed, wanted, most, names: 0, found: Vec::new() };
        walk.folder(&self.handle, Path::new(""), 0)?;
        walk.found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(walk.found)
    }

    /// A place below the folder, whatever an agent may think of its name. For what the user does to their own files.
    pub fn locate(&self, path: &Path) -> Result<Relative, Refusal> {
        self.within(path)
    }

    /// The bytes of an ordinary file and its stamp from before they were read; `None` if there is no such file, or
    /// something else has its name. Longer than `largest` is [`io::ErrorKind::FileTooLarge`].
    pub fn look_at(&self, path: &Relative, largest: u64) -> io::Result<Option<(Vec<u8>, Stamp)>> {
        let folder = match self.folder(&path.folders, Missing::Fail) {
            Ok(folder) => folder,
            Err(BeneathError::Refused(_)) => return Ok(None),
            Err(BeneathError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(BeneathError::Io(error)) => return Err(error),
        };
        // A device may do something when it is opened.
        match statat(&folder, &path.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile => {}
            Ok(_) | Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let file = match folder::open(&folder, OsStr::new(&path.name), OFlags::RDONLY | OFlags::NONBLOCK) {
            Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
            opened => File::from(opened?),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        if file.take(largest.saturating_add(1)).read_to_end(&mut bytes)? as u64 > largest {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(Some((bytes, Stamp::of_file(&metadata))))
    }
}

impl Stamp {
    fn of_file(metadata: &Metadata) -> Self {
        Self {
            len: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    #[expect(clippy::useless_conversion, reason = "the fields have other types on other systems")]
    fn of_stat(stat: &Stat) -> Self {
        let narrow = |nanoseconds| i64::try_from(nanoseconds).unwrap_or_default();
        Self {
            len: u64::try_from(stat.st_size).unwrap_or_default(),
            modified: nanoseconds(i64::from(stat.st_mtime), narrow(stat.st_mtime_nsec)),
            changed: nanoseconds(i64::from(stat.st_ctime), narrow(stat.st_ctime_nsec)),
        }
    }
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

struct Walk<'a> {
    closed: &'a [&'a str],
    wanted: &'a dyn Fn(&OsStr, FoundKind) -> bool,
    most: usize,
    names: usize,
    found: Vec<Found>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &OwnedFd, above: &Path, depth: usize) -> io::Result<()> {
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if matches!(name.as_bytes(), b"." | b"..") {
                continue;
            }
            self.names += 1;
            if self.names > MOST_NAMES || self.found.len() >= self.most {
                return Ok(());
            }
            self.entry(folder, name, &above.join(name), depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, folder: &OwnedFd, name: &OsStr, path: &Path, depth: usize) -> io::Result<()> {
        // Gone since it was listed, or not ours to see.
        let Ok(stat) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                let entered = name.to_str().filter(|name| !self.closed.contains(name) && depth < DEEPEST);
                return match entered.map(|name| folder::enter(folder, OsStr::new(name), Missing::Fail)) {
                    Some(Ok(below)) => self.folder(&below, path, depth + 1),
                    Some(Err(_)) | None => Ok(()),
                };
            }
            FileType::RegularFile => FoundKind::File,
            FileType::Symlink => FoundKind::Symlink,
            _ => FoundKind::Special,
        };
        if (self.wanted)(name, kind) {
            self.found.push(Found { path: path.to_owned(), kind, stamp: Stamp::of_stat(&stat) });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, Mode, mknodat};

    use super::*;

    #[test]
    fn everything_is_named_and_only_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::create_dir_all(at(".closed")).unwrap();
        for file in ["a/b/deep.md", "it's.md", ".closed/x.md", "other.txt"] {
            fs::write(at(file), "text").unwrap();
        }
        symlink("..", at("a/loop")).unwrap();
        symlink("/etc/passwd", at("link.md")).unwrap();
        mknodat(CWD, at("pipe.md"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        fs::write(at("bad\n.md"), "").unwrap();
        let beneath = Beneath::open(dir.path()).unwrap();
        let markdown = |name: &OsStr, _| name.as_bytes().ends_with(b".md");
        let found = beneath.walk(&[".closed"], &markdown, 100).unwrap();
        let shown: Vec<_> = found.iter().map(|found| (found.path.to_str().unwrap(), found.kind)).collect();
        assert_eq!(
            shown,
            [
                ("a/b/deep.md", FoundKind::File),
                ("bad\n.md", FoundKind::File),
                ("it's.md", FoundKind::File),
                ("link.md", FoundKind::Symlink),
                ("pipe.md", FoundKind::Special),
            ]
        );
        assert_eq!(beneath.walk(&[], &markdown, 2).unwrap().len(), 2);
        let look = |path: &str| beneath.look_at(&beneath.locate(&at(path)).unwrap(), 4).unwrap();
        for found in found.iter().filter(|found| found.stamp.len == 4 && found.kind == FoundKind::File) {
            let (bytes, stamp) = look(found.path.to_str().unwrap()).unwrap();
            assert_eq!((bytes, stamp), (b"text".to_vec(), found.stamp));
        }
        for none in ["link.md", "pipe.md", "gone.md", "gone/x.md", "a", "a/loop/it's.md"] {
            assert_eq!(look(none), None, "{none}");
        }
        let small = beneath.look_at(&beneath.locate(&at("it's.md")).unwrap(), 3);
        assert_eq!(small.unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert!(beneath.locate(&at("../x.md")).is_err());
    }
}
