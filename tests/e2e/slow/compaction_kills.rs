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
        self,
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

    let mut random = 88_172_645_463_325_252_u64;
    let (mut olds, mut news) = (0, 0);
    for kill in 0..KILLS {
        fs::write(&path, &before).unwrap();
        let client = started(&fixture, &model, &session).await;
        let (_, answer) = client.start_request("reverie/session/compact", params.clone());
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // The moment of the kill: this is what is random here.
        tokio::time::sleep(longest.mul_f64((random >> 11) as f64 / (1u64 << 53) as f64)).await;
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
