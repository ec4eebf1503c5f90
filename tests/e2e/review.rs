//! Looking through what the agent changed: kept or taken back, hunk by hunk, in the buffer where there is one.

use serde_json::{Value, json};
use testkit::{lsp_client::Answer, model_server::Reply};

use crate::harness::Harness;

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

async fn changes(harness: &Harness, session: &str) -> Value {
    let listed = harness.client.request("reverie/changes/list", json!({ "sessionId": session })).await;
    listed.expect("an open session can be listed")["files"].clone()
}

async fn read(harness: &Harness, session: &str, path: &str) -> Value {
    let params = json!({ "sessionId": session, "path": path });
    harness.client.request("reverie/changes/read", params).await.expect("there is something to look through")
}

async fn resolve(harness: &Harness, session: &str, mut what: Value, keep: bool) -> Value {
    what["sessionId"] = session.into();
    what["keep"] = keep.into();
    harness.client.request("reverie/changes/resolve", what).await.expect("it can be done")["files"].clone()
}

fn hunk(text: &Value, at: usize) -> Value {
    text["hunks"][at]["id"].clone()
}

/// The second and the ninth line get other words.
async fn change_two_lines(harness: &Harness, session: &str, name: &str) -> String {
    let path = harness.text_path(name);
    harness.model.reply(Reply::tool("Read", json!({ "file_path": path })));
    let edits = json!([{ "old_string": "2\n", "new_string": "two\n" }, { "old_string": "9\n", "new_string": "nine\nand a half\n" }]);
    harness.model.reply(Reply::tool("MultiEdit", json!({ "file_path": path, "edits": edits })));
    harness.model.reply(Reply::text("done"));
    harness.client.turn(session, "change it").await;
    path
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_hunk_is_kept_and_the_other_taken_back_on_disk() {
    let harness = Harness::start(&format!("//- a.txt\n{TEN}")).await;
    let session = harness.editing_session().await;
    let path = change_two_lines(&harness, &session, "a.txt").await;
    assert_eq!(
        changes(&harness, &session).await,
        json!([{ "path": path, "state": "modified", "added": 3, "removed": 2 }])
    );
    let text = read(&harness, &session, &path).await;
    assert_eq!(text["before"], TEN);
    assert_eq!(text["hunks"][1]["before"], json!({ "start": 8, "lines": 1 }));
    assert_eq!(text["hunks"][1]["after"], json!({ "start": 8, "lines": 2 }));

    let left = resolve(&harness, &session, json!({ "path": path, "hunkId": hunk(&text, 0) }), true).await;
    assert_eq!(left, json!([{ "path": path, "state": "modified", "added": 2, "removed": 1 }]));
    let text = read(&harness, &session, &path).await;
    assert_eq!(text["before"], TEN.replace("2\n", "two\n"));
    let left = resolve(&harness, &session, json!({ "path": path, "hunkId": hunk(&text, 0) }), false).await;
    assert_eq!(left, json!([]));
    assert_eq!(harness.fixture.read("a.txt"), TEN.replace("2\n", "two\n"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dirty_buffer_is_edited_in_the_editor_and_what_the_user_typed_stays() {
    let harness = Harness::start(&format!("//- a.txt\n{TEN}")).await;
    let file = harness.path("a.txt");
    harness.client.open(&file);
    harness.client.edit(&file, 0, 0, "mine\n");
    let session = harness.editing_session().await;
    let path = change_two_lines(&harness, &session, "a.txt").await;
    let text = read(&harness, &session, &path).await;
    assert_eq!(text["before"], format!("mine\n{TEN}"), "what the user typed is not the agent's");
    resolve(&harness, &session, json!({ "path": path, "hunkId": hunk(&text, 1) }), false).await;
    let document = harness.client.document(&file);
    assert_eq!(document.text, format!("mine\n{}", TEN.replace("2\n", "two\n")));
    assert!(document.is_dirty());
    assert_eq!(harness.fixture.read("a.txt"), TEN, "nothing was saved");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hunk_that_was_shown_before_the_user_typed_is_refused() {
    let harness = Harness::start(&format!("//- a.txt\n{TEN}")).await;
    let session = harness.editing_session().await;
    let path = change_two_lines(&harness, &session, "a.txt").await;
    let text = read(&harness, &session, &path).await;
    let since = harness.fixture.read("a.txt").replace("nine", "NINE");
    harness.fixture.write("a.txt", &since);
    let params = json!({ "sessionId": session, "path": path, "hunkId": hunk(&text, 1), "keep": false });
    let error = harness.client.request("reverie/changes/resolve", params).await.unwrap_err();
    assert!(error.message.contains("has changed since it was shown"), "{error:?}");
    assert_eq!(harness.fixture.read("a.txt"), since);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_were_made_and_deleted_come_back_and_go() {
    let harness = Harness::start("//- old.txt\nold\n").await;
    harness.client.on_request("reverie/permission/ask", |_| Answer::allow_once());
    let session = harness.editing_session().await;
    let (old, new) = (harness.text_path("old.txt"), harness.text_path("sub/new.txt"));
    harness.model.reply(Reply::tool("Write", json!({ "file_path": new, "content": "new\n" })));
    harness.model.reply(Reply::tool("Bash", json!({ "command": "rm old.txt" })));
    harness.model.reply(Reply::text("done"));
    harness.client.turn(&session, "go").await;
    let listed = changes(&harness, &session).await;
    assert_eq!(listed[0], json!({ "path": old, "state": "deleted", "added": 0, "removed": 1 }));
    assert_eq!(listed[1], json!({ "path": new, "state": "created", "added": 1, "removed": 0 }));
    assert_eq!(resolve(&harness, &session, json!({}), false).await, json!([]));
    assert_eq!(harness.fixture.read("old.txt"), "old\n");
    assert!(!harness.path("sub/new.txt").exists());
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resumed_session_goes_on_where_the_user_was() {
    let harness = Harness::over_stdio(&format!("//- a.txt\n{TEN}")).await;
    let session = harness.editing_session().await;
    let path = change_two_lines(&harness, &session, "a.txt").await;
    let text = read(&harness, &session, &path).await;
    resolve(&harness, &session, json!({ "path": path, "hunkId": hunk(&text, 0) }), true).await;
    let harness = harness.restart(&session).await;
    let text = read(&harness, &session, &path).await;
    assert_eq!(text["before"], TEN.replace("2\n", "two\n"));
    assert_eq!(text["hunks"].as_array().unwrap().len(), 1);
    assert_eq!(resolve(&harness, &session, json!({ "path": path }), true).await, json!([]));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rewind_goes_over_what_was_taken_back_and_leaves_nothing_to_look_through() {
    let crlf = TEN.replace('\n', "\r\n");
    let harness = Harness::start("//- b.txt\nb\n").await;
    harness.fixture.write("a.txt", &crlf);
    let session = harness.editing_session().await;
    let path = change_two_lines(&harness, &session, "a.txt").await;
    let text = read(&harness, &session, &path).await;
    resolve(&harness, &session, json!({ "path": path, "hunkId": hunk(&text, 0) }), false).await;
    assert!(harness.fixture.read("a.txt").contains("nine\r\n"));
    let shown = harness.resume(&session).await;
    let prompt = shown["messages"].as_array().unwrap().iter().find(|message| message["text"] == "change it");
    let params = json!({ "sessionId": session, "messageUuid": prompt.unwrap()["uuid"] });
    let answer = harness.client.request("reverie/session/rewind", params).await.unwrap();
    assert_eq!(answer["restored"], json!([path]), "{answer}");
    assert_eq!(harness.fixture.read("a.txt"), crlf);
    assert_eq!(changes(&harness, &session).await, json!([]));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resume_brings_calls_with_their_results_and_where_each_turn_begins_and_ends() {
    let harness = Harness::start(&format!("//- a.txt\n{TEN}")).await;
    let session = harness.editing_session().await;
    let path = harness.text_path("a.txt");
    harness.model.reply(Reply::tool("Read", json!({ "file_path": path })));
    let edit = json!({ "file_path": path, "old_string": "2\n", "new_string": "two\n" });
    harness.model.reply(Reply::tool("Edit", edit.clone()));
    harness.model.reply(Reply::text("done"));
    let turn = harness.client.turn(&session, "change it").await;
    let shown = harness.resume(&session).await;
    assert_eq!(shown["title"], "change it");
    assert_eq!(shown["mode"], "acceptEdits");
    let messages = shown["messages"].as_array().unwrap();
    let end = turn.of_kind("turnEnd")[0].clone();
    let prompt = messages.iter().find(|message| message["text"] == "change it").unwrap();
    let answer = messages.iter().find(|message| message["text"] == "done").unwrap();
    assert_eq!([&end["promptUuid"], &end["messageUuid"]], [&prompt["uuid"], &answer["uuid"]]);
    let call = messages.iter().find(|message| message["tool"] == "Edit").unwrap();
    assert_eq!(call["input"], edit);
    let is_result =
        |message: &&Value| message["kind"] == "toolResult" && message["toolUseId"] == call["toolUseId"];
    let result = messages.iter().find(is_result).unwrap();
    assert_eq!([&result["ok"], &result["display"]["kind"]], [&json!(true), &json!("diff")]);
    assert!(result["display"]["diff"].as_str().unwrap().contains("-2\n+two\n"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memories_have_a_history_of_their_own() {
    let harness = Harness::start("//- a.txt\na\n").await;
    harness.client.ignore("reverie/memory/event");
    let session = harness.editing_session().await;
    let listed = harness.client.request("reverie/memory/list", json!({})).await.unwrap();
    let memory = format!("{}/deploys.md", listed["dir"].as_str().unwrap());
    harness.model.reply(Reply::tool("Write", json!({ "file_path": memory, "content": "Fridays only.\n" })));
    harness.model.reply(Reply::text("done"));
    let turn = harness.client.turn(&session, "remember it").await;
    assert_eq!(turn.of_kind("toolEnd")[0]["ok"], true);
    assert_eq!(changes(&harness, &session).await, json!([]));
    let params = json!({ "path": memory, "contents": true });
    let history = harness.client.request("reverie/memory/history", params).await.unwrap();
    let change = &history["changes"][0];
    assert_eq!([&change["before"], &change["after"]], [&Value::Null, &json!("Fridays only.\n")]);
    let params = json!({ "changeId": change["id"] });
    let one = harness.client.request("reverie/memory/history", params).await.unwrap();
    assert_eq!(one["changes"].as_array().unwrap().len(), 1);
    assert_eq!(one["changes"][0].get("after"), None);
    harness.finish().await;
}
