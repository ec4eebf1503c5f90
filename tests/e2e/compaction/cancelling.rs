//! A compaction that is stopped leaves the conversation as it was.

use std::sync::{Mutex, mpsc};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::ClientOptions,
    model_server::{Gate, ModelServer, Reply},
};

use super::{EAGER, TURNS_TO_TEN, start, summary, talk};
use crate::harness::{Harness, assert_extends, connect_with, trust};

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

/// The instructions are read anew for what follows a summary. If that is not to be, they count as unread.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_that_is_stopped_at_the_last_moment_has_read_nothing_anew() {
    let fixture = Fixture::new("//- CLAUDE.md\nTabs, never spaces.\n");
    trust(&fixture);
    let model = ModelServer::start().await;
    let (reached, at_opening) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let faults = lsp::Faults::new(move |point| {
        // The first one is that of the first turn; then nobody holds the gate any more.
        if point == "opening" && reached.send(()).is_ok() {
            wait.lock().unwrap().recv().unwrap_or_default();
        }
    });
    let client = connect_with(&fixture, &fixture.environment(&model.url()), faults);
    for ignored in ["$/progress", "window/logMessage"] {
        client.ignore(ignored);
    }
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    let harness = Harness { client, model, fixture };
    go.send(()).unwrap();
    let session = talk(&harness, 3).await;
    let before = harness.model.main_requests().pop().unwrap();
    at_opening.recv().unwrap();

    harness.fixture.write("CLAUDE.md", "Spaces, never tabs.\n");
    harness.model.reply_to("compact", summary());
    let (_, answer) =
        harness.client.start_request("reverie/session/compact", json!({ "sessionId": session }));
    let at_opening = tokio::task::spawn_blocking(move || at_opening.recv().map(|()| at_opening).unwrap());
    drop(at_opening.await.unwrap());
    harness.client.request("reverie/session/cancel", json!({ "sessionId": session })).await.unwrap();
    go.send(()).unwrap();
    let error = harness.client.answer(answer, "the compaction").await.unwrap_err();
    assert!(error.message.contains("the conversation is as it was"), "{error:?}");

    harness.model.reply(Reply::text("still here"));
    let turn = harness.client.turn(&session, "are you there?").await;
    assert!(turn.events().contains("CLAUDE.md changed on disk"), "{}", turn.events());
    assert_extends(&before.body, &harness.model.main_requests().pop().unwrap().body);
    harness.finish().await;
}

async fn goes_on_from(harness: &Harness, session: &str, before: &Value) {
    harness.model.reply(Reply::text("still here"));
    let turn = harness.client.turn(session, "are you there?").await;
    assert_eq!((turn.stop_reason(), turn.text().as_str()), ("endTurn", "still here"), "{}", turn.events());
    assert_extends(before, &harness.model.main_requests().pop().unwrap().body);
}
