//! A disk that is full, or may only be read, at any moment of a dream or of an extraction.

use std::fs;

use serde_json::json;
use testkit::model_server::Reply;

use super::{Memories, Night, STRACE, dream, end, ended_job, memories_in, start, status, topic};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fails_once_during_a_commit_has_the_dream_rolled_back() {
    let night = Night::new().await;
    let new = undisturbed(&night).await;
    let mut told = Vec::new();
    for (error, call) in
        [("ENOSPC", "openat"), ("ENOSPC", "fsync"), ("EROFS", "renameat"), ("EROFS", "unlinkat")]
    {
        for number in [1, 2, 3, 4, 6, 8, 11, 14] {
            let before = night.reset();
            let client = failing(&night, call, &format!("error={error}:when={number}")).await;
            let started = start(&client).await;
            let ended = match started["dreamId"].is_string() {
                true => end(&client).await.expect("the server stays"),
                false => json!({ "status": "failed", "text": started["skipped"] }),
            };
            if ended["status"] == "failed" {
                assert_eq!(night.memories(), night.old, "{call} {number}: {ended}");
                // As another server sees it, while this one lives.
                let other = night.server().await;
                let seen = status(&other).await;
                let last = (seen["state"].as_str(), seen["lastConsolidatedAt"].as_str());
                assert_eq!(last, (Some("idle"), Some(&*before)), "{call} {number}");
                other.shutdown().await;
                told.push(ended["text"].as_str().expect("words").to_owned());
            } else {
                night.assert_whole(&new);
            }
            if started["dreamId"].is_string() {
                let job = ended_job(&client, "dream").await;
                assert_eq!((&job["state"], &job["detail"]), (&ended["status"], &ended["text"]));
            }
            goes_on(&client).await;
            client.hang_up().await;
        }
    }
    let count = told.len();
    told.sort();
    told.dedup();
    eprintln!("{count} dreams failed: {told:#?}");
    let put_back = |words: &String| words.contains("could not be finished, and nothing was changed");
    assert!(count > 8 && told.iter().any(put_back), "{told:#?}");
    night.model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_takes_nothing_any_more_leaves_whole_files_and_the_next_server_dreams() {
    let night = Night::new().await;
    let new = undisturbed(&night).await;
    let mut failed = 0;
    for (error, call) in [("ENOSPC", "openat"), ("ENOSPC", "fsync"), ("EROFS", "renameat")] {
        for number in [3, 5, 8] {
            let before = night.reset();
            let client = failing(&night, call, &format!("error={error}:when={number}+")).await;
            if start(&client).await["dreamId"].is_string() {
                let ended = end(&client).await.expect("the server stays");
                failed += usize::from(ended["status"] == "failed");
            }
            goes_on(&client).await;
            client.hang_up().await;
            night.assert_whole(&new);
            let client = night.server().await;
            let seen = status(&client).await;
            assert_eq!(seen["state"], "idle", "{call} {number}: {seen}");
            assert!(
                seen["lastConsolidatedAt"] == before || night.memories() == new,
                "{call} {number}: {seen}"
            );
            dream(&client).await;
            client.shutdown().await;
            assert_eq!(night.memories(), new, "{call} {number}");
        }
    }
    assert!(failed > 2, "{failed}");
    night.model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_fails_an_extraction_alone() {
    let night = Night::new().await;
    let memory = night.memory();
    let mut failed = 0;
    for (error, call, number) in
        [("ENOSPC", "renameat", 1), ("ENOSPC", "renameat", 2), ("ENOSPC", "fsync", 2), ("EROFS", "openat", 4)]
    {
        fs::remove_dir_all(&memory).unwrap();
        fs::create_dir_all(&memory).unwrap();
        // Nobody dreams by itself: the last time was just now.
        fs::write(memory.join(".consolidate-lock"), "1").unwrap();
        let client = failing(&night, call, &format!("error={error}:when={number}")).await;
        client.ignore("notice");
        let session = client.new_session().await;
        let write = |name: &str, text: &str| {
            ("Write", json!({ "file_path": memory.join(name).to_str().unwrap(), "content": text }))
        };
        night.model.reply(Reply::text("I see"));
        let calls = [
            write("deploys.md", &topic("Deploys", "Nothing goes out on a Friday.")),
            write("MEMORY.md", "- [Deploys](deploys.md) — never on a Friday\n"),
        ];
        night.model.reply_to("extraction", Reply::tools(calls));
        assert_eq!(client.turn(&session, "we never deploy on a Friday").await.stop_reason(), "endTurn");
        let job = ended_job(&client, "extraction").await;
        let found = memories_in(&memory);
        if job["state"] == "failed" {
            failed += 1;
            assert!(job["detail"].as_str().is_some_and(|words| !words.is_empty()), "{job}");
            assert_eq!(found, Memories::new(), "{call} {number}: {job}");
        } else {
            assert_eq!(found.len(), 2, "{call} {number}: {job}");
        }
        goes_on(&client).await;
        client.hang_up().await;
    }
    assert!(failed > 1, "{failed}");
    night.model.finish();
}

/// What a dream makes of the memories.
async fn undisturbed(night: &Night) -> Memories {
    let client = night.server().await;
    dream(&client).await;
    client.shutdown().await;
    night.memories()
}

/// A session is served as ever.
async fn goes_on(client: &testkit::lsp_client::LspClient) {
    client.ignore("notice");
    let session = client.new_session().await;
    assert_eq!(client.turn(&session, "are you there?").await.stop_reason(), "endTurn");
}

/// A server for which this call fails, where it concerns the memory directory itself.
async fn failing(night: &Night, call: &str, fault: &str) -> testkit::lsp_client::LspClient {
    let (trace, memory) = (night.fixture.path("~/trace"), night.memory());
    let inject = format!("inject={call}:{fault}");
    let only = format!("trace={call}");
    let wrapper = [
        STRACE,
        "-f",
        "-qq",
        "-o",
        trace.to_str().unwrap(),
        "-P",
        memory.to_str().unwrap(),
        "-e",
        &only,
        "-e",
        &inject,
    ];
    night.server_in(&wrapper, &night.fixture.workspace).await
}
