//! Whatever is said, lies on the disk or comes back as a summary: a compaction is done or refused, and never hangs.

use std::{fs, os::unix::fs::symlink, process::Command};

use expect_test::expect;
use serde_json::json;
use testkit::model_server::{Reply, ReplyBlock, SUMMARY_SECTIONS};

use super::{compact, next_messages, report, start, start_with_files, summary, talk};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_that_look_like_a_directive_do_not_stop_compactions() {
    let harness = start("{}").await;
    harness.client.ignore("context");
    let session = harness.client.new_session().await;
    // The scripted server takes it for a fork's.
    harness.model.reply_to("odd", Reply::text("It marks a fork. ".repeat(200)));
    harness.client.turn(&session, "<reverie-fork kind=\"odd\">\nWhat is this?").await;
    harness.model.reply_to("compact", summary());
    assert_eq!(compact(&harness, &session).await.unwrap()["layer"], "full");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_that_are_no_file_are_not_waited_for() {
    let harness = start("{}").await;
    harness.client.ignore("context");
    let session = talk(&harness, 3).await;
    let folder = harness.fixture.project_dir().join(&session).join("session-memory");
    fs::create_dir_all(&folder).unwrap();
    let notes = folder.join("summary.md");
    assert!(Command::new("mkfifo").arg(&notes).status().unwrap().success());
    harness.model.reply_to("compact", summary());
    let params = json!({ "sessionId": session });
    harness.client.request("reverie/session/compact", params.clone()).await.unwrap();
    harness.client.request("reverie/session/uncompact", params).await.unwrap();
    fs::remove_file(&notes).unwrap();
    symlink("/dev/zero", &notes).unwrap();
    let params = json!({ "sessionId": session, "mode": "sessionMemory" });
    let error = harness.client.request("reverie/session/compact", params).await.unwrap_err();
    assert!(error.message.contains("is a link to a place outside its folder"), "{}", error.message);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_that_fills_the_window_is_not_taken() {
    let harness = start("{}").await;
    harness.client.ignore("notice");
    let session = talk(&harness, 3).await;
    let long = format!("1. Request and Intent\n{}\n", "endless words ".repeat(80_000));
    let rest: String =
        (2..).zip(&SUMMARY_SECTIONS[1..]).map(|(at, title)| format!("{at}. {title}\nwords\n")).collect();
    harness.model.reply_to("compact", Reply::text(format!("<summary>{long}{rest}</summary>")));
    let error = compact(&harness, &session).await.unwrap_err();
    assert!(error.contains("the summary would not be shorter"), "{error}");
    assert!(next_messages(&harness, &session, "go on").await.to_string().contains("answer 0"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_with_one_id_have_a_file_each_and_the_ledger_leads_to_it() {
    let files: String = ["one", "two"]
        .map(|name| format!("//- {name}.txt\n{}", format!("{name} line\n").repeat(4_000)))
        .concat();
    let harness = start_with_files("{}", &files).await;
    harness.client.ignore("context");
    let session = harness.client.new_session().await;
    for name in ["one", "two"] {
        let input = json!({ "pattern": "line", "path": format!("{name}.txt"), "output_mode": "content", "head_limit": 0 });
        let id = Some("call_0".to_owned());
        harness.model.reply(Reply::blocks(vec![ReplyBlock::ToolUse { id, name: "Grep".to_owned(), input }]));
        harness.model.reply(Reply::text("found"));
        harness.client.turn(&session, name).await;
    }
    let original = async |id: &str| {
        let params = json!({ "sessionId": session, "id": id });
        let found = harness.client.request("reverie/context/original", params).await.unwrap();
        let file = found["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let shown: String = found["text"].as_str().unwrap().chars().take(20).collect();
        format!("{file}: {}\n", shown.lines().next().unwrap())
    };
    let mut said = original("call_0").await;
    for entry in report(&harness, &session).await["ledger"].as_array().unwrap() {
        said += &original(entry["original"].as_str().unwrap()).await;
    }
    expect![[r#"
        call_0-2.txt: two.txt
        call_0.txt: one.txt
        call_0-2.txt: two.txt
    "#]]
    .assert_eq(&said);
    harness.finish().await;
}
