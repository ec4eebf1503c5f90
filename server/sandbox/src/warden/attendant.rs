//! The warden of a program that has its own use for stdin: it watches the process that started it instead of a lifeline.
//!
//! The program has our three streams and stays in our process group, if we were started as the leader of one: whoever
//! signals that group means the program. Then we go to another group, so that even a kill leaves us to clean up. All
//! below us is killed when the watched process is gone, or when the program has ended.

use std::{
    fs::File,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Command, ExitCode, Stdio},
    thread,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, WaitStatus, pidfd_open},
};

use super::{FIRST_PAUSE, LONGEST_PAUSE, exit_code, kill_descendants, kill_for_ever, let_go, whatever_comes};
use crate::HELPER;

/// Ends as the program did, when nothing of it is left. An error means that it never ran.
pub(crate) fn run(mut command: Command, parent: u32) -> io::Result<ExitCode> {
    let nothing = File::open("/dev/null")?;
    let parent = watch(parent)?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // Should the program have stopped us, this wakes us when the server dies.
    rustix::process::set_parent_process_death_signal(Some(Signal::CONT))?;
    if rustix::process::setsid().is_ok() {
        command.process_group(0);
    } else if step_aside().is_ok() {
        // To where we were. Had we to stay, a kill of the group would end us too, and what has left it would survive.
        command.process_group(super::processes::number(rustix::process::getpid()));
    }
    thread::Builder::new().name("parent".to_owned()).spawn(move || {
        // A process that cannot be watched is as good as gone.
        while poll(&mut [PollFd::new(&parent, PollFlags::IN)], None) == Err(Errno::INTR) {}
        kill_for_ever();
    })?;
    let program = Pid::from_child(&command.spawn()?);
    let_go(&nothing);
    let status = wait_for(program);
    clean_up();
    Ok(status.map_or(ExitCode::FAILURE, end_likewise))
}

/// The number may have been given to another process by now; but then it is not our parent any more.
fn watch(parent: u32) -> io::Result<OwnedFd> {
    let parent = i32::try_from(parent).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    let gone = || io::Error::other("whoever asked for it is gone");
    let handle = pidfd_open(parent, PidfdFlags::empty()).map_err(|error| match error {
        Errno::SRCH => gone(),
        error => error.into(),
    })?;
    if rustix::process::getppid() == Some(parent) { Ok(handle) } else { Err(gone()) }
}

/// Out of the group that we lead, which stays, into one beside it. A group can be made only by a process that then
/// leads it, and is there until its last member is collected, though that has ended.
fn step_aside() -> io::Result<()> {
    place_holder().spawn()?;
    let founder = place_holder().process_group(0).spawn()?;
    Ok(rustix::process::setpgid(None, Some(Pid::from_child(&founder)))?)
}

/// The helper without a task ends at once; it is collected with the others.
fn place_holder() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(HELPER).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Collects orphans too.
fn wait_for(program: Pid) -> Option<WaitStatus> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == program => return Some(status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Until there are no children any more, and so no descendants.
fn clean_up() {
    let mut pause = FIRST_PAUSE;
    loop {
        kill_descendants();
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// By the same signal, if it was one: whoever waits for us means the program.
fn end_likewise(status: WaitStatus) -> ExitCode {
    if let Some(signal) = status.terminating_signal().and_then(Signal::from_named_raw) {
        let nothing = Rlimit { current: Some(0), maximum: Some(0) };
        whatever_comes(rustix::process::setrlimit(Resource::Core, nothing));
        whatever_comes(rustix::process::kill_process(rustix::process::getpid(), signal));
    }
    ExitCode::from(exit_code(status))
}
