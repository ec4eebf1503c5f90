//! Random histories through every stage: whatever was decided, what is sent is a request that the API accepts,
//! and a resume sends the same bytes. `PROPTEST_CASES=100000 cargo test -p context random` runs more of them.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    time::Duration,
};

use conversation::{
    Attachment, Block, Flags, RequestMessage, ResultContent, Role, StopReason, request_messages,
};
use proptest::{collection::vec, prelude::*, test_runner::RngAlgorithm};
use serde_json::json;

use super::*;
use crate::{
    event::Recorded,
    partial::{Direction, partial},
    sample::{bytes, time},
    session_compact::{Notes, plan},
    snip::by_command,
};

#[derive(Clone, Debug)]
enum Turn {
    Prompt { size: usize, attachments: usize, attached_before: bool },
    Response { text: bool, thinking: bool, calls: Vec<usize>, style: Style, results: Results },
    Notice,
    Summary,
}

#[derive(Clone, Copy, Debug)]
enum Style {
    /// All blocks in one record, all results in one message.
    Whole,
    /// One record for each block, results behind all of them.
    Records,
    /// One record for each block, the result of a call right behind it.
    Interleaved,
    /// A server that gives every response the same id, and every call too.
    OneId,
}

#[derive(Clone, Debug)]
struct Results {
    size: usize,
    reversed: bool,
    /// This many calls at the end stay open.
    open: usize,
    /// A prompt in between.
    interrupted: bool,
    attachment: bool,
}

const TOOLS: [&str; 4] = ["Read", "Bash", "Task", "mcp__a__b"];

/// A number that is thrown until it is used up. Numbers are made much faster than trees of values, and shrink as
/// well: what is zero is simple.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> usize {
        let eyes = self.0 % sides;
        self.0 /= sides;
        eyes as usize
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == times as usize - 1
    }
}

fn turn(number: u64) -> Turn {
    let mut dice = Dice(number);
    match dice.below(10) {
        0..3 => Turn::Prompt {
            size: 1 + dice.below(200),
            attachments: dice.below(3),
            attached_before: dice.once_in(2),
        },
        3 => Turn::Notice,
        _ => Turn::Response {
            text: dice.once_in(2),
            thinking: dice.once_in(2),
            calls: (0..dice.below(4)).map(|_| dice.below(4)).collect(),
            style: [Style::Whole, Style::Records, Style::Interleaved, Style::OneId][dice.below(4)],
            results: Results {
                // Longer than what stands for a result that was cleared; some are worth a file.
                size: if dice.once_in(7) { 3_200 } else { 40 + dice.below(160) },
                reversed: dice.once_in(2),
                open: usize::from(dice.once_in(7)),
                interrupted: dice.once_in(10),
                attachment: dice.once_in(2),
            },
        },
    }
}

fn history() -> impl Strategy<Value = Vec<Arc<Message>>> {
    vec(any::<u64>(), 1..10).prop_map(|numbers| {
        let mut writer = Writer::default();
        if numbers.len() % 5 == 4 {
            writer.turn(Turn::Summary);
        }
        numbers.into_iter().for_each(|number| writer.turn(turn(number)));
        writer.thread
    })
}

#[derive(Default)]
struct Writer {
    thread: Vec<Arc<Message>>,
    responses: usize,
    calls: usize,
}

impl Writer {
    fn push(&mut self, flags: Flags, body: Body) {
        let number = self.thread.len();
        let mut message = crate::sample::message(number, body);
        message.flags = flags;
        self.thread.push(Arc::new(message));
    }

    fn user(&mut self, content: Vec<Block>) {
        self.push(Flags::default(), Body::User { content });
    }

    fn attachment(&mut self) {
        let text = "a reminder".to_owned();
        self.push(Flags::default(), Body::Attachment(Attachment { kind: "editor".to_owned(), text }));
    }

    fn turn(&mut self, turn: Turn) {
        match turn {
            Turn::Prompt { size, attachments, attached_before } => {
                if attached_before {
                    self.attachment();
                }
                self.user(vec![Block::text("p".repeat(size))]);
                (0..attachments).for_each(|_| self.attachment());
            }
            Turn::Notice => {
                let (subtype, text) = ("notice".to_owned(), String::new());
                self.push(Flags::default(), Body::notice(&subtype, text));
            }
            Turn::Summary => {
                let (subtype, text) = (conversation::COMPACT_BOUNDARY.to_owned(), String::new());
                self.push(Flags::default(), Body::notice(&subtype, text));
                let flags = Flags { meta: true, compact_summary: true, sidechain: false };
                self.push(flags, Body::User { content: vec![Block::text("what was")] });
                self.attachment();
            }
            Turn::Response { text, thinking, calls, style, results } => {
                self.response(text, thinking, &calls, style, &results);
            }
        }
    }

    fn response(&mut self, text: bool, thinking: bool, calls: &[usize], style: Style, results: &Results) {
        self.responses += 1;
        let mut blocks = Vec::new();
        if thinking {
            blocks.push(Block::Thinking { thinking: "hm".to_owned(), signature: "s".to_owned() });
        }
        if text || calls.is_empty() {
            blocks.push(Block::text(format!("response {}", self.responses)));
        }
        let mut ids = Vec::new();
        for (at, tool) in calls.iter().enumerate() {
            self.calls += 1;
            let id = match style {
                Style::OneId => format!("call_{at}"),
                _ => format!("t{}", self.calls),
            };
            blocks.push(Block::ToolUse { id: id.clone(), name: TOOLS[*tool].to_owned(), input: json!({}) });
            ids.push(id);
        }
        let mut answered: Vec<String> = ids;
        answered.truncate(answered.len().saturating_sub(results.open));
        let result = |id: &String| crate::sample::result(id, &"r".repeat(results.size));
        match style {
            Style::Whole | Style::OneId => {
                self.record(style, blocks, Some(StopReason::ToolUse));
                if results.reversed {
                    answered.reverse();
                }
                if results.interrupted {
                    self.user(vec![Block::text("meanwhile")]);
                }
                if !answered.is_empty() {
                    self.user(answered.iter().map(result).collect());
                }
            }
            Style::Records => {
                for block in blocks {
                    self.record(style, vec![block], None);
                }
                if results.reversed {
                    answered.reverse();
                }
                for id in &answered {
                    self.user(vec![result(id)]);
                    if results.interrupted {
                        self.user(vec![Block::text("meanwhile")]);
                    }
                }
            }
            Style::Interleaved => {
                for block in blocks {
                    let id = match &block {
                        Block::ToolUse { id, .. } if answered.contains(id) => Some(id.clone()),
                        _ => None,
                    };
                    self.record(style, vec![block], None);
                    if let Some(id) = id {
                        self.user(vec![result(&id)]);
                    }
                }
            }
        }
        if results.attachment {
            self.attachment();
        }
    }

    fn record(&mut self, style: Style, content: Vec<Block>, stop_reason: Option<StopReason>) {
        let id = match style {
            Style::OneId => "chat".to_owned(),
            _ => format!("msg_{}", self.responses),
        };
        let model = "claude".to_owned();
        self.push(
            Flags::default(),
            Body::Assistant { id: Some(id), model, content, stop_reason, usage: None },
        );
    }
}

fn switches(number: u64) -> Switches {
    let mut dice = Dice(number);
    Switches {
        storage: dice.once_in(2),
        message_limit: dice.below(5_000),
        snip: dice.once_in(2).then(|| dice.below(3_000) as u64),
        clear: dice
            .once_in(2)
            .then(|| Clear { after: Duration::from_secs(dice.below(40) as u64), keep: dice.below(4) }),
        cache_edits: dice.once_in(2).then(|| CacheEdits { over: dice.below(6), keep: dice.below(4) }),
        collapse: dice.once_in(2),
        auto_compact: dice.once_in(2),
    }
}

struct Disk;

impl Shelf for Disk {
    fn keep(&mut self, tool_use_id: &str, _: &ResultContent) -> Option<PathBuf> {
        Some(format!("/results/{tool_use_id}.txt").into())
    }
}

fn cases() -> ProptestConfig {
    // The usual generator takes longer than all that is tested here.
    let config = ProptestConfig { rng_algorithm: RngAlgorithm::XorShift, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config,
        None => ProptestConfig { cases: 20_000, ..config },
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn random_histories_stay_sound_through_every_stage(
        thread in history(),
        number in any::<u64>(),
        effective in 1..4_000_u64,
        cut in any::<prop::sample::Index>(),
    ) {
        let switches = switches(number);
        let mut events = Vec::new();
        let mut projection = Projection::default();
        // The session grows to its end, prepared where a request would have been sent.
        let halfway = request_ends(&thread, cut.index(thread.len() + 1));
        for end in [halfway, thread.len()] {
            step(&thread[..end], &switches, effective, &mut projection, &mut events);
        }
        if cut.index(4) == 0 {
            let change = by_command(&thread, &projection, &bytes);
            record(change, &thread, &mut projection, &mut events);
        }
        let view = projection.view(&thread);
        let request = check(&thread, view.iter().map(|message| &**message));

        let lines: Vec<String> =
            events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        let read: Vec<Recorded> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let resumed = Projection::replay(&read, &thread).view(&thread);
        let again = request_messages(resumed.iter().map(|message| &**message));
        prop_assert_eq!(again, request);
    }

    #[test]
    fn random_histories_are_never_split_by_a_partial_or_a_session_plan(
        thread in history(),
        at in any::<prop::sample::Index>(),
        is_up_to in any::<bool>(),
        resumed in any::<bool>(),
        scale in 1..60_u64,
    ) {
        let at = thread[at.index(thread.len())].uuid;
        let direction = if is_up_to { Direction::UpTo } else { Direction::From };
        if let Ok(plan) = partial(&thread, at, direction) {
            prop_assert_eq!(plan.summarise.len() + plan.keep.len(), thread.len());
            let kept = &thread[plan.keep.clone()];
            let is_kept = kept.iter().any(|message| message.uuid == at);
            prop_assert_eq!(is_kept, is_up_to);
            check_part(&thread, plan.keep.start);
            check_part(&thread, plan.summarise.start);
        }
        let notes = Notes { text: "# Title\nsomething", path: "/notes.md".as_ref(), upto: Some(at), resumed };
        let tokens = |message: &Message| bytes(message) * scale;
        if let Ok(plan) = plan(notes, &thread, u64::MAX, 0, &tokens) {
            check_part(&thread, plan.keep_from);
            let boundary = thread.iter().position(|message| message.uuid == at).unwrap();
            prop_assert!(plan.keep_from <= boundary + 1);
            prop_assert!(!thread[plan.keep_from..].iter().any(|message| message.flags.compact_summary));
        }
    }
}

/// As far as the thread goes when a request is sent: never in the middle of a response or with calls open.
fn request_ends(thread: &[Arc<Message>], wanted: usize) -> usize {
    let cuts = crate::rounds::cuts(thread);
    cuts.into_iter().rev().find(|cut| *cut <= wanted).unwrap_or(0)
}

fn step(
    thread: &[Arc<Message>],
    switches: &Switches,
    effective: u64,
    projection: &mut Projection,
    events: &mut Vec<Recorded>,
) {
    let in_window = |projection: &Projection| -> u64 {
        projection.view(thread).iter().map(|message| projection.tokens_of(message, &bytes)).sum()
    };
    let used = in_window(projection);
    let threshold = effective / 2;
    let now = time(60);
    let situation =
        Situation { thread, projection, used, effective, threshold, switches, now, tokens: &bytes };
    let prepared = prepare(&situation, &mut Disk);
    record(prepared.changes, thread, projection, events);
    // A summary may be longer than what it stands for, and so may the words for a result that was deleted.
    let may_grow = |event: &Recorded| match event.event {
        crate::Event::Collapsed { .. } => true,
        crate::Event::Cleared { .. } => switches.cache_edits.is_some(),
        _ => false,
    };
    if !events.iter().any(may_grow) {
        assert_eq!(prepared.used, in_window(projection), "what was freed is what is missing");
    }
    if let Gate::CollapseNow { staged } = prepared.gate {
        for span in staged {
            let (first, last, summary) = (span.first, span.last, "short".to_owned());
            let event = crate::Event::Summarised { first, last, summary };
            record([Change { event, entry: None }], thread, projection, events);
        }
        record(collapse::commit(projection, thread, &bytes), thread, projection, events);
    }
}

fn record(
    changes: impl IntoIterator<Item = Change>,
    thread: &[Arc<Message>],
    projection: &mut Projection,
    events: &mut Vec<Recorded>,
) {
    for change in changes {
        let recorded = change.recorded(time(60), thread.last().map(|message| message.uuid));
        projection.apply(&recorded);
        events.push(recorded);
    }
}

/// The part from here on goes on behind a summary, and the part before it stands alone.
fn check_part(thread: &[Arc<Message>], start: usize) {
    let summary = crate::sample::message(9_999, Body::User { content: vec![Block::text("summary")] });
    check(thread, std::iter::once(&summary).chain(thread[start..].iter().map(|message| &**message)));
    check(thread, thread[..start].iter().map(|message| &**message));
}

/// What is sent is what the API accepts, whole responses of the thread, and nothing that was never said.
fn check<'a>(thread: &[Arc<Message>], view: impl IntoIterator<Item = &'a Message>) -> Vec<RequestMessage> {
    let view: Vec<&Message> = view.into_iter().collect();
    let request = request_messages(view.iter().copied());
    let has_prompt_first = thread.iter().find(|message| !matches!(message.body, Body::System { .. }));
    if has_prompt_first.is_some_and(|first| !crate::rounds::is_response(first)) {
        assert!(request.first().is_none_or(|first| first.role == Role::User));
    }
    let mut calls: Vec<&str> = Vec::new();
    for (at, message) in request.iter().enumerate() {
        assert!(at == 0 || request[at - 1].role != message.role, "roles alternate");
        let results: Vec<&str> = message
            .content
            .iter()
            .filter_map(|block| match block {
                Block::ToolResult { tool_use_id, .. } => Some(tool_use_id.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(results, calls, "each call has its result right behind it, and no result lacks a call");
        calls = message
            .content
            .iter()
            .filter_map(|block| match block {
                Block::ToolUse { id, .. } => Some(id.as_str()),
                _ => None,
            })
            .collect();
    }
    assert!(calls.is_empty(), "the last calls are answered");
    check_whole_responses(thread, &view);
    request
}

/// Of the records of one response, and of the results that answer it, all are sent or none.
fn check_whole_responses(thread: &[Arc<Message>], view: &[&Message]) {
    let sent: HashSet<_> = view.iter().map(|message| message.uuid).collect();
    let mut whole: HashMap<usize, bool> = HashMap::new();
    let (mut exchange, mut key) = (0, conversation::pairing::ResponseKey::default());
    for message in thread {
        let has_results = match &message.body {
            Body::Assistant { .. } => {
                exchange += usize::from(!key.continues_with(message));
                key = conversation::pairing::ResponseKey::of(message);
                true
            }
            Body::User { content } => {
                key.replied();
                content.iter().any(|block| matches!(block, Block::ToolResult { .. }))
            }
            Body::Attachment(_) => {
                key.replied();
                false
            }
            Body::System { .. } => false,
        };
        if has_results {
            let is_sent = sent.contains(&message.uuid);
            assert_eq!(*whole.entry(exchange).or_insert(is_sent), is_sent, "response {exchange} is split");
        }
    }
}
