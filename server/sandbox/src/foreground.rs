//! Runs a program behind sealed walls and waits for it, for a process that does nothing else: `reverie debug sandbox`.
//!
//! The program has our three streams, though not a terminal's input: it runs in a session of its own. When it ends, or
//! its time is over, or we are killed, what it left behind is ended too; for the last there is a warden between us.

use std::{
    ffi::{OsStr, OsString},
    io::{self, IsTerminal as _},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fd::OwnedFd,
    process::{Pid, PidfdFlags, WaitOptions, pidfd_open},
};

use crate::{
    launch::{Launch, wrap},
    rebuilt_environment,
    walls::Walls,
    warden::{self, processes},
};

/// More processes than any command needs that only looks. Root has no other limit.
const MOST_PROCESSES: usize = 256;
/// How often they are counted.
const COUNTING: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// How often the killed are looked after, and how long.
const COLLECTING: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
const COLLECTING_LIMIT: Duration = Duration::from_secs(8);

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Exited(i32),
    Signalled(i32),
    /// It was ended because its time was over.
    TooLong,
    /// It was ended because it had become too many processes.
    TooMany,
}

/// Must be called in a process without other children: they would be taken for the program's.
pub fn run(
    walls: Walls,
    home: &Path,
    program: &OsStr,
    arguments: &[OsString],
    limit: Duration,
) -> io::Result<Ending> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let launch = Launch { walls: Some(walls), ..Launch::ending_with_this_process() };
    let line = wrap(&helper(), &launch);
    let Some((helper, before)) = line.split_first() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut command = Command::new(helper);
    command
        .args(before)
        .arg(program)
        .args(arguments)
        .env_clear()
        .envs(rebuilt_environment(home, &std::env::current_dir()?));
    if io::stdin().is_terminal() {
        command.stdin(Stdio::null());
    }
    let mut child = command.spawn()?;
    let handle = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    let early = wait(&handle, Instant::now() + limit);
    warden::kill_descendants();
    let status = child.wait()?;
    end_what_is_left();
    Ok(early.unwrap_or_else(|| ending(status)))
}

fn helper() -> PathBuf {
    // This name stays right when another file has been put in the place of the one that runs.
    warden::helper_of_this_process().unwrap_or_else(|| PathBuf::from("/proc/self/exe"))
}

/// Until the program has ended, or `Some` if it must be.
fn wait(program: &OwnedFd, deadline: Instant) -> Option<Ending> {
    loop {
        if poll(&mut [PollFd::new(program, PollFlags::IN)], Some(&COUNTING)).is_ok_and(|ready| ready > 0) {
            return None;
        }
        if Instant::now() >= deadline {
            return Some(Ending::TooLong);
        }
        let mut count = 0;
        processes::for_each_descendant(rustix::process::getpid(), |_| count += 1);
        if count > MOST_PROCESSES {
            return Some(Ending::TooMany);
        }
    }
}

fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, signal) => Ending::Signalled(signal.unwrap_or_default()),
    }
}

/// Whoever forks meanwhile is met in a later round. A process that does not die is stuck in the kernel.
fn end_what_is_left() {
    let deadline = Instant::now() + COLLECTING_LIMIT;
    loop {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                // No children are left.
                Err(_) => return,
            }
        }
        if Instant::now() >= deadline {
            return;
        }
        warden::kill_descendants();
        poll(&mut [], Some(&COLLECTING)).ok();
    }
}
