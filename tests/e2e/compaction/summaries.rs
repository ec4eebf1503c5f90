//! Summaries that are not what was asked for.

use expect_test::expect;
use serde_json::json;
use testkit::model_server::Reply;

use super::{compact, next_messages, report, start, summary, summary_with, talk, without_figures};
use crate::harness::Harness;

/// What the user was told so far outside of turns.
fn notices(harness: &Harness) -> Vec<String> {
    harness.client.ignore("notice");
    harness.client.ignore("context");
    let log = harness.client.log();
    let of_kind = log.iter().filter(|seen| seen.kind() == "notice");
    of_kind
        .map(|seen| {
            let update = &seen.params["update"];
            let text = format!("{} {}", update["level"].as_str().unwrap(), update["text"].as_str().unwrap());
            without_figures(&text)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_that_lacks_sections_is_asked_for_once_more() {
    let harness = start("{}").await;
    let session = talk(&harness, 4).await;
    harness.model.reply_to("compact", summary_with([0, 1, 2]));
    harness.model.reply_to("compact", summary());
    compact(&harness, &session).await.unwrap();
    let asked = harness.model.requests_of("compact");
    assert_eq!(asked.len(), 2);
    let again = asked[1].last_message_text();
    assert!(again.contains("Errors and Fixes") && again.contains("Current Work"), "{again}");
    assert_eq!(report(&harness, &session).await["compactions"]["list"][0]["score"], 1.0);
    expect!["info the summary is asked for once more: 6 of its nine sections are missing"]
        .assert_eq(&notices(&harness).join("\n"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finished_task_needs_no_next_step() {
    let harness = start("{}").await;
    let session = talk(&harness, 4).await;
    harness.model.reply_to("compact", summary_with(0..8));
    compact(&harness, &session).await.unwrap();
    assert_eq!(notices(&harness), [""; 0]);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_better_of_two_poor_summaries_is_taken_with_a_warning() {
    let harness = start("{}").await;
    let session = talk(&harness, 4).await;
    harness.model.reply_to("compact", summary_with([0, 1, 2, 3]));
    harness.model.reply_to("compact", summary_with([0, 8]));
    compact(&harness, &session).await.unwrap();
    expect![[r#"
        info the summary is asked for once more: 5 of its nine sections are missing
        warning the summary lacks: Problem Solving, All User Messages, Pending Tasks, Current Work, Next Step. The transcript has everything"#]].assert_eq(&notices(&harness).join("\n"));
    let sent = next_messages(&harness, &session, "and now?").await.to_string();
    assert!(sent.contains("Errors and Fixes"), "{sent}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_summary_twice_is_an_error_and_changes_nothing() {
    let harness = start("{}").await;
    let session = talk(&harness, 4).await;
    let before = report(&harness, &session).await;
    harness.model.reply_to("compact", Reply::text("I would rather not."));
    harness.model.reply_to("compact", Reply::text(""));
    let error = compact(&harness, &session).await.unwrap_err();
    expect!["-32003 the model did not write a summary, twice"].assert_eq(&error);
    assert_eq!(report(&harness, &session).await["used"], before["used"]);
    let sent = next_messages(&harness, &session, "and now?").await.to_string();
    assert!(sent.contains("answer 0") && sent.contains("answer 3"), "{sent}");
    notices(&harness);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_that_was_cut_off_is_asked_for_once_more() {
    let harness = start("{}").await;
    let session = talk(&harness, 4).await;
    harness.model.reply_to("compact", summary().stop_reason("max_tokens"));
    harness.model.reply_to("compact", summary().and_text("The uncut one."));
    compact(&harness, &session).await.unwrap();
    expect!["info the summary is asked for once more: it was cut off by the output limit"]
        .assert_eq(&notices(&harness).join("\n"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_that_calls_a_tool_is_told_to_write_and_nothing_runs() {
    let harness = start("{}").await;
    let session = talk(&harness, 4).await;
    harness.model.reply_to("compact", Reply::tool("Bash", json!({ "command": "touch made" })));
    harness.model.reply_to("compact", summary());
    compact(&harness, &session).await.unwrap();
    let asked = harness.model.requests_of("compact");
    let [_, second] = asked.as_slice() else { panic!("{} requests", asked.len()) };
    expect!["Bash cannot be called here; answer with the text that was asked for"]
        .assert_eq(&second.last_message_text());
    assert!(!harness.path("made").exists());
    assert_eq!(notices(&harness), [""; 0]);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_that_does_nothing_but_call_tools_fails_in_words() {
    let harness = start("{}").await;
    let session = talk(&harness, 4).await;
    harness.model.always("compact", Reply::tool("Bash", json!({ "command": "touch made" })));
    let error = compact(&harness, &session).await.unwrap_err();
    expect!["-32003 the model did not write a summary, twice"].assert_eq(&error);
    assert!(!harness.path("made").exists());
    // Two attempts of two rounds each: no endless talk.
    assert_eq!(harness.model.requests_of("compact").len(), 4);
    notices(&harness);
    harness.finish().await;
}
