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
        ok    prompt cache   it was never broken by surprise in the newest 0 sessions
        ok    working memory 0 readings known; 0 of 0 were answered with a word
        ok    background     $0.0000 spent today; no dream yet"#]]
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

/// The whole ids, newest first.
async fn ids(program: &Program) -> Vec<String> {
    let listed = program.command(&["sessions"]).output().await.unwrap().stdout;
    let listed = String::from_utf8(listed).unwrap();
    listed.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

async fn asked(program: &Program, prompt: &str, answer: &str, more: &[&str]) {
    program.model().reply(Reply::text(answer));
    let run = program.run(&[&["ask", prompt], more].concat()).await;
    assert_eq!(run.code, Some(0), "{}", run.transcript());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_goes_back_branches_and_goes_on_with_either() {
    let program = Program::scripted("").await;
    asked(&program, "one", "first", &[]).await;
    asked(&program, "two", "second", &["-c"]).await;
    let id = ids(&program).await.remove(0);
    let wrong = program.run(&["sessions", "rewind", &id, "3"]).await;
    assert!(wrong.stderr.contains("has 2 prompts") && wrong.code == Some(1), "{}", wrong.transcript());
    expect![[r#"
        --- stderr
        taken back: two
        --- exit code 0
    "#]]
    .assert_eq(&program.run(&["sessions", "rewind", &id[..8], "2", "--no-files"]).await.transcript());
    asked(&program, "three", "third", &["-c"]).await;

    let listed = program.run(&["sessions"]).await;
    assert!(listed.stdout.ends_with("  [2 branches]  one\n"), "{}", listed.stdout);
    let shown = program.run(&["sessions", "show", &id]).await;
    let branches: Vec<&str> = shown.stdout.lines().filter(|line| line.starts_with("branch ")).collect();
    assert_eq!(branches.len(), 2, "{}", shown.stdout);
    assert!(branches[0].starts_with("branch 1* ") && branches[0].ends_with("  three"), "{branches:?}");
    assert!(branches[1].starts_with("branch 2  ") && branches[1].ends_with("  two"), "{branches:?}");

    let wrong = program.run(&["ask", "x", "--resume", &id, "--branch", "3"]).await;
    assert!(wrong.stderr.contains("has no branch 3, only 2"), "{}", wrong.transcript());
    asked(&program, "four", "fourth", &["--resume", &id, "--branch", "2"]).await;
    let requests = program.model().requests();
    let said = requests.last().unwrap().body["messages"].to_string();
    assert!(said.contains("two") && said.contains("four") && !said.contains("three"), "{said}");

    let lines = program.command(&["sessions", "show", &id, "--json"]).output().await.unwrap().stdout;
    let lines = String::from_utf8(lines).unwrap();
    let messages: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let four = messages.iter().find(|message| message["text"] == "four").unwrap();
    let rewound = program.run(&["sessions", "rewind", &id, four["uuid"].as_str().unwrap()]).await;
    assert!(rewound.stderr.contains("taken back: four"), "{}", rewound.transcript());
    program.run(&["sessions", "fork", &id]).await;
    let listed = program.run(&["sessions"]).await;
    assert!(listed.stdout.contains(&format!("[fork of {}]", &id[..8])), "{}", listed.stdout);
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_of_other_projects_are_found_when_asked_for() {
    let program = Program::scripted("//- other/file.txt\nx\n").await;
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path().to_str().unwrap();
    asked(&program, "where is the walrus?", "On the ice.", &["-C", folder]).await;
    let here = program.run(&["sessions", "search", "walrus"]).await;
    expect![[r#"
        --- stderr
        nothing that was said in this project's sessions has all of these words; --all looks everywhere
        --- exit code 0
    "#]]
    .assert_eq(&here.transcript());
    let found = program.run(&["sessions", "search", "walrus", "--all"]).await;
    assert_eq!(found.stdout.lines().count(), 1, "{}", found.transcript());
    assert!(program.run(&["sessions"]).await.stdout.is_empty());
    let listed = program.command(&["sessions", "list", "--all"]).output().await.unwrap().stdout;
    let listed = String::from_utf8(listed).unwrap();
    assert!(listed.contains("where is the walrus?"), "{listed}");
    // The beginning of its id will do, wherever it is.
    let shown = program.run(&["sessions", "show", &listed[..8]]).await;
    assert!(shown.stdout.contains("On the ice."), "{}", shown.transcript());
    let found = program.run(&["sessions", "search", "ice", "--session", &listed[..8]]).await;
    assert_eq!(found.stdout.lines().count(), 1, "{}", found.transcript());
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_shows_every_repair_when_asked() {
    let program = Program::offline("");
    let cache = program.fixture.config_home().join("cache");
    std::fs::create_dir_all(&cache).unwrap();
    let line = |number: u32| {
        json!({ "at": format!("2026-03-01T09:30:{number:02}Z"), "subject": "s", "check": "state",
                "detail": format!("repair {number}"), "success": number != 7 })
        .to_string()
    };
    let log: Vec<String> = (0..8).map(line).collect();
    std::fs::write(cache.join("repairs.jsonl"), log.join("\n")).unwrap();
    let run = program.run(&["doctor"]).await;
    let rows = run.stdout.lines().skip_while(|line| !line.contains(" repairs "));
    let rows: Vec<&str> = rows.take(7).collect();
    expect![[r#"
        ok    repairs        7 of the last 8 succeeded
                             2026-03-01T09:30:07Z, failed: state, s: repair 7
                             2026-03-01T09:30:06Z, done: state, s: repair 6
                             2026-03-01T09:30:05Z, done: state, s: repair 5
                             2026-03-01T09:30:04Z, done: state, s: repair 4
                             2026-03-01T09:30:03Z, done: state, s: repair 3
                             and 3 more: reverie doctor --repairs"#]]
    .assert_eq(&rows.join("\n"));
    let all = program.run(&["doctor", "--repairs"]).await;
    assert_eq!(all.stdout.lines().count(), 8, "{}", all.transcript());
    assert_eq!(all.stdout.lines().next(), Some("FAIL  2026-03-01T09:30:07Z  state  s: repair 7"));
    let json = program.run(&["doctor", "--repairs", "--json"]).await;
    let last: Value = serde_json::from_str(json.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&last["detail"], &last["success"]), (&json!("repair 0"), &json!(true)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_that_made_more_of_less_is_an_error() {
    let program = Program::scripted("").await;
    asked(&program, "one", "first", &[]).await;
    let id = ids(&program).await.remove(0);
    let transcript = program.fixture.project_dir().join(format!("{id}.jsonl"));
    let mut text = std::fs::read_to_string(&transcript).unwrap();
    text.push_str("{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"isSidechain\":true,\"uuid\":\"11110000-0000-4000-8000-000000000009\",\"compactMetadata\":{\"preTokens\":100,\"postTokens\":150}}\n");
    std::fs::write(&transcript, text).unwrap();
    let run = program.run(&["doctor"]).await;
    assert_eq!(run.code, Some(1), "{}", run.transcript());
    assert!(
        run.stdout.contains("FAIL  state          in 1 session: <id>: A compaction made"),
        "{}",
        run.stdout
    );
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_says_where_the_key_comes_from_and_never_what_it_is() {
    let mut program = Program::scripted("").await;
    let row = |run: crate::program::Run| {
        let row = run.stdout.lines().find(|line| line.contains("  credential  ")).map(str::to_owned);
        row.unwrap_or_else(|| panic!("{}", run.stdout))
    };
    let environment = program.environment.clone();
    let (name, value) = environment.iter().find(|(name, _)| name.ends_with("_API_KEY")).unwrap();
    expect!["ok    credential     ANTHROPIC_API_KEY, from the environment"]
        .assert_eq(&row(program.run(&["doctor"]).await));
    program.environment.remove(name);
    let settings = program.fixture.config_home().join("settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    std::fs::write(&settings, json!({ "env": { "ANTHROPIC_API_KEY": "sk-secret-key" } }).to_string())
        .unwrap();
    let run = program.run(&["doctor"]).await;
    assert!(!run.stdout.contains("sk-secret") && !run.stdout.contains(value.as_str()), "{}", run.stdout);
    expect!["ok    credential     ANTHROPIC_API_KEY, from <home>/.claude/settings.json"].assert_eq(&row(run));
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_index_that_nobody_refreshed_for_a_day_is_brought_up_to_date() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::text("lorem ipsum ".repeat(50_000)));
    program.run(&["ask", "recite it"]).await;
    program.run(&["sessions", "search", "lorem"]).await;
    let indexes = program.fixture.config_home().join("cache/search");
    let folder = std::fs::read_dir(indexes).unwrap().next().unwrap().unwrap().path();
    let manifest = std::fs::File::options().append(true).open(folder.join("manifest")).unwrap();
    let caches = |stdout: &str| stdout.lines().find(|line| line.contains("  caches  ")).unwrap().to_owned();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(25 * 60 * 60);
    manifest.set_modified(long_ago).unwrap();
    let run = program.run(&["doctor"]).await;
    assert!(!caches(&run.stdout).contains("older than a day"), "nothing was said since: {}", run.stdout);
    asked(&program, "and then?", "No more.", &["-c"]).await;
    let run = program.run(&["doctor"]).await;
    assert!(
        caches(&run.stdout).contains("brought up to date because they were older than a day: 1"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("done: caches, search index:"), "{}", run.stdout);
    let run = program.run(&["doctor"]).await;
    assert!(!caches(&run.stdout).contains("older than a day"), "{}", run.stdout);
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_transcript_is_lost_goes_on_from_the_state_of_the_project() {
    let program = Program::scripted("//- a.txt\none\n").await;
    let file = program.fixture.path("a.txt");
    program.model().reply(Reply::tool("Read", json!({ "file_path": file })));
    asked(&program, "what is in a.txt?", "Just the number one.", &[]).await;
    let dir = program.fixture.project_dir();
    let state = std::fs::read_to_string(dir.join("project-state.md")).unwrap();
    assert!(state.contains("- Just the number one.") && state.contains("/a.txt\n"), "{state}");
    let id = ids(&program).await.remove(0);
    std::fs::write(dir.join(format!("{id}.jsonl")), [0; 4096]).unwrap();
    program.model().reply(Reply::text("One."));
    let run = program.run(&["ask", "which number was it?", "--resume", &id]).await;
    assert!(run.stderr.contains("no message that could be read"), "{}", run.transcript());
    let requests = program.model().requests();
    let said = requests.last().unwrap().body["messages"].to_string();
    assert!(said.contains("Just the number one.") && said.contains("which number was it?"), "{said}");
    program.finish();
}
