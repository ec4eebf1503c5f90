//! What the agent does by itself is shown, can be stopped, is told once, and comes to its end before the server does.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{Answer, ClientOptions, Notification},
    model_server::{Gate, ModelServer, Reply},
};

use crate::harness::Harness;

/// A turn is over, and the agent learns from it: the model has been asked, and does not answer before the gate opens.
async fn learning(harness: &Harness) -> (Gate, Notification) {
    let gate = Gate::closed();
    harness.model.reply(Reply::text("hello"));
    harness.model.reply_to("extraction", Reply::text("nothing to keep").behind(&gate));
    let session = harness.client.new_session().await;
    harness.client.turn(&session, "we ship on Mondays").await;
    gate.reached().await;
    let begin = harness.client.wait_for("the begin of the job", |seen| is_of_job(seen, "begin")).await;
    (gate, begin)
}

fn is_of_job(seen: &Notification, kind: &str) -> bool {
    seen.method == "$/progress"
        && seen.params["value"]["kind"] == kind
        && seen.params["token"].as_str().is_some_and(|token| token.starts_with("reverie/job/"))
}

async fn states(harness: &Harness) -> Vec<Value> {
    let listed = harness.client.request("reverie/tasks/list", json!({})).await.unwrap();
    listed["tasks"].as_array().unwrap().iter().map(|task| json!([task["kind"], task["state"]])).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn learning_is_shown_and_stopped_where_it_is_shown() {
    let harness = Harness::start("").await;
    let (gate, begin) = learning(&harness).await;
    assert_eq!(begin.params["value"]["cancellable"], true);
    assert_eq!(states(&harness).await, [json!(["extraction", "running"])]);
    harness.client.notify("window/workDoneProgress/cancel", json!({ "token": begin.params["token"] }));
    let end = harness.client.wait_for("the end of the job", |seen| is_of_job(seen, "end")).await;
    assert_eq!(end.params["token"], begin.params["token"]);
    assert_eq!(states(&harness).await, [json!(["extraction", "killed"])]);
    gate.open();
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_waits_for_what_is_being_learnt_and_reads_on() {
    let harness = Harness::over_stdio("").await;
    let (gate, _) = learning(&harness).await;
    let (_, answer) = harness.client.start_request("shutdown", Value::Null);
    // It reads on: this is refused, and the shutdown is not answered yet.
    let refused = harness.client.request("reverie/tasks/list", json!({})).await.unwrap_err();
    assert_eq!(refused.code, -32600, "{}", refused.message);
    gate.open();
    harness.client.wait_for("the end of the job", |seen| is_of_job(seen, "end")).await;
    harness.client.answer(answer, "shutdown").await.unwrap();
    harness.client.notify("exit", Value::Null);
    assert_eq!(harness.client.hang_up().await, Some(0));
    harness.model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_being_learnt_can_be_stopped_while_shutdown_waits_for_it() {
    let harness = Harness::over_stdio("").await;
    let (gate, begin) = learning(&harness).await;
    let (_, answer) = harness.client.start_request("shutdown", Value::Null);
    harness.client.notify("window/workDoneProgress/cancel", json!({ "token": begin.params["token"] }));
    harness.client.answer(answer, "shutdown").await.unwrap();
    harness.client.notify("exit", Value::Null);
    assert_eq!(harness.client.hang_up().await, Some(0));
    gate.open();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_does_not_wait_is_not_waited_for() {
    for says_exit in [true, false] {
        let harness = Harness::over_stdio("").await;
        let (gate, _) = learning(&harness).await;
        let (_, _answer) = harness.client.start_request("shutdown", Value::Null);
        let started = Instant::now();
        if says_exit {
            harness.client.notify("exit", Value::Null);
            harness.client.closed().await;
        }
        assert_eq!(harness.client.hang_up().await, Some(0));
        assert!(started.elapsed() < Duration::from_secs(3), "took {:?}", started.elapsed());
        gate.open();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_client_is_told_once_and_may_take_it_back() {
    let fixture = Fixture::new("");
    crate::harness::trust(&fixture);
    let model = ModelServer::start().await;
    let environment = fixture.environment(&model.url());
    let options = ClientOptions { reverie: Value::Null, ..ClientOptions::new(&fixture.workspace) };
    let harness = Harness::start_with(fixture, model, &environment, &options).await;
    let file = harness.fixture.project_dir().join("memory/deploys.md");
    let content = "---\nname: Deploys\ndescription: We ship on Mondays\ntype: project\n---\n\nOn Mondays.\n";
    harness.model.reply(Reply::text("hello"));
    let write = json!({ "file_path": file.to_str().unwrap(), "content": content });
    harness.model.reply_to("extraction", Reply::tool("Write", write));
    harness.model.reply_to("extraction", Reply::text("done"));
    harness.client.on_request("window/showMessageRequest", |_| Answer::Result(json!({ "title": "Undo" })));
    harness.client.ignore("reverie/memory/event");
    let session = harness.client.new_session().await;
    harness.client.turn(&session, "we ship on Mondays").await;
    let asked = harness.client.wait_until_asked("window/showMessageRequest", 1).await;
    assert_eq!(asked[0]["message"], "Remembered: Deploys", "{asked:?}");
    harness
        .client
        .wait_for("the way back", |seen| {
            seen.method == "reverie/memory/event" && seen.params["kind"] == "undone"
        })
        .await;
    assert!(!file.exists());
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_the_end_nobody_waits_for_a_model_that_is_down() {
    let harness = Harness::start("").await;
    let session = harness.client.new_session().await;
    harness.model.always("extraction", Reply::status(529));
    harness.model.reply(Reply::text("yes"));
    harness.client.turn(&session, "is it?").await;
    harness.model.wait_for_requests(2).await;
    // The limit is a minute, and so is the patience of a retry.
    harness.client.shutdown().await;
    let extractions = harness.model.requests_of("extraction").len();
    assert!(extractions < 4, "{extractions}");
    harness.model.finish();
}
