//! What we send conforms to the types of the provider's own SDK.

use std::process::Command;

use serde_json::json;
use testkit::model_server::{Reply, ReplyBlock};

use crate::harness::{Harness, rigs};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_request_of_a_varied_session_conforms() {
    let harness = Harness::start("//- a.txt\none\ntwo\n//- CLAUDE.md\nBe brief.\n").await;
    harness.client.allow_everything();
    let path = harness.text_path("a.txt");
    let thinking =
        ReplyBlock::Thinking { thinking: "I should look.".to_owned(), signature: "c2lnbmVk".to_owned() };
    harness.model.reply(
        Reply::blocks(vec![thinking, ReplyBlock::Text("Looking.".to_owned())])
            .and_tool("Read", json!({ "file_path": path }))
            .and_tool("Grep", json!({ "pattern": "two", "output_mode": "content", "-n": true }))
            .and_tool("Read", json!({ "file_path": "/no/such/file" }))
            .and_tool("NoSuchTool", json!({})),
    );
    harness.model.reply(
        Reply::tool("Edit", json!({ "file_path": path, "old_string": "two", "new_string": "2" }))
            .and_tool("Bash", json!({ "command": "cat a.txt" })),
    );
    harness
        .model
        .reply(Reply::tool("TodoWrite", json!({ "todos": [{ "content": "rest", "status": "pending" }] })));
    harness.model.reply(Reply::text("a long answer that stops").stop_reason("max_tokens"));
    harness.model.reply(Reply::text("and ends"));
    let session = harness.client.new_session().await;
    let pixel =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let prompt = json!([
        { "type": "text", "text": "what is this?" },
        { "type": "image", "mediaType": "image/png", "data": pixel },
        { "type": "mention", "uri": testkit::lsp_client::uri(&harness.path("a.txt")) },
    ]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    let answer = harness.client.request("reverie/session/prompt", params).await.unwrap();
    let turn = harness.client.turn_end(&session, answer["turnId"].as_str().unwrap()).await;
    assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
    harness.model.reply(Reply::text("bye"));
    harness.client.turn(&session, "thanks").await;

    let bodies: String =
        harness.model.requests().iter().map(|request| format!("{}\n", request.body)).collect();
    assert_conforms(&bodies);
    harness.finish().await;
}

/// The check itself must be able to fail.
#[test]
fn a_wrong_request_is_found() {
    let (code, report) = validate(
        "{\"model\": \"m\", \"max_tokens\": 1, \"stream\": true, \"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"tekst\": \"x\"}]}]}\n",
    );
    assert_eq!(code, Some(1), "{report}");
    assert!(
        report.contains("tekst: is not a field of TextBlockParam") && report.contains("text: is missing"),
        "{report}"
    );
}

#[track_caller]
fn assert_conforms(bodies: &str) {
    let (code, report) = validate(bodies);
    assert_eq!(code, Some(0), "{report}");
}

fn validate(bodies: &str) -> (Option<i32>, String) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/sdk");
    let python = rigs().join("sdk/bin/python");
    assert!(
        python.is_file(),
        "{} is missing: make a virtual environment there and install {folder}/requirements.txt into it",
        python.display()
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bodies).unwrap();
    let output = Command::new(python).arg(format!("{folder}/validate.py")).arg(file.path()).output().unwrap();
    let report =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), report)
}
