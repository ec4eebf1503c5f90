use std::fs;

use expect_test::{Expect, expect};
use tempfile::TempDir;

use super::*;
use crate::{Block, Prefix, Stamp, Transcript, record::transcript_path, sample::user};

fn session(number: u32) -> SessionId {
    SessionId::parse(&format!("3f0c7d0e-6f1d-4f4e-9a55-{number:012x}")).unwrap()
}

fn check(directory: &TempDir, expected: Expect) {
    let lines: Vec<String> = list(&[directory.path().to_owned()])
        .iter()
        .map(|summary| {
            let Summary { title, first_prompt, updated_at, cost_usd, cwd, session, .. } = summary;
            let number = session.as_str().rsplit('-').next().unwrap().trim_start_matches('0');
            format!("{number}: {title:?} {first_prompt:?} {updated_at} {cost_usd:?} {cwd:?}\n")
        })
        .collect();
    expected.assert_eq(&lines.concat());
}

#[test]
fn sessions_of_both_programs_are_listed_newest_first() {
    let directory = tempfile::tempdir().unwrap();
    let write =
        |number, text: &str| fs::write(transcript_path(directory.path(), &session(number)), text).unwrap();
    write(1, include_str!("../../fixtures/claude-code.jsonl"));
    write(2, include_str!("../../fixtures/claude-code-compacted.jsonl"));
    write(3, "{\"type\":\"summary\",\"summary\":\"of nothing\",\"leafUuid\":\"x\"}\n");
    write(4, "");
    fs::write(directory.path().join("agent-1.jsonl"), "{}\n").unwrap();
    fs::create_dir(directory.path().join(format!("{}.jsonl", session(5)))).unwrap();

    let stamp =
        Stamp { session: session(6), cwd: "/home/ada".into(), version: "0.1.0".to_owned(), git_branch: None };
    let transcript = Transcript::create(directory.path(), stamp);
    let prefix = Prefix {
        model: "a/b".to_owned(),
        system: "s".repeat(200_000).into(),
        tools: Value::Null,
        context: vec![Block::text("<system-reminder>c</system-reminder>")],
        instructions: serde_json::Value::Null,
        boundary: None,
    };
    transcript.append(&Record::Prefix(prefix)).unwrap();
    let text = format!("Please\n explain   {}", "the engine ".repeat(60));
    transcript.append(&Record::Message(user(1, &text))).unwrap();
    check(
        &directory,
        expect![[r#"
        2: "Widen the carry" "Why does the carry stop at column 20?" 2025-10-02T09:00:02Z None Some("/home/ada/engine")
        1: "Fix the carry of the engine" "Why does the carry stop at column 20?" 2025-10-02T08:00:14.123Z None Some("/home/ada/engine")
        6: "Please explain the engine the engine the engine the engine the engine the engine…" "Please explain the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine the engine…" 2025-06-15T15:06:41Z None Some("/home/ada")
    "#]],
    );
}

#[test]
fn a_damaged_transcript_is_listed() {
    let directory = tempfile::tempdir().unwrap();
    let write =
        |number, text: &[u8]| fs::write(transcript_path(directory.path(), &session(number)), text).unwrap();
    let time = "\"timestamp\":\"2025-01-01T00:00:00Z\"";
    write(1, format!("\0\0\0\n{{\"type\":\"user\",{time},\"message\":{{\"content\":\"torn").as_bytes());
    let line = format!("{{\"type\":\"user\",\"uuid\":\"1\",{time},\"message\":{{\"content\":\"whole\"}}}}");
    write(2, format!("\u{feff}rubbish\r\n{line}\r\n{{\"torn").as_bytes());
    check(
        &directory,
        expect![[r#"
        1: "Untitled session" "" 2025-01-01T00:00:00Z None None
        2: "whole" "whole" 2025-01-01T00:00:00Z None None
    "#]],
    );
}

#[test]
fn a_future_clock_does_not_keep_a_session_on_top() {
    let directory = tempfile::tempdir().unwrap();
    let line = "{\"type\":\"user\",\"uuid\":\"1\",\"timestamp\":\"2999-01-01T00:00:00Z\",\"message\":{\"content\":\"hi\"}}\n";
    fs::write(transcript_path(directory.path(), &session(1)), line).unwrap();
    let summaries = list(&[directory.path().to_owned(), "/nonexistent".into()]);
    assert!(summaries[0].updated_at <= Timestamp::now());
}

#[test]
fn pipes_and_folders_are_no_sessions() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = transcript_path(directory.path(), &session(1));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    assert_eq!(list(&[directory.path().to_owned()]), []);
    assert!(matches!(crate::load(directory.path(), &session(1), None, None), Err(crate::LoadError::Io(_))));
}

#[test]
fn many_sessions_are_all_listed() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..200 {
        let line =
            format!("{{\"type\":\"user\",\"uuid\":\"1\",\"message\":{{\"content\":\"prompt {number}\"}}}}\n");
        fs::write(transcript_path(directory.path(), &session(number)), line).unwrap();
    }
    let mut prompts: Vec<String> =
        list(&[directory.path().to_owned()]).into_iter().map(|s| s.first_prompt).collect();
    prompts.sort();
    prompts.dedup();
    assert_eq!(prompts.len(), 200);
}

#[test]
fn wrappers_are_no_prompts() {
    let directory = tempfile::tempdir().unwrap();
    let lines: Vec<String> = [
        "<command-name>/clear</command-name>",
        "<ide_opened_file>x</ide_opened_file>",
        "[Request interrupted by user]",
        "   ",
        "<T> is what?",
    ]
    .iter()
    .map(|text| format!("{{\"type\":\"user\",\"uuid\":\"1\",\"message\":{{\"content\":\"{text}\"}}}}\n"))
    .collect();
    fs::write(transcript_path(directory.path(), &session(1)), lines.concat()).unwrap();
    fs::write(transcript_path(directory.path(), &session(2)), &lines[0]).unwrap();
    let mut prompts: Vec<String> =
        list(&[directory.path().to_owned()]).into_iter().map(|s| s.first_prompt).collect();
    prompts.sort();
    assert_eq!(prompts, ["/clear", "<T> is what?"]);
}
