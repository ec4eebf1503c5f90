//! All the processes of one command, however they try to get away: found, signalled, reaped.
//!
//! A process group ends at the first `setsid`, so several marks that a child inherits are used together: the
//! group and session of the shell, a variable in the environment, and an odd soft limit on message queues (which
//! survives `env -i`, programs that write their title over their environment, and death). Orphans come to us, because the server
//! is a subreaper; so every survivor is below one of our own children, and only those are looked at.
//!
//! Knows nothing of output, timeouts or jobs.

use std::{
    ffi::OsStr,
    sync::OnceLock,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};

/// The variable that marks a command's processes.
pub(super) const JOB_VARIABLE: &str = "REVERIE_JOB";

/// For so long the machine cannot have run out of process numbers and started over.
const YOUNG: Duration = Duration::from_secs(1);

/// How often [`Family::finish_off`] looks again, and how many times.
const FINISH_PAUSE: Duration = Duration::from_millis(5);
const FINISH_ROUNDS: usize = 200;

/// A shell and all that descends from it.
///
/// Its signals go to the group by number, so the shell must stay unreaped, and its number thereby taken, until
/// [`Family::reap_shell`].
#[derive(Clone)]
pub(super) struct Family {
    shell: Pid,
    mark: Mark,
}

/// What the processes of one command carry.
#[derive(Clone)]
pub(super) struct Mark {
    name: String,
    made: Instant,
    #[cfg(target_os = "linux")]
    queue_limit: Option<u64>,
}

/// How the shell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShellEnd {
    Exited(i32),
    Signalled(i32),
}

impl Mark {
    /// A mark no other command of this process has; makes the process a subreaper the first time.
    pub(super) fn new() -> Self {
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
        }
    }

    /// The soft limits, on message queues and on processes, that the shell must set before it runs anything.
    /// Empty where there is nothing to set.
    pub(super) fn limits(&self) -> [String; 2] {
        #[cfg(target_os = "linux")]
        return [self.queue_limit, linux::task_limit()]
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
    pub(super) fn new(shell: Pid, mark: Mark) -> Self {
        Self { shell, mark }
    }

    /// Whether the shell has ended. Leaves it unreaped.
    pub(super) fn shell_has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error means that it is not our child any more, so nothing is left to wait for.
        !matches!(rustix::process::waitid(WaitId::Pid(self.shell), options), Ok(None))
    }

    /// Collects the shell's status. `None` if it still runs or was collected before.
    pub(super) fn reap_shell(&self) -> Option<ShellEnd> {
        let (_, status) = rustix::process::waitpid(Some(self.shell), WaitOptions::NOHANG).ok()??;
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

    /// The processes that still run, the shell included. Reaps the dead ones that were left to us.
    pub(super) fn living(&self) -> Vec<Pid> {
        #[cfg(target_os = "linux")]
        return linux::living(self.shell, &self.mark);
        #[cfg(not(target_os = "linux"))]
        if self.shell_has_ended() { Vec::new() } else { vec![self.shell] }
    }

    /// Sends a signal to the group and to everyone outside it, and says how many were outside or in it.
    pub(super) fn signal(&self, signal: Signal) -> usize {
        // The group first and as one: the kernel does not let a fork slip through between its members.
        deliver(rustix::process::kill_process_group(self.shell, signal));
        let living = self.living();
        for process in &living {
            deliver(rustix::process::kill_process(*process, signal));
        }
        living.len()
    }

    /// Kills until nobody is left, waiting a little between the rounds, and reaps the shell. Blocks, for at most
    /// a second.
    pub(super) fn finish_off(&self) {
        for _ in 0..FINISH_ROUNDS {
            if self.signal(Signal::KILL) == 0 {
                break;
            }
            std::thread::sleep(FINISH_PAUSE);
        }
        self.reap_shell();
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
    use std::{
        collections::{HashMap, HashSet},
        fs,
    };

    use rustix::process::{Pid, Resource, WaitOptions};

    use super::{JOB_VARIABLE, Mark};

    /// How many tasks a command may add to those on the machine: far above any build, far below what a fork
    /// bomb needs to stop the machine.
    const TASKS_PER_COMMAND: u64 = 8192;

    struct Process {
        pid: i32,
        parent: i32,
        group: i32,
        session: i32,
        dead: bool,
    }

    /// A few bytes below the limit in force, another number for each command.
    pub(super) fn odd_queue_limit(number: u64) -> Option<u64> {
        let limit = rustix::process::getrlimit(Resource::Msgqueue);
        let base = limit.current.unwrap_or(819_200);
        let room = (base / 2).min(65_536);
        (room > 0).then(|| base - 1 - number % room)
    }

    /// `None` where the limit in force is lower.
    pub(super) fn task_limit() -> Option<u64> {
        let limit = tasks_on_the_machine()? + TASKS_PER_COMMAND;
        let in_force = rustix::process::getrlimit(Resource::Nproc).current;
        in_force.is_none_or(|in_force| in_force > limit).then_some(limit)
    }

    fn tasks_on_the_machine() -> Option<u64> {
        let load = fs::read_to_string("/proc/loadavg").ok()?;
        load.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
    }

    pub(super) fn living(shell: Pid, mark: &Mark) -> Vec<Pid> {
        let shell = shell.as_raw_nonzero().get();
        let server = rustix::process::getpid().as_raw_nonzero().get();
        let mut table = Table::new(oldest(shell, mark));
        let mut pending: Vec<Process> = table
            .roots(server)
            .into_iter()
            .filter(|child| {
                [child.pid, child.group, child.session].contains(&shell) || carries(child.pid, mark)
            })
            .collect();
        let mut living = Vec::new();
        while let Some(process) = pending.pop() {
            pending.extend(table.children(process.pid));
            let Some(pid) = Pid::from_raw(process.pid) else { continue };
            if !process.dead {
                living.push(pid);
            } else if process.parent == server && process.pid != shell {
                // An orphan that ended: ours to collect, nobody else's. The shell's own status is wanted later.
                let reaped = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
                tracing::trace!(pid = process.pid, ok = reaped.is_ok(), "reaped an orphan");
            }
        }
        living
    }

    /// Numbers are given out in rising order, so whoever descends from the shell has a higher one, unless the
    /// numbers have started over since; a young shell can tell by the latest one.
    fn oldest(shell: i32, mark: &Mark) -> i32 {
        let latest = || -> Option<i32> {
            fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().last()?.parse().ok()
        };
        if mark.is_young() && latest().is_some_and(|latest| latest >= shell) { shell } else { 0 }
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

    /// Who descends from whom: asked process by process where the kernel has `children` files, else from one
    /// pass over all of `/proc`.
    struct Table {
        all: Option<HashMap<i32, Vec<Process>>>,
    }

    impl Table {
        /// `oldest` is the lowest number a process of interest can have.
        fn new(oldest: i32) -> Self {
            let server = rustix::process::getpid().as_raw_nonzero().get();
            let has_files = fs::exists(format!("/proc/{server}/task/{server}/children")).unwrap_or(false);
            Self { all: (!has_files).then(|| by_parent(oldest)) }
        }

        /// Our own children, and those who may have become so while they were looked for.
        fn roots(&mut self, server: i32) -> Vec<Process> {
            let mut roots = self.children(server);
            match &mut self.all {
                Some(all) => {
                    let known: HashSet<i32> = all.values().flatten().map(|process| process.pid).collect();
                    let lost = all.extract_if(|parent, _| *parent != 0 && !known.contains(parent));
                    roots.extend(lost.flat_map(|(_, orphans)| orphans));
                }
                None => {
                    // The kernel may skip one while another ends; a second look sees it.
                    let seen: HashSet<i32> = roots.iter().map(|process| process.pid).collect();
                    let more = listed_children(server).into_iter();
                    roots.extend(more.filter(|process| !seen.contains(&process.pid)));
                }
            }
            roots
        }

        fn children(&mut self, parent: i32) -> Vec<Process> {
            match &mut self.all {
                // Taken out, so that no row is seen twice even if `/proc` shows a loop.
                Some(all) => all.remove(&parent).unwrap_or_default(),
                None => listed_children(parent),
            }
        }
    }

    fn listed_children(parent: i32) -> Vec<Process> {
        let Ok(tasks) = fs::read_dir(format!("/proc/{parent}/task")) else { return Vec::new() };
        tasks
            .flatten()
            .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
            .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>())
            .filter_map(process)
            .collect()
    }

    fn by_parent(oldest: i32) -> HashMap<i32, Vec<Process>> {
        let mut table: HashMap<i32, Vec<Process>> = HashMap::new();
        let Ok(entries) = fs::read_dir("/proc") else { return table };
        let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        for process in numbers.filter(|number| *number >= oldest).filter_map(process) {
            table.entry(process.parent).or_default().push(process);
        }
        table
    }

    fn process(pid: i32) -> Option<Process> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold anything, parentheses included; the last one closes it.
        let name_end = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = String::from_utf8_lossy(stat.get(name_end + 1..)?).into_owned();
        let mut fields = rest.split_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        Some(Process { pid, parent, group, session, dead: matches!(state, "Z" | "X" | "x") })
    }
}
