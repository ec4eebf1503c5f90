//! `reverie memory`: what is remembered, from a terminal, and the way back; `debug rank` and `debug secrets`.

use expect_test::expect;
use serde_json::Value;

use crate::program::Program;

const INDEX: &str = "- [We deploy on Fridays only](deploy-fridays.md) — We deploy on Fridays only\n";

/// A project in which one thing was said.
async fn told() -> Program {
    let program = Program::offline("");
    let run = program.run(&["ask", "remember that we deploy on Fridays only"]).await;
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    program
}

fn memory(program: &Program, path: &str) -> std::path::PathBuf {
    program.fixture.project_dir().join("memory").join(path)
}

/// Without what depends on the day and the folder.
fn steady(program: &Program, text: &str) -> String {
    let slug = program.fixture.project_dir();
    let slug = slug.file_name().unwrap().to_str().unwrap();
    let text = text.replace(slug, "<project>");
    let mut lines = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let is_date = |word: &&str| {
            word.len() == 10
                && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
                && word.contains('-')
        };
        let is_time = |word: &&str| {
            word.len() == 5
                && word.as_bytes()[2] == b':'
                && word.bytes().filter(u8::is_ascii_digit).count() == 4
        };
        let shown: Vec<&str> = words
            .iter()
            .map(|word| {
                if is_date(word) {
                    "<date>"
                } else if is_time(word) {
                    "<time>"
                } else {
                    word
                }
            })
            .collect();
        lines.push(shown.join(" "));
    }
    lines.join("\n") + "\n"
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_nothing_remembered_each_says_so() {
    let program = Program::offline("");
    let mut said = String::new();
    for arguments in [
        &["memory"][..],
        &["memory", "search", "deploy"],
        &["memory", "lint"],
        &["memory", "history"],
        &["memory", "undo"],
    ] {
        let run = program.run(arguments).await;
        said.push_str(&format!("> {}\n{}", arguments.join(" "), run.transcript()));
    }
    expect![[r#"
        > memory
        --- stderr
        nothing is remembered yet; try: reverie ask "remember that …"
        <home>/.claude/projects/<project>/memory
        --- exit code 0
        > memory search deploy
        --- stderr
        nothing that is remembered has to do with this
        --- exit code 0
        > memory lint
        --- stderr
        nothing to say: what is remembered is in order
        --- exit code 0
        > memory history
        --- stderr
        nothing was changed yet
        --- exit code 0
        > memory undo
        --- stderr
        reverie: nothing is left that could be taken back; reverie memory history lists all changes
        --- exit code 1
    "#]]
    .assert_eq(&steady(&program, &said));
    assert!(!memory(&program, "").exists(), "looking makes nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_is_listed_shown_found_and_explained() {
    let program = told().await;
    let mut said = String::new();
    for arguments in [
        &["memory", "list"][..],
        &["memory", "show", "deploy-fridays.md"],
        &["memory", "lint"],
        &["memory", "history"],
    ] {
        let run = program.run(arguments).await;
        said.push_str(&format!("> {}\n{}", arguments.join(" "), run.transcript()));
    }
    expect![[r#"
        > memory list
        project    <date> <time>  deploy-fridays.md  We deploy on Fridays only
        --- stderr
        <home>/.claude/projects/<project>/memory
        --- exit code 0
        > memory show deploy-fridays.md
        ---
        name: "We deploy on Fridays only"
        description: "We deploy on Fridays only"
        type: project
        ---

        We deploy on Fridays only

        **Why:** the user stated it; no reason was given.
        **How to apply:** take it into account in suggestions and plans; check that it still holds.
        --- stderr
        --- exit code 0
        > memory lint
        --- stderr
        nothing to say: what is remembered is in order
        --- exit code 0
        > memory history
        <id>  <date> <time>  model  <home>/.claude/projects/<project>/memory/MEMORY.md
            you asked to remember it: “remember that we deploy on Fridays only”
            --- /dev/null
            +++ MEMORY.md
            @@ -0,0 +1 @@
            +- [We deploy on Fridays only](deploy-fridays.md) — We deploy on Fridays only
        <id>  <date> <time>  model  <home>/.claude/projects/<project>/memory/deploy-fridays.md
            you asked to remember it: “remember that we deploy on Fridays only”
            --- /dev/null
            +++ deploy-fridays.md
            @@ -0,0 +1,10 @@
            +---
            +name: "We deploy on Fridays only"
            +description: "We deploy on Fridays only"
            +type: project
            +---
            +
            +We deploy on Fridays only
            +
            +**Why:** the user stated it; no reason was given.
            +**How to apply:** take it into account in suggestions and plans; check that it still holds.
        --- stderr
        --- exit code 0
    "#]]
    .assert_eq(&steady(&program, &said));
    let found = program.run(&["memory", "search", "which", "days", "deploy"]).await;
    assert!(
        found.stdout.contains("/deploy-fridays.md\n        We deploy on Fridays only\n"),
        "{}",
        found.transcript()
    );
    let listed = program.run(&["memory", "list", "--json"]).await;
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["memories"][0]["name"], "We deploy on Fridays only");
    let history = program.run(&["memory", "history", "--json", "deploy-fridays.md"]).await;
    let change: Value = serde_json::from_str(history.stdout.lines().next().unwrap()).unwrap();
    assert_eq!((&change["by"], history.stdout.lines().count()), (&Value::from("model"), 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_is_taken_back_and_brought_back() {
    let program = told().await;
    let topic = std::fs::read(memory(&program, "deploy-fridays.md")).unwrap();
    let exists = |path: &str| memory(&program, path).exists();
    let run = program.run(&["memory", "undo"]).await;
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert_eq!(run.stdout.matches("taken back: ").count(), 2, "{}", run.transcript());
    assert!(!exists("deploy-fridays.md") && !exists("MEMORY.md"));
    // One more step back there is none; what was taken back is brought back by its id.
    let run = program.run(&["memory", "undo"]).await;
    assert_eq!(run.code, Some(1), "{}", run.transcript());
    assert!(run.stderr.contains("nothing is left that could be taken back"), "{}", run.stderr);
    let history = program.command(&["memory", "history", "--json"]).output().await.unwrap().stdout;
    let undone = String::from_utf8(history).unwrap();
    let undone = undone.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let undone = undone.filter(|change| change["path"].as_str().unwrap().ends_with("deploy-fridays.md"));
    let newest = undone.map(|change| change["id"].as_str().unwrap().to_owned()).next().unwrap();
    program.run(&["memory", "undo", &newest]).await;
    assert_eq!(std::fs::read(memory(&program, "deploy-fridays.md")).unwrap(), topic);
    assert_eq!(std::fs::read_to_string(memory(&program, "MEMORY.md")).unwrap(), INDEX);

    let run = program.run(&["memory", "forget", "deploy-fridays.md"]).await;
    assert_eq!(run.stdout, "deploy-fridays.md is forgotten; bring it back with: reverie memory undo\n");
    assert!(!exists("deploy-fridays.md"));
    assert_eq!(std::fs::read_to_string(memory(&program, "MEMORY.md")).unwrap(), "");
    let history = program.command(&["memory", "history", "--json"]).output().await.unwrap().stdout;
    let newest: Vec<Value> =
        String::from_utf8(history).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let deleted =
        newest.iter().find(|change| change["path"].as_str().unwrap().ends_with("deploy-fridays.md")).unwrap();
    assert_eq!((&deleted["by"], &deleted["why"]), (&Value::from("user"), &Value::from("you deleted it")));
    let id = deleted["id"].as_str().unwrap();
    program.run(&["memory", "undo", id]).await;
    assert_eq!(std::fs::read(memory(&program, "deploy-fridays.md")).unwrap(), topic);
    assert_eq!(std::fs::read_to_string(memory(&program, "MEMORY.md")).unwrap(), INDEX);

    let run = program.run(&["memory", "undo", "--since", "2020-01-01"]).await;
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert!(!exists("deploy-fridays.md") && !exists("MEMORY.md"), "{}", run.transcript());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mistakes_are_told_and_fail() {
    let program = told().await;
    let mut said = String::new();
    for arguments in [
        &["memory", "show", "nothing.md"][..],
        &["memory", "show", "../../../../etc/passwd"],
        &["memory", "forget", "nothing.md"],
        &["memory", "undo", "ffff"],
        &["memory", "undo", "--since", "some day"],
    ] {
        let run = program.run(arguments).await;
        assert_ne!(run.code, Some(0), "{arguments:?}");
        said.push_str(&format!("> {}\n{}", arguments.join(" "), run.transcript()));
    }
    expect![[r#"
        > memory show nothing.md
        --- stderr
        reverie: path: there is no memory nothing.md
        --- exit code 1
        > memory show ../../../../etc/passwd
        --- stderr
        reverie: path: ../../../../etc/passwd is not below <home>/.claude/projects/<project>/memory
        --- exit code 1
        > memory forget nothing.md
        --- stderr
        reverie: path: there is no memory nothing.md
        --- exit code 1
        > memory undo ffff
        --- stderr
        reverie: no change begins with ffff; reverie memory history lists them
        --- exit code 1
        > memory undo --since some day
        --- stderr
        reverie: 'some day' is no time; write <date> or 2026-03-01T09:30:00Z
        Try 'reverie --help'.
        --- exit code 2
    "#]]
    .assert_eq(&steady(&program, &said));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lint_fails_where_something_is_wrong_and_a_terminal_is_safe() {
    let program = told().await;
    let hostile = "---\nname: \u{1b}]0;owned\u{7}\ndescription: \u{1b}[2Jgone \u{202e}txet\ntype: project\n---\n\nRed \u{1b}[31m alert.\n";
    std::fs::write(memory(&program, "hostile.md"), hostile).unwrap();
    for arguments in [
        &["memory", "list"][..],
        &["memory", "show", "hostile.md"],
        &["memory", "search", "alert"],
        &["memory", "history"],
        &["memory", "lint"],
    ] {
        let run = program.run(arguments).await;
        assert!(!run.stdout.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{arguments:?}: {:?}", run.stdout);
    }
    let run = program.run(&["memory", "lint"]).await;
    assert_eq!(run.code, Some(1), "{}", run.transcript());
    assert!(run.stdout.contains("[hidden-characters]") && run.stdout.contains("[orphan]"), "{}", run.stdout);
}

#[tokio::test]
async fn the_ranker_answers_line_by_line() {
    let program = Program::offline(
        "//- m/deploys.md\n---\ndescription: We deploy on Fridays\n---\nOn Fridays.\n//- m/coffee.md\nThe coffee machine is descaled.\n//- m/MEMORY.md\n- [D](deploys.md) — d\n",
    );
    let folder = program.fixture.path("m");
    let folder = folder.to_str().unwrap();
    let mut running = program.start(&["debug", "rank", "--dir", folder]);
    running.write("{\"id\": 1, \"text\": \"when do we deploy?\", \"k\": 3}\n").await;
    let answer: Value = serde_json::from_str(&running.line().await).unwrap();
    assert_eq!((&answer["id"], &answer["ranked"]), (&Value::from(1), &serde_json::json!(["deploys.md"])));
    assert!(answer["conf"].as_f64().is_some_and(|conf| (0.0..=1.0).contains(&conf)), "{answer}");
    running
        .write("{\"id\": \"x\", \"text\": \"when do we deploy?\", \"time\": \"2001-01-01T00:00:00Z\"}\n")
        .await;
    let answer: Value = serde_json::from_str(&running.line().await).unwrap();
    assert_eq!(answer["ranked"], serde_json::json!([]), "nothing of it was there then");
    for line in ["nonsense\n", "{\"id\": 2}\n", "{\"id\": 3, \"text\": \"x\", \"time\": \"soon\"}\n"] {
        running.write(line).await;
        let answer: Value = serde_json::from_str(&running.line().await).unwrap();
        assert!(answer["error"].is_string(), "{answer}");
    }
    running.close_input();
    assert_eq!(running.end().await.code, Some(0));
    let nowhere = program.run(&["debug", "rank", "--dir", "/nowhere/at/all"]).await;
    assert_ne!(nowhere.code, Some(0));
}

#[tokio::test]
async fn secrets_are_found_and_not_repeated() {
    let program = Program::offline("");
    let token = format!("ghp_{}", "Zx9Qw3Er5Ty7Ui1Op2As4Df6Gh8Jk0Lz5Xc7");
    let mut running = program.start(&["debug", "secrets"]);
    running.write(&format!("{{\"text\": \"one\\ntwo {token}\"}}\n")).await;
    let line = running.line().await;
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(answer["findings"].as_array().unwrap().len(), 1, "{line}");
    assert_eq!(answer["findings"][0]["line"], 2);
    assert!(answer["findings"][0]["rule"].is_string() && !line.contains(&token), "{line}");
    running.write("{\"text\": \"the password is in the vault\"}\n").await;
    assert_eq!(running.line().await, "{\"findings\":[]}\n");
    running.write("nonsense\n").await;
    assert!(running.line().await.contains("error"));
    running.close_input();
    assert_eq!(running.end().await.code, Some(0));
}
