//! What the agent does by itself, as an editor sees it.

use std::path::PathBuf;

use agent::{DreamPhase, DreamProgress, DreamRound, Frontend, JobEvent, JobKind, JobState, JobStep, News};
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::{convert::SessionId, testing::TestClient};

fn job(client: &TestClient, step: JobStep) {
    let event = JobEvent { id: "7".to_owned(), kind: JobKind::Extraction, session: None, step };
    client.server.frontend().job(event);
}

fn news(client: &TestClient, session: Option<SessionId>) {
    let news = News {
        kind: JobKind::Extraction,
        session,
        text: "Remembered: Deploys".to_owned(),
        view: Some(PathBuf::from("/memory/deploys.md")),
        undo: Some("no such group".to_owned()),
    };
    client.server.frontend().news(news);
}

async fn answer(client: &mut TestClient, method: &str, result: Value, expected: Expect) {
    let asked = client.receive_where(|message| message["method"] == method).await;
    expected.assert_eq(&asked["params"].to_string());
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })).await;
}

async fn told(client: &mut TestClient, method: &str, expected: Expect) {
    let told = client.receive_where(|message| message["method"] == method).await;
    expected.assert_eq(&told["params"].to_string());
}

#[tokio::test]
async fn a_job_is_shown_as_progress_until_it_ends() {
    let mut client = TestClient::initialized(json!({ "window": { "workDoneProgress": true } })).await;
    job(&client, JobStep::Begun { title: "Remembering".to_owned() });
    let token = expect![[r#"{"token":"reverie/job/7"}"#]];
    answer(&mut client, "window/workDoneProgress/create", Value::Null, token).await;
    let begin = expect![[
        r#"{"token":"reverie/job/7","value":{"kind":"begin","title":"Remembering","cancellable":true}}"#
    ]];
    told(&mut client, "$/progress", begin).await;
    // There is no such job for the agent to stop, and nobody hears of it.
    client.notify("window/workDoneProgress/cancel", json!({ "token": "reverie/job/7" })).await;
    job(&client, JobStep::Ended { message: Some("stopped".to_owned()) });
    let end = expect![[r#"{"token":"reverie/job/7","value":{"kind":"end","message":"stopped"}}"#]];
    told(&mut client, "$/progress", end).await;
}

#[tokio::test]
async fn a_client_without_progress_is_not_asked_for_it() {
    let mut client = TestClient::initialized(json!({})).await;
    job(&client, JobStep::Begun { title: "Remembering".to_owned() });
    job(&client, JobStep::Ended { message: None });
    let answer = client.request("reverie/dream/status", Value::Null).await;
    assert_eq!(answer["result"]["state"], "idle", "{answer}");
}

#[tokio::test]
async fn a_dream_tells_how_it_goes_along() {
    let mut client = TestClient::initialized(json!({})).await;
    client.server.frontend().dream_progress(DreamProgress {
        dream: "d".to_owned(),
        status: JobState::Running,
        phase: DreamPhase::Updating,
        rounds: 2,
        files_touched: vec![PathBuf::from("/memory/deploys.md")],
        text: None,
        latest: vec![DreamRound { text: "Two say the same.".to_owned(), tool_calls: 3 }],
    });
    let progress = expect![[
        r#"{"dreamId":"d","status":"running","phase":"updating","rounds":2,"filesTouched":["/memory/deploys.md"],"latest":[{"text":"Two say the same.","toolCalls":3}]}"#
    ]];
    told(&mut client, "reverie/dream/progress", progress).await;
}

#[tokio::test]
async fn a_client_made_for_it_gets_news_as_a_line_in_the_session() {
    let capabilities = json!({ "experimental": { "reverie": { "version": 1 } } });
    let mut client = TestClient::initialized(capabilities).await;
    news(&client, None);
    let session = SessionId::parse("7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51");
    news(&client, session);
    let notice = expect![[
        r#"{"sessionId":"7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51","seq":0,"update":{"kind":"notice","level":"info","text":"Remembered: Deploys"}}"#
    ]];
    told(&mut client, "reverie/session/update", notice).await;
}

#[tokio::test]
async fn what_was_done_before_the_end_is_told_before_it() {
    let capabilities = json!({ "experimental": { "reverie": { "version": 1 } } });
    let mut client = TestClient::initialized(capabilities).await;
    // The server has read everything so far, and nothing is held back.
    client.request("reverie/tasks/list", Value::Null).await;
    let session = SessionId::parse("7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51");
    for _ in 0..3 {
        news(&client, session.clone());
    }
    let id = client.ask("shutdown", Value::Null).await;
    for seq in 0..3 {
        let told = client.receive().await;
        assert_eq!(told["params"]["seq"], seq, "{told}");
    }
    assert_eq!(client.receive().await["id"], id);
}

#[tokio::test]
async fn any_other_client_gets_a_message_with_view_and_undo() {
    let capabilities = json!({ "window": { "showDocument": { "support": true } } });
    let mut client = TestClient::initialized(capabilities).await;
    news(&client, None);
    let message = expect![[
        r#"{"type":3,"message":"Remembered: Deploys","actions":[{"title":"View"},{"title":"Undo"}]}"#
    ]];
    answer(&mut client, "window/showMessageRequest", json!({ "title": "View" }), message).await;
    let document = expect![[r#"{"uri":"file:///memory/deploys.md","takeFocus":true}"#]];
    answer(&mut client, "window/showDocument", json!({ "success": true }), document).await;

    let mut client = TestClient::initialized(json!({})).await;
    news(&client, None);
    let message = expect![[r#"{"type":3,"message":"Remembered: Deploys","actions":[{"title":"Undo"}]}"#]];
    answer(&mut client, "window/showMessageRequest", json!({ "title": "Undo" }), message).await;
    let failure = client.receive_where(|message| message["method"] == "window/showMessage").await;
    let words = failure["params"]["message"].as_str().unwrap();
    assert!(words.starts_with("It could not be taken back: "), "{words}");
}

#[tokio::test]
async fn a_client_that_wants_quiet_finds_news_in_its_log() {
    let mut client = TestClient::start();
    let options = json!({ "reverie": { "notifications": { "quiet": true } } });
    client.request("initialize", json!({ "capabilities": {}, "initializationOptions": options })).await;
    client.notify("initialized", json!({})).await;
    news(&client, None);
    let line = expect![[r#"{"type":3,"message":"Remembered: Deploys"}"#]];
    told(&mut client, "window/logMessage", line).await;
}

#[tokio::test]
async fn what_runs_by_itself_is_listed_with_its_costs() {
    let mut client = TestClient::initialized(json!({})).await;
    let listed = client.request("reverie/tasks/list", Value::Null).await;
    let background = &listed["result"]["background"];
    let kinds: Vec<&str> =
        background["kinds"].as_array().unwrap().iter().map(|kind| kind["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["extraction", "sessionMemory", "dream"]);
    assert_eq!((&background["spentUsd"], background.get("limitUsd")), (&json!(0.0), None), "{listed}");
    let unknown = client.request("reverie/dream/stop", json!({ "dreamId": "x" })).await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let unknown = client.request("reverie/dream/report", json!({ "dreamId": "x" })).await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}
