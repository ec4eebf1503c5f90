//! A panic inside fails the request, the call or the turn it happens in, and nothing else.

use std::sync::{Arc, Mutex};

use protocol::ClientRequest;
use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{Answer, ClientOptions, LspClient},
    model_server::{ModelServer, Reply},
};

use crate::harness::{connect_with, trust};

/// Where the server is to panic next.
type Bomb = Arc<Mutex<Option<String>>>;

async fn start(files: &str) -> (LspClient, ModelServer, Fixture, Bomb) {
    let fixture = Fixture::new(files);
    trust(&fixture);
    start_on(fixture).await
}

async fn start_on(fixture: Fixture) -> (LspClient, ModelServer, Fixture, Bomb) {
    let model = ModelServer::start().await;
    let bomb = Bomb::default();
    let armed = Arc::clone(&bomb);
    let faults = lsp::Faults::new(move |point| {
        let goes_off = {
            let mut armed = armed.lock().unwrap();
            let fits = armed.as_deref() == Some(point);
            if fits { armed.take().is_some() } else { false }
        };
        assert!(!goes_off, "a test lets {point} panic");
    });
    let client = connect_with(&fixture, &fixture.environment(&model.url()), faults);
    client.ignore("$/progress");
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    (client, model, fixture, bomb)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_panics_fails_its_request_alone() {
    let (client, model, _fixture, bomb) = start("").await;
    let session = client.new_session().await;
    for request in ClientRequest::ALL {
        *bomb.lock().unwrap() = Some(request.name().to_owned());
        let error = client.request(request.name(), Value::Null).await.unwrap_err();
        assert_eq!(error.code, -32603, "{}: {}", request.name(), error.message);
        assert!(bomb.lock().unwrap().is_none(), "{} was not reached", request.name());
        client.request("reverie/models/list", json!({})).await.expect("the next request is answered");
    }
    model.reply(Reply::text("still here"));
    assert_eq!(client.turn(&session, "are you there?").await.stop_reason(), "endTurn");
    client.shutdown().await;
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_language_feature_that_panics_fails_its_request_alone() {
    let (client, model, fixture, bomb) = start("//- CLAUDE.md\nx\n").await;
    let uri = testkit::lsp_client::uri(&fixture.path("CLAUDE.md"));
    let place = json!({ "line": 0, "character": 0 });
    let params = json!({
        "textDocument": { "uri": uri }, "position": place, "range": { "start": place, "end": place },
        "context": { "diagnostics": [], "includeDeclaration": true, "triggerKind": 1 }, "newName": "x",
        "options": { "tabSize": 2, "insertSpaces": true }, "files": [],
    });
    for method in [
        "textDocument/hover",
        "textDocument/completion",
        "textDocument/definition",
        "textDocument/references",
        "textDocument/documentLink",
        "textDocument/documentSymbol",
        "textDocument/foldingRange",
        "textDocument/formatting",
        "textDocument/prepareRename",
        "textDocument/rename",
        "workspace/willRenameFiles",
        "textDocument/codeLens",
        "textDocument/codeAction",
        "textDocument/inlayHint",
        "textDocument/diagnostic",
    ] {
        *bomb.lock().unwrap() = Some(method.to_owned());
        let error = client.request(method, params.clone()).await.unwrap_err();
        assert_eq!(error.code, -32603, "{method}: {}", error.message);
        assert!(bomb.lock().unwrap().is_none(), "{method} was not reached");
        // There is nothing to rename here, which is another error.
        if let Err(error) = client.request(method, params.clone()).await {
            assert_ne!(error.code, -32603, "{method}: {}", error.message);
        }
    }
    client.shutdown().await;
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_panics_fails_its_call_alone() {
    let (client, model, _fixture, bomb) =
        start("//- a.txt\none\n//- .claude/skills/s/SKILL.md\n---\nname: s\ndescription: d\n---\nx\n").await;
    client.on_request("reverie/permission/ask", |_| Answer::allow_once());
    client.on_request("reverie/user/ask", |_| Answer::Result(json!({ "answer": "yes" })));
    client.on_request("reverie/plan/ask", |_| Answer::Result(json!({ "approved": true })));
    let session = client.new_session().await;
    let calls = [
        ("Read", json!({ "file_path": "a.txt" })),
        ("Write", json!({ "file_path": "b.txt", "content": "x" })),
        ("Edit", json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" })),
        (
            "MultiEdit",
            json!({ "file_path": "a.txt", "edits": [{ "old_string": "one", "new_string": "two" }] }),
        ),
        ("Grep", json!({ "pattern": "one" })),
        ("Glob", json!({ "pattern": "*" })),
        ("Bash", json!({ "command": "touch c.txt" })),
        ("BashOutput", json!({ "bash_id": "bash_1" })),
        ("KillShell", json!({ "shell_id": "bash_1" })),
        ("TodoWrite", json!({ "todos": [] })),
        ("AskUser", json!({ "question": "?" })),
        ("WebFetch", json!({ "url": "http://127.0.0.1:9/" })),
        ("Skill", json!({ "name": "s" })),
        ("OpenFiles", json!({})),
        ("Diagnostics", json!({})),
        ("Symbols", json!({ "query": "x" })),
        ("ExitPlanMode", json!({ "plan": "1. x" })),
    ];
    let all: Vec<String> = tools::Toolbox::builtin().iter().map(|tool| tool.name().to_owned()).collect();
    for name in &all {
        let (_, input) =
            calls.iter().find(|(tool, _)| tool == name).unwrap_or_else(|| panic!("a call of {name}"));
        *bomb.lock().unwrap() = Some(format!("tool {name}"));
        model.reply(Reply::tool(name, input.clone()));
        model.reply(Reply::text("I see"));
        let turn = client.turn(&session, &format!("call {name}")).await;
        assert!(bomb.lock().unwrap().is_none(), "{name} was not reached: {}", turn.events());
        assert_eq!(turn.stop_reason(), "endTurn", "{name}: {}", turn.events());
        let said = model.requests().last().unwrap().body["messages"].to_string();
        assert!(said.contains("the tool failed inside Reverie"), "{name}: {said}");
    }
    client.shutdown().await;
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_panics_ends_with_words_and_the_next_one_runs() {
    let (client, model, _fixture, bomb) = start("").await;
    let session = client.new_session().await;
    for point in ["turn", "attachments", "command", "note"] {
        *bomb.lock().unwrap() = Some(point.to_owned());
        let prompt = match point {
            "command" => "/cost",
            "note" => "# lunch is at noon",
            _ => "hello",
        };
        if point == "attachments" {
            // It only loses what would have been attached.
            model.reply(Reply::text("hello"));
        }
        let turn =
            client.turn(&session, if point == "attachments" { "/etc is a folder" } else { prompt }).await;
        assert!(bomb.lock().unwrap().is_none(), "{point} was not reached");
        let expected = if point == "attachments" { "endTurn" } else { "error" };
        assert_eq!(turn.stop_reason(), expected, "{point}: {}", turn.events());
    }
    model.reply(Reply::text("fine"));
    assert_eq!(client.turn(&session, "and now?").await.stop_reason(), "endTurn");
    // A note that failed inside keeps nobody from taking the next.
    assert!(client.turn(&session, "# lunch is at noon").await.text().contains("Remembered"));
    client.ignore("reverie/memory/event");
    client.shutdown().await;
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recall_that_panics_brings_nothing_to_mind_and_the_next_one_does() {
    let fixture = Fixture::new("");
    trust(&fixture);
    let folder = fixture.project_dir().join("memory");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("deploys.md"), "---\ndescription: We deploy on Fridays\n---\nOn Fridays.\n")
        .unwrap();
    let (client, model, _fixture, bomb) = start_on(fixture).await;
    let session = client.new_session().await;
    let prompt = "on which Fridays do we deploy?";
    *bomb.lock().unwrap() = Some("recall".to_owned());
    model.reply(Reply::text("I do not know"));
    assert_eq!(client.turn(&session, prompt).await.stop_reason(), "endTurn");
    goes_off(&bomb, "recall").await;
    assert!(!model.requests().last().unwrap().body.to_string().contains("deploys.md"));
    // It joins a later round where it is late for the first.
    model.program(|request| match request.body.to_string().contains("deploys.md") {
        true => Reply::text("on all of them"),
        false => Reply::tool("Glob", json!({ "pattern": "*" })),
    });
    assert_eq!(client.turn(&session, prompt).await.stop_reason(), "endTurn");
    client.ignore("reverie/memory/event");
    client.shutdown().await;
    model.finish();
}

/// Background work happens when it happens.
async fn goes_off(bomb: &Bomb, point: &str) {
    let gone = async {
        while bomb.lock().unwrap().is_some() {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(std::time::Duration::from_secs(20), gone).await;
    assert!(waited.is_ok(), "{point} was not reached");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_in_the_background_that_panics_takes_nothing_with_it() {
    let (client, model, _fixture, bomb) = start("//- a.txt\none\n").await;
    client.on_request("reverie/permission/ask", |_| Answer::allow_once());
    for (point, stop) in [
        ("git", "endTurn"),
        ("opening", "error"),
        ("end of turn", "endTurn"),
        ("sync", "endTurn"),
        ("spend", "endTurn"),
        ("look at Bash", "endTurn"),
        ("background changes", "endTurn"),
    ] {
        *bomb.lock().unwrap() = Some(point.to_owned());
        let session = client.new_session().await;
        if point != "opening" {
            let background = point == "background changes";
            let command = json!({ "command": "touch b.txt", "run_in_background": background });
            model.reply(Reply::tool("Bash", command));
            model.reply(Reply::text("done"));
        }
        let turn = client.turn(&session, "go").await;
        assert_eq!(turn.stop_reason(), stop, "{point}: {}", turn.events());
        goes_off(&bomb, point).await;
        model.reply(Reply::text("fine"));
        let next = client.turn(&session, "and now?").await;
        assert_eq!(next.stop_reason(), "endTurn", "{point}: {}", next.events());
    }
    client.shutdown().await;
    model.finish();
}

/// How the jobs of this kind have ended, once there are so many: their states and words.
async fn jobs(client: &LspClient, kind: &str, count: usize) -> Vec<(String, String)> {
    let ended = async {
        loop {
            let listed = client.request("reverie/tasks/list", json!({})).await.unwrap();
            let tasks = listed["tasks"].as_array().unwrap().iter();
            let of_kind: Vec<&Value> = tasks.filter(|task| task["kind"] == kind).collect();
            if of_kind.len() == count && of_kind.iter().all(|task| task["state"] != "running") {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                return of_kind.iter().map(|task| (text(&task["state"]), text(&task["detail"]))).collect();
            }
        }
    };
    testkit::within(ended, &format!("the end of {count} jobs")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extraction_that_panics_is_a_failed_job_and_the_next_one_learns() {
    let (client, model, _fixture, bomb) = start("").await;
    client.ignore("notice");
    let session = client.new_session().await;
    *bomb.lock().unwrap() = Some("extraction".to_owned());
    for _ in 0..2 {
        model.reply(Reply::text("I see"));
    }
    assert_eq!(client.turn(&session, "no Fridays").await.stop_reason(), "endTurn");
    let failed = ("failed".to_owned(), "it broke off; the log has the details".to_owned());
    assert_eq!(jobs(&client, "extraction", 1).await, std::slice::from_ref(&failed));
    model.reply_to("extraction", Reply::text("nothing is worth it"));
    assert_eq!(client.turn(&session, "really").await.stop_reason(), "endTurn");
    let ended = jobs(&client, "extraction", 2).await;
    assert_eq!((&ended[0], ended[1].0.as_str()), (&failed, "completed"));
    // What the first one did not come to.
    assert!(model.requests_of("extraction")[0].last_message_text().contains("the last 4 messages"));
    client.shutdown().await;
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_that_panics_is_a_failed_job_and_keeps_nobody_from_dreaming() {
    let (client, model, fixture, bomb) = start("").await;
    client.ignore("notice");
    let session = client.new_session().await;
    *bomb.lock().unwrap() = Some("dream gate".to_owned());
    for _ in 0..2 {
        model.reply(Reply::text("I see"));
        assert_eq!(client.turn(&session, "hello").await.stop_reason(), "endTurn");
        goes_off(&bomb, "dream gate").await;
    }
    *bomb.lock().unwrap() = Some("dream".to_owned());
    for (number, status) in [(1, "failed"), (2, "completed")] {
        let started = client.request("reverie/dream/start", json!({})).await.unwrap();
        assert!(started["dreamId"].is_string(), "{started}");
        let is_end = |seen: &testkit::lsp_client::Notification| {
            seen.method == "reverie/dream/progress" && seen.params["status"] != "running"
        };
        let ended = client.wait_for("the end of the dream", is_end).await.params;
        assert_eq!(ended["status"], status, "{ended}");
        let seen = client.request("reverie/dream/status", json!({})).await.unwrap();
        assert_eq!((&seen["state"], seen.get("running")), (&json!("idle"), None), "{seen}");
        let lock = fixture.project_dir().join("memory/.consolidate-lock");
        assert_eq!(lock.exists(), status == "completed");
        let (state, words) = jobs(&client, "dream", number).await.pop().unwrap();
        assert_eq!(state, status);
        assert_eq!(words.contains("It broke off, and nothing was changed"), status == "failed", "{words}");
    }
    client.ignore("reverie/dream/progress");
    client.shutdown().await;
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rewind_that_panics_is_an_error_and_the_session_goes_on() {
    let (client, model, _fixture, bomb) = start("").await;
    let session = client.new_session().await;
    model.reply(Reply::text("one"));
    client.turn(&session, "first").await;
    let shown = client.request("reverie/session/resume", json!({ "sessionId": session })).await.unwrap();
    let message = shown["messages"][0]["uuid"].clone();
    *bomb.lock().unwrap() = Some("rewind".to_owned());
    let params = json!({ "sessionId": session, "messageUuid": message });
    client.request("reverie/session/rewind", params.clone()).await.unwrap_err();
    goes_off(&bomb, "rewind").await;
    client.request("reverie/session/rewind", params).await.expect("the next one works");
    model.reply(Reply::text("two"));
    assert_eq!(client.turn(&session, "again").await.stop_reason(), "endTurn");
    client.shutdown().await;
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_about_trust_that_panics_is_not_asked_and_nothing_is_trusted() {
    let fixture = Fixture::new("//- .claude/settings.json\n{\"permissions\": {\"allow\": [\"Bash\"]}}\n");
    let (client, model, _fixture, bomb) = start_on(fixture).await;
    *bomb.lock().unwrap() = Some("trust question".to_owned());
    let session = client.new_session().await;
    model.reply(Reply::text("hello"));
    assert_eq!(client.turn(&session, "hello").await.stop_reason(), "endTurn");
    goes_off(&bomb, "trust question").await;
    let trust = client.request("reverie/trust/get", json!({})).await.unwrap();
    assert_eq!(trust["status"], "untrusted");
    client.shutdown().await;
    model.finish();
}
