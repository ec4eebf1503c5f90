//! The walls with nothing before them: every command of the corpus, the hostile ones too, is run unjudged, and must
//! change nothing outside of the memory folder, reach nobody, and see no key. What only looks must work as it does
//! outside.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use serde::Deserialize;
use serde_json::json;

use crate::fixture::{Fixture, SECRET};

/// The machine has two cores, and many commands wait.
const WORKERS: usize = 4;

/// Seconds. Commands that would run for ever are ended early; the others have time even on a busy machine.
const PATIENCE: u32 = 20;
const SHORT: u32 = 1;

#[derive(Clone, Deserialize)]
struct Row {
    id: String,
    cmd: String,
    label: String,
    why: String,
}

fn corpus() -> Vec<Row> {
    let text = include_str!("bash_readonly.jsonl");
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

/// Tries each way out once, harmlessly.
#[test]
fn the_walls_hold() {
    assert_walls_hold(&Fixture::new());
}

fn assert_walls_hold(fixture: &Fixture) {
    for forbidden in [
        "echo x > victim",
        ": >> README.md",
        "exec 3<>README.md",
        "truncate -s 0 victim",
        "rm victim",
        "mv victim other",
        "mv victim ../memory/",
        "ln victim ../memory/second",
        "ln -s ../ws ../memory/link",
        "mkdir made",
        "mkfifo made",
        "mkfifo ../memory/made",
        "mknod ../memory/made c 1 3",
        "touch victim",
        "touch made",
        "chmod 777 victim",
        "chown 1 victim",
        "perl -MFcntl -e 'sysopen(my $f, \"../memory/made\", O_CREAT|O_WRONLY, 06755) or exit 1'",
        "perl -MFcntl -e 'sysopen(my $f, \"../memory/made\", O_CREAT|O_WRONLY, 02755) or exit 1'",
        "mkdir -m 4755 ../memory/made",
        "echo x > /dev/shm/reverie-made",
        "echo x > /proc/self/oom_score_adj",
        "kill -CONT $PPID",
        "cat /proc/$PPID/environ",
        "renice 5 $PPID",
        "renice 5 -u $(id -u)",
        "taskset -p 1 $PPID",
        "chrt --other -p 0 $PPID",
        "ionice -c 3 -p $PPID",
        "ipcmk -M 10",
        "ipcmk -Q",
        "ipcmk -S 1",
        "unshare -Ur true",
        "unshare -m true",
        "echo x > /dev/tcp/127.0.0.1/9",
        "echo x > /dev/udp/127.0.0.1/9",
    ] {
        let output = fixture.contained(&fixture.localized(forbidden), PATIENCE);
        assert_ne!(output.status.code(), Some(0), "{forbidden}: {output:?}");
        assert_eq!(fixture.damage(), Vec::<String>::new(), "{forbidden}");
    }
    for allowed in [
        "echo x > ../memory/a.md && echo y >> ../memory/a.md && mkdir -p ../memory/b/c && mv ../memory/a.md ../memory/b/c",
        "cp README.md ../memory/copy.md && : > ../memory/copy.md && rm -r ../memory/b ../memory/copy.md",
        "perl -MFcntl -e 'sysopen(my $f, \"../memory/made\", O_CREAT|O_WRONLY, 0755) or exit 1' && rm ../memory/made",
        "ls > /dev/null 2>&1",
        "nice -n 5 taskset 1 chrt --other 0 ionice -c 3 ls",
        "echo x > /dev/stdout; echo x > /dev/stderr",
        "cat <(echo x) | sort",
        "sleep 100 & kill $! && ! wait $!",
        "test -z \"$ANTHROPIC_API_KEY$LD_LIBRARY_PATH\"",
    ] {
        let output = fixture.contained(allowed, PATIENCE);
        assert_eq!(output.status.code(), Some(0), "{allowed}: {output:?}");
        assert_eq!(fixture.damage(), Vec::<String>::new(), "{allowed}");
    }
}

#[test]
fn the_corpus_changes_nothing_and_what_looks_still_works() {
    let rows = corpus();
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    // Hostile commands are run only behind walls that hold.
    assert_walls_hold(&Fixture::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                let mut fixture = Fixture::new();
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let complaints = run(row, &fixture);
                    if !complaints.is_empty() {
                        let words =
                            format!("{} {} {:?}: {}", row.id, row.why, row.cmd, complaints.join(", "));
                        wrong.lock().expect("no panic").push(words);
                        fixture = Fixture::new();
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows.len() >= 332);
}

fn run(row: &Row, fixture: &Fixture) -> Vec<String> {
    let line = fixture.localized(&row.cmd);
    // `wget` would try again for long.
    let limit = if matches!(row.why.as_str(), "hang" | "net") { SHORT } else { PATIENCE };
    let inside = fixture.contained(&line, limit);
    let mut complaints = fixture.damage();
    for output in [&inside.stdout, &inside.stderr] {
        if String::from_utf8_lossy(output).contains(SECRET) {
            complaints.push("it saw the key".to_owned());
        }
    }
    if inside.status.code().is_none() {
        complaints.push(format!("the helper was ended: {:?}", inside.status));
    }
    if row.label == "allow" {
        let outside = fixture.uncontained(&line);
        if outside.status.code() != inside.status.code() {
            complaints.push(format!("{:?} outside, {inside:?} inside", outside.status.code()));
        }
    }
    complaints
}

#[test]
fn programs_get_their_arguments_streams_and_folder_and_give_their_code() {
    let fixture = Fixture::new();
    let output = fixture.contained("pwd; echo to stderr >&2; exit 7", PATIENCE);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), fixture.path("ws").to_str().expect("UTF-8"));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "to stderr\n");
    let program = |arguments: &[&str]| {
        let mut command = std::process::Command::new(crate::program::binary());
        command.args(["debug", "sandbox", "--memory"]).arg(fixture.path("memory")).arg("--").args(arguments);
        crate::program::with_input(&mut command, b"from stdin".to_vec())
    };
    let output = program(&["cat", "-"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "from stdin");
    assert_eq!(String::from_utf8_lossy(&program(&["printf", "%s|", "-h", "a b", "$x"]).stdout), "-h|a b|$x|");
    assert_eq!(program(&["no-such-program"]).status.code(), Some(127));
    assert_eq!(program(&["/"]).status.code(), Some(126));
    assert_eq!(fixture.contained("kill -9 $$", PATIENCE).status.code(), Some(137));
}

/// A name inside of a file outside, and folders that hold more than a memory.
#[test]
fn a_folder_that_is_more_than_a_memory_is_not_given_away() {
    let fixture = Fixture::new();
    let run = |memory: &std::path::Path| {
        let mut command = std::process::Command::new(crate::program::binary());
        command.args(["debug", "sandbox", "--memory"]).arg(memory).args(["--", "true"]);
        command.env("HOME", fixture.path("home")).output().expect("it starts")
    };
    assert_eq!(run(&fixture.path("memory")).status.code(), Some(0));
    for memory in ["/", "/tmp", "/usr/share", "/home"].map(std::path::PathBuf::from) {
        assert_eq!(run(&memory).status.code(), Some(126), "{}", memory.display());
    }
    for memory in [fixture.path("home"), fixture.path("."), fixture.path("home/..")] {
        let output = run(&memory);
        assert_eq!(output.status.code(), Some(126), "{}", memory.display());
        assert!(String::from_utf8_lossy(&output.stderr).contains("holds a home"), "{output:?}");
    }
    // The walls themselves, without the command line before them.
    let walls = json!({"walls": {"writable": ["/"], "network": "none"}});
    let mut command = std::process::Command::new(crate::program::binary());
    command.args(["__contained", &walls.to_string(), "--", "true"]);
    let output = command.env("HOME", fixture.path("home")).output().expect("it starts");
    assert_eq!(output.status.code(), Some(126), "{output:?}");

    std::fs::create_dir(fixture.path("memory/topics")).expect("a folder");
    std::fs::hard_link(fixture.path("ws/victim"), fixture.path("memory/topics/door.md")).expect("a link");
    let output = fixture.contained("echo changed > ../memory/topics/door.md", PATIENCE);
    assert_eq!(output.status.code(), Some(126));
    assert!(String::from_utf8_lossy(&output.stderr).contains("door.md is also a file outside"), "{output:?}");
    assert_eq!(std::fs::read_to_string(fixture.path("ws/victim")).expect("it is there"), "alive\n");
}

#[test]
fn a_file_that_comes_in_is_only_read() {
    let fixture = Fixture::new();
    let run = |line: &str, stdin: std::fs::File| {
        let mut command = std::process::Command::new(crate::program::binary());
        command.args(["debug", "sandbox", "--memory"]).arg(fixture.path("memory")).args(["--shell", line]);
        command.current_dir(fixture.path("ws")).stdin(stdin).output().expect("it starts")
    };
    let open = |reads: bool| {
        let mut options = std::fs::OpenOptions::new();
        options.read(reads).write(true).open(fixture.path("ws/log.txt")).expect("it is there")
    };
    let before = std::fs::read_to_string(fixture.path("ws/log.txt")).expect("it is there");
    for line in ["echo changed >&0", "echo changed > /dev/stdin", "truncate -s 0 /proc/self/fd/0"] {
        assert_ne!(run(line, open(true)).status.code(), Some(0), "{line}");
        run(line, open(false));
        assert_eq!(
            std::fs::read_to_string(fixture.path("ws/log.txt")).expect("it is there"),
            before,
            "{line}"
        );
    }
    // From where it was.
    let mut begun = open(true);
    std::io::Read::read_exact(&mut begun, &mut [0; 6]).expect("a line");
    assert_eq!(String::from_utf8_lossy(&run("head -n 1", begun).stdout), "error one\n");
    assert_eq!(run("cat", open(false)).stdout, b"");
}

#[test]
fn nothing_outlives_its_command_or_its_time() {
    let fixture = Fixture::new();
    let begun = std::time::Instant::now();
    let marker = fixture.path("ws/log.txt");
    for line in [
        "tail -f log.txt &",
        "(setsid tail -f log.txt &)",
        "(setsid nohup tail -f log.txt </dev/null >/dev/null 2>&1 &)",
    ] {
        let line = line.replace("log.txt", marker.to_str().expect("UTF-8"));
        assert_eq!(fixture.contained(&line, PATIENCE).status.code(), Some(0), "{line}");
    }
    assert_eq!(fixture.contained("sleep 1000", SHORT).status.code(), Some(124));
    // More than anyone needs, but as root no more than a machine takes.
    let crowd = "for number in {1..600}; do sleep 1000 & done 2>/dev/null; wait";
    assert_eq!(fixture.contained(crowd, SHORT).status.code(), Some(124));
    assert!(begun.elapsed().as_secs() < 10);
    let marker = marker.to_str().expect("UTF-8");
    let left = std::fs::read_dir("/proc").expect("/proc").flatten().filter(|entry| {
        std::fs::read(entry.path().join("cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(marker))
    });
    assert_eq!(left.count(), 0);
}

/// The walls for the session's own commands: builds work inside, and nothing is written elsewhere.
#[test]
fn a_workbench_is_for_work() {
    let fixture = Fixture::new();
    let run = |network: &str, line: &str| {
        let walls = json!({"writable": [fixture.path("ws")], "network": network, "strength": "workbench"});
        let mut command = std::process::Command::new(crate::program::binary());
        command.arg("__contained").arg(json!({"walls": walls}).to_string()).args(["--", "bash", "-c"]);
        let output = command.arg(fixture.localized(line)).current_dir(fixture.path("ws")).output();
        output.expect("it starts").status.code()
    };
    for line in [
        "mkdir build && echo x > build/a && chmod 700 build/a && touch -d 2020-01-01 build/a && ln -s a build/b",
        "mkfifo build/pipe && ln build/a build/c && mv build elsewhere && rm -r elsewhere",
        "sleep 100 & kill $! && ls > /dev/null",
    ] {
        assert_eq!(run("none", line), Some(0), "{line}");
    }
    for line in [
        "echo x > ../canary/P",
        "rm ../home/.netrc",
        "mv victim ../memory",
        "echo x > ../memory/x",
        "echo x > /dev/shm/reverie-made",
        "unshare -m true",
    ] {
        assert_ne!(run("open", line), Some(0), "{line}");
    }
    let connects = "exec 3<>/dev/tcp/127.0.0.1/9";
    assert_ne!(run("none", connects), Some(0));
    assert_ne!(run("unix", connects), Some(0));
    assert_eq!(run("open", connects), Some(0));
}

#[test]
fn without_a_memory_folder_nothing_is_run() {
    let fixture = Fixture::new();
    for missing in ["nothing", "ws/README.md"] {
        let mut command = std::process::Command::new(crate::program::binary());
        command
            .args(["debug", "sandbox", "--memory"])
            .arg(fixture.path(missing))
            .args(["--shell", "echo ran"]);
        let output = command.output().expect("it starts");
        assert_eq!(output.status.code(), Some(126));
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
}
