//! Whatever happens to the model's stream: the turn goes on, nothing is doubled, nothing runs from half an input.

use futures_util::future::join_all;
use serde_json::json;
use testkit::model_server::{Reply, ReplyBlock};

use crate::harness::Harness;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_overloads_is_sat_out_in_view() {
    let harness = Harness::start("").await;
    for _ in 0..3 {
        harness.model.reply(Reply::overloaded());
    }
    harness.model.reply(Reply::status(500).header("retry-after", "0"));
    harness.model.reply(Reply::text("finally"));
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "hello").await;
    assert_eq!((turn.stop_reason(), turn.text().as_str()), ("endTurn", "finally"));
    let attempts: Vec<u64> =
        turn.of_kind("retry").iter().map(|retry| retry["attempt"].as_u64().unwrap()).collect();
    assert_eq!(attempts, [1, 2, 3, 4]);
    let bodies: Vec<_> = harness.model.requests().iter().map(|request| request.bytes.clone()).collect();
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]), "the same request is repeated");
    harness.finish().await;
}

/// An answer with text and two calls: one that may start early and one that changes something.
fn eventful_reply() -> Reply {
    Reply::text("I read it and note it down.")
        .and_tool("Grep", json!({ "pattern": "one" }))
        .and_tool("Bash", json!({ "command": "echo ran >> log.txt" }))
}

const EVENTS_OF_EVENTFUL_REPLY: usize = 19;

async fn survives(fault: impl Fn(Reply) -> Reply) {
    let harness = Harness::start("//- a.txt\none\n").await;
    harness.client.allow_everything();
    harness.model.reply(fault(eventful_reply()));
    harness.model.reply(eventful_reply());
    harness.model.reply(Reply::text("done"));
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "go").await;
    assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
    assert_eq!(turn.text(), "I read it and note it down.done", "nothing is doubled: {}", turn.events());
    assert_eq!(turn.count("retry"), 1, "{}", turn.events());
    assert_eq!(harness.fixture.read("log.txt"), "ran\n", "the command ran once");
    let last = harness.model.main_requests().pop().unwrap();
    assert!(!last.body.to_string().contains("toolu_0001"), "nothing of the broken answer is in the history");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_cut_at_every_event_is_asked_for_again() {
    join_all(
        (0..EVENTS_OF_EVENTFUL_REPLY).map(|events| survives(move |reply| reply.cut_after_events(events))),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_ends_politely_but_early_is_asked_for_again() {
    join_all(
        (0..EVENTS_OF_EVENTFUL_REPLY)
            .map(|events| survives(move |reply| reply.finishing_after_events(events))),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_cut_at_many_bytes_is_asked_for_again() {
    join_all((0..24).map(|step| survives(move |reply| reply.cut_after_bytes(17 + step * 103)))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_events_is_what_the_cuts_assume() {
    let harness = Harness::start("//- a.txt\none\n").await;
    harness.client.allow_everything();
    harness.model.reply(eventful_reply().finishing_after_events(EVENTS_OF_EVENTFUL_REPLY + 1));
    harness.model.reply(Reply::text("done"));
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "go").await;
    assert_eq!((turn.stop_reason(), turn.count("retry")), ("endTurn", 0), "{}", turn.events());
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_that_make_no_sense_void_the_answer() {
    let garbage: [&'static [u8]; 4] = [
        b"data: {\"type\": \"content_block_delta\", \"index\": 0, \"del\n\n",
        b"event: content_block_delta\ndata: \xff\xfe\xfd\n\n",
        b"data: {\"type\":\"content_block_start\",\"index\":0}\n\n",
        b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
    ];
    join_all(garbage.map(|garbage| survives(move |reply| reply.garbled_before_event(6, garbage)))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_in_pieces_of_any_size_is_read_the_same() {
    join_all([1, 2, 3, 7, 64].map(|size| async move {
        let harness = Harness::start("").await;
        harness.model.reply(Reply::text("naïve 𝄞 Größe, in pieces").in_chunks_of(size));
        let session = harness.client.new_session().await;
        assert_eq!(harness.client.turn(&session, "hello").await.text(), "naïve 𝄞 Größe, in pieces");
        harness.finish().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_truncated_input_is_answered_with_an_error_and_never_run() {
    let harness = Harness::start("").await;
    harness.client.allow_everything();
    let block = |input_json: &str| ReplyBlock::TruncatedToolUse {
        name: "Bash".to_owned(),
        input_json: input_json.to_owned(),
    };
    harness.model.reply(Reply::text("I make it.").and(block(r#"{"command": "touch made"#)));
    harness.model.reply(Reply::text("I give up."));
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "make it").await;
    assert_eq!(turn.stop_reason(), "endTurn");
    assert_eq!(harness.fixture.tree(), "");
    let last = harness.model.main_requests().pop().unwrap();
    let results: Vec<_> = last.body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|m| m["content"].as_array().unwrap())
        .filter(|b| b["type"] == "tool_result")
        .collect();
    assert_eq!((results.len(), &results[0]["is_error"]), (1, &json!(true)));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_cut_by_the_output_limit_is_continued_three_times_and_no_more() {
    let harness = Harness::start("").await;
    for piece in ["one ", "two ", "three ", "four"] {
        harness.model.reply(Reply::text(piece).stop_reason("max_tokens"));
    }
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "count").await;
    assert_eq!((turn.stop_reason(), turn.text().trim()), ("endTurn", "one two three four"));
    assert_eq!(harness.model.main_requests().len(), 4);
    harness.finish().await;
}
