use expect_test::expect;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::*;

fn body(text: &str) -> Value {
    json!({
        "model": "m", "max_tokens": 10, "stream": true,
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": text }] }],
    })
}

/// A request over a plain socket: what the server puts on the wire is seen as it is, its end included.
async fn post(server: &ModelServer, path: &str, body: &Value) -> String {
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nanthropic-version: 2023-06-01\r\nx-api-key: k\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(body.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// The body with the chunk sizes taken out; an end without the last chunk shows as `<cut>`.
fn dechunked(answer: &str) -> String {
    let (head, mut rest) = answer.split_once("\r\n\r\n").unwrap();
    if !head.contains("transfer-encoding: chunked") {
        return rest.to_owned();
    }
    let mut text = String::new();
    loop {
        let Some((size, tail)) = rest.split_once("\r\n") else { return text + "<cut>" };
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return text;
        }
        text.push_str(&tail[..size]);
        rest = &tail[size + 2..];
    }
}

#[tokio::test]
async fn a_reply_is_streamed_as_the_messages_api_does_it() {
    let server = ModelServer::start().await;
    server.reply(Reply::text("hi").and_tool("Read", json!({ "file_path": "/a" })));
    let answer = dechunked(&post(&server, "/v1/messages", &body("x")).await);
    let types: Vec<&str> = answer.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    expect![[r#"
        message_start ping content_block_start content_block_delta content_block_stop content_block_start content_block_delta content_block_delta content_block_delta content_block_stop message_delta message_stop"#]].assert_eq(&types.join(" "));
    assert!(answer.contains(r#""id":"toolu_0001""#) && answer.contains(r#""stop_reason":"tool_use""#));
    server.finish();
}

#[tokio::test]
async fn chat_completions_get_the_same_reply_in_their_own_form() {
    let server = ModelServer::start().await;
    server.reply(Reply::text("hi").and_tool("Read", json!({ "a": 1 })));
    let answer = dechunked(&post(&server, "/v1/chat/completions", &body("x")).await);
    assert!(answer.contains(r#""arguments":"{\"a\":1}""#), "{answer}");
    assert!(answer.contains(r#""finish_reason":"tool_calls""#) && answer.ends_with("data: [DONE]\n\n"));
}

#[tokio::test]
async fn a_cut_breaks_the_connection_at_the_byte_and_at_the_event() {
    let server = ModelServer::start().await;
    let whole = |server: &ModelServer| {
        server.reply(Reply::text("hello"));
        server.reply(Reply::text("hello").cut_after_bytes(100).in_chunks_of(7));
        server.reply(Reply::text("hello").cut_after_events(2));
        server.reply(Reply::text("hello").garbled_before_event(1, &b"\xff\xfe"[..]));
    };
    whole(&server);
    let complete = dechunked(&post(&server, "/v1/messages", &body("x")).await);
    assert!(complete.ends_with("\"message_stop\"}\n\n"));
    let cut = dechunked(&post(&server, "/v1/messages", &body("x")).await);
    assert_eq!(cut.len(), 100 + "<cut>".len());
    let events = dechunked(&post(&server, "/v1/messages", &body("x")).await);
    assert!(events.ends_with("{\"type\":\"ping\"}\n\n<cut>"), "{events}");
    let garbled = post(&server, "/v1/messages", &body("x")).await;
    assert!(garbled.contains("\u{fffd}\u{fffd}"));
}

#[tokio::test]
async fn a_gate_holds_the_rest_of_a_reply_and_tells_when_it_is_reached() {
    let server = ModelServer::start().await;
    let gate = Gate::closed();
    server.reply(Reply::text("hi").pausing_after(2, &gate));
    let request = body("x");
    let (answer, ()) = tokio::join!(post(&server, "/v1/messages", &request), async {
        gate.reached().await;
        gate.open();
    });
    assert!(dechunked(&answer).ends_with("\"message_stop\"}\n\n"));
}

#[tokio::test]
async fn faults_and_unexpected_and_invalid_calls_are_answered_in_words() {
    let server = ModelServer::start().await;
    server.reply(Reply::overloaded());
    let overloaded = post(&server, "/v1/messages", &body("x")).await;
    assert!(overloaded.starts_with("HTTP/1.1 529") && overloaded.contains("retry-after: 0"));
    assert!(post(&server, "/v1/messages", &body("y")).await.starts_with("HTTP/1.1 400"));
    assert!(post(&server, "/v1/messages", &json!({ "model": "m" })).await.starts_with("HTTP/1.1 400"));
    expect![[r#"
        nobody expected this call of main; its last message: y
        an invalid request: max_tokens: must be an integer of at least 1; messages: at least one message is required"#]]
    .assert_eq(&server.take_problems().join("\n"));
}

#[tokio::test]
#[should_panic(expected = "a reply for main was never fetched")]
async fn a_reply_nobody_fetched_fails_the_test() {
    let server = ModelServer::start().await;
    server.reply(Reply::text("hi"));
}

#[tokio::test]
async fn a_program_answers_what_the_script_does_not_and_titles_stand_apart() {
    let server = ModelServer::start().await;
    let mut round = 0;
    server.program(move |_| {
        round += 1;
        Reply::text(format!("round {round}"))
    });
    server.always("title", Reply::text("a title"));
    let mut title = body("x");
    title["system"] = json!("Write a title.");
    assert!(post(&server, "/v1/messages", &title).await.contains("a title"));
    assert!(post(&server, "/v1/messages", &body("x")).await.contains("round 1"));
    assert!(post(&server, "/v1/messages", &body("x")).await.contains("round 2"));
    assert_eq!(server.requests().len(), 3);
    assert_eq!(server.main_requests().len(), 2);
}

#[tokio::test]
async fn a_wrong_key_and_an_unknown_model_are_refused_as_by_the_api() {
    let server = ModelServer::start().await;
    server.require_key("other");
    assert!(post(&server, "/v1/messages", &body("x")).await.contains("authentication_error"));
    server.require_key("k");
    server.know_models(&["n"]);
    assert!(post(&server, "/v1/messages", &body("x")).await.contains("model: m"));
    let count = post(&server, "/v1/messages/count_tokens", &body("x")).await;
    assert!(count.ends_with(r#"{"input_tokens":7}"#), "{count}");
}

#[tokio::test]
async fn a_fork_is_known_by_its_directive_in_every_round() {
    let message = |role: &str, block: Value| json!({ "role": role, "content": [block] });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let result = |text: &str| json!({ "type": "tool_result", "tool_use_id": "t", "content": text });
    let directive = "<reverie-fork kind=\"extraction\">\nwhat is worth a memory?";
    let body = |messages: Vec<Value>| json!({ "tools": [{ "name": "Read" }], "messages": messages });
    assert_eq!(role_of(&body(vec![message("user", text("hi"))])), "main");
    let first = vec![message("user", text("hi")), message("user", text(directive))];
    assert_eq!(role_of(&body(first.clone())), "extraction");
    let second = [first, vec![message("assistant", text("so")), message("user", result("x"))]].concat();
    assert_eq!(role_of(&body(second)), "extraction");
    // A file that shows such a line is no directive.
    assert_eq!(role_of(&body(vec![message("user", result(directive))])), "main");
}

#[tokio::test]
async fn applied_edits_come_at_the_end() {
    let server = ModelServer::start().await;
    let edits = json!([{ "type": "clear_tool_uses_20250919", "cleared_tool_uses": 8 }]);
    server.reply(Reply::text("hi").applied_edits(edits));
    let answer = dechunked(&post(&server, "/v1/messages", &body("x")).await);
    let end = answer.lines().find(|line| line.starts_with(r#"data: {"type":"message_delta""#)).unwrap();
    assert!(end.contains(r#""context_management":{"applied_edits":[{"type":"clear_tool"#), "{end}");
    server.finish();
}

#[tokio::test]
async fn the_context_is_managed_for_those_who_ask_with_the_beta() {
    let server = ModelServer::start().await;
    let mut body = body("x");
    body["context_management"] = json!({ "edits": [{ "type": "clear_tool_uses_20250919" }] });
    let answer = post(&server, "/v1/messages", &body).await;
    assert!(answer.contains("context_management: Extra inputs are not permitted"), "{answer}");
    assert_eq!(server.take_problems().len(), 1);
}
