//! Clients that know only LSP, clients that are slow, clients that change their mind.

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, frame, read_frame},
    model_server::{Gate, ModelServer, Reply},
    within,
};
use tokio::io::{AsyncWriteExt, BufReader};

use crate::harness::Harness;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn execute_command_drives_a_turn() {
    let harness = Harness::start("").await;
    harness.model.reply(Reply::text("hello"));
    let run = async |command: &str, argument: Value| {
        let params = json!({ "command": command, "arguments": [argument] });
        harness.client.request("workspace/executeCommand", params).await.unwrap()
    };
    let session = run("reverie.session.new", json!({})).await["sessionId"].as_str().unwrap().to_owned();
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "hi" }] });
    let turn = run("reverie.session.prompt", prompt).await["turnId"].as_str().unwrap().to_owned();
    assert_eq!(harness.client.turn_end(&session, &turn).await.text(), "hello");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_shows_progress_and_can_be_cancelled_there() {
    let harness = Harness::start("").await;
    let gate = Gate::closed();
    harness.model.reply(Reply::text("never").behind(&gate));
    let session = harness.client.new_session().await;
    let turn = harness.client.prompt(&session, "hi").await;
    let is = |kind: &'static str| {
        move |seen: &testkit::lsp_client::Notification| {
            seen.method == "$/progress" && seen.params["value"]["kind"] == kind
        }
    };
    let begin = harness.client.wait_for("the begin of the progress", is("begin")).await;
    assert_eq!(begin.params["value"]["cancellable"], true);
    gate.reached().await;
    harness.client.notify("window/workDoneProgress/cancel", json!({ "token": begin.params["token"] }));
    assert_eq!(harness.client.turn_end(&session, &turn).await.stop_reason(), "cancelled");
    let end = harness.client.wait_for("the end of the progress", is("end")).await;
    assert_eq!(end.params["token"], begin.params["token"]);
    gate.open();
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_requests_and_cancels_gets_one_reply_each() {
    let harness = Harness::over_stdio("").await;
    let methods = [
        "reverie/models/list",
        "reverie/settings/get",
        "reverie/session/list",
        "reverie/doctor",
        "reverie/no/such",
    ];
    let mut open = Vec::new();
    for number in 0..1_000 {
        let method = methods[number % methods.len()];
        let (id, answer) = harness.client.start_request(method, json!({}));
        open.push((method, answer));
        if number % 3 == 0 {
            harness.client.notify("$/cancelRequest", json!({ "id": id }));
        }
        if number % 7 == 0 {
            harness.client.notify("$/cancelRequest", json!({ "id": id + 1_000_000 }));
        }
    }
    // A second reply to one id would be a reply to nothing, which the client does not forgive.
    for (method, answer) in open {
        match harness.client.answer(answer, method).await {
            Ok(_) => {}
            Err(error) => assert!([-32800, -32601].contains(&error.code), "{method}: {error:?}"),
        }
    }
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_deltas_arrives_whole_in_fewer_updates() {
    let harness = Harness::start("").await;
    let text: String = (0..20_000).map(|number| format!("{number} ")).collect();
    harness.model.reply(Reply::text(text.clone()));
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "count").await;
    assert_eq!(turn.text(), text);
    let deltas = text.chars().count().div_ceil(16);
    assert!(turn.count("textDelta") < deltas / 4, "{} updates for {deltas} deltas", turn.count("textDelta"));
    harness.finish().await;
}

/// "A slow client slows nothing but itself": one that stops reading altogether does not stop its turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_reads_nothing_does_not_stop_the_loop() {
    const ROUNDS: usize = 10;
    let fixture = Fixture::new("//- a.txt\none\n");
    let model = ModelServer::start().await;
    for _ in 0..ROUNDS {
        let path = fixture.path("a.txt");
        model.reply(Reply::text("words ".repeat(5_000)).and_tool("Read", json!({ "file_path": path })));
    }
    let last = Gate::closed();
    model.reply(Reply::text("done").behind(&last));
    let (server_reader, mut writer) = tokio::io::duplex(1 << 16);
    let (reader, server_writer) = tokio::io::duplex(1 << 10);
    let options = lsp::Options {
        environment: settings::Environment::new(fixture.home.clone(), fixture.environment(&model.url())),
        cwd: fixture.workspace.clone(),
        command_line_settings: None,
        watch_parent: false,
        faults: lsp::Faults::default(),
    };
    let server = tokio::spawn(lsp::serve(server_reader, server_writer, options));
    let mut reader = BufReader::new(reader);
    let mut send = async |message: Value| writer.write_all(&frame(&message)).await.unwrap();
    send(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "processId": null, "rootUri": testkit::lsp_client::uri(&fixture.workspace), "capabilities": {} } })).await;
    send(json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} })).await;
    send(json!({ "jsonrpc": "2.0", "id": 2, "method": "reverie/session/new", "params": {} })).await;
    let session = loop {
        let message = within(read_frame(&mut reader), "the session").await.unwrap().unwrap();
        if message["id"] == 2 && message["method"].is_null() {
            break message["result"]["sessionId"].clone();
        }
    };
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] });
    send(json!({ "jsonrpc": "2.0", "id": 3, "method": "reverie/session/prompt", "params": prompt })).await;
    // Nobody reads from here on, and still the loop comes to its last request.
    last.reached().await;
    drop((reader, writer));
    within(server, "the server to end").await.unwrap();
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_completions_server_is_driven_by_the_same_loop() {
    let fixture = Fixture::new("//- a.txt\none\n");
    let model = ModelServer::start().await;
    let mut environment = fixture.environment(&model.url());
    environment.remove("ANTHROPIC_API_KEY");
    environment.remove("ANTHROPIC_BASE_URL");
    environment.insert("OPENAI_API_KEY".to_owned(), "test-key".to_owned());
    environment.insert("OPENAI_BASE_URL".to_owned(), format!("{}/v1", model.url()));
    let options = ClientOptions::new(&fixture.workspace);
    let harness = Harness::start_with(fixture, model, &environment, &options).await;
    harness
        .model
        .reply(Reply::text("I look.").and_tool("Read", json!({ "file_path": harness.text_path("a.txt") })));
    harness.model.reply(Reply::text("It says one."));
    let session = harness.client.new_session_with(json!({ "model": "openai/qwen3:8b" })).await;
    let turn = harness.client.turn(&session, "read a.txt").await;
    assert_eq!(
        (turn.stop_reason(), turn.text().as_str()),
        ("endTurn", "I look.It says one."),
        "{}",
        turn.events()
    );
    let requests = harness.model.requests();
    assert_eq!(requests[1].path, "/v1/chat/completions");
    let last = requests[1].body["messages"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["role"], &last["tool_call_id"]), (&json!("tool"), &json!("toolu_0001")));
    assert!(last["content"].to_string().contains("one"));
    harness.finish().await;
}
