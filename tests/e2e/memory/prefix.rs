//! "The prompt prefix is byte-identical over a session in which memories are recalled, saved by the model, edited by the
//! user and changed on disk."

use serde_json::json;
use testkit::{lsp_client::Turn, model_server::Reply};

use super::{FRIDAY, LOCAL, age, recalled, remembering, topic};
use crate::harness::{Harness, assert_extends};

async fn said(harness: &Harness, session: &str, prompt: &str) {
    harness.model.reply(Reply::text("so be it"));
    no_break(&harness.client.turn(session, prompt).await);
}

fn no_break(turn: &Turn) {
    assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
    assert_eq!(turn.count("context"), 0, "no break was announced: {}", turn.events());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_happens_to_memories_changes_what_was_sent() {
    let coffee = topic("The coffee machine is descaled on Mondays", "On Mondays.");
    let index = "- [Deploy days](deploy-days.md) — Fridays only\n";
    let memories = [("MEMORY.md", index), ("deploy-days.md", FRIDAY), ("coffee.md", &coffee)];
    let harness = remembering(LOCAL, &memories).await;
    harness.client.ignore("reverie/memory/event");
    age(&harness.memory("deploy-days.md"), 1);
    let session = harness.client.new_session().await;
    said(&harness, &session, "hello there").await;
    said(&harness, &session, "on which days do we deploy?").await;

    // Saved by the model: the file and its line.
    let (file, list) = (harness.memory_text("badges.md"), harness.memory_text("MEMORY.md"));
    let badges = topic("Badges are handed out at the reception", "At the reception.");
    harness.model.reply(Reply::tool("Write", json!({ "file_path": file, "content": badges })));
    harness.model.reply(Reply::tool("Read", json!({ "file_path": list })));
    let longer = format!("{index}- [Badges](badges.md) — at the reception\n");
    harness
        .model
        .reply(Reply::tool("Edit", json!({ "file_path": list, "old_string": index, "new_string": longer })));
    harness.model.reply(Reply::text("kept"));
    no_break(&harness.client.turn(&session, "remember that badges are handed out at the reception").await);

    // Edited by the user, also what was shown; noted by the user; changed and removed on disk; undone.
    let newer = FRIDAY.replace("Fridays", "Thursdays");
    harness.ask("write", json!({ "path": "deploy-days.md", "content": newer })).await;
    said(&harness, &session, "so, on which days do we deploy now?").await;
    no_break(&harness.client.turn(&session, "# standups are at ten").await);
    said(&harness, &session, "when are the standups?").await;
    std::fs::write(harness.memory("coffee.md"), topic("The coffee machine is gone", "Gone.")).unwrap();
    std::fs::write(harness.memory("MEMORY.md"), "- [Nothing](nothing.md) — nothing\n").unwrap();
    said(&harness, &session, "what about the coffee machine?").await;
    std::fs::remove_file(harness.memory("coffee.md")).unwrap();
    said(&harness, &session, "and is the coffee machine back?").await;
    let newest =
        harness.ask("history", json!({ "path": "deploy-days.md" })).await["changes"][0]["id"].clone();
    harness.ask("undo", json!({ "changeId": newest })).await;
    said(&harness, &session, "once more: on which days do we deploy?").await;
    harness.ask("lint", json!({})).await;
    harness.ask("explain", json!({ "sessionId": session })).await;

    // The world is a week older after a restart; what was said stays as it was said.
    age(&harness.memory("deploy-days.md"), 8);
    let harness = harness.restart(&session).await;
    harness.client.ignore("reverie/memory/event");
    said(&harness, &session, "we are back, on which days do we deploy?").await;

    let requests = harness.model.main_requests();
    assert_eq!(requests.len(), 12);
    for pair in requests.windows(2) {
        assert_extends(&pair[0].body, &pair[1].body);
    }
    let shown = recalled(&requests.last().unwrap().body);
    let of_deploys: Vec<&String> = shown.iter().filter(|text| text.contains("deploy-days.md")).collect();
    assert_eq!(of_deploys.len(), 1, "shown once, frozen: {shown:#?}");
    assert!(of_deploys[0].starts_with("<system-reminder>\nMemory (saved yesterday): "), "{}", of_deploys[0]);
    assert!(of_deploys[0].contains("Fridays") && !of_deploys[0].contains("Thursdays"));

    let usages = harness.model.usages();
    for pair in usages.windows(2) {
        let cached = pair[0].read + pair[0].written_5m + pair[0].written_1h;
        assert!(pair[1].read >= cached, "{usages:#?}");
    }
    let report = harness.client.request("reverie/context/report", json!({ "sessionId": session })).await;
    let report = report.unwrap();
    assert_eq!(report["ledger"], json!([]), "{report}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_sessions_in_one_folder_send_the_same_rules_whatever_is_remembered() {
    let harness = remembering(LOCAL, &[]).await;
    harness.client.ignore("reverie/memory/event");
    let one = harness.client.new_session().await;
    let first = harness.exchange(&one, "hello there").await;
    harness.ask("write", json!({ "path": "deploy-days.md", "content": FRIDAY })).await;
    let other = harness.client.new_session().await;
    let second = harness.exchange(&other, "on which days do we deploy?").await;
    assert_eq!(first.body["system"], second.body["system"]);
    assert_eq!(first.body["tools"], second.body["tools"]);
    harness.finish().await;
}
