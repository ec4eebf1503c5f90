//! Turns of the offline model, as an editor sees them.

use serde_json::{Value, json};

use crate::testing::TestClient;

fn is_update(message: &Value, kind: &str) -> bool {
    message["params"]["update"]["kind"] == kind
}

async fn new_session(client: &mut TestClient) -> Value {
    let answer = client.request("reverie/session/new", Value::Null).await;
    answer["result"]["sessionId"].clone()
}

fn prompt(session: &Value) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "hello" }] })
}

#[tokio::test]
async fn a_prompt_is_answered_before_its_updates_and_these_have_no_gap() {
    let mut client = TestClient::initialized(json!({})).await;
    let session = new_session(&mut client).await;
    let mut seq = 0;
    for turn in 0..3 {
        let id = client.ask("reverie/session/prompt", prompt(&session)).await;
        let answer = client.receive().await;
        assert_eq!((&answer["id"], &answer["result"]["queued"]), (&json!(id), &json!(false)), "{answer}");
        let mut said = String::new();
        loop {
            let message = client.receive().await;
            assert_eq!(message["method"], "reverie/session/update");
            let params = &message["params"];
            assert_eq!(params["sessionId"], session);
            assert_eq!(params["seq"], seq);
            seq += 1;
            said.push_str(params["update"]["text"].as_str().unwrap_or_default());
            if is_update(&message, "turnEnd") {
                assert_eq!(params["turnId"], answer["result"]["turnId"]);
                assert_eq!(params["update"]["stopReason"], "endTurn", "{params}");
                break;
            }
        }
        assert!(!said.is_empty(), "turn {turn} says something");
    }
}

#[tokio::test]
async fn a_turn_is_shown_as_progress_from_begin_to_end() {
    let mut client = TestClient::initialized(json!({ "window": { "workDoneProgress": true } })).await;
    let session = new_session(&mut client).await;
    client.request("reverie/session/prompt", prompt(&session)).await;
    let create = client.receive_where(|message| message["method"] == "window/workDoneProgress/create").await;
    client.send(&json!({ "jsonrpc": "2.0", "id": create["id"], "result": null })).await;
    for kind in ["begin", "end"] {
        let progress = client.receive_where(|message| message["params"]["value"]["kind"] == kind).await;
        assert_eq!(progress["params"]["token"], create["params"]["token"]);
    }

    let mut params = prompt(&session);
    params["workDoneToken"] = json!(7);
    client.request("reverie/session/prompt", params).await;
    for kind in ["begin", "end"] {
        let progress = client.receive_where(|message| message["params"]["value"]["kind"] == kind).await;
        assert_eq!(progress["params"]["token"], 7);
    }
}

#[tokio::test]
async fn sessions_are_listed_renamed_resumed_and_deleted() {
    let mut client = TestClient::initialized(json!({})).await;
    let session = new_session(&mut client).await;
    client.request("reverie/session/prompt", prompt(&session)).await;
    client.receive_where(|message| is_update(message, "turnEnd")).await;
    let rename = json!({ "sessionId": session, "title": "Greeting" });
    assert_eq!(client.request("reverie/session/rename", rename).await["result"], json!({}));
    let listed = client.request("reverie/session/list", json!({ "limit": 5 })).await;
    let summary = &listed["result"]["sessions"][0];
    assert_eq!((&summary["sessionId"], &summary["title"]), (&session, &json!("Greeting")), "{listed}");
    assert_eq!(summary["firstPrompt"], "hello");
    let resumed = client.request("reverie/session/resume", json!({ "sessionId": session })).await;
    assert_eq!(resumed["result"]["strategy"], "full", "{resumed}");
    assert_eq!(resumed["result"]["messages"][0]["text"], "hello", "{resumed}");
    let report = client.request("reverie/context/report", json!({ "sessionId": session })).await;
    assert_eq!(report["result"]["level"], "normal", "{report}");
    let delete = json!({ "sessionId": session });
    assert_eq!(client.request("reverie/session/delete", delete.clone()).await["result"], json!({}));
    let gone = client.request("reverie/session/resume", delete).await;
    assert_eq!(gone["error"]["code"], -32001, "{gone}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_and_deletions_take_effect_in_the_order_of_the_wire() {
    let mut client = TestClient::initialized(json!({})).await;
    let session = new_session(&mut client).await;
    client.request("reverie/session/prompt", prompt(&session)).await;
    client.receive_where(|message| is_update(message, "turnEnd")).await;
    let mut last = 0;
    for number in 0..50 {
        let rename = json!({ "sessionId": session, "title": format!("Title {number}") });
        last = client.ask("reverie/session/rename", rename).await;
    }
    client.receive_where(|message| message["id"] == last).await;
    let listed = client.request("reverie/session/list", json!({})).await;
    assert_eq!(listed["result"]["sessions"][0]["title"], "Title 49", "{listed}");
    client.ask("reverie/session/delete", json!({ "sessionId": session })).await;
    let refused = client.request("reverie/session/prompt", prompt(&session)).await;
    assert_eq!(refused["error"]["code"], -32001, "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_is_shown_as_progress_is_answered_first() {
    let mut client = TestClient::initialized(json!({ "window": { "workDoneProgress": true } })).await;
    for _ in 0..20 {
        let session = new_session(&mut client).await;
        let id = client.ask("reverie/session/prompt", prompt(&session)).await;
        let first = client
            .receive_where(|message| {
                let answers = message["id"] == id && message.get("method").is_none();
                answers || message["params"]["sessionId"] == session
            })
            .await;
        assert_eq!(first["id"], id, "{first}");
        client
            .receive_where(|message| {
                message["params"]["sessionId"] == session && is_update(message, "turnEnd")
            })
            .await;
    }
}
