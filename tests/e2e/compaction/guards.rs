//! What keeps automatic compaction from doing harm: it gives up, says so, and says what the user can do.

use expect_test::expect;
use serde_json::json;
use testkit::{
    lsp_client::Answer,
    model_server::{RecordedRequest, Reply},
};

use super::{
    EAGER, TURNS_TO_TEN, go_on, report, roles, start, start_with_files, summary, talk, told, without_figures,
};

const ASK: &str = "reverie/user/ask";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fewer_than_ten_messages_are_never_compacted_by_themselves() {
    let harness = start(EAGER).await;
    let session = talk(&harness, TURNS_TO_TEN).await;
    assert_eq!(roles(&harness), ["main"; TURNS_TO_TEN]);
    assert_eq!(report(&harness, &session).await["nextStep"], "compaction before the next request");
    harness.model.reply_to("compact", summary());
    harness.model.reply(Reply::text("on we go"));
    let turn = harness.client.turn(&session, "the eleventh message").await;
    expect![[r#"
        notice info the conversation is being compacted
        context full a summary stands in for 10 messages: … tokens before, … after; 9 of 9 sections; 1 message stays as it is
        text "on we go"
        turnEnd endTurn
    "#]].assert_eq(&told(&turn));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_failures_in_a_row_stop_it_until_the_user_asks() {
    let harness = start(EAGER).await;
    harness.client.on_request(ASK, |_| Answer::Result(json!({ "answer": "Leave it at that" })));
    let session = talk(&harness, TURNS_TO_TEN).await;
    let mut events = String::new();
    for number in 0..3 {
        harness.model.reply_to("compact", Reply::status(400));
        harness.model.reply(Reply::text("it goes on"));
        events.push_str(&told(&harness.client.turn(&session, &format!("attempt {number}")).await));
    }
    expect![[r#"
        notice info the conversation is being compacted
        notice warning the conversation could not be compacted: anthropic refused the request (…): the request is not valid
        text "it goes on"
        turnEnd endTurn
        notice info the conversation is being compacted
        notice warning the conversation could not be compacted: anthropic refused the request (…): the request is not valid
        text "it goes on"
        turnEnd endTurn
        notice info the conversation is being compacted
        notice warning the conversation could not be compacted: anthropic refused the request (…): the request is not valid
        notice error 3 compactions have failed in a row: none is tried by itself in this session any more; /compact tries again
        text "it goes on"
        turnEnd endTurn
    "#]].assert_eq(&events);
    // Nothing more is tried by itself, and the meter says so.
    go_on(&harness, &session, 2).await;
    assert_eq!(harness.model.requests_of("compact").len(), 3);
    assert_eq!(report(&harness, &session).await["nextStep"], "compact soon: it is not done by itself");

    // What the user asks for works, and closes the circuit again.
    harness.model.reply_to("compact", summary());
    let turn = harness.client.turn(&session, "/compact").await;
    assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
    go_on(&harness, &session, TURNS_TO_TEN - 1).await;
    harness.model.reply_to("compact", summary());
    go_on(&harness, &session, 1).await;
    assert_eq!(harness.model.requests_of("compact").len(), 5);
    harness.client.ignore("notice");
    harness.client.ignore("context");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_three_failures_a_retry_is_offered_and_taken() {
    let harness = start(EAGER).await;
    harness.client.on_request(ASK, |_| Answer::Result(json!({ "answer": "Try again" })));
    let session = talk(&harness, TURNS_TO_TEN).await;
    for _ in 0..3 {
        harness.model.reply_to("compact", Reply::status(400));
        go_on(&harness, &session, 1).await;
    }
    harness.client.wait_until_asked(ASK, 1).await;
    // The answer arrives in its own time.
    while report(&harness, &session).await["nextStep"] != "compaction before the next request" {}
    harness.model.reply_to("compact", summary());
    go_on(&harness, &session, 1).await;
    assert_eq!(harness.model.requests_of("compact").len(), 4);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_count_only_in_a_row() {
    let harness = start(EAGER).await;
    let session = talk(&harness, TURNS_TO_TEN).await;
    for _ in 0..2 {
        for reply in [Reply::status(400), Reply::status(400), summary()] {
            harness.model.reply_to("compact", reply);
            go_on(&harness, &session, 1).await;
        }
        // The summary, the prompt that led to it and its answer are there already.
        go_on(&harness, &session, TURNS_TO_TEN - 2).await;
    }
    assert_eq!(harness.model.requests_of("compact").len(), 6);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_sits_out_a_few_overloads_and_gives_up_with_words() {
    let harness = start(EAGER).await;
    let session = talk(&harness, TURNS_TO_TEN).await;
    harness.model.reply_to("compact", Reply::overloaded());
    harness.model.reply_to("compact", Reply::status(500).header("retry-after", "0"));
    harness.model.reply_to("compact", Reply::status(401));
    harness.model.reply(Reply::text("it goes on"));
    let turn = harness.client.turn(&session, "hello").await;
    expect![[r#"
        notice info the conversation is being compacted
        retry 1 anthropic is overloaded (…): Overloaded
        retry 2 anthropic had an error of its own (…): Internal server error
        notice warning the conversation could not be compacted: the API key was refused by http://….0.0.1:… (…): invalid x-api-key; set ANTHROPIC_API_KEY to a valid key (or ANTHROPIC_AUTH_TOKEN to a valid token) and start again
        text "it goes on"
        turnEnd endTurn
    "#]].assert_eq(&told(&turn));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_that_is_not_shorter_is_not_taken() {
    let harness = start(EAGER).await;
    let session = harness.client.new_session().await;
    for _ in 0..TURNS_TO_TEN {
        harness.model.reply(Reply::text("yes"));
        harness.client.turn(&session, "no").await;
    }
    let long = format!("1. Request and Intent: {}\n", "very long ".repeat(2_000));
    harness.model.reply_to("compact", summary().and_text(&long));
    harness.model.reply(Reply::text("it goes on"));
    let turn = harness.client.turn(&session, "hello").await;
    expect![[r#"
        notice info the conversation is being compacted
        notice warning the conversation could not be compacted: the summary would not be shorter: … tokens before it, … after it
        text "it goes on"
        turnEnd endTurn
    "#]].assert_eq(&told(&turn));
    let sent = harness.model.main_requests().pop().unwrap().body["messages"].to_string();
    assert!(!sent.contains("very long"), "{sent}");
    harness.finish().await;
}

/// Whoever asks for it gets it all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_that_is_not_shorter_is_taken_with_a_warning_by_request() {
    let harness = start("{}").await;
    let session = harness.client.new_session().await;
    harness.model.reply(Reply::text("yes"));
    harness.client.turn(&session, "no").await;
    harness.model.reply_to("compact", summary());
    let turn = harness.client.turn(&session, "/compact").await;
    expect![[r#"
        notice warning the summary would not be shorter: … tokens before it, … after it
        context full a summary stands in for 2 messages: … tokens before, … after; 9 of 9 sections
        text "The conversation was compacted (full): … tokens before, … after. /uncompact takes it back until the next prompt; the transcript has everything."
        turnEnd endTurn
    "#]].assert_eq(&told(&turn));
    harness.finish().await;
}

/// Whoever reads the same five files again after each compaction fills the window again at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_that_is_full_again_at_once_stops_and_names_what_fills_it() {
    let files: String = (0..6)
        .map(|file| format!("//- file_{file}.txt\n{}", "some words in a line\n".repeat(200 + file)))
        .collect();
    let harness = start_with_files(EAGER, &files).await;
    harness.model.always("compact", summary());
    let paths: Vec<String> = (0..6).map(|file| harness.text_path(&format!("file_{file}.txt"))).collect();
    let mut round = 0;
    harness.model.program(move |_: &RecordedRequest| {
        round += 1;
        let read = |file: usize| json!({ "file_path": paths[file % 6], "offset": round });
        let reply = Reply::text("Once more.").and_tool("Read", read(round));
        reply.and_tool("Read", read(round + 1)).and_tool("Read", read(round + 2))
    });
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "read them, over and over").await;
    assert_eq!(turn.stop_reason(), "blocked", "{}", turn.events());
    let notices = turn.of_kind("notice");
    let last = notices.last().unwrap();
    assert_eq!(last["level"], "error");
    let text =
        last["text"].as_str().unwrap().replace(harness.fixture.workspace.to_str().unwrap(), "<workspace>");
    expect!["stopped: the conversation is full again within 3 rounds of being compacted, 3 times in a row. The largest things in it: Read <workspace>/file_5.txt (… tokens), Read <workspace>/file_4.txt (… tokens), Read <workspace>/file_4.txt (… tokens). Ask for a smaller part of them, or start a new session"].assert_eq(&without_figures(&text));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_cannot_fit_is_refused_with_what_to_do_and_a_shorter_one_taken() {
    let harness = start(r#"{ "autoCompactEnabled": false }"#).await;
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, &"far too much ".repeat(80_000)).await;
    expect![[r#"
        title "far too much far too much far too much far too much far too much far too much fa"
        notice error the prompt does not fit into the window, and was not taken; make it shorter, name a file instead of pasting it, or make room with /compact (… of … usable tokens)
        turnEnd blocked
    "#]].assert_eq(&told(&turn));
    assert_eq!(roles(&harness), ["count"]);
    harness.model.reply(Reply::text("hello"));
    let turn = harness.client.turn(&session, "a short one").await;
    assert_eq!(turn.text(), "hello", "{}", told(&turn));
    // Later as well, and after a resume.
    let turn = harness.client.turn(&session, &"far too much ".repeat(80_000)).await;
    assert_eq!(turn.stop_reason(), "blocked");
    let harness = harness.restart(&session).await;
    harness.model.reply(Reply::text("hello again"));
    assert_eq!(harness.client.turn(&session, "another short one").await.text(), "hello again");
    let sent = harness.model.main_requests().pop().unwrap().body["messages"].to_string();
    assert!(sent.contains("a short one") && !sent.contains("far too much"), "{sent}");
    harness.finish().await;
}

/// Nothing is compacted before it has to be, and no request is needed to know when that is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_that_would_not_fit_is_compacted_before_anything_is_refused() {
    for settings in [
        r#"{ "autoCompactEnabled": false }"#,
        r#"{ "reverie": { "features": { "reactiveOnly": true } } }"#,
        // Of fewer than ten messages.
        "{}",
    ] {
        let harness = start(settings).await;
        let session = harness.client.new_session().await;
        harness.model.reply(Reply::text("a long answer ".repeat(40_000)));
        harness.client.turn(&session, "tell me everything").await;
        harness.model.reply_to("compact", summary());
        harness.model.reply(Reply::text("more of it"));
        let turn = harness.client.turn(&session, &format!("go on: {}", "words ".repeat(60_000))).await;
        expect![[r#"
            notice info the conversation is being compacted
            context full a summary stands in for 2 messages: … tokens before, … after; 9 of 9 sections; 1 message stays as it is
            text "more of it"
            turnEnd endTurn
        "#]].assert_eq(&told(&turn));
        let asked: Vec<String> = roles(&harness).into_iter().filter(|role| role != "count").collect();
        assert_eq!(asked, ["main", "compact", "main"]);
        harness.finish().await;
    }
}
