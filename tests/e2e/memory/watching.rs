//! Changes on disk by whomever are seen within a second and are the user's; what the model does is the model's alone.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{lsp_client::Answer, model_server::Reply};

use super::{FRIDAY, LOCAL, put, recalled_names, remembering, topic};

/// The limit on a busy machine; an idle one takes a fifth of a second.
const SOON: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_do_to_the_files_is_seen_soon_and_recorded_as_the_users() {
    let harness = remembering(LOCAL, &[]).await;
    let session = harness.client.new_session().await;
    harness.greet(&session).await;
    let path = harness.memory_text("deploy-days.md");

    let began = Instant::now();
    put(&harness.fixture, "deploy-days.md", FRIDAY);
    let saved = harness.memory_event("saved").await;
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!((&saved["by"], &saved["sessionId"]), (&json!("user"), &Value::Null));
    let file = &saved["files"][0];
    assert_eq!([&file["path"], &file["name"]], [&json!(path), &json!("Deploy days")]);
    assert_eq!(file["reason"], "changed on disk");
    assert!(file["diff"].as_str().unwrap().contains("+We deploy on Fridays only."));

    // It is known at once.
    let request = harness.exchange(&session, "on which days do we deploy?").await;
    assert_eq!(recalled_names(&harness, &request.body), ["deploy-days.md"]);
    harness.memory_event("recalled").await;

    put(&harness.fixture, "deploy-days.md", &FRIDAY.replace("Fridays", "Mondays"));
    let updated = harness.memory_event("updated").await;
    assert_eq!(updated["by"], "user");
    assert!(
        updated["files"][0]["diff"].as_str().unwrap().contains("-We deploy on Fridays only."),
        "{updated}"
    );

    std::fs::remove_file(&path).unwrap();
    let deleted = harness.memory_event("deleted").await;
    assert_eq!((&deleted["by"], &deleted["files"][0]["name"]), (&json!("user"), &json!("Deploy days")));

    // A folder full at once, and one that is moved.
    for name in ["one.md", "two.md", "sub/three.md"] {
        put(&harness.fixture, &format!("new/{name}"), &topic(name, name));
    }
    let mut seen = 0;
    while seen < 3 {
        seen += harness.memory_event("saved").await["files"].as_array().unwrap().len();
    }
    put(&harness.fixture, "new/sub/four.md", &topic("four", "four"));
    assert_eq!(
        harness.memory_event("saved").await["files"][0]["name"],
        "four",
        "new folders are watched too"
    );

    let history = harness.ask("history", json!({ "path": path })).await;
    let changes = history["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 3, "{history}");
    assert!(changes.iter().all(|change| change["by"] == "user" && change["why"] == "changed on disk"));
    // What was deleted comes back, byte for byte.
    harness.ask("undo", json!({ "changeId": changes[0]["id"] })).await;
    harness.memory_event("undone").await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), FRIDAY.replace("Fridays", "Mondays"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_model_writes_is_told_once_and_as_its_own() {
    let harness = remembering(LOCAL, &[]).await;
    harness.client.on_request("reverie/permission/ask", |_| Answer::allow_once());
    let session = harness.client.new_session().await;
    harness.greet(&session).await;
    let path = harness.memory_text("deploy-days.md");
    for (name, calls) in [
        ("saved", vec![Reply::tool("Write", json!({ "file_path": path, "content": FRIDAY }))]),
        (
            "updated",
            vec![Reply::tool(
                "Edit",
                json!({ "file_path": path, "old_string": "releases", "new_string": "all releases" }),
            )],
        ),
        ("deleted", vec![Reply::tool("Bash", json!({ "command": format!("rm '{path}'") }))]),
    ] {
        for call in calls {
            harness.model.reply(call);
        }
        harness.model.reply(Reply::text("done"));
        let turn = harness.client.turn(&session, "go").await;
        assert_eq!(turn.stop_reason(), "endTurn");
        assert!(turn.of_kind("toolEnd").iter().all(|end| end["ok"] == true), "{}", turn.events());
        let event = harness.memory_event(name).await;
        assert_eq!((&event["by"], &event["turnId"]), (&json!("model"), &json!(turn.id)), "{event}");
    }
    // The watcher has looked since: it has seen this.
    put(&harness.fixture, "mine.md", &topic("Mine", "mine"));
    assert_eq!(harness.memory_event("saved").await["files"][0]["name"], "Mine");
    let events: Vec<Value> = harness
        .client
        .log()
        .into_iter()
        .filter(|seen| seen.method == "reverie/memory/event")
        .map(|seen| json!([seen.params["kind"], seen.params["by"]]))
        .collect();
    let expected = json!([["saved", "model"], ["updated", "model"], ["deleted", "model"], ["saved", "user"]]);
    assert_eq!(json!(events), expected);
    let history = harness.ask("history", json!({ "path": path })).await;
    let by: Vec<&Value> = history["changes"].as_array().unwrap().iter().map(|change| &change["by"]).collect();
    assert_eq!(by, ["model"; 3]);
    assert!(history["changes"][0]["why"].as_str().unwrap().starts_with("the command `rm '"), "{history}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happened_while_no_server_ran_is_told_by_the_next() {
    let harness = remembering(LOCAL, &[("deploy-days.md", FRIDAY)]).await;
    let session = harness.client.new_session().await;
    harness.greet(&session).await;
    // A first look has nothing to tell: all of it was there before.
    put(&harness.fixture, "coffee.md", &topic("Coffee", "On Mondays."));
    harness.memory_event("saved").await;
    let harness = {
        let before = harness.memory("coffee.md");
        let Ok(()) = std::fs::remove_file(before) else { panic!("it is there") };
        harness.memory_event("deleted").await;
        let crate::harness::Harness { client, model, fixture } = harness;
        client.shutdown().await;
        put(&fixture, "deploy-days.md", &FRIDAY.replace("Fridays", "Mondays"));
        put(&fixture, "tea.md", &topic("Tea", "On Tuesdays."));
        crate::harness::Harness::start_with_fixture(fixture, model).await
    };
    harness.resume(&session).await;
    harness.exchange(&session, "hello").await;
    let saved = harness.memory_event("saved").await;
    assert_eq!((&saved["by"], &saved["files"][0]["name"]), (&json!("user"), &json!("Tea")));
    assert_eq!(harness.memory_event("updated").await["files"][0]["name"], "Deploy days");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_command_keeps_nobody_from_remembering() {
    let harness = remembering(LOCAL, &[]).await;
    harness.client.on_request("reverie/permission/ask", |_| Answer::allow_once());
    let session = harness.client.new_session().await;
    harness.greet(&session).await;
    let go = harness.path("go");
    let command = format!("echo started; until [ -e '{}' ]; do sleep 0.05; done", go.display());
    harness.model.reply(Reply::tool("Bash", json!({ "command": command })));
    harness.model.reply(Reply::text("done"));
    let turn = harness.client.prompt(&session, "run it").await;
    harness.client.wait_for("the command", |seen| seen.kind() == "toolProgress").await;
    // The first wakes the watcher, which must not make the others wait for the command.
    for word in ["apples", "bears", "cedars"] {
        let note = harness.client.prompt(&session, &format!("# the house has {word}")).await;
        let end = |seen: &testkit::lsp_client::Notification| {
            seen.kind() == "turnEnd" && seen.params["turnId"] == note
        };
        harness.client.wait_for("the note", end).await;
        harness.memory_event("saved").await;
        // Long enough for the watcher to have heard of it.
        let heard = Instant::now();
        while heard.elapsed() < Duration::from_millis(250) {
            tokio::task::yield_now().await;
        }
    }
    let path = harness.memory_text("tea.md");
    harness.ask("write", json!({ "path": path, "content": topic("Tea", "On Tuesdays.") })).await;
    harness.memory_event("saved").await;
    std::fs::write(go, "").unwrap();
    harness.client.turn_end(&session, &turn).await;
    harness.client.ignore("textDelta");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rewind_takes_back_what_was_saved_and_the_history_can_bring_it_back() {
    let harness = remembering(LOCAL, &[]).await;
    let session = harness.client.new_session().await;
    harness.greet(&session).await;
    let (file, index) = (harness.memory_text("deploy-days.md"), harness.memory_text("MEMORY.md"));
    let line = "- [Deploy days](deploy-days.md) — Fridays only\n";
    harness.model.reply(Reply::tool("Write", json!({ "file_path": file, "content": FRIDAY })));
    harness.model.reply(Reply::tool("Write", json!({ "file_path": index, "content": line })));
    harness.exchange(&session, "remember that we deploy on Fridays only").await;
    harness.memory_event("saved").await;
    let shown = harness.resume(&session).await;
    let is_prompt = |message: &&Value| message["text"] == "remember that we deploy on Fridays only";
    let uuid = shown["messages"].as_array().unwrap().iter().find(is_prompt).unwrap()["uuid"].clone();
    let params = json!({ "sessionId": session, "messageUuid": uuid });
    let rewound = harness.client.request("reverie/session/rewind", params).await.unwrap();
    assert_eq!(rewound["restored"], json!([index, file]), "{rewound}");
    assert!(!harness.memory("deploy-days.md").exists() && !harness.memory("MEMORY.md").exists());
    assert_eq!(harness.memory_event("deleted").await["by"], "user");
    // Whoever looks in between sees one go after the other, and takes them for two things that the user did.
    for name in ["deploy-days.md", "MEMORY.md"] {
        let deletion = async {
            loop {
                let history = harness.ask("history", json!({ "path": name, "limit": 1 })).await;
                let last = history["changes"][0].clone();
                if last["by"] == "user" {
                    break last["id"].clone();
                }
            }
        };
        let change = testkit::within(deletion, "the deletion is in the history").await;
        if !harness.memory(name).exists() {
            harness.ask("undo", json!({ "changeId": change })).await;
        }
    }
    harness.memory_event("undone").await;
    assert_eq!(std::fs::read_to_string(file).unwrap(), FRIDAY);
    assert_eq!(std::fs::read_to_string(index).unwrap(), line);
    harness.finish().await;
}
