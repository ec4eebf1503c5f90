//! A holder that is stopped for longer than anyone waits, and goes on as if nothing had been.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Stdio};

use expect_test::{Expect, expect};
use jiff::Timestamp;
use memory::dream_lock::{DreamLock, Seen};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::role::Role;
use crate::{NAME, age, dreamt_before, held};

struct Stopped {
    folder: TempDir,
    previous: Timestamp,
    lock: DreamLock,
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Stopped {
    fn two_hours_ago() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let previous = dreamt_before(folder.path());
        let mut child = Role::Ask
            .command(&[], folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "held"));
        kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
        age(folder.path(), 2);
        let lock = DreamLock::new(folder.path());
        Self { folder, previous, lock, child, lines }
    }

    fn wakes_up(&mut self, expected: Expect) {
        self.child.stdin.take().unwrap().write_all(b"go on\n").unwrap();
        kill_process(Pid::from_child(&self.child), Signal::CONT).unwrap();
        let answers = self.lines.by_ref().map(Result::unwrap);
        let answers: Vec<String> = answers.filter(|line| line.contains(": ")).take(3).collect();
        expected.assert_eq(&answers.join("\n"));
        self.lines.by_ref().for_each(drop);
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn another_has_taken_over_and_nothing_of_it_is_changed() {
    let mut stopped = Stopped::two_hours_ago();
    assert_eq!(stopped.lock.look().unwrap(), Seen { last: Some(stopped.previous), holder: None });
    let hold = held(&stopped.lock);
    assert_eq!(hold.previous(), Some(stopped.previous));
    let path = stopped.folder.path().join(NAME);
    let state = || (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    let before = state();
    stopped.wakes_up(expect![[r#"
        check: Err(Taken)
        beat: Err(Taken)
        complete: Err(Taken)"#]]);
    assert_eq!(state(), before);
    hold.check().unwrap();
    hold.complete().unwrap();
}

#[test]
fn nobody_has_taken_over_and_still_nothing_is_done() {
    let mut stopped = Stopped::two_hours_ago();
    stopped.wakes_up(expect![[r#"
        check: Err(Silent)
        beat: Err(Silent)
        complete: Err(Silent)"#]]);
    assert_eq!(stopped.lock.look().unwrap(), Seen { last: Some(stopped.previous), holder: None });
}
