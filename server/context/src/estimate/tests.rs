use conversation::{Flags, StopReason};
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::*;

fn message(body: Body) -> Arc<Message> {
    Arc::new(Message {
        uuid: Uuid::nil(),
        parent: None,
        timestamp: Timestamp::UNIX_EPOCH,
        flags: Flags::default(),
        body,
    })
}

fn user(text: &str) -> Arc<Message> {
    message(Body::User { content: vec![Block::text(text)] })
}

fn result(text: &str) -> Arc<Message> {
    let content = ResultContent::Text(text.to_owned());
    message(Body::User {
        content: vec![Block::ToolResult { tool_use_id: "t".to_owned(), content, is_error: false }],
    })
}

fn assistant(id: Option<&str>, model: &str, input_tokens: u64) -> Arc<Message> {
    let usage = Usage { input_tokens, output_tokens: 10, ..Usage::default() };
    message(Body::Assistant {
        id: id.map(str::to_owned),
        model: model.to_owned(),
        content: vec![Block::text("x".repeat(400))],
        stop_reason: Some(StopReason::ToolUse),
        usage: (input_tokens > 0).then_some(usage),
    })
}

#[test]
fn blocks_by_kind() {
    assert_eq!(tokens_of_text("abcde"), 2);
    assert_eq!(tokens_of_json(&json!({"a": [1, 2]})), 6);
    let blocks = [
        Block::text("12345678"),
        Block::ToolUse { id: "x".to_owned(), name: "Read".to_owned(), input: json!({"file_path": "/a"}) },
        Block::ToolResult {
            tool_use_id: "x".to_owned(),
            content: ResultContent::Blocks(vec![Block::Image {
                source: json!({"data": "A".repeat(90_000)}),
            }]),
            is_error: false,
        },
        Block::Document { source: json!({}) },
        Block::Unknown(json!({"type": "new"})),
    ];
    let each: Vec<u64> = blocks.iter().map(|block| tokens_of_blocks(std::slice::from_ref(block))).collect();
    assert_eq!(each, [2, 1 + 9, 2_000, 2_000, 7]);
}

fn size(thread: &[Arc<Message>]) -> Option<u64> {
    context_tokens(thread, "claude", &Calibration::default())
}

#[test]
fn the_last_usage_counts_and_what_came_after_is_estimated() {
    let thread = [
        user(&"long ".repeat(1_000)),
        assistant(Some("a"), "claude", 500),
        result("12345678"),
        assistant(None, SYNTHETIC_MODEL, 0),
        user("1234"),
    ];
    assert_eq!(size(&thread), Some(510 + 2 + 100 + 1));
}

#[test]
fn synthetic_usage_is_ignored() {
    let thread = [assistant(Some("a"), "claude", 500), assistant(Some("b"), SYNTHETIC_MODEL, 90_000)];
    assert_eq!(size(&thread), Some(510 + 100));
}

#[test]
fn parallel_results_of_one_response_are_counted_once() {
    // One response in three records, its results in between, as transcripts have them.
    let thread = [
        user("question"),
        assistant(Some("a"), "claude", 500),
        result(&"r".repeat(4_000)),
        assistant(Some("a"), "claude", 500),
        result(&"r".repeat(4_000)),
        assistant(Some("a"), "claude", 500),
        result(&"r".repeat(4_000)),
    ];
    assert_eq!(size(&thread), Some(510 + 3_000));
}

#[test]
fn an_earlier_response_with_the_same_id_is_another_one() {
    let thread = [
        assistant(Some("a"), "model", 500),
        result(&"r".repeat(4_000)),
        user("a new question"),
        assistant(Some("a"), "model", 500),
        user("1234"),
    ];
    assert_eq!(size(&thread), Some(510 + 1));
}

#[test]
fn rounds_of_a_server_with_one_id_for_all_are_not_run_together() {
    let thread = [
        user("question"),
        assistant(Some("a"), "model", 500),
        result(&"r".repeat(4_000)),
        assistant(Some("a"), "model", 1_600),
        result("12345678"),
    ];
    assert_eq!(size(&thread), Some(1_610 + 2));
}

#[test]
fn the_results_of_the_response_before_are_in_the_usage_already() {
    let thread = [
        assistant(Some("a"), "claude", 500),
        result(&"r".repeat(4_000)),
        assistant(Some("b"), "claude", 0),
        message(Body::notice("notice", "never sent")),
        result("12345678"),
        assistant(Some("b"), "claude", 1_600),
    ];
    assert_eq!(size(&thread), Some(1_610 + 2));
}

#[test]
fn a_usage_of_nothing_is_no_usage() {
    let mut silent = Message::clone(&assistant(Some("a"), "local", 1));
    if let Body::Assistant { usage, .. } = &mut silent.body {
        *usage = Some(Usage::default());
    }
    assert_eq!(size(&[user("1234"), Arc::new(silent)]), None);
}

fn at(second: i64, message: Arc<Message>) -> Arc<Message> {
    let timestamp = Timestamp::from_second(second).unwrap();
    Arc::new(Message { timestamp, ..Message::clone(&message) })
}

fn boundary() -> Arc<Message> {
    message(Body::notice(COMPACT_BOUNDARY, "compacted"))
}

#[test]
fn a_response_from_before_the_compaction_reports_a_context_that_is_gone() {
    let kept = [at(10, boundary()), at(10, user("summary.")), at(5, assistant(Some("a"), "claude", 150_000))];
    assert_eq!(size(&kept), None);
    let anew =
        [kept.to_vec(), vec![at(11, assistant(Some("b"), "claude", 900)), at(12, user("1234"))]].concat();
    assert_eq!(size(&anew), Some(910 + 1));
    let in_the_same_instant = [at(10, boundary()), at(10, assistant(Some("b"), "claude", 900))];
    assert_eq!(size(&in_the_same_instant), Some(910));
}

#[test]
fn what_was_learnt_scales_what_came_after_the_usage() {
    let words = "and so on, ".repeat(400);
    let mut calibration = Calibration::default();
    for _ in 0..20 {
        calibration.learn("claude", &Composition::of_text(&words), 2_200);
    }
    let thread = [assistant(Some("a"), "claude", 500), user(&words)];
    let size = |model| context_tokens(&thread, model, &calibration).unwrap();
    assert!((2_700..=2_710).contains(&size("claude")), "{}", size("claude"));
    assert_eq!(size("another"), 510 + 1_100);
}

#[test]
fn what_came_between_two_responses_is_observed() {
    let thread = [
        user("question"),
        assistant(Some("a"), "claude", 500),
        result(&"r".repeat(400)),
        assistant(Some("a"), "claude", 500),
        result(&"r".repeat(400)),
        user("and one more thing.."),
        assistant(Some("b"), "claude", 800),
        result("it came after the second response"),
        assistant(Some("b"), "claude", 800),
        user("and so did this"),
    ];
    let composition = Composition { prose: 205.0, ..Composition::default() };
    assert_eq!(observation(&thread), Some(Observation { composition, reported: 800 - 510 }));
}

#[test]
fn the_input_is_what_was_read_from_the_cache_and_written_to_it_too() {
    let mut cached = Message::clone(&assistant(Some("b"), "claude", 1));
    if let Body::Assistant { usage, .. } = &mut cached.body {
        *usage = Some(Usage {
            input_tokens: 3,
            output_tokens: 900,
            cache_read_input_tokens: 510,
            cache_creation_input_tokens: 40,
        });
    }
    let thread = [assistant(Some("a"), "claude", 500), user("1234"), Arc::new(cached)];
    assert_eq!(observation(&thread).unwrap().reported, 43);
}

#[test]
fn nothing_is_observed_where_two_responses_have_nothing_to_do_with_each_other() {
    let first = || assistant(Some("a"), "claude", 500);
    let between = || user("1234");
    let last = |model, input| assistant(Some("b"), model, input);
    assert!(observation(&[first(), between(), last("claude", 600)]).is_some());
    for (why, thread) in [
        ("one response", vec![user("question"), first()]),
        ("no usage", vec![first(), between(), assistant(Some("b"), "claude", 0)]),
        ("another model", vec![first(), between(), last("gpt", 600)]),
        ("it shrank", vec![first(), between(), last("claude", 400)]),
        ("it did not grow", vec![first(), between(), last("claude", 510)]),
        ("compacted", vec![first(), boundary(), between(), last("claude", 600)]),
        ("kept", vec![at(10, boundary()), at(5, first()), between(), at(11, last("claude", 600))]),
    ] {
        assert_eq!(observation(&thread), None, "{why}");
    }
}
