//! Notes that fail, are stopped, switched off, or changed by the user meanwhile.

use std::{fs, os::unix::fs::PermissionsExt};

use super::*;
use crate::harness::{connect_with, trust};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_leave_everything_as_it_was_and_the_third_in_a_row_is_the_last() {
    let harness = start("").await;
    let session = harness.client.new_session().await;
    for _ in 0..3 {
        harness.model.reply_to(NOTES, Reply::status(400));
    }
    for _ in 0..5 {
        let turn = say(&harness, &session, 11_000).await;
        assert_eq!(turn.count("notice"), 0, "{}", turn.events());
        updates(&harness).await;
    }
    assert_eq!(updates(&harness).await, ["failed"; 3]);
    assert!(!path(&harness, &session).exists());
    assert_eq!((upto(&harness, &session).await, title(&harness).await.as_str()), (None, "Go on."));
    let main = harness.model.main_requests();
    main.windows(2).for_each(|pair| assert_extends(&pair[0].body, &pair[1].body));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_outlives_its_turn_and_ends_when_it_is_stopped() {
    let harness = start("//- a.txt\none\n").await;
    let session = harness.client.new_session().await;
    let (held, answer) = (Gate::closed(), Gate::closed());
    harness.model.reply_to(NOTES, Reply::text("too late").behind(&held));
    let read = json!({ "file_path": harness.text_path("a.txt") });
    harness.model.reply(Reply::text(words(11_000)).and_tool("Read", read));
    harness.model.reply(Reply::text("never heard").behind(&answer));
    let turn = harness.client.prompt(&session, "Go on.").await;
    held.reached().await;
    answer.reached().await;
    harness
        .client
        .request("reverie/session/cancel", json!({ "sessionId": session }))
        .await
        .expect("a cancel");
    harness.client.turn_end(&session, &turn).await;
    let listed = harness.client.request("reverie/tasks/list", json!({})).await.expect("a list");
    assert_eq!(listed["tasks"][0]["state"], "running", "{listed}");
    let stop = json!({ "taskId": listed["tasks"][0]["taskId"] });
    harness.client.request("reverie/tasks/stop", stop).await.expect("it stops");
    assert_eq!(updates(&harness).await, ["killed"]);
    held.open();
    answer.open();

    // It is still due.
    next_notes(&harness, &session, "Worklog", "- stopped once");
    say(&harness, &session, 10).await;
    assert_eq!(updates(&harness).await, ["killed", "completed"]);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edits_go_into_what_the_user_has_made_of_the_notes_meanwhile() {
    let harness = start("").await;
    let session = noted(&harness).await;
    let notes = path(&harness, &session);
    let modes = [&notes, &notes.parent().expect("a folder").to_owned()];
    let modes = modes.map(|path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777);
    assert_eq!(modes, [0o600, 0o700]);
    let gate = Gate::closed();
    let edit = edit(&harness, &session, "Current State", "Nearly done.");
    harness.model.reply_to(NOTES, Reply::tool("Edit", edit).behind(&gate));
    say(&harness, &session, 6_000).await;
    gate.reached().await;
    fs::write(&notes, read(&harness, &session).replace("- began", "- began\n- by hand")).expect("a file");
    gate.open();
    assert_eq!(updates(&harness).await, ["completed"; 2]);
    let kept = read(&harness, &session);
    assert!(kept.contains("Nearly done.") && kept.contains("- began\n- by hand"), "{kept}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_are_not_written_through_a_link() {
    let harness = start("//- mine.md\nmine\n").await;
    let session = harness.client.new_session().await;
    let notes = path(&harness, &session);
    fs::create_dir_all(notes.parent().expect("a folder")).expect("folders can be made");
    std::os::unix::fs::symlink(harness.path("mine.md"), &notes).expect("a link");
    say(&harness, &session, 11_000).await;
    assert_eq!(updates(&harness).await, ["failed"]);
    assert_eq!(harness.fixture.read("mine.md"), "mine\n");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_switch_or_automatic_compaction_there_are_no_notes() {
    for settings in
        [r#"{ "reverie": { "features": { "sessionMemory": false } } }"#, r#"{ "autoCompactEnabled": false }"#]
    {
        let harness = start(&format!("//- ~/.claude/settings.json\n{settings}\n")).await;
        let session = harness.client.new_session().await;
        say(&harness, &session, 20_000).await;
        assert_eq!(updates(&harness).await, [""; 0], "{settings}");
        harness.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_that_panics_has_failed_and_the_next_one_runs() {
    let fixture = Fixture::new("");
    trust(&fixture);
    let model = ModelServer::start().await;
    let armed = std::sync::atomic::AtomicBool::new(true);
    let faults = lsp::Faults::new(move |point| {
        let goes_off = point == "notes" && armed.swap(false, std::sync::atomic::Ordering::SeqCst);
        assert!(!goes_off, "a test lets the notes panic");
    });
    let client = connect_with(&fixture, &fixture.environment(&model.url()), faults);
    ["$/progress", "title"].iter().for_each(|what| client.ignore(what));
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    let harness = Harness { client, model, fixture };
    let session = harness.client.new_session().await;
    say(&harness, &session, 11_000).await;
    assert_eq!(updates(&harness).await, ["failed"]);
    next_notes(&harness, &session, "Worklog", "- began");
    say(&harness, &session, 10).await;
    assert_eq!(updates(&harness).await, ["failed", "completed"]);
    harness.finish().await;
}
