//! A dream that is killed, wherever it is: no memory is torn or lost, and the next dream begins at once.

use std::{collections::BTreeMap, fs};

use testkit::{lsp_client::LspClient, model_server::Gate};

use super::{Memories, Night, STRACE, assert_sound, dream, end, start, status};

/// Every change of the disk that a commit makes goes through one of these.
const CALLS: [&str; 5] = ["openat", "write", "fsync", "renameat", "unlinkat"];
/// Of all calls those that have to do with memories, their history and the lock.
const WATCHED: [&str; 9] = [
    "",
    "MEMORY.md",
    ".consolidate-lock",
    ".consolidate-lock.tmp",
    ".history",
    ".history/changes.jsonl",
    ".history/contents",
    ".history/lock",
    ".history/dream-lock",
];
/// Of all calls of a name so many are struck, evenly.
const KILLS_PER_CALL: usize = 7;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_killed_in_any_round_changes_nothing_and_holds_nobody_up() {
    let night = Night::new().await;
    let new = undisturbed(&night).await;
    for round in 0..3 {
        let before = night.reset();
        let gate: Gate = night.hold_back(round);
        let client = night.server().await;
        assert!(start(&client).await["dreamId"].is_string());
        gate.reached().await;
        client.kill().await;
        assert_eq!(night.memories(), night.old, "round {round}");
        next_one_dreams(&night, &new, &before).await;
    }
    // Before its first request: the answer to `start` is not waited for.
    let before = night.reset();
    let client = night.server().await;
    let (_, answer) = client.start_request("reverie/dream/start", serde_json::json!({}));
    while !fs::read_to_string(night.lock()).is_ok_and(|text| text.contains("token=")) {
        tokio::task::yield_now().await;
    }
    client.kill().await;
    drop(answer);
    assert_eq!(night.memories(), night.old);
    next_one_dreams(&night, &new, &before).await;
    night.model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_killed_at_any_call_of_its_commit_leaves_old_files_or_new_ones() {
    let night = Night::new().await;
    let new = undisturbed(&night).await;
    let trace = night.fixture.path("~/trace");
    night.reset();
    let client = traced(&night, None).await;
    dream(&client).await;
    client.hang_up().await;
    let calls = calls_in(&fs::read_to_string(&trace).unwrap(), night.memory().to_str().unwrap());

    let (mut struck, mut halfway) = (0, 0);
    eprintln!("{calls:?}");
    for (call, count) in calls {
        for number in (1..=count).step_by(count.div_ceil(KILLS_PER_CALL)) {
            let before = night.reset();
            let client = traced(&night, Some((&call, &format!("signal=SIGKILL:when={number}")))).await;
            let began = jiff::Timestamp::now();
            let (_, started) = client.start_request("reverie/dream/start", serde_json::json!({}));
            let is_done = end(&client).await.is_some();
            drop(started);
            match is_done {
                true => drop(client.hang_up().await),
                false => client.abandon(),
            }
            night.assert_whole(&new);
            let found = night.memories();
            struck += usize::from(!is_done);
            halfway += usize::from(found != night.old && found != new);
            // The time moves with the last step only, and only when all is done.
            let client = night.server().await;
            let seen = status(&client).await;
            assert_eq!(seen["state"], "idle", "{call} {number}: {seen}");
            let last = seen["lastConsolidatedAt"].as_str().unwrap();
            let has_moved = last != before;
            assert!(!has_moved || (found == new && last.parse::<jiff::Timestamp>().unwrap() >= began));
            assert_sound(&client).await;
            dream(&client).await;
            client.shutdown().await;
            assert_eq!(night.memories(), new, "{call} {number}");
        }
    }
    eprintln!("struck {struck} times, {halfway} of them half-way through the files");
    assert!(struck > 15 && halfway > 3, "badly chosen moments: {struck}, {halfway}");
    night.model.finish();
}

/// What a dream makes of the memories if nobody disturbs it.
async fn undisturbed(night: &Night) -> Memories {
    let client = night.server().await;
    assert_eq!(assert_sound(&client).await, 0);
    dream(&client).await;
    assert_eq!(assert_sound(&client).await, 0);
    client.shutdown().await;
    let new = night.memories();
    assert!(!new.contains_key("indent.md") && new.contains_key("reviews.md"), "{new:?}");
    new
}

/// A new server sees nobody dreaming and the time of the last good dream, and dreams.
async fn next_one_dreams(night: &Night, new: &Memories, before: &str) {
    let client = night.server().await;
    let seen = status(&client).await;
    assert_eq!((seen["state"].as_str(), seen["lastConsolidatedAt"].as_str()), (Some("idle"), Some(before)));
    assert_sound(&client).await;
    dream(&client).await;
    assert_ne!(status(&client).await["lastConsolidatedAt"], before);
    client.shutdown().await;
    assert_eq!(night.memories(), *new);
}

/// A server of which strace sees, and may disturb, what it does to files.
async fn traced(night: &Night, fault: Option<(&str, &str)>) -> LspClient {
    let trace = night.fixture.path("~/trace");
    let names = fault.map_or_else(|| CALLS.join(","), |(call, _)| call.to_owned());
    let mut options = vec!["-e".to_owned(), format!("trace={names}")];
    options.extend(
        fault.into_iter().flat_map(|(call, fault)| ["-e".to_owned(), format!("inject={call}:{fault}")]),
    );
    let paths =
        WATCHED.map(|path| night.memory().join(path).to_str().unwrap().trim_end_matches('/').to_owned());
    let mut wrapper = vec![STRACE, "-f", "-qq", "-y", "-o", trace.to_str().unwrap()];
    wrapper.extend(paths.iter().flat_map(|path| ["-P", path]));
    wrapper.extend(options.iter().map(String::as_str));
    night.server_in(&wrapper, &night.fixture.workspace).await
}

/// How often the thread that makes the changes makes each of these calls from its first file on. Calls are counted by
/// thread and by name; which of its threads a server takes is chance, and so is what that one did before.
fn calls_in(trace: &str, folder: &str) -> BTreeMap<String, usize> {
    let is_first = |line: &&str| line.contains(&format!("<{folder}>, \".reverie-"));
    let first = trace.lines().find(is_first).expect("a memory is written");
    let (thread, _) = first.split_once(' ').unwrap();
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let own = trace.lines().skip_while(|line| !is_first(line)).filter(|line| line.starts_with(thread));
    for line in own.filter(|line| line.contains(folder)) {
        if let Some((call, _)) = line[thread.len()..].trim_start().split_once('(') {
            *found.entry(call.to_owned()).or_default() += 1;
        }
    }
    found
}
