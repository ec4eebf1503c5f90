//! Small files, read and replaced so that nothing hangs and nothing is half written.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::Path,
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, SystemTime},
};

/// A lock is held for as long as two small files take to write; a holder that hangs is not waited for.
const LOCK_LIMIT: Duration = Duration::from_secs(10);

/// Who else may read a file that is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Privacy {
    /// Nobody.
    Private,
    /// Whoever could before; of a new file, whoever the user's mask lets.
    Unchanged,
}

/// `None` if there is no such file. Pipes and devices are refused: reading one may never end.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, String> {
    const LARGEST: u64 = 4 * 1024 * 1024;
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    if !metadata.is_file() {
        return Err("is not a regular file".to_owned());
    }
    if metadata.len() > LARGEST {
        return Err(format!("is larger than {LARGEST} bytes"));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST).read_to_end(&mut bytes))
        .map_err(|error| format!("cannot be read: {error}"))?;
    String::from_utf8(bytes).map(Some).map_err(|_| "is not UTF-8 text".to_owned())
}

/// Replaces the file at once and for good: "temp file in the same folder, fsync, rename, fsync of the folder".
pub(crate) fn replace(path: &Path, bytes: &[u8], privacy: Privacy) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let temporary = folder.join(temporary_name(path));
    let written = write_new(&temporary, bytes, privacy, path).and_then(|()| fs::rename(&temporary, path));
    if let Err(error) = written {
        // The first error says more than that there is nothing to clean up, or that it cannot be.
        fs::remove_file(&temporary).unwrap_or_default();
        return Err(error);
    }
    File::open(folder)?.sync_all()
}

/// Keeps other processes out until the file is dropped.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::Error(error)) => return Err(error),
        Err(TryLockError::WouldBlock) => {}
    }
    // The system lets those who wait go on in turn, which trying again and again does not; and since it waits without
    // end, a thread of its own does that.
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().name("lock".to_owned()).spawn(move || {
        let locked = file.lock().map(|()| file);
        // Nobody waits any more: the lock is let go again.
        drop(sender.send(locked));
    })?;
    receiver
        .recv_timeout(LOCK_LIMIT)
        .unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "another process holds its lock")))
}

/// The folder and those above it that are missing, for the user alone.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn write_new(temporary: &Path, bytes: &[u8], privacy: Privacy, replaced: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if privacy == Privacy::Private {
        options.mode(0o600);
    }
    let mut file = options.open(temporary)?;
    if privacy == Privacy::Unchanged
        && let Ok(before) = fs::metadata(replaced)
    {
        file.set_permissions(Permissions::from_mode(before.permissions().mode() & 0o777))?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

/// Never the same twice: not for two threads, nor for a process that has the number of a dead one.
fn temporary_name(path: &Path) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!(".{name}.{}-{count}-{now}.tmp", std::process::id())
}
