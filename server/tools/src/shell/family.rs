//! All the processes of one command, however they try to get away: found, signalled, reaped.
//!
//! A process group ends at the first `setsid`, so several marks that a child inherits are used together: the
//! group and session of the shell, a variable in the environment, and an odd soft limit on message queues (which
//! survives `env -i`, programs that write their title over their environment, and death). Orphans come to us or to the
//! command's warden, because both are subreapers; so every survivor is below one of our own children, and only those
//! are looked at.
//!
//! Knows nothing of output, timeouts or jobs.

use std::{
    ffi::OsStr,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};
use sandbox::warden::processes::{Process, number};

/// The variable that marks a command's processes.
pub(super) const JOB_VARIABLE: &str = "REVERIE_JOB";

/// For so long the machine cannot have run out of process numbers and started over.
const YOUNG: Duration = Duration::from_secs(1);

/// How often [`Family::finish_off`] looks again, and how many times.
const FINISH_PAUSE: Duration = Duration::from_millis(5);
const FINISH_ROUNDS: usize = 200;

/// A shell and all that descends from it.
///
/// Its signals go to the group by number, so our child must stay unreaped, and its number thereby taken, until
/// [`Family::reap`].
#[derive(Clone)]
pub(super) struct Family {
    /// The shell itself or its warden; its session and the mark tell who belongs to it.
    child: Pid,
    held: Held,
    mark: Mark,
}

#[derive(Clone)]
enum Held {
    /// Our child is the shell, which leads the group.
    Directly,
    /// Our child is the warden, which is no part of the family.
    ByWarden { shell: Arc<OnceLock<Pid>> },
}

/// How our child is: the shell, or the warden, which exits only when nothing is left below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Child {
    Runs,
    Exited,
    Killed,
}

/// What the processes of one command carry.
#[derive(Clone)]
pub(super) struct Mark {
    name: String,
    made: Instant,
    #[cfg(target_os = "linux")]
    queue_limit: Option<u64>,
    /// With more tasks than this on the machine, the command may be the cause.
    #[cfg(target_os = "linux")]
    most_tasks: Option<usize>,
    most_processes: usize,
}

/// How the shell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShellEnd {
    Exited(i32),
    Signalled(i32),
}

impl Mark {
    /// A mark no other command of this process has, for at most about so many processes; makes the process a
    /// subreaper the first time.
    pub(super) fn new(most_processes: usize) -> Self {
        use std::sync::atomic::{AtomicU64, Ordering};
        static COUNTER: AtomicU64 = AtomicU64::new(1);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        become_subreaper();
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        Self {
            name: format!("{}-{}-{number}", std::process::id(), since.as_nanos()),
            made: Instant::now(),
            #[cfg(target_os = "linux")]
            queue_limit: linux::odd_queue_limit(number),
            #[cfg(target_os = "linux")]
            most_tasks: linux::tasks_on_the_machine().map(|tasks| tasks + most_processes),
            most_processes,
        }
    }

    /// The soft limits, on message queues and on processes, that the shell must set before it runs anything.
    /// Empty where there is nothing to set.
    pub(super) fn limits(&self) -> [String; 2] {
        #[cfg(target_os = "linux")]
        return [self.queue_limit, self.most_tasks.and_then(linux::limit_below_that_in_force)]
            .map(|limit| limit.map_or_else(String::new, |limit| limit.to_string()));
        #[cfg(not(target_os = "linux"))]
        [String::new(), String::new()]
    }

    fn is_young(&self) -> bool {
        self.made.elapsed() < YOUNG
    }

    /// The value of [`JOB_VARIABLE`].
    pub(super) fn name(&self) -> &OsStr {
        OsStr::new(&self.name)
    }
}

impl Family {
    /// The family of a shell that was spawned a moment ago with the mark in its environment.
    pub(super) fn of_shell(shell: Pid, mark: Mark) -> Self {
        Self { child: shell, held: Held::Directly, mark }
    }

    /// Likewise, of the shell that this warden is about to start.
    pub(super) fn of_warden(warden: Pid, mark: Mark) -> Self {
        Self { child: warden, held: Held::ByWarden { shell: Arc::default() }, mark }
    }

    /// The shell runs and leads this group.
    pub(super) fn set_group(&self, leader: Pid) {
        if let Held::ByWarden { shell } = &self.held {
            // Said once only.
            shell.get_or_init(|| leader);
        }
    }

    /// Whether the shell runs or has run.
    pub(super) fn has_begun(&self) -> bool {
        match &self.held {
            Held::Directly => true,
            Held::ByWarden { shell } => shell.get().is_some(),
        }
    }

    /// Leaves our child unreaped.
    pub(super) fn child(&self) -> Child {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match rustix::process::waitid(WaitId::Pid(self.child), options) {
            Ok(None) => Child::Runs,
            Ok(Some(status)) if status.exited() => Child::Exited,
            // An error means that it is not our child any more, so nothing is left to wait for.
            Ok(Some(_)) | Err(_) => Child::Killed,
        }
    }

    /// Collects our child's status. `None` if it still runs or was collected before.
    pub(super) fn reap(&self) -> Option<ShellEnd> {
        let (_, status) = rustix::process::waitpid(Some(self.child), WaitOptions::NOHANG).ok()??;
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Some(ShellEnd::Exited(code)),
            (None, Some(signal)) => Some(ShellEnd::Signalled(signal)),
            (None, None) => None,
        }
    }

    /// Whether looking for its processes is a matter of microseconds: then they are the latest on the machine.
    pub(super) fn is_young(&self) -> bool {
        self.mark.is_young()
    }

    /// How many processes still run, the shell included. Reaps the dead ones that were left to us.
    pub(super) fn living(&self) -> usize {
        let mut count = 0;
        self.for_each_living(|_| count += 1);
        count
    }

    /// Whether it has become more than a command may be. Cheap while the machine is not full.
    pub(super) fn is_swarm(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.mark.most_tasks.is_some_and(|most| linux::tasks_on_the_machine() > Some(most))
            && self.living() > self.mark.most_processes / 2;
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Sends a signal to the group and to everyone outside it, once to each, for many take a second one as an order to
    /// drop everything; says how many there are.
    pub(super) fn signal(&self, signal: Signal) -> usize {
        // The group first and as one: the kernel does not let a fork slip through between its members.
        let (group, mut is_told) = match &self.held {
            Held::Directly => (Some(self.child), true),
            // A warden collects the shell, so that its number is the group's for sure only when somebody in it was
            // seen just now.
            Held::ByWarden { shell } => (shell.get().copied(), false),
        };
        if let Held::Directly = self.held {
            deliver(rustix::process::kill_process_group(self.child, signal));
        }
        let mut count = 0;
        self.for_each_living(|process| {
            count += 1;
            match group.filter(|group| number(*group) == process.group) {
                Some(group) if !is_told => {
                    is_told = true;
                    deliver(rustix::process::kill_process_group(group, signal));
                }
                Some(_) => {}
                None => deliver(rustix::process::kill_process(process.pid, signal)),
            }
        });
        count
    }

    fn for_each_living(&self, mut visit: impl FnMut(&Process)) {
        #[cfg(target_os = "linux")]
        linux::for_each_living(self.child, &self.mark, |process| {
            let is_warden = matches!(self.held, Held::ByWarden { .. }) && process.pid == self.child;
            if !is_warden {
                visit(process);
            }
        });
        #[cfg(not(target_os = "linux"))]
        if let Held::Directly = self.held
            && self.child() == Child::Runs
        {
            let own = number(self.child);
            visit(&Process { pid: self.child, parent: 0, group: own, session: 0, dead: false });
        }
    }

    /// Signals our child itself: the shell, or a warden that does not do its duty.
    pub(super) fn signal_child(&self, signal: Signal) {
        deliver(rustix::process::kill_process(self.child, signal));
    }

    /// Kills until nobody is left, waiting a little between the rounds, and reaps our child. Blocks, for at most
    /// a second.
    pub(super) fn finish_off(&self) {
        for _ in 0..FINISH_ROUNDS {
            if self.signal(Signal::KILL) == 0 && self.reap().is_some() {
                return;
            }
            std::thread::sleep(FINISH_PAUSE);
        }
        self.signal_child(Signal::KILL);
    }
}

/// A process that is gone already is what was wanted; one that is not ours to signal (`sudo`) cannot be helped.
fn deliver(result: rustix::io::Result<()>) {
    if let Err(error) = result
        && error != rustix::io::Errno::SRCH
    {
        tracing::debug!(%error, "a process could not be signalled");
    }
}

fn become_subreaper() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        #[cfg(target_os = "linux")]
        if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
            tracing::warn!(%error, "not a subreaper: a daemon started by a command may escape");
        }
    });
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;

    use rustix::process::{Pid, Resource, WaitOptions};
    use sandbox::warden::processes::{Process, Table, number};

    use super::{JOB_VARIABLE, Mark};

    /// A few bytes below the limit in force, another number for each command.
    pub(super) fn odd_queue_limit(number: u64) -> Option<u64> {
        let limit = rustix::process::getrlimit(Resource::Msgqueue);
        let base = limit.current.unwrap_or(819_200);
        let room = (base / 2).min(65_536);
        (room > 0).then(|| base - 1 - number % room)
    }

    /// `None` where the limit in force is lower.
    pub(super) fn limit_below_that_in_force(tasks: usize) -> Option<u64> {
        let limit = tasks as u64;
        let in_force = rustix::process::getrlimit(Resource::Nproc).current;
        in_force.is_none_or(|in_force| in_force > limit).then_some(limit)
    }

    pub(super) fn tasks_on_the_machine() -> Option<usize> {
        let load = fs::read_to_string("/proc/loadavg").ok()?;
        load.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
    }

    pub(super) fn for_each_living(child: Pid, mark: &Mark, mut visit: impl FnMut(&Process)) {
        let child = number(child);
        let server = number(rustix::process::getpid());
        let mut table = Table::new(oldest(child, mark));
        let mut parents = Vec::new();
        let mut meet = |process: &Process| {
            if !process.dead {
                visit(process);
            } else if process.parent == server && number(process.pid) != child {
                // An orphan that ended: ours to collect, nobody else's. Our child's own status is wanted later.
                let reaped = rustix::process::waitpid(Some(process.pid), WaitOptions::NOHANG);
                tracing::trace!(pid = number(process.pid), ok = reaped.is_ok(), "reaped an orphan");
            }
        };
        for root in table.roots() {
            let pid = number(root.pid);
            if [pid, root.group, root.session].contains(&child) || carries(pid, mark) {
                meet(&root);
                parents.push(root.pid);
            }
        }
        while let Some(parent) = parents.pop() {
            table.for_each_child(parent, |process| {
                meet(process);
                parents.push(process.pid);
            });
        }
    }

    /// Numbers are given out in rising order, so whoever descends from our child has a higher one, unless the
    /// numbers have started over since; a young one can tell by the latest one.
    fn oldest(child: i32, mark: &Mark) -> i32 {
        let latest = || -> Option<i32> {
            fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().last()?.parse().ok()
        };
        if mark.is_young() && latest().is_some_and(|latest| latest >= child) { child } else { 0 }
    }

    fn carries(pid: i32, mark: &Mark) -> bool {
        has_variable(pid, mark) || has_limit(pid, mark)
    }

    fn has_variable(pid: i32, mark: &Mark) -> bool {
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
        environment.split(|byte| *byte == 0).any(|entry| {
            entry
                .strip_prefix(JOB_VARIABLE.as_bytes())
                .and_then(|rest| rest.strip_prefix(b"="))
                .is_some_and(|value| value == mark.name.as_bytes())
        })
    }

    fn has_limit(pid: i32, mark: &Mark) -> bool {
        let (Some(odd), Ok(limits)) = (mark.queue_limit, fs::read_to_string(format!("/proc/{pid}/limits")))
        else {
            return false;
        };
        limits
            .lines()
            .find_map(|line| line.strip_prefix("Max msgqueue size"))
            .and_then(|rest| rest.split_whitespace().next())
            .is_some_and(|soft| soft.parse() == Ok(odd))
    }
}
