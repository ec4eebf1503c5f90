//! A compaction that is stopped leaves the conversation as it was.

use serde_json::{Value, json};
use testkit::model_server::{Gate, Reply};

use super::{EAGER, TURNS_TO_TEN, start, summary, talk};
use crate::harness::{Harness, assert_extends};

/// How the user stops it.
type Stop = fn(&Harness, &str, i64, &Value);

const STOPS: [(&str, Stop); 3] = [
    ("session/cancel", |harness, session, _, _| {
        drop(harness.client.start_request("reverie/session/cancel", json!({ "sessionId": session })));
    }),
    ("$/cancelRequest", |harness, _, request, _| {
        harness.client.notify("$/cancelRequest", json!({ "id": request }));
    }),
    ("workDoneProgress/cancel", |harness, _, _, token| {
        harness.client.notify("window/workDoneProgress/cancel", json!({ "token": token }));
    }),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_is_stopped_by_every_kind_of_cancel() {
    for (what, stop) in STOPS {
        let harness = start("{}").await;
        let session = talk(&harness, 3).await;
        let before = harness.model.main_requests().pop().unwrap();
        let transcript = std::fs::read(harness.fixture.transcript(&session)).unwrap();
        let gate = Gate::closed();
        harness.model.reply_to("compact", summary().behind(&gate));
        let params = json!({ "sessionId": session, "mode": "full", "workDoneToken": "mine" });
        let (id, answer) = harness.client.start_request("reverie/session/compact", params);
        gate.reached().await;
        stop(&harness, &session, id, &json!("mine"));
        let error = harness.client.answer(answer, what).await.unwrap_err();
        assert!(error.message.to_lowercase().contains("cancel"), "{what}: {error:?}");
        let is_end = |seen: &testkit::lsp_client::Notification| {
            seen.method == "$/progress"
                && seen.params["token"] == "mine"
                && seen.params["value"]["kind"] == "end"
        };
        harness.client.wait_for("the end of the progress", is_end).await;
        gate.open();
        goes_on_from(&harness, &session, &before.body).await;
        let after = std::fs::read(harness.fixture.transcript(&session)).unwrap();
        assert!(after.starts_with(&transcript), "{what}");
        assert!(!String::from_utf8(after).unwrap().contains("compact_boundary"), "{what}");
        harness.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_is_stopped_while_it_compacts_ends_and_the_conversation_stays() {
    for prompt in ["/compact", "the eleventh message"] {
        let harness = start(EAGER).await;
        let session = talk(&harness, TURNS_TO_TEN).await;
        let before = harness.model.main_requests().pop().unwrap();
        let gate = Gate::closed();
        harness.model.reply_to("compact", summary().behind(&gate));
        let turn = harness.client.prompt(&session, prompt).await;
        gate.reached().await;
        harness.client.request("reverie/session/cancel", json!({ "sessionId": session })).await.unwrap();
        let turn = harness.client.turn_end(&session, &turn).await;
        assert_eq!((turn.stop_reason(), turn.count("context")), ("cancelled", 0), "{}", turn.events());
        gate.open();
        // It is tried again by itself: being stopped is no failure.
        harness.model.reply_to("compact", Reply::status(400));
        goes_on_from(&harness, &session, &before.body).await;
        harness.finish().await;
    }
}

async fn goes_on_from(harness: &Harness, session: &str, before: &Value) {
    harness.model.reply(Reply::text("still here"));
    let turn = harness.client.turn(session, "are you there?").await;
    assert_eq!((turn.stop_reason(), turn.text().as_str()), ("endTurn", "still here"), "{}", turn.events());
    assert_extends(before, &harness.model.main_requests().pop().unwrap().body);
}
