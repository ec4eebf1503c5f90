//! What is learnt after a turn: from where on, how often, what is told, and what happens when it fails.

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{Answer, ClientOptions},
    model_server::{Gate, ModelServer, Reply},
};

use super::{closed, ended, extraction_gates, features, is_notice, say, tasks, with};
use crate::{
    compaction::{compact, summary},
    harness::{Harness, trust},
    memory::{FRIDAY, topic},
};

/// On whose behalf the fork asks.
const ROLE: &str = "extraction";
const TITLE: &str = "Remembering";

fn write(harness: &Harness, name: &str, text: &str) -> Reply {
    Reply::tool("Write", json!({ "file_path": harness.memory_text(name), "content": text }))
}

/// The next fork writes this memory and is done.
fn learns(harness: &Harness, name: &str, text: &str) {
    harness.model.reply_to(ROLE, write(harness, name, text));
    harness.model.reply_to(ROLE, Reply::text("Done."));
}

/// How many messages each fork that has asked so far was to look at; a fork that asks twice has it twice.
fn looked_at(model: &ModelServer) -> Vec<u64> {
    let counts = model.requests_of(ROLE).into_iter().map(|request| {
        let body = request.body["messages"].to_string();
        let (_, behind) = body.rsplit_once("Look at the last ").expect("a directive");
        behind.split(' ').next().and_then(|count| count.parse().ok()).expect("a number")
    });
    counts.collect()
}

/// The end in good order: what is being learnt is learnt then.
async fn end(harness: Harness) -> ModelServer {
    let Harness { client, model, .. } = harness;
    client.shutdown().await;
    model
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_becomes_a_memory_that_is_told_and_can_be_taken_back() {
    let harness = with(json!({}), &[]).await;
    learns(&harness, "deploy-days.md", FRIDAY);
    let session = harness.client.new_session().await;
    let turn = say(&harness, &session, "we deploy on Fridays only").await;
    let saved = harness.memory_event("saved").await;
    assert_eq!(
        [&saved["by"], &saved["sessionId"], &saved["turnId"]],
        [&json!("extraction"), &json!(session), &json!(turn.id)]
    );
    let file = &saved["files"][0];
    assert_eq!(
        (&file["name"], file["reason"].as_str().unwrap()),
        (&json!("Deploy days"), "learnt from “we deploy on Fridays only”")
    );
    assert!(file["diff"].as_str().unwrap().contains("+We deploy on Fridays only."), "{file}");
    let notice = harness.client.wait_for("word of it", is_notice("Remembered: Deploy days")).await;
    assert_eq!(notice.params.get("turnId"), None, "outside of turns");
    assert_eq!(ended(&harness, TITLE, 1).await, ["completed"]);
    let listed = tasks(&harness).await;
    assert_eq!(listed["background"]["kinds"][0]["last"], "completed: Deploy days", "{listed}");

    harness.ask("undo", json!({ "changeId": file["changeId"] })).await;
    harness.memory_event("undone").await;
    assert!(!harness.memory("deploy-days.md").exists());
    // Where nothing is written nothing is shown.
    harness.model.reply_to(ROLE, Reply::text("Nothing."));
    say(&harness, &session, "thanks").await;
    assert_eq!(ended(&harness, TITLE, 2).await, ["completed"; 2]);
    assert_eq!(looked_at(&harness.model), [2, 2, 2]);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_editor_that_knows_nothing_of_us_gets_a_message_with_the_way_back() {
    let fixture = Fixture::new("");
    trust(&fixture);
    let model = ModelServer::start().await;
    let environment = fixture.environment(&model.url());
    let options = ClientOptions { reverie: Value::Null, ..ClientOptions::new(&fixture.workspace) };
    let harness = Harness::start_with(fixture, model, &environment, &options).await;
    harness.client.ignore("reverie/memory/event");
    harness.client.on_request("window/showMessageRequest", |_| Answer::Result(json!({ "title": "Undo" })));
    learns(&harness, "deploy-days.md", FRIDAY);
    let session = harness.client.new_session().await;
    say(&harness, &session, "we deploy on Fridays only").await;
    let asked = harness.client.wait_until_asked("window/showMessageRequest", 1).await;
    assert_eq!(asked[0]["message"], "Remembered: Deploy days");
    let gone = async {
        while harness.memory("deploy-days.md").exists() {
            tokio::task::yield_now().await;
        }
    };
    testkit::within(gone, "it to be taken back").await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_may_run_after_every_third_turn_alone() {
    let harness = with(features(json!({ "extractionEveryN": 3 })), &[]).await;
    harness.model.reply_to(ROLE, Reply::text("Nothing."));
    let session = harness.client.new_session().await;
    for number in 1..=5 {
        say(&harness, &session, &format!("number {number}")).await;
        if number == 3 {
            ended(&harness, TITLE, 1).await;
        }
    }
    let model = end(harness).await;
    assert_eq!(looked_at(&model), [6]);
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_that_end_meanwhile_are_looked_at_together_and_at_once() {
    let harness = with(features(json!({ "extractionEveryN": 2 })), &[]).await;
    let gate = Gate::closed();
    harness.model.reply_to(ROLE, Reply::text("Nothing.").behind(&gate));
    let session = harness.client.new_session().await;
    for words in ["one", "two"] {
        say(&harness, &session, words).await;
    }
    gate.reached().await;
    for words in ["three", "four", "five"] {
        say(&harness, &session, words).await;
    }
    harness.model.reply_to(ROLE, Reply::text("Nothing."));
    gate.open();
    assert_eq!(ended(&harness, TITLE, 2).await, ["completed"; 2]);
    let model = end(harness).await;
    assert_eq!(looked_at(&model), [4, 6]);
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_wrote_a_memory_itself_is_served_already() {
    let harness = with(json!({}), &[]).await;
    harness.model.serve(ROLE);
    let session = harness.client.new_session().await;
    harness.model.reply(write(&harness, "deploy-days.md", FRIDAY));
    harness.model.reply(Reply::text("I will remember that."));
    harness.client.turn(&session, "remember that we deploy on Fridays only").await;
    harness.memory_event("saved").await;
    harness.model.reply_to(ROLE, Reply::text("Nothing."));
    say(&harness, &session, "thanks").await;
    ended(&harness, TITLE, 1).await;
    let model = end(harness).await;
    assert_eq!(looked_at(&model), [2]);
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_is_tried_again_from_the_same_place_three_times() {
    let harness = with(json!({}), &[]).await;
    let session = harness.client.new_session().await;
    for number in 1..=3 {
        harness.model.reply_to(ROLE, Reply::status(400));
        // The turn itself knows nothing of it.
        say(&harness, &session, "go on").await;
        assert_eq!(ended(&harness, TITLE, number).await.last().map(String::as_str), Some("failed"));
    }
    say(&harness, &session, "go on").await;
    assert_eq!(extraction_gates(&harness).await, ["breaker: 3 of 3 failures in a row in this session"]);
    assert_eq!(looked_at(&harness.model), [2, 4, 6]);
    // Who takes the session up again tries again, and nothing is lost.
    let harness = harness.restart(&session).await;
    harness.model.reply_to(ROLE, Reply::text("Nothing."));
    say(&harness, &session, "go on").await;
    assert_eq!(ended(&harness, TITLE, 1).await, ["completed"]);
    assert_eq!(looked_at(&harness.model), [2, 4, 6, 10]);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_looked_at_is_known_after_a_resume_and_forgotten_by_a_compaction() {
    let harness = with(features(json!({ "sessionMemory": false })), &[]).await;
    harness.model.always(ROLE, Reply::text("Nothing."));
    let session = harness.client.new_session().await;
    say(&harness, &session, "one").await;
    ended(&harness, TITLE, 1).await;
    let harness = harness.restart(&session).await;
    say(&harness, &session, "two").await;
    ended(&harness, TITLE, 1).await;
    assert_eq!(looked_at(&harness.model), [2, 2]);

    harness.client.ignore("context");
    harness.model.reply_to("compact", summary());
    compact(&harness, &session).await.expect("it is compacted");
    // All that is left: what was said since, as often as it takes.
    harness.model.reply_to(ROLE, Reply::status(400));
    for (number, words) in ["three", "four"].into_iter().enumerate() {
        say(&harness, &session, words).await;
        ended(&harness, TITLE, number + 2).await;
    }
    assert_eq!(looked_at(&harness.model), [2, 2, 2, 4]);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_taken_back_does_not_count() {
    let harness = with(json!({}), &[]).await;
    harness.model.always(ROLE, Reply::text("Nothing."));
    let session = harness.client.new_session().await;
    for (number, words) in ["one", "two"].into_iter().enumerate() {
        say(&harness, &session, words).await;
        ended(&harness, TITLE, number + 1).await;
    }
    let shown = harness.resume(&session).await;
    let messages = shown["messages"].as_array().expect("messages");
    let second = messages.iter().find(|message| message["text"] == "two").expect("the prompt");
    let params = json!({ "sessionId": session, "messageUuid": second["uuid"] });
    harness.client.request("reverie/session/rewind", params).await.expect("it goes back");
    say(&harness, &session, "instead").await;
    ended(&harness, TITLE, 3).await;
    assert_eq!(looked_at(&harness.model), [2, 2, 2]);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_waits_is_no_part_of_the_turn_before_it() {
    let harness = with(json!({}), &[]).await;
    let (gate, looking) = (Gate::closed(), Gate::closed());
    harness.model.reply(Reply::text("first").behind(&gate));
    harness.model.reply(Reply::text("second"));
    harness.model.reply_to(ROLE, Reply::text("Nothing.").behind(&looking));
    let session = harness.client.new_session().await;
    let one = harness.client.prompt(&session, "one").await;
    gate.reached().await;
    let two = harness.client.prompt(&session, "the other").await;
    gate.open();
    harness.client.turn_end(&session, &one).await;
    harness.client.turn_end(&session, &two).await;
    looking.reached().await;
    let asked = harness.model.requests_of(ROLE)[0].body["messages"].to_string();
    assert!(asked.contains("one") && !asked.contains("the other"), "{asked}");
    harness.model.reply_to(ROLE, Reply::text("Nothing."));
    looking.open();
    ended(&harness, TITLE, 2).await;
    assert_eq!(looked_at(&harness.model), [2, 2]);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_can_be_stopped_and_what_it_wrote_before_is_told() {
    let harness = with(json!({}), &[]).await;
    harness.client.ignore("reverie/memory/event");
    let gate = Gate::closed();
    harness.model.reply_to(ROLE, write(&harness, "tea.md", &topic("Tea is in the cupboard", "Tea.")));
    harness.model.reply_to(ROLE, Reply::text("Done.").behind(&gate));
    let session = harness.client.new_session().await;
    say(&harness, &session, "the tea is in the cupboard").await;
    gate.reached().await;
    let listed = tasks(&harness).await;
    let id = listed["tasks"][0]["taskId"].clone();
    harness.client.request("reverie/tasks/stop", json!({ "taskId": id })).await.expect("it is stopped");
    assert_eq!(ended(&harness, TITLE, 1).await, ["killed"]);
    harness.client.wait_for("word of it", is_notice("Remembered: Tea is in the cupboard")).await;
    gate.open();
    assert!(closed(&tasks(&harness).await["background"]["kinds"][0]["gates"]).is_empty());
    harness.finish().await;
}
