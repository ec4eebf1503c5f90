//! Waiting for a lock that others hold for some milliseconds.

use std::fs::{File, TryLockError};
use std::io;
use std::thread;
use std::time::Duration;

/// Whoever waits longer than ten seconds waits for someone who hangs.
const PAUSE: Duration = Duration::from_millis(5);
const ATTEMPTS: usize = 2_000;

/// The file, locked for as long as it is open; `held` are the words for when somebody keeps it.
pub(crate) fn wait_for(lock: File, held: &str) -> io::Result<File> {
    for _ in 0..ATTEMPTS {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, held))
}
