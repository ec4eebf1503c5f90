use std::{fs, path::PathBuf};

use conversation::{Block, RequestMessage, ResultContent, Role};
use expect_test::{expect, expect_file};
use serde_json::json;

use super::*;
use crate::{
    ContextEdits, Event, QuerySource, SystemBlock, ToolDefinition,
    test_server::{Reply, TestServer, Then},
    testing::{self, Outcome},
};

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/openai")
}

fn decode(chunks: Vec<Vec<u8>>) -> Outcome {
    testing::decode(chunks, |origin| stream::Completion::new(origin, HashSet::new()), "openai")
}

#[test]
fn recorded_answers() {
    for path in testing::recordings(&fixtures()) {
        let body = fs::read(&path).unwrap();
        let whole = decode(vec![body.clone()]);
        expect_file![path.with_extension("events")].assert_eq(&whole.print());
        let single: Vec<Vec<u8>> = body.iter().map(|byte| vec![*byte]).collect();
        assert_eq!(decode(single).print(), whole.print(), "{}", path.display());
    }
}

#[test]
fn an_answer_cut_at_any_byte_is_whole_or_can_be_tried_again() {
    for name in ["text.sse", "tool_calls.sse", "reasoning.sse"] {
        let body = fs::read(fixtures().join(name)).unwrap();
        let whole = decode(vec![body.clone()]);
        for length in 0..=body.len() {
            let cut = decode(vec![body[..length].to_vec()]);
            match (cut.events.last(), whole.events.last()) {
                // Usage comes last of all and may be missing.
                (
                    Some(Event::Finished { stop_reason, .. }),
                    Some(Event::Finished { stop_reason: said, .. }),
                ) => {
                    assert_eq!(stop_reason, said);
                    assert_eq!(cut.events.len(), whole.events.len(), "{name} at {length}");
                }
                _ => {
                    assert!(cut.is_broken_stream(), "{name} at {length}: {}", cut.print());
                    let called = cut.events.iter().any(|event| {
                        matches!(event, Event::BlockStarted { block: Block::ToolUse { .. }, .. })
                    });
                    assert!(!called, "{name} at {length}");
                }
            }
        }
    }
}

fn request() -> Request {
    let message = |role, content| RequestMessage { role, content };
    let image = json!({"type": "base64", "media_type": "image/png", "data": "AA=="});
    let system = |text: &str| SystemBlock { text: text.to_owned(), ends_static_part: false };
    let result =
        |id: &str, content| Block::ToolResult { tool_use_id: id.to_owned(), content, is_error: false };
    Request {
        model: "qwen3:8b".to_owned(),
        system: vec![system("one"), system(""), system("two")].into(),
        tools: vec![ToolDefinition {
            name: "Read".to_owned(),
            description: "reads".to_owned(),
            input_schema: json!({"type": "object"}),
        }]
        .into(),
        messages: vec![
            message(Role::User, vec![Block::text("<system-reminder>"), Block::text("hi")]),
            message(
                Role::Assistant,
                vec![
                    Block::Thinking { thinking: "hm".to_owned(), signature: String::new() },
                    Block::ToolUse { id: "a".to_owned(), name: "Read".to_owned(), input: json!({"n": 1}) },
                    Block::ToolUse { id: "b".to_owned(), name: "Read".to_owned(), input: json!(null) },
                ],
            ),
            message(
                Role::User,
                vec![
                    result("a", ResultContent::Text("output".to_owned())),
                    result(
                        "b",
                        ResultContent::Blocks(vec![Block::text("see"), Block::Image { source: image }]),
                    ),
                    Block::text("and?"),
                ],
            ),
            message(Role::Assistant, vec![Block::RedactedThinking { data: "x".to_owned() }]),
            message(Role::Assistant, vec![Block::text("done"), Block::text("really")]),
            message(Role::User, vec![Block::Document { source: json!({}) }]),
        ],
        max_tokens: 10,
        output_schema: None,
        source: QuerySource::Main,
        shared: None,
        context_edits: ContextEdits::default(),
    }
}

#[test]
fn the_body() {
    let body = String::from_utf8(wire::body(&request(), wire::OutputLimit::MaxTokens).unwrap()).unwrap();
    expect![[r#"{"model":"qwen3:8b","messages":[{"role":"system","content":"one\n\ntwo"},{"role":"user","content":"<system-reminder>\n\nhi"},{"role":"assistant","content":"","tool_calls":[{"type":"function","id":"a","function":{"name":"Read","arguments":"{\"n\":1}"}},{"type":"function","id":"b","function":{"name":"Read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"output"},{"role":"tool","tool_call_id":"b","content":"see\n\n(image 1 of the next message)"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},{"type":"text","text":"and?"}]},{"role":"assistant","content":"done\n\nreally"},{"role":"user","content":"(a document, which this model cannot read)"}],"tools":[{"type":"function","function":{"name":"Read","description":"reads","parameters":{"type":"object"}}}],"max_tokens":10,"stream":true,"stream_options":{"include_usage":true}}"#]].assert_eq(&body);
    let limit = wire::OutputLimit::of_server;
    assert_eq!(limit("https://api.openai.com"), wire::OutputLimit::MaxCompletionTokens);
    assert_eq!(limit("http://127.0.0.1:8080"), wire::OutputLimit::MaxTokens);
    assert_eq!(limit("http://notopenai.com"), wire::OutputLimit::MaxTokens);
}

#[test]
fn images_and_documents_of_tools_and_of_the_user() {
    let image = |data: &str| Block::Image {
        source: json!({"type": "base64", "media_type": "image/png", "data": data}),
    };
    let document = |kind: &str, media_type: &str| Block::Document {
        source: json!({"type": kind, "media_type": media_type, "data": "words"}),
    };
    let result = |id: &str, blocks| Block::ToolResult {
        tool_use_id: id.to_owned(),
        content: ResultContent::Blocks(blocks),
        is_error: false,
    };
    let content = vec![
        result("a", vec![image("A"), Block::text("and"), image("B")]),
        result("b", vec![document("base64", "application/pdf"), document("text", "text/plain"), image("C")]),
        result("c", vec![Block::Image { source: json!({}) }]),
        Block::text("look"),
        image("D"),
        document("base64", "application/pdf"),
    ];
    let request = Request {
        tools: vec![ToolDefinition::web_search(5)].into(),
        system: Vec::new().into(),
        messages: vec![RequestMessage { role: Role::User, content }],
        ..request()
    };
    let body = String::from_utf8(wire::body(&request, wire::OutputLimit::MaxTokens).unwrap()).unwrap();
    expect![[r#"{"model":"qwen3:8b","messages":[{"role":"tool","tool_call_id":"a","content":"(image 1 of the next message)\n\nand\n\n(image 2 of the next message)"},{"role":"tool","tool_call_id":"b","content":"(a PDF document, which this model cannot read)\n\nwords\n\n(image 3 of the next message)"},{"role":"tool","tool_call_id":"c","content":""},{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,A"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,B"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,C"}},{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,D"}},{"type":"text","text":"(a PDF document, which this model cannot read)"}]}],"max_tokens":10,"stream":true,"stream_options":{"include_usage":true}}"#]].assert_eq(&body);
}

#[tokio::test]
async fn an_id_that_the_conversation_has_already_is_replaced() {
    let call = |id: &str| format!(r#"{{"id":"{id}","function":{{"name":"Read","arguments":"{{}}"}}}}"#);
    let calls = ["a", "new", "new", ""].map(call).join(",");
    let body = format!(
        r#"{{"id":"x","model":"m","choices":[{{"message":{{"tool_calls":[{calls}]}},"finish_reason":"tool_calls"}}]}}"#
    );
    let reply = Reply::status(200, "content-type: application/json\r\n", &body);
    let server = TestServer::start(vec![reply]).await;
    let outcome = ask(server.base_url.clone(), None).await;
    let ids: Vec<&str> = outcome
        .events
        .iter()
        .filter_map(|event| match event {
            Event::BlockStarted { block: Block::ToolUse { id, .. }, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(HashSet::<&str>::from_iter(ids.iter().copied()).len(), ids.len(), "{ids:?}");
    assert!(ids.contains(&"new") && !ids.contains(&"a") && !ids.contains(&""), "{ids:?}");
}

async fn ask(base_url: String, key: Option<&str>) -> Outcome {
    let key = key.map(Secret::new);
    let config = Config { base_url, key, http: Http::default(), patience: LOCAL_PATIENCE };
    testing::collect(OpenAi::new(config).stream(request()).await).await
}

#[tokio::test]
async fn base_urls_with_and_without_v1_and_an_optional_key() {
    let body = fs::read(fixtures().join("text.sse")).unwrap();
    let server = TestServer::start(vec![Reply::stream(&body, Then::Close)]).await;
    for (suffix, key) in [("", None), ("/", Some("k")), ("/v1", Some("k")), ("/v1/", None)] {
        let outcome = ask(format!("{}{suffix}", server.base_url), key).await;
        assert!(outcome.error.is_none(), "{}", outcome.print());
        let sent = server.requests().pop().unwrap();
        assert!(sent.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{sent}");
        assert_eq!(sent.contains("\r\nauthorization: Bearer k\r\n"), key.is_some());
    }
}

#[tokio::test]
async fn an_answer_that_is_not_streamed_is_taken_whole() {
    let body = "{\n\"id\":\"x\",\"model\":\"m\",\"choices\":[{\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}],\
                \"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}";
    let reply = Reply::status(200, "content-type: application/json\r\n", body);
    let server = TestServer::start(vec![reply]).await;
    expect![[r#"
        started x m Usage { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 }
        0 starts {"type":"text","text":""}
        0 text "Hi"
        0 ends
        finished EndTurn Usage { input_tokens: 3, output_tokens: 1, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 }
    "#]].assert_eq(&ask(server.base_url.clone(), None).await.print());
}

#[tokio::test]
async fn a_server_without_the_model_says_so() {
    let body =
        r#"{"error":{"message":"model \"qwen3:8b\" not found, try pulling it first","type":"api_error"}}"#;
    let server = TestServer::start(vec![Reply::status(404, "", body)]).await;
    expect![[r#"
        model_not_found: openai has no model called qwen3:8b, or the key may not use it (404): model "qwen3:8b" not found, try pulling it first; `reverie doctor` lists the known models, the setting "model" chooses one
    "#]].assert_eq(&ask(server.base_url.clone(), None).await.print());
}
