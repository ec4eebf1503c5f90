//! The lock file on the disk: looked at by anyone, changed by whoever holds the guard.
//!
//! Every change is a new file that takes the old one's place in one step, with its time already set: whoever looks, and
//! whatever a crash leaves, is the old state or the new one. No link is followed.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fsync, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use workspace::Beneath;

use super::body::{Body, LONGEST, Running};
use crate::guard::wait_for;
use crate::history::FOLDER;

pub(super) const NAME: &str = ".consolidate-lock";
/// There is one, since it is written under the guard: what a killed process left is replaced by the next.
const TEMPORARY: &str = ".consolidate-lock.tmp";
/// In the history's folder, which is ours alone. Its content is [`settled`]: how we left the lock.
const GUARD: &str = "dream-lock";

pub(super) struct Folder {
    path: PathBuf,
    handle: OwnedFd,
}

pub(super) struct Found {
    pub body: Body,
    /// None for what is no ordinary file, and for a time that has no date.
    pub modified: Option<Timestamp>,
    file: Option<File>,
}

impl Folder {
    pub fn open(path: &Path) -> io::Result<Self> {
        let handle =
            rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { path: path.to_owned(), handle })
    }

    pub fn read(&self) -> io::Result<Option<Found>> {
        // A device may do something when it is opened, and a pipe waits.
        match statat(&self.handle, NAME, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {}
            Ok(_) => return Ok(Some(Found::strange())),
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.handle, NAME, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            // Became a link, or is closed to us: it can still be replaced.
            Err(Errno::LOOP | Errno::ACCESS | Errno::NXIO) => return Ok(Some(Found::strange())),
            Err(error) => return Err(error.into()),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(Some(Found::strange()));
        }
        let mut bytes = Vec::new();
        (&file).take(LONGEST + 1).read_to_end(&mut bytes)?;
        let body = if bytes.len() as u64 > LONGEST { Body::Other } else { Body::parse(&bytes) };
        let modified = Timestamp::try_from(metadata.modified()?).ok();
        Ok(Some(Found { body, modified, file: Some(file) }))
    }

    /// Whether it is we who left the lock like this: then nobody dreams, although the process lives.
    pub fn is_settled(&self, pid: u32, modified: Timestamp) -> bool {
        let kept = Beneath::open(&self.path)
            .and_then(|beneath| beneath.private(FOLDER))
            .and_then(|folder| folder.map_or(Ok(None), |folder| folder.read(GUARD, LONGEST)));
        kept.is_ok_and(|kept| kept.is_some_and(|kept| kept == settled(pid, modified).as_bytes()))
    }
}

impl Found {
    fn strange() -> Self {
        Self { body: Body::Other, modified: None, file: None }
    }

    pub fn has_token(&self, token: &str) -> bool {
        matches!(&self.body, Body::Running(running) if running.token == token)
    }

    /// By the handle that was read: if another file has taken the place meanwhile, that one stays as it is.
    pub fn touch(&self, now: Timestamp) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.set_modified(SystemTime::from(now)))
    }
}

/// The folder while nobody else of us changes the lock.
pub(super) struct Guarded {
    pub folder: Folder,
    guard: File,
}

impl Guarded {
    pub fn open(path: &Path) -> io::Result<Self> {
        let guard = Beneath::open(path)?.create_private(FOLDER)?.open_log(GUARD)?;
        let guard = wait_for(guard, "another server is just about to change it")?;
        Ok(Self { folder: Folder::open(path)?, guard })
    }

    /// From now on somebody dreams.
    pub fn occupy(&self, running: &Running, now: Timestamp) -> io::Result<()> {
        self.replace(&running.to_string(), now, |_| Ok(()))
    }

    /// Nobody dreams, and the last consolidation was at this time.
    pub fn settle(&self, at: Timestamp) -> io::Result<()> {
        let pid = std::process::id();
        self.replace(&pid.to_string(), at, |modified| {
            self.guard.set_len(0)?;
            (&self.guard).write_all(settled(pid, modified).as_bytes())
        })
    }

    /// Nobody dreams, and nobody ever has.
    pub fn remove(&self) -> io::Result<()> {
        self.discard(NAME)?;
        self.sync()
    }

    /// `before` is done when all is ready; it is told the time as the file system keeps it.
    fn replace(
        &self,
        text: &str,
        at: Timestamp,
        before: impl FnOnce(Timestamp) -> io::Result<()>,
    ) -> io::Result<()> {
        self.discard(TEMPORARY)?;
        let placed = self
            .write(text, at)
            .and_then(before)
            .and_then(|()| Ok(renameat(&self.folder.handle, TEMPORARY, &self.folder.handle, NAME)?));
        if placed.is_err() {
            self.discard(TEMPORARY)?;
        }
        placed?;
        self.sync()
    }

    fn write(&self, text: &str, at: Timestamp) -> io::Result<Timestamp> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.folder.handle, TEMPORARY, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(text.as_bytes())?;
        file.set_modified(SystemTime::from(at))?;
        file.sync_all()?;
        Ok(Timestamp::try_from(file.metadata()?.modified()?).unwrap_or(at))
    }

    fn discard(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.folder.handle, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn sync(&self) -> io::Result<()> {
        match fsync(&self.folder.handle) {
            // Not every file system syncs folders.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn settled(pid: u32, modified: Timestamp) -> String {
    format!("{pid} {modified}")
}
