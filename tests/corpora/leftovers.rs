//! Nothing of a program outlives whoever started it, even if that is killed: programs behind walls, and those without
//! walls that keep their stdin and end with another process.
//!
//! All that a program starts has its stdout, so the end of that stream is the end of them all.

use std::{
    io::Read,
    os::unix::process::CommandExt,
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc,
    time::Duration,
};

use crate::{fixture::Fixture, program::binary};

/// For a machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(20);

/// Leaves its session and its parent, and would stay for long.
const HIDING: &str = "(setsid sleep 1000 &); echo ready;";

#[test]
fn a_walled_program_ends_when_whoever_asked_for_it_is_killed() {
    let fixture = Fixture::new();
    let mut command = Command::new(binary());
    command.args(["debug", "sandbox", "--limit", "1000", "--memory"]).arg(fixture.path("memory"));
    let (mut asked, output) = started(command.arg("--shell").arg(format!("{HIDING} sleep 1000")));
    asked.kill().expect("it runs");
    asked.wait().expect("it ends");
    assert_eq!(rest(output), "");
}

#[test]
fn what_ends_with_another_process_ends_when_that_is_killed() {
    // Where jobs have groups of their own, and where they have none.
    for jobs in ["set -m", "set +m"] {
        let line = format!(r#"{jobs}; "$0" __contained "{{\"endsWith\":$$}}" -- bash -c "$1" & wait"#);
        let mut command = Command::new("bash");
        command.args(["-c", &line]).arg(binary()).arg(format!("{HIDING} sleep 1000"));
        let (mut parent, output) = started(&mut command);
        parent.kill().expect("it runs");
        parent.wait().expect("it ends");
        assert_eq!(rest(output), "", "{jobs}");
    }
}

#[test]
fn what_ends_with_another_process_is_not_run_for_a_third() {
    let mut command = Command::new(binary());
    let output = command.args(["__contained", r#"{"endsWith":1}"#, "--", "echo", "ran"]).output();
    let output = output.expect("it starts");
    assert_eq!(output.status.code(), Some(126));
    assert!(output.stdout.is_empty() && !output.stderr.is_empty());
}

#[test]
fn streams_codes_and_signals_are_those_of_the_program() {
    let ended = |before: &str, line: &str, signal: Option<&str>| -> (String, ExitStatus) {
        let mut command = ending_with_us(&format!("{before} {HIDING} {line}"));
        let (mut child, output) = started(&mut command);
        if let Some(signal) = signal {
            let group = format!("-{}", child.id());
            let sent = Command::new("kill").args(["-s", signal, "--", &group]).status();
            assert!(sent.expect("kill is installed").success());
        }
        drop(child.stdin.take());
        (rest(output), child.wait().expect("it ends"))
    };
    let (said, status) = ended("", "cat; echo over; exit 7", None);
    assert_eq!((said.as_str(), status.code()), ("over\n", Some(7)));
    let (said, status) = ended("trap 'echo asked; exit 3' TERM;", "sleep 1000 & wait", Some("TERM"));
    assert_eq!((said.as_str(), status.code()), ("asked\n", Some(3)));
    let (said, status) = ended("", "sleep 1000", Some("KILL"));
    assert_eq!((said.as_str(), std::os::unix::process::ExitStatusExt::signal(&status)), ("", Some(9)));
    let missing = ending_with_us("exec no-such-program").output().expect("it starts");
    assert_eq!(missing.status.code(), Some(127));
}

/// As the leader of a group, as the servers of a protocol are started.
fn ending_with_us(line: &str) -> Command {
    let mut command = Command::new(binary());
    let launch = serde_json::json!({ "endsWith": std::process::id() }).to_string();
    command.args(["__contained", &launch, "--", "bash", "-c", line]).process_group(0);
    command
}

/// Until it says that it is ready.
fn started(command: &mut Command) -> (Child, ChildStdout) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut output = child.stdout.take().expect("stdout is piped");
    let mut word = [0; 6];
    output.read_exact(&mut word).expect("it says a word");
    assert_eq!(&word, b"ready\n");
    (child, output)
}

/// What else is said until everybody who could say something is gone.
fn rest(mut output: ChildStdout) -> String {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).expect("text");
        tell.send(text)
    });
    told.recv_timeout(PATIENCE).expect("everybody ends")
}
