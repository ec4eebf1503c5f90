//! "The buffer is the truth": what the editor has open is read and changed through the editor.

use serde_json::json;
use testkit::{
    lsp_client::Answer,
    model_server::{Gate, Reply},
};

use crate::harness::Harness;

fn read_then_edit(harness: &Harness, old: &str, new: &str) {
    let path = harness.text_path("a.txt");
    harness.model.reply(Reply::tool("Read", json!({ "file_path": path })));
    harness
        .model
        .reply(Reply::tool("Edit", json!({ "file_path": path, "old_string": old, "new_string": new })));
    harness.model.reply(Reply::text("done"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_to_an_unsaved_buffer_goes_through_the_editor_and_stays_unsaved() {
    let harness = Harness::start("//- a.txt\non disk\n").await;
    let path = harness.path("a.txt");
    harness.client.open_with(&path, "typed 𝄞 here\r\nand there\r\n", Some("on disk\n".to_owned()));
    read_then_edit(&harness, "and there", "and everywhere");
    let session = harness.editing_session().await;
    let turn = harness.client.turn(&session, "edit it").await;
    assert!(turn.of_kind("toolEnd").iter().all(|end| end["ok"] == true), "{}", turn.events());

    let requests = harness.model.main_requests();
    assert!(requests[1].last_message_text().contains("typed 𝄞 here"), "Read sees the unsaved text");
    let edits = harness.client.asked("workspace/applyEdit");
    assert_eq!(edits.len(), 1);
    let change = &edits[0]["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"]["version"], 1);
    assert_eq!(harness.client.document(&path).text, "typed 𝄞 here\r\nand everywhere\r\n");
    assert!(harness.client.document(&path).is_dirty());
    assert!(
        harness.client.asked("reverie/document/save").is_empty(),
        "the user's unsaved changes stay unsaved"
    );
    assert_eq!(harness.fixture.read("a.txt"), "on disk\n");
    let result = requests[2].tool_result("toolu_0002").unwrap();
    assert!(result.contains("unsaved") || result.contains("not saved"), "the result says so: {result}");

    harness.client.undo(&path);
    assert_eq!(harness.client.document(&path).text, "typed 𝄞 here\r\nand there\r\n");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_buffer_that_was_clean_is_saved_after_the_edit() {
    let harness = Harness::start("//- a.txt\none\ntwo\n").await;
    let path = harness.path("a.txt");
    harness.client.open(&path);
    read_then_edit(&harness, "two", "2");
    let session = harness.editing_session().await;
    harness.client.turn(&session, "edit it").await;
    assert_eq!(harness.client.document(&path).text, "one\n2\n");
    assert_eq!(harness.client.asked("reverie/document/save").len(), 1);
    assert_eq!(harness.fixture.read("a.txt"), "one\n2\n");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_not_open_keeps_its_line_endings_and_mark() {
    let harness = Harness::start("").await;
    harness.fixture.write("a.txt", "\u{feff}one\r\ntwo\r\nthree");
    read_then_edit(&harness, "one\ntwo", "1\n2");
    let session = harness.editing_session().await;
    let turn = harness.client.turn(&session, "edit it").await;
    assert_eq!(harness.fixture.read("a.txt"), "\u{feff}1\r\n2\r\nthree", "{}", turn.events());
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typing_while_the_question_is_open_refuses_the_edit_and_loses_nothing() {
    let harness = Harness::start("//- a.txt\none\ntwo\n").await;
    let path = harness.path("a.txt");
    harness.client.open(&path);
    let gate = Gate::closed();
    let held = gate.clone();
    harness.client.on_request("reverie/permission/ask", move |_| {
        Answer::Later(held.clone(), json!({ "option": "allowOnce" }))
    });
    read_then_edit(&harness, "two", "2");
    let session = harness.client.new_session().await;
    let turn = harness.client.prompt(&session, "edit it").await;
    gate.reached().await;
    harness.client.edit(&path, 0, 3, "the user typed");
    gate.open();
    let turn = harness.client.turn_end(&session, &turn).await;
    assert_eq!(turn.of_kind("toolEnd")[1]["ok"], false, "{}", turn.events());
    assert_eq!(harness.client.document(&path).text, "the user typed\ntwo\n");
    assert_eq!(harness.fixture.read("a.txt"), "one\ntwo\n");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_editor_that_claims_to_have_applied_is_not_believed() {
    let harness = Harness::start("//- a.txt\none\ntwo\n").await;
    let path = harness.path("a.txt");
    harness.client.open(&path);
    harness.client.on_request("workspace/applyEdit", |_| Answer::Result(json!({ "applied": true })));
    read_then_edit(&harness, "two", "2");
    let session = harness.editing_session().await;
    let turn = harness.client.turn(&session, "edit it").await;
    assert_eq!(turn.of_kind("toolEnd")[1]["ok"], false, "{}", turn.events());
    assert_eq!(harness.fixture.read("a.txt"), "one\ntwo\n");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn search_finds_what_is_only_in_a_buffer() {
    let harness = Harness::start("//- a.txt\nnothing here\n").await;
    harness.client.open_with(&harness.path("a.txt"), "a needle in it\n", Some("nothing here\n".to_owned()));
    harness.model.reply(Reply::tool("Grep", json!({ "pattern": "needle", "output_mode": "content" })));
    harness.model.reply(Reply::tool("Grep", json!({ "pattern": "nothing here" })));
    harness.model.reply(Reply::text("found"));
    let session = harness.client.new_session().await;
    harness.client.turn(&session, "search").await;
    let requests = harness.model.main_requests();
    assert!(requests[1].last_message_text().contains("a needle in it"));
    assert!(
        !requests[2].tool_result("toolu_0002").unwrap().contains("a.txt"),
        "what the buffer no longer has is gone"
    );
    harness.finish().await;
}
