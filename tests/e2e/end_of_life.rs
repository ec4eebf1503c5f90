//! However the server ends, it is gone within two seconds, with its children, and its state is consistent.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::ClientOptions,
    model_server::{ModelServer, Reply},
};

use crate::harness::{Harness, connect_over_stdio, processes_with};

const GONE_WITHIN: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_then_exit_is_zero() {
    let harness = Harness::over_stdio("").await;
    assert_eq!(harness.client.shutdown().await, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exit_without_shutdown_is_one() {
    let harness = Harness::over_stdio("").await;
    harness.client.notify("exit", Value::Null);
    assert_eq!(harness.client.hang_up().await, Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exit_ends_the_server_though_its_input_stays_open() {
    let harness = Harness::over_stdio("").await;
    let started = Instant::now();
    assert_eq!(harness.client.shutdown().await, Some(0));
    assert!(started.elapsed() < GONE_WITHIN, "took {:?}", started.elapsed());
}

/// Starts a long command in the main loop and returns once it runs.
async fn busy(harness: &Harness, marker: &str) -> String {
    harness.client.allow_everything();
    let command = format!("sleep {marker} & echo started; sleep {marker}");
    harness.model.reply(Reply::tool("Bash", json!({ "command": command })));
    let session = harness.client.new_session().await;
    harness.client.prompt(&session, "run it").await;
    harness.client.wait_for("output", |seen| seen.kind() == "toolProgress").await;
    assert!(!processes_with(marker).is_empty());
    session
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_input_closes_the_server_and_its_children_are_gone() {
    let marker = "86311.25";
    let harness = Harness::over_stdio("").await;
    let session = busy(&harness, marker).await;
    let Harness { client, model, fixture } = harness;
    let started = Instant::now();
    client.hang_up().await;
    assert!(started.elapsed() < GONE_WITHIN, "took {:?}", started.elapsed());
    assert_eq!(processes_with(marker), Vec::<String>::new());
    assert_resumes(fixture, model, &session).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_during_a_turn_leaves_no_child_and_a_session_that_resumes() {
    let marker = "86312.25";
    let harness = Harness::over_stdio("").await;
    let session = busy(&harness, marker).await;
    let Harness { client, model, fixture } = harness;
    for kind in ["toolStart", "toolProgress", "toolEnd", "usage", "title", "turnEnd"] {
        client.ignore(kind);
    }
    assert_eq!(client.shutdown().await, Some(0));
    assert_eq!(processes_with(marker), Vec::<String>::new());
    assert_resumes(fixture, model, &session).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_editor_dies_the_server_dies_too() {
    let fixture = Fixture::new("");
    let mut editor = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
    let mut client = connect_over_stdio(&fixture, &fixture.environment("http://127.0.0.1:9"));
    client.set_patience(Duration::from_secs(5));
    client.ignore("$/progress");
    let options = ClientOptions { process_id: editor.id(), ..ClientOptions::new(&fixture.workspace) };
    client.initialize(&options).await;
    client.request("reverie/models/list", json!({})).await.unwrap();
    let server = client.process_id().unwrap();
    editor.kill().unwrap();
    editor.wait().unwrap();
    let killed = Instant::now();
    // The input stays open: only the death of the process that `processId` names tells the server.
    client.closed().await;
    assert!(killed.elapsed() < GONE_WITHIN, "took {:?}", killed.elapsed());
    drop(client);
    assert!(!processes_with("reverie").iter().any(|line| line.starts_with(&format!("{server} "))));
}

async fn assert_resumes(fixture: Fixture, model: ModelServer, session: &str) {
    let client = connect_over_stdio(&fixture, &fixture.environment(&model.url()));
    client.ignore("$/progress");
    client.ignore("window/logMessage");
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    let resumed = client.request("reverie/session/resume", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(resumed["strategy"], "full", "{resumed}");
    model.reply(Reply::text("back again"));
    assert_eq!(client.turn(session, "hello again").await.text(), "back again");
    client.shutdown().await;
    model.finish();
}
