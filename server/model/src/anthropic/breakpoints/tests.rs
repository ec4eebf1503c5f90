mod forks;

use std::collections::HashSet;
use std::fmt::Write as _;

use conversation::ResultContent;
use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::{ContextEdits, QuerySource};

fn text(text: &str) -> Block {
    Block::text(text)
}

fn call(id: usize) -> Block {
    Block::ToolUse { id: format!("t{id}"), name: "Read".to_owned(), input: json!({}) }
}

fn result(id: usize) -> Block {
    let content = ResultContent::Text(format!("output {id}"));
    Block::ToolResult { tool_use_id: format!("t{id}"), content, is_error: false }
}

fn thinking() -> Block {
    Block::Thinking { thinking: "hm".to_owned(), signature: "signed".to_owned() }
}

fn user(content: Vec<Block>) -> RequestMessage {
    RequestMessage { role: Role::User, content }
}

fn assistant(content: Vec<Block>) -> RequestMessage {
    RequestMessage { role: Role::Assistant, content }
}

fn reminder() -> Block {
    text("<system-reminder>\ninstructions\n</system-reminder>")
}

fn request(messages: Vec<RequestMessage>) -> Request {
    let block = |text: &str, ends_static_part| SystemBlock { text: text.to_owned(), ends_static_part };
    Request {
        model: "m".to_owned(),
        system: vec![block("who", false), block("rules", true), block("here", false), block("git", false)]
            .into(),
        tools: Vec::new().into(),
        messages,
        max_tokens: 1,
        output_schema: None,
        source: QuerySource::Main,
        shared: None,
        context_edits: ContextEdits::default(),
    }
}

/// The marks, and the shape of the messages with marked blocks in brackets.
fn check(messages: Vec<RequestMessage>, expected: Expect) {
    let request = request(messages);
    let marks = Breakpoints::of(&request);
    let mut out = format!("system {:?}\n", marks.system);
    for (index, message) in request.messages.iter().enumerate() {
        write!(out, "{:?}", message.role).unwrap();
        for (place, block) in message.content.iter().enumerate() {
            let kind = match block {
                Block::Text { text } if text.starts_with("<system") => "reminder",
                Block::Text { text } if text.is_empty() => "empty",
                Block::Text { .. } => "text",
                Block::Thinking { .. } => "thinking",
                Block::ToolUse { .. } => "call",
                Block::ToolResult { .. } => "result",
                _ => "other",
            };
            let marked = marks.messages.contains(&(index, place));
            write!(out, "{}", if marked { format!(" [{kind} {place}]") } else { format!(" {kind}") })
                .unwrap();
        }
        out.push('\n');
    }
    expected.assert_eq(&out);
    assert!(marks.system.len() + marks.messages.len() <= 4);
}

#[test]
fn the_first_request_marks_the_opening_that_other_sessions_share() {
    check(
        vec![user(vec![reminder(), reminder(), text("prompt")])],
        expect![[r#"
        system [1, 3]
        User reminder [reminder 1] [text 2]
    "#]],
    );
    check(
        vec![user(vec![text("prompt")])],
        expect![[r#"
        system [1, 3]
        User [text 0]
    "#]],
    );
    check(
        vec![user(vec![reminder()])],
        expect![[r#"
        system [1, 3]
        User [reminder 0]
    "#]],
    );
}

#[test]
fn a_tool_round_marks_the_end_of_the_previous_request() {
    check(
        vec![
            user(vec![reminder(), text("prompt")]),
            assistant(vec![thinking(), text("let me see"), call(1)]),
            user(vec![result(1)]),
        ],
        expect![[r#"
            system [1, 3]
            User reminder [text 1]
            Assistant thinking text call
            User [result 0]
        "#]],
    );
}

#[test]
fn the_next_prompt_after_the_end_of_a_turn() {
    check(
        vec![
            user(vec![text("one")]),
            assistant(vec![text("answer")]),
            user(vec![text("two"), text("<system-reminder>\nopen file\n</system-reminder>")]),
        ],
        expect![[r#"
            system [1, 3]
            User [text 0]
            Assistant text
            User text [reminder 1]
        "#]],
    );
}

#[test]
fn a_wide_round_keeps_both_ends_and_the_static_mark_yields() {
    check(
        vec![
            user(vec![text("read thirty files")]),
            assistant((0..30).map(call).collect()),
            user((0..30).map(result).collect()),
        ],
        expect![[r#"
            system [3]
            User [text 0]
            Assistant call call call call call call call call call call call call call call call call call call call call call call call call call call call call call call
            User result result result result result result result result result [result 9] result result result result result result result result result result result result result result result result result result result [result 29]
        "#]],
    );
}

#[test]
fn a_round_within_the_look_back_needs_no_more() {
    check(
        vec![
            user(vec![text("read")]),
            assistant((0..9).map(call).collect()),
            user((0..10).map(result).collect()),
        ],
        expect![[r#"
            system [1, 3]
            User [text 0]
            Assistant call call call call call call call call call
            User result result result result result result result result result [result 9]
        "#]],
    );
    check(
        vec![
            user(vec![text("read")]),
            assistant((0..10).map(call).collect()),
            user((0..10).map(result).collect()),
        ],
        expect![[r#"
            system [1, 3]
            User [text 0]
            Assistant call call call call call call call call call call
            User result result result result result result result result result [result 9]
        "#]],
    );
}

#[test]
fn an_answer_that_is_continued_ends_with_the_assistant() {
    check(
        vec![user(vec![text("prompt")]), assistant(vec![thinking(), text("half an answ")])],
        expect![[r#"
            system [1, 3]
            User [text 0]
            Assistant thinking [text 1]
        "#]],
    );
    check(
        vec![user(vec![text("prompt")]), assistant(vec![text("half"), thinking()])],
        expect![[r#"
        system [1, 3]
        User [text 0]
        Assistant [text 0] thinking
    "#]],
    );
}

#[test]
fn thinking_and_empty_texts_are_never_marked() {
    check(
        vec![
            user(vec![text("prompt"), text("")]),
            assistant(vec![thinking()]),
            user(vec![text("more"), text(""), Block::Unknown(json!({"type": "new"}))]),
        ],
        expect![[r#"
            system [1, 3]
            User [text 0] empty
            Assistant thinking
            User [text 0] empty other
        "#]],
    );
}

#[test]
fn nothing_to_mark() {
    check(
        Vec::new(),
        expect![[r#"
        system [1, 3]
    "#]],
    );
    check(
        vec![assistant(vec![text("hello")])],
        expect![[r#"
        system [1, 3]
        Assistant [text 0]
    "#]],
    );
}

/// The provider's cache: entries at marked blocks, found from a mark by looking back.
#[derive(Clone, Default)]
struct Cache(HashSet<String>);

/// Blocks.
#[derive(Debug, PartialEq, Eq)]
struct Bill {
    read: usize,
    written: usize,
    plain: usize,
}

impl Cache {
    /// How many blocks of the request (system blocks included) must be bought, and how many are read.
    fn send(&mut self, request: &Request) -> (usize, usize) {
        let Bill { read, written, plain } = self.bill(request);
        (written + plain, read)
    }

    fn bill(&mut self, request: &Request) -> Bill {
        let marks = Breakpoints::of(request);
        let mut prefix = String::new();
        let mut prefixes = Vec::new();
        let mut marked = Vec::new();
        for (index, block) in request.system.iter().enumerate() {
            prefix += &block.text;
            prefixes.push(prefix.clone());
            marked.extend(marks.system.contains(&index).then_some(prefixes.len() - 1));
        }
        for (index, message) in request.messages.iter().enumerate() {
            for (place, block) in message.content.iter().enumerate().filter(|(_, block)| is_sent(block)) {
                write!(prefix, "{:?}{block:?}", message.role).unwrap();
                prefixes.push(prefix.clone());
                marked.extend(marks.messages.contains(&(index, place)).then_some(prefixes.len() - 1));
            }
        }
        let found = marked.iter().flat_map(|mark| (mark.saturating_sub(19)..=*mark).rev());
        let read = found.filter(|at| self.0.contains(&prefixes[*at])).map(|at| at + 1).max().unwrap_or(0);
        let last_mark = marked.last().map_or(0, |mark| mark + 1);
        let written = last_mark.saturating_sub(read);
        // A mark in front of what was read writes nothing.
        self.0.extend(marked.into_iter().filter(|mark| *mark >= read).map(|mark| prefixes[mark].clone()));
        Bill { read, written, plain: prefixes.len() - read - written }
    }
}

#[test]
fn a_turn_pays_only_for_what_is_new_however_wide_its_rounds() {
    for width in [1, 3, 10, 19, 20, 21, 30, 100] {
        let mut cache = Cache::default();
        let mut messages = vec![user(vec![reminder(), text("prompt")])];
        assert_eq!(cache.send(&request(messages.clone())), (6, 0));
        for round in 0..4 {
            let ids = || round * width..(round + 1) * width;
            messages.push(assistant(ids().map(call).collect()));
            messages.push(user(ids().map(result).collect()));
            let (bought, _) = cache.send(&request(messages.clone()));
            assert_eq!(bought, 2 * width, "round {round} of width {width}");
        }
        // A fork at the end of the turn, the next prompt, and a retry of it.
        messages.push(assistant(vec![text("done")]));
        let with = |prompt: &str| [messages.clone(), vec![user(vec![text(prompt)])]].concat();
        assert_eq!(cache.send(&request(with("directive"))).0, 2);
        assert_eq!(cache.send(&request(with("next prompt"))).0, 2);
        assert_eq!(cache.send(&request(with("next prompt"))).0, 0);
    }
}

#[test]
fn a_cancelled_request_whose_message_grew_is_still_found() {
    for mentions in [1, 18, 19, 25, 38] {
        let mut cache = Cache::default();
        let before = vec![
            user(vec![text("prompt")]),
            assistant((0..30).map(call).collect()),
            user((0..30).map(result).collect()),
        ];
        cache.send(&request(before.clone()));
        let mut after = before;
        after[2].content.extend((0..mentions).map(|number| text(&format!("mention {number}"))));
        assert_eq!(cache.send(&request(after)).0, mentions, "{mentions}");
    }
}

#[test]
fn another_session_of_the_project_reads_all_but_its_prompt() {
    let mut cache = Cache::default();
    cache.send(&request(vec![user(vec![reminder(), text("one")])]));
    assert_eq!(cache.send(&request(vec![user(vec![reminder(), text("two")])])), (1, 5));
    // Another project: only the static part is the same.
    let mut other = request(vec![user(vec![text("three")])]);
    other.system = vec![
        other.system[0].clone(),
        other.system[1].clone(),
        SystemBlock { text: "elsewhere".to_owned(), ends_static_part: false },
    ]
    .into();
    assert_eq!(cache.send(&other), (2, 2));
}
