//! What must not happen, whoever asks for it: a denied file shown, a repository that allows itself things, a session
//! taken away from the server that runs it.

use serde_json::json;
use testkit::{
    lsp_client::ClientOptions,
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
        let harness = Harness::start(&format!("//- {file}\n{allow}\n")).await;
        harness.client.on_request("reverie/permission/ask", |_| testkit::lsp_client::Answer::deny("no"));
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
