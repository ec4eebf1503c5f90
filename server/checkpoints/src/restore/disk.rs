//! The single steps of a restoring. All of them work on a handle of the folder and follow no link.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Uid, XattrFlags, chmodat, fchmod, fchown, fgetxattr, flistxattr, fsetxattr,
    fsync, mkdirat, openat, renameat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use crate::blob::Blob;
use crate::entry::State;
use crate::folder::{self, Place};
use crate::plan::Action;
use crate::present::{Stamp, stamp_at};

/// With more steps than this, one sync of the file system is cheaper than one for each.
const SYNC_EACH: usize = 32;

pub(super) struct Disk<G> {
    /// Asked before each step that changes something; tests stop here what a kill would stop.
    gate: G,
    sync_each: bool,
    /// Written and not yet in its place.
    waiting: Vec<Waiting>,
    /// Folders whose entries were changed.
    touched: BTreeSet<PathBuf>,
    /// Folders that were made writable for us, and what they were.
    loosened: BTreeMap<PathBuf, u32>,
}

struct Waiting {
    path: PathBuf,
    stamp: Option<Stamp>,
}

impl<G: FnMut() -> io::Result<()>> Disk<G> {
    pub fn new(gate: G) -> Self {
        let (waiting, touched, loosened) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
        Self { gate, sync_each: true, waiting, touched, loosened }
    }

    pub fn batch(&mut self, steps: usize) {
        self.sync_each = steps <= SYNC_EACH;
    }

    pub fn remove(&mut self, action: &Action, stamp: Option<Stamp>) -> io::Result<()> {
        let place = self.place(&action.path)?;
        let flags = match action.now {
            Some(State::Folder { .. }) => AtFlags::REMOVEDIR,
            _ => {
                unchanged(&place, stamp)?;
                AtFlags::empty()
            }
        };
        (self.gate)()?;
        match unlinkat(&place.folder, &place.name, flags) {
            // Some systems say this instead.
            Err(Errno::EXIST) => Err(Errno::NOTEMPTY.into()),
            other => Ok(other?),
        }
    }

    /// For us only until its mode is set.
    pub fn make_folder(&mut self, path: &Path) -> io::Result<()> {
        let place = self.place(path)?;
        (self.gate)()?;
        Ok(mkdirat(&place.folder, &place.name, Mode::RWXU)?)
    }

    /// Writes the file beside its place.
    pub fn write_file(
        &mut self,
        action: &Action,
        stamp: Option<Stamp>,
        bytes: &[u8],
        mode: u32,
    ) -> io::Result<()> {
        let place = self.place(&action.path)?;
        let beside = beside(&place.name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file: File = self
            .anew(&place, &beside, || openat(&place.folder, &beside, flags, Mode::RUSR | Mode::WUSR))?
            .into();
        let written = (self.gate)().and_then(|()| {
            file.write_all(bytes)?;
            copy_attributes(&place, action.now.as_ref(), &file, mode)?;
            if self.sync_each { file.sync_all() } else { Ok(()) }
        });
        match written {
            Ok(()) => self.waiting.push(Waiting { path: action.path.clone(), stamp }),
            Err(_) => self.discard(&place, &beside),
        }
        written
    }

    pub fn write_link(&mut self, action: &Action, stamp: Option<Stamp>, target: &Path) -> io::Result<()> {
        let place = self.place(&action.path)?;
        let beside = beside(&place.name);
        self.anew(&place, &beside, || symlinkat(target, &place.folder, &beside))?;
        self.waiting.push(Waiting { path: action.path.clone(), stamp });
        Ok(())
    }

    /// Puts what was written into its places, and gives those where that failed.
    pub fn place_all(&mut self) -> Vec<(PathBuf, io::Error)> {
        if !self.sync_each {
            self.sync_file_systems();
        }
        let mut failed = Vec::new();
        for Waiting { path, stamp } in std::mem::take(&mut self.waiting) {
            let placed = self.place(&path).and_then(|place| {
                let beside = beside(&place.name);
                let renamed = unchanged(&place, stamp).and_then(|()| {
                    (self.gate)()?;
                    Ok(renameat(&place.folder, &beside, &place.folder, &place.name)?)
                });
                if renamed.is_err() {
                    self.discard(&place, &beside);
                }
                renamed
            });
            failed.extend(placed.err().map(|error| (path, error)));
        }
        failed
    }

    pub fn set_folder_mode(&mut self, path: &Path, mode: u32) -> io::Result<()> {
        self.loosened.remove(path);
        if self.look(path)?.is_some_and(|stamp| stamp.mode == mode) {
            return Ok(());
        }
        (self.gate)()?;
        chmod_folder(path, mode)
    }

    /// Gives folders their modes back and syncs them.
    pub fn finish(&mut self) {
        for (path, mode) in std::mem::take(&mut self.loosened).into_iter().rev() {
            let set = (self.gate)().and_then(|()| chmod_folder(&path, mode));
            if let Err(error) = set
                && !folder::is_absence(&error)
            {
                tracing::warn!(path = %path.display(), %error, "the mode of a folder was not set back");
            }
        }
        if !self.sync_each {
            self.sync_file_systems();
            return;
        }
        for path in std::mem::take(&mut self.touched) {
            // Some file systems cannot sync a folder, and it may be gone: not worth an error.
            if let Err(error) = folder::open(&path).and_then(|folder| Ok(fsync(folder)?)) {
                tracing::debug!(path = %path.display(), %error, "the folder was not synced");
            }
        }
    }

    /// The place, in a folder that we may write in.
    fn place(&mut self, path: &Path) -> io::Result<Place> {
        let parent = path.parent().unwrap_or(path);
        if !self.touched.contains(parent) {
            if let Some(stamp) = self.look(parent)?
                && stamp.mode & 0o300 != 0o300
            {
                (self.gate)()?;
                chmod_folder(parent, stamp.mode | 0o700)?;
                self.loosened.insert(parent.to_owned(), stamp.mode);
            }
            self.touched.insert(parent.to_owned());
        }
        Place::of(path)
    }

    fn look(&self, folder: &Path) -> io::Result<Option<Stamp>> {
        match Place::of(folder) {
            Ok(place) => stamp_at(&place.folder, &place.name),
            // The root has no name, and what is not there has no stamp.
            Err(_) => Ok(None),
        }
    }

    /// Makes something under a name of ours, in place of what a restoring that was killed has left there.
    fn anew<T>(
        &mut self,
        place: &Place,
        name: &OsStr,
        mut make: impl FnMut() -> rustix::io::Result<T>,
    ) -> io::Result<T> {
        (self.gate)()?;
        match make() {
            Err(Errno::EXIST) => {
                unlinkat(&place.folder, name, AtFlags::empty())?;
                Ok(make()?)
            }
            other => Ok(other?),
        }
    }

    fn discard(&mut self, place: &Place, name: &OsStr) {
        let removed = (self.gate)().and_then(|()| Ok(unlinkat(&place.folder, name, AtFlags::empty())?));
        if let Err(error) = removed {
            tracing::warn!(name = %name.display(), %error, "a temporary file was left behind");
        }
    }

    fn sync_file_systems(&mut self) {
        let mut handles = BTreeMap::<u64, OwnedFd>::new();
        for path in &self.touched {
            let Ok(folder) = folder::open(path) else { continue };
            let Ok(stat) = rustix::fs::fstat(&folder) else { continue };
            #[expect(clippy::unnecessary_cast, reason = "the type differs between platforms")]
            handles.insert(stat.st_dev as u64, folder);
        }
        for folder in handles.into_values() {
            sync_file_system(&folder);
        }
    }
}

/// The name of what is written beside its place; always the same, so that a later try finds what a killed one left.
fn beside(name: &OsStr) -> std::ffi::OsString {
    let hash = Blob::of(name.as_bytes()).to_string();
    format!(".reverie-{:.16}.tmp", hash).into()
}

/// Refuses what was touched after it was looked at.
fn unchanged(place: &Place, stamp: Option<Stamp>) -> io::Result<()> {
    let now = stamp_at(&place.folder, &place.name)?;
    match stamp {
        // A folder was there, and was removed by us.
        Some(stamp) if stamp.kind.is_dir() && now.is_none() => Ok(()),
        Some(stamp) if now.is_some_and(|now| now.resembles(&stamp)) => Ok(()),
        None if now.is_none() => Ok(()),
        _ => Err(io::Error::other("changed by someone else just now")),
    }
}

fn chmod_folder(path: &Path, mode: u32) -> io::Result<()> {
    let mode = Mode::from_raw_mode(mode as rustix::fs::RawMode);
    match fchmod(folder::open(path)?, mode) {
        // The handle of one that may not be listed is good for nothing but going through.
        Err(Errno::BADF) => {
            let place = Place::of(path)?;
            Ok(chmodat(&place.folder, &place.name, mode, AtFlags::empty())?)
        }
        other => Ok(other?),
    }
}

/// Sets the mode; where a file is replaced, the new one also gets its owner, group and extended attributes, as far as
/// the system lets us.
fn copy_attributes(place: &Place, now: Option<&State>, to: &File, mut mode: u32) -> io::Result<()> {
    if let Some(State::File { .. }) = now {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let from = File::from(openat(&place.folder, &place.name, flags, Mode::empty())?);
        let (old, new) = (from.metadata()?, to.metadata()?);
        if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
            let (owner, group) = (Uid::from_raw(old.uid()), Gid::from_raw(old.gid()));
            if fchown(to, Some(owner), Some(group)).is_err() {
                // Under another owner the file must not carry on rights that were meant for the first.
                mode &= 0o1777;
                if fchown(to, None, Some(group)).is_err() {
                    tracing::debug!("owner and group of the file could not be kept");
                }
            }
        }
        copy_extended_attributes(&from, to);
    }
    to.set_permissions(Permissions::from_mode(mode))
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

fn sync_file_system(folder: impl AsFd) {
    #[cfg(target_os = "linux")]
    let synced = rustix::fs::syncfs(folder);
    #[cfg(not(target_os = "linux"))]
    let synced = {
        rustix::fs::sync();
        fsync(folder)
    };
    if let Err(error) = synced {
        tracing::debug!(%error, "the file system was not synced");
    }
}
