//! Runs the built `reverie`.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// The built `reverie` beside this test's executable.
pub fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its executable");
    let profile = test.parent().and_then(Path::parent).expect("target/<profile>/deps/corpora");
    let binary = profile.join("reverie");
    assert!(binary.is_file(), "{} is missing: run `cargo build --package cli` first", binary.display());
    binary
}

/// Its answers to these lines.
pub fn answers(arguments: &[&str], lines: &[String]) -> Vec<serde_json::Value> {
    let output =
        with_input(Command::new(binary()).arg("debug").args(arguments), lines.join("\n").into_bytes());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("answers are UTF-8");
    let answers: Vec<_> =
        text.lines().map(|line| serde_json::from_str(line).expect("answers are JSON")).collect();
    assert_eq!(answers.len(), lines.len());
    answers
}

pub fn with_input(command: &mut Command, input: Vec<u8>) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let writer = std::thread::spawn(move || {
        // A program that has read enough closes its end.
        drop(stdin.write_all(&input));
    });
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("the writer ends");
    output
}
