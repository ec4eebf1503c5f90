use std::{
    collections::VecDeque,
    fs,
    sync::{Mutex, PoisonError},
};

use expect_test::{Expect, expect};
use futures_util::{FutureExt as _, future::BoxFuture, stream};

use super::*;
use crate::{EventStream, anthropic, http::Http, http::Patience, secret::Secret, test_server};

/// Answers from a list and keeps the requests.
#[derive(Default)]
struct Scripted {
    answers: Mutex<VecDeque<Vec<Event>>>,
    requests: Mutex<Vec<Request>>,
}

impl Provider for Scripted {
    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ModelError>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let answer = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap();
        std::future::ready(Ok(stream::iter(answer.into_iter().map(Ok)).boxed())).boxed()
    }
}

fn call(id: &str, query: &str) -> Block {
    Block::Unknown(
        json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": query}}),
    )
}

fn result(id: &str, urls: &[&str]) -> Block {
    let results = urls.iter().map(|url| {
        json!({"type": "web_search_result", "title": format!("Title of {url}"), "url": url, "encrypted_content": "e"})
    });
    let content: Vec<Value> = results.collect();
    Block::Unknown(json!({"type": "web_search_tool_result", "tool_use_id": id, "content": content}))
}

fn answer(blocks: Vec<Block>, stop_reason: StopReason) -> Vec<Event> {
    let usage = Usage { input_tokens: 1, ..Usage::default() };
    let mut events =
        vec![Event::Started { id: "m".to_owned(), model: "c".to_owned(), usage: Usage::default() }];
    for (index, block) in blocks.into_iter().enumerate() {
        let (block, delta) = match block {
            Block::Text { text } => (Block::text(""), Some(Delta::Text(text))),
            block => (block, None),
        };
        events.push(Event::BlockStarted { index, block });
        events.extend(delta.map(|delta| Event::BlockDelta { index, delta }));
        events.push(Event::BlockFinished { index });
    }
    events.push(Event::Finished { stop_reason, usage, applied: Vec::new() });
    events
}

async fn check(answers: Vec<Vec<Event>>, expected: Expect) {
    let provider = Scripted { answers: Mutex::new(answers.into()), ..Scripted::default() };
    let mut steps = Vec::new();
    let found = search(&provider, "claude", "ropey 2", |step| steps.push(step)).await.unwrap();
    let requests = provider.requests.into_inner().unwrap();
    let sent: Vec<String> =
        requests.iter().map(|request| serde_json::to_string(&request.messages).unwrap()).collect();
    expected.assert_eq(&format!("{steps:#?}\n{found:#?}\n{}\n", sent.join("\n")));
}

#[tokio::test]
async fn a_paused_search_is_continued_with_all_that_it_said() {
    check(
        vec![
            answer(
                vec![
                    Block::Thinking { thinking: "hm".to_owned(), signature: "s".to_owned() },
                    Block::text("Looking. "),
                    call("1", "ropey"),
                    result("1", &["https://a", "https://b"]),
                ],
                StopReason::PauseTurn,
            ),
            answer(
                vec![call("2", "ropey 2"), result("2", &["https://a"]), Block::text("It "), Block::text("is out.")],
                StopReason::EndTurn,
            ),
        ],
        expect![[r#"
            [
                Started {
                    id: "1",
                    query: "ropey",
                },
                Finished {
                    id: "1",
                    results: 2,
                },
                Started {
                    id: "2",
                    query: "ropey 2",
                },
                Finished {
                    id: "2",
                    results: 1,
                },
            ]
            Found {
                answer: "Looking. \n\nIt is out.",
                pages: [
                    Page {
                        title: "Title of https://a",
                        url: "https://a",
                    },
                    Page {
                        title: "Title of https://b",
                        url: "https://b",
                    },
                ],
                usage: Usage {
                    input_tokens: 2,
                    output_tokens: 0,
                    cache_read_input_tokens: 0,
                    cache_creation_input_tokens: 0,
                },
                searches: 2,
            }
            [{"role":"user","content":[{"type":"text","text":"Search for: ropey 2"}]}]
            [{"role":"user","content":[{"type":"text","text":"Search for: ropey 2"}]},{"role":"assistant","content":[{"type":"text","text":"Looking. "},{"type":"server_tool_use","id":"1","name":"web_search","input":{"query":"ropey"}},{"type":"web_search_tool_result","tool_use_id":"1","content":[{"type":"web_search_result","title":"Title of https://a","url":"https://a","encrypted_content":"e"},{"type":"web_search_result","title":"Title of https://b","url":"https://b","encrypted_content":"e"}]}]}]
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_search_that_never_ends_is_given_up() {
    let pause = || answer(vec![call("1", "x")], StopReason::PauseTurn);
    let provider =
        Scripted { answers: Mutex::new((0..10).map(|_| pause()).collect()), ..Scripted::default() };
    let found = search(&provider, "claude", "x", drop).await.unwrap();
    assert_eq!(found.searches, 4);
}

#[tokio::test]
async fn a_cut_answer_is_an_error() {
    let mut cut = answer(vec![Block::text("It")], StopReason::EndTurn);
    cut.pop();
    let provider = Scripted { answers: Mutex::new([cut].into()), ..Scripted::default() };
    let error = search(&provider, "claude", "x", drop).await.unwrap_err();
    assert!(matches!(error, ModelError::Transient { kind: crate::Transient::BrokenStream, .. }));
}

#[tokio::test]
async fn a_search_on_the_wire() {
    let body = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/anthropic/web_search.sse")).unwrap();
    let reply = test_server::Reply::stream(&body, test_server::Then::Close);
    let server = test_server::TestServer::start(vec![reply]).await;
    let provider = anthropic::Anthropic::new(anthropic::Config {
        base_url: server.base_url.clone(),
        credential: Some(anthropic::Credential::ApiKey(Secret::new("k"))),
        http: Http::default(),
        patience: Patience::default(),
    });
    let found = search(&provider, "claude-sonnet-4-5", "ropey 2", drop).await.unwrap();
    expect![[r#"
        Found {
            answer: "I'll look.\n\nIt was released in April.",
            pages: [
                Page {
                    title: "ropey - crates.io",
                    url: "https://crates.io/crates/ropey",
                },
                Page {
                    title: "Ropey",
                    url: "https://docs.rs/ropey",
                },
            ],
            usage: Usage {
                input_tokens: 10682,
                output_tokens: 510,
                cache_read_input_tokens: 0,
                cache_creation_input_tokens: 0,
            },
            searches: 2,
        }
    "#]]
    .assert_debug_eq(&found);
    let request = server.requests().remove(0);
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let tools = serde_json::from_str::<Value>(body).unwrap()["tools"].to_string();
    expect![[r#"[{"name":"web_search","type":"web_search_20250305","max_uses":5}]"#]].assert_eq(&tools);
}

#[test]
fn steps_of_blocks() {
    let failed = json!({"type": "web_search_tool_result", "tool_use_id": "1", "content": {"error_code": "unavailable"}});
    let other = json!({"type": "server_tool_use", "id": "1", "name": "code_execution", "input": {}});
    let steps = [
        SearchStep::of(&call("1", "q")),
        SearchStep::of(&result("1", &["https://a"])),
        SearchStep::of(&Block::Unknown(failed)),
        SearchStep::of(&Block::Unknown(other)),
        SearchStep::of(&Block::text("server_tool_use")),
    ];
    expect![[r#"
        [
            Some(
                Started {
                    id: "1",
                    query: "q",
                },
            ),
            Some(
                Finished {
                    id: "1",
                    results: 1,
                },
            ),
            Some(
                Failed {
                    id: "1",
                    code: "unavailable",
                },
            ),
            None,
            None,
        ]
    "#]]
    .assert_debug_eq(&steps);
}

#[test]
fn the_definition_is_restored_as_it_was() {
    let definition = ToolDefinition::web_search(5);
    let stored = serde_json::to_string(&definition).unwrap();
    assert_eq!(serde_json::from_str::<ToolDefinition>(&stored).unwrap(), definition);
    assert!(definition.provider_parameters().is_some());
    let ours = ToolDefinition { input_schema: json!({"type": "object"}), ..definition };
    assert!(ours.provider_parameters().is_none());
}
