use std::collections::HashSet;

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::{
    CacheEffect, ClientCapabilities, ClientRequest, ContextLevel, METHODS, NoticeLevel, PromptPart,
    SessionUpdateParams, StopReason, TodoItem, TodoStatus, ToolDisplay, TurnError, Update, Usage,
    find_method,
};

fn check_wire(value: impl serde::Serialize, expected: Expect) {
    expected.assert_eq(&serde_json::to_string(&value).unwrap());
}

#[test]
fn every_example_parses_as_its_type_and_comes_out_the_same() {
    for method in METHODS {
        (method.check_examples)().unwrap_or_else(|error| panic!("{}: {error}", method.name));
    }
}

#[test]
fn every_method_is_found_by_its_name_once() {
    let names: HashSet<&str> = METHODS.iter().map(|method| method.name).collect();
    assert_eq!(names.len(), METHODS.len());
    assert!(METHODS.iter().all(|method| find_method(method.name).is_some()));
    assert!(find_method("reverie/nothing").is_none());
    for request in ClientRequest::ALL {
        assert_eq!(ClientRequest::from_name(request.name()), Some(*request));
    }
}

#[test]
fn every_method_has_a_sentence_and_schemas_that_name_their_types() {
    let mut generator = schemars::SchemaGenerator::default();
    for method in METHODS {
        assert!(method.doc.ends_with('.') && !method.doc.starts_with(' '), "{}: {}", method.name, method.doc);
        let params = (method.params)(&mut generator);
        assert!(params.as_object().is_some_and(|schema| schema.contains_key("$ref")), "{}", method.name);
        if let Some(result) = method.result {
            assert!(result(&mut generator).as_object().is_some(), "{}", method.name);
        }
    }
}

#[test]
fn every_update_has_its_pinned_shape() {
    let usage = Usage { input_tokens: 1, output_tokens: 2, cache_read_tokens: 3, cache_write_tokens: 4 };
    let updates = vec![
        Update::TextDelta { text: "a".into() },
        Update::ThinkingDelta { text: "b".into() },
        Update::ToolStart { tool_use_id: "t".into(), tool: "Read".into(), input: Value::Null },
        Update::ToolProgress { tool_use_id: "t".into(), text: "c".into() },
        Update::ToolEnd {
            tool_use_id: "t".into(),
            ok: true,
            display: ToolDisplay::Diff { path: "/a".into(), diff: "+".into() },
        },
        Update::ToolEnd {
            tool_use_id: "t".into(),
            ok: false,
            display: ToolDisplay::Terminal {
                command: "ls".into(),
                output: String::new(),
                exit_code: Some(2),
            },
        },
        Update::Usage {
            usage,
            context_used: 5,
            context_window: 6,
            level: ContextLevel::Normal,
            percent_left: 40,
            next_step: "nothing for now".to_owned(),
            cache_hit_rate: 0.5,
            cost_usd: 0.25,
        },
        Update::Context {
            layer: "snip".into(),
            detail: "d".into(),
            tokens_freed: 7,
            cache: CacheEffect::Kept,
            original: None,
        },
        Update::Retry { attempt: 1, delay_ms: 500, reason: "overloaded".into(), discard: true },
        Update::Notice { level: NoticeLevel::Info, text: "n".into() },
        Update::Todo {
            items: vec![TodoItem {
                content: "x".into(),
                status: TodoStatus::InProgress,
                active_form: Some("doing x".into()),
            }],
        },
        Update::Title { title: "T".into() },
        Update::TurnEnd {
            stop_reason: StopReason::EndTurn,
            usage,
            error: None,
            prompt_uuid: Some("p".into()),
            message_uuid: Some("m".into()),
        },
        Update::TurnEnd {
            stop_reason: StopReason::MaxRounds,
            usage,
            error: Some(TurnError { code: "c".into(), message: "m".into() }),
            prompt_uuid: None,
            message_uuid: None,
        },
    ];
    let lines: Vec<String> = updates.iter().map(|update| serde_json::to_string(update).unwrap()).collect();
    for (line, update) in lines.iter().zip(&updates) {
        assert_eq!(&serde_json::from_str::<Update>(line).unwrap(), update);
    }
    expect![[r#"
        {"kind":"textDelta","text":"a"}
        {"kind":"thinkingDelta","text":"b"}
        {"kind":"toolStart","toolUseId":"t","tool":"Read","input":null}
        {"kind":"toolProgress","toolUseId":"t","text":"c"}
        {"kind":"toolEnd","toolUseId":"t","ok":true,"display":{"kind":"diff","path":"/a","diff":"+"}}
        {"kind":"toolEnd","toolUseId":"t","ok":false,"display":{"kind":"terminal","command":"ls","output":"","exitCode":2}}
        {"kind":"usage","usage":{"inputTokens":1,"outputTokens":2,"cacheReadTokens":3,"cacheWriteTokens":4},"contextUsed":5,"contextWindow":6,"level":"normal","percentLeft":40,"nextStep":"nothing for now","cacheHitRate":0.5,"costUsd":0.25}
        {"kind":"context","layer":"snip","detail":"d","tokensFreed":7,"cache":"kept"}
        {"kind":"retry","attempt":1,"delayMs":500,"reason":"overloaded","discard":true}
        {"kind":"notice","level":"info","text":"n"}
        {"kind":"todo","items":[{"content":"x","status":"in_progress","activeForm":"doing x"}]}
        {"kind":"title","title":"T"}
        {"kind":"turnEnd","stopReason":"endTurn","usage":{"inputTokens":1,"outputTokens":2,"cacheReadTokens":3,"cacheWriteTokens":4},"promptUuid":"p","messageUuid":"m"}
        {"kind":"turnEnd","stopReason":"maxRounds","usage":{"inputTokens":1,"outputTokens":2,"cacheReadTokens":3,"cacheWriteTokens":4},"error":{"code":"c","message":"m"}}
    "#]]
    .assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn an_update_outside_a_turn_has_no_turn_id() {
    check_wire(
        SessionUpdateParams {
            session_id: "s".into(),
            turn_id: None,
            seq: 0,
            update: Update::Title { title: "T".into() },
        },
        expect![[r#"{"sessionId":"s","seq":0,"update":{"kind":"title","title":"T"}}"#]],
    );
}

#[test]
fn prompt_parts_are_tagged_by_type() {
    check_wire(
        PromptPart::Image { media_type: "image/png".into(), data: "AA==".into() },
        expect![[r#"{"type":"image","mediaType":"image/png","data":"AA=="}"#]],
    );
}

#[test]
fn capabilities_that_are_not_announced_are_off() {
    let given = r#"{"version": 1, "permissionAsk": true, "later": 1}"#;
    let capabilities: ClientCapabilities = serde_json::from_str(given).unwrap();
    check_wire(
        capabilities,
        expect![[
            r#"{"version":1,"permissionAsk":true,"userAsk":false,"planAsk":false,"documentSave":false,"editorDiagnostics":false,"editorSymbols":false,"trustView":false,"memoryView":false,"inlineMemory":false}"#
        ]],
    );
}
