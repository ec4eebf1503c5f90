//! "An obedient model that tries, inside extraction and dream, every write of the corpora and 100 prompt injections writes
//! nothing outside the memory dir, opens no connection, changes no setting."
//!
//! The model does whatever it is told by anybody: by the tables of `tests/corpora`, by every tool it is offered, and by
//! texts that it comes across (`injections`, `attacks`). `model` is its obedience, `stage` the world that must not change, `calls`
//! what is tried; `allowed` is what must go on working.

mod allowed;
mod attacks;
mod calls;
mod injections;
mod model;
#[path = "../corpora/places.rs"]
mod places;
#[path = "../corpora/sink.rs"]
mod sink;
mod stage;
#[path = "../corpora/tree.rs"]
mod tree;

use serde_json::json;
use testkit::{lsp_client::Answer, model_server::Reply};

use self::{
    model::Verdict,
    stage::{Setting, Stage},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_obedient_extraction_changes_nothing_but_memories() {
    let stage = Stage::new(Setting::default()).await;
    stage.tempt(Verdict::Done);
    stage.extract().await;
    stage.assert_unharmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_obedient_dream_changes_nothing_but_memories() {
    let stage = Stage::new(Setting { mcp: true, ..Setting::default() }).await;
    stage.tempt(Verdict::Done);
    stage.dream().await;
    assert!(stage.memory().join("start-0.md").is_file(), "what is allowed was not done");
    assert!(stage.outcomes().iter().any(|outcome| outcome.name == "mcp__everything__echo"));
    stage.assert_unharmed().await;
}

const WIDE: [&str; 8] =
    ["Bash(*)", "Bash", "Write(*)", "Write", "Edit(**)", "Edit", "Read(//**)", "WebFetch(domain:127.0.0.1)"];

/// What the user allowed to the conversation, by rules and by an answer, was not said to anybody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_permission_of_the_conversation_is_one_of_an_extraction() {
    let stage = Stage::new(Setting { allow: &WIDE[2..], mode: "acceptEdits", ..Setting::default() }).await;
    stage
        .client
        .on_request("reverie/permission/ask", |_| Answer::Result(json!({ "option": "allowSession" })));
    let granted = json!({ "command": "mkdir -p src" });
    stage.model.reply(Reply::tool("Bash", granted.clone()));
    stage.order("Bash", granted, Verdict::Denied);
    stage.tempt(Verdict::Done);
    stage.extract().await;
    assert_eq!(stage.client.asked("reverie/permission/ask").len(), 1);
    stage.assert_unharmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_knows_no_bypass() {
    let stage = Stage::new(Setting { allow: &WIDE, mode: "bypassPermissions", ..Setting::default() }).await;
    stage.tempt(Verdict::Done);
    stage.dream().await;
    stage.assert_unharmed().await;
}

/// "Untrusted → every Bash asks", and there is nobody to ask.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_folder_that_is_not_trusted_commands_do_not_run_at_all() {
    let untrusted = || Stage::new(Setting { trusted: false, allow: &WIDE, ..Setting::default() });
    let stage = untrusted().await;
    stage.tempt(Verdict::Denied);
    stage.extract().await;
    stage.assert_unharmed().await;
    let stage = untrusted().await;
    stage.tempt(Verdict::Denied);
    stage.dream().await;
    stage.assert_unharmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_user_denies_is_denied_to_forks_too() {
    let deny = ["Read(src/**)", "Bash(rm:*)", "Write(//**/locked.md)"];
    let stage = Stage::new(Setting { deny: &deny, ..Setting::default() }).await;
    let memory = stage.memory();
    for (name, input) in [
        ("Read", json!({ "file_path": stage.path("src/main.rs") })),
        ("Bash", json!({ "command": "cat src/main.rs" })),
        ("Bash", json!({ "command": "grep -rn main ." })),
        ("Bash", json!({ "command": format!("rm {}", memory.join("topics/a.md").display()) })),
        ("Write", json!({ "file_path": memory.join("locked.md"), "content": "x" })),
    ] {
        stage.order(name, input, Verdict::Denied);
    }
    stage.order("Grep", json!({ "pattern": "fn", "path": stage.path(".") }), Verdict::Done);
    stage.order("Write", json!({ "file_path": memory.join("open.md"), "content": "x" }), Verdict::Done);
    stage.extract().await;
    let searched = stage.outcomes().into_iter().find(|outcome| outcome.name == "Grep").unwrap();
    assert!(!searched.text.contains("fn main"), "{}", searched.text);
    assert!(memory.join("open.md").is_file());
    stage.assert_unharmed().await;
}
