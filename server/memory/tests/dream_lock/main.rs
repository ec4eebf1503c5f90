//! The dream lock between real threads and processes: many at once, killed, failed by the disk, stopped and woken.
//!
//! Where a process of its own is needed, it is this test binary, started again with a role.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failure in a test should end it"
)]
#![expect(clippy::print_stdout, reason = "figures for whoever asks, and answers to the test that started it")]

mod contenders;
#[cfg(target_os = "linux")]
mod killed;
mod role;
mod stopped;

use std::fs::{self, File};
use std::path::Path;
use std::time::SystemTime;

use jiff::{Timestamp, ToSpan as _};
use memory::dream_lock::{Acquired, DreamLock, Hold};

const NAME: &str = ".consolidate-lock";

fn held(lock: &DreamLock) -> Hold {
    match lock.acquire().unwrap() {
        Acquired::Held(hold) => hold,
        Acquired::Busy(holder) => panic!("held by {holder:?}"),
    }
}

/// Somebody dreamt three days ago.
fn dreamt_before(dir: &Path) -> Timestamp {
    fs::write(dir.join(NAME), "").unwrap();
    age(dir, 72)
}

/// Moves the time of the lock file so many hours back.
fn age(dir: &Path, hours: i64) -> Timestamp {
    let time = Timestamp::now() - hours.hours();
    File::open(dir.join(NAME)).unwrap().set_modified(SystemTime::from(time)).unwrap();
    time
}
