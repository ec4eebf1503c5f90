//! What cannot be done is refused in words, and changes nothing.

use expect_test::expect;
use serde_json::{Value, json};
use testkit::model_server::{Gate, Reply};

use super::{compact, start, summary, talk};

const UNKNOWN: &str = "00000000-0000-4000-8000-000000000000";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_say_why() {
    let harness = start("{}").await;
    let session = talk(&harness, 2).await;
    let empty = harness.client.new_session().await;
    let mut said = String::new();
    let mut refused = async |what: &str, method: &str, params: Value| {
        let error = harness.client.request(method, params).await.unwrap_err();
        said.push_str(&format!("{what}: {} {}\n", error.code, error.message));
    };
    let compact = "reverie/session/compact";
    refused("an unknown session", compact, json!({ "sessionId": UNKNOWN })).await;
    refused("no session", compact, json!({ "sessionId": "nonsense" })).await;
    refused("an empty session", compact, json!({ "sessionId": empty })).await;
    for mode in ["from", "upTo"] {
        refused("no message", compact, json!({ "sessionId": session, "mode": mode })).await;
        let unknown = json!({ "sessionId": session, "mode": mode, "messageUuid": UNKNOWN });
        refused("an unknown message", compact, unknown).await;
        let nonsense = json!({ "sessionId": session, "mode": mode, "messageUuid": "nonsense" });
        refused("no uuid", compact, nonsense).await;
    }
    refused("no notes", compact, json!({ "sessionId": session, "mode": "sessionMemory" })).await;
    refused("nothing to take back", "reverie/session/uncompact", json!({ "sessionId": session })).await;
    refused("unknown to take back", "reverie/session/uncompact", json!({ "sessionId": UNKNOWN })).await;
    let said = said
        .replace(harness.fixture.project_dir().to_str().unwrap(), "<project>")
        .replace(&session, "<session>");
    expect![[r#"
        an unknown session: -32001 there is no session 00000000-0000-4000-8000-000000000000
        no session: -32001 there is no session nonsense
        an empty session: -32602 there is nothing to compact yet
        no message: -32602 messageUuid: is needed for this mode
        an unknown message: -32602 the message is not in this conversation any more
        no uuid: -32602 messageUuid: `nonsense` is not the id of a message
        no message: -32602 messageUuid: is needed for this mode
        an unknown message: -32602 the message is not in this conversation any more
        no uuid: -32602 messageUuid: `nonsense` is not the id of a message
        no notes: -32602 there are no notes of this session (<project>/<session>/session-memory/summary.md: cannot be read: No such file or directory (os error 2))
        nothing to take back: -32602 there is no compaction to take back: it can be done until the next request. The whole conversation is in the transcript; rewind to an earlier message to go on from there
        unknown to take back: -32001 there is no session 00000000-0000-4000-8000-000000000000
    "#]].assert_eq(&said);
    assert_eq!(harness.model.requests_of("compact").len(), 0);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_turn_runs_nothing_is_compacted() {
    let harness = start("{}").await;
    let session = talk(&harness, 2).await;
    let gate = Gate::closed();
    harness.model.reply(Reply::text("slow").behind(&gate));
    let turn = harness.client.prompt(&session, "take your time").await;
    gate.reached().await;
    let error = compact(&harness, &session).await.unwrap_err();
    expect!["-32003 a turn is running; stop it first, or wait for its end"].assert_eq(&error);
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "/compact" }] });
    let error = harness.client.request("reverie/session/prompt", prompt).await.unwrap_err();
    expect!["a turn is running; stop it first, or wait for its end"].assert_eq(&error.message);
    gate.open();
    assert_eq!(harness.client.turn_end(&session, &turn).await.text(), "slow");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_during_a_compaction_waits_for_its_end() {
    let harness = start("{}").await;
    let session = talk(&harness, 3).await;
    let gate = Gate::closed();
    harness.model.reply_to("compact", summary().behind(&gate));
    let (_, compacted) = harness
        .client
        .start_request("reverie/session/compact", json!({ "sessionId": session, "mode": "full" }));
    gate.reached().await;
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "and then?" }] });
    let accepted = harness.client.request("reverie/session/prompt", prompt).await.unwrap();
    assert_eq!(accepted["queued"], true);
    harness.model.reply(Reply::text("then this"));
    gate.open();
    harness.client.answer(compacted, "compact").await.unwrap();
    let turn = harness.client.turn_end(&session, accepted["turnId"].as_str().unwrap()).await;
    assert_eq!(turn.text(), "then this", "{}", turn.events());
    let sent = harness.model.main_requests().pop().unwrap().body["messages"].to_string();
    assert!(!sent.contains("answer 0") && sent.contains("and then?"), "{sent}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_can_be_taken_back_until_the_next_request() {
    let harness = start("{}").await;
    harness.client.ignore("context");
    let session = talk(&harness, 3).await;
    let uncompact =
        async || harness.client.request("reverie/session/uncompact", json!({ "sessionId": session })).await;
    harness.model.reply_to("compact", summary());
    compact(&harness, &session).await.unwrap();
    uncompact().await.unwrap();
    let before = harness.model.main_requests().pop().unwrap();
    harness.model.reply(Reply::text("as it was"));
    harness.client.turn(&session, "go on").await;
    let after = harness.model.main_requests().pop().unwrap();
    crate::harness::assert_extends(&before.body, &after.body);
    // Nothing of it is paid again.
    let usages = harness.model.usages();
    let [.., one, next] = usages.as_slice() else { panic!("too few requests") };
    assert!(next.read >= one.read + one.written_5m, "{usages:#?}");

    harness.model.reply_to("compact", summary());
    compact(&harness, &session).await.unwrap();
    harness.model.reply(Reply::text("as it is"));
    harness.client.turn(&session, "go on").await;
    let error = uncompact().await.unwrap_err();
    expect!["there is no compaction to take back: it can be done until the next request. The whole conversation is in the transcript; rewind to an earlier message to go on from there"].assert_eq(&error.message);
    let turn = harness.client.turn(&session, "/uncompact").await;
    expect![[r#"
        text "there is no compaction to take back: it can be done until the next request. The whole conversation is in the transcript; rewind to an earlier message to go on from there"
        turnEnd endTurn
    "#]].assert_eq(&turn.events());
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_cannot_be_taken_back_after_a_restart() {
    let harness = start("{}").await;
    harness.client.ignore("context");
    let session = talk(&harness, 3).await;
    harness.model.reply_to("compact", summary());
    compact(&harness, &session).await.unwrap();
    let harness = harness.restart(&session).await;
    let params = json!({ "sessionId": session });
    let error = harness.client.request("reverie/session/uncompact", params).await.unwrap_err();
    assert!(error.message.contains("there is no compaction to take back"), "{error:?}");
    harness.finish().await;
}
