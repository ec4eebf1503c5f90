//! Which process it is that holds the lock, and whether it lives: a number alone is given out again.

use std::fs;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub pid: u32,
    /// In ticks since the machine started; only Linux tells.
    pub start: Option<u64>,
    /// Inside a container the same numbers mean other processes.
    pub namespace: Option<String>,
}

impl Process {
    pub fn own() -> Self {
        let pid = std::process::id();
        Self { pid, start: stat(pid).map(|stat| stat.start), namespace: own_namespace() }
    }

    pub fn numbered(pid: u32) -> Self {
        Self { pid, start: None, namespace: None }
    }

    /// Of a process that cannot be seen from here its heartbeat says all there is to know.
    pub fn may_live(&self) -> bool {
        if self.namespace.is_some() && self.namespace != own_namespace() {
            return true;
        }
        match stat(self.pid) {
            Some(stat) => !stat.dead && self.start.is_none_or(|start| start == stat.start),
            None => answers(self.pid),
        }
    }
}

struct Stat {
    /// Also one that is only waited for by its parent.
    dead: bool,
    start: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, parentheses included; the last one closes it.
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = String::from_utf8_lossy(stat.get(name_end + 1..)?).into_owned();
    let mut fields = rest.split_whitespace();
    let dead = matches!(fields.next()?, "Z" | "X" | "x");
    // Field 22 of all, counted from the state, which is the third.
    let start = fields.nth(18)?.parse().ok()?;
    Some(Stat { dead, start })
}

fn own_namespace() -> Option<String> {
    fs::read_link("/proc/self/ns/pid").ok()?.to_str().map(str::to_owned)
}

fn answers(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| matches!(test_kill_process(pid), Ok(()) | Err(Errno::PERM)))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_lives_until_it_is_killed_even_if_nobody_asks_how_it_ended() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let process = Process::numbered(child.id());
        assert!(process.may_live());
        child.kill().unwrap();
        // Its end of the pipe is closed when it is dead, and it is not waited for yet.
        std::io::copy(child.stdout.as_mut().unwrap(), &mut std::io::sink()).unwrap();
        while stat(child.id()).is_some_and(|stat| !stat.dead) {
            std::thread::yield_now();
        }
        assert!(!process.may_live());
        child.wait().unwrap();
        assert!(!process.may_live());
    }

    #[test]
    fn numbers_that_no_process_has_are_dead() {
        for pid in [0, u32::MAX, i32::MAX as u32] {
            assert!(!Process::numbered(pid).may_live(), "{pid}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_same_number_with_another_start_is_another_process() {
        let own = Process::own();
        assert!(own.may_live());
        assert!(!Process { start: own.start.map(|start| start + 1), ..own }.may_live());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn of_another_container_nothing_is_known() {
        let far = Process { namespace: Some("pid:[1]".to_owned()), ..Process::numbered(u32::MAX) };
        assert!(far.may_live());
    }
}
