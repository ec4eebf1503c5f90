//! "Each fork reads the parent's whole prefix and pays only for its directive and answer; the main conversation's next
//! request still hits." For what is learnt after a turn, and for a dream; `session_notes` has its own.

use std::sync::Arc;

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    model_server::{ModelServer, RecordedRequest, Reply},
    prompt_block::{PromptBlock, prompt_blocks},
    prompt_cache::CacheUsage,
};

use crate::{
    compaction::report,
    harness::{Harness, assert_extends, trust},
    memory::{FRIDAY, LOCAL},
};

/// One other session is enough for a dream.
const DREAMING: &str = "//- ~/.claude/settings.json\n{\"reverie\": {\"features\": \
    {\"recallModel\": \"local\", \"dream\": {\"minSessions\": 1}}}}\n";

/// About so many tokens, as the scripted server counts them.
fn words(tokens: usize) -> String {
    "abc ".repeat(tokens)
}

/// The rounds of a fork that reads what is there, writes a memory and its line, and says so.
fn remembers(harness: &Harness, role: &str) {
    let (topic, index) = (harness.memory_text("deploy-days.md"), harness.memory_text("MEMORY.md"));
    let line = "- [Deploy days](deploy-days.md) — Fridays only\n";
    harness.model.reply_to(role, Reply::tool("Read", json!({ "file_path": index })));
    let writes = [
        ("Write", json!({ "file_path": topic, "content": FRIDAY })),
        ("Write", json!({ "file_path": index, "content": line })),
    ];
    harness.model.reply_to(role, Reply::tools(writes));
    harness.model.reply_to(role, Reply::text("deploy-days.md is new: it was said."));
}

/// Resolves when nothing runs by itself.
async fn idle(harness: &Harness) {
    loop {
        let listed = harness.client.request("reverie/tasks/list", json!({})).await.expect("a list");
        let tasks = listed["tasks"].as_array().expect("tasks");
        if tasks.iter().all(|task| task["state"] != "running") {
            return;
        }
    }
}

async fn say(harness: &Harness, session: &str, tokens: usize) {
    harness.model.reply(Reply::text(words(tokens)));
    let turn = harness.client.turn(session, "We deploy on Fridays only, don't we.").await;
    assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
}

fn cached(usage: &CacheUsage) -> u64 {
    usage.read + usage.written_5m + usage.written_1h
}

/// The tokens of what the later request says beyond the earlier one.
fn added(earlier: &RecordedRequest, later: &RecordedRequest) -> u64 {
    let known = prompt_blocks(&earlier.body).len();
    prompt_blocks(&later.body).iter().skip(known).map(PromptBlock::tokens).sum()
}

/// The parent's last request, the three rounds of the fork, and the parent's next: what each read and paid.
#[track_caller]
fn assert_cheap(requests: &[Arc<RecordedRequest>], bills: &[CacheUsage], answer: usize) {
    let ([parent, first, second, third, next], [before, fork, .., after]) = (requests, bills) else {
        panic!("{} requests, {bills:#?}", requests.len());
    };
    for (one, two) in [(parent, first), (first, second), (second, third), (parent, next)] {
        assert_extends(&one.body, &two.body);
    }
    assert_eq!(fork.read, before.total(), "all that the parent has sent: {bills:#?}");
    let paid = fork.total() - fork.read;
    assert_eq!(paid, added(parent, first), "the parent's last answer and the directive: {bills:#?}");
    assert!(paid < answer as u64 + 4_000, "{bills:#?}");
    for pair in bills[1..4].windows(2) {
        assert!(
            pair[1].read >= cached(&pair[0]),
            "each round reads what the one before it wrote: {bills:#?}"
        );
    }
    assert_eq!(after.read, before.total(), "{bills:#?}");
}

/// What each source has cost, by its name.
async fn sources(harness: &Harness, session: &str) -> Vec<(String, f64)> {
    let sources = report(harness, session).await["sources"].clone();
    let cost = |it: &Value| (it["source"].as_str().unwrap().to_owned(), it["costUsd"].as_f64().unwrap());
    sources.as_array().expect("sources").iter().map(cost).collect()
}

/// The requests of the main loop and of this role, in the order in which they came.
fn requests_of(harness: &Harness, role: &str) -> Vec<Arc<RecordedRequest>> {
    let all = harness.model.requests().into_iter();
    all.filter(|request| request.role == "main" || request.role == role).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_learnt_after_a_turn_reads_the_conversation_and_leaves_it_in_the_cache() {
    let harness = Harness::start(LOCAL).await;
    harness.client.ignore("notice");
    let session = harness.client.new_session().await;
    remembers(&harness, "extraction");
    say(&harness, &session, 3_000).await;
    harness.memory_event("saved").await;
    idle(&harness).await;
    harness.client.ignore("reverie/memory/event");
    harness.model.reply_to("extraction", Reply::text("Nothing new."));
    say(&harness, &session, 100).await;
    harness.model.wait_for_requests(6).await;
    idle(&harness).await;

    let requests = requests_of(&harness, "extraction");
    let bills = harness.model.cache().history().to_vec();
    assert_cheap(&requests[..5], &bills[..5], 3_000);
    // The one that has nothing to write reads as much.
    assert_eq!(bills[5].read, bills[4].total(), "{bills:#?}");
    let costs = sources(&harness, &session).await;
    let names: Vec<&str> = costs.iter().map(|(source, _)| source.as_str()).collect();
    assert_eq!(names, ["extraction", "main"]);
    assert!(costs.iter().all(|(_, cost)| *cost > 0.0), "{costs:?}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_that_the_gates_set_off_reads_the_conversation_and_leaves_it_in_the_cache() {
    let fixture = Fixture::new(DREAMING);
    trust(&fixture);
    std::fs::create_dir_all(fixture.project_dir()).unwrap();
    std::fs::write(fixture.transcript("7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51"), "{}\n").unwrap();
    let harness = Harness::start_with_fixture(fixture, ModelServer::start().await).await;
    for unread in ["notice", "reverie/memory/event", "reverie/dream/progress"] {
        harness.client.ignore(unread);
    }
    let session = harness.client.new_session().await;
    remembers(&harness, "dream");
    say(&harness, &session, 3_000).await;
    let is_end = |params: &Value| params["status"].as_str().is_some_and(|status| status != "running");
    let end = harness.client.wait_for("the end of the dream", |seen| {
        seen.method == "reverie/dream/progress" && is_end(&seen.params)
    });
    assert_eq!(end.await.params["status"], "completed");
    idle(&harness).await;
    say(&harness, &session, 100).await;

    let requests = requests_of(&harness, "dream");
    assert_cheap(&requests, harness.model.cache().history(), 3_000);
    let costs = sources(&harness, &session).await;
    let names: Vec<&str> = costs.iter().map(|(source, _)| source.as_str()).collect();
    assert_eq!(names, ["dream", "main"]);
    assert!(costs.iter().all(|(_, cost)| *cost > 0.0), "{costs:?}");
    harness.finish().await;
}
