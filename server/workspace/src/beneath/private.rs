//! A folder of the server's own inside a memory folder, where it keeps what is no memory: records, copies, locks.
//!
//! Its name begins with a dot, so [`Beneath::check`] lets no agent near it. As above, every step starts from a handle
//! and follows no link. Folders are 0700 and files 0600: what is kept here may be secret.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fsync, openat, statat, unlinkat};
use rustix::io::Errno;

use super::{Beneath, MAKE};
use crate::folder::{self, Missing};
use crate::temporary::Temporary;

/// Handles outlive renames: whoever holds one works in the same folder to the end.
#[derive(Debug)]
pub struct Private {
    handle: OwnedFd,
}

/// When what was written has to be on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    Now,
    /// Many files at once: [`Private::sync`] follows.
    Later,
}

impl Beneath {
    /// The server's own folder of this name, if there is one.
    pub fn private(&self, name: &str) -> io::Result<Option<Private>> {
        existing(&self.handle, hidden(name)?)
    }

    /// Likewise, made where there is none.
    pub fn create_private(&self, name: &str) -> io::Result<Private> {
        created(&self.handle, hidden(name)?)
    }
}

impl Private {
    pub fn folder(&self, name: &str) -> io::Result<Option<Self>> {
        existing(&self.handle, single(name)?)
    }

    pub fn create_folder(&self, name: &str) -> io::Result<Self> {
        created(&self.handle, single(name)?)
    }

    /// The names in the folder; those that are not UTF-8 are not ours.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().to_str()
                && !matches!(name, "." | "..")
            {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// The length of a file; `None` if there is no ordinary file by this name.
    pub fn len_of(&self, name: &str) -> io::Result<Option<u64>> {
        match statat(&self.handle, single(name)?, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile => {
                Ok(Some(u64::try_from(found.st_size).unwrap_or_default()))
            }
            Ok(_) | Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub fn read(&self, name: &str, largest: u64) -> io::Result<Option<Vec<u8>>> {
        if self.len_of(name)?.is_some_and(|len| len > largest) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(self.read_end(name, largest)?.map(|(_, bytes)| bytes))
    }

    /// The end of a file, at most so many bytes, and where it begins.
    pub fn read_end(&self, name: &str, most: u64) -> io::Result<Option<(u64, Vec<u8>)>> {
        // A device may do something when it is opened, and a pipe waits.
        let Some(len) = self.len_of(name)? else { return Ok(None) };
        let mut file = match folder::open(&self.handle, OsStr::new(name), OFlags::RDONLY | OFlags::NONBLOCK) {
            Err(Errno::NOENT) => return Ok(None),
            opened => File::from(opened?),
        };
        let start = len.saturating_sub(most);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok(Some((start, bytes)))
    }

    /// Makes the file hold exactly these bytes; a reader or a crash meets the old or the new content.
    pub fn write(&self, name: &str, bytes: &[u8], durable: Durable) -> io::Result<()> {
        let name = single(name)?;
        let mut temporary = Temporary::create(&self.handle, Mode::RUSR | Mode::WUSR)?;
        temporary.file.write_all(bytes)?;
        if durable == Durable::Now {
            temporary.file.sync_all()?;
        }
        temporary.rename_over(name)?;
        if durable == Durable::Now {
            fsync(&self.handle)?;
        }
        Ok(())
    }

    /// A file to read, append to and lock, made where there is none.
    pub fn open_log(&self, name: &str) -> io::Result<File> {
        let name = single(name)?;
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.handle, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => {
                let made = openat(&self.handle, name, flags | OFlags::CREATE, Mode::RUSR | Mode::WUSR)?;
                fsync(&self.handle)?;
                made
            }
            opened => opened?,
        };
        let file = File::from(file);
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{name} is not an ordinary file"),
            ));
        }
        Ok(file)
    }

    /// Nothing by this name is left; that there was nothing is no error.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.handle, single(name)?, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Everything written below the folder is on the disk when this returns.
    pub fn sync(&self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        rustix::fs::syncfs(&self.handle)?;
        #[cfg(not(target_os = "linux"))]
        rustix::fs::sync();
        Ok(())
    }
}

fn existing(above: &OwnedFd, name: &str) -> io::Result<Option<Private>> {
    match folder::enter(above, OsStr::new(name), Missing::Fail).map_err(io::Error::from) {
        Ok(handle) => Ok(Some(Private { handle })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn created(above: &OwnedFd, name: &str) -> io::Result<Private> {
    Ok(Private { handle: folder::enter(above, OsStr::new(name), MAKE)? })
}

fn hidden(name: &str) -> io::Result<&str> {
    if name.starts_with('.') { single(name) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// One component that leads nowhere else.
fn single(name: &str) -> io::Result<&str> {
    match name {
        "" | "." | ".." => Err(io::ErrorKind::InvalidInput.into()),
        name if name.contains(['/', '\0']) => Err(io::ErrorKind::InvalidInput.into()),
        name => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn what_the_server_keeps_is_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let beneath = Beneath::open(dir.path()).unwrap();
        assert!(beneath.private(".own").unwrap().is_none());
        let folder = beneath.create_private(".own").unwrap().create_folder("ab").unwrap();
        folder.write("x", b"one", Durable::Now).unwrap();
        folder.write("x", b"two", Durable::Later).unwrap();
        folder.open_log("log").unwrap().write_all(b"line\n").unwrap();
        folder.sync().unwrap();
        assert_eq!(folder.read("x", 10).unwrap().unwrap(), b"two");
        assert_eq!(folder.read("gone", 10).unwrap(), None);
        assert_eq!(folder.read_end("x", 2).unwrap().unwrap(), (1, b"wo".to_vec()));
        assert_eq!(folder.read("x", 2).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let mode = |path: &str| fs::metadata(dir.path().join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            [mode(".own"), mode(".own/ab"), mode(".own/ab/x"), mode(".own/ab/log")],
            [0o700, 0o700, 0o600, 0o600]
        );
        folder.remove("x").unwrap();
        folder.remove("x").unwrap();
        assert_eq!(folder.names().unwrap(), ["log"]);
    }

    #[test]
    fn links_and_paths_lead_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("memory")).unwrap();
        fs::create_dir(dir.path().join("outside")).unwrap();
        fs::write(dir.path().join("outside/secret"), "secret").unwrap();
        let beneath = Beneath::open(&dir.path().join("memory")).unwrap();
        symlink(dir.path().join("outside"), dir.path().join("memory/.link")).unwrap();
        assert!(beneath.private(".link").is_err());
        assert!(beneath.create_private(".link").is_err());
        for name in ["plain", "..", ".a/b", ""] {
            assert!(beneath.create_private(name).is_err(), "{name}");
        }
        let own = beneath.create_private(".own").unwrap();
        symlink(dir.path().join("outside/secret"), dir.path().join("memory/.own/link")).unwrap();
        assert_eq!(own.read("link", 100).unwrap(), None);
        assert!(own.open_log("link").is_err());
        own.write("link", b"new", Durable::Now).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("outside/secret")).unwrap(), "secret");
        assert!(own.read("../../outside/secret", 100).is_err());
    }
}
