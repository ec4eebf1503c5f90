//! The new content of a file, before it has its place.
//!
//! It is written beside the file that it will be, under a name of ours, and takes that place in one step. What goes in,
//! what is synced and whether the place is still to be had is the caller's.

use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Uid, XattrFlags, fchown, fgetxattr, flistxattr, fsetxattr,
    linkat, openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;

/// A file that is gone when dropped, unless it was given its place. All steps work on one handle of the folder, so that
/// a folder that is swapped meanwhile does not lead the write elsewhere.
pub(crate) struct Temporary<'a> {
    folder: &'a OwnedFd,
    name: String,
    pub(crate) file: File,
    placed: bool,
}

impl<'a> Temporary<'a> {
    pub(crate) fn create(folder: &'a OwnedFd, mode: Mode) -> io::Result<Self> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let name = format!(".reverie-{}-{number}.tmp", std::process::id());
            match openat(folder, &name, flags, mode) {
                Ok(file) => return Ok(Self { folder, name, file: file.into(), placed: false }),
                // Left by a process of the same number that was killed.
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whatever the umask says.
    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.file.set_permissions(Permissions::from_mode(mode))
    }

    /// Gives the new file what the old one has besides its content: mode, owner, group and extended attributes (access
    /// lists among them), as far as the system lets us.
    pub(crate) fn take_attributes(&self, from: &File, old: &Metadata) -> io::Result<()> {
        let new = self.file.metadata()?;
        let mut mode = old.mode() & 0o7777;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
            let (owner, group) = (Uid::from_raw(old.uid()), Gid::from_raw(old.gid()));
            if fchown(&self.file, Some(owner), Some(group)).is_err() {
                // Only root gives files away; the group often works. Under another owner the file must not carry on
                // rights that were meant for the first.
                mode &= 0o1777;
                if fchown(&self.file, None, Some(group)).is_err() {
                    tracing::debug!("owner and group of the file could not be kept");
                }
            }
        }
        self.set_mode(mode)?;
        copy_extended_attributes(from, &self.file);
        Ok(())
    }

    pub(crate) fn rename_over(mut self, name: impl AsRef<OsStr>) -> io::Result<()> {
        renameat(self.folder, &self.name, self.folder, name.as_ref())?;
        self.placed = true;
        Ok(())
    }

    /// Fails if there is a file by this name.
    pub(crate) fn rename_to_new(mut self, name: impl AsRef<OsStr>) -> io::Result<()> {
        let name = name.as_ref();
        match renameat_with(self.folder, &self.name, self.folder, name, RenameFlags::NOREPLACE) {
            Ok(()) => self.placed = true,
            // The file system does not know the flag. A link is as exclusive, and dropping removes the other name.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                linkat(self.folder, &self.name, self.folder, name, AtFlags::empty())?;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if self.placed {
            return;
        }
        if let Err(error) = unlinkat(self.folder, &self.name, AtFlags::empty()) {
            tracing::warn!(name = self.name, %error, "a temporary file was left behind");
        }
    }
}

fn copy_extended_attributes(from: &File, to: &File) {
    let mut names = vec![0; 64 << 10];
    let Ok(length) = flistxattr(from, &mut names) else { return };
    let names = names.get(..length).unwrap_or_default();
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; 64 << 10];
        let copied = fgetxattr(from, name, &mut value).and_then(|length| {
            fsetxattr(to, name, value.get(..length).unwrap_or_default(), XattrFlags::empty())
        });
        if let Err(error) = copied {
            tracing::debug!(name = %String::from_utf8_lossy(name), %error, "an extended attribute was not kept");
        }
    }
}
