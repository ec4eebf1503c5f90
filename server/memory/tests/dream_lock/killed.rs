//! Killed before each single call to the kernel, from taking the lock to giving it back; and with a disk that fails from
//! each of them on. Whatever is left, the next one dreams, and the time is that of the last dream that was done.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use jiff::Timestamp;
use memory::dream_lock::DreamLock;
use rustix::process::Signal;

use crate::role::{ERROR, Role};
use crate::{NAME, dreamt_before, held};

const STRACE: &str = "/usr/bin/strace";
/// Calls that need room, or the right to change something.
const CHANGES: [&str; 8] =
    ["openat", "write", "ftruncate", "fsync", "utimensat", "mkdirat", "renameat", "unlinkat"];

#[derive(Clone, Copy)]
enum Before {
    Never,
    DaysAgo,
}

#[test]
fn a_dream_that_is_done_but_killed_anywhere_is_no_obstacle() {
    let kills = kill_everywhere(Role::Complete, Before::DaysAgo, |_| true);
    assert!(kills > 80, "{kills}");
}

#[test]
fn a_dream_that_fails_and_is_killed_anywhere_is_no_obstacle() {
    let kills = kill_everywhere(Role::Release, Before::DaysAgo, |_| true);
    assert!(kills > 80, "{kills}");
}

#[test]
fn a_first_dream_that_fails_and_is_killed_anywhere_leaves_nothing() {
    let kills = kill_everywhere(Role::Release, Before::Never, |call| CHANGES.contains(&call));
    assert!(kills > 15, "{kills}");
}

#[test]
fn a_full_disk_is_an_error_and_no_obstacle() {
    fail_everywhere("ENOSPC", Role::Complete);
}

#[test]
fn a_read_only_disk_is_an_error_and_no_obstacle() {
    fail_everywhere("EROFS", Role::Complete);
}

fn kill_everywhere(role: Role, before: Before, wanted: fn(&str) -> bool) -> usize {
    let whole = Run::new(role, before, None);
    assert!(whole.status.success());
    let mut kills = 0;
    for call in whole.calls().into_iter().filter(|call| wanted(call)) {
        // Calls are counted by their name.
        for number in 1.. {
            let run = Run::new(role, before, Some((&call, &format!("signal=SIGKILL:when={number}"))));
            if run.status.success() {
                break;
            }
            assert_eq!(run.status.signal(), Some(Signal::KILL.as_raw()), "{}", run.trace);
            kills += 1;
        }
    }
    println!("killed at {kills} calls");
    kills
}

/// From one of the calls on the disk takes nothing more.
fn fail_everywhere(error: &str, role: Role) {
    let whole = Run::new(role, Before::DaysAgo, None);
    let (mut told, mut silent) = (0, 0);
    for call in whole.calls().into_iter().filter(|call| CHANGES.contains(&call.as_str())) {
        for number in 1.. {
            let fault = format!("error={error}:when={number}+");
            let run = Run::new(role, Before::DaysAgo, Some((&call, &fault)));
            match run.status.code() {
                Some(ERROR) => told += 1,
                Some(0) if run.trace.contains("(INJECTED)") => silent += 1,
                Some(0) => break,
                _ => panic!("{:?}\n{}", run.status, run.trace),
            }
        }
    }
    println!("{error}: told {told} times, went on {silent} times");
    assert!(told > 10, "{told}");
    assert_eq!(silent, 0);
}

struct Run {
    status: ExitStatus,
    trace: String,
}

impl Run {
    /// One dream with a fault of this call, and what must be true after each.
    fn new(role: Role, before: Before, fault: Option<(&str, &str)>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (dir, trace) = (folder.path().join("memory"), folder.path().join("trace"));
        fs::create_dir(&dir).unwrap();
        let previous = match before {
            Before::Never => None,
            Before::DaysAgo => Some(dreamt_before(&dir)),
        };
        let began = Timestamp::now();
        // Of all calls those that have to do with the lock: what the harness does is not meant.
        let paths = ["", ".consolidate-lock", ".consolidate-lock.tmp", ".history", ".history/dream-lock"];
        let paths: Vec<String> =
            paths.iter().map(|path| dir.join(path).to_str().unwrap().to_owned()).collect();
        let mut wrapper = vec![STRACE, "-f", "-qq", "-o", trace.to_str().unwrap()];
        wrapper.extend(paths.iter().flat_map(|path| ["-P", path.trim_end_matches('/')]));
        let fault = fault.map(|(call, fault)| [format!("trace={call}"), format!("inject={call}:{fault}")]);
        wrapper.extend(fault.iter().flatten().flat_map(|option| ["-e", option]));
        let status =
            role.command(&wrapper, &dir).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        let trace = fs::read_to_string(trace).unwrap();

        let lock = DreamLock::new(&dir);
        let seen = lock.look().unwrap();
        assert_eq!(seen.holder, None, "{trace}");
        // Either it was all done, or it never was.
        let done = matches!(role, Role::Complete) && has_bare_number(&dir.join(NAME));
        if done {
            assert!(seen.last.is_some_and(|last| last >= began), "{seen:?}\n{trace}");
        } else {
            assert_eq!(seen.last, previous, "{trace}");
        }
        assert!(done || !status.success() || !matches!(role, Role::Complete), "{trace}");
        let hold = held(&lock);
        assert_eq!(hold.previous(), seen.last);
        hold.release();
        assert_eq!(lock.look().unwrap(), seen);
        Self { status, trace }
    }

    /// The names of the calls that were made, but for one that only builds for tests make before they close a file.
    fn calls(&self) -> BTreeSet<String> {
        let name = |line: &str| Some(line.split_once(' ')?.1.trim_start().split_once('(')?.0.to_owned());
        self.trace
            .lines()
            .filter(|line| !line.contains("resumed>"))
            .filter_map(name)
            .filter(|call| call != "fcntl")
            .collect()
    }
}

fn has_bare_number(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.parse::<u32>().is_ok())
}
