//! A cancel stops what runs, leaves no process behind and keeps the conversation consistent.

use serde_json::{Value, json};
use testkit::{
    lsp_client::Answer,
    model_server::{Gate, Reply},
};

use crate::harness::{Harness, processes_with};

async fn cancel(harness: &Harness, session: &str) {
    let answer = harness.client.request("reverie/session/cancel", json!({ "sessionId": session })).await;
    assert_eq!(answer.unwrap(), json!({}));
}

/// After a cancel the session goes on, with a request that the provider takes.
async fn assert_goes_on(harness: &Harness, session: &str) {
    harness.model.reply(Reply::text("still here"));
    let turn = harness.client.turn(session, "are you there?").await;
    assert_eq!((turn.stop_reason(), turn.text().as_str()), ("endTurn", "still here"));
}

/// Starts `command`, waits for its first output, cancels, and expects no process with the marker.
async fn cancel_bash(marker: &str, command: &str) {
    let harness = Harness::over_stdio("").await;
    harness.client.allow_everything();
    harness.model.reply(Reply::tool("Bash", json!({ "command": command })));
    let session = harness.client.new_session().await;
    let turn = harness.client.prompt(&session, "run it").await;
    harness.client.wait_for("the command's output", |seen| seen.kind() == "toolProgress").await;
    assert!(!processes_with(marker).is_empty(), "the command runs");
    cancel(&harness, &session).await;
    let turn = harness.client.turn_end(&session, &turn).await;
    assert_eq!(turn.stop_reason(), "cancelled");
    assert_eq!(processes_with(marker), Vec::<String>::new());
    assert_goes_on(&harness, &session).await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_in_the_middle_of_bash_kills_it_and_its_children() {
    let marker = "86301.25";
    cancel_bash(marker, &format!("(sleep {marker} & sleep {marker}) & echo started; sleep {marker}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_ignores_the_polite_signal_is_killed_all_the_same() {
    let marker = "86302.25";
    cancel_bash(marker, &format!("trap '' TERM INT HUP; echo started; sleep {marker}; sleep {marker}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_in_a_session_of_its_own_does_not_escape() {
    let marker = "86303.25";
    cancel_bash(marker, &format!("setsid sleep {marker} & echo started; sleep {marker}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_in_the_middle_of_an_answer_keeps_what_was_shown() {
    let harness = Harness::start("").await;
    let gate = Gate::closed();
    // message_start, ping, block start and three deltas of the text go out.
    let text = "This answer is long enough to be cut in the middle of a word.";
    harness.model.reply(Reply::text(text).pausing_after(6, &gate));
    let session = harness.client.new_session().await;
    let turn = harness.client.prompt(&session, "talk").await;
    gate.reached().await;
    harness.client.wait_for("text", |seen| seen.kind() == "textDelta").await;
    cancel(&harness, &session).await;
    let turn = harness.client.turn_end(&session, &turn).await;
    assert_eq!(turn.stop_reason(), "cancelled");
    assert_goes_on(&harness, &session).await;
    let last = harness.model.main_requests().pop().unwrap();
    assert!(last.body["messages"].to_string().contains("This answer is"), "the model knows what it had said");
    gate.open();
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_before_the_first_byte_ends_the_turn() {
    let harness = Harness::start("").await;
    let gate = Gate::closed();
    harness.model.reply(Reply::text("never").behind(&gate));
    let session = harness.client.new_session().await;
    let turn = harness.client.prompt(&session, "talk").await;
    gate.reached().await;
    cancel(&harness, &session).await;
    assert_eq!(harness.client.turn_end(&session, &turn).await.stop_reason(), "cancelled");
    assert_goes_on(&harness, &session).await;
    gate.open();
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_while_a_question_is_open_ends_the_turn() {
    let harness = Harness::start("").await;
    harness.client.on_request("reverie/permission/ask", |_| Answer::Never);
    harness.model.reply(Reply::tool("Bash", json!({ "command": "touch made" })));
    let session = harness.client.new_session().await;
    let turn = harness.client.prompt(&session, "make it").await;
    harness.client.wait_until_asked("reverie/permission/ask", 1).await;
    cancel(&harness, &session).await;
    assert_eq!(harness.client.turn_end(&session, &turn).await.stop_reason(), "cancelled");
    assert!(!harness.path("made").exists());
    assert_goes_on(&harness, &session).await;
    // The dialog can be closed.
    harness.client.wait_for("the question to be withdrawn", |seen| seen.method == "$/cancelRequest").await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_during_a_pause_between_retries_ends_the_turn() {
    let harness = Harness::start("").await;
    harness.model.reply(Reply::status(529).header("retry-after", "280"));
    let session = harness.client.new_session().await;
    let turn = harness.client.prompt(&session, "talk").await;
    let retry = harness.client.wait_for("the retry", |seen| seen.kind() == "retry").await;
    assert!(retry.params["update"]["delayMs"].as_u64().unwrap() >= 280_000, "retry-after is honoured");
    cancel(&harness, &session).await;
    assert_eq!(harness.client.turn_end(&session, &turn).await.stop_reason(), "cancelled");
    assert_goes_on(&harness, &session).await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_without_a_turn_is_harmless_and_an_unknown_session_is_named() {
    let harness = Harness::start("").await;
    let session = harness.client.new_session().await;
    cancel(&harness, &session).await;
    let unknown = "00000000-0000-4000-8000-000000000000";
    let error =
        harness.client.request("reverie/session/cancel", json!({ "sessionId": unknown })).await.unwrap_err();
    assert_eq!((error.code, &error.data["sessionId"]), (-32001, &Value::from(unknown)));
    harness.finish().await;
}
