//! Who descends from whom, as `/proc` tells it. Elsewhere than on Linux nobody is found.

use std::{
    collections::{HashMap, HashSet},
    fs,
};

use rustix::process::Pid;

/// One process at the moment it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: Pid,
    /// These are 0 when they name a process that is not to be seen from here, as from inside a container.
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    /// Ended, but not collected by its parent.
    pub dead: bool,
}

/// All below a process, the dead included. A look is not atomic: who forks or loses its parent meanwhile may be
/// missed, so nobody is gone for sure before a later look says the same.
pub fn descendants(root: Pid) -> Vec<Process> {
    let mut found = Vec::new();
    for_each_descendant(root, |process| found.push(*process));
    found
}

/// Likewise, one by one as they are found: what is known of them is as fresh as it can be.
pub fn for_each_descendant(root: Pid, mut visit: impl FnMut(&Process)) {
    let mut table = Table::new(0);
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        table.for_each_child(parent, |child| {
            visit(child);
            parents.push(child.pid);
        });
    }
}

/// Asked process by process where the kernel has `children` files, else from one pass over all of `/proc`.
pub struct Table {
    all: Option<HashMap<i32, Vec<Process>>>,
}

impl Table {
    /// `oldest` is the lowest number a process of interest can have.
    pub fn new(oldest: i32) -> Self {
        let own = number(rustix::process::getpid());
        let has_files = fs::exists(format!("/proc/{own}/task/{own}/children")).unwrap_or(false);
        Self { all: (!has_files).then(|| by_parent(oldest)) }
    }

    /// Our own children, and those who may have become so while they were looked for.
    pub fn roots(&mut self) -> Vec<Process> {
        let own = rustix::process::getpid();
        let mut roots = self.children(own);
        if let Some(all) = &mut self.all {
            let known: HashSet<i32> = all.values().flatten().map(|process| number(process.pid)).collect();
            let lost = all.extract_if(|parent, _| *parent != 0 && !known.contains(parent));
            roots.extend(lost.flat_map(|(_, orphans)| orphans));
        }
        roots
    }

    pub fn children(&mut self, parent: Pid) -> Vec<Process> {
        let mut children = Vec::new();
        self.for_each_child(parent, |child| children.push(*child));
        children
    }

    pub fn for_each_child(&mut self, parent: Pid, visit: impl FnMut(&Process)) {
        match &mut self.all {
            // Taken out, so that no row is seen twice even if `/proc` shows a loop.
            Some(all) => all.remove(&number(parent)).unwrap_or_default().iter().for_each(visit),
            None => for_each_listed_child(parent, visit),
        }
    }
}

/// The kernel may skip one in a list while another of it ends, so lists are read until nobody new is in them.
fn for_each_listed_child(parent: Pid, mut visit: impl FnMut(&Process)) {
    let mut seen = HashSet::new();
    loop {
        let before = seen.len();
        let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", number(parent))) else { return };
        for list in tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok()) {
            let numbers = list.split_whitespace().filter_map(|pid| pid.parse().ok());
            let new = numbers.filter(|pid| seen.insert(*pid)).filter_map(process);
            // Numbers may be given out anew while the list is read: whoever has another parent now is another.
            new.filter(|child| child.parent == number(parent)).for_each(|child| visit(&child));
        }
        if seen.len() == before {
            return;
        }
    }
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

pub(super) fn process(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, parentheses included; the last one closes it.
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = String::from_utf8_lossy(stat.get(name_end + 1..)?).into_owned();
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let mut numbers = fields.map_while(|field| field.parse().ok());
    let (parent, group, session) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let dead = matches!(state, "Z" | "X" | "x");
    Some(Process { pid: Pid::from_raw(pid)?, parent, group, session, dead })
}

/// A process's number as the kernel writes it.
pub fn number(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn children_and_theirs_are_found_by_both_ways() {
        // The inner shell says that it runs; both then wait for an input that does not come.
        let mut outer = Command::new("/bin/sh")
            .args(["-c", "sh -c 'echo; read line; :'; :"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Read::read_exact(outer.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let pid = Pid::from_child(&outer);
        let inner = descendants(pid);
        let mut whole = Table { all: Some(by_parent(0)) };
        assert_eq!(whole.children(pid), inner);
        let [inner] = *inner else { panic!("{inner:?}") };
        assert_eq!((inner.parent, inner.dead), (number(pid), false));
        let roots = Table { all: Some(by_parent(0)) }.roots();
        assert!(roots.iter().any(|process| process.pid == pid));
        drop(outer.stdin.take());
        outer.wait().unwrap();
        assert_eq!(process(number(pid)), None);
    }
}
