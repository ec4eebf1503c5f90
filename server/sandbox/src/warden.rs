//! The process between the server and a command, which sees to it that the command does not outlive the server.
//!
//! The server may be killed at any moment and can then do nothing more itself. What it leaves behind is the other
//! end of a lifeline: the warden's stdin, a socket (or a pipe) that only the server holds. When it closes, the
//! warden kills everything below it. As a subreaper it is the parent of every orphan, so it has no children only
//! when nothing is left, whatever double forks and sessions of their own they tried.
//!
//! Over the lifeline it also says what became of the command, in [`Report`]s: its own life goes on as long as
//! anything of the command does. It stays outside of any walls, so that what is inside cannot reach it.

pub(crate) mod attendant;
pub mod processes;

use std::{
    collections::HashSet,
    fs::File,
    io::{self, Write},
    os::{fd::AsFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{Pid, Signal, WaitOptions, WaitStatus},
};

/// The pauses between two rounds of killing: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_micros(500);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// What the warden tells over the lifeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// The command runs, as the leader of a process group with this number. Without this report it never ran, and
    /// what the helper wrote to stderr says why.
    Started(i32),
    Exited(i32),
    Signalled(i32),
}

impl Report {
    /// All reports are so many bytes long.
    pub const BYTES: usize = 5;

    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let (kind, number) = match self {
            Self::Started(group) => (b'+', group),
            Self::Exited(code) => (b'=', code),
            Self::Signalled(signal) => (b'!', signal),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [kind, a, b, c, d]
    }

    pub fn from_bytes([kind, a, b, c, d]: [u8; Self::BYTES]) -> Option<Self> {
        let number = i32::from_le_bytes([a, b, c, d]);
        match kind {
            b'+' => Some(Self::Started(number)),
            b'=' => Some(Self::Exited(number)),
            b'!' => Some(Self::Signalled(number)),
            _ => None,
        }
    }
}

/// Whether this program's `main` begins with [`crate::enter`], and so can be started again as the helper.
static ENTERED: AtomicBool = AtomicBool::new(false);

pub(crate) fn note_entered() {
    ENTERED.store(true, Ordering::Relaxed);
}

/// The running program, if it can be started again as the helper: a test's executable, say, cannot.
pub fn helper_of_this_process() -> Option<PathBuf> {
    if !ENTERED.load(Ordering::Relaxed) {
        return None;
    }
    // This name stays right when an update has put another file in the place of the one that runs.
    let running = Path::new("/proc/self/exe");
    if cfg!(target_os = "linux") && running.exists() {
        return Some(running.to_owned());
    }
    std::env::current_exe().ok()
}

/// Runs the command without input, in a session without a terminal and a process group of its own, and returns
/// its status when nothing of it is left. An error means that it never ran.
pub(crate) fn run(mut command: Command) -> io::Result<ExitCode> {
    let mut lifeline = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let nothing = File::open("/dev/null")?;
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        // Should the command have stopped its warden, this wakes it when the server dies.
        rustix::process::set_parent_process_death_signal(Some(Signal::CONT))?;
    }
    match rustix::process::setsid() {
        // Whoever started us as the leader of a group has to keep us from its terminal.
        Ok(_) | Err(Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    let watched = lifeline.try_clone()?;
    thread::Builder::new().name("lifeline".to_owned()).spawn(move || {
        wait_until_closed(&watched);
        kill_for_ever();
    })?;
    let child = command.stdin(Stdio::null()).process_group(0).spawn()?;
    let program = Pid::from_child(&child);
    tell(&mut lifeline, Report::Started(program.as_raw_nonzero().get()));
    let_go(&nothing);
    Ok(collect(program, &mut lifeline))
}

/// Keeps nothing that others could wait for: neither the command's pipes nor its folder.
fn let_go(nothing: &File) {
    let [input, output, errors, folder] = [
        rustix::stdio::dup2_stdin(nothing),
        rustix::stdio::dup2_stdout(nothing),
        rustix::stdio::dup2_stderr(nothing),
        rustix::process::chdir("/"),
    ];
    // The command runs already; that its end may be seen late is no reason to end it.
    whatever_comes(input.and(output).and(errors).and(folder));
}

/// Collects the dead until there are no children any more, and so no descendants.
fn collect(program: Pid, lifeline: &mut File) -> ExitCode {
    let mut code = u8::MAX;
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == program => {
                tell(lifeline, report(status));
                code = exit_code(status);
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return ExitCode::from(code),
        }
    }
}

fn report(status: WaitStatus) -> Report {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Report::Exited(code),
        (None, signal) => Report::Signalled(signal.unwrap_or_default()),
    }
}

/// As a shell would give it.
fn exit_code(status: WaitStatus) -> u8 {
    let code = match report(status) {
        Report::Signalled(signal) => signal.saturating_add(128),
        Report::Exited(code) | Report::Started(code) => code,
    };
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// A server that does not listen any more has closed the lifeline, and that is seen elsewhere.
fn tell(lifeline: &mut File, report: Report) {
    drop(lifeline.write_all(&report.to_bytes()));
}

fn wait_until_closed(lifeline: &File) {
    // That the other end is closed is told without being asked for. A lifeline that cannot be watched is none.
    while poll(&mut [PollFd::new(lifeline, PollFlags::empty())], None) == Err(Errno::INTR) {}
}

/// The process ends when its last child is collected.
fn kill_for_ever() {
    let mut pause = FIRST_PAUSE;
    loop {
        kill_descendants();
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Once. Groups are killed as one: the kernel lets no fork slip through between their members. Nobody from outside can
/// be in them if they are of another session than ours or we lead it; nor will be if one of ours leads them.
pub(crate) fn kill_descendants() {
    let own = rustix::process::getpid();
    let us = processes::process(processes::number(own));
    let mut groups: HashSet<i32> = us.iter().map(|us| us.group).collect();
    processes::for_each_descendant(own, |process| {
        let is_below_us = us.is_some_and(|us| {
            us.session == processes::number(own)
                || us.session != process.session
                || [process.pid, own].map(processes::number).contains(&process.group)
        });
        // Whoever is gone already is what was wanted; whoever is not ours to kill (`sudo`) cannot be helped.
        if let Some(group) = Pid::from_raw(process.group)
            && is_below_us
            && groups.insert(process.group)
        {
            whatever_comes(rustix::process::kill_process_group(group, Signal::KILL));
        }
        whatever_comes(rustix::process::kill_process(process.pid, Signal::KILL));
    });
}

/// Nobody is left to hear of an error.
fn whatever_comes(_result: rustix::io::Result<()>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_as_they_were_written() {
        for report in
            [Report::Started(4_194_304), Report::Exited(0), Report::Exited(255), Report::Signalled(9)]
        {
            assert_eq!(Report::from_bytes(report.to_bytes()), Some(report));
        }
        assert_eq!(Report::from_bytes(*b"hello"), None);
    }

    #[test]
    fn a_program_that_does_not_begin_with_the_helper_has_none() {
        assert_eq!(helper_of_this_process(), None);
    }
}
