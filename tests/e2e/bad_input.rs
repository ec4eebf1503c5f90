//! Wrong frames, wrong requests, wrong files, wrong keys: each gets a clear word, and the server goes on.

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient, RpcError, frame},
    model_server::{ModelServer, Reply},
};

use crate::harness::{Harness, connect_in_process, connect_over_stdio};

async fn assert_alive(client: &LspClient) {
    client.request("reverie/models/list", json!({})).await.expect("the server goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_and_huge_frames_are_refused_and_the_next_one_is_read() {
    let harness = Harness::over_stdio("").await;
    let frames: &[&[u8]] = &[
        b"Content-Length: 10000000000\r\n\r\n",
        b"Content-Length: 18446744073709551616\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: abc\r\n\r\n",
        b"Content-Length: 7\r\n\r\nnot js}",
        b"Content-Length: 4\r\n\r\n\xff\xfe\xfd\xfc",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 4\r\n\r\nnull",
        b"Content-Length: 0\r\n\r\n",
    ];
    for bytes in frames {
        harness.client.send_raw(bytes);
        harness
            .client
            .wait_for(&format!("an error for {:?}", String::from_utf8_lossy(bytes)), |seen| {
                seen.method == "$/error"
            })
            .await;
        assert_alive(&harness.client).await;
    }
    harness.client.ignore("$/error");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    harness.client.send_raw(format!("Content-Length: {}\r\n\r\n{deep}", deep.len()).as_bytes());
    assert_alive(&harness.client).await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frame_in_single_bytes_and_many_in_one_piece_are_read() {
    let harness = Harness::start("").await;
    // The client's own answers must not get between the bytes.
    harness.client.wait_until_asked("workspace/configuration", 1).await;
    assert_alive(&harness.client).await;
    let request = frame(&json!({ "jsonrpc": "2.0", "method": "$/setTrace", "params": { "value": "off" } }));
    for byte in &request {
        harness.client.send_raw(&[*byte]);
    }
    harness.client.send_raw(&request.repeat(50));
    assert_alive(&harness.client).await;
    harness.finish().await;
}

async fn refused(client: &LspClient, method: &str, params: Value) -> RpcError {
    match client.request(method, params.clone()).await {
        Ok(answer) => panic!("{method} {params} was accepted: {answer}"),
        Err(error) => error,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_methods_and_wrong_types_are_named() {
    let harness = Harness::start("").await;
    let client = &harness.client;
    assert_eq!(refused(client, "reverie/no/such", json!({})).await.code, -32601);
    for (method, params, word) in [
        ("reverie/session/prompt", json!({ "sessionId": 5, "prompt": [] }), "sessionId"),
        ("reverie/session/prompt", json!({}), "sessionId"),
        ("reverie/session/new", json!({ "cwd": [] }), "cwd"),
        ("reverie/session/resume", json!({ "sessionId": "x", "strategy": "best" }), "strategy"),
        ("reverie/session/list", json!({ "limit": "many" }), "limit"),
    ] {
        let error = refused(client, method, params).await;
        assert_eq!(error.code, -32602, "{method}: {error:?}");
        assert!(error.message.contains(word), "{method}: the message names {word}: {}", error.message);
    }
    let session = client.new_session().await;
    let empty = json!({ "sessionId": session, "prompt": [] });
    assert_eq!(refused(client, "reverie/session/prompt", empty).await.code, -32602);
    for id in ["00000000-0000-4000-8000-000000000000", "../../etc/passwd", ""] {
        for method in ["prompt", "cancel", "resume", "delete"] {
            let params = json!({ "sessionId": id, "prompt": [{ "type": "text", "text": "x" }] });
            let error = refused(client, &format!("reverie/session/{method}"), params).await;
            assert_eq!((error.code, &error.data["sessionId"]), (-32001, &json!(id)), "{method} {id:?}");
        }
    }
    let nowhere = refused(client, "reverie/session/new", json!({ "cwd": "/no/such/folder" })).await;
    assert!(nowhere.message.contains("/no/such/folder"), "{}", nowhere.message);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_order_of_the_handshake_is_enforced() {
    let fixture = Fixture::new("");
    let environment = fixture.environment("http://127.0.0.1:9");
    let client = connect_in_process(&fixture, &environment);
    assert_eq!(refused(&client, "reverie/session/new", json!({})).await.code, -32002);
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    let again = json!({ "processId": null, "rootUri": null, "capabilities": {} });
    assert_eq!(refused(&client, "initialize", again).await.code, -32600);
    client.request("shutdown", Value::Null).await.unwrap();
    assert_eq!(refused(&client, "reverie/session/new", json!({})).await.code, -32600);
    client.abandon();
}

/// The end of a turn against a provider that refuses.
async fn error_of(
    change: impl FnOnce(&ModelServer, &mut std::collections::BTreeMap<String, String>),
    model: Value,
) -> (String, String) {
    let fixture = Fixture::new("");
    let server = ModelServer::start().await;
    let mut environment = fixture.environment(&server.url());
    change(&server, &mut environment);
    let options = ClientOptions::new(&fixture.workspace);
    let harness = Harness::start_with(fixture, server, &environment, &options).await;
    let session = harness.client.new_session_with(model).await;
    let turn = harness.client.turn(&session, "hello").await;
    assert_eq!(turn.stop_reason(), "error", "{}", turn.events());
    assert_eq!(turn.count("retry"), 0, "trying again changes nothing: {}", turn.events());
    let (code, message) = (turn.error_code().unwrap().to_owned(), turn.error_message().unwrap().to_owned());
    harness.finish().await;
    (code, message)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_key_is_told_at_once_with_what_to_do() {
    let (code, message) = error_of(|server, _| server.require_key("another"), json!({})).await;
    assert_eq!(code, "auth");
    assert!(message.contains("ANTHROPIC_API_KEY"), "{message}");
    assert!(!message.contains("test-key"), "the key itself is never shown: {message}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_model_is_told_at_once_by_name() {
    let model = json!({ "model": "anthropic/claude-nonesuch-9" });
    let (code, message) = error_of(|server, _| server.know_models(&["claude-sonnet-4-5"]), model).await;
    assert_eq!(code, "model_not_found");
    assert!(message.contains("claude-nonesuch-9"), "{message}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_without_a_key_is_told_at_once_with_what_to_set() {
    let fixture = Fixture::new("");
    let model = ModelServer::start().await;
    let mut environment = fixture.environment(&model.url());
    environment.remove("ANTHROPIC_API_KEY");
    let options = ClientOptions::new(&fixture.workspace);
    let harness = Harness::start_with(fixture, model, &environment, &options).await;
    let params = json!({ "model": "anthropic/claude-sonnet-4-5" });
    let message = match harness.client.request("reverie/session/new", params).await {
        Err(error) => error.message,
        Ok(answer) => {
            let turn = harness.client.turn(answer["sessionId"].as_str().unwrap(), "hello").await;
            assert_eq!(turn.stop_reason(), "error", "{}", turn.events());
            turn.error_message().unwrap().to_owned()
        }
    };
    assert!(message.contains("ANTHROPIC_API_KEY"), "{message}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_any_key_the_offline_model_answers() {
    let fixture = Fixture::new("//- notes.md\nThe heron nests by the weir.\n");
    let model = ModelServer::start().await;
    let mut environment = fixture.environment(&model.url());
    environment.remove("ANTHROPIC_API_KEY");
    environment.remove("ANTHROPIC_BASE_URL");
    let options = ClientOptions::new(&fixture.workspace);
    let harness = Harness::start_with(fixture, model, &environment, &options).await;
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "Where does the heron nest?").await;
    assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
    assert!(turn.text().contains("notes.md:1"), "it quotes with file and line: {}", turn.text());
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_cannot_be_read_as_text_are_refused_in_words() {
    let harness = Harness::start("//- a.txt\nhi\n").await;
    // A link that leads nowhere might lead outside: that is asked.
    harness.client.allow_everything();
    std::fs::write(harness.path("binary"), b"\x7fELF\0\0\x01\x02\0\0\0").unwrap();
    std::fs::File::create(harness.path("huge")).unwrap().set_len(1 << 30).unwrap();
    std::fs::create_dir(harness.path("folder")).unwrap();
    std::os::unix::fs::symlink(harness.path("loop"), harness.path("loop")).unwrap();
    let status = std::process::Command::new("mkfifo").arg(harness.path("pipe")).status().unwrap();
    assert!(status.success());
    let names = ["binary", "huge", "folder", "loop", "pipe", "missing"];
    let calls = names.map(|name| ("Read", json!({ "file_path": harness.text_path(name) })));
    harness.model.reply(Reply::tools(calls));
    harness.model.reply(Reply::text("none of them"));
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "read them").await;
    assert_eq!(turn.stop_reason(), "endTurn");
    assert!(turn.of_kind("toolEnd").iter().all(|end| end["ok"] == false), "{}", turn.events());
    let request = harness.model.main_requests().pop().unwrap();
    let words = ["not a text", "not a text", "folder", "", "", "exist"];
    for (index, (name, word)) in names.iter().zip(words).enumerate() {
        let result = request.tool_result(&format!("toolu_{:04}", index + 1)).unwrap();
        assert!(!result.is_empty() && result.to_lowercase().contains(word), "{name}: {result}");
    }
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_cannot_be_written_is_told_and_nothing_breaks() {
    let fixture = Fixture::new("");
    // A file where the config home should be: nothing can be stored.
    std::fs::write(fixture.config_home(), "in the way").unwrap();
    let model = ModelServer::start().await;
    let environment = fixture.environment(&model.url());
    let client = connect_over_stdio(&fixture, &environment);
    client.ignore("$/progress");
    client.ignore("window/logMessage");
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    model.always("main", Reply::text("hello"));
    match client.request("reverie/session/new", json!({})).await {
        Err(error) => assert!(!error.message.is_empty()),
        Ok(answer) => {
            let turn = client.turn(answer["sessionId"].as_str().unwrap(), "hello").await;
            let told = turn.count("notice") > 0 || turn.error_message().is_some();
            assert!(told, "the user hears that nothing is stored: {}", turn.events());
        }
    }
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_cannot_fit_is_refused_before_it_costs_anything() {
    let harness = Harness::start("").await;
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, &"word ".repeat(200_000)).await;
    assert_eq!(turn.stop_reason(), "blocked", "{}", turn.events());
    let notices = turn.of_kind("notice");
    let text = notices[0]["text"].as_str().unwrap();
    assert!(text.starts_with("the prompt does not fit into the window"), "{text}");
    assert!(harness.model.usages().is_empty());
    harness.finish().await;
}
