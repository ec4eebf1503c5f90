//! What runs beside the conversation is listed, and ends when it is told to.

use serde_json::json;
use testkit::{lsp_client::Answer, model_server::Reply};

use crate::harness::Harness;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_background_command_is_listed_and_stopped() {
    let harness = Harness::start("").await;
    harness.client.on_request("reverie/permission/ask", |_| Answer::allow_once());
    let none = harness.client.request("reverie/tasks/list", json!({})).await.unwrap();
    assert_eq!(none["tasks"], json!([]));
    let command = json!({ "command": "sleep 1000", "run_in_background": true });
    harness.model.reply(Reply::tool("Bash", command));
    harness.model.reply(Reply::text("it sleeps"));
    let session = harness.client.new_session().await;
    harness.client.turn(&session, "sleep").await;
    let listed = harness.client.request("reverie/tasks/list", json!({ "sessionId": session })).await.unwrap();
    let task = &listed["tasks"][0];
    assert_eq!((&task["title"], &task["state"]), (&json!("sleep 1000"), &json!("running")), "{listed}");
    assert_eq!(task["sessionId"], json!(session));
    let stop = json!({ "taskId": task["taskId"] });
    harness.client.request("reverie/tasks/stop", stop.clone()).await.unwrap();
    let ended = async {
        loop {
            let listed = harness.client.request("reverie/tasks/list", json!({})).await.unwrap();
            if listed["tasks"][0]["state"] == "killed" {
                return;
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), ended).await.expect("it ends");
    harness.client.request("reverie/tasks/stop", stop).await.expect("it may be stopped twice");
    for unknown in ["", "x/bash_1", &format!("{session}/bash_9")] {
        harness.client.request("reverie/tasks/stop", json!({ "taskId": unknown })).await.unwrap_err();
    }
    harness.finish().await;
}
