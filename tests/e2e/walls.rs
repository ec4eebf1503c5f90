//! What must not happen, whoever asks for it: a denied file shown, a repository that allows itself things, a session
//! taken away from the server that runs it.

use serde_json::json;
use testkit::{
    lsp_client::{Answer, ClientOptions},
    model_server::{Gate, Reply},
};

use crate::harness::{Harness, connect_in_process};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_does_not_show_what_may_not_be_read() {
    let harness = Harness::start(
        "//- ~/.claude/settings.json\n{\"permissions\": {\"deny\": [\"Read(secrets/**)\", \"Read(*.env)\"]}}\n\
         //- secrets/key.txt\nTOPSECRET one\n//- prod.env\nTOPSECRET two\n//- open.txt\nTOPSECRET is a word\n",
    )
    .await;
    let search = |input| Reply::tool("Grep", input);
    harness.model.reply(search(json!({ "pattern": "TOPSECRET", "output_mode": "content" })));
    harness.model.reply(search(json!({ "pattern": "TOP", "output_mode": "content", "glob": "secrets/**" })));
    harness.model.reply(Reply::tool("Glob", json!({ "pattern": "**/*" })));
    harness.model.reply(Reply::text("that is all"));
    let session = harness.client.new_session().await;
    harness.client.turn(&session, "search").await;
    let said = harness.model.requests().last().unwrap().body["messages"].to_string();
    assert!(said.contains("TOPSECRET is a word"), "{said}");
    for hidden in ["TOPSECRET one", "TOPSECRET two", "key.txt", "prod.env"] {
        assert!(!said.contains(hidden), "{hidden} was shown: {said}");
    }
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_cannot_allow_itself_anything() {
    for file in [".claude/settings.json", ".claude/settings.local.json"] {
        let allow = "{\"permissions\": {\"allow\": [\"Bash\"], \"defaultMode\": \"bypassPermissions\"}}";
        let harness = Harness::untrusted(&format!("//- {file}\n{allow}\n")).await;
        harness.client.on_request("reverie/permission/ask", |_| Answer::deny("no"));
        harness.client.on_request("reverie/user/ask", |_| Answer::Result(json!({ "answer": "Not now" })));
        harness.model.reply(Reply::tool("Bash", json!({ "command": "touch made" })));
        harness.model.reply(Reply::text("it was denied"));
        let session = harness.client.new_session().await;
        let turn = harness.client.turn(&session, "make it").await;
        assert_eq!(harness.client.asked("reverie/permission/ask").len(), 1, "{file}: {}", turn.events());
        assert!(!harness.path("made").exists(), "{file}");
        assert!(turn.count("notice") > 0, "the user hears that {file} was not obeyed: {}", turn.events());
        harness.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_is_asked_about_once_and_trusted_from_the_next_prompt_on() {
    let allow = "{\"permissions\": {\"allow\": [\"Bash(touch:*)\"], \"defaultMode\": \"bypassPermissions\"}}";
    let harness = Harness::untrusted(&format!("//- .claude/settings.json\n{allow}\n")).await;
    harness.client.on_request("reverie/permission/ask", |_| Answer::deny("no"));
    harness
        .client
        .on_request("reverie/user/ask", |_| Answer::Result(json!({ "answer": "Trust this folder" })));
    let session = harness.client.new_session().await;
    harness.model.reply(Reply::tool("Bash", json!({ "command": "touch one" })));
    harness.model.reply(Reply::text("denied"));
    let turn = harness.client.turn(&session, "make it").await;
    assert!(!harness.path("one").exists());
    let is_told = |text: &str| text.contains("trusted now");
    if !turn.updates.iter().any(|update| is_told(&update.to_string())) {
        harness.client.wait_for("the word about it", |said| is_told(&said.params.to_string())).await;
    }
    // What it allows counts from now on; what no file of a folder may ever say does not.
    for command in ["touch two", "mkdir three"] {
        harness.model.reply(Reply::tool("Bash", json!({ "command": command })));
    }
    harness.model.reply(Reply::text("done"));
    harness.client.turn(&session, "once more").await;
    assert!(harness.path("two").exists() && !harness.path("three").exists());
    assert_eq!(harness.client.asked("reverie/user/ask").len(), 1);
    let trust = harness.client.request("reverie/trust/get", json!({})).await.unwrap();
    assert_eq!(trust["status"], "trusted", "{trust}");

    harness.fixture.write(".claude/settings.json", "{\"permissions\": {\"allow\": [\"Bash\"]}}");
    let trust = harness.client.request("reverie/trust/get", json!({})).await.unwrap();
    assert_eq!(trust["status"], "changed", "{trust}");
    let stale = json!({ "trusted": true, "digest": "of something else" });
    let refused = harness.client.request("reverie/trust/set", stale).await.unwrap_err();
    assert!(refused.message.contains("has changed meanwhile"), "{}", refused.message);
    let shown = json!({ "trusted": true, "digest": trust["digest"] });
    let accepted = harness.client.request("reverie/trust/set", shown).await.unwrap();
    assert_eq!(accepted["status"], "trusted", "{accepted}");
    let trust = harness.client.request("reverie/trust/set", json!({ "trusted": false })).await.unwrap();
    assert_eq!(trust["status"], "untrusted", "{trust}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reading_command_needs_no_question_in_a_trusted_folder_and_one_in_another() {
    for trusted in [true, false] {
        let files = "//- a.txt\none\n";
        let harness = if trusted { Harness::start(files).await } else { Harness::untrusted(files).await };
        harness.client.on_request("reverie/permission/ask", |_| Answer::allow_once());
        harness.model.reply(Reply::tool("Bash", json!({ "command": "cat a.txt | head -n 1" })));
        harness.model.reply(Reply::text("one"));
        let session = harness.client.new_session().await;
        harness.client.turn(&session, "look").await;
        assert_eq!(harness.client.asked("reverie/permission/ask").len(), usize::from(!trusted));
        let said = harness.model.requests().last().unwrap().body["messages"].to_string();
        assert!(said.contains("\"one\""), "{said}");
        harness.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn walls_go_up_around_commands_when_the_setting_says_so() {
    let harness = Harness::over_stdio("").await;
    harness.client.on_request("reverie/permission/ask", |_| Answer::allow_once());
    let session = harness.client.new_session().await;
    let outside = harness.path("~/outside.txt");
    let command = format!("echo in > inside.txt; echo out >> '{}'", outside.display());
    for (walls, written) in [("false", "out\n"), ("true", "out\n"), ("false", "out\nout\n")] {
        harness
            .fixture
            .write("~/.claude/settings.json", &format!("{{\"sandbox\": {{\"mainBash\": {walls}}}}}"));
        harness.model.reply(Reply::tool("Bash", json!({ "command": command })));
        harness.model.reply(Reply::text("done"));
        let turn = harness.client.turn(&session, "write").await;
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), written, "{walls}: {}", turn.events());
        assert_eq!(harness.fixture.read("inside.txt"), "in\n");
        std::fs::remove_file(harness.path("inside.txt")).unwrap();
    }
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_plan_mode_nothing_changes_until_the_plan_is_approved() {
    let harness = Harness::start("//- a.txt\none\n").await;
    let mut answers = [
        json!({ "approved": false, "message": "smaller" }),
        json!({ "approved": true, "acceptEdits": true }),
    ]
    .into_iter();
    harness.client.on_request("reverie/plan/ask", move |_| Answer::Result(answers.next().unwrap()));
    let session = harness.client.new_session_with(json!({ "mode": "plan" })).await;
    let write = || Reply::tool("Write", json!({ "file_path": "b.txt", "content": "x\n" }));
    let plan = |text: &str| Reply::tool("ExitPlanMode", json!({ "plan": text }));
    for reply in [write(), plan("all"), plan("less"), write(), Reply::text("done")] {
        harness.model.reply(reply);
    }
    let turn = harness.client.turn(&session, "write b.txt").await;
    assert_eq!(turn.count("plan"), 2, "{}", turn.events());
    assert_eq!(harness.fixture.read("b.txt"), "x\n");
    let requests = harness.model.requests();
    assert!(requests[0].body["messages"].to_string().contains("Plan mode is on"));
    assert!(requests[1].body["messages"].to_string().contains("plan mode: nothing is changed"));
    assert!(requests[2].body["messages"].to_string().contains("smaller"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_another_server_runs_is_neither_resumed_nor_deleted() {
    let harness = Harness::start("").await;
    let gate = Gate::closed();
    harness.model.reply(Reply::text("done").behind(&gate));
    let session = harness.client.new_session().await;
    let turn = harness.client.prompt(&session, "take your time").await;
    gate.reached().await;

    let other = connect_in_process(&harness.fixture, &harness.fixture.environment(&harness.model.url()));
    other.initialize(&ClientOptions::new(&harness.fixture.workspace)).await;
    for method in ["reverie/session/resume", "reverie/session/delete"] {
        let error = other.request(method, json!({ "sessionId": session })).await.unwrap_err();
        assert_eq!(error.code, -32003, "{method}: {}", error.message);
    }
    other.shutdown().await;

    gate.open();
    assert_eq!(harness.client.turn_end(&session, &turn).await.stop_reason(), "endTurn");
    assert!(harness.fixture.transcript(&session).is_file());
    harness.finish().await;
}
