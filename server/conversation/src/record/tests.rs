use expect_test::expect;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    message::{Attachment, Body, Flags, ResultContent, StopReason},
    sample::{self, assistant, tool_use, user},
};

fn stamp() -> Stamp {
    Stamp {
        session: SessionId::parse("3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11").unwrap(),
        cwd: "/home/ada/engine".into(),
        version: "0.1.0".to_owned(),
        git_branch: Some("main".to_owned()),
    }
}

fn line(record: &Record) -> String {
    let mut line = Vec::new();
    encode(record, &stamp(), &mut line).unwrap();
    String::from_utf8(line).unwrap()
}

#[test]
fn records_have_claude_codes_shape() {
    let mut boundary = Message::clone(&sample::system(3, COMPACT_BOUNDARY));
    boundary.flags = Flags::default();
    let mut note = Message::clone(&sample::attachment(4, "<system-reminder>x</system-reminder>"));
    note.flags.meta = true;
    let records = [
        Record::Message(user(1, "go")),
        Record::Message(assistant(2, "msg_1", vec![tool_use("t1")])),
        Record::Message(Arc::new(boundary)),
        Record::Message(Arc::new(note)),
        Record::Title("The engine".to_owned()),
        Record::GeneratedTitle("Building the engine".to_owned()),
        Record::Cost(CostState {
            models: BTreeMap::from([(
                "a/b".to_owned(),
                ModelCost { usage: Usage::default(), cost_usd: 0.25 },
            )]),
            sources: BTreeMap::from([("main".to_owned(), ModelCost::default())]),
        }),
        Record::ReadFiles(json!([{ "path": "/a" }])),
        Record::Prefix(Prefix {
            model: "a/b".to_owned(),
            system: json!([{ "text": "s" }]),
            tools: json!([]),
            context: vec![Block::text("c")],
            instructions: serde_json::Value::Null,
            boundary: None,
        }),
        Record::Mode("plan".to_owned()),
        Record::ModelChoice("a/b".to_owned()),
        Record::Head { uuid: Some(sample::uuid(2)) },
        Record::Head { uuid: None },
        Record::ForkedFrom(ForkedFrom { session: stamp().session, message: Some(sample::uuid(2)) }),
        Record::Branches(3),
        Record::Checkpoint(json!({ "id": 7 })),
        Record::Unknown(json!({ "type": "later", "x": 1 })),
    ];
    let lines: String = records.iter().map(line).collect();
    expect![[r#"
        {"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/home/ada/engine","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","version":"0.1.0","gitBranch":"main","type":"user","message":{"role":"user","content":[{"type":"text","text":"go"}]},"uuid":"11110000-0000-4000-8000-000000000001","timestamp":"2025-06-15T15:06:41Z","reverieFormat":1}
        {"parentUuid":"11110000-0000-4000-8000-000000000001","isSidechain":false,"userType":"external","cwd":"/home/ada/engine","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","version":"0.1.0","gitBranch":"main","type":"assistant","message":{"model":"claude","id":"msg_1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}}],"stop_reason":null,"stop_sequence":null},"uuid":"11110000-0000-4000-8000-000000000002","timestamp":"2025-06-15T15:06:42Z","reverieFormat":1}
        {"parentUuid":null,"logicalParentUuid":"11110000-0000-4000-8000-000000000002","isSidechain":false,"userType":"external","cwd":"/home/ada/engine","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","version":"0.1.0","gitBranch":"main","type":"system","subtype":"compact_boundary","content":"note","level":"info","uuid":"11110000-0000-4000-8000-000000000003","timestamp":"2025-06-15T15:06:43Z","reverieFormat":1}
        {"parentUuid":"11110000-0000-4000-8000-000000000003","isSidechain":false,"userType":"external","cwd":"/home/ada/engine","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","version":"0.1.0","gitBranch":"main","type":"attachment","attachment":{"type":"editor","text":"<system-reminder>x</system-reminder>"},"isMeta":true,"uuid":"11110000-0000-4000-8000-000000000004","timestamp":"2025-06-15T15:06:44Z","reverieFormat":1}
        {"type":"custom-title","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","reverieFormat":1,"customTitle":"The engine"}
        {"type":"ai-title","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","reverieFormat":1,"aiTitle":"Building the engine"}
        {"type":"reverie-cost","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","reverieFormat":1,"models":{"a/b":{"usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0},"cost_usd":0.25}},"sources":{"main":{"usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0},"cost_usd":0.0}}}
        {"type":"reverie-read-files","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","reverieFormat":1,"files":[{"path":"/a"}]}
        {"type":"reverie-prefix","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","reverieFormat":1,"model":"a/b","system":[{"text":"s"}],"tools":[],"context":[{"type":"text","text":"c"}]}
        {"type":"reverie-mode","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","reverieFormat":1,"mode":"plan"}
        {"type":"reverie-model","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","reverieFormat":1,"model":"a/b"}
        {"type":"reverie-head","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","reverieFormat":1,"headUuid":"11110000-0000-4000-8000-000000000002"}
        {"type":"reverie-head","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","reverieFormat":1,"headUuid":null}
        {"type":"reverie-forked-from","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","reverieFormat":1,"fromSession":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","fromMessage":"11110000-0000-4000-8000-000000000002"}
        {"type":"reverie-branches","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","reverieFormat":1,"count":3}
        {"type":"reverie-checkpoint","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","reverieFormat":1,"checkpoint":{"id":7}}
        {"type":"later","x":1}
    "#]]
    .assert_eq(&lines);
    for record in records {
        assert_eq!(decode(line(&record).as_bytes()).unwrap(), record);
    }
}

#[test]
fn what_waits_is_written_as_claude_codes_queue() {
    let turn = || "turn-1".to_owned();
    let records =
        [Record::Queued { turn: turn(), text: "and \"then\"".to_owned() }, Record::Dequeued { turn: turn() }];
    let mut lines = String::new();
    for record in &records {
        let line = line(record);
        assert_eq!(decode(line.as_bytes()).unwrap(), *record);
        let (before, after) = line.split_once(r#""timestamp":""#).unwrap();
        let (timestamp, after) = after.split_once('"').unwrap();
        timestamp.parse::<jiff::Timestamp>().unwrap();
        lines += &format!("{before}\"timestamp\":\"…\"{after}");
    }
    expect![[r#"
        {"type":"queue-operation","operation":"enqueue","timestamp":"…","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","content":"and \"then\"","turnId":"turn-1","reverieFormat":1}
        {"type":"queue-operation","operation":"dequeue","timestamp":"…","sessionId":"3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11","turnId":"turn-1","reverieFormat":1}
    "#]].assert_eq(&lines);
}

#[test]
fn a_record_whose_fields_have_other_types_is_read_as_far_as_it_goes() {
    let line = json!({
        "type": "assistant", "uuid": "not-a-uuid", "parentUuid": 7, "isSidechain": "no", "isMeta": null,
        "timestamp": "yesterday",
        "message": { "model": "m", "content": [
            { "type": "text", "text": "a", "citations": null },
            { "type": "server_tool_use", "id": "s", "caller": null },
            { "type": "tool_result", "tool_use_id": "t", "is_error": null },
            5,
        ], "usage": { "input_tokens": 3, "output_tokens": null, "cache_read_input_tokens": null } },
    });
    let Record::Message(message) = decode(line.to_string().as_bytes()).unwrap() else { panic!() };
    let body = Body::Assistant {
        id: None,
        model: "m".to_owned(),
        content: vec![
            Block::text("a"),
            Block::Unknown(json!({ "type": "server_tool_use", "id": "s", "caller": null })),
            Block::ToolResult {
                tool_use_id: "t".to_owned(),
                content: ResultContent::default(),
                is_error: false,
            },
            Block::Unknown(json!(5)),
        ],
        stop_reason: None,
        usage: Some(Usage { input_tokens: 3, ..Usage::default() }),
    };
    assert_eq!((&message.body, message.parent, message.uuid), (&body, None, identity(b"not-a-uuid")));
}

#[test]
fn what_is_no_message_of_ours_is_kept_as_it_is() {
    for line in [
        r#"{"type":"queue-operation","operation":"enqueue"}"#,
        r#"{"type":"queue-operation","operation":"enqueue","content":"of another program"}"#,
        r#"{"type":"queue-operation","operation":"enqueue","turnId":"t","content":7}"#,
        r#"{"type":"queue-operation","operation":"popAll","turnId":"t"}"#,
        r#"{"type":"reverie-mode"}"#,
        r#"{"a":1}"#,
        r#"{"type":"reverie-cost","models":7}"#,
    ] {
        assert_eq!(decode(line.as_bytes()).unwrap(), Record::Unknown(serde_json::from_str(line).unwrap()));
    }
    assert!(matches!(decode(b"[1]"), Err(DecodeError::Json(_))));
    assert!(matches!(decode(br#"{"type":"user","uuid":"1"}"#), Err(DecodeError::NoContent)));
}

#[test]
fn messages_made_locally_have_no_id_and_no_usage() {
    let body = Body::Assistant {
        id: None,
        model: crate::SYNTHETIC_MODEL.to_owned(),
        content: vec![Block::text("cancelled")],
        stop_reason: None,
        usage: None,
    };
    let record = Record::Message(sample::message(1, body));
    let line = line(&record);
    assert!(
        line.contains(r#""usage":{"input_tokens":0"#),
        "Claude Code reads the usage of every response: {line}"
    );
    assert_eq!(decode(line.as_bytes()).unwrap(), record);
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((".{0,4}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn block() -> impl Strategy<Value = Block> {
    let flat = prop_oneof![
        ".{0,20}".prop_map(Block::text),
        (".{0,9}", ".{0,9}").prop_map(|(thinking, signature)| Block::Thinking { thinking, signature }),
        ".{0,9}".prop_map(|data| Block::RedactedThinking { data }),
        (".{0,9}", ".{0,9}", json_value()).prop_map(|(id, name, input)| Block::ToolUse { id, name, input }),
        json_value().prop_map(|source| Block::Image { source }),
        json_value().prop_map(|source| Block::Document { source }),
        json_value().prop_map(|value| Block::Unknown(json!({ "type": "of a later year", "value": value }))),
    ];
    let result = prop_oneof![
        ".{0,20}".prop_map(ResultContent::Text),
        prop::collection::vec(flat.clone(), 0..3).prop_map(ResultContent::Blocks),
    ];
    let result = (".{0,9}", result, any::<bool>())
        .prop_map(|(tool_use_id, content, is_error)| Block::ToolResult { tool_use_id, content, is_error });
    prop_oneof![4 => flat, 1 => result]
}

pub(crate) fn message() -> impl Strategy<Value = Message> {
    let stop = prop_oneof![
        Just(StopReason::EndTurn),
        Just(StopReason::ToolUse),
        Just(StopReason::MaxTokens),
        "[a-z]{9}".prop_map(StopReason::Other)
    ];
    let usage = (any::<u32>(), any::<u32>()).prop_map(|(input, output)| Usage {
        input_tokens: input.into(),
        output_tokens: output.into(),
        ..Usage::default()
    });
    let blocks = || prop::collection::vec(block(), 0..4);
    let body = prop_oneof![
        blocks().prop_map(|content| Body::User { content }),
        (
            ".{0,9}",
            proptest::option::of(".{1,9}"),
            blocks(),
            proptest::option::of(stop),
            proptest::option::of(usage)
        )
            .prop_map(|(model, id, content, stop_reason, usage)| Body::Assistant {
                id,
                model,
                content,
                stop_reason,
                usage
            }),
        ("[a-z]{1,5}", ".{0,9}").prop_map(|(subtype, text)| Body::notice(&subtype, text)),
        (".{0,9}", ".{0,9}").prop_map(|(kind, text)| Body::Attachment(Attachment { kind, text })),
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let timestamp = 0..4_000_000_000_000_000_000_i128;
    (any::<u128>(), proptest::option::of(1..u128::MAX), timestamp, flags, body).prop_map(
        |(uuid, parent, nanoseconds, (meta, sidechain, compact_summary), body)| Message {
            uuid: Uuid::from_u128(uuid),
            parent: parent.map(Uuid::from_u128),
            timestamp: jiff::Timestamp::from_nanosecond(nanoseconds).unwrap(),
            flags: Flags { meta, sidechain, compact_summary },
            body,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_message_comes_back_as_it_was(message in message()) {
        let record = Record::Message(Arc::new(message));
        prop_assert_eq!(decode(line(&record).as_bytes()).unwrap(), record);
    }

    #[test]
    fn the_short_way_and_the_long_way_agree(message in message()) {
        let record = Record::Message(Arc::new(message));
        // A duplicate of a field that both ways ignore sends the line the long way round.
        let long = line(&record).replacen("\"isSidechain\":", "\"isMeta\":null,\"isSidechain\":", 1);
        let without_meta = |mut record: Record| {
            if let Record::Message(message) = &mut record {
                Arc::make_mut(message).flags.meta = false;
            }
            record
        };
        let Ok(read) = decode(long.as_bytes()) else { return Ok(()) };
        prop_assert_eq!(without_meta(read), without_meta(record));
    }
}
