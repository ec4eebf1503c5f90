//! The real server is killed at random moments of an extraction: a memory and its line in the index are whole or not
//! there, and what was not learnt is learnt in the next session.

use std::{fs, path::Path, time::Instant};

use serde_json::json;
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient},
    model_server::{ModelServer, Reply},
};

use super::{Memories, assert_sound, ended_job, round_of, topic};
use crate::harness::{connect_over_stdio, trust};

const KILLS: usize = 40;
/// After so many kills a new server goes on where the last was killed.
const GO_ON: usize = 4;
const INDEX: &str = "- [Deploys](deploys.md) — never on a Friday\n- [Reviews](reviews.md) — two look\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_kills_of_an_extraction_leave_whole_memories_and_nothing_unlearnt() {
    let fixture = Fixture::new("");
    trust(&fixture);
    let model = ModelServer::start().await;
    let memory = fixture.project_dir().join("memory");
    let folder = memory.clone();
    model.serve("extraction");
    let is_deaf = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let deaf = is_deaf.clone();
    model.program(move |request| match (request.role.as_str(), round_of(request)) {
        ("extraction", 0) if deaf.load(std::sync::atomic::Ordering::Relaxed) => Reply::text("nothing yet"),
        ("extraction", 0) => reads(&folder),
        ("extraction", 1) => writes(&folder),
        _ => Reply::text("so it is"),
    });
    // A session in which one turn is learnt from already.
    let client = connect_over_stdio(&fixture, &fixture.environment(&model.url()));
    let client = ready(client, &fixture).await;
    let session = client.new_session().await;
    client.turn(&session, "hello").await;
    ended_job(&client, "extraction").await;
    client.shutdown().await;
    let transcript = fixture.transcript(&session);
    let before = fs::read(&transcript).unwrap();
    is_deaf.store(false, std::sync::atomic::Ordering::Relaxed);

    let client = resumed(&fixture, &model, &session).await;
    client.turn(&session, "no Fridays, and two who look").await;
    let begun = Instant::now();
    assert_eq!(ended_job(&client, "extraction").await["state"], "completed");
    let longest = begun.elapsed().mul_f64(1.2);
    client.shutdown().await;
    let whole = learnt(&memory);
    assert_eq!(whole.len(), 3);

    let mut random = 88_172_645_463_325_252_u64;
    let mut struck = [0, 0, 0];
    for kill in 0..KILLS {
        fs::write(&transcript, &before).unwrap();
        // A kill may come before there is a directory.
        if memory.exists() {
            fs::remove_dir_all(&memory).unwrap();
        }
        let client = resumed(&fixture, &model, &session).await;
        client.turn(&session, "no Fridays, and two who look").await;
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // The moment of the kill: this is what is random here.
        tokio::time::sleep(longest.mul_f64((random >> 11) as f64 / (1u64 << 53) as f64)).await;
        client.kill().await;
        let found = learnt(&memory);
        for (path, text) in &found {
            assert_eq!(whole.get(path), Some(text), "kill {kill}: {path} is torn");
        }
        // The index comes last: it names nothing that is not there.
        assert!(!found.contains_key("MEMORY.md") || found.len() == 3, "kill {kill}: {found:?}");
        struck[usize::from(!found.is_empty()) + usize::from(found.len() == 3)] += 1;
        if kill % GO_ON == 0 {
            let client = resumed(&fixture, &model, &session).await;
            assert_sound(&client).await;
            client.turn(&session, "go on").await;
            assert_eq!(ended_job(&client, "extraction").await["state"], "completed", "kill {kill}");
            assert_eq!(assert_sound(&client).await, 0, "kill {kill}");
            client.shutdown().await;
            assert_eq!(learnt(&memory), whole, "kill {kill}");
        }
    }
    eprintln!("nothing yet, some, all: {struck:?}");
    assert!(struck[0] > 0 && struck[1] + struck[2] > 0, "badly chosen moments: {struck:?}");
    model.finish();
}

async fn ready(client: LspClient, fixture: &Fixture) -> LspClient {
    for kind in ["$/progress", "window/logMessage", "reverie/memory/event", "notice"] {
        client.ignore(kind);
    }
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    client
}

async fn resumed(fixture: &Fixture, model: &ModelServer, session: &str) -> LspClient {
    let client = connect_over_stdio(fixture, &fixture.environment(&model.url()));
    let client = ready(client, fixture).await;
    client.request("reverie/session/resume", json!({ "sessionId": session })).await.expect("it resumes");
    client
}

/// Without what names the message they come from.
fn learnt(folder: &Path) -> Memories {
    let mut memories = super::memories_in(folder);
    for text in memories.values_mut() {
        *text = text
            .lines()
            .filter(|line| !line.starts_with("source: "))
            .map(|line| format!("{line}\n"))
            .collect();
    }
    memories
}

fn reads(folder: &Path) -> Reply {
    let names = ["MEMORY.md", "deploys.md", "reviews.md"];
    Reply::tools(names.map(|name| ("Read", json!({ "file_path": folder.join(name).to_str().unwrap() }))))
}

fn writes(folder: &Path) -> Reply {
    let write = |name: &str, text: &str| {
        ("Write", json!({ "file_path": folder.join(name).to_str().unwrap(), "content": text }))
    };
    Reply::tools([
        write("deploys.md", &topic("Deploys", "Nothing goes out on a Friday.")),
        write("reviews.md", &topic("Reviews", "Two people look at a migration.")),
        write("MEMORY.md", INDEX),
    ])
}
