//! `reverie sessions` and `reverie doctor`.

use expect_test::expect;
use serde_json::{Value, json};
use testkit::model_server::Reply;

use crate::program::Program;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_listed_newest_first() {
    let program = Program::scripted("").await;
    expect![[r#"
        --- stderr
        no sessions in this project yet; start one with: reverie ask "…"
        --- exit code 0
    "#]]
    .assert_eq(&program.run(&["sessions"]).await.transcript());
    for prompt in ["the first question", "the second question"] {
        program.model().reply(Reply::text("Yes."));
        program.run(&["ask", prompt]).await;
    }
    let listed = program.run(&["sessions", "list"]).await;
    let titles: Vec<&str> = listed.stdout.lines().map(|line| line.rsplit("  ").next().unwrap()).collect();
    assert_eq!(titles, ["the second question", "the first question"]);
    for line in listed.stdout.lines() {
        let fields: Vec<&str> = line.split_whitespace().take(5).collect();
        assert!(matches!(fields.as_slice(), ["<id>", _, _, _, "KB"]), "{line}");
    }
    let found = program.run(&["sessions", "list", "first"]).await;
    assert_eq!(found.stdout.lines().count(), 1, "{}", found.stdout);
    let none = program.run(&["sessions", "list", "third"]).await;
    expect![[r#"
        --- stderr
        no session's title or first prompt contains this
        --- exit code 0
    "#]]
    .assert_eq(&none.transcript());
    let json = program.run(&["sessions", "list", "--json"]).await;
    for line in json.stdout.lines() {
        let session: Value = serde_json::from_str(line).unwrap();
        assert_eq!(session["sessionId"], "<id>");
        assert!(session["firstPrompt"].as_str().unwrap().ends_with("question"), "{line}");
    }
    let elsewhere = program.run(&["sessions", "-C", "/"]).await;
    assert_eq!(elsewhere.stdout, "");
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_shown_as_it_was() {
    let program = Program::scripted("//- a.txt\none\ntwo\n").await;
    program.model().reply(
        Reply::text("Let me look.").and_tool("Read", json!({ "file_path": program.fixture.path("a.txt") })),
    );
    program.model().reply(Reply::text("It counts to two."));
    program.run(&["ask", "what does a.txt do?"]).await;
    let listed = program.command(&["sessions"]).output().await.unwrap().stdout;
    let id = String::from_utf8(listed).unwrap().split(' ').next().unwrap().to_owned();
    expect![[r#"
        › what does a.txt do?

        Let me look.

        • Read a.txt

               1	one
               2	two

        It counts to two.

        --- stderr
        --- exit code 0
    "#]]
    .assert_eq(&program.run(&["sessions", "show", &id[..6]]).await.transcript());
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_says_what_is_there_and_what_to_do() {
    let program = Program::offline("");
    let run = program.run(&["doctor"]).await;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    // What depends on the machine is left out.
    let lines: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| !["version", "git", "bash"].iter().any(|name| line.contains(name)))
        .collect();
    expect![[r#"
        ok    config home  <home>/.claude can be written
        ok    settings     no problems
        warn  model        no model is configured: the embedded offline model answers
                           → set ANTHROPIC_API_KEY, or OPENAI_BASE_URL and the setting model, for a real one
        ok    models       anthropic/claude-opus-5-5 (no key), anthropic/claude-sonnet-5-5 (no key), anthropic/claude-haiku-5-5 (no key), anthropic/claude-fable-5-1 (no key), offline/offline
        ok    sessions     0 in this project, 0 KB"#]]
    .assert_eq(&lines.join("\n"));
    let json = program.run(&["doctor", "--json"]).await;
    for line in json.stdout.lines() {
        let check: Value = serde_json::from_str(line).unwrap();
        assert!(check["name"].is_string() && check["status"].is_string(), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doctor_who_finds_something_fails() {
    let mut program = Program::offline("//- file.txt\nx\n");
    let file = program.fixture.path("file.txt").to_str().unwrap().to_owned();
    program.environment.insert("CLAUDE_CONFIG_DIR".to_owned(), file);
    let run = program.run(&["doctor"]).await;
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains("FAIL  config home"), "{}", run.stdout);
}
