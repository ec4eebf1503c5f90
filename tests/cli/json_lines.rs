//! "`reverie ask --json "…"` prints each server → client notification as one JSON line {method, params}, last line
//! {result}".

use expect_test::expect;
use serde_json::{Value, json};
use testkit::model_server::Reply;

use crate::program::{Program, Run};

fn lines(run: &Run) -> Vec<Value> {
    run.stdout.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_line_is_an_update_and_the_last_is_the_result() {
    let program = Program::scripted("//- a.txt\nx\n").await;
    program.model().reply(Reply::tool("Read", json!({ "file_path": program.fixture.path("a.txt") })));
    program.model().reply(Reply::text("An x."));
    let run = program.run(&["ask", "--json", "what is in it?"]).await;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let mut lines = lines(&run);
    let result = lines.pop().unwrap();
    let mut text = String::new();
    let mut kinds: Vec<&str> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        assert_eq!(line["method"], "reverie/session/update");
        assert_eq!(line["params"]["seq"], index);
        let update = &line["params"]["update"];
        text.push_str(update["text"].as_str().unwrap_or_default());
        kinds.push(update["kind"].as_str().unwrap());
    }
    // A tool may run before the response that calls it has ended, so the usage has no fixed place.
    kinds.retain(|kind| *kind != "usage");
    kinds.dedup();
    assert_eq!(text, "An x.");
    expect!["title toolStart toolEnd textDelta turnEnd"].assert_eq(&kinds.join(" "));
    let mut stable = result;
    stable["result"]["usage"] = json!("…");
    expect![[
        r#"{"result":{"sessionId":"<id>","turnId":"<id>","stopReason":"endTurn","usage":"…","error":null}}"#
    ]]
    .assert_eq(&stable.to_string());
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_turn_has_a_result_too() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::status(400));
    let run = program.run(&["ask", "--json", "hello"]).await;
    assert_eq!(run.code, Some(1));
    let result = lines(&run).pop().unwrap();
    assert_eq!(result["result"]["stopReason"], "error", "{result}");
    assert!(result["result"]["error"]["message"].is_string(), "{result}");
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_never_started_has_a_result_too() {
    let run = Program::offline("").run(&["ask", "--json", "--resume", "nosuch", "hello"]).await;
    expect![[r#"
        {"result":{"sessionId":null,"turnId":null,"stopReason":"error","usage":{},"error":{"code":"notStarted","message":"there is no session nosuch; 'reverie sessions' lists this project's, with --all every one"}}}
        --- stderr
        reverie: there is no session nosuch; 'reverie sessions' lists this project's, with --all every one
        --- exit code 1
    "#]]
    .assert_eq(&run.transcript());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_allowed_is_still_said_on_stderr() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::tool("Bash", json!({ "command": "touch made" })));
    program.model().reply(Reply::text("I could not."));
    let run = program.run(&["ask", "--json", "do it"]).await;
    assert!(run.stderr.contains("--allow 'Bash(touch:*)'"), "{}", run.stderr);
    assert_eq!(lines(&run).pop().unwrap()["result"]["stopReason"], "endTurn");
    program.finish();
}
