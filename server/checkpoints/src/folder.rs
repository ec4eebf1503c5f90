//! Handles of folders, reached without following a link, so that a folder that was swapped for a link does not
//! lead a read or a write elsewhere.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// To search in it is all that a folder on the way has to allow.
#[cfg(target_os = "linux")]
const ON_THE_WAY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const ON_THE_WAY: OFlags = OFlags::RDONLY;

const AS_FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens the folder at an absolute path.
pub(crate) fn open(path: &Path) -> io::Result<OwnedFd> {
    let relative = path.strip_prefix("/").map_err(|_| io::Error::from(Errno::INVAL))?;
    let root = openat(CWD, "/", ON_THE_WAY | AS_FOLDER, Mode::empty())?;
    open_beneath(root, relative)
}

/// Opens the folder at `relative` below `base`; only names, no `..`. An empty one opens `base` again.
pub(crate) fn open_beneath(base: impl AsFd, relative: &Path) -> io::Result<OwnedFd> {
    let mut components = relative.components();
    let last = components.next_back();
    let mut reached = None::<OwnedFd>;
    for component in components {
        let name = name_of(component)?;
        let from = reached.as_ref().map_or(base.as_fd(), AsFd::as_fd);
        reached = Some(openat(from, name, ON_THE_WAY | AS_FOLDER, Mode::empty())?);
    }
    let from = reached.as_ref().map_or(base.as_fd(), AsFd::as_fd);
    let name = last.map_or(Ok(OsStr::new(".")), name_of)?;
    match openat(from, name, OFlags::RDONLY | AS_FOLDER, Mode::empty()) {
        // One that may not be listed can still be worked in.
        Err(Errno::ACCESS) => Ok(openat(from, name, ON_THE_WAY | AS_FOLDER, Mode::empty())?),
        other => Ok(other?),
    }
}

/// Whether the error says that there is no such folder (any more), as against one that cannot be opened.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}

/// A name in an opened folder.
pub(crate) struct Place {
    pub folder: OwnedFd,
    pub name: OsString,
}

impl Place {
    pub fn of(path: &Path) -> io::Result<Self> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::INVAL.into());
        };
        Ok(Self { folder: open(parent)?, name: name.to_owned() })
    }
}

fn name_of(component: Component<'_>) -> io::Result<&OsStr> {
    match component {
        Component::Normal(name) => Ok(name),
        _ => Err(Errno::INVAL.into()),
    }
}
