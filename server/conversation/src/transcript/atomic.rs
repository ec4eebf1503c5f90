//! Whole files or none: "temp file in the same folder, fsync, rename, fsync of the folder".

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use super::{create_private_dir, options};

/// Others hold the lock for as long as it takes to write some kilobytes. On a busy disk that is long, and many may wait.
const LOCK_ATTEMPTS: u32 = 2_000;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Makes a file at `path`, where there is none, and returns it open for appending. A crash leaves all of it or
/// none; one that appeared meanwhile is kept, and an error says so.
pub(crate) fn write_new(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<File> {
    let written = write_aside(path, write);
    let aside = aside(path);
    let published = written.and_then(|file| {
        if path.try_exists()? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        fs::rename(&aside, path)?;
        sync_folder(path)?;
        Ok(file)
    });
    if published.is_err() {
        remove_leftover(&aside);
    }
    published
}

/// The same in the place of what may be there.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let aside = aside(path);
    let replaced =
        write_aside(path, write).and_then(|_| fs::rename(&aside, path)).and_then(|()| sync_folder(path));
    if replaced.is_err() {
        remove_leftover(&aside);
    }
    replaced
}

/// Waits for the turn to read and [`replace`] a file that several processes write; it is over when this is dropped.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        create_private_dir(folder)?;
    }
    let lock = options().create(true).open(path.with_extension("lock"))?;
    for _ in 0..LOCK_ATTEMPTS {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(fs::TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
            Err(fs::TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

fn write_aside(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        create_private_dir(folder)?;
    }
    let aside = aside(path);
    // Left by one that died.
    remove_leftover(&aside);
    let mut file = options().create_new(true).open(&aside)?;
    write(&mut file)?;
    file.sync_all()?;
    Ok(file)
}

/// No listing takes it for a session. Who writes a file holds its lock, or has just invented its name.
fn aside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.tmp"))
}

fn remove_leftover(aside: &Path) {
    // Nothing depends on it.
    fs::remove_file(aside).unwrap_or_default();
}

fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
