use std::time::Instant;

use conversation::RequestMessage;
use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::{ClearToolUses, Keep, QuerySource, SystemBlock};

fn request(messages: Vec<RequestMessage>) -> Request {
    Request {
        model: "claude-sonnet-4-5[1m]".to_owned(),
        system: Vec::new().into(),
        tools: Vec::new().into(),
        messages,
        max_tokens: 1024,
        output_schema: None,
        source: QuerySource::Main,
        shared: None,
        context_edits: ContextEdits::default(),
    }
}

fn message(role: Role, content: Vec<Block>) -> RequestMessage {
    RequestMessage { role, content }
}

fn check(request: &Request, expected: Expect) {
    let bytes = body(request).unwrap();
    assert_eq!(bytes, body(request).unwrap());
    expected.assert_eq(&String::from_utf8(bytes).unwrap());
}

#[test]
fn the_order_of_keys_is_fixed() {
    let block = |text: &str, ends_static_part| SystemBlock { text: text.to_owned(), ends_static_part };
    let request = Request {
        system: vec![block("static", true), block("", false), block("dynamic", false)].into(),
        tools: vec![ToolDefinition {
            name: "Read".to_owned(),
            description: "reads".to_owned(),
            input_schema: json!({"type": "object", "properties": {"b": {}, "a": {}}}),
        }]
        .into(),
        ..request(vec![message(Role::User, vec![Block::text("hi \"you\"\n")])])
    };
    check(
        &request,
        expect![[
            r#"{"model":"claude-sonnet-4-5","max_tokens":1024,"tools":[{"name":"Read","description":"reads","input_schema":{"type":"object","properties":{"b":{},"a":{}}}}],"system":[{"type":"text","text":"static","cache_control":{"type":"ephemeral"}},{"type":"text","text":"dynamic","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi \"you\"\n","cache_control":{"type":"ephemeral"}}]}],"stream":true}"#
        ]],
    );
    expect![[r#"{"model":"claude-sonnet-4-5","tools":[{"name":"Read","description":"reads","input_schema":{"type":"object","properties":{"b":{},"a":{}}}}],"system":[{"type":"text","text":"static","cache_control":{"type":"ephemeral"}},{"type":"text","text":"dynamic","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi \"you\"\n","cache_control":{"type":"ephemeral"}}]}]}"#]]
    .assert_eq(&String::from_utf8(count_body(&request).unwrap()).unwrap());
}

#[test]
fn blocks_of_every_kind() {
    let image = json!({"type": "base64", "media_type": "image/png", "data": "AA=="});
    let tool_result = |id: &str, content: ResultContent, is_error| Block::ToolResult {
        tool_use_id: id.to_owned(),
        content,
        is_error,
    };
    let thinking =
        |signature: &str| Block::Thinking { thinking: String::new(), signature: signature.to_owned() };
    check(
        &request(vec![
            message(
                Role::User,
                vec![Block::text(""), Block::text(" \n"), Block::Image { source: image.clone() }],
            ),
            message(Role::User, vec![Block::text("")]),
            message(
                Role::Assistant,
                vec![
                    thinking("signed"),
                    thinking(""),
                    Block::RedactedThinking { data: "secret".to_owned() },
                    Block::text("text "),
                    Block::ToolUse {
                        id: "functions.Read:0".to_owned(),
                        name: "Read".to_owned(),
                        input: json!(null),
                    },
                    Block::ToolUse {
                        id: "toolu_1".to_owned(),
                        name: "Read".to_owned(),
                        input: json!({"z": 1, "a": 2}),
                    },
                    Block::Unknown(
                        json!({"type": "server_tool_use", "id": "s", "cache_control": {"type": "ephemeral"}}),
                    ),
                ],
            ),
            message(
                Role::User,
                vec![
                    tool_result("functions.Read:0", ResultContent::Text(String::new()), true),
                    tool_result("toolu_1", ResultContent::Text("output".to_owned()), false),
                    tool_result(
                        "toolu_2",
                        ResultContent::Blocks(vec![
                            Block::text(""),
                            Block::text("a"),
                            Block::Image { source: image },
                        ]),
                        false,
                    ),
                    tool_result("toolu_3", ResultContent::Blocks(vec![Block::text("")]), false),
                    Block::Document {
                        source: json!({"type": "text", "media_type": "text/plain", "data": "d"}),
                    },
                ],
            ),
        ]),
        expect![[
            r#"{"model":"claude-sonnet-4-5","max_tokens":1024,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="},"cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"signed"},{"type":"redacted_thinking","data":"secret"},{"type":"text","text":"text "},{"type":"tool_use","id":"functions_Read_0","name":"Read","input":{}},{"type":"tool_use","id":"toolu_1","name":"Read","input":{"z":1,"a":2}},{"type":"server_tool_use","id":"s"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions_Read_0","content":"(no output)","is_error":true},{"type":"tool_result","tool_use_id":"toolu_1","content":"output"},{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]},{"type":"tool_result","tool_use_id":"toolu_3","content":"(no output)"},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"},"cache_control":{"type":"ephemeral"}}]}],"stream":true}"#
        ]],
    );
}

#[test]
fn the_providers_own_search_and_its_blocks() {
    let call = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}, "caller": {"type": "direct"}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "web_search_result", "url": "u", "encrypted_content": "e==", "page_age": null}]});
    let request = Request {
        tools: vec![ToolDefinition::web_search(5)].into(),
        ..request(vec![
            message(Role::User, vec![Block::text("hi")]),
            message(
                Role::Assistant,
                vec![Block::text("so"), Block::Unknown(call), Block::Unknown(found), Block::text("it is ")],
            ),
        ])
    };
    check(
        &request,
        expect![[
            r#"{"model":"claude-sonnet-4-5","max_tokens":1024,"tools":[{"name":"web_search","type":"web_search_20250305","max_uses":5}],"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"},"caller":{"type":"direct"}},{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","url":"u","encrypted_content":"e==","page_age":null}]},{"type":"text","text":"it is","cache_control":{"type":"ephemeral"}}]}],"stream":true}"#
        ]],
    );
}

#[test]
fn documents_and_images_in_results() {
    let content = ResultContent::Blocks(vec![
        Block::Image { source: json!({"type": "base64", "media_type": "image/png", "data": "AA=="}) },
        Block::Document {
            source: json!({"type": "base64", "media_type": "application/pdf", "data": "AA=="}),
        },
    ]);
    let result = Block::ToolResult { tool_use_id: "t".to_owned(), content, is_error: false };
    check(
        &request(vec![message(Role::User, vec![result])]),
        expect![[
            r#"{"model":"claude-sonnet-4-5","max_tokens":1024,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AA=="}}],"cache_control":{"type":"ephemeral"}}]}],"stream":true}"#
        ]],
    );
}

fn results(ids: &[&str]) -> Vec<Block> {
    let result = |id: &&str| Block::ToolResult {
        tool_use_id: (*id).to_owned(),
        content: ResultContent::Text("output".to_owned()),
        is_error: false,
    };
    ids.iter().map(result).collect()
}

#[test]
fn what_the_provider_is_to_leave_out() {
    let hi = || request(vec![message(Role::User, vec![Block::text("hi")])]);
    let with = |context_edits: ContextEdits| Request { context_edits, ..hi() };
    check(
        &with(ContextEdits {
            clear_tool_uses: Some(ClearToolUses::default()),
            clear_thinking: Some(Keep::Turns(1)),
            ..ContextEdits::default()
        }),
        expect![[
            r#"{"model":"claude-sonnet-4-5","max_tokens":1024,"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}],"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":{"type":"thinking_turns","value":1}},{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":180000},"clear_at_least":{"type":"input_tokens","value":140000}}]},"stream":true}"#
        ]],
    );
    check(
        &with(ContextEdits { clear_thinking: Some(Keep::All), ..ContextEdits::default() }),
        expect![[
            r#"{"model":"claude-sonnet-4-5","max_tokens":1024,"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}],"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"stream":true}"#
        ]],
    );
    // Counting is about the whole conversation, and an id without a result about nothing.
    let all = ContextEdits {
        clear_tool_uses: Some(ClearToolUses::default()),
        clear_thinking: Some(Keep::All),
        cache_deletions: vec!["toolu_gone".to_owned()],
    };
    assert_eq!(count_body(&with(all.clone())).unwrap(), count_body(&hi()).unwrap());
    let gone = ContextEdits { cache_deletions: all.cache_deletions, ..ContextEdits::default() };
    assert_eq!(body(&with(gone)).unwrap(), body(&hi()).unwrap());
}

#[test]
fn deleted_results_are_named_behind_all_that_is_cached() {
    let conversation = |prompts: &[&str]| {
        let prompts = prompts.iter().map(|prompt| Block::text(*prompt));
        vec![
            message(Role::User, vec![Block::text("prompt")]),
            message(Role::User, results(&["a:1", "b", "c"])),
            message(Role::User, prompts.collect()),
            message(Role::Assistant, vec![Block::text("so")]),
        ]
    };
    let cache_deletions = vec!["c".to_owned(), "a:1".to_owned(), "gone".to_owned(), "c".to_owned()];
    let context_edits = ContextEdits { cache_deletions, ..ContextEdits::default() };
    let request = |messages| Request { context_edits: context_edits.clone(), ..request(messages) };
    check(
        &request(conversation(&["one", "two"])),
        expect![[
            r#"{"model":"claude-sonnet-4-5","max_tokens":1024,"messages":[{"role":"user","content":[{"type":"text","text":"prompt"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a_1","content":"output","cache_reference":"a_1"},{"type":"tool_result","tool_use_id":"b","content":"output"},{"type":"tool_result","tool_use_id":"c","content":"output","cache_reference":"c"}]},{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two","cache_control":{"type":"ephemeral"}},{"type":"cache_edits","edits":[{"type":"delete","cache_reference":"c"},{"type":"delete","cache_reference":"a_1"}]}]},{"role":"assistant","content":[{"type":"text","text":"so","cache_control":{"type":"ephemeral"}}]}],"stream":true}"#
        ]],
    );
    check(
        &request(conversation(&[" "])),
        expect![[
            r#"{"model":"claude-sonnet-4-5","max_tokens":1024,"messages":[{"role":"user","content":[{"type":"text","text":"prompt"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a_1","content":"output","cache_reference":"a_1"},{"type":"tool_result","tool_use_id":"b","content":"output"},{"type":"tool_result","tool_use_id":"c","content":"output","cache_reference":"c","cache_control":{"type":"ephemeral"}},{"type":"cache_edits","edits":[{"type":"delete","cache_reference":"c"},{"type":"delete","cache_reference":"a_1"}]}]},{"role":"assistant","content":[{"type":"text","text":"so","cache_control":{"type":"ephemeral"}}]}],"stream":true}"#
        ]],
    );
}

#[test]
fn a_continued_answer_ends_without_blanks() {
    check(
        &request(vec![
            message(Role::User, vec![Block::text("go on ")]),
            message(Role::Assistant, vec![Block::text("first "), Block::text("half \n")]),
        ]),
        expect![[
            r#"{"model":"claude-sonnet-4-5","max_tokens":1024,"messages":[{"role":"user","content":[{"type":"text","text":"go on ","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"text","text":"first "},{"type":"text","text":"half","cache_control":{"type":"ephemeral"}}]}],"stream":true}"#
        ]],
    );
}

#[test]
fn the_prefix_does_not_change_when_the_conversation_grows() {
    let unmarked = |request: &Request| {
        let text = String::from_utf8(body(request).unwrap()).unwrap();
        text.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
    };
    let mut messages = vec![message(Role::User, vec![Block::text("prompt")])];
    let mut before = unmarked(&request(messages.clone()));
    for round in 0..10 {
        let id = format!("t{round}");
        let call = Block::ToolUse { id: id.clone(), name: "Read".to_owned(), input: json!({"n": round}) };
        let content = ResultContent::Text(format!("{round}"));
        messages.push(message(Role::Assistant, vec![call]));
        messages
            .push(message(Role::User, vec![Block::ToolResult { tool_use_id: id, content, is_error: false }]));
        let after = unmarked(&request(messages.clone()));
        let prefix = before.strip_suffix(r#"],"stream":true}"#).unwrap();
        assert!(after.starts_with(prefix));
        before = after;
    }
}

/// Not a benchmark: a guard against copying the conversation or worse. The figure goes to the output.
#[test]
fn a_long_conversation_is_written_quickly() {
    let mut messages = Vec::new();
    for round in 0..1_000 {
        messages
            .push(message(Role::User, vec![Block::text("fn main() { println!(\"hello\"); }\n".repeat(12))]));
        let input = json!({"file_path": format!("/src/{round}.rs"), "limit": 100});
        let call = Block::ToolUse { id: format!("t{round}"), name: "Read".to_owned(), input };
        messages.push(message(Role::Assistant, vec![Block::text("I see."), call]));
    }
    let request = request(messages);
    let write = || {
        let started = Instant::now();
        let bytes = body(&request).unwrap();
        (started.elapsed(), bytes.len())
    };
    let (fastest, bytes) = (0..10).map(|_| write()).min().unwrap();
    println!("{bytes} bytes in {fastest:?}");
    assert!(fastest.as_millis() < 500);
}
