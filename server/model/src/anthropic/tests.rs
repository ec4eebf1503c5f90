mod bills;

use std::{fs, path::PathBuf, time::Duration};

use bytes::Bytes;
use conversation::{Block, RequestMessage, Role};
use expect_test::{expect, expect_file};
use futures_util::{StreamExt as _, stream};

use super::{stream::Messages, *};
use crate::{
    ClearToolUses, ContextEdits, Event, Keep, QuerySource, Transient,
    test_server::{Reply, TestServer, Then},
    testing::{self, Outcome},
};

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/anthropic")
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(fixtures().join(name)).unwrap()
}

fn decode(chunks: Vec<Vec<u8>>) -> Outcome {
    testing::decode(chunks, Messages::new, "anthropic")
}

#[test]
fn recorded_answers() {
    for path in testing::recordings(&fixtures()) {
        let body = fs::read(&path).unwrap();
        let whole = decode(vec![body.clone()]);
        expect_file![path.with_extension("events")].assert_eq(&whole.print());
        // However the bytes are cut into packets, the events are the same.
        let single: Vec<Vec<u8>> = body.iter().map(|byte| vec![*byte]).collect();
        assert_eq!(decode(single).print(), whole.print(), "{}", path.display());
    }
}

#[test]
fn an_answer_cut_at_any_byte_is_whole_or_can_be_tried_again() {
    for name in ["text.sse", "tools.sse", "thinking.sse", "server_tool.sse", "web_search.sse", "crlf.sse"] {
        let body = fixture(name);
        let whole = decode(vec![body.clone()]);
        let mut complete = 0;
        for length in 0..=body.len() {
            let cut = decode(vec![body[..length].to_vec()]);
            if cut.error.is_none() {
                assert_eq!(cut.print(), whole.print(), "{name} at {length}");
                complete += 1;
            } else {
                assert!(cut.is_broken_stream(), "{name} at {length}: {}", cut.print());
                assert!(whole.events.starts_with(&cut.events), "{name} at {length}");
            }
        }
        assert!((1..4).contains(&complete), "{name}: {complete}");
    }
}

#[test]
fn an_event_without_end_is_given_up() {
    let endless = vec![vec![b'x'; 1024 * 1024]; 9];
    let outcome = decode([vec![b"data: ".to_vec()], endless].concat());
    expect![[r#"
        BrokenStream: the answer from http://server has no end
    "#]]
    .assert_eq(&outcome.print());
}

fn provider(server: &TestServer, patience: Patience) -> Anthropic {
    Anthropic::new(Config {
        base_url: server.base_url.clone(),
        credential: Some(Credential::ApiKey(Secret::new("sk-secret\n"))),
        http: Http::default(),
        patience,
    })
}

fn request(model: &str) -> Request {
    Request {
        model: model.to_owned(),
        system: Vec::new().into(),
        tools: Vec::new().into(),
        messages: vec![RequestMessage { role: Role::User, content: vec![Block::text("hi")] }],
        max_tokens: 10,
        output_schema: None,
        source: QuerySource::Main,
        shared: None,
        context_edits: ContextEdits::default(),
    }
}

async fn ask(server: &TestServer, patience: Patience) -> Outcome {
    testing::collect(provider(server, patience).stream(request("claude-sonnet-4-5")).await).await
}

/// The message with the server's port replaced.
async fn answer(reply: Reply) -> String {
    let server = TestServer::start(vec![reply]).await;
    ask(&server, Patience::default()).await.print().replace(&server.base_url, "http://server")
}

#[tokio::test]
async fn the_request_on_the_wire() {
    let server = TestServer::start(vec![Reply::stream(&fixture("text.sse"), Then::Close)]).await;
    let provider = provider(&server, Patience::default());
    for model in ["claude-sonnet-4-5", "claude-sonnet-4-5[1m]"] {
        let outcome = testing::collect(provider.stream(request(model)).await).await;
        assert!(matches!(outcome.events.last(), Some(Event::Finished { .. })), "{}", outcome.print());
    }
    let requests = server.requests().join("\n\n").replace(&server.base_url[7..], "server").replace('\r', "");
    let version = env!("CARGO_PKG_VERSION");
    expect![[r#"
        POST /v1/messages HTTP/1.1
        content-type: application/json
        anthropic-version: 2023-06-01
        x-api-key: sk-secret
        accept: */*
        user-agent: reverie/VERSION
        host: server
        content-length: 165

        {"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}],"stream":true}

        POST /v1/messages HTTP/1.1
        content-type: application/json
        anthropic-version: 2023-06-01
        anthropic-beta: context-1m-2025-08-07
        x-api-key: sk-secret
        accept: */*
        user-agent: reverie/VERSION
        host: server
        content-length: 165

        {"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}],"stream":true}"#]].assert_eq(&requests.replace(&format!("reverie/{version}"), "reverie/VERSION"));
}

#[tokio::test]
async fn betas_are_joined() {
    let server = TestServer::start(vec![Reply::stream(&fixture("text.sse"), Then::Close)]).await;
    let provider = provider(&server, Patience::default());
    let edits = [
        ContextEdits { clear_tool_uses: Some(ClearToolUses::default()), ..ContextEdits::default() },
        ContextEdits { clear_thinking: Some(Keep::All), ..ContextEdits::default() },
        ContextEdits { cache_deletions: vec!["t".to_owned()], ..ContextEdits::default() },
    ];
    let mut seen = Vec::new();
    for context_edits in edits {
        for model in ["claude-sonnet-4-5", "claude-sonnet-4-5[1m]"] {
            let request = Request { context_edits: context_edits.clone(), ..request(model) };
            testing::collect(provider.stream(request).await).await;
        }
    }
    for request in server.requests() {
        let header = request.lines().find_map(|line| line.strip_prefix("anthropic-beta: "));
        seen.push(header.unwrap_or("none").to_owned());
    }
    assert_eq!(
        seen,
        [
            "context-management-2025-06-27",
            "context-1m-2025-08-07,context-management-2025-06-27",
            "context-management-2025-06-27",
            "context-1m-2025-08-07,context-management-2025-06-27",
            "none",
            "context-1m-2025-08-07",
        ]
    );
}

#[tokio::test]
async fn the_context_is_managed_from_claude_4_on() {
    let server = TestServer::start(Vec::new()).await;
    let provider = provider(&server, Patience::default());
    let supported = |model: &str| provider.supports(model).context_management;
    for model in ["claude-sonnet-4-20250514", "claude-opus-4-1", "claude-haiku-5-5[1m]", "claude-opus-9"] {
        assert!(supported(model), "{model}");
    }
    for model in ["claude-3-7-sonnet-20250219", "claude-3-haiku", "claude-2.1", "claude-instant-1", "private"]
    {
        assert!(!supported(model), "{model}");
    }
    assert!(provider.supports("claude-sonnet-4-5").cache_edits);
}

#[tokio::test]
async fn a_server_without_the_field_names_it() {
    let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"context_management: Extra inputs are not permitted"}}"#;
    expect![[r#"
        Unsupported ContextManagement: anthropic refused the request (400): context_management: Extra inputs are not permitted
    "#]].assert_eq(&answer(Reply::status(400, "content-type: application/json\r\n", body)).await);
}

#[tokio::test]
async fn a_token_goes_into_the_authorization_header() {
    let server = TestServer::start(vec![Reply::stream(&fixture("text.sse"), Then::Close)]).await;
    let provider = Anthropic::new(Config {
        base_url: server.base_url.clone(),
        credential: Some(Credential::Token(Secret::new("token"))),
        http: Http::default(),
        patience: Patience::default(),
    });
    testing::collect(provider.stream(request("m")).await).await;
    let requests = server.requests();
    assert!(requests[0].contains("\r\nauthorization: Bearer token\r\n"), "{}", requests[0]);
    assert!(!requests[0].contains("x-api-key"));
}

#[tokio::test]
async fn the_connection_is_used_again() {
    let body = fixture("tools.sse");
    let replies = vec![Reply::chunked(&body, Then::KeepAlive)];
    let server = TestServer::start(replies).await;
    let provider = provider(&server, Patience::default());
    for _ in 0..5 {
        // As a caller does that stops reading at the end of the answer.
        let mut events = provider.stream(request("m")).await.unwrap();
        while !matches!(events.next().await, Some(Ok(Event::Finished { .. }))) {}
    }
    assert_eq!(server.requests().len(), 5);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn statuses_become_errors_that_say_what_to_do() {
    let body = r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
    expect![[r#"
        auth: the API key was refused by http://server (401): invalid x-api-key; set ANTHROPIC_API_KEY to a valid key (or ANTHROPIC_AUTH_TOKEN to a valid token) and start again
    "#]].assert_eq(&answer(Reply::status(401, "content-type: application/json\r\n", body)).await);
    expect![[r#"
        Overloaded after 7s: anthropic is overloaded (529)
    "#]]
    .assert_eq(&answer(Reply::status(529, "retry-after: 7\r\n", "")).await);
    expect![[r#"
        protocol: http://server answered with a redirection (301); check ANTHROPIC_BASE_URL, which must be the base address of the API
    "#]].assert_eq(&answer(Reply::status(301, "location: https://example.com/\r\n", "")).await);
    let page = Reply::status(200, "content-type: text/html\r\n", "<html>Sign in</html>");
    expect![[r#"
        protocol: http://server answered with a web page instead of a stream; check ANTHROPIC_BASE_URL, which must be the base address of the API
    "#]].assert_eq(&answer(page).await);
    let json = "content-type: application/json\r\n";
    expect![[r#"
        protocol: http://server answered at once instead of with a stream; check ANTHROPIC_BASE_URL, which must be the base address of the API
    "#]].assert_eq(&answer(Reply::status(200, json, r#"{"type":"message"}"#)).await);
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    expect![[r#"
        Overloaded: anthropic is overloaded: Overloaded
    "#]]
    .assert_eq(&answer(Reply::status(200, json, overloaded)).await);
    expect![[r#"
        BrokenStream: the answer from http://server was empty
    "#]]
    .assert_eq(&answer(Reply::status(200, json, "")).await);
    expect![[r#"
        BrokenStream: the answer from http://server was empty
    "#]]
    .assert_eq(&answer(Reply::status(200, "", "")).await);
    let truncated = Reply {
        bytes: b"HTTP/1.1 500 X\r\ncontent-length: 1000\r\n\r\nhalf an expl".to_vec(),
        then: Then::Close,
    };
    expect![[r#"
        ServerError: anthropic had an error of its own (500): half an expl
    "#]]
    .assert_eq(&answer(truncated).await);
    let no_http = Reply { bytes: b"SSH-2.0-OpenSSH\r\n".to_vec(), then: Then::Close };
    expect![[r#"
        Network: the connection to http://server broke before the answer: invalid HTTP version parsed
    "#]]
    .assert_eq(&answer(no_http).await);
    expect![[r#"
        Network: the connection to http://server broke before the answer: connection closed before message completed
    "#]].assert_eq(&answer(Reply { bytes: Vec::new(), then: Then::Close }).await);
}

#[tokio::test]
async fn a_connection_that_breaks_within_a_chunk_can_be_tried_again() {
    let body = fixture("tools.sse");
    let whole = Reply::chunked(&body, Then::Close).bytes;
    let replies: Vec<Reply> = (0..whole.len())
        .step_by(37)
        .map(|length| Reply { bytes: whole[..length].to_vec(), then: Then::Close })
        .collect();
    let count = replies.len();
    let server = TestServer::start(replies).await;
    let provider = provider(&server, Patience::default());
    for _ in 0..count {
        let outcome = testing::collect(provider.stream(request("m")).await).await;
        let finished = matches!(outcome.events.last(), Some(Event::Finished { .. }));
        let transient = matches!(outcome.error, Some(ModelError::Transient { .. }));
        assert!(finished != transient, "{}", outcome.print());
    }
}

#[tokio::test]
async fn a_server_that_falls_silent_is_not_waited_for_for_ever() {
    let short = Duration::from_millis(30);
    let long = Duration::from_secs(600);
    let silent = Reply { bytes: Vec::new(), then: Then::Stall };
    let server = TestServer::start(vec![silent]).await;
    let outcome = ask(&server, Patience { response: short, idle: long, content: long }).await;
    assert!(outcome.is(Transient::Stalled), "{}", outcome.print());

    let body = fixture("text.sse");
    let half = Reply::stream(&body[..body.len() / 2], Then::Stall);
    let server = TestServer::start(vec![half]).await;
    let outcome = ask(&server, Patience { response: long, idle: short, content: long }).await;
    assert!(outcome.is(Transient::Stalled), "{}", outcome.print());
    assert!(matches!(outcome.events.first(), Some(Event::Started { .. })));
}

#[tokio::test]
async fn a_server_that_only_pings_is_not_waited_for_for_ever() {
    let beginning = fixture("text.sse");
    let first_event = beginning.windows(2).position(|pair| pair == b"\n\n").unwrap() + 2;
    let first = Bytes::copy_from_slice(&beginning[..first_event]);
    let ping = Bytes::from_static(b"event: ping\ndata: {\"type\":\"ping\"}\n\n");
    let pings = stream::iter([first]).chain(stream::repeat(ping)).then(|chunk| async {
        tokio::task::yield_now().await;
        Ok(chunk)
    });
    let patience = Patience { content: Duration::from_millis(30), ..Patience::default() };
    let origin = Arc::new(testing::origin("anthropic"));
    let decoder = Messages::new(Arc::clone(&origin));
    let events = sse::events(pings.boxed(), decoder, origin, patience);
    let outcome = testing::collect(Ok(events)).await;
    assert!(outcome.is(Transient::Stalled), "{}", outcome.print());
}

#[tokio::test]
async fn an_unreachable_server_is_named() {
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let config = |base_url: String| Config {
        base_url,
        credential: Some(Credential::ApiKey(Secret::new("k"))),
        http: Http::default(),
        patience: Patience::default(),
    };
    let refused = Anthropic::new(config(format!("http://{address}")));
    let outcome = testing::collect(refused.stream(request("m")).await).await;
    expect![[r#"
        Refused: cannot reach http://host:port: connection refused; check that a server runs there and that ANTHROPIC_BASE_URL is right
    "#]].assert_eq(&outcome.print().replace(&address.to_string(), "host:port"));
    let nonsense = Anthropic::new(config("localhost:8080".to_owned()));
    let outcome = testing::collect(nonsense.stream(request("m")).await).await;
    expect![[r#"
        protocol: localhost:8080 is not a web address; check ANTHROPIC_BASE_URL, which must be the base address of the API
    "#]].assert_eq(&outcome.print());
}

#[tokio::test]
async fn a_missing_or_impossible_key_is_said_before_anything_is_sent() {
    let server = TestServer::start(vec![Reply::status(200, "", "")]).await;
    let with = |credential: Option<Credential>| {
        Anthropic::new(Config {
            base_url: server.base_url.clone(),
            credential,
            http: Http::default(),
            patience: Patience::default(),
        })
    };
    let outcome = testing::collect(with(None).stream(request("m")).await).await;
    expect![[r#"
        auth: no API key for anthropic: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) and start again, or choose the model "offline"
    "#]].assert_eq(&outcome.print());
    let impossible = with(Some(Credential::ApiKey(Secret::new("two\nlines"))));
    let outcome = testing::collect(impossible.stream(request("m")).await).await;
    expect![[r#"
        auth: the API key contains characters that no key has; check ANTHROPIC_API_KEY
    "#]]
    .assert_eq(&outcome.print());
    assert_eq!(server.connections(), 0);
    assert_eq!(format!("{:?}", Credential::ApiKey(Secret::new("hidden"))), "ApiKey(Secret(…))");
}

#[tokio::test]
async fn tokens_are_counted_by_the_provider() {
    let server = TestServer::start(vec![Reply::status(200, "", r#"{"input_tokens":14}"#)]).await;
    let provider = provider(&server, Patience::default());
    assert_eq!(provider.count_tokens(&request("claude-sonnet-4-5")).await.unwrap(), 14);
    assert!(server.requests()[0].starts_with("POST /v1/messages/count_tokens HTTP/1.1\r\n"));
}
