//! "Every limit has a test at the limit and one beyond", seen in what is sent. The local ranker selects alone here.

use serde_json::{Value, json};
use testkit::model_server::Reply;

use super::{FRIDAY, LOCAL, age, recalled, recalled_names, remembering, topic};

const LOG: &str = "what does the harbour log say?";

/// A memory of so many lines, or so many bytes, frontmatter included.
fn sized(word: &str, lines: usize, bytes: usize) -> String {
    let head = topic(&format!("Everything about {word}"), "");
    let mut text = head.trim_end().to_owned() + "\n";
    let have = text.lines().count();
    for _ in have..lines.saturating_sub(1) {
        text.push_str("-\n");
    }
    let rest = bytes.saturating_sub(text.len() + 1);
    text.push_str(&"x".repeat(rest.max(1)));
    text.push('\n');
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_shown_up_to_200_lines_and_4096_bytes() {
    let memories = [
        ("zebras.md", sized("zebras", 200, 0), None),
        ("giraffes.md", sized("giraffes", 201, 0), Some("[200 of 201 lines are shown; the rest is in ")),
        ("walruses.md", sized("walruses", 0, 4_096), None),
        ("penguins.md", sized("penguins", 0, 4_097), Some("lines are shown; the rest is in ")),
    ];
    let files: Vec<(&str, &str)> = memories.iter().map(|(path, text, _)| (*path, text.as_str())).collect();
    let harness = remembering(LOCAL, &files).await;
    let session = harness.client.new_session().await;
    for (path, text, note) in &memories {
        let word = path.trim_end_matches(".md");
        let request = harness.exchange(&session, &format!("tell me everything about {word}")).await;
        let shown = recalled(&request.body).pop().unwrap();
        let title = format!("<system-reminder>\nMemory (saved today): {}:\n\n", harness.memory_text(path));
        let body = shown.strip_prefix(&title).unwrap().strip_suffix("\n</system-reminder>").unwrap();
        match note {
            None => assert_eq!(body, text.trim_end(), "{path}"),
            Some(note) => {
                assert!(body.contains(note) && body.ends_with("use Read]"), "{path}: {body}");
                let (kept, _) = body.rsplit_once("\n\n[").unwrap();
                assert!(text.starts_with(kept) && kept.len() <= 4_096, "{path}");
                assert!(kept.lines().count() <= 200);
            }
        }
        harness.memory_event("recalled").await;
    }
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_are_picked_and_a_session_stops_after_60000_bytes() {
    let texts: Vec<(String, String)> = (0..30)
        .map(|number| {
            let filler = format!("The harbour log has an entry {number}. ").repeat(100);
            let body: String = filler.chars().take(3_500).collect();
            (format!("harbour-{number:02}.md"), topic("The harbour log", &body))
        })
        .collect();
    let memories: Vec<(&str, &str)> =
        texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let harness = remembering(LOCAL, &memories).await;
    let session = harness.client.new_session().await;
    let mut counts = Vec::new();
    let mut bytes = 0;
    let mut last_turn = String::new();
    loop {
        harness.model.reply(Reply::text("noted"));
        let turn = harness.client.turn(&session, LOG).await;
        let shown = recalled(&harness.model.main_requests().pop().unwrap().body);
        let new = shown.len() - counts.iter().sum::<usize>();
        if new == 0 {
            break;
        }
        assert!(new <= 5, "{new} in one turn");
        let event = harness.memory_event("recalled").await;
        assert_eq!(event["files"].as_array().unwrap().len(), new);
        // All but the last were within the budget.
        bytes = shown.iter().map(String::len).sum();
        assert!(bytes - shown.last().unwrap().len() < 60_000);
        counts.push(new);
        last_turn = turn.id;
    }
    assert!(bytes >= 60_000, "it stopped at {bytes}: {counts:?}");
    assert_eq!(counts[..3], [5, 5, 5]);
    let explained = harness.ask("explain", json!({ "sessionId": session, "turnId": last_turn })).await;
    let decisions: Vec<&str> = explained["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|candidate| candidate["decision"].as_str())
        .collect();
    let count = |wanted: &str| decisions.iter().filter(|decision| **decision == wanted).count();
    assert_eq!(count("recalled"), *counts.last().unwrap(), "{explained}");
    assert_eq!(count("overBudget"), 5 - counts.last().unwrap(), "{explained}");
    assert_eq!(count("filtered"), counts.iter().sum::<usize>() - counts.last().unwrap());
    // Another session has a budget of its own.
    let other = harness.client.new_session().await;
    let request = harness.exchange(&other, LOG).await;
    assert_eq!(recalled(&request.body).len(), 5);
    harness.memory_event("recalled").await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_word_recalls_nothing_and_two_do() {
    let japanese = topic("デプロイ日は金曜日", "デプロイ日は金曜日です。");
    let harness = remembering(LOCAL, &[("deploy-days.md", FRIDAY), ("ja.md", &japanese)]).await;
    let session = harness.client.new_session().await;
    for prompt in ["deploy", "deploy?", "  deploy\n!", "曜日"] {
        let request = harness.exchange(&session, prompt).await;
        assert_eq!(recalled_names(&harness, &request.body), Vec::<String>::new(), "{prompt}");
    }
    let request = harness.exchange(&session, "deploy days").await;
    assert_eq!(recalled_names(&harness, &request.body), ["deploy-days.md"]);
    harness.memory_event("recalled").await;
    let request = harness.exchange(&session, "デプロイ日は").await;
    assert_eq!(recalled_names(&harness, &request.body), ["deploy-days.md", "ja.md"]);
    harness.memory_event("recalled").await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_shown_or_read_is_not_shown_again_until_it_is_rewound() {
    let coffee =
        topic("The coffee machine is descaled on Mondays", "The coffee machine is descaled on Mondays.");
    let harness = remembering(LOCAL, &[("deploy-days.md", FRIDAY), ("coffee.md", &coffee)]).await;
    let session = harness.client.new_session().await;
    let first = harness.exchange(&session, "on which days do we deploy?").await;
    assert_eq!(recalled_names(&harness, &first.body), ["deploy-days.md"]);
    harness.memory_event("recalled").await;
    let second = harness.exchange(&session, "and on which days do we not deploy?").await;
    assert_eq!(recalled_names(&harness, &second.body), ["deploy-days.md"], "once is enough");

    harness.model.reply(Reply::tool("Read", json!({ "file_path": harness.memory_text("coffee.md") })));
    harness.exchange(&session, "hello").await;
    let third = harness.exchange(&session, "when is the coffee machine descaled?").await;
    assert_eq!(recalled_names(&harness, &third.body), ["deploy-days.md"], "the model has read it");
    let explained = harness.ask("explain", json!({ "sessionId": session })).await;
    for candidate in explained["candidates"].as_array().unwrap() {
        assert_eq!(candidate["decision"], "filtered", "{explained}");
    }

    let shown = harness.resume(&session).await;
    let messages = shown["messages"].as_array().unwrap();
    let is_first = |message: &&Value| message["text"] == "on which days do we deploy?";
    let uuid = messages.iter().find(is_first).unwrap()["uuid"].clone();
    let params = json!({ "sessionId": session, "messageUuid": uuid });
    harness.client.request("reverie/session/rewind", params).await.unwrap();
    let again = harness.exchange(&session, "so, on which days do we deploy?").await;
    assert_eq!(recalled_names(&harness, &again.body), ["deploy-days.md"]);
    harness.memory_event("recalled").await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn indexes_histories_logs_and_copies_are_no_memories() {
    let harness = remembering(
        LOCAL,
        &[
            ("MEMORY.md", "- [Deploy days](deploy-days.md) — we deploy on Fridays only\n"),
            ("deploy-days.md", FRIDAY),
            ("logs/2026/03/2026-03-10.md", FRIDAY),
            (".history/deploy.md", FRIDAY),
            (".git/deploy.md", FRIDAY),
            ("deploy-days (conflicted copy 2026-01-01).md", FRIDAY),
            ("deploy-days.conflict.md", FRIDAY),
            ("deploy-days.txt", FRIDAY),
            ("team/MEMORY.md", FRIDAY),
        ],
    )
    .await;
    let session = harness.client.new_session().await;
    let request = harness.exchange(&session, "on which days do we deploy?").await;
    assert_eq!(recalled_names(&harness, &request.body), ["deploy-days.md"]);
    harness.memory_event("recalled").await;
    let listed = harness.ask("list", json!({})).await;
    assert_eq!(listed["memories"].as_array().unwrap().len(), 1, "{listed}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beyond_200_files_the_ranker_finds_what_is_oldest() {
    for others in [199, 260] {
        let texts: Vec<(String, String)> = (0..others)
            .map(|number| {
                (format!("note-{number}.md"), topic(&format!("Note {number}"), "Nothing in particular."))
            })
            .collect();
        let mut memories: Vec<(&str, &str)> =
            texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        memories.push(("deploy-days.md", FRIDAY));
        let harness = remembering(LOCAL, &memories).await;
        age(&harness.memory("deploy-days.md"), 47);
        let session = harness.client.new_session().await;
        let request = harness.exchange(&session, "on which days do we deploy?").await;
        let shown = recalled(&request.body);
        assert_eq!(shown.len(), 1, "{others}");
        assert!(shown[0].starts_with("<system-reminder>\nThis memory is 47 days old"), "{}", shown[0]);
        let title = format!("\n\nMemory: {}:\n\n", harness.memory_text("deploy-days.md"));
        assert!(shown[0].contains(&title), "{}", shown[0]);
        harness.memory_event("recalled").await;
        harness.finish().await;
    }
}
