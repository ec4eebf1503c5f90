//! Whatever a crash leaves of a compaction in the file: the session resumes as it was before it or as it is after it, byte
//! for byte, and buys nothing twice.

use std::{fs, sync::Arc};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient},
    model_server::{ModelServer, Reply},
};

use super::{
    EAGER, TURNS_TO_TEN, go_on, next_messages, start, start_with_files, summary, talk, without_marks,
};
use crate::harness::{Harness, assert_extends, connect_in_process};

/// What is asked after each resume.
pub const QUESTION: &str = "what now?";

/// What a request says: everything but where the cache is marked.
pub fn said(body: &Value) -> Value {
    let mut said = json!({ "tools": body["tools"], "system": body["system"], "messages": body["messages"] });
    without_marks(&mut said);
    said
}

/// A transcript, and where in it the compaction is written.
pub struct Compacted {
    pub bytes: Vec<u8>,
    /// The first byte of the boundary.
    pub begins: usize,
    /// Behind the last record of the compaction.
    pub ends: usize,
}

impl Compacted {
    pub fn read(fixture: &Fixture, session: &str) -> Self {
        let bytes = fs::read(fixture.transcript(session)).unwrap();
        let mut at = 0;
        let (mut begins, mut ends) = (None, None);
        let mut last = Value::Null;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let record: Value = serde_json::from_slice(line).unwrap();
            if record["subtype"] == "compact_boundary" {
                begins = Some(at);
                last = record["compactMetadata"]["completeWith"].clone();
                assert!(last.is_string(), "the boundary names its last record: {record}");
            }
            at += line.len();
            if begins.is_some() && record["uuid"] == last {
                ends = Some(at);
            }
        }
        let (begins, ends) = (begins.expect("a boundary"), ends.expect("its last record"));
        Self { bytes, begins, ends }
    }

    /// Where the file may end after a crash: at every end of a line from before the boundary on, and inside of each line.
    fn cuts(&self) -> Vec<usize> {
        let mut cuts = vec![self.begins];
        let mut at = self.begins;
        for line in self.bytes[self.begins..].split_inclusive(|byte| *byte == b'\n') {
            cuts.extend(
                [1, line.len() / 3, line.len() / 2, line.len() - 1, line.len()].map(|within| at + within),
            );
            at += line.len();
        }
        cuts
    }
}

/// The first request of a session that is resumed from the file as it is.
async fn resumed(fixture: &Fixture, model: &ModelServer, session: &str) -> Value {
    let client = connect_in_process(fixture, &fixture.environment(&model.url()));
    let asked = ask_again(&client, fixture, model, session).await;
    client.shutdown().await;
    asked
}

pub async fn ask_again(client: &LspClient, fixture: &Fixture, model: &ModelServer, session: &str) -> Value {
    for kind in ["$/progress", "window/logMessage", "notice"] {
        client.ignore(kind);
    }
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    client.request("reverie/session/resume", json!({ "sessionId": session })).await.expect("it resumes");
    let turn = client.turn(session, QUESTION).await;
    assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
    model.main_requests().pop().unwrap().body.clone()
}

/// Cuts the file at every place, and compares what is sent then with what was sent before and would be sent after.
/// Returns the request after it.
async fn survives_every_cut(harness: Harness, session: &str) -> Value {
    let Harness { client, model, fixture } = harness;
    client.ignore("context");
    client.ignore("notice");
    client.shutdown().await;
    let compacted = Compacted::read(&fixture, session);
    let path = fixture.transcript(session);
    let sent_before = model.main_requests();
    let bills_before = model.usages();
    model.program(|_| Reply::text("so it is"));
    let cut_at = |end: usize| fs::write(&path, &compacted.bytes[..end]).unwrap();

    cut_at(compacted.begins);
    let old = said(&resumed(&fixture, &model, session).await);
    let left = bills_before.last().expect("a request was answered");
    let bill = *model.usages().last().unwrap();
    assert!(bill.read >= left.read + left.written_5m, "{bill:?} after {left:?}");
    cut_at(compacted.bytes.len());
    let new = said(&resumed(&fixture, &model, session).await);
    assert_ne!(old, new);
    for request in sent_before {
        let is_new = request.body["messages"].to_string().contains("What there is to say.");
        assert_extends(&request.body, if is_new { &new } else { &old });
    }
    for (number, cut) in compacted.cuts().into_iter().enumerate() {
        cut_at(cut);
        let sent = said(&resumed(&fixture, &model, session).await);
        // The last line break is no part of what is said.
        let (wanted, which) = if cut + 1 >= compacted.ends { (&new, "new") } else { (&old, "old") };
        let place = format!("cut at {cut} of {}..{}", compacted.begins, compacted.ends);
        assert_eq!(&sent, wanted, "{place}: not the {which} one");
        // The cache has seen all of it: the one before was the same request.
        let bill = *model.usages().last().unwrap();
        assert!(bill.written_5m + bill.written_1h == 0, "{place}: bought twice: {bill:?}");
        if number % 4 == 0 {
            // What was left of the compaction does not come back later.
            assert_extends(&sent, &resumed(&fixture, &model, session).await);
        }
    }
    model.finish();
    new
}

const FILES: &str = "//- a.txt\none\n//- b.txt\ntwo\n";

async fn read_files(harness: &Harness, session: &str) {
    let read = |name: &str| ("Read", json!({ "file_path": harness.text_path(name) }));
    harness.model.reply(Reply::tools([read("a.txt"), read("b.txt")]));
    harness.model.reply(Reply::text(format!("read: {}", "words ".repeat(300))));
    harness.client.turn(session, "read them").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_compaction_is_there_or_not() {
    let harness = start_with_files("{}", FILES).await;
    let session = talk(&harness, 3).await;
    read_files(&harness, &session).await;
    harness.model.reply_to("compact", summary());
    super::compact(&harness, &session).await.unwrap();
    survives_every_cut(harness, &session).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partial_compaction_is_there_or_not() {
    for mode in ["from", "upTo"] {
        let harness = start_with_files("{}", FILES).await;
        let session = talk(&harness, 2).await;
        read_files(&harness, &session).await;
        go_on(&harness, &session, 2).await;
        let at = prompt_uuid(&harness.fixture, &session, "read them");
        harness.model.reply_to("compact", summary());
        let params = json!({ "sessionId": session, "mode": mode, "messageUuid": at });
        harness.client.request("reverie/session/compact", params).await.unwrap();
        let early = Arc::clone(&harness.model.main_requests()[1]);
        let new = survives_every_cut(harness, &session).await;
        if mode == "from" {
            // What comes before it stays, and with it what the cache has.
            assert_extends(&early.body, &new);
        }
    }
}

/// The message after which it was decided is gone; what it was decided about is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_left_out_before_a_partial_compaction_stays_so_after_a_restart() {
    let harness = start("{}").await;
    let session = talk(&harness, 4).await;
    let turn = harness.client.turn(&session, "/snip").await;
    assert_eq!(turn.count("context"), 1, "{}", turn.events());
    go_on(&harness, &session, 2).await;
    let at = prompt_uuid(&harness.fixture, &session, "question 3");
    harness.model.reply_to("compact", summary());
    let params = json!({ "sessionId": session, "mode": "from", "messageUuid": at });
    let answer = harness.client.request("reverie/session/compact", params).await.unwrap();
    assert!(answer["tokensAfter"].as_u64() < answer["tokensBefore"].as_u64(), "{answer}");

    let live = next_messages(&harness, &session, "and now?").await;
    assert!(!live.to_string().contains("answer"), "{live}");
    let harness = harness.restart(&session).await;
    let resumed = next_messages(&harness, &session, "and then?").await;
    let (live, resumed) = (live.as_array().unwrap(), resumed.as_array().unwrap());
    assert_eq!(resumed[..live.len()], live[..]);
    harness.finish().await;
}

/// The uuid of the message that the user began with these words.
fn prompt_uuid(fixture: &Fixture, session: &str, words: &str) -> String {
    let text = fs::read_to_string(fixture.transcript(session)).unwrap();
    let mut records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let is_it =
        |record: &Value| record["type"] == "user" && record["message"]["content"].to_string().contains(words);
    let found = records.find(is_it).expect("the prompt is in the file");
    found["uuid"].as_str().unwrap().to_owned()
}

/// The prompt that led to it is kept behind the summary, and answered in the same turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_in_the_middle_of_a_turn_is_there_or_not() {
    let harness = start_with_files(EAGER, FILES).await;
    let session = talk(&harness, TURNS_TO_TEN).await;
    harness.model.reply_to("compact", summary());
    harness.model.reply(Reply::status(400));
    let turn = harness.client.turn(&session, "the eleventh message").await;
    assert_eq!((turn.stop_reason(), turn.count("context")), ("error", 1), "{}", turn.events());
    harness.fixture.write("~/.claude/settings.json", r#"{ "autoCompactEnabled": false }"#);
    survives_every_cut(harness, &session).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_is_taken_back_or_not() {
    let harness = start_with_files("{}", FILES).await;
    let session = talk(&harness, 3).await;
    harness.model.reply_to("compact", summary());
    super::compact(&harness, &session).await.unwrap();
    let Harness { client, model, fixture } = harness;
    let compacted = fs::read(fixture.transcript(&session)).unwrap();
    client.request("reverie/session/uncompact", json!({ "sessionId": session })).await.unwrap();
    client.ignore("context");
    client.shutdown().await;
    let path = fixture.transcript(&session);
    let bytes = fs::read(&path).unwrap();
    let taken_back = bytes.get(compacted.len()..).expect("records are added");
    let head = taken_back.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    model.program(|_| Reply::text("so it is"));

    fs::write(&path, &compacted).unwrap();
    let new = said(&resumed(&fixture, &model, &session).await);
    fs::write(&path, &bytes).unwrap();
    let old = said(&resumed(&fixture, &model, &session).await);
    assert!(old.to_string().contains("answer 0") && !new.to_string().contains("answer 0"));
    for within in [1, head / 2, head - 1, head, head + 1, taken_back.len()] {
        fs::write(&path, &bytes[..compacted.len() + within]).unwrap();
        let sent = said(&resumed(&fixture, &model, &session).await);
        assert_eq!(
            sent,
            if within + 1 >= head { old.clone() } else { new.clone() },
            "cut {within} of {head}"
        );
    }
    model.finish();
}
