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

/// Runs the check over the requests, and over a wrong one: a check that cannot fail proves nothing.
#[track_caller]
fn assert_conforms(bodies: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/sdk");
    let python = rigs().join("sdk/bin/python");
    assert!(
        python.is_file(),
        "{} is missing: make a virtual environment there and install {folder}/requirements.txt into it",
        python.display()
    );
    let files = tempfile::tempdir().unwrap();
    let content = json!([{ "type": "text", "tekst": "x" }]);
    let wrong = json!({ "model": "m", "max_tokens": 1, "stream": true, "messages": [{ "role": "user", "content": content }] });
    std::fs::write(files.path().join("ours"), bodies).unwrap();
    std::fs::write(files.path().join("wrong"), wrong.to_string()).unwrap();
    let output = Command::new(python)
        .arg(format!("{folder}/validate.py"))
        .args(["ours", "wrong"])
        .current_dir(files.path())
        .output()
        .unwrap();
    let report =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let expected = format!(
        "wrong:1: body.messages[0].content[0].text: is missing\n\
         wrong:1: body.messages[0].content[0].tekst: is not a field of TextBlockParam\n\
         {} requests checked, 1 wrong\n",
        bodies.lines().count() + 1
    );
    assert_eq!(report, expected);
}
