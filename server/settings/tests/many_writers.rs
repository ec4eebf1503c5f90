//! Many processes and threads that change the same files: no word is lost, and no reader ever sees half a file.

#![expect(clippy::unwrap_used, reason = "a failure in a test should end it")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use serde_json::Value;
use settings::{Environment, Settings, Sources, TrustState, add_allow_rule, trust};
use tempfile::TempDir;

const ROOT: &str = "REVERIE_TEST_WRITER_ROOT";
const NUMBER: &str = "REVERIE_TEST_WRITER_NUMBER";
const PROCESSES: usize = 8;
const THREADS: usize = 4;
const UPDATES: usize = 40;

fn environment(root: &Path) -> Environment {
    Environment::new(root.join("home"), []).with_managed(root.join("managed"))
}

fn rule(writer: &str, update: usize) -> String {
    format!("Bash(writer {writer} {update})")
}

fn write(root: &Path, writer: &str) {
    let environment = environment(root);
    for update in 0..UPDATES {
        add_allow_rule(&environment, &root.join("project"), &rule(writer, update)).unwrap();
        if update % 10 == 0 {
            let folder = root.join(format!("folder-{writer}-{update}"));
            fs::create_dir_all(&folder).unwrap();
            assert_eq!(trust::set(&environment, &folder, true).unwrap().status, TrustState::Trusted);
        }
    }
}

/// The writer: this test binary, started again by the test below. On its own it has nothing to do.
#[test]
fn writes_when_it_is_told_to() {
    let (Ok(root), Ok(number)) = (env::var(ROOT), env::var(NUMBER)) else { return };
    write(Path::new(&root), &format!("process {number}"));
}

fn start(root: &Path, number: usize) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "writes_when_it_is_told_to"])
        .env(ROOT, root)
        .env(NUMBER, number.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn no_update_is_lost_and_every_read_is_whole() {
    let root = TempDir::new().unwrap();
    let root = root.path();
    fs::create_dir_all(root.join("project")).unwrap();
    let children: Vec<Child> = (0..PROCESSES).map(|number| start(root, number)).collect();
    let files: [PathBuf; 2] =
        [root.join("home/.claude/reverie-trust.json"), root.join("project/.claude/settings.local.json")];
    let done = AtomicBool::new(false);
    let reads = AtomicUsize::new(0);
    thread::scope(|scope| {
        // Also when a writer fails: the reader would go on for ever.
        let _done = Done(&done);
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for file in &files {
                    let Ok(text) = fs::read_to_string(file) else { continue };
                    serde_json::from_str::<Value>(&text).expect("a reader saw half a file");
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let writers: Vec<_> = (0..THREADS)
            .map(|number| scope.spawn(move || write(root, &format!("thread {number}"))))
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
    });
    let environment = environment(root);
    let folder = root.join("project");
    let sources =
        Sources { environment: &environment, folder: Some(&folder), editor: None, command_line: None };
    let loaded = Settings::load(&sources);
    assert_eq!(loaded.diagnostics, []);
    let writers = (0..PROCESSES)
        .map(|number| format!("process {number}"))
        .chain((0..THREADS).map(|number| format!("thread {number}")));
    let mut expected = 0;
    for writer in writers {
        for update in 0..UPDATES {
            assert!(loaded.settings.permissions.allow.contains(&rule(&writer, update)), "{writer} {update}");
            expected += 1;
        }
        for update in (0..UPDATES).step_by(10) {
            let folder = root.join(format!("folder-{writer}-{update}"));
            assert_eq!(trust::state(&environment, &folder).status, TrustState::Trusted);
        }
    }
    assert_eq!(loaded.settings.permissions.allow.len(), expected);
    println!("{expected} rules, {} whole reads", reads.load(Ordering::Relaxed));
}
