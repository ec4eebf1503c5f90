//! "What Reverie knows before the user speaks, what it recalls when they do, and how the user sees, corrects and undoes it."
//!
//! This file holds what the others stand on and the one story that has it all: told, kept, recalled, taken back.

mod hostile;
mod interop;
mod limits;
mod methods;
mod notes;
mod offline;
mod prefix;
mod selecting;
mod switches;
mod watching;

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, Turn},
    model_server::{ModelServer, RecordedRequest, Reply},
};

use crate::harness::{Harness, trust};

/// Whoever asks needs no question about which memories fit.
pub const LOCAL: &str =
    "//- ~/.claude/settings.json\n{\"reverie\": {\"features\": {\"recallModel\": \"local\"}}}\n";

pub const FRIDAY: &str = "---\nname: Deploy days\ndescription: We deploy on Fridays only\ntype: project\n---\n\n\
                          We deploy on Fridays only.\n\n**Why:** the auditors are in on Fridays.\n\
                          **How to apply:** plan releases for a Friday.\n";

/// A memory as a model writes it.
pub fn topic(description: &str, body: &str) -> String {
    format!("---\nname: {description}\ndescription: {description}\ntype: project\n---\n\n{body}\n")
}

/// A server on a folder in which these things are remembered.
pub async fn remembering(files: &str, memories: &[(&str, &str)]) -> Harness {
    let fixture = Fixture::new(files);
    for (path, text) in memories {
        put(&fixture, path, text);
    }
    trust(&fixture);
    Harness::start_with_fixture(fixture, ModelServer::start().await).await
}

/// Likewise, with nobody to ask but the embedded model.
pub async fn offline(files: &str, memories: &[(&str, &str)]) -> Harness {
    let fixture = Fixture::new(files);
    for (path, text) in memories {
        put(&fixture, path, text);
    }
    trust(&fixture);
    let model = ModelServer::start().await;
    let mut environment = fixture.environment("");
    environment.retain(|name, _| !name.starts_with("ANTHROPIC"));
    let options = ClientOptions::new(&fixture.workspace);
    Harness::start_with(fixture, model, &environment, &options).await
}

pub fn directory(fixture: &Fixture) -> PathBuf {
    fixture.project_dir().join("memory")
}

/// Behind the server's back.
pub fn put(fixture: &Fixture, path: &str, text: &str) {
    let path = directory(fixture).join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

pub fn age(path: &Path, days: u64) {
    let then = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60 + 60);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

impl Harness {
    pub fn memory(&self, path: &str) -> PathBuf {
        directory(&self.fixture).join(path)
    }

    pub fn memory_text(&self, path: &str) -> String {
        self.memory(path).to_str().unwrap().to_owned()
    }

    pub async fn ask(&self, method: &str, params: Value) -> Value {
        let answer = self.client.request(&format!("reverie/memory/{method}"), params).await;
        answer.unwrap_or_else(|error| panic!("memory/{method}: {}", error.message))
    }

    pub async fn refusal(&self, method: &str, params: Value) -> String {
        let answer = self.client.request(&format!("reverie/memory/{method}"), params.clone()).await;
        match answer {
            Err(error) => error.message,
            Ok(answer) => panic!("memory/{method} {params} is answered: {answer}"),
        }
    }

    /// The next event of this kind; one that nobody asks for fails the test at its end.
    pub async fn memory_event(&self, kind: &str) -> Value {
        let fits = |seen: &testkit::lsp_client::Notification| {
            seen.method == "reverie/memory/event" && seen.params["kind"] == kind
        };
        self.client.wait_for(&format!("a memory to be {kind}"), fits).await.params
    }

    /// A turn with one answer, to a message that brings nothing to mind. Ends when the directory is watched.
    pub async fn greet(&self, session: &str) -> Turn {
        self.model.reply(Reply::text("hello"));
        let turn = self.client.turn(session, "hello").await;
        self.exists(&self.memory(".history/known.json")).await;
        turn
    }

    pub async fn exists(&self, path: &Path) {
        let there = async {
            while !path.exists() {
                tokio::task::yield_now().await;
            }
        };
        testkit::within(there, &path.display().to_string()).await;
    }

    /// A turn with one answer, and the request that asked for it.
    pub async fn exchange(&self, session: &str, prompt: &str) -> std::sync::Arc<RecordedRequest> {
        self.model.reply(Reply::text("so be it"));
        let turn = self.client.turn(session, prompt).await;
        assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
        self.model.main_requests().pop().unwrap()
    }
}

/// The reminders of a request that show memories, in their order.
pub fn recalled(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap();
    let blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let texts = blocks.filter_map(|block| block["text"].as_str());
    let is_memory = |text: &&str| {
        text.starts_with("<system-reminder>")
            && text.lines().any(|line| line.starts_with("Memory") && line.ends_with(':'))
    };
    texts.filter(is_memory).map(str::to_owned).collect()
}

/// The names of the files that a request shows, in their order.
pub fn recalled_names(harness: &Harness, body: &Value) -> Vec<String> {
    let folder = format!("{}/", directory(&harness.fixture).display());
    recalled(body)
        .iter()
        .map(|text| {
            let line = text.lines().find(|line| line.starts_with("Memory")).unwrap();
            line.split_once(&folder).unwrap().1.trim_end_matches(':').to_owned()
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_model_was_told_is_kept_recalled_and_taken_back() {
    let harness = remembering("", &[]).await;
    let (topic, index) = (harness.memory_text("deploy-days.md"), harness.memory_text("MEMORY.md"));
    let line = "- [Deploy days](deploy-days.md) — Fridays only\n";
    harness.model.reply(Reply::tool("Write", json!({ "file_path": topic, "content": FRIDAY })));
    harness.model.reply(Reply::tool("Write", json!({ "file_path": index, "content": line })));
    harness.model.reply(Reply::text("I will remember that."));
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "remember that we deploy on Fridays only").await;
    assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
    assert_eq!(harness.client.asked("reverie/permission/ask").len(), 0);

    let saved = harness.memory_event("saved").await;
    assert_eq!((&saved["by"], &saved["sessionId"]), (&json!("model"), &json!(session)));
    assert_eq!(saved["turnId"], turn.id);
    let file = &saved["files"][0];
    assert_eq!(
        [&file["path"], &file["name"], &file["type"]],
        [&json!(topic), &json!("Deploy days"), &json!("project")]
    );
    assert_eq!(file["reason"], "you asked to remember it: “remember that we deploy on Fridays only”");
    assert!(file["diff"].as_str().unwrap().contains("+We deploy on Fridays only."), "{file}");

    // The words have nothing in common, so a model that knows more than words is asked; the answer joins the next round.
    let next = harness.client.new_session().await;
    harness.model.recall_selects(&["deploy-days.md"]);
    harness.model.program(|request| match recalled(&request.body).is_empty() {
        true => Reply::tool("Glob", json!({ "pattern": "*" })),
        false => Reply::text("on a Friday"),
    });
    let turn = harness.client.turn(&next, "when can I ship?").await;
    let shown = recalled(&harness.model.main_requests().pop().unwrap().body);
    let expected = format!(
        "<system-reminder>\nMemory (saved today): {topic}:\n\n{}\n</system-reminder>",
        FRIDAY.trim_end()
    );
    assert_eq!(shown, std::slice::from_ref(&expected));
    let event = harness.memory_event("recalled").await;
    assert_eq!(
        [&event["by"], &event["sessionId"], &event["turnId"]],
        [&json!("recall"), &json!(next), &json!(turn.id)]
    );
    assert_eq!(event["files"][0]["reason"], "the selector model named it for this message");

    // Where the words are the same, the first request has it.
    let next = harness.client.new_session().await;
    let request = harness.exchange(&next, "on which days do we deploy?").await;
    assert_eq!(recalled(&request.body), [expected]);
    let event = harness.memory_event("recalled").await;
    assert_eq!((&event["by"], &event["files"][0]["path"]), (&json!("recall"), &json!(topic)));
    let reason = event["files"][0]["reason"].as_str().unwrap();
    assert!(
        reason.contains("fits the message by “days”, “deploy”") && reason.contains("confidence"),
        "{reason}"
    );

    let undone = harness.ask("undo", json!({ "changeId": file["changeId"] })).await;
    assert_eq!(undone["undone"], json!([topic, index]), "{undone}");
    assert!(!harness.memory("deploy-days.md").exists());
    assert!(!harness.memory("MEMORY.md").exists(), "there was no index before");
    let event = harness.memory_event("undone").await;
    assert_eq!((&event["by"], &event["files"][0]["path"]), (&json!("user"), &json!(topic)));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn taking_back_leaves_the_index_as_it_was() {
    let before = "# What I know\n\n- [Other](other.md) — something else\n\nLast words without an end";
    let other = topic("Something else", "Nothing of use.");
    let harness = remembering(LOCAL, &[("MEMORY.md", before), ("other.md", &other)]).await;
    let (topic, index) = (harness.memory_text("deploy-days.md"), harness.memory_text("MEMORY.md"));
    let old = "- [Other](other.md) — something else\n";
    let new = format!("{old}- [Deploy days](deploy-days.md) — Fridays only\n");
    harness.model.reply(Reply::tool("Write", json!({ "file_path": topic, "content": FRIDAY })));
    harness.model.reply(Reply::tool("Read", json!({ "file_path": index })));
    harness
        .model
        .reply(Reply::tool("Edit", json!({ "file_path": index, "old_string": old, "new_string": new })));
    harness.model.reply(Reply::text("I will remember that."));
    let session = harness.client.new_session().await;
    harness.client.turn(&session, "remember that we deploy on Fridays only").await;
    assert_eq!(harness.client.asked("reverie/permission/ask").len(), 0);
    let change = harness.memory_event("saved").await["files"][0]["changeId"].clone();
    let index_now = || std::fs::read_to_string(harness.memory("MEMORY.md")).unwrap();
    assert!(index_now().contains("deploy-days.md"));
    harness.ask("undo", json!({ "changeId": change })).await;
    assert_eq!(index_now(), before);
    harness.memory_event("undone").await;
    // What was undone is a change like any other.
    let newest = harness.ask("history", json!({ "path": topic, "limit": 1 })).await["changes"][0].clone();
    assert_eq!((&newest["by"], &newest["why"]), (&json!("user"), &json!("you took it back")));
    harness.ask("undo", json!({ "changeId": newest["id"] })).await;
    harness.memory_event("undone").await;
    assert_eq!(std::fs::read_to_string(harness.memory("deploy-days.md")).unwrap(), FRIDAY);
    assert!(index_now().contains("deploy-days.md"), "its line comes back with it");
    harness.finish().await;
}
