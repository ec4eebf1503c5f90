//! A session keeps notes about itself: when, by whom, what holds them together, and what they are good for.

mod edits;
mod upkeep;

use std::{fs, path::PathBuf};

use context::notes::TEMPLATE;
use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, Turn},
    model_server::{Gate, ModelServer, Reply},
    prompt_cache::CacheUsage,
};

use crate::{
    compaction::{report, roles},
    harness::{Harness, assert_extends},
    memory::offline,
};

/// On whose behalf the fork asks.
const NOTES: &str = "session_memory";

async fn start(files: &str) -> Harness {
    let harness = Harness::start(files).await;
    // The notes name the session when they are ready, in a turn or behind it.
    harness.client.ignore("title");
    harness
}

/// About so many tokens, as the scripted server counts them.
fn words(tokens: usize) -> String {
    "abc ".repeat(tokens)
}

/// A turn with an answer of this size.
async fn say(harness: &Harness, session: &str, tokens: usize) -> Turn {
    harness.model.reply(Reply::text(words(tokens)));
    let turn = harness.client.turn(session, "Go on.").await;
    assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
    turn
}

fn path(harness: &Harness, session: &str) -> PathBuf {
    harness.fixture.project_dir().join(session).join("session-memory/summary.md")
}

fn read(harness: &Harness, session: &str) -> String {
    fs::read_to_string(path(harness, session)).expect("there are notes")
}

/// The heading of a section and the line below it, as the template has them.
fn head(section: &str) -> String {
    let from = TEMPLATE.find(&format!("# {section}\n")).expect("a section of the template");
    TEMPLATE[from..].lines().take(2).collect::<Vec<_>>().join("\n")
}

/// The input of a call that writes into an empty section.
fn edit(harness: &Harness, session: &str, section: &str, text: &str) -> Value {
    let head = head(section);
    json!({ "file_path": path(harness, session), "old_string": head, "new_string": format!("{head}\n{text}") })
}

/// The next fork writes this into an empty section, and has nothing to add.
fn next_notes(harness: &Harness, session: &str, section: &str, text: &str) {
    harness.model.reply_to(NOTES, Reply::tool("Edit", edit(harness, session, section, text)));
}

/// How each update so far has ended, once none is running.
async fn updates(harness: &Harness) -> Vec<String> {
    let ended = async {
        loop {
            let listed = harness.client.request("reverie/tasks/list", json!({})).await.expect("a list");
            let tasks = listed["tasks"].as_array().expect("tasks").iter();
            let notes = tasks.filter(|task| task["title"] == "Notes of the session");
            let states: Vec<String> =
                notes.map(|task| task["state"].as_str().unwrap_or_default().to_owned()).collect();
            if !states.iter().any(|state| state == "running") {
                return states;
            }
        }
    };
    tokio::time::timeout(testkit::PATIENCE, ended).await.expect("the notes are written in time")
}

async fn title(harness: &Harness) -> String {
    let page = harness.client.request("reverie/session/list", json!({})).await.expect("a list");
    page["sessions"][0]["title"].as_str().expect("a title").to_owned()
}

async fn upto(harness: &Harness, session: &str) -> Option<String> {
    report(harness, session).await["notes"]["upto"].as_str().map(str::to_owned)
}

/// The uuid of the last message in the transcript.
fn last_message(harness: &Harness, session: &str) -> String {
    let text = fs::read_to_string(harness.fixture.transcript(session)).expect("a transcript");
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let uuids: Vec<String> =
        records.filter_map(|record| record["uuid"].as_str().map(str::to_owned)).collect();
    uuids.last().expect("a message").clone()
}

/// Notes from ten thousand tokens on.
async fn noted(harness: &Harness) -> String {
    let session = harness.client.new_session().await;
    next_notes(harness, &session, "Worklog", "- began");
    say(harness, &session, 11_000).await;
    assert_eq!(updates(harness).await, ["completed"]);
    session
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_notes_come_at_ten_thousand_tokens_and_the_next_after_five_thousand_more() {
    let harness = start("").await;
    let session = harness.client.new_session().await;
    say(&harness, &session, 8_000).await;
    assert_eq!(updates(&harness).await, [""; 0]);
    assert_eq!(report(&harness, &session).await["notes"], Value::Null);

    next_notes(&harness, &session, "Current State", "Half of it is said.");
    say(&harness, &session, 3_000).await;
    assert_eq!(updates(&harness).await, ["completed"]);
    let expected =
        TEMPLATE.replace(&head("Current State"), &format!("{}\nHalf of it is said.", head("Current State")));
    assert_eq!(read(&harness, &session), expected);
    assert_eq!(upto(&harness, &session).await, Some(last_message(&harness, &session)));

    say(&harness, &session, 3_000).await;
    assert_eq!(updates(&harness).await.len(), 1);
    next_notes(&harness, &session, "Worklog", "- said more");
    say(&harness, &session, 3_000).await;
    assert_eq!(updates(&harness).await, ["completed"; 2]);
    assert_eq!(upto(&harness, &session).await, Some(last_message(&harness, &session)));
    let told = report(&harness, &session).await["notes"].clone();
    assert_eq!(told["path"], json!(path(&harness, &session)));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_the_middle_of_the_work_three_calls_are_enough_but_the_boundary_stays() {
    let harness = start("//- a.txt\none\n").await;
    let session = noted(&harness).await;
    let boundary = upto(&harness, &session).await;
    let call =
        |text: String| Reply::text(text).and_tool("Read", json!({ "file_path": harness.text_path("a.txt") }));
    harness.model.reply(call(words(6_000)));
    harness.model.reply(call("again".to_owned()));
    harness.model.reply(call("and again".to_owned()));
    next_notes(&harness, &session, "Current State", "Reading.");
    // The fork has seen three results; what it writes must not wait for the end of the turn.
    let gate = Gate::closed();
    harness.model.reply(Reply::text("that is all").behind(&gate));
    let turn = harness.client.prompt(&session, "Read it three times.").await;
    gate.reached().await;
    assert_eq!(updates(&harness).await, ["completed"; 2]);
    gate.open();
    harness.client.turn_end(&session, &turn).await;
    assert_eq!(updates(&harness).await.len(), 2);
    assert!(read(&harness, &session).contains("Reading."));
    assert_eq!(upto(&harness, &session).await, boundary);
    let fork = &harness.model.requests_of(NOTES)[1];
    let messages = fork.body["messages"].to_string();
    assert_eq!(messages.matches("\"tool_result\"").count(), 3, "{messages}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_name_the_session_unless_the_user_has() {
    let harness = start("").await;
    let session = harness.client.new_session().await;
    next_notes(&harness, &session, "Session Title", "**Counting** to ten thousand");
    say(&harness, &session, 11_000).await;
    assert_eq!(updates(&harness).await, ["completed"]);
    assert_eq!(title(&harness).await, "Counting to ten thousand");
    let harness = harness.restart(&session).await;
    harness.client.ignore("title");
    assert_eq!(title(&harness).await, "Counting to ten thousand");
    // The notes that are there still count.
    say(&harness, &session, 100).await;
    assert_eq!(updates(&harness).await, [""; 0]);

    let rename = json!({ "sessionId": session, "title": "Mine" });
    harness.client.request("reverie/session/rename", rename).await.expect("a rename");
    let harness = harness.restart(&session).await;
    harness.client.ignore("title");
    let old = "**Counting** to ten thousand";
    let other =
        json!({ "file_path": path(&harness, &session), "old_string": old, "new_string": "Something else" });
    harness.model.reply_to(NOTES, Reply::tool("Edit", other));
    say(&harness, &session, 6_000).await;
    assert_eq!(updates(&harness).await, ["completed"]);
    assert!(read(&harness, &session).contains("Something else"));
    assert_eq!(title(&harness).await, "Mine");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compaction_waits_for_notes_that_are_being_written_and_asks_for_no_summary() {
    let harness = start("").await;
    let session = noted(&harness).await;
    for _ in 0..3 {
        say(&harness, &session, 1_500).await;
    }
    let gate = Gate::closed();
    let edit = edit(&harness, &session, "Current State", "The second half.");
    harness.model.reply_to(NOTES, Reply::tool("Edit", edit).behind(&gate));
    say(&harness, &session, 6_000).await;
    gate.reached().await;
    let (_, answer) =
        harness.client.start_request("reverie/session/compact", json!({ "sessionId": session }));
    // Both are served while it waits.
    report(&harness, &session).await;
    gate.open();
    let done = harness.client.answer(answer, "the compaction").await.expect("it is compacted");
    assert_eq!(done["layer"], "sessionMemory", "{done}");
    let summary = done["summary"].as_str().expect("a summary");
    assert!(summary.contains("- began") && summary.contains("The second half."), "{summary}");
    assert!(!roles(&harness).contains(&"compact".to_owned()));
    harness.client.ignore("context");
    harness.model.reply(Reply::text("so it is"));
    harness.client.turn(&session, "And now?").await;
    let sent = harness.model.main_requests().pop().expect("a request").body["messages"].to_string();
    assert!(sent.contains("The second half.") && sent.contains("And now?"), "{sent}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_reads_the_conversation_from_the_cache_and_costs_the_next_request_nothing() {
    let harness = start("").await;
    let session = harness.client.new_session().await;
    say(&harness, &session, 9_000).await;
    next_notes(&harness, &session, "Worklog", "- began");
    say(&harness, &session, 2_000).await;
    assert_eq!(updates(&harness).await, ["completed"]);
    say(&harness, &session, 100).await;

    let known = |usage: &CacheUsage| usage.read + usage.written_5m + usage.written_1h;
    let history = harness.model.cache().history().to_vec();
    let [first, second, fork, next] = history.as_slice() else { panic!("{history:#?}") };
    assert!(second.read >= known(first) && next.read >= known(second), "{history:#?}");
    assert!(fork.read >= known(second), "{history:#?}");
    assert_eq!(known(fork), fork.read, "it leaves nothing in the cache that nobody reads: {history:#?}");
    // The answer that nobody had sent yet, the notes and what to do with them.
    assert!(fork.total() - fork.read < 2_000 + 2_500, "{history:#?}");
    let main = harness.model.main_requests();
    main.windows(2).for_each(|pair| assert_extends(&pair[0].body, &pair[1].body));
    assert_extends(&main[1].body, &harness.model.requests_of(NOTES)[0].body);
    let spent = report(&harness, &session).await["sources"].clone();
    let names: Vec<&str> =
        spent.as_array().expect("sources").iter().filter_map(|it| it["source"].as_str()).collect();
    assert!(names.contains(&NOTES), "{names:?}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_offline_model_keeps_notes_too() {
    let harness = offline("//- river.md\nThe heron nests by the weir.\n", &[]).await;
    harness.client.ignore("title");
    let session = harness.client.new_session().await;
    let question = format!("Where does the heron nest?\n{}", "Reed and water. ".repeat(3_000));
    harness.client.turn(&session, &question).await;
    let states = updates(&harness).await;
    assert!(!states.is_empty() && states.iter().all(|state| state == "completed"), "{states:?}");
    let notes = read(&harness, &session);
    assert_eq!(context::notes::check(TEMPLATE, TEMPLATE, &notes), Ok(()));
    assert!(notes.contains("\nWhere does the heron nest? Reed"), "{notes}");
    assert!(title(&harness).await.starts_with("Where does the heron nest? Reed"), "{notes}");
    harness.finish().await;
}
