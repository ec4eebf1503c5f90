//! The atomic write of a closed file.
//!
//! The new content goes to a temporary file in the same folder, is synced, and takes the place of the old file by
//! a rename; then the folder is synced. So a reader, a crash or a full disk meets the old or the new content,
//! never a mixture. What the old file has besides its content is kept (`temporary.rs`). Nothing is written in place, so
//! other hard links of the file keep the old content: the price of atomicity, and the reason why none leads a write
//! elsewhere.
//!
//! Paths are real ones: whoever may write through a symbolic link says where it leads. A link on the path is followed by
//! no step, and all steps work on one handle of the folder (`folder.rs`), so that a folder that is swapped for a link
//! before or meanwhile does not lead the write to what nobody allowed.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{Access, AtFlags, FileType, Mode, accessat, fsync, statat};
use rustix::io::Errno;

use crate::edits::{apply, hunks};
use crate::error::{ReadError, WriteError};
use crate::fingerprint::{Fingerprint, hash};
use crate::folder::{self, Missing};
use crate::format;
use crate::read;
use crate::temporary::Temporary;

/// How a write to disk ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    Written(Fingerprint),
    /// Not written: the file was opened in the editor meanwhile.
    Opened,
}

/// Makes an existing file read as `new_text`, if it is as it was `seen` until the last moment.
pub(crate) fn replace(
    path: &Path,
    new_text: &str,
    seen: &Fingerprint,
    closed: impl Fn() -> bool,
) -> Result<Outcome, WriteError> {
    let place = Place::reach(path, Missing::Fail)?;
    let file = read::open_in(&place.folder, &place.name)?;
    let metadata = file.metadata().map_err(ReadError::from)?;
    let old_bytes = read::bytes(file.try_clone()?, &metadata)?;
    let old = read::decode(old_bytes.clone(), &metadata)?;
    let unchanged = match seen.hash {
        Some(_) => old.fingerprint.hash == seen.hash,
        None => old.fingerprint.same_state(seen),
    };
    if !unchanged {
        return Err(WriteError::Changed);
    }
    refuse_read_only(&place, &metadata)?;
    let new_text = if old.format.mark { format::split_mark(new_text).1 } else { new_text };
    let new_raw = apply(&old.raw, &hunks(&old.raw, &format::view(new_text)));
    let new_bytes = format::encode(&new_raw, old.format)?;
    if new_bytes == old_bytes {
        return Ok(Outcome::Written(old.fingerprint));
    }
    let mut temporary = Temporary::create(&place.folder, Mode::RUSR | Mode::WUSR)?;
    temporary.file.write_all(&new_bytes)?;
    temporary.take_attributes(&file, &metadata)?;
    temporary.file.sync_all()?;
    let fingerprint = fingerprint_after(&temporary.file, &new_raw)?;
    if !closed() {
        return Ok(Outcome::Opened);
    }
    // By content: a change within one tick of the clock leaves time and size as they are.
    if current_bytes(&place).as_deref() != Ok(&old_bytes) {
        return Err(WriteError::Changed);
    }
    temporary.rename_over(&place.name)?;
    sync(&place.folder);
    Ok(Outcome::Written(fingerprint))
}

/// Creates a file with exactly `text`, and the folders above it, unless there is one already.
pub(crate) fn create(path: &Path, text: &str, closed: impl Fn() -> bool) -> Result<Outcome, WriteError> {
    let place = Place::reach(path, Missing::Make(Mode::RWXU | Mode::RWXG | Mode::RWXO))?;
    match statat(&place.folder, &place.name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => {}
        Err(error) => return Err(std::io::Error::from(error).into()),
        Ok(found) => {
            read::refuse_special(FileType::from_raw_mode(found.st_mode))?;
            return Err(WriteError::Exists);
        }
    }
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
    let mut temporary = Temporary::create(&place.folder, mode)?;
    temporary.file.write_all(text.as_bytes())?;
    temporary.file.sync_all()?;
    let fingerprint = fingerprint_after(&temporary.file, format::split_mark(text).1)?;
    if !closed() {
        return Ok(Outcome::Opened);
    }
    temporary.rename_to_new(&place.name)?;
    sync(&place.folder);
    Ok(Outcome::Written(fingerprint))
}

/// A name in an opened folder.
struct Place {
    folder: OwnedFd,
    name: OsString,
}

impl Place {
    fn reach(path: &Path, missing: Missing) -> Result<Self, WriteError> {
        let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else {
            return Err(WriteError::Refused("the path does not name a file".to_owned()));
        };
        let folder = folder::reach(folder, missing).map_err(|error| match error {
            Errno::LOOP => WriteError::Refused(
                "a folder in its path is a symbolic link that was not there when the write was allowed"
                    .to_owned(),
            ),
            error => ReadError::from(std::io::Error::from(error)).into(),
        })?;
        Ok(Self { folder, name: name.to_owned() })
    }
}

fn current_bytes(place: &Place) -> Result<Vec<u8>, ReadError> {
    let file = read::open_in(&place.folder, &place.name)?;
    let metadata = file.metadata()?;
    read::bytes(file, &metadata)
}

/// A rename would replace even a file that may not be written; its owner did not mean that.
fn refuse_read_only(place: &Place, metadata: &Metadata) -> Result<(), WriteError> {
    let writable = accessat(&place.folder, &place.name, Access::WRITE_OK, AtFlags::empty());
    if metadata.mode() & 0o222 == 0 || writable.is_err() {
        return Err(WriteError::Refused("the file is read-only".to_owned()));
    }
    Ok(())
}

fn fingerprint_after(file: &File, raw: &str) -> Result<Fingerprint, WriteError> {
    let hash = hash(format::view(raw).as_bytes());
    Ok(Fingerprint { hash: Some(hash), ..read::fingerprint_of(&file.metadata()?) })
}

/// Some file systems cannot sync a folder, and the write itself is done: not worth an error.
fn sync(folder: impl rustix::fd::AsFd) {
    if let Err(error) = fsync(folder) {
        tracing::debug!(%error, "the folder was not synced");
    }
}

#[cfg(test)]
mod tests;
