//! A request that is too long is held back from the user: compacted once, sent again once, and only then an error.

use std::sync::LazyLock;

use expect_test::{Expect, expect};
use serde_json::json;
use testkit::model_server::{RecordedRequest, Reply};

use super::{
    compact, report, roles, start, start_with_files, summary, talk, told, too_long, too_long_by_some,
};

const WITHOUT_A_GAP: &str = "prompt is too long";

/// Nothing is compacted before a request was too long.
const REACTIVE: &str = r#"{ "reverie": { "features": { "reactiveOnly": true } } }"#;

static FILE: LazyLock<String> =
    LazyLock::new(|| format!("//- a.txt\n{}", "a line with some words in it\n".repeat(900)));

async fn is_compacted_and_sent_again(refusal: Reply, expected: Expect) {
    let harness = start("{}").await;
    let session = talk(&harness, 3).await;
    harness.model.reply(refusal);
    harness.model.reply_to("compact", summary());
    harness.model.reply(Reply::text("here it is"));
    let turn = harness.client.turn(&session, "the one that is too long").await;
    expected.assert_eq(&told(&turn));
    assert_eq!(roles(&harness)[3..], ["main", "compact", "main"]);
    let sent = harness.model.main_requests().pop().unwrap();
    assert!(sent.last_message_text().contains("the one that is too long"), "{}", sent.body["messages"]);
    assert!(!sent.body["messages"].to_string().contains("answer 2"), "{}", sent.body["messages"]);
    let report = report(&harness, &session).await;
    assert_eq!(report["compactions"]["list"][0]["trigger"], "reactive", "{report}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_too_long_is_compacted_and_sent_again() {
    is_compacted_and_sent_again(Reply::status(413), expect![[r#"
        notice info the conversation is being compacted
        context full a summary stands in for 6 messages: … tokens before, … after; 9 of 9 sections; 1 message stays as it is
        text "here it is"
        turnEnd endTurn
    "#]]).await;
    is_compacted_and_sent_again(too_long_by_some(), expect![[r#"
        notice info the conversation is being compacted
        context full a summary stands in for 6 messages: … tokens before, … after; 9 of 9 sections; 1 message stays as it is
        text "here it is"
        turnEnd endTurn
    "#]]).await;
    is_compacted_and_sent_again(too_long(WITHOUT_A_GAP), expect![[r#"
        notice info the conversation is being compacted
        context full a summary stands in for 6 messages: … tokens before, … after; 9 of 9 sections; 1 message stays as it is
        text "here it is"
        turnEnd endTurn
    "#]]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_too_long_again_is_an_error_with_what_to_do() {
    let harness = start("{}").await;
    let session = talk(&harness, 3).await;
    harness.model.reply(too_long_by_some());
    harness.model.reply_to("compact", summary());
    harness.model.reply(too_long_by_some());
    let turn = harness.client.turn(&session, "far too long").await;
    expect![[r#"
        notice info the conversation is being compacted
        context full a summary stands in for 6 messages: … tokens before, … after; 9 of 9 sections; 1 message stays as it is
        turnEnd error prompt_too_long: the conversation no longer fits the model's window, and could not be made shorter; rewind to an earlier message, or start a new session (the conversation is too long for claude-sonnet-5-5 (…): prompt is too long: … tokens > … maximum)
    "#]].assert_eq(&told(&turn));
    assert_eq!(roles(&harness)[3..], ["main", "compact", "main"]);
    // What was compacted stays; the next turn has its own chance.
    harness.model.reply(Reply::text("short enough"));
    assert_eq!(harness.client.turn(&session, "and this?").await.text(), "short enough");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_of_another_kind_compacts_nothing() {
    let harness = start("{}").await;
    let session = talk(&harness, 3).await;
    harness.model.reply(Reply::status(400));
    let turn = harness.client.turn(&session, "refused").await;
    assert_eq!((turn.stop_reason(), turn.count("context")), ("error", 0), "{}", turn.events());
    assert_eq!(roles(&harness), ["main"; 4]);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_fills_the_window_is_gone_on_with_after_a_compaction() {
    let harness = start("{}").await;
    let session = talk(&harness, 3).await;
    harness.model.reply(Reply::text("The first half.").stop_reason("model_context_window_exceeded"));
    harness.model.reply_to("compact", summary());
    harness.model.reply(Reply::text("The second half."));
    let turn = harness.client.turn(&session, "tell me everything").await;
    expect![[r#"
        text "The first half."
        notice info the conversation is being compacted
        context full a summary stands in for 8 messages: … tokens before, … after; 9 of 9 sections
        text "The second half."
        turnEnd endTurn
    "#]]
    .assert_eq(&told(&turn));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_for_a_summary_loses_its_oldest_rounds_three_times_at_most() {
    let harness = start("{}").await;
    let session = talk(&harness, 6).await;
    for _ in 0..4 {
        harness.model.reply_to("compact", too_long(WITHOUT_A_GAP));
    }
    let error = compact(&harness, &session).await.unwrap_err();
    expect!["-32003 it is too long to be summarised, even without its oldest part (the conversation is too long for claude-sonnet-5-5 (400): prompt is too long); rewind to an earlier message, or start a new session"].assert_eq(&error);
    let sizes: Vec<usize> = harness.model.requests_of("compact").iter().map(|it| it.bytes.len()).collect();
    assert!(sizes.len() == 4 && sizes.is_sorted_by(|one, next| one > next), "{sizes:?}");
    harness.client.wait_for("the warning", |seen| seen.kind() == "notice").await;
    harness.client.ignore("notice");

    // The gap decides how much goes where it is known: 1,000 tokens are two rounds.
    harness.model.reply_to("compact", too_long("prompt is too long: 201000 tokens > 200000 maximum"));
    harness.model.reply_to("compact", summary());
    compact(&harness, &session).await.unwrap();
    harness.client.ignore("context");
    let asked = harness.model.requests_of("compact").pop().unwrap().body["messages"].to_string();
    let left: Vec<usize> = (0..6).filter(|round| asked.contains(&format!("answer {round}"))).collect();
    assert_eq!(left, [2, 3, 4, 5]);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_that_is_too_large_is_left_out_and_the_rest_sent_again() {
    let harness = start("{}").await;
    let session = talk(&harness, 2).await;
    let message =
        "messages.4.content.1.image.source.base64: image exceeds 5 MB maximum: 6083284 bytes > 5242880 bytes";
    harness.model.reply(too_long(message));
    harness.model.reply(Reply::text("I cannot see it."));
    let pixel =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let prompt = json!({ "sessionId": session, "prompt": [
        { "type": "text", "text": "what is this?" },
        { "type": "image", "mediaType": "image/png", "data": pixel },
    ] });
    let accepted = harness.client.request("reverie/session/prompt", prompt).await.unwrap();
    let turn = harness.client.turn_end(&session, accepted["turnId"].as_str().unwrap()).await;
    expect![[r#"
        context reactive the images and documents of 1 message are no longer sent
        text "I cannot see it."
        turnEnd endTurn
    "#]]
    .assert_eq(&told(&turn));
    assert_eq!(roles(&harness), ["main"; 4]);
    let sent = harness.model.main_requests();
    let has_image = |at: usize| sent[at].body.to_string().contains(pixel);
    assert_eq!([has_image(2), has_image(3)], [true, false]);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_prompt_that_is_too_long_has_nothing_to_be_compacted() {
    let harness = start("{}").await;
    let session = harness.client.new_session().await;
    harness.model.reply(Reply::status(413));
    let turn = harness.client.turn(&session, "far too long").await;
    expect![[r#"
        title "far too long"
        turnEnd error prompt_too_long: the conversation no longer fits the model's window, and could not be made shorter; rewind to an earlier message, or start a new session (the conversation is too long for claude-sonnet-5-5 (…): Request exceeds the maximum size)
    "#]].assert_eq(&told(&turn));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_no_summary_fits_what_came_last_is_kept_before_what_came_first_is_given_up() {
    let harness = start("{}").await;
    let session = talk(&harness, 6).await;
    harness.model.reply(Reply::status(413));
    harness.model.always("compact", Reply::status(413));
    let turn = harness.client.turn(&session, "the one that is too long").await;
    expect![[r#"
        notice info the conversation is being compacted
        notice warning the conversation is too long to be summarised whole: its oldest part is left out of the summary
        notice warning the conversation is too long to be summarised whole: its oldest part is left out of the summary
        notice warning the conversation is too long to be summarised whole: its oldest part is left out of the summary
        notice warning the conversation could not be compacted: it is too long to be summarised, even without its oldest part (the conversation is too long for claude-sonnet-5-5 (…): Request exceeds the maximum size); rewind to an earlier message, or start a new session
        turnEnd error prompt_too_long: the conversation no longer fits the model's window, and could not be made shorter; rewind to an earlier message, or start a new session (the conversation is too long for claude-sonnet-5-5 (…): Request exceeds the maximum size)
    "#]].assert_eq(&told(&turn));
    let rounds = |request: &RecordedRequest| {
        let text = request.body["messages"].to_string();
        let there = (0..6).filter(|round| text.contains(&format!("answer {round}")));
        there.map(|round| round.to_string()).collect::<Vec<_>>().join(" ")
    };
    let asked: Vec<String> = harness.model.requests_of("compact").iter().map(|it| rounds(it)).collect();
    expect![[r#"
        0 1 2 3 4 5
        0 1 2 3
        0
        0 1 2 3 4 5
        1 2 3 4 5
        2 3 4 5
        3 4 5"#]]
    .assert_eq(&asked.join("\n"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_turn_is_compacted_as_often_as_it_has_to_be() {
    let harness = start_with_files(REACTIVE, &FILE).await;
    let session = talk(&harness, 3).await;
    let read = |offset: usize| {
        let input = json!({ "file_path": harness.text_path("a.txt"), "offset": offset, "limit": 90 });
        Reply::text("words ".repeat(200)).and_tool("Read", input)
    };
    for stretch in 0..2 {
        harness.model.reply(Reply::status(413));
        harness.model.reply_to("compact", summary());
        for round in 0..4 {
            harness.model.reply(read(1 + 100 * (4 * stretch + round)));
        }
    }
    harness.model.reply(Reply::text("all read"));
    let turn = harness.client.turn(&session, "read on and on").await;
    assert_eq!((turn.stop_reason(), turn.count("context")), ("endTurn", 2), "{}", told(&turn));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_is_too_long_again_and_again_stops_and_names_what_fills_it() {
    let harness = start_with_files(REACTIVE, &FILE).await;
    let session = talk(&harness, 3).await;
    let path = harness.text_path("a.txt");
    harness.model.always("compact", summary());
    let mut requests = 0;
    harness.model.program(move |_| {
        requests += 1;
        let input = json!({ "file_path": path, "offset": requests });
        if requests % 2 == 1 { Reply::status(413) } else { Reply::tool("Read", input) }
    });
    let turn = harness.client.turn(&session, "read it all").await;
    assert_eq!((turn.stop_reason(), turn.count("context")), ("blocked", 3), "{}", told(&turn));
    assert!(turn.events().contains("The largest things in it: Read"), "{}", turn.events());
    harness.finish().await;
}
