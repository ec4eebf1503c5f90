//! The whole server over a pipe in memory.

mod background;
mod edits;
mod turns;

use expect_test::expect;
use serde_json::{Value, json};

use crate::testing::TestClient;

const UNKNOWN_SESSION: &str = "7a3c0f7e-3f8e-4c39-9c1d-0a4f2f6b9a51";

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}

#[tokio::test]
async fn initialize_says_what_the_server_can_do() {
    let mut client = TestClient::start();
    let params = json!({ "processId": null, "rootUri": null, "capabilities": {
        "general": { "positionEncodings": ["utf-16", "utf-8"] } } });
    let answer = client.request("initialize", params).await;
    let mut result = answer["result"].clone();
    result["serverInfo"]["version"] = "…".into();
    expect![[r#"
        {
          "capabilities": {
            "positionEncoding": "utf-8",
            "textDocumentSync": {
              "openClose": true,
              "change": 2,
              "save": {
                "includeText": false
              }
            },
            "executeCommandProvider": {
              "commands": [
                "reverie.session.new",
                "reverie.session.list",
                "reverie.session.resume",
                "reverie.session.prompt",
                "reverie.session.cancel",
                "reverie.changes.list",
                "reverie.changes.read",
                "reverie.changes.resolve",
                "reverie.session.fork",
                "reverie.session.rewind",
                "reverie.session.export",
                "reverie.session.search",
                "reverie.session.configure",
                "reverie.commands.list",
                "reverie.trust.get",
                "reverie.trust.set",
                "reverie.memory.list",
                "reverie.memory.delete",
                "reverie.memory.merge",
                "reverie.memory.remember",
                "reverie.memory.open",
                "reverie.memory.search",
                "reverie.memory.history",
                "reverie.memory.undo",
                "reverie.memory.lint",
                "reverie.instructions.reload",
                "reverie.tasks.list",
                "reverie.tasks.stop",
                "reverie.dream.start",
                "reverie.dream.stop",
                "reverie.dream.status",
                "reverie.dream.report",
                "reverie.doctor",
                "reverie.context.report",
                "reverie.context.original",
                "reverie.session.compact",
                "reverie.session.uncompact"
              ]
            },
            "workspace": {
              "workspaceFolders": {
                "supported": true,
                "changeNotifications": true
              },
              "fileOperations": {
                "didRename": {
                  "filters": [
                    {
                      "scheme": "file",
                      "pattern": {
                        "glob": "**/*"
                      }
                    }
                  ]
                },
                "willRename": {
                  "filters": [
                    {
                      "scheme": "file",
                      "pattern": {
                        "glob": "**/*.md"
                      }
                    },
                    {
                      "scheme": "file",
                      "pattern": {
                        "glob": "**/*",
                        "matches": "folder"
                      }
                    }
                  ]
                }
              }
            },
            "experimental": {
              "reverie": {
                "version": 1,
                "methods": [
                  "reverie/session/new",
                  "reverie/session/list",
                  "reverie/session/resume",
                  "reverie/session/earlier",
                  "reverie/session/prompt",
                  "reverie/session/cancel",
                  "reverie/session/delete",
                  "reverie/session/rename",
                  "reverie/session/fork",
                  "reverie/session/rewind",
                  "reverie/changes/list",
                  "reverie/changes/read",
                  "reverie/changes/resolve",
                  "reverie/session/export",
                  "reverie/session/search",
                  "reverie/session/configure",
                  "reverie/commands/list",
                  "reverie/trust/get",
                  "reverie/trust/set",
                  "reverie/memory/list",
                  "reverie/memory/read",
                  "reverie/memory/write",
                  "reverie/memory/delete",
                  "reverie/memory/search",
                  "reverie/memory/explain",
                  "reverie/memory/history",
                  "reverie/memory/undo",
                  "reverie/memory/lint",
                  "reverie/memory/merge",
                  "reverie/memory/remember",
                  "reverie/memory/open",
                  "reverie/instructions/reload",
                  "reverie/tasks/list",
                  "reverie/tasks/stop",
                  "reverie/dream/start",
                  "reverie/dream/stop",
                  "reverie/dream/status",
                  "reverie/dream/report",
                  "reverie/context/report",
                  "reverie/context/original",
                  "reverie/context/layout",
                  "reverie/session/compact",
                  "reverie/session/uncompact",
                  "reverie/models/list",
                  "reverie/settings/get",
                  "reverie/doctor"
                ]
              }
            }
          },
          "serverInfo": {
            "name": "reverie",
            "version": "…"
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&result).unwrap());
    assert_eq!(code(&client.request("initialize", json!({ "capabilities": {} })).await), -32600);
}

#[tokio::test]
async fn the_roots_are_the_best_that_the_client_names() {
    for (params, root) in [
        (
            json!({ "workspaceFolders": [{ "uri": "file:///a b", "name": "a" }], "rootUri": "file:///c" }),
            Some("/a b"),
        ),
        (json!({ "workspaceFolders": [], "rootUri": "file:///c%20d" }), Some("/c d")),
        (json!({ "rootUri": null, "rootPath": "/e" }), Some("/e")),
        (json!({ "workspaceFolders": null }), None),
    ] {
        let mut client = TestClient::start();
        let mut params = params;
        params["capabilities"] = json!({});
        let answer = client.request("initialize", params).await;
        assert_eq!(answer["result"]["capabilities"]["positionEncoding"], "utf-16");
        let expected = root.map_or(client.home.path(), std::path::Path::new);
        assert_eq!(client.server.workspace().roots(), [expected]);
    }
}

#[tokio::test]
async fn requests_before_initialize_and_after_shutdown_are_refused() {
    let mut client = TestClient::start();
    assert_eq!(code(&client.request("reverie/session/new", json!({})).await), -32002);
    assert_eq!(code(&client.request("no/such/method", json!({})).await), -32002);
    assert_eq!(code(&client.request("shutdown", Value::Null).await), -32002);
    assert_eq!(code(&client.request("initialize", json!(5)).await), -32602);
    // A document opened too early is not taken.
    let document = json!({ "uri": "file:///early", "languageId": "", "version": 1, "text": "" });
    client.notify("textDocument/didOpen", json!({ "textDocument": document })).await;
    assert!(client.request("initialize", json!({ "capabilities": {} })).await.get("result").is_some());
    assert!(client.server.workspace().documents().is_empty());
    assert_eq!(client.request("shutdown", Value::Null).await["result"], Value::Null);
    assert_eq!(code(&client.request("reverie/session/new", json!({})).await), -32600);
    assert_eq!(code(&client.request("shutdown", Value::Null).await), -32600);
    client.notify("exit", Value::Null).await;
    assert_eq!(client.exit_code().await, 0);
}

#[tokio::test]
async fn the_exit_code_tells_whether_the_end_was_orderly() {
    let mut client = TestClient::start();
    client.notify("exit", Value::Null).await;
    assert_eq!(client.exit_code().await, 1, "exit before anything");

    let mut client = TestClient::initialized(json!({})).await;
    client.notify("exit", Value::Null).await;
    assert_eq!(client.exit_code().await, 1, "exit without shutdown");

    let mut client = TestClient::initialized(json!({})).await;
    client.ask("shutdown", Value::Null).await;
    client.notify("exit", Value::Null).await;
    assert_eq!(client.exit_code().await, 0, "exit right behind shutdown");

    assert_eq!(TestClient::start().hang_up().await, 1, "the link closes before anything");
    assert_eq!(TestClient::initialized(json!({})).await.hang_up().await, 1, "the link closes");

    let mut client = TestClient::initialized(json!({})).await;
    client.request("shutdown", Value::Null).await;
    assert_eq!(client.hang_up().await, 0, "the link closes after shutdown");
}

#[tokio::test]
async fn what_was_asked_before_the_input_closed_is_answered() {
    let mut client = TestClient::initialized(json!({})).await;
    let ids =
        [client.ask("reverie/doctor", json!({})).await, client.ask("reverie/models/list", json!({})).await];
    let last_words = client.finish_writing().await;
    for id in ids {
        assert!(last_words.iter().any(|message| message["id"] == id), "{id} in {last_words:?}");
    }
}

#[tokio::test]
async fn the_server_follows_its_parent() {
    let mut parent = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut client = TestClient::start();
    client.request("initialize", json!({ "processId": parent.id(), "capabilities": {} })).await;
    parent.kill().unwrap();
    assert_eq!(client.exit_code().await, 1);
    parent.wait().unwrap();
}

#[tokio::test]
async fn bad_messages_are_answered_and_do_no_harm() {
    let mut client = TestClient::initialized(json!({})).await;
    let frame = |body: &str| format!("Content-Length: {}\r\n\r\n{body}", body.len());
    for (bytes, id, code) in [
        (frame("{"), json!(null), -32700),
        (frame(""), json!(null), -32700),
        (frame("[]"), json!(null), -32600),
        (frame(r#"[{"jsonrpc":"2.0","id":1,"method":"reverie/doctor"}]"#), json!(null), -32600),
        (frame(r#"{"jsonrpc":"2.0","id":77}"#), json!(77), -32600),
        (frame(r#"{"id":"x","method":"reverie/doctor"}"#), json!("x"), -32600),
        (frame(r#"{"jsonrpc":"2.0","id":[1],"method":"reverie/doctor"}"#), json!(null), -32600),
        ("Content-Length: 10000000000\r\n\r\n{}".to_owned(), json!(null), -32700),
        ("Content-Length: -1\r\n\r\n".to_owned(), json!(null), -32700),
        ("no header at all\r\n\r\n".to_owned(), json!(null), -32700),
    ] {
        client.send_bytes(bytes.as_bytes()).await;
        // Frames without an end are only known as such when the next one begins.
        let after = client.ask("reverie/models/list", Value::Null).await;
        let answer = client.receive_where(|message| message.get("error").is_some()).await;
        assert_eq!((&answer["id"], answer["error"]["code"].as_i64()), (&id, Some(code)), "{bytes:?}");
        let answer = client.receive_where(|message| message["id"] == after).await;
        assert!(answer["result"]["models"].is_array(), "{answer}");
    }
    // Answers to questions that were never asked.
    for message in
        [json!({ "id": 5, "result": 1 }), json!({ "id": null, "error": { "code": 1, "message": "" } })]
    {
        let mut message = message;
        message["jsonrpc"] = "2.0".into();
        client.send(&message).await;
    }
    assert!(client.request("reverie/models/list", json!({})).await.get("result").is_some());
}

#[tokio::test]
async fn unknown_methods_and_wrong_params_get_clear_errors() {
    let mut client = TestClient::initialized(json!({})).await;
    assert_eq!(code(&client.request("no/such/method", json!({})).await), -32601);
    assert_eq!(code(&client.request("$/no/such/method", json!({})).await), -32601);
    client.notify("$/no/such/notification", json!({})).await;
    client.notify("no/such/notification", json!({})).await;
    let answer = client.request("reverie/session/prompt", json!({ "sessionId": 1 })).await;
    assert_eq!(
        answer["error"],
        json!({ "code": -32602, "message": "sessionId: invalid type: integer `1`, expected a string" })
    );
    for method in ["cancel", "resume", "delete"] {
        for session in [UNKNOWN_SESSION, "../../etc/passwd"] {
            let answer =
                client.request(&format!("reverie/session/{method}"), json!({ "sessionId": session })).await;
            assert_eq!(answer["error"]["code"], -32001, "{method} {answer}");
            assert_eq!(answer["error"]["data"], json!({ "sessionId": session }));
        }
    }
    let prompt = json!([{ "type": "mention", "uri": "untitled:1" }]);
    let answer = client
        .request("reverie/session/prompt", json!({ "sessionId": UNKNOWN_SESSION, "prompt": prompt }))
        .await;
    assert_eq!(answer["error"]["message"], "prompt: `untitled:1` is not the URI of a local file");
}

#[tokio::test]
async fn commands_mirror_the_requests() {
    let mut client = TestClient::initialized(json!({})).await;
    let answer = client.request("workspace/executeCommand", json!({ "command": "reverie.doctor" })).await;
    assert!(answer["result"]["checks"].is_array(), "{answer}");
    let arguments = json!([{ "sessionId": UNKNOWN_SESSION }]);
    let cancel = json!({ "command": "reverie.session.cancel", "arguments": arguments });
    assert_eq!(code(&client.request("workspace/executeCommand", cancel).await), -32001);
    let unknown = json!({ "command": "reverie.nothing" });
    assert_eq!(code(&client.request("workspace/executeCommand", unknown).await), -32602);
}

#[tokio::test]
async fn settings_are_pulled_without_holding_anything_up() {
    let capabilities = json!({ "workspace": {
        "configuration": true, "didChangeConfiguration": { "dynamicRegistration": true } } });
    let mut client = TestClient::initialized(capabilities).await;
    let registration = client.receive().await;
    assert_eq!(registration["method"], "client/registerCapability");
    let pull = client.receive().await;
    assert_eq!(
        (&pull["method"], &pull["params"]),
        (&json!("workspace/configuration"), &json!({ "items": [{ "section": "reverie" }] }))
    );
    // Neither has been answered yet.
    assert!(client.request("reverie/models/list", json!({})).await.get("result").is_some());
    for question in [registration, pull] {
        client
            .send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": [{ "model": "offline" }] }))
            .await;
    }
    client.notify("workspace/didChangeConfiguration", json!({ "settings": null })).await;
    assert_eq!(client.receive().await["method"], "workspace/configuration");
}
