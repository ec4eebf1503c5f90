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
        .filter(|line| {
            !["version", "git", "bash", " sandbox ", " disk ", " editors "]
                .iter()
                .any(|name| line.contains(name))
        })
        .collect();
    expect![[r#"
        ok    config home    <home>/.claude can be written
        warn  trust          this folder is not trusted; it has nothing to run
                             → look at `reverie trust`, then `reverie trust --yes`
        ok    settings       no problems
        warn  model          no model is configured: the embedded offline model answers
                             → set ANTHROPIC_API_KEY, or OPENAI_BASE_URL and the setting model, for a real one
        ok    models         anthropic/claude-opus-5-5 (no key), anthropic/claude-sonnet-5-5 (no key), anthropic/claude-haiku-5-5 (no key), anthropic/claude-fable-5-1 (no key), offline/offline
        ok    sessions       0 in this project, 0 KB
        ok    message chain  nothing wrong in 0 sessions
        ok    token totals   nothing wrong in 0 sessions
        ok    state          nothing wrong in 0 sessions
        ok    caches         0 KB of copies of changed files
        ok    indexes        0 project folders are indexed
        ok    repairs        none so far
        ok    working memory 0 readings known; 0 of 0 were answered with a word"#]]
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_searched_exported_and_forked() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::text("The parser skips the byte order mark."));
    program.run(&["ask", "what about marks?"]).await;
    let found = program.run(&["sessions", "search", "BYTE", "mark"]).await;
    assert_eq!(found.stdout.lines().count(), 1, "{}", found.transcript());
    assert!(
        found.stdout.contains("assistant") && found.stdout.contains("byte order mark"),
        "{}",
        found.stdout
    );
    let none = program.run(&["sessions", "search", "byte", "--role", "user"]).await;
    assert_eq!(none.stdout, "");
    let listed = program.command(&["sessions"]).output().await.unwrap().stdout;
    let id = String::from_utf8(listed).unwrap().split(' ').next().unwrap().to_owned();
    let exported = program.run(&["sessions", "export", &id]).await;
    assert!(exported.stdout.starts_with("# what about marks?"), "{}", exported.stdout);
    assert!(exported.stdout.contains("The parser skips"), "{}", exported.stdout);
    let forked = program.run(&["sessions", "fork", &id]).await;
    assert_eq!(forked.stdout, "<id>\n");
    let listed = program.run(&["sessions"]).await;
    assert_eq!(listed.stdout.lines().count(), 2, "{}", listed.stdout);
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_is_trusted_and_the_trust_taken_back() {
    let program = Program::offline("//- .mcp.json\n{\"mcpServers\": {\"x\": {\"command\": \"run-me\"}}}\n");
    let shown = program.run(&["trust"]).await;
    assert!(shown.stdout.contains("is not trusted") && shown.stdout.contains("run-me"), "{}", shown.stdout);
    let shown = program.run(&["trust", "--yes"]).await;
    assert!(shown.stdout.contains("is trusted."), "{}", shown.stdout);
    program.fixture.write(".mcp.json", "{\"mcpServers\": {\"x\": {\"command\": \"another\"}}}\n");
    let shown = program.run(&["trust"]).await;
    assert!(
        shown.stdout.contains("has changed since") && shown.stdout.contains("another"),
        "{}",
        shown.stdout
    );
    let shown = program.run(&["trust", "--revoke"]).await;
    assert!(shown.stdout.contains("is not trusted"), "{}", shown.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_finds_damage_and_repairs_it_when_asked() {
    let program = Program::scripted("").await;
    for answer in ["one", "two"] {
        program.model().reply(Reply::text(answer));
        program.run(&["ask", if answer == "one" { "first" } else { "-c" }, "question"]).await;
    }
    let dir = program.fixture.project_dir();
    let mut transcripts = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
    let transcript = transcripts.find(|path| path.extension().is_some_and(|it| it == "jsonl")).unwrap();
    let mut text = std::fs::read_to_string(&transcript).unwrap();
    text.push_str("{\"type\":\"user\",\"uui");
    std::fs::write(&transcript, text).unwrap();

    let chain = |stdout: &str| stdout.lines().find(|line| line.contains("message chain")).unwrap().to_owned();
    let found = program.run(&["doctor"]).await;
    assert!(chain(&found.stdout).starts_with("warn"), "{}", found.stdout);
    let repaired = program.run(&["doctor", "--repair"]).await;
    assert!(chain(&repaired.stdout).starts_with("ok"), "{}", repaired.stdout);
    assert!(repaired.stdout.contains("1 of the last 1 succeeded"), "{}", repaired.stdout);
    assert!(!transcript.exists() && dir.join(".trash").join(transcript.file_name().unwrap()).exists());
    let listed = program.run(&["sessions"]).await;
    assert_eq!(listed.stdout.lines().count(), 1, "{}", listed.stdout);
    let found = program.run(&["sessions", "search", "two"]).await;
    assert_eq!(found.stdout.lines().count(), 1, "{}", found.stdout);
    program.finish();
}
