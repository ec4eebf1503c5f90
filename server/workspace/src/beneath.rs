//! The only way a background agent's text gets to disk: files below one folder, and nothing else.
//!
//! "Checked twice": the policy ([`Beneath::check`]) says whether a path may be written at all; and every step afterwards
//! starts from a handle of the folder and follows no link, so that a mistake in the first, or a folder that is swapped
//! between the two, leads nowhere. Nothing is written in place: a second name of a file keeps the old content.
//! What the user writes goes another way (`write.rs`).

mod names;
mod private;
mod walk;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fsync, statat, unlinkat};
use rustix::io::Errno;
use thiserror::Error;

pub use self::private::{Durable, Private};
pub use self::walk::{Found, FoundKind, Stamp};
use crate::folder::{self, Missing};
use crate::temporary::Temporary;

/// The longest path the kernel takes, with the NUL at its end.
const LONGEST_PATH: usize = 4096;
/// More folders inside each other than anyone needs.
const DEEPEST: usize = 16;
/// More than any memory has.
const LARGEST: u64 = 16 << 20;
/// New folders are nobody else's to read.
const MAKE: Missing = Missing::Make(Mode::RWXU);

/// A folder below which a background agent may write.
#[derive(Debug)]
pub struct Beneath {
    handle: OwnedFd,
    /// The folder as it was named, and with its links resolved.
    names: [PathBuf; 2],
}

/// A path that was found good, relative to its [`Beneath`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relative {
    folders: Vec<String>,
    name: String,
}

/// Why a path may not be written, in words for the model.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct Refusal(String);

/// Why nothing was written, read or removed.
#[derive(Debug, Error)]
pub enum BeneathError {
    /// It may not be: another path has to be chosen.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The system did not let us.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for BeneathError {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

impl From<BeneathError> for io::Error {
    fn from(error: BeneathError) -> Self {
        match error {
            BeneathError::Refused(refusal) => Self::new(io::ErrorKind::PermissionDenied, refusal),
            BeneathError::Io(error) => error,
        }
    }
}

impl Relative {
    pub fn to_path(&self) -> PathBuf {
        self.folders.iter().chain([&self.name]).collect()
    }
}

impl Beneath {
    /// The folder must exist. Links on the way to it are followed now and never again.
    pub fn open(root: &Path) -> io::Result<Self> {
        let resolved = root.canonicalize()?;
        let handle = folder::reach(&resolved, Missing::Fail)?;
        Ok(Self { handle, names: [std::path::absolute(root)?, resolved] })
    }

    /// Whether a background agent may write at this absolute path, as things are on disk now.
    pub fn check(&self, path: &Path) -> Result<Relative, Refusal> {
        let relative = self.within(path)?;
        for (depth, name) in relative.folders.iter().enumerate() {
            refuse(names::objection_to_folder(name))?;
            if depth >= DEEPEST {
                return Err(Refusal(format!("more than {DEEPEST} folders inside each other")));
            }
        }
        refuse(names::objection_to_file(&relative.name))?;
        if relative.folders.is_empty() {
            refuse(names::objection_at_top(&relative.name))?;
        }
        match self.look(&relative) {
            Ok(()) => Ok(relative),
            Err(BeneathError::Refused(refusal)) => Err(refusal),
            Err(BeneathError::Io(error)) => Err(Refusal(format!("the path cannot be looked at: {error}"))),
        }
    }

    /// Makes the file hold exactly these bytes, and the folders above it; a reader, a crash or a full disk meets the old
    /// or the new content.
    pub fn write(&self, path: &Relative, bytes: &[u8]) -> Result<(), BeneathError> {
        let folder = self.folder(&path.folders, MAKE)?;
        let mode = match entry(&folder, &path.name)? {
            Some(old) => replaceable(&old, &path.name)?,
            None => Mode::RUSR | Mode::WUSR,
        };
        let mut temporary = Temporary::create(&folder, Mode::RUSR | Mode::WUSR)?;
        temporary.file.write_all(bytes)?;
        temporary.set_mode(mode.bits())?;
        temporary.file.sync_all()?;
        temporary.rename_over(&path.name)?;
        fsync(&folder)?;
        Ok(())
    }

    pub fn read(&self, path: &Relative) -> Result<Vec<u8>, BeneathError> {
        let folder = self.folder(&path.folders, Missing::Fail)?;
        // A device may do something when it is opened, and a pipe waits.
        replaceable(&statat(&folder, &path.name, AtFlags::SYMLINK_NOFOLLOW)?, &path.name)?;
        let file =
            File::from(folder::open(&folder, OsStr::new(&path.name), OFlags::RDONLY | OFlags::NONBLOCK)?);
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.nlink() != 1 {
            return Err(Refusal(format!("{} is not an ordinary file", path.name)).into());
        }
        let mut bytes = Vec::new();
        if file.take(LARGEST + 1).read_to_end(&mut bytes)? as u64 > LARGEST {
            return Err(Refusal(format!("{} is larger than {LARGEST} bytes", path.name)).into());
        }
        Ok(bytes)
    }

    pub fn remove(&self, path: &Relative) -> Result<(), BeneathError> {
        let folder = self.folder(&path.folders, Missing::Fail)?;
        replaceable(&statat(&folder, &path.name, AtFlags::SYMLINK_NOFOLLOW)?, &path.name)?;
        unlinkat(&folder, &path.name, AtFlags::empty())?;
        fsync(&folder)?;
        Ok(())
    }

    /// The part of the path after the folder, by whole components. `..` may go back over a real folder, not out.
    fn within(&self, path: &Path) -> Result<Relative, Refusal> {
        let refusal = |words: &str| Err(Refusal(words.to_owned()));
        let Some(text) = path.to_str() else { return refusal("the path is not UTF-8") };
        if text.contains('\0') {
            return refusal("the path has a NUL character");
        }
        if text.len() >= LONGEST_PATH {
            return refusal("the path is too long");
        }
        if !text.starts_with('/') || text.starts_with("//") {
            return refusal("the path is not absolute");
        }
        if let Some("" | "." | "..") = text.rsplit('/').next() {
            return refusal("the path names a folder, not a file");
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let Some(rest) = self.names.iter().find_map(|root| parts.strip_prefix(&components(root)?[..])) else {
            return refusal("the path is outside of the memory folder");
        };
        let mut folders: Vec<String> = Vec::new();
        let Some((name, above)) = rest.split_last() else {
            return refusal("the path names the memory folder itself");
        };
        for part in above {
            if *part != ".." {
                folders.push((*part).to_owned());
            } else if folders.is_empty() {
                return refusal("the path leaves the memory folder");
            } else if self.folder(&folders, Missing::Fail).is_err() {
                return refusal("the path goes back over something that is not a folder");
            } else {
                folders.pop();
            }
        }
        Ok(Relative { folders, name: (*name).to_owned() })
    }

    /// Looks at what is on the path already.
    fn look(&self, path: &Relative) -> Result<(), BeneathError> {
        let mut folder = self.handle.try_clone()?;
        for name in &path.folders {
            match entry(&folder, name)? {
                None => return Ok(()),
                Some(_) => folder = enter(&folder, name, Missing::Fail)?,
            }
        }
        if let Some(old) = entry(&folder, &path.name)? {
            replaceable(&old, &path.name)?;
        }
        Ok(())
    }

    fn folder(&self, folders: &[String], missing: Missing) -> Result<OwnedFd, BeneathError> {
        let mut folder = self.handle.try_clone()?;
        for name in folders {
            folder = enter(&folder, name, missing)?;
        }
        Ok(folder)
    }
}

fn refuse(objection: Option<String>) -> Result<(), Refusal> {
    objection.map_or(Ok(()), |words| Err(Refusal(words)))
}

/// `None` for a name that no path can begin with: not UTF-8, or not straight.
fn components(root: &Path) -> Option<Vec<&str>> {
    let parts: Vec<&str> = root.to_str()?.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    (!parts.contains(&"..")).then_some(parts)
}

/// What has this name in the folder, links not followed. A name that only another system would take for the same is
/// refused: there they would be one file.
fn entry(folder: &OwnedFd, name: &str) -> Result<Option<Stat>, BeneathError> {
    let wanted = names::folded(name);
    let mut twin = None;
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let other = entry.file_name().to_bytes();
        if other == name.as_bytes() {
            twin = None;
            break;
        }
        let other = String::from_utf8_lossy(other);
        if names::folded(&other) == wanted {
            twin = Some(other.into_owned());
        }
    }
    if let Some(twin) = twin {
        return Err(
            Refusal(format!("on other systems {name} would be the same as {twin}, which exists")).into()
        );
    }
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The mode of a file that may be replaced.
fn replaceable(old: &Stat, name: &str) -> Result<Mode, Refusal> {
    let what = match FileType::from_raw_mode(old.st_mode) {
        FileType::RegularFile if old.st_nlink != 1 => "has a second name elsewhere (a hard link)",
        FileType::RegularFile if old.st_mode & 0o222 == 0 => "is read-only",
        FileType::RegularFile => return Ok(Mode::from_raw_mode(old.st_mode & 0o777)),
        FileType::Directory => "is a folder",
        FileType::Symlink => "is a symbolic link",
        _ => "is a device, a pipe or a socket",
    };
    Err(Refusal(format!("{name} {what}")))
}

fn enter(folder: &OwnedFd, name: &str, missing: Missing) -> Result<OwnedFd, BeneathError> {
    folder::enter(folder, OsStr::new(name), missing).map_err(|error| match error {
        Errno::LOOP | Errno::NOTDIR | Errno::XDEV => {
            Refusal(format!("{name} is a link or a file, not a folder")).into()
        }
        error => error.into(),
    })
}

#[cfg(test)]
mod tests;
