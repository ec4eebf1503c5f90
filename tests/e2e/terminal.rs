//! `reverie ask` and its siblings, as a shell sees them.

use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    model_server::{ModelServer, Reply},
};

use crate::harness::binary;

/// Runs the binary to its end, off the runtime's threads: the model server shares them.
async fn reverie(fixture: &Fixture, model: &ModelServer, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command
        .args(arguments)
        .current_dir(&fixture.workspace)
        .env_clear()
        .envs(fixture.environment(&model.url()))
        .stdin(Stdio::null());
    tokio::task::spawn_blocking(move || command.output().expect("the binary starts")).await.expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ask_prints_the_answer_and_continues_the_newest_session() {
    let fixture = Fixture::new("//- a.txt\none\n");
    let model = ModelServer::start().await;
    model.reply(Reply::tool("Read", json!({ "file_path": fixture.path("a.txt") })));
    model.reply(Reply::text("It says one."));
    let output = reverie(&fixture, &model, &["ask", "what does a.txt say?"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("It says one."), "{}", text(&output.stdout));

    model.reply(Reply::text("As I said."));
    let output = reverie(&fixture, &model, &["ask", "-c", "are you sure?"]).await;
    assert!(text(&output.stdout).contains("As I said."), "{}", text(&output.stderr));
    let last = model.main_requests().pop().unwrap();
    assert!(last.body["messages"].to_string().contains("It says one."), "the session goes on");
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ask_json_prints_each_notification_and_the_result() {
    let fixture = Fixture::new("");
    let model = ModelServer::start().await;
    model.reply(Reply::text("hello"));
    let output = reverie(&fixture, &model, &["ask", "--json", "hi"]).await;
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, notifications) = lines.split_last().unwrap();
    assert!(last.get("result").is_some(), "{last}");
    assert!(notifications.iter().all(|line| line["method"].is_string() && line["params"].is_object()));
    assert!(notifications.iter().any(|line| line["params"]["update"]["kind"] == "turnEnd"));
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exit_codes_tell_what_happened() {
    let fixture = Fixture::new("");
    let model = ModelServer::start().await;
    model.reply(Reply::status(401));
    let failed = reverie(&fixture, &model, &["ask", "hi"]).await;
    assert_eq!(failed.status.code(), Some(1));
    assert!(text(&failed.stderr).contains("ANTHROPIC_API_KEY"), "{}", text(&failed.stderr));
    let usage = reverie(&fixture, &model, &["frobnicate"]).await;
    assert_eq!(usage.status.code(), Some(2));
    let help = reverie(&fixture, &model, &["--help"]).await;
    assert_eq!(help.status.code(), Some(0));
    assert!(text(&help.stdout).lines().count() <= 40, "help fits a screen");
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_can_be_asked_for_is_denied_when_piped() {
    let fixture = Fixture::new("");
    let model = ModelServer::start().await;
    model.reply(Reply::tool("Bash", json!({ "command": "touch made" })));
    model.reply(Reply::text("I may not."));
    let output = reverie(&fixture, &model, &["ask", "make it"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(fixture.tree(), "");
    model.reply(Reply::tool("Bash", json!({ "command": "touch made" })));
    model.reply(Reply::text("Made."));
    reverie(&fixture, &model, &["ask", "--allow", "Bash(touch:*)", "make it"]).await;
    assert_eq!(fixture.tree(), "made\n");
    model.finish();
}
