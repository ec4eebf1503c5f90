//! `reverie dream`: put in order, looked at, taken back, from a terminal.

use std::{collections::BTreeMap, fs};

use expect_test::expect;
use serde_json::Value;
use testkit::model_server::{Gate, Reply};

use crate::{
    program::Program,
    tty::{CTRL_C, CTRL_D, Tty},
};

/// Remembers the same thing twice, and lists one that is gone.
fn untidy(program: &Program) {
    let memory = program.fixture.project_dir().join("memory");
    fs::create_dir_all(&memory).unwrap();
    let note =
        "---\nname: Short\ndescription: I prefer short answers\ntype: user\n---\n\nI prefer short answers\n";
    for name in ["short.md", "brief.md"] {
        fs::write(memory.join(name), note).unwrap();
    }
    let index = "- [Short](short.md) — I prefer short answers\n- [Brief](brief.md) — I prefer short answers\n\
                 - [Gone](gone.md) — nothing\n";
    fs::write(memory.join("MEMORY.md"), index).unwrap();
}

fn remembered(program: &Program) -> BTreeMap<String, String> {
    let files = fs::read_dir(program.fixture.project_dir().join("memory")).unwrap().map(Result::unwrap);
    let topics = files.filter(|file| file.path().extension().is_some_and(|end| end == "md"));
    topics
        .map(|file| {
            (file.file_name().to_string_lossy().into_owned(), fs::read_to_string(file.path()).unwrap())
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_tidies_up_and_is_taken_back_byte_for_byte() {
    let program = Program::offline("");
    untidy(&program);
    let before = remembered(&program);
    let run = program.run(&["dream", "--dry-run"]).await;
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert!(run.stdout.starts_with("The dream would change 2 files; nothing was written"), "{}", run.stdout);
    assert_eq!(remembered(&program), before);

    let run = program.run(&["dream"]).await;
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert!(run.stdout.starts_with("The dream changed 2 files"), "{}", run.stdout);
    assert!(run.stdout.contains("\n  -- [Gone](gone.md) — nothing\n"), "{}", run.stdout);
    let after = remembered(&program);
    assert_eq!(after.len(), 2, "{after:?}");
    let report = program.run(&["dream", "report"]).await;
    assert_eq!(report.stdout, run.stdout);

    let run = program.run(&["dream", "undo"]).await;
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert_eq!(remembered(&program), before);
    let run = program.run(&["dream", "status"]).await;
    assert!(run.stdout.contains("dreams               2 runs, 1 file written, $0.0000"), "{}", run.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_stops_a_dream_and_leaves_everything_as_it_was() {
    let program = Program::scripted("").await;
    untidy(&program);
    let before = remembered(&program);
    let gate = Gate::closed();
    program.model().reply_to("dream", Reply::text("never").behind(&gate));
    let mut running = program.start(&["dream"]);
    running.close_input();
    gate.reached().await;
    running.signal("INT").await;
    let run = running.end().await;
    assert_eq!(run.code, Some(130), "{}", run.transcript());
    assert!(run.stdout.starts_with("The dream was stopped; everything is as it was"), "{}", run.transcript());
    assert_eq!(remembered(&program), before);
    gate.open();
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_leaves_a_chat_sees_what_it_waits_for_and_may_skip_it() {
    let program = Program::scripted("").await;
    let gate = Gate::closed();
    program.model().reply(Reply::text("Noted."));
    program.model().reply_to("extraction", Reply::text("never").behind(&gate));
    let mut tty = Tty::plain(&program, r#""$REVERIE" chat"#);
    tty.see("› ").await;
    tty.type_in("we ship on Mondays\n").await;
    tty.see("Noted.").await;
    gate.reached().await;
    tty.type_in(CTRL_D).await;
    tty.see("remembering; Ctrl-C to skip").await;
    tty.type_in(CTRL_C).await;
    let (screen, code) = tty.end().await;
    assert_eq!(code, Some(0), "{screen}");
    gate.open();
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_in_a_terminal_says_what_it_is_at() {
    let program = Program::scripted("").await;
    untidy(&program);
    let gate = Gate::closed();
    program.model().reply_to("dream", Reply::text("In order.").behind(&gate));
    let mut tty = Tty::plain(&program, r#""$REVERIE" dream"#);
    gate.reached().await;
    tty.see("… dreaming").await;
    gate.open();
    let (screen, code) = tty.end().await;
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("The dream changed nothing") && screen.contains("In order."), "{screen}");
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_learnt_from_a_turn_is_told_in_a_line() {
    let program = Program::offline("//- a.txt\nhi\n");
    let prompt = "we decided to use sqlite for the cache because it needs no server. what is in a.txt?";
    let run = program.run(&["ask", prompt]).await;
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert!(run.stderr.ends_with("· Remembered: We decided to use sqlite for the cache\n"), "{}", run.stderr);
    let run =
        program.run(&["ask", "--bare", "we decided to name tests by behaviour. what is in a.txt?"]).await;
    assert!(!run.stderr.contains("Remembered"), "{}", run.stderr);
}

/// A project that keeps no memory.
fn forgetful() -> Program {
    let mut program = Program::offline("");
    program.environment.insert("CLAUDE_CODE_DISABLE_AUTO_MEMORY".to_owned(), "1".to_owned());
    program
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_that_does_not_begin_says_why() {
    let program = forgetful();
    let run = program.run(&["dream"]).await;
    assert_eq!(run.code, Some(1), "{}", run.transcript());
    assert!(run.stderr.starts_with("! no dream was begun: "), "{}", run.stderr);
    let run = program.run(&["dream", "--dry-run", "--json"]).await;
    assert_eq!(run.code, Some(1), "{}", run.transcript());
    let last: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    assert!(last["result"]["skipped"].is_string(), "{last}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nobody_dreamt_there_is_nothing_to_report_or_to_take_back() {
    let program = Program::offline("");
    for command in [["dream", "report"], ["dream", "undo"]] {
        let run = program.run(&command).await;
        assert_eq!(run.code, Some(1), "{}", run.transcript());
        assert!(run.stderr.starts_with("reverie: "), "{}", run.stderr);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_tells_what_runs_and_what_it_cost() {
    let program = Program::offline("");
    let run = program.run(&["dream", "status"]).await;
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let headings: Vec<&str> =
        run.stdout.lines().filter(|line| !line.is_empty() && !line.starts_with(' ')).collect();
    assert_eq!(headings, ["Dreams", "Today: $0.0000"], "{}", run.stdout);
    let run = program.run(&["dream", "status", "--json"]).await;
    let status: Value = serde_json::from_str(&run.stdout).unwrap();
    let kinds: Vec<&str> = status["background"]["kinds"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|kind| kind["kind"].as_str())
        .collect();
    assert_eq!(
        (status["dream"]["state"].as_str(), kinds),
        (Some("idle"), vec!["extraction", "sessionMemory", "dream"])
    );
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let run = Program::offline("").run(&["dream", "on"]).await;
    expect![[r#"
        --- stderr
        reverie: there is no command 'dream on'
        Try 'reverie --help'.
        --- exit code 2
    "#]]
    .assert_eq(&run.transcript());
}

/// As the system's data has them: one offset, for ever.
fn zone(offset: i32) -> Vec<u8> {
    let counts: [u32; 6] = [0, 0, 0, 0, 1, 4];
    let mut bytes = b"TZif".to_vec();
    bytes.extend([0; 16]);
    bytes.extend(counts.iter().flat_map(|count| count.to_be_bytes()));
    bytes.extend(offset.to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(b"TST\0");
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn times_are_those_of_the_zone_that_the_environment_names() {
    let program = Program::offline("//- zones/Test/Far\n");
    let zones = program.fixture.workspace.join("zones");
    fs::write(zones.join("Test/Far"), zone(9 * 60 * 60)).unwrap();
    let memory = program.fixture.project_dir().join("memory");
    fs::create_dir_all(&memory).unwrap();
    let lock = fs::File::create(memory.join(".consolidate-lock")).unwrap();
    let time = "2026-03-01T20:30:00Z".parse::<jiff::Timestamp>().unwrap();
    lock.set_modified(time.into()).unwrap();
    let mut status = program.command(&["dream", "status"]);
    let output = status.env("TZ", "Test/Far").env("TZDIR", &zones).output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("the last one was on 2026-03-02 05:30"), "{text}");
}
