//! An outage that does not end: ten tries, then an error in plain words, and nothing lost.

use std::time::Duration;

use testkit::model_server::Reply;

use crate::{
    compaction::{self, EAGER, TURNS_TO_TEN},
    harness::Harness,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_ten_tries_the_turn_ends_with_an_error_and_the_session_goes_on() {
    let mut harness = Harness::start("").await;
    // Nine pauses with full jitter add up to two minutes at the worst.
    harness.client.set_patience(Duration::from_secs(150));
    for _ in 0..10 {
        harness.model.reply(Reply::overloaded());
    }
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "hello").await;
    assert_eq!((turn.stop_reason(), turn.count("retry")), ("error", 9), "{}", turn.events());
    assert!(turn.error_message().is_some_and(|message| !message.is_empty()));
    harness.model.reply(Reply::text("back"));
    assert_eq!(harness.client.turn(&session, "and now?").await.text(), "back");
    let last = harness.model.main_requests().pop().unwrap();
    assert!(last.body["messages"].to_string().contains("hello"), "the prompt of the failed turn is kept");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_in_an_outage_fails_with_words_and_the_turn_goes_on() {
    let mut harness = compaction::start(EAGER).await;
    harness.client.set_patience(Duration::from_secs(150));
    let session = compaction::talk(&harness, TURNS_TO_TEN).await;
    harness.model.always("compact", Reply::overloaded());
    harness.model.reply(Reply::text("it goes on"));
    let turn = harness.client.turn(&session, "hello").await;
    assert_eq!((turn.stop_reason(), turn.text().as_str()), ("endTurn", "it goes on"), "{}", turn.events());
    let told = turn.events();
    assert!(told.contains("notice warning the conversation could not be compacted"), "{told}");
    assert_eq!((harness.model.requests_of("compact").len(), turn.count("retry")), (10, 9), "{told}");
    harness.finish().await;
}
