//! What the prompt cache should have had and had not is told, with the part that changed; what was done on purpose is
//! announced instead.

use std::{fs, time::Duration};

use expect_test::{Expect, expect};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use testkit::{
    lsp_client::Turn,
    model_server::{ModelServer, Reply},
};

use crate::{
    compaction::{compact, report, start, start_with_files, summary, talk, without_figures},
    harness::Harness,
};

/// Turns whose messages alone are worth a word if they are bought twice.
const TURNS: usize = 6;

async fn next_turn(harness: &Harness, session: &str) -> Turn {
    harness.model.reply(Reply::text("so it is"));
    let turn = harness.client.turn(session, "and now?").await;
    assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
    turn
}

/// The breaks that were shown in a turn.
fn breaks(turn: &Turn) -> Vec<String> {
    let of_cache = turn.of_kind("context").into_iter().filter(|update| update["layer"] == "cache");
    of_cache.map(|update| without_figures(update["detail"].as_str().unwrap())).collect()
}

/// Stops the server, changes the records of the transcript, and goes on.
async fn with_records_changed(
    harness: Harness,
    session: &str,
    mut change: impl FnMut(&mut Value),
) -> Harness {
    let Harness { client, model, fixture } = harness;
    client.shutdown().await;
    let path = fixture.transcript(session);
    let text = fs::read_to_string(&path).unwrap();
    let changed: String = text
        .lines()
        .map(|line| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            let before = record.clone();
            change(&mut record);
            // What is not changed stays as it was, byte for byte.
            if record == before { format!("{line}\n") } else { format!("{record}\n") }
        })
        .collect();
    assert_ne!(text, changed, "nothing was changed");
    fs::write(&path, changed).unwrap();
    let harness = Harness::start_with_fixture(fixture, model).await;
    harness.resume(session).await;
    harness
}

async fn check_named(change: impl FnMut(&mut Value), expected: Expect) {
    let harness = start("{}").await;
    let session = talk(&harness, TURNS).await;
    let harness = with_records_changed(harness, &session, change).await;
    let turn = next_turn(&harness, &session).await;
    expected.assert_eq(&breaks(&turn).join("\n"));

    let ledger = report(&harness, &session).await["ledger"].clone();
    let last = ledger.as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["layer"], &last["cache"]), (&json!("cache"), &json!("broken")), "{ledger}");
    let doctor = prompt_cache_check(&harness).await;
    assert_eq!(doctor["status"], "warning", "{doctor}");
    assert!(doctor["detail"].as_str().unwrap().contains(last["detail"].as_str().unwrap()), "{doctor}");
    // Told once: the next request finds what this one left.
    assert_eq!(breaks(&next_turn(&harness, &session).await), [""; 0]);
    harness.finish().await;
}

async fn prompt_cache_check(harness: &Harness) -> Value {
    let doctor = harness.client.request("reverie/doctor", json!({})).await.unwrap();
    let checks = doctor["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == "prompt cache").expect("the check is there").clone()
}

fn append(value: &mut Value, more: &str) {
    *value = json!(format!("{}{more}", value.as_str().expect("a text")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_tool_is_named() {
    let change = |record: &mut Value| {
        if record["type"] == "reverie-prefix" {
            let tools = record["tools"].as_array_mut().unwrap();
            let read = tools.iter_mut().find(|tool| tool["name"] == "Read").unwrap();
            append(&mut read["description"], " Or so.");
        }
    };
    check_named(change, expect!["0 of … tokens were read from the prompt cache: the tool Read changed"])
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_block_of_the_system_prompt_is_named() {
    let change = |record: &mut Value| {
        if record["type"] == "reverie-prefix" {
            append(&mut record["system"][0]["text"], " Or so.");
        }
    };
    check_named(change, expect![[r#"0 of … tokens were read from the prompt cache: block 1 of the system prompt changed ("You are Reverie, an engineering ")"#]]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_early_message_is_named() {
    let change = |record: &mut Value| {
        let text = record.pointer_mut("/message/content/0/text");
        if let Some(text) = text.filter(|text| text.as_str().unwrap().starts_with("answer 0")) {
            append(text, " Or so.");
        }
    };
    check_named(change, expect!["… of … tokens were read from the prompt cache: message 2 changed"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_provider_lost_is_told_as_such() {
    let harness = start("{}").await;
    let session = talk(&harness, TURNS).await;
    // For the provider it is later than for us.
    harness.model.advance_clock(Duration::from_secs(6 * 60));
    let turn = next_turn(&harness, &session).await;
    expect!["0 of … tokens were read from the prompt cache: the request begins as before; the provider no longer had it"].assert_eq(&breaks(&turn).join("\n"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mere_age_is_told_and_worries_no_doctor() {
    let harness = start("{}").await;
    let session = talk(&harness, TURNS).await;
    harness.model.advance_clock(Duration::from_secs(20 * 60));
    let harness = with_records_changed(harness, &session, sent_before(20)).await;
    let turn = next_turn(&harness, &session).await;
    expect!["0 of … tokens were read from the prompt cache: nothing was sent for 20 minutes, and what was cached expired"].assert_eq(&breaks(&turn).join("\n"));
    assert_eq!(prompt_cache_check(&harness).await["status"], "ok");
    harness.finish().await;
}

/// Makes the last request one of so many minutes ago.
fn sent_before(minutes: i64) -> impl FnMut(&mut Value) {
    let earlier = Timestamp::now() - SignedDuration::from_mins(minutes);
    move |record| {
        if let Some(at) = record.pointer_mut("/context/cacheWatch/at") {
            *at = json!(earlier.to_string());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_more_than_an_hour_nobody_expects_a_cache() {
    let harness = start("{}").await;
    let session = talk(&harness, TURNS).await;
    harness.model.advance_clock(Duration::from_secs(90 * 60));
    let harness = with_records_changed(harness, &session, sent_before(90)).await;
    assert_eq!(breaks(&next_turn(&harness, &session).await), [""; 0]);
    harness.finish().await;
}

/// What was told once does not excuse what comes after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_break_right_after_the_first_is_told_too() {
    let harness = start("{}").await;
    let session = talk(&harness, TURNS).await;
    let change = |record: &mut Value| {
        if record["type"] == "reverie-prefix" {
            append(&mut record["system"][0]["text"], " Or so.");
        }
    };
    let harness = with_records_changed(harness, &session, change).await;
    assert_eq!(breaks(&next_turn(&harness, &session).await).len(), 1);
    let harness = with_records_changed(harness, &session, change).await;
    assert_eq!(breaks(&next_turn(&harness, &session).await).len(), 1);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sound_session_has_nothing_to_tell() {
    let harness = start("{}").await;
    let session = talk(&harness, TURNS).await;
    let harness = harness.restart(&session).await;
    assert_eq!(breaks(&next_turn(&harness, &session).await), [""; 0]);
    let check = prompt_cache_check(&harness).await;
    assert_eq!(check["status"], "ok", "{check}");
    harness.finish().await;
}

/// What changes the prefix on purpose: how, and the layer that announces it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Purpose {
    Compaction,
    Snip,
    ModelSwitch,
    Rewind,
    Clear,
    Reload,
}

async fn change_on_purpose(purpose: Purpose, harness: &Harness, session: &str) {
    let request = async |method: &str, params: Value| harness.client.request(method, params).await.unwrap();
    match purpose {
        Purpose::Compaction => {
            harness.model.reply_to("compact", summary());
            compact(harness, session).await.unwrap();
        }
        Purpose::Snip => drop(harness.client.turn(session, "/snip").await),
        Purpose::Clear => drop(harness.client.turn(session, "/clear").await),
        Purpose::ModelSwitch => {
            let params = json!({ "sessionId": session, "model": "anthropic/claude-haiku-4-5" });
            request("reverie/session/configure", params).await;
        }
        Purpose::Rewind => {
            let text = fs::read_to_string(harness.fixture.transcript(session)).unwrap();
            let mut records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let early = records
                .find(|record| record["message"]["content"].to_string().contains("question 1"))
                .unwrap();
            request("reverie/session/rewind", json!({ "sessionId": session, "messageUuid": early["uuid"] }))
                .await;
        }
        Purpose::Reload => {
            harness.fixture.write("CLAUDE.md", &"Spaces, never tabs. ".repeat(40));
            request("reverie/instructions/reload", json!({ "sessionId": session })).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_done_on_purpose_is_announced_and_no_surprise() {
    use Purpose::*;
    for purpose in [Compaction, Snip, ModelSwitch, Rewind, Clear, Reload] {
        for restarted in [false, true] {
            let mut harness = start_with_files("{}", "//- CLAUDE.md\nTabs, never spaces.\n").await;
            harness.client.ignore("context");
            let session = talk(&harness, TURNS).await;
            change_on_purpose(purpose, &harness, &session).await;
            if restarted {
                harness = harness.restart(&session).await;
            }
            let turn = next_turn(&harness, &session).await;
            assert_eq!(breaks(&turn), [""; 0], "{purpose:?}, restarted: {restarted}");
            assert!(
                is_missed(&harness.model),
                "{purpose:?} did not break the cache: {:#?}",
                harness.model.usages()
            );
            if !matches!(purpose, Rewind | Clear) {
                let ledger = report(&harness, &session).await["ledger"].clone();
                let is_announced = |change: &Value| change["cache"] == "broken";
                assert!(ledger.as_array().unwrap().iter().any(is_announced), "{purpose:?}: {ledger}");
            }
            assert_eq!(breaks(&next_turn(&harness, &session).await), [""; 0], "{purpose:?}, the turn after");
            harness.finish().await;
        }
    }
}

/// Whether the last request read much less than the one before it had left.
fn is_missed(model: &ModelServer) -> bool {
    let usages = model.usages();
    let [.., before, last] = usages.as_slice() else { panic!("too few requests") };
    before.read + before.written_5m + before.written_1h > last.read + 500
}

/// Results that are cleared after a pause.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_that_are_cleared_after_a_pause_are_announced() {
    let settings =
        r#"{ "reverie": { "features": { "microcompactTime": { "gapMinutes": 60, "keepRecent": 1 } } } }"#;
    let files: String =
        (0..3).map(|file| format!("//- {file}.txt\n{}", "some words\n".repeat(400))).collect();
    let harness = start_with_files(settings, &files).await;
    let session = harness.client.new_session().await;
    for file in 0..3 {
        let path = harness.text_path(&format!("{file}.txt"));
        harness.model.reply(Reply::tool("Read", json!({ "file_path": path })));
    }
    harness.model.reply(Reply::text("read"));
    harness.client.turn(&session, "read them").await;
    let age = |record: &mut Value| {
        for at in ["/timestamp", "/context/cacheWatch/at"] {
            if let Some(at) = record.pointer_mut(at).filter(|at| at.is_string()) {
                let earlier = at.as_str().unwrap().replacen("2026", "2025", 1);
                *at = json!(earlier);
            }
        }
    };
    let harness = with_records_changed(harness, &session, age).await;
    harness.model.advance_clock(Duration::from_secs(90 * 60));
    let turn = next_turn(&harness, &session).await;
    let layers: Vec<&str> = turn.of_kind("context").iter().map(|it| it["layer"].as_str().unwrap()).collect();
    assert_eq!(layers, ["microcompact"], "{}", turn.events());
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hit_rate_and_cost_are_told_by_who_asked() {
    let harness = start("{}").await;
    let session = talk(&harness, TURNS).await;
    harness.model.reply_to("compact", summary());
    compact(&harness, &session).await.unwrap();
    let turn = next_turn(&harness, &session).await;
    let report = report(&harness, &session).await;
    let sources = report["sources"].as_array().unwrap();
    let names: Vec<&str> = sources.iter().map(|source| source["source"].as_str().unwrap()).collect();
    assert_eq!(names, ["compact", "main"]);
    // The fork shares all but the last answer and its directive with what was sent before.
    assert!(sources[0]["cacheHitRate"].as_f64().unwrap() > 0.85, "{report}");
    for source in sources {
        let bills: Vec<_> = bills_of(&harness.model, source["source"].as_str().unwrap());
        let read: u64 = bills.iter().map(|(read, _)| read).sum();
        let all: u64 = bills.iter().map(|(_, all)| all).sum();
        assert_eq!(source["usage"]["cacheReadTokens"], read, "{source}");
        let rate = source["cacheHitRate"].as_f64().unwrap();
        assert!((rate - read as f64 / all as f64).abs() < 1e-9, "{source}");
    }
    let cost: f64 = sources.iter().map(|source| source["costUsd"].as_f64().unwrap()).sum();
    let usages = turn.of_kind("usage");
    let told = usages.last().unwrap();
    assert!((told["costUsd"].as_f64().unwrap() - cost).abs() < 1e-9, "{told} {report}");
    let last = *harness.model.usages().last().unwrap();
    assert!((told["cacheHitRate"].as_f64().unwrap() - last.hit_rate()).abs() < 1e-9, "{told}");

    let words = harness.client.turn(&session, "/cost").await.text();
    let shown = |source: &Value| {
        let (rate, cost) = (source["cacheHitRate"].as_f64().unwrap(), source["costUsd"].as_f64().unwrap());
        format!(
            "- {}: ${cost:.4}, {:.0} % of its input from the cache",
            source["source"].as_str().unwrap(),
            100.0 * rate
        )
    };
    assert!(sources.iter().all(|source| words.contains(&shown(source))), "{words}\n{report}");
    harness.finish().await;
}

/// What the provider counted: read from the cache, and all of the input.
fn bills_of(model: &ModelServer, role: &str) -> Vec<(u64, u64)> {
    let requests = model.requests();
    let cache = model.cache();
    let bills = requests.iter().zip(cache.history());
    bills.filter(|(request, _)| request.role == role).map(|(_, bill)| (bill.read, bill.total())).collect()
}
