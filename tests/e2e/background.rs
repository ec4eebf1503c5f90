//! What the agent does by itself: when it runs, why it does not, what is told of it, and the way back.
//!
//! Here: the gates in their words. What is learnt after turns is in `extraction`, putting in order in `dreams`.

mod dreams;
mod extraction;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, Notification, Turn},
    model_server::{Gate, ModelServer, Reply},
};

use crate::{
    harness::{Harness, connect_in_process, trust},
    memory::age,
};

/// Settings, variables, and the gates that they close.
type Case = (Value, &'static [(&'static str, &'static str)], &'static [&'static str]);

/// A server with these settings and variables, and no memories.
async fn with(settings: Value, variables: &[(&str, &str)]) -> Harness {
    let fixture = Fixture::new(&format!("//- ~/.claude/settings.json\n{settings}\n"));
    trust(&fixture);
    let model = ModelServer::start().await;
    let mut environment: BTreeMap<String, String> = fixture.environment(&model.url());
    environment.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let options = ClientOptions::new(&fixture.workspace);
    Harness::start_with(fixture, model, &environment, &options).await
}

fn features(features: Value) -> Value {
    json!({ "reverie": { "features": features } })
}

/// A turn with one answer.
async fn say(harness: &Harness, session: &str, words: &str) -> Turn {
    harness.model.reply(Reply::text("So be it."));
    let turn = harness.client.turn(session, words).await;
    assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
    turn
}

async fn tasks(harness: &Harness) -> Value {
    harness.client.request("reverie/tasks/list", json!({})).await.expect("a list")
}

/// How the jobs of this title have ended, once so many have.
async fn ended(harness: &Harness, title: &str, count: usize) -> Vec<String> {
    let wait = async {
        loop {
            let listed = tasks(harness).await;
            let jobs = listed["tasks"].as_array().expect("tasks").iter();
            let jobs = jobs.filter(|task| task["title"].as_str().is_some_and(|it| it.starts_with(title)));
            let states: Vec<String> =
                jobs.map(|task| task["state"].as_str().unwrap_or_default().to_owned()).collect();
            if states.len() >= count && !states.iter().any(|state| state == "running") {
                return states;
            }
        }
    };
    testkit::within(wait, &format!("{count} of {title:?} to end")).await
}

fn is_notice(words: &str) -> impl Fn(&Notification) -> bool {
    move |seen| seen.kind() == "notice" && seen.params["update"]["text"].as_str() == Some(words)
}

/// `name: detail` of the gates that are closed.
fn closed(gates: &Value) -> Vec<String> {
    let gates = gates.as_array().expect("gates").iter();
    let closed = gates.filter(|gate| gate["open"] == false);
    closed
        .map(|gate| format!("{}: {}", gate["name"].as_str().unwrap(), gate["detail"].as_str().unwrap()))
        .collect()
}

async fn dream_status(harness: &Harness) -> Value {
    harness.client.request("reverie/dream/status", json!({})).await.expect("a status")
}

async fn extraction_gates(harness: &Harness) -> Vec<String> {
    let listed = tasks(harness).await;
    let kinds = listed["background"]["kinds"].as_array().expect("kinds").clone();
    closed(&kinds.iter().find(|kind| kind["kind"] == "extraction").expect("the kind")["gates"])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn switches_that_keep_a_dream_from_coming_are_named() {
    const FEW: &str = "sessions: 0 of 5 other sessions since the last dream";
    let cases: [Case; 6] = [
        (json!({}), &[], &[FEW]),
        (json!({ "autoMemoryEnabled": false }), &[], &["memory: auto memory is off", FEW]),
        (
            features(json!({ "dream": false })),
            &[],
            &["enabled: the setting reverie.features.dream is off", FEW],
        ),
        (
            json!({}),
            &[("CLAUDE_CODE_REMOTE", "1")],
            &["memory: auto memory is off", "remote: a remote session", FEW],
        ),
        (
            json!({}),
            &[("CLAUDE_CODE_SIMPLE", "1")],
            &[
                "memory: auto memory is off",
                "bare: bare mode",
                "enabled: the setting reverie.features.dream is off",
                FEW,
            ],
        ),
        (
            features(json!({ "dailyLog": true })),
            &[],
            &["dailyLog: in daily-log mode dreams come at night alone", FEW],
        ),
    ];
    for (settings, variables, expected) in cases {
        let harness = with(settings.clone(), variables).await;
        let status = dream_status(&harness).await;
        assert_eq!(closed(&status["gates"]), expected, "{settings} {variables:?}");
        assert_eq!(status["state"], "idle");
        harness.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn switches_that_keep_it_from_learning_are_named() {
    let cases: [Case; 4] = [
        (json!({ "autoMemoryEnabled": false }), &[], &["memory: auto memory is off"]),
        (
            features(json!({ "extraction": false })),
            &[],
            &["enabled: the setting reverie.features.extraction is off"],
        ),
        (
            json!({}),
            &[("CLAUDE_CODE_REMOTE", "1")],
            &["memory: auto memory is off", "remote: a remote session"],
        ),
        (
            features(json!({ "dailyLog": true })),
            &[],
            &["dailyLog: the model keeps a log for each day itself"],
        ),
    ];
    for (settings, variables, expected) in cases {
        let harness = with(settings, variables).await;
        harness.model.serve("extraction");
        let session = harness.client.new_session().await;
        say(&harness, &session, "we decided to deploy on Fridays only").await;
        assert_eq!(extraction_gates(&harness).await, expected);
        harness.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_sessions_and_the_last_count_are_told_in_figures() {
    let harness = with(features(json!({ "dream": { "minSessions": 2 } })), &[]).await;
    harness.client.ignore("notice");
    let session = harness.client.new_session().await;
    say(&harness, &session, "hello").await;
    let counted = async {
        while !closed(&dream_status(&harness).await["gates"]).iter().any(|gate| gate.starts_with("scan")) {}
    };
    testkit::within(counted, "the sessions to be counted").await;
    assert_eq!(
        closed(&dream_status(&harness).await["gates"]),
        [
            "scan: sessions were counted 0 min ago; every 10 min is enough",
            "sessions: 0 of 2 other sessions since the last dream"
        ]
    );
    // By command neither matters.
    harness.model.reply_to("dream", Reply::text("Nothing to do."));
    harness.client.request("reverie/dream/start", json!({})).await.expect("it begins");
    assert_eq!(ended(&harness, "Dreaming", 1).await, ["completed"]);
    let status = dream_status(&harness).await;
    assert!(
        closed(&status["gates"]).contains(&"hours: 0 of 24 hours since the last dream".to_owned()),
        "{status}"
    );
    assert!(status["lastConsolidatedAt"].is_string());
    age(&harness.memory(".consolidate-lock"), 2);
    let status = dream_status(&harness).await;
    assert!(!closed(&status["gates"]).iter().any(|gate| gate.starts_with("hours")), "{status}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enough_time_and_sessions_set_a_dream_off_after_a_turn() {
    let harness = with(features(json!({ "dream": { "minSessions": 1 } })), &[]).await;
    harness.client.ignore("reverie/dream/progress");
    harness.model.reply_to("dream", Reply::text("Nothing to do."));
    // One that was used before, elsewhere.
    let other = "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51";
    std::fs::create_dir_all(harness.fixture.project_dir()).expect("a folder");
    std::fs::write(harness.fixture.transcript(other), "{}\n").expect("a transcript");
    let session = harness.client.new_session().await;
    say(&harness, &session, "hello").await;
    assert_eq!(ended(&harness, "Dreaming", 1).await, ["completed"]);
    let report = harness.client.request("reverie/dream/report", json!({})).await.expect("a report");
    assert_eq!(report["trigger"], "enough time and sessions had passed");
    assert!(harness.model.requests_of("dream")[0].last_message_text().contains(other));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_of_another_process_is_given_way_to() {
    let harness = Harness::over_stdio("").await;
    harness.client.ignore("reverie/dream/progress");
    let gate = Gate::closed();
    harness.model.reply_to("dream", Reply::text("Nothing to do.").behind(&gate));
    harness.client.request("reverie/dream/start", json!({})).await.expect("it begins");
    gate.reached().await;
    assert_eq!(dream_status(&harness).await["state"], "running");

    let beside = connect_in_process(&harness.fixture, &harness.fixture.environment(&harness.model.url()));
    beside.initialize(&ClientOptions::new(&harness.fixture.workspace)).await;
    let status = beside.request("reverie/dream/status", json!({})).await.expect("a status");
    let process = harness.client.process_id().expect("a process");
    assert_eq!(status["state"], "locked", "{status}");
    assert!(closed(&status["gates"]).contains(&format!("lock: process {process} is dreaming")), "{status}");
    let skipped = beside.request("reverie/dream/start", json!({})).await.expect("an answer");
    let why = format!("process {process} is dreaming here already; wait for its end");
    assert_eq!(skipped, json!({ "skipped": why }));
    gate.open();
    assert_eq!(ended(&harness, "Dreaming", 1).await, ["completed"]);
    assert_eq!(beside.request("reverie/dream/status", json!({})).await.expect("a status")["state"], "idle");
    beside.shutdown().await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_budget_of_the_day_keeps_from_running_is_told_once() {
    let budget = json!({ "budgets": { "backgroundDayUsd": 0.000_001 } });
    let harness = with(budget, &[]).await;
    harness.client.ignore("reverie/dream/progress");
    // In a turn or between two.
    harness.client.ignore("notice");
    harness.model.reply_to("extraction", Reply::text("Nothing."));
    let session = harness.client.new_session().await;
    say(&harness, &session, "hello").await;
    assert_eq!(ended(&harness, "Remembering", 1).await, ["completed"]);
    let booked = async { while tasks(&harness).await["background"]["spentUsd"] == json!(0.0) {} };
    testkit::within(booked, "the costs to be booked").await;
    let gates = extraction_gates(&harness).await;
    assert!(gates.len() == 1 && gates[0].contains("of $0.00 spent today"), "{gates:?}");

    for _ in 0..2 {
        say(&harness, &session, "and again").await;
    }
    let is_told = |seen: &Notification| {
        let text = seen.params["update"]["text"].as_str().unwrap_or_default();
        seen.kind() == "notice" && text.starts_with("Nothing more runs by itself today: $0.")
    };
    // What the user asks for is done all the same.
    harness.model.reply_to("dream", Reply::text("Nothing to do."));
    harness.client.request("reverie/dream/start", json!({})).await.expect("it begins");
    assert_eq!(ended(&harness, "Dreaming", 1).await, ["completed"]);
    let told = async {
        while !harness.client.log().iter().any(is_told) {
            tokio::task::yield_now().await;
        }
    };
    testkit::within(told, "word of the budget").await;
    assert_eq!(harness.client.log().iter().filter(|seen| is_told(seen)).count(), 1);
    let Harness { client, model, .. } = harness;
    client.shutdown().await;
    assert_eq!(model.requests_of("extraction").len(), 1);
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_nothing_goes_on_a_dream_comes_if_the_settings_say_so() {
    let settings = features(json!({ "dream": { "minSessions": 1, "idleMinutes": 0 } }));
    let harness = with(settings, &[]).await;
    harness.client.ignore("reverie/dream/progress");
    harness.model.always("dream", Reply::text("Nothing to do."));
    let session = harness.client.new_session().await;
    say(&harness, &session, "hello").await;
    // The only session does not count; the next one sees it.
    let next = harness.client.new_session().await;
    say(&harness, &next, "hello").await;
    ended(&harness, "Dreaming", 1).await;
    let report = harness.client.request("reverie/dream/report", json!({})).await.expect("a report");
    assert_eq!(report["trigger"], "nothing was going on");
    harness.finish().await;
}
