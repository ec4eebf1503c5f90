//! "A scripted session runs through storage → microcompaction → session-memory compaction → full compaction without an
//! error", and each token is bought once. `cargo xtask bench context` plays the long one.

use serde_json::json;
use testkit::{
    long_session::{Layers, LongSession},
    model_server::Reply,
};

use crate::harness::{Harness, connect_in_process};

/// Compaction counts with so many tokens, so that a short session fills them several times.
const WINDOW: u64 = 80_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_session_goes_through_every_layer_and_buys_nothing_twice() {
    let script = LongSession {
        turns: 12,
        rounds_per_turn: 10,
        pauses: vec![1],
        floods: Vec::new(),
        layers: Layers::Default { window: Some(WINDOW) },
    };
    let outcome = script.play(connect_in_process).await;
    assert_eq!(outcome.complaints, Vec::<String>::new(), "{:#?}", outcome.ledger);
    let layers: Vec<&str> = outcome.layers().into_iter().collect();
    assert_eq!(layers, ["full", "microcompact", "sessionMemory", "storage"], "{:#?}", outcome.ledger);
    assert!(outcome.most_tokens < WINDOW, "{} tokens in one request", outcome.most_tokens);
    let ratio = outcome.cost_ratio();
    assert!(
        ratio <= 1.02,
        "{ratio:.4} times the cheapest possible: {:?}, {:?}",
        outcome.spent,
        outcome.cheapest
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_result_that_goes_to_the_disk_is_in_the_ledger() {
    let harness = Harness::start("").await;
    harness.client.allow_everything();
    harness.model.reply(Reply::tool("Bash", json!({ "command": "seq 1 20000" })));
    harness.model.reply(Reply::text("a lot of numbers"));
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "count").await;
    let shown = turn.of_kind("context");
    assert_eq!(shown.len(), 1, "{}", turn.events());
    assert_eq!((&shown[0]["layer"], &shown[0]["cache"]), (&json!("storage"), &json!("kept")));

    let params = json!({ "sessionId": session });
    let report = harness.client.request("reverie/context/report", params).await.unwrap();
    let change = &report["ledger"][0];
    assert_eq!(change["detail"], "a large result of Bash went to the disk");
    assert!(change["tokensFreed"].as_u64().unwrap() > 1_000, "{change}");
    let sent = harness.model.main_requests()[1].last_message_text();
    let original = change["original"].as_str().unwrap();
    assert!(sent.contains(original) && std::fs::read_to_string(original).unwrap().len() > sent.len());
    harness.finish().await;
}
