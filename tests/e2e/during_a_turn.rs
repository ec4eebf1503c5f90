//! A running turn blocks nobody: requests are answered, prompts queue, cancels work.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::model_server::{Gate, Reply};

use crate::harness::Harness;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_requests_during_a_turn_are_answered_at_once() {
    let harness = Harness::over_stdio("//- a.txt\none\n").await;
    let gate = Gate::closed();
    harness.model.reply(Reply::text("slowly, very slowly").pausing_after(5, &gate));
    let session = harness.client.new_session().await;
    let turn = harness.client.prompt(&session, "talk").await;
    gate.reached().await;

    let started = Instant::now();
    let report = json!({ "sessionId": session });
    let calls = [
        ("reverie/context/report", report.clone()),
        ("reverie/models/list", json!({})),
        ("reverie/settings/get", json!({})),
        ("reverie/session/list", json!({})),
        ("reverie/doctor", json!({})),
        ("reverie/context/report", report),
        ("reverie/session/new", json!({})),
        ("reverie/session/list", json!({ "limit": 1 })),
    ];
    let open: Vec<_> = calls
        .into_iter()
        .map(|(method, params)| (method, harness.client.start_request(method, params).1))
        .collect();
    for (method, answer) in open {
        harness.client.answer(answer, method).await.unwrap_or_else(|error| panic!("{method}: {error:?}"));
    }
    assert!(started.elapsed() < Duration::from_secs(5), "took {:?}", started.elapsed());
    gate.open();
    let turn = harness.client.turn_end(&session, &turn).await;
    assert_eq!((turn.stop_reason(), turn.text().as_str()), ("endTurn", "slowly, very slowly"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_during_a_turn_joins_at_the_next_round_and_has_its_own_end() {
    let harness = Harness::start("//- a.txt\none\n").await;
    let gate = Gate::closed();
    let path = harness.text_path("a.txt");
    harness.model.reply(Reply::tool("Read", json!({ "file_path": path })).behind(&gate));
    harness.model.reply(Reply::text("both answered"));
    let session = harness.client.new_session().await;
    let first = harness.client.prompt(&session, "read a.txt").await;
    gate.reached().await;
    let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "and be brief" }] });
    let second = harness.client.request("reverie/session/prompt", params).await.unwrap();
    assert_eq!(second["queued"], true);
    assert_ne!(second["turnId"], first.as_str());
    gate.open();

    let is_end = |seen: &testkit::lsp_client::Notification| seen.kind() == "turnEnd";
    let ends =
        [harness.client.wait_for("an end", is_end).await, harness.client.wait_for("an end", is_end).await];
    let mut ended: Vec<&str> = ends.iter().map(|end| end.params["turnId"].as_str().unwrap()).collect();
    ended.sort_unstable();
    let mut expected = vec![first.as_str(), second["turnId"].as_str().unwrap()];
    expected.sort_unstable();
    assert_eq!(ended, expected);
    let joined = harness.client.wait_for("the joining", |seen| seen.kind() == "joined").await;
    assert_eq!(joined.params["turnId"], second["turnId"]);
    let of =
        |turn: &str| ends.iter().find(|end| end.params["turnId"] == turn).unwrap().params["update"].clone();
    assert!(of(&first)["promptUuid"].is_string(), "the prompt that began the turn");
    assert_eq!(
        of(second["turnId"].as_str().unwrap())["promptUuid"],
        serde_json::Value::Null,
        "this one is not a message of its own"
    );
    for kind in ["textDelta", "toolStart", "toolEnd", "usage", "title"] {
        harness.client.ignore(kind);
    }
    let requests = harness.model.main_requests();
    assert_eq!(requests.len(), 2, "the prompt joined the running turn");
    assert!(requests[1].last_message_text().contains("and be brief"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_during_the_last_answer_gets_a_round_of_its_own() {
    let harness = Harness::start("").await;
    let gate = Gate::closed();
    harness.model.reply(Reply::text("first").pausing_after(3, &gate));
    harness.model.reply(Reply::text("second"));
    let session = harness.client.new_session().await;
    let first = harness.client.prompt(&session, "one").await;
    gate.reached().await;
    let second = harness.client.prompt(&session, "two").await;
    gate.open();
    harness.client.turn_end(&session, &first).await;
    let already_read = harness
        .client
        .log()
        .iter()
        .any(|seen| seen.kind() == "turnEnd" && seen.params["turnId"] == second.as_str());
    if !already_read {
        harness.client.turn_end(&session, &second).await;
    }
    let requests = harness.model.main_requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[1].last_message_text().contains("two"));
    for kind in ["textDelta", "usage", "turnEnd"] {
        harness.client.ignore(kind);
    }
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_sessions_run_side_by_side() {
    let harness = Harness::start("").await;
    let gate = Gate::closed();
    harness.model.reply_when(
        "the slow one",
        Box::new(|request| request.last_message_text().contains("slow")),
        Reply::text("slow").behind(&gate),
    );
    harness.model.reply_when(
        "the quick one",
        Box::new(|request| request.last_message_text().contains("quick")),
        Reply::text("quick"),
    );
    let slow = harness.client.new_session().await;
    let quick = harness.client.new_session().await;
    let turn = harness.client.prompt(&slow, "slow").await;
    gate.reached().await;
    assert_eq!(harness.client.turn(&quick, "quick").await.text(), "quick");
    gate.open();
    assert_eq!(harness.client.turn_end(&slow, &turn).await.text(), "slow");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_opens_a_session_whose_turn_runs_is_told_which() {
    let harness = Harness::start("//- a.txt\none\n").await;
    let gate = Gate::closed();
    harness.model.reply(Reply::text("slowly").behind(&gate));
    let session = harness.client.new_session().await;
    let turn = harness.client.prompt(&session, "talk").await;
    gate.reached().await;
    assert_eq!(harness.resume(&session).await["runningTurnId"], turn.as_str());
    gate.open();
    harness.client.turn_end(&session, &turn).await;
    assert_eq!(harness.resume(&session).await.get("runningTurnId"), None);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_changes_mode_or_model_says_so() {
    let harness = Harness::start("//- a.txt\none\n").await;
    let session = harness.client.new_session().await;
    let turn = harness.client.prompt(&session, "/mode plan").await;
    let told = harness.client.wait_for("the mode", |seen| seen.kind() == "configured").await;
    assert_eq!(told.params["update"]["mode"], "plan");
    assert!(told.params["update"]["model"].as_str().unwrap().contains('/'));
    harness.client.turn_end(&session, &turn).await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_before_a_compaction_can_be_shown_still() {
    let harness = Harness::start("//- a.txt\none\n").await;
    harness.client.ignore("context");
    let session = harness.client.new_session().await;
    for text in ["first", "second"] {
        harness.model.reply(Reply::text(format!("{text} answered\n{}", "word ".repeat(2_000))));
        harness.client.turn(&session, text).await;
    }
    harness.model.reply_to("compact", crate::compaction::summary());
    let params = json!({ "sessionId": session, "mode": "full" });
    harness.client.request("reverie/session/compact", params).await.unwrap();
    let shown = harness.resume(&session).await;
    let params = json!({ "sessionId": session, "messageUuid": shown["earlierUuid"] });
    let earlier = harness.client.request("reverie/session/earlier", params).await.unwrap();
    let texts = earlier["messages"].as_array().unwrap().iter().filter(|message| message["kind"] == "text");
    let texts: Vec<&str> = texts.filter_map(|message| message["text"].as_str()?.lines().next()).collect();
    assert_eq!(texts, ["first", "first answered", "second", "second answered"]);
    assert_eq!(earlier.get("earlierUuid"), None);
    let params = json!({ "sessionId": session, "messageUuid": "00000000-0000-0000-0000-000000000000" });
    let error = harness.client.request("reverie/session/earlier", params).await.unwrap_err();
    assert!(error.message.contains("no message"), "{error:?}");
    harness.finish().await;
}
