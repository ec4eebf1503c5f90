//! `reverie dream`: put in order, looked at, taken back, from a terminal.

use expect_test::expect;
use serde_json::Value;

use crate::program::Program;

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
