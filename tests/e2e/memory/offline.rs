//! The embedded model remembers, recalls, tells and forgets, on a machine where nothing is configured.

use serde_json::json;
use testkit::lsp_client::Answer;

use super::{FRIDAY, offline, topic};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_it_was_told_is_kept_recalled_and_taken_back() {
    let harness = offline("", &[]).await;
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "remember that we deploy on Fridays only").await;
    assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
    assert_eq!(harness.client.asked("reverie/permission/ask").len(), 0);
    let saved = harness.memory_event("saved").await;
    assert_eq!((&saved["by"], &saved["turnId"]), (&json!("model"), &json!(turn.id)));
    let file = &saved["files"][0];
    assert_eq!(file["reason"], "you asked to remember it: “remember that we deploy on Fridays only”");
    assert_eq!((&file["name"], &file["type"]), (&json!("We deploy on Fridays only"), &json!("project")));
    let path = file["path"].as_str().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let head = "---\nname: \"We deploy on Fridays only\"\ndescription: \"We deploy on Fridays only\"\ntype: project\n";
    assert!(text.starts_with(head) && text.contains("\n---\n\nWe deploy on Fridays only\n"), "{text}");
    assert!(text.contains("**Why:**") && text.contains("**How to apply:**"), "{text}");
    let name = path.rsplit('/').next().unwrap();
    let index = std::fs::read_to_string(harness.memory("MEMORY.md")).unwrap();
    assert_eq!(index, format!("- [We deploy on Fridays only]({name}) — We deploy on Fridays only\n"));

    let next = harness.client.new_session().await;
    let turn = harness.client.turn(&next, "when can I ship?").await;
    let recalled = harness.memory_event("recalled").await;
    assert_eq!((&recalled["by"], &recalled["sessionId"]), (&json!("recall"), &json!(next)));
    assert!(
        recalled["files"][0]["reason"].as_str().unwrap().starts_with("it fits the message by"),
        "{recalled}"
    );
    let answer = turn.text();
    assert!(answer.contains("We deploy on Fridays only") && answer.contains(path), "{answer}");
    assert_eq!(turn.count("toolStart"), 0, "what came to mind is answer enough: {}", turn.events());

    let undone = harness.ask("undo", json!({ "changeId": file["changeId"] })).await;
    assert_eq!(undone["undone"].as_array().unwrap().len(), 2, "{undone}");
    harness.memory_event("undone").await;
    assert!(!harness.memory(name).exists() && !harness.memory("MEMORY.md").exists());
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgetting_removes_the_file_and_its_line_and_undo_brings_both_back() {
    let index = "- [Deploy days](deploy-days.md) — Fridays only\n- [Coffee](coffee.md) — Mondays\n";
    let coffee = topic("The coffee machine is descaled on Mondays", "On Mondays.");
    let memories = [("MEMORY.md", index), ("deploy-days.md", FRIDAY), ("coffee.md", &coffee)];
    let harness = offline("", &memories).await;
    harness.client.on_request("reverie/permission/ask", |_| Answer::allow_once());
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "forget that we deploy on Fridays").await;
    let asked = harness.client.asked("reverie/permission/ask");
    assert_eq!(asked.len(), 1, "{}", turn.events());
    assert_eq!(asked[0]["tool"], "Bash");
    assert!(turn.text().contains("Forgotten"), "{}", turn.text());
    assert!(!harness.memory("deploy-days.md").exists());
    let read = |name: &str| std::fs::read_to_string(harness.memory(name)).unwrap();
    assert_eq!(read("MEMORY.md"), "- [Coffee](coffee.md) — Mondays\n");
    assert_eq!(read("coffee.md"), coffee);

    let deleted = harness.memory_event("deleted").await;
    assert_eq!((&deleted["by"], &deleted["sessionId"]), (&json!("model"), &json!(session)));
    assert_eq!(deleted["files"][0]["name"], "Deploy days");
    let change = &deleted["files"][0]["changeId"];
    let undone = harness.ask("undo", json!({ "changeId": change })).await;
    assert_eq!(undone["undone"].as_array().unwrap().len(), 2, "{undone}");
    harness.memory_event("undone").await;
    assert_eq!((read("deploy-days.md").as_str(), read("MEMORY.md").as_str()), (FRIDAY, index));
    harness.client.ignore("reverie/memory/event");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_tells_what_it_remembers_and_cites_where() {
    let coffee = topic("The coffee machine is descaled on Mondays", "On Mondays.");
    let harness = offline("", &[("deploy-days.md", FRIDAY), ("sub/coffee.md", &coffee)]).await;
    harness.client.ignore("reverie/memory/event");
    let session = harness.client.new_session().await;
    let told = harness.client.turn(&session, "what do you remember?").await.text();
    assert!(told.contains("I remember 2 things"), "{told}");
    assert!(told.contains("We deploy on Fridays only") && told.contains("sub/coffee.md"), "{told}");

    let turn = harness.client.turn(&session, "on which days do we deploy?").await;
    assert!(turn.text().contains(&harness.memory_text("deploy-days.md")), "{}", turn.text());
    // Being cited is being of use.
    let counted = async {
        loop {
            let listed = harness.ask("list", json!({})).await;
            let memories = listed["memories"].as_array().unwrap().clone();
            let memory = memories.into_iter().find(|memory| memory["name"] == "Deploy days").unwrap();
            if memory["recalled"] == 1 && memory["cited"] == 1 {
                break;
            }
        }
    };
    testkit::within(counted, "the citation to be counted").await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_to_forget_is_said_and_nothing_is_touched() {
    let harness = offline("", &[("deploy-days.md", FRIDAY)]).await;
    harness.client.ignore("reverie/memory/event");
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "forget about the unicorn stables").await;
    assert!(turn.text().contains("nothing to forget"), "{}", turn.text());
    assert_eq!(harness.client.asked("reverie/permission/ask").len(), 0);
    assert!(harness.memory("deploy-days.md").exists());
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_removal_is_told_and_leaves_the_file() {
    let harness = offline("", &[("deploy-days.md", FRIDAY)]).await;
    harness.client.ignore("reverie/memory/event");
    harness.client.on_request("reverie/permission/ask", |_| Answer::deny("keep it"));
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "forget that we deploy on Fridays").await;
    assert!(turn.text().contains("could not remove"), "{}", turn.text());
    assert!(harness.memory("deploy-days.md").exists());
    harness.finish().await;
}
