//! Folders by handle: reached and made one name at a time, never through a link.
//!
//! What is opened or made below a handle lies where the handle is, whatever becomes of the path that led there. What may
//! be written is the caller's.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fsync, mkdirat, openat, statat};
use rustix::io::Errno;

/// How often a path that is being renamed under our feet is tried again.
#[cfg(target_os = "linux")]
const TRIES: usize = 64;

/// To go through a folder takes no right to list it: `/home` is often closed to everyone.
#[cfg(target_os = "linux")]
const PASSING: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASSING: OFlags = OFlags::RDONLY;

/// What becomes of a folder that is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Fail,
    /// It is made with this mode, less the umask.
    Make(Mode),
}

/// The folder at an absolute path that has no links. `LOOP` where there is one all the same, `NOTDIR` where a part of the
/// path is something else than a folder.
pub(crate) fn reach(path: &Path, missing: Missing) -> Result<OwnedFd, Errno> {
    if !path.is_absolute() {
        return Err(Errno::INVAL);
    }
    let mut folder = openat(CWD, "/", PASSING | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for part in path.components() {
        folder = match part {
            Component::RootDir => folder,
            Component::Normal(name) => enter_with(&folder, name, PASSING, missing)?,
            Component::CurDir | Component::ParentDir | Component::Prefix(_) => return Err(Errno::INVAL),
        };
    }
    listable(&folder)
}

/// A folder in a folder, as [`reach`] finds it.
pub(crate) fn enter(above: &OwnedFd, name: &OsStr, missing: Missing) -> Result<OwnedFd, Errno> {
    enter_with(above, name, OFlags::RDONLY, missing)
}

/// Opens what has this name in the folder: one name, no links, nothing above.
#[cfg(target_os = "linux")]
pub(crate) fn open(folder: &OwnedFd, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..TRIES {
        match openat2(folder, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Kernels and containers that do not have the call.
            Err(Errno::NOSYS | Errno::PERM) => return open_single(folder, name, flags),
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn open(folder: &OwnedFd, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    open_single(folder, name, flags)
}

/// Of a single name, to refuse a link at the end is to refuse all.
fn open_single(folder: &OwnedFd, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    if name == ".." || name.as_encoded_bytes().contains(&b'/') {
        return Err(Errno::XDEV);
    }
    openat(folder, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

fn enter_with(above: &OwnedFd, name: &OsStr, how: OFlags, missing: Missing) -> Result<OwnedFd, Errno> {
    let opened = match (open(above, name, how | OFlags::DIRECTORY), missing) {
        (Err(Errno::NOENT), Missing::Make(mode)) => {
            make(above, name, mode)?;
            open(above, name, how | OFlags::DIRECTORY)
        }
        (opened, _) => opened,
    };
    opened.map_err(|error| match error {
        // The kernel says either of a link. What is a folder now, or gone, was one a moment ago.
        Errno::LOOP | Errno::NOTDIR => match statat(above, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => match FileType::from_raw_mode(found.st_mode) {
                FileType::Symlink | FileType::Directory => Errno::LOOP,
                _ => Errno::NOTDIR,
            },
            Err(_) => Errno::LOOP,
        },
        error => error,
    })
}

fn make(above: &OwnedFd, name: &OsStr, mode: Mode) -> Result<(), Errno> {
    match mkdirat(above, name, mode) {
        Ok(()) => {}
        // Someone else was faster; whether it is a folder is seen when it is opened.
        Err(Errno::EXIST) => return Ok(()),
        Err(error) => return Err(error),
    }
    match listable(above).and_then(fsync) {
        Err(error @ (Errno::IO | Errno::NOSPC | Errno::DQUOT)) => Err(error),
        // Not every folder may be listed, and not every file system syncs them.
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The same folder by a handle that can be listed and synced.
fn listable(folder: &OwnedFd) -> Result<OwnedFd, Errno> {
    openat(folder, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}
