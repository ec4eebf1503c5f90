use std::time::Duration;

use expect_test::{Expect, expect};
use serde_json::json;
use tokio::sync::Semaphore;

use super::*;
use crate::framing::{Frame, FrameReader};

fn text(text: &str) -> Update {
    Update::TextDelta { text: text.to_owned() }
}

fn tool_progress(tool: &str, text: &str) -> Update {
    Update::ToolProgress { tool_use_id: tool.to_owned(), text: text.to_owned() }
}

fn tool_start(tool: &str) -> Update {
    Update::ToolStart { tool_use_id: "t1".to_owned(), tool: tool.to_owned(), input: Value::Null }
}

fn turn_end() -> Update {
    let usage = protocol::Usage::default();
    Update::TurnEnd {
        stop_reason: protocol::StopReason::EndTurn,
        usage,
        error: None,
        prompt_uuid: None,
        message_uuid: None,
    }
}

/// A queue and a clock that moves when it is told to.
struct Bench {
    queue: Queue,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        Self { queue: Queue::default(), now: Instant::now() }
    }

    fn push(&mut self, update: Update) -> bool {
        self.queue.push_update("s", Some("1".to_owned()), update)
    }

    fn after(&mut self, milliseconds: u64) -> &mut Self {
        self.now += Duration::from_millis(milliseconds);
        self
    }

    fn take(&mut self) -> Vec<Value> {
        let (mut batch, mut slots) = (Vec::new(), Vec::new());
        match self.queue.take(self.now, &mut batch, &mut slots) {
            Step::Write => decode(&batch),
            _ => Vec::new(),
        }
    }

    fn check(&mut self, expected: Expect) {
        let lines: Vec<String> = self.take().iter().map(shown).collect();
        expected.assert_eq(&lines.join("\n"));
    }
}

fn decode(mut batch: &[u8]) -> Vec<Value> {
    let mut messages = Vec::new();
    while !batch.is_empty() {
        let end = batch.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let length: usize =
            std::str::from_utf8(&batch["Content-Length: ".len()..end]).unwrap().parse().unwrap();
        messages.push(serde_json::from_slice(&batch[end + 4..end + 4 + length]).unwrap());
        batch = &batch[end + 4 + length..];
    }
    messages
}

fn shown(message: &Value) -> String {
    match message["method"].as_str() {
        Some("reverie/session/update") => {
            let params = &message["params"];
            format!("{} {}", params["seq"], params["update"])
        }
        Some("$/progress") => format!("progress {}", message["params"]),
        Some(method) => format!("{method} {}", message["id"]),
        None => format!("response {}", message["id"]),
    }
}

#[test]
fn the_first_update_goes_at_once_and_the_next_wait_and_merge() {
    let mut bench = Bench::new();
    assert!(bench.push(text("a")), "the writer is woken");
    bench.check(expect![[r#"0 {"kind":"textDelta","text":"a"}"#]]);
    assert!(bench.push(text("b")));
    assert!(!bench.push(text("c")), "the writer already waits for this lane");
    bench.check(expect![""]);
    bench.push(Update::ThinkingDelta { text: "d".into() });
    bench.push(text("e"));
    bench.after(16).check(expect![[r#"
        1 {"kind":"textDelta","text":"bc"}
        2 {"kind":"thinkingDelta","text":"d"}
        3 {"kind":"textDelta","text":"e"}"#]]);
    bench.after(16).check(expect![""]);
}

#[test]
fn the_end_of_a_turn_does_not_wait() {
    let mut bench = Bench::new();
    bench.push(text("a"));
    bench.take();
    bench.push(text("b"));
    assert!(bench.push(turn_end()));
    assert_eq!(bench.take().len(), 2);
}

#[test]
fn deltas_of_different_turns_stay_apart() {
    let mut bench = Bench::new();
    bench.queue.push_update("s", Some("1".to_owned()), text("a"));
    bench.queue.push_update("s", Some("2".to_owned()), text("b"));
    bench.queue.push_update("s", None, text("c"));
    bench.queue.push_update("other", None, text("d"));
    let turns: Vec<Value> = bench
        .take()
        .iter()
        .map(|message| {
            json!([message["params"]["sessionId"], message["params"]["turnId"], message["params"]["seq"]])
        })
        .collect();
    assert_eq!(turns.len(), 4);
    for expected in
        [json!(["s", "1", 0]), json!(["s", "2", 1]), json!(["s", null, 2]), json!(["other", null, 0])]
    {
        assert!(turns.contains(&expected), "{expected} in {turns:?}");
    }
}

#[test]
fn the_output_of_tools_that_run_together_merges_by_tool() {
    let mut bench = Bench::new();
    for (tool, output) in [("x", "1"), ("y", "2"), ("x", "3"), ("y", "4")] {
        bench.push(tool_progress(tool, output));
    }
    bench.push(text("-"));
    bench.push(tool_progress("x", "5"));
    bench.check(expect![[r#"
        0 {"kind":"toolProgress","toolUseId":"x","text":"13"}
        1 {"kind":"toolProgress","toolUseId":"y","text":"24"}
        2 {"kind":"textDelta","text":"-"}
        3 {"kind":"toolProgress","toolUseId":"x","text":"5"}"#]]);
}

#[test]
fn what_a_tool_prints_to_nobody_is_bounded() {
    let mut bench = Bench::new();
    for _ in 0..5_000 {
        bench.push(tool_progress("x", &"ü".repeat(1_000)));
    }
    let messages = bench.take();
    assert_eq!(messages.len(), 1);
    assert!(messages[0].to_string().len() < 1_100_000);
}

#[test]
fn a_question_follows_what_its_session_has_told() {
    let mut bench = Bench::new();
    bench.push(text("a"));
    bench.take();
    bench.push(tool_start("Bash"));
    bench.queue.push_update("other", None, text("x"));
    bench.take();
    bench.queue.push_update("other", None, text("y"));
    let (sender, _receiver) = oneshot::channel();
    bench.queue.push_request(Some("s"), "reverie/permission/ask", Value::Null, sender, bench.now);
    bench.check(expect![[r#"
        1 {"kind":"toolStart","toolUseId":"t1","tool":"Bash","input":null}
        reverie/permission/ask 1"#]]);
    let (sender, _receiver) = oneshot::channel();
    bench.queue.push_request(None, "workspace/applyEdit", Value::Null, sender, bench.now);
    bench.check(expect![[r#"
        1 {"kind":"textDelta","text":"y"}
        workspace/applyEdit 2"#]]);
}

#[test]
fn a_question_withdrawn_in_time_is_never_sent() {
    let outbound = Outbound::default();
    drop(outbound.request(None, "reverie/user/ask", &Value::Null));
    let (mut batch, mut slots) = (Vec::new(), Vec::new());
    assert_eq!(outbound.queue().take(Instant::now(), &mut batch, &mut slots), Step::Wait);
}

#[test]
fn an_answer_precedes_the_updates_it_brings_about() {
    let mut bench = Bench::new();
    bench.queue.hold();
    bench.push(text("a"));
    bench.push(turn_end());
    bench.check(expect![""]);
    bench.queue.push_response(Response::from_ok(Id::Number(7), Value::Null), None);
    bench.queue.release(bench.now);
    assert_eq!(
        bench.take().iter().map(|message| message["id"].clone()).collect::<Vec<_>>(),
        [json!(7), Value::Null, Value::Null]
    );
}

#[test]
fn a_question_waits_with_the_updates_that_are_held_back() {
    let mut bench = Bench::new();
    bench.queue.hold();
    bench.push(Update::Title { title: "Named".to_owned() });
    let (sender, _receiver) = oneshot::channel();
    bench.queue.push_request(None, "window/workDoneProgress/create", Value::Null, sender, bench.now);
    let (sender, withdrawn) = oneshot::channel();
    let id = bench.queue.push_request(Some("s"), "reverie/user/ask", Value::Null, sender, bench.now);
    assert!(!bench.queue.withdraw(id), "the client never hears of it");
    drop(withdrawn);
    bench.check(expect![""]);
    bench.queue.push_response(Response::from_ok(Id::Number(7), Value::Null), None);
    bench.queue.release(bench.now);
    bench.check(expect![[r#"
        response 7
        0 {"kind":"title","title":"Named"}
        window/workDoneProgress/create 1"#]]);
    bench.after(16).check(expect![""]);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_the_client_does_not_answer_is_refused() {
    let outbound = Outbound::default();
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    tokio::spawn(outbound.clone().write_to(theirs));
    let mut frames = FrameReader::new(ours);
    outbound.offer_turn("s", "1");
    let token = json!("reverie/turn/1");
    assert_eq!(outbound.owner_of_progress(&token), Some(Owner::Session("s".to_owned())));
    outbound.update("s", Some("1".to_owned()), turn_end());
    let mut methods = Vec::new();
    for _ in 0..3 {
        let Frame::Body(body) = frames.next().await else { panic!("the link ended") };
        let message: Value = serde_json::from_slice(&body).unwrap();
        methods.push(message["method"].as_str().unwrap().to_owned());
    }
    assert_eq!(methods, ["window/workDoneProgress/create", "reverie/session/update", "$/cancelRequest"]);
    tokio::task::yield_now().await;
    assert_eq!(outbound.owner_of_progress(&token), None);
}

#[test]
fn a_slot_is_given_back_when_its_answer_is_taken() {
    let slots = Arc::new(Semaphore::new(1));
    let mut queue = Queue::default();
    let slot = Arc::clone(&slots).try_acquire_owned().unwrap();
    queue.push_response(Response::from_ok(Id::Number(1), Value::Null), Some(slot));
    assert_eq!(slots.available_permits(), 0);
    let (mut batch, mut written) = (Vec::new(), Vec::new());
    queue.take(Instant::now(), &mut batch, &mut written);
    written.clear();
    assert_eq!(slots.available_permits(), 1);
}

#[test]
fn a_turn_is_shown_under_the_clients_token() {
    let mut bench = Bench::new();
    bench.queue.begin_progress("s", "1", json!("mine"));
    assert_eq!(bench.queue.owner_of_progress(&json!("mine")), Some(Owner::Session("s".to_owned())));
    bench.push(tool_start("Grep"));
    bench.push(turn_end());
    bench.check(expect![[r#"
        progress {"token":"mine","value":{"kind":"begin","title":"Reverie","cancellable":true}}
        0 {"kind":"toolStart","toolUseId":"t1","tool":"Grep","input":null}
        progress {"token":"mine","value":{"kind":"report","message":"Grep"}}
        1 {"kind":"turnEnd","stopReason":"endTurn","usage":{"inputTokens":0,"outputTokens":0,"cacheReadTokens":0,"cacheWriteTokens":0}}
        progress {"token":"mine","value":{"kind":"end"}}"#]]);
    assert_eq!(bench.queue.owner_of_progress(&json!("mine")), None);
}

#[test]
fn an_offered_token_is_used_once_it_is_accepted() {
    let mut bench = Bench::new();
    let token = bench.queue.offer_turn("s", "1");
    bench.push(tool_start("Grep"));
    bench.take();
    bench.queue.progress_answered("1", true);
    bench.check(expect![[
        r#"progress {"token":"reverie/turn/1","value":{"kind":"begin","title":"Reverie","cancellable":true,"message":"Grep"}}"#
    ]]);
    assert_eq!(bench.queue.owner_of_progress(&token), Some(Owner::Session("s".to_owned())));
    // A turn that ends before the client has answered is begun and ended.
    bench.queue.offer_turn("s", "2");
    bench.queue.push_update("s", Some("2".to_owned()), turn_end());
    bench.take();
    bench.queue.progress_answered("2", true);
    assert_eq!(bench.take().len(), 2);
    // One that the client refuses is not shown.
    bench.queue.offer_turn("s", "3");
    bench.queue.progress_answered("3", false);
    bench.push(tool_start("Grep"));
    bench.after(16);
    assert_eq!(bench.take().len(), 2, "the tool of turn 1, shown and reported");
}

#[test]
fn a_job_is_shown_from_its_title_to_its_last_word() {
    let mut bench = Bench::new();
    let token = bench.queue.offer_job("7", "Remembering");
    bench.queue.report_progress("7", "reading");
    bench.queue.progress_answered("7", true);
    assert_eq!(bench.queue.owner_of_progress(&token), Some(Owner::Job("7".to_owned())));
    bench.queue.report_progress("7", "writing");
    bench.queue.end_progress("7", Some("Remembered: Deploys".to_owned()));
    bench.queue.report_progress("7", "too late");
    bench.check(expect![[r#"
        progress {"token":"reverie/job/7","value":{"kind":"begin","title":"Remembering","cancellable":true,"message":"reading"}}
        progress {"token":"reverie/job/7","value":{"kind":"report","message":"writing"}}
        progress {"token":"reverie/job/7","value":{"kind":"end","message":"Remembered: Deploys"}}"#]]);
    assert_eq!(bench.queue.owner_of_progress(&token), None);
}

#[test]
fn of_what_nobody_has_read_only_the_newest_is_told() {
    let mut bench = Bench::new();
    for (dream, rounds) in [("a", 1), ("b", 1), ("a", 2), ("a", 3)] {
        bench.queue.push_latest("dream", "dreamId", json!({ "dreamId": dream, "rounds": rounds }));
    }
    bench.queue.push_notification("other", json!({ "dreamId": "a" }));
    let told: Vec<String> = bench.take().iter().map(|message| message["params"].to_string()).collect();
    assert_eq!(
        told,
        [r#"{"dreamId":"b","rounds":1}"#, r#"{"dreamId":"a","rounds":3}"#, r#"{"dreamId":"a"}"#]
    );
}

#[test]
fn however_updates_and_flushes_interleave_nothing_is_lost_or_moved() {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = move |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % bound
    };
    for _ in 0..100 {
        let mut bench = Bench::new();
        let mut told = String::new();
        let mut seen = String::new();
        let mut seq = 0;
        for step in 0..200 {
            let letter = char::from(b'a' + u8::try_from(step % 26).unwrap());
            let update = match random(5) {
                0 | 1 => text(&letter.to_string()),
                2 => Update::ThinkingDelta { text: letter.to_string() },
                3 => tool_progress("x", &letter.to_string()),
                _ => Update::Title { title: letter.to_string() },
            };
            told.push(letter);
            bench.push(update);
            bench.after(random(12));
            for message in bench.take() {
                assert_eq!(message["params"]["seq"], seq);
                seq += 1;
                let update = &message["params"]["update"];
                seen.push_str(update["text"].as_str().or(update["title"].as_str()).unwrap());
            }
        }
        for message in bench.after(16).take() {
            let update = &message["params"]["update"];
            seen.push_str(update["text"].as_str().or(update["title"].as_str()).unwrap());
        }
        assert_eq!(seen, told);
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_nobody_up() {
    let outbound = Outbound::default();
    let (ours, theirs) = tokio::io::duplex(64);
    let writer = tokio::spawn(outbound.clone().write_to(theirs));
    let mut told = String::new();
    for number in 0..100_000 {
        let piece = format!("{number} ");
        told.push_str(&piece);
        outbound.update("s", None, text(&piece));
        if number % 10_000 == 0 {
            tokio::task::yield_now().await;
        }
    }
    outbound.close();
    let mut frames = FrameReader::new(ours);
    let (mut seen, mut count) = (String::new(), 0);
    while let Frame::Body(body) = frames.next().await {
        let message: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(message["params"]["seq"], count);
        seen.push_str(message["params"]["update"]["text"].as_str().unwrap());
        count += 1;
    }
    writer.await.unwrap();
    assert_eq!(seen, told);
    assert!(count < 20, "{count} updates");
}

#[tokio::test]
async fn a_client_that_is_gone_is_noticed_and_open_questions_end() {
    let outbound = Outbound::default();
    let (ours, theirs) = tokio::io::duplex(64);
    let writer = tokio::spawn(outbound.clone().write_to(theirs));
    drop(ours);
    let asked = outbound.request(None, "workspace/configuration", &Value::Null);
    outbound.broken().await;
    assert!(asked.await.is_err());
    writer.await.unwrap();
    assert!(outbound.request(None, "workspace/configuration", &Value::Null).await.is_err());
}
