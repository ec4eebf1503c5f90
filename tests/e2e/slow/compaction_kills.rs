//! The real server is killed at random moments of a compaction: what resumes is the conversation before it or the one
//! after it.

use std::{fs, time::Instant};

use serde_json::json;
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient},
    model_server::{ModelServer, Reply},
};

use crate::{
    compaction::{
        self, EAGER, TURNS_TO_TEN,
        crashes::{ask_again, said},
    },
    harness::{Harness, connect_over_stdio},
};

const KILLS: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_kills_leave_the_old_conversation_or_the_new_one() {
    let harness = compaction::start("{}").await;
    let session = compaction::talk(&harness, 4).await;
    let Harness { client, model, fixture } = harness;
    client.shutdown().await;
    model.program(|request| match request.role.as_str() {
        "compact" => compaction::summary(),
        _ => Reply::text("so it is"),
    });
    let path = fixture.transcript(&session);
    let before = fs::read(&path).unwrap();

    let old = said(&asked(&fixture, &model, &session).await);
    fs::write(&path, &before).unwrap();
    let client = started(&fixture, &model, &session).await;
    let begun = Instant::now();
    let params = json!({ "sessionId": session, "mode": "full" });
    client.request("reverie/session/compact", params.clone()).await.unwrap();
    // Kills strike up to half its time after its end.
    let longest = begun.elapsed().mul_f64(1.5);
    client.shutdown().await;
    let new = said(&asked(&fixture, &model, &session).await);
    assert_ne!(old, new);

    let mut random = Random(88_172_645_463_325_252);
    let (mut olds, mut news) = (0, 0);
    for kill in 0..KILLS {
        fs::write(&path, &before).unwrap();
        let client = started(&fixture, &model, &session).await;
        let (_, answer) = client.start_request("reverie/session/compact", params.clone());
        // The moment of the kill: this is what is random here.
        tokio::time::sleep(longest.mul_f64(share(kill) * random.fraction())).await;
        client.kill().await;
        drop(answer);
        let sent = said(&asked(&fixture, &model, &session).await);
        if sent == old {
            olds += 1;
        } else {
            assert_eq!(sent, new, "kill {kill}");
            news += 1;
        }
        let bill = *model.usages().last().unwrap();
        assert!(bill.written_5m + bill.written_1h == 0, "kill {kill}: bought twice: {bill:?}");
    }
    eprintln!("{olds} times the old conversation, {news} times the new one");
    assert!(olds > 0 && news > 0, "badly chosen moments: {olds} old, {news} new");
}

/// Kills of a turn that compacts by itself: what resumes is one of the states that the file goes through.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_kills_of_a_turn_that_compacts_leave_a_state_that_was_meant() {
    let harness = compaction::start(EAGER).await;
    let session = compaction::talk(&harness, TURNS_TO_TEN).await;
    let Harness { client, model, fixture } = harness;
    client.shutdown().await;
    model.program(|request| match request.role.as_str() {
        "compact" => compaction::summary(),
        _ => Reply::text("so it is"),
    });
    let path = fixture.transcript(&session);
    let before = fs::read(&path).unwrap();
    let settings = |text: &str| fixture.write("~/.claude/settings.json", text);
    let resumed = async || {
        settings(r#"{ "autoCompactEnabled": false }"#);
        let sent = said(&asked(&fixture, &model, &session).await);
        settings(EAGER);
        sent
    };

    settings(EAGER);
    let client = started(&fixture, &model, &session).await;
    let begun = Instant::now();
    let turn = client.turn(&session, "the eleventh message").await;
    assert_eq!(turn.count("context"), 1, "{}", turn.events());
    let longest = begun.elapsed().mul_f64(1.2);
    client.shutdown().await;
    let whole = fs::read(&path).unwrap();
    let mut meant = vec![];
    let mut end = before.len();
    for line in [&b""[..]].into_iter().chain(whole[before.len()..].split_inclusive(|byte| *byte == b'\n')) {
        end += line.len();
        fs::write(&path, &whole[..end]).unwrap();
        let sent = resumed().await;
        if !meant.contains(&sent) {
            meant.push(sent);
        }
    }
    // Without the prompt, with it, behind the compaction, and with the answer.
    assert_eq!(meant.len(), 4);

    let mut random = Random(88_172_645_463_325_252);
    let mut struck = vec![0; meant.len()];
    for kill in 0..KILLS {
        fs::write(&path, &before).unwrap();
        let client = started(&fixture, &model, &session).await;
        let prompt =
            json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "the eleventh message" }] });
        let (_, accepted) = client.start_request("reverie/session/prompt", prompt);
        // The moment of the kill: this is what is random here.
        tokio::time::sleep(longest.mul_f64(share(kill) * random.fraction())).await;
        client.kill().await;
        drop(accepted);
        let sent = resumed().await;
        let which = meant.iter().position(|meant| *meant == sent);
        struck[which.unwrap_or_else(|| panic!("kill {kill}: {sent:#}"))] += 1;
    }
    eprintln!("states after the kills: {struck:?}");
    assert!(struck.iter().filter(|count| **count > 0).count() > 1, "badly chosen moments: {struck:?}");
}

/// Every other kill strikes early: how long the first one took says little on a busy machine.
fn share(kill: usize) -> f64 {
    if kill.is_multiple_of(2) { 0.25 } else { 1.0 }
}

struct Random(u64);

impl Random {
    /// In [0, 1).
    fn fraction(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

async fn started(fixture: &Fixture, model: &ModelServer, session: &str) -> LspClient {
    let client = connect_over_stdio(fixture, &fixture.environment(&model.url()));
    for kind in ["$/progress", "window/logMessage", "notice", "context"] {
        client.ignore(kind);
    }
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    client.request("reverie/session/resume", json!({ "sessionId": session })).await.expect("it resumes");
    client
}

/// What the session says after a resume.
async fn asked(fixture: &Fixture, model: &ModelServer, session: &str) -> serde_json::Value {
    let client = connect_over_stdio(fixture, &fixture.environment(&model.url()));
    let body = ask_again(&client, fixture, model, session).await;
    client.shutdown().await;
    body
}
