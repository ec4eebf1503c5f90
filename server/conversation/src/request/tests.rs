use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::pairing::OpenCalls;
use crate::sample::{assistant, attachment, message, result, result_block, system, tool_use, user};

fn check(thread: &[Arc<Message>], expected: Expect) {
    let lines: Vec<String> = request_messages(thread.iter().map(Arc::as_ref))
        .iter()
        .map(|message| serde_json::to_string(message).unwrap() + "\n")
        .collect();
    expected.assert_eq(&lines.concat());
}

#[test]
fn the_users_side_is_one_message_with_results_first_in_call_order() {
    check(
        &[
            user(1, "go"),
            attachment(2, "<system-reminder>a</system-reminder>"),
            assistant(3, "m1", vec![Block::text("reading"), tool_use("t1"), tool_use("t2")]),
            attachment(4, "<system-reminder>b</system-reminder>"),
            result(5, "t2"),
            system(6, "turn_duration"),
            result(7, "t1"),
            user(8, "and then?"),
        ],
        expect![[r#"
            {"role":"user","content":[{"type":"text","text":"go"},{"type":"text","text":"<system-reminder>a</system-reminder>"}]}
            {"role":"assistant","content":[{"type":"text","text":"reading"},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}},{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"/a"}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"result of t1"},{"type":"tool_result","tool_use_id":"t2","content":"result of t2"},{"type":"text","text":"<system-reminder>b</system-reminder>"},{"type":"text","text":"and then?"}]}
        "#]],
    );
}

#[test]
fn records_of_one_response_merge_even_with_results_between_them() {
    check(
        &[
            user(1, "go"),
            assistant(2, "m1", vec![tool_use("t1")]),
            result(3, "t1"),
            assistant(4, "m1", vec![tool_use("t2")]),
            result(5, "t2"),
            assistant(6, "m2", vec![Block::text("done")]),
        ],
        expect![[r#"
            {"role":"user","content":[{"type":"text","text":"go"}]}
            {"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}},{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"/a"}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"result of t1"},{"type":"tool_result","tool_use_id":"t2","content":"result of t2"}]}
            {"role":"assistant","content":[{"type":"text","text":"done"}]}
        "#]],
    );
}

#[test]
fn what_the_api_refuses_is_left_out_or_completed() {
    let thinking = || Block::Thinking { thinking: "hm".to_owned(), signature: "s".to_owned() };
    check(
        &[
            message(
                1,
                Body::User { content: vec![Block::text(" \n"), result_block("t0"), Block::text("go")] },
            ),
            assistant(2, "m1", vec![thinking(), Block::text("")]),
            user(3, "still there?"),
            assistant(4, "m2", vec![thinking(), tool_use("t1"), thinking()]),
            assistant(5, "m3", vec![tool_use("t1"), Block::text("late")]),
            result(6, "t1"),
        ],
        expect![[r#"
            {"role":"user","content":[{"type":"text","text":"go"},{"type":"text","text":"still there?"}]}
            {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"The tool call was interrupted before it finished: there is no result, and it may have had an effect.","is_error":true}]}
            {"role":"assistant","content":[{"type":"tool_use","id":"t1-2","name":"Read","input":{"file_path":"/a"}},{"type":"text","text":"late"}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1-2","content":"result of t1"}]}
        "#]],
    );
}

#[test]
fn ids_are_matched_within_their_round_and_told_apart_in_the_request() {
    check(
        &[
            user(1, "go"),
            assistant(2, "m1", vec![tool_use("call_0"), tool_use("call_1"), tool_use("call_0")]),
            result(3, "call_1"),
            result(4, "call_0"),
            assistant(5, "m2", vec![tool_use("call_0"), tool_use("call_0-2")]),
            result(6, "call_0"),
            assistant(7, "m3", vec![tool_use("call_0")]),
            result(8, "call_0"),
        ],
        expect![[r#"
            {"role":"user","content":[{"type":"text","text":"go"}]}
            {"role":"assistant","content":[{"type":"tool_use","id":"call_0","name":"Read","input":{"file_path":"/a"}},{"type":"tool_use","id":"call_1","name":"Read","input":{"file_path":"/a"}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_0","content":"result of call_0"},{"type":"tool_result","tool_use_id":"call_1","content":"result of call_1"}]}
            {"role":"assistant","content":[{"type":"tool_use","id":"call_0-2","name":"Read","input":{"file_path":"/a"}},{"type":"tool_use","id":"call_0-2-2","name":"Read","input":{"file_path":"/a"}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_0-2","content":"result of call_0"},{"type":"tool_result","tool_use_id":"call_0-2-2","content":"The tool call was interrupted before it finished: there is no result, and it may have had an effect.","is_error":true}]}
            {"role":"assistant","content":[{"type":"tool_use","id":"call_0-3","name":"Read","input":{"file_path":"/a"}}]}
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_0-3","content":"result of call_0"}]}
        "#]],
    );
}

/// Steps from which a thread is built. Call ids are few, so that they clash, dangle and repeat.
#[derive(Clone, Debug)]
enum Step {
    User(String),
    Attachment(String),
    System,
    Assistant { id: u8, text: Option<String>, thinking: bool, calls: Vec<u8>, ended: bool },
    Result(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        "[a-z ]{0,5}".prop_map(Step::User),
        "[a-z]{0,5}".prop_map(Step::Attachment),
        Just(Step::System),
        (
            0..4u8,
            proptest::option::of("[a-z ]{0,4}"),
            any::<bool>(),
            prop::collection::vec(0..12u8, 0..3),
            any::<bool>()
        )
            .prop_map(|(id, text, thinking, calls, ended)| Step::Assistant {
                id,
                text,
                thinking,
                calls,
                ended
            }),
        (0..12u8).prop_map(Step::Result),
        (0..12u8).prop_map(Step::Result),
    ]
}

fn build(steps: &[Step]) -> Vec<Arc<Message>> {
    let messages = steps.iter().zip(1u32..).map(|(step, number)| match step {
        Step::User(text) => user(number, text),
        Step::Attachment(text) => attachment(number, text),
        Step::System => system(number, "note"),
        Step::Result(id) => result(number, &format!("t{id}")),
        Step::Assistant { id, text, thinking, calls, ended } => {
            let mut content = Vec::new();
            if *thinking {
                content.push(Block::Thinking { thinking: "t".to_owned(), signature: "s".to_owned() });
            }
            content.extend(text.iter().map(Block::text));
            content.extend(calls.iter().map(|id| tool_use(&format!("t{id}"))));
            let body = Body::Assistant {
                id: (*id > 0).then(|| format!("m{id}")),
                model: "claude".to_owned(),
                content,
                stop_reason: ended.then_some(crate::StopReason::EndTurn),
                usage: None,
            };
            message(number, body)
        }
    });
    messages.collect()
}

fn render(thread: &[Arc<Message>]) -> Vec<RequestMessage> {
    request_messages(thread.iter().map(Arc::as_ref))
}

/// Role and block, so that one rendering can be compared with the beginning of another.
fn flat(messages: &[RequestMessage]) -> Vec<(Role, String)> {
    let blocks =
        messages.iter().flat_map(|message| message.content.iter().map(|block| (message.role, block)));
    blocks.map(|(role, block)| (role, serde_json::to_string(block).unwrap())).collect()
}

/// The calls of the newest response that have no result.
fn open_calls(thread: &[Arc<Message>]) -> Vec<String> {
    let mut calls = OpenCalls::default();
    for message in thread {
        match &message.body {
            Body::Assistant { .. } => {
                calls.response(message);
            }
            Body::User { content } => {
                calls.replied();
                for block in content {
                    if let Block::ToolResult { tool_use_id, .. } = block {
                        calls.answer(tool_use_id);
                    }
                }
            }
            Body::Attachment(_) => calls.replied(),
            Body::System { .. } => {}
        }
    }
    calls.finish()
}

/// Nothing that comes later belongs in front of what is there: no call waits, and the response is over.
fn is_complete(thread: &[Arc<Message>]) -> bool {
    let mut key = ResponseKey::default();
    for message in thread {
        match message.body {
            Body::Assistant { .. } => key = ResponseKey::of(message),
            Body::User { .. } | Body::Attachment(_) => key.replied(),
            Body::System { .. } => {}
        }
    }
    let continued = match thread.last() {
        None => false,
        Some(_) => ["m1", "m2", "m3"].iter().any(|id| key.continues_with(&assistant(1, id, Vec::new()))),
    };
    !continued && open_calls(thread).is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_thread_renders_to_what_the_api_accepts(steps in prop::collection::vec(step(), 0..24)) {
        let messages = render(&build(&steps));
        let mut seen = HashSet::new();
        for (position, message) in messages.iter().enumerate() {
            prop_assert!(!message.content.is_empty());
            prop_assert!(message.content.iter().all(|block| !is_blank(block)));
            let next = messages.get(position + 1);
            prop_assert!(next.is_none_or(|next| next.role != message.role));

            let calls: Vec<&String> = message.content.iter().filter_map(|block| match block {
                Block::ToolUse { id, .. } => Some(id),
                _ => None,
            }).collect();
            if calls.is_empty() { continue }
            prop_assert!(calls.iter().all(|id| seen.insert((*id).clone())));
            let answers: Vec<&String> = next.unwrap().content.iter().map_while(|block| match block {
                Block::ToolResult { tool_use_id, .. } => Some(tool_use_id),
                _ => None,
            }).collect();
            prop_assert_eq!(calls, answers);
        }
        let calls = messages.iter().flat_map(|message| &message.content);
        let (uses, results): (Vec<&Block>, Vec<&Block>) = calls
            .filter(|block| matches!(block, Block::ToolUse { .. } | Block::ToolResult { .. }))
            .partition(|block| matches!(block, Block::ToolUse { .. }));
        prop_assert_eq!(uses.len(), results.len());
    }

    #[test]
    fn appending_never_changes_what_was_complete(steps in prop::collection::vec(step(), 0..24)) {
        let thread = build(&steps);
        let whole = flat(&render(&thread));
        for end in 0..=thread.len() {
            let (begun, _) = thread.split_at(end);
            if is_complete(begun) {
                let part = flat(&render(begun));
                prop_assert_eq!(&part[..], &whole[..part.len()]);
            }
        }
    }
}
