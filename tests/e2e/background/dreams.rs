//! A dream as the user sees it: how it goes along, what it changed, what it may not do, and the way back.

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};
use testkit::model_server::{Gate, Reply};

use super::{closed, dream_status, ended, is_notice, say, with};
use crate::{
    harness::Harness,
    memory::{remembering, topic},
};

const ROLE: &str = "dream";
const NAMES: [&str; 4] = ["coffee.md", "deploys.md", "lunch.md", "tea.md"];

fn text(name: &str) -> String {
    topic(name.trim_end_matches(".md"), &format!("What there is to know about {name}."))
}

/// A server on a folder with four memories and no index.
async fn start() -> Harness {
    let texts = NAMES.map(|name| (name, text(name)));
    let memories: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let harness = remembering("", &memories).await;
    harness.client.ignore("reverie/memory/event");
    harness.client.ignore("reverie/dream/progress");
    harness
}

/// The memories on disk.
fn kept(harness: &Harness) -> BTreeMap<String, String> {
    let entries = fs::read_dir(harness.memory("")).expect("the folder").flatten();
    let files = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".md"));
    let kept = files.map(|entry| {
        let text = fs::read_to_string(entry.path()).expect("a text");
        (entry.file_name().to_string_lossy().into_owned(), text)
    });
    kept.collect()
}

fn path(harness: &Harness, name: &str) -> String {
    harness.memory_text(name)
}

fn read(harness: &Harness, names: &[&str]) -> Reply {
    Reply::tools(names.iter().map(|name| ("Read", json!({ "file_path": path(harness, name) }))))
}

fn write(harness: &Harness, name: &str, text: &str) -> (&'static str, Value) {
    ("Write", json!({ "file_path": path(harness, name), "content": text }))
}

fn remove(harness: &Harness, name: &str) -> (&'static str, Value) {
    ("Bash", json!({ "command": format!("rm {}", path(harness, name)) }))
}

fn index(names: &[&str]) -> String {
    names.iter().map(|name| format!("- [{name}]({name}) — {name}\n")).collect()
}

async fn begin(harness: &Harness, params: Value) -> String {
    let begun = harness.client.request("reverie/dream/start", params).await.expect("an answer");
    begun["dreamId"].as_str().unwrap_or_else(|| panic!("it begins: {begun}")).to_owned()
}

async fn dream(harness: &Harness, count: usize) -> Value {
    let dream = begin(harness, json!({})).await;
    ended(harness, "Dreaming", count).await;
    report(harness, &dream).await
}

async fn report(harness: &Harness, dream: &str) -> Value {
    let params = json!({ "dreamId": dream });
    harness.client.request("reverie/dream/report", params).await.expect("a report")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_is_followed_reported_and_taken_back_in_parts_or_whole() {
    let harness = start().await;
    let before = kept(&harness);
    harness.model.reply_to(ROLE, read(&harness, &["coffee.md", "tea.md"]));
    let changes = [
        write(&harness, "coffee.md", &topic("Hot drinks", "Coffee and tea.")),
        remove(&harness, "tea.md"),
        write(&harness, "MEMORY.md", &index(&["coffee.md", "deploys.md", "lunch.md"])),
    ];
    harness.model.reply_to(ROLE, Reply::tools(changes));
    harness.model.reply_to(ROLE, Reply::text("- merged tea.md into coffee.md: both are drinks"));
    let made = dream(&harness, 1).await;
    assert_eq!((&made["status"], &made["trigger"]), (&json!("completed"), &json!("you asked for it")));

    let told: Vec<Value> = harness
        .client
        .log()
        .into_iter()
        .filter(|seen| seen.method == "reverie/dream/progress")
        .map(|seen| seen.params)
        .collect();
    let (first, last) = (told.first().expect("progress"), told.last().expect("progress"));
    assert_eq!((&first["phase"], &first["rounds"]), (&json!("starting"), &json!(0)), "{first}");
    assert_eq!((&last["phase"], &last["status"]), (&json!("updating"), &json!("completed")), "{last}");
    assert_eq!(last["filesTouched"].as_array().map(Vec::len), Some(3), "{last}");
    assert_eq!(last["latest"][0]["toolCalls"], 2, "{last}");
    assert_eq!(last["text"], "Dream improved 2 memories");

    assert_eq!(made["changes"].as_array().map(Vec::len), Some(3), "{made}");
    let tea = path(&harness, "tea.md");
    let removed =
        made["changes"].as_array().unwrap().iter().find(|change| change["path"] == json!(tea)).unwrap();
    assert_eq!(removed["why"], "a dream: merged tea.md into coffee.md: both are drinks");
    let file = fs::read_to_string(made["path"].as_str().expect("a file")).expect("the report");
    assert!(file.contains("Undo all of it: `reverie dream undo"), "{file}");
    assert!(!harness.memory("tea.md").exists());

    harness.ask("undo", json!({ "changeId": removed["changeId"] })).await;
    assert_eq!(kept(&harness)["tea.md"], before["tea.md"]);
    harness.ask("undo", json!({ "dreamId": made["dreamId"] })).await;
    assert_eq!(kept(&harness), before);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_that_is_only_to_be_seen_changes_nothing() {
    let harness = start().await;
    let before = kept(&harness);
    harness.model.reply_to(ROLE, Reply::tools([write(&harness, "new.md", &topic("New", "New."))]));
    harness.model.reply_to(ROLE, Reply::text("- new.md is new"));
    let dream = begin(&harness, json!({ "dryRun": true })).await;
    assert_eq!(ended(&harness, "A dream", 1).await, ["completed"]);
    let made = report(&harness, &dream).await;
    assert_eq!((&made["dryRun"], made.get("path")), (&json!(true), None), "{made}");
    let change = &made["changes"][0];
    assert!(change["diff"].as_str().unwrap().contains("+New.") && change.get("changeId").is_none(), "{made}");
    assert_eq!(kept(&harness), before);
    assert!(!harness.memory(".consolidate-lock").exists());
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_that_would_do_harm_is_rolled_back_and_the_next_one_waits() {
    let harness = start().await;
    let before = kept(&harness);
    harness
        .model
        .reply_to(ROLE, Reply::tools(["coffee.md", "lunch.md", "tea.md"].map(|name| remove(&harness, name))));
    harness.model.reply_to(ROLE, Reply::text("Tidy now."));
    let made = dream(&harness, 1).await;
    assert_eq!(made["status"], "failed");
    let words =
        "It was rolled back, because it would delete 3 of 4 memories, more than half. Nothing was changed.";
    assert!(made["text"].as_str().unwrap().contains(words), "{made}");
    assert_eq!(kept(&harness), before);
    let gates = closed(&dream_status(&harness).await["gates"]);
    assert!(gates.contains(&"backoff: 1 failed; the next try is in 60 min".to_owned()), "{gates:?}");

    let long = index(&["coffee.md"; 201]);
    harness.model.reply_to(ROLE, Reply::tools([write(&harness, "MEMORY.md", &long)]));
    harness.model.reply_to(ROLE, Reply::text("All listed."));
    let made = dream(&harness, 2).await;
    assert!(made["text"].as_str().unwrap().contains("it would leave MEMORY.md with 201 lines"), "{made}");
    assert_eq!(kept(&harness), before);
    assert!(!harness.memory(".consolidate-lock").exists(), "there was no dream yet");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_user_changes_meanwhile_is_left_alone() {
    let harness = start().await;
    let lunch = harness.memory("lunch.md");
    harness.client.open(&lunch);
    harness.client.edit(&lunch, 0, 0, "mine, unsaved: ");
    harness.model.reply_to(ROLE, read(&harness, &["tea.md", "lunch.md", "coffee.md"]));
    let (gate, other) = (Gate::closed(), topic("Other", "Other."));
    let changes = ["tea.md", "lunch.md", "coffee.md"].map(|name| write(&harness, name, &other));
    harness.model.reply_to(ROLE, Reply::tools(changes));
    harness.model.reply_to(ROLE, Reply::text("Done.").behind(&gate));
    let dream = begin(&harness, json!({})).await;
    gate.reached().await;
    fs::write(harness.memory("tea.md"), "mine, saved\n").expect("a file can be written");
    gate.open();
    ended(&harness, "Dreaming", 1).await;
    let kept = kept(&harness);
    assert_eq!((kept["tea.md"].as_str(), &kept["lunch.md"]), ("mine, saved\n", &text("lunch.md")));
    assert_eq!(kept["coffee.md"], other);
    let denied = harness.model.requests_of(ROLE)[2].last_message_text();
    assert!(denied.contains("is open in the editor with unsaved changes: leave it to the user"), "{denied}");
    let made = report(&harness, &dream).await;
    let left = "## Left alone\n\n- tea.md was changed by somebody else meanwhile and left alone\n";
    assert!(made["text"].as_str().unwrap().contains(left), "{made}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_that_is_stopped_leaves_nothing_behind() {
    let harness = start().await;
    let before = kept(&harness);
    let gate = Gate::closed();
    harness.model.reply_to(ROLE, Reply::tools([remove(&harness, "tea.md")]));
    harness.model.reply_to(ROLE, Reply::text("Done.").behind(&gate));
    let dream = begin(&harness, json!({})).await;
    gate.reached().await;
    let running = dream_status(&harness).await["running"].clone();
    assert_eq!((&running["phase"], &running["rounds"]), (&json!("updating"), &json!(1)), "{running}");
    harness.client.request("reverie/dream/stop", json!({ "dreamId": dream })).await.expect("it stops");
    assert_eq!(ended(&harness, "Dreaming", 1).await, ["killed"]);
    gate.open();
    assert_eq!(kept(&harness), before);
    assert_eq!(report(&harness, &dream).await["status"], "killed");
    let gates = closed(&dream_status(&harness).await["gates"]);
    assert!(!gates.iter().any(|gate| gate.starts_with("backoff")), "who stops it did not fail: {gates:?}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_in_the_middle_of_a_turn_sees_what_was_settled_before() {
    let harness = start().await;
    harness.model.always("recall", Reply::text("{\"selected\": []}"));
    let session = harness.client.new_session().await;
    say(&harness, &session, "the first word").await;
    let gate = Gate::closed();
    harness.model.reply(Reply::tool("Glob", json!({ "pattern": "*" })));
    harness.model.reply(Reply::text("the last word").behind(&gate));
    let turn = harness.client.prompt(&session, "and another").await;
    gate.reached().await;
    harness.model.reply_to(ROLE, Reply::tools([write(&harness, "new.md", &topic("New", "New."))]));
    harness.model.reply_to(ROLE, Reply::text("- new.md is new"));
    let dream = begin(&harness, json!({ "sessionId": session })).await;
    assert_eq!(ended(&harness, "Dreaming", 1).await, ["completed"]);
    let asked = harness.model.requests_of(ROLE)[0].body["messages"].to_string();
    assert!(asked.contains("the first word") && !asked.contains("and another"), "{asked}");
    gate.open();
    assert_eq!(harness.client.turn_end(&session, &turn).await.stop_reason(), "endTurn");
    assert_eq!(report(&harness, &dream).await["status"], "completed");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_last_rounds_are_told() {
    let harness = start().await;
    for _ in 0..32 {
        harness.model.reply_to(ROLE, read(&harness, &["tea.md"]));
    }
    harness.model.reply_to(ROLE, Reply::text("Nothing to do."));
    dream(&harness, 1).await;
    let log = harness.client.log();
    let told = log.iter().rfind(|seen| seen.method == "reverie/dream/progress").expect("progress");
    let (rounds, latest) = (told.params["rounds"].as_u64(), told.params["latest"].as_array().map(Vec::len));
    assert_eq!((rounds >= Some(32), latest), (true, Some(30)), "{}", told.params);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_dream_is_told_in_the_session_it_came_from() {
    let harness = with(json!({}), &[]).await;
    harness.client.ignore("reverie/memory/event");
    harness.client.ignore("reverie/dream/progress");
    let session = harness.client.new_session().await;
    say(&harness, &session, "hello").await;
    harness.model.reply_to(ROLE, Reply::tools([write(&harness, "new.md", &topic("New", "New."))]));
    harness.model.reply_to(ROLE, Reply::text("- new.md is new"));
    dream(&harness, 1).await;
    harness.client.wait_for("word of it", is_notice("Dream improved 1 memory")).await;
    harness.finish().await;
}
