use std::{fs, sync::Arc};

use expect_test::{Expect, expect};
use tempfile::TempDir;

use super::*;
use crate::{
    Block, Body, CostState, ForkedFrom, Message, ModelCost, SessionId, load,
    sample::{self, assistant, result, tool_use, user, uuid},
};

fn session() -> SessionId {
    SessionId::parse("3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11").unwrap()
}

fn stamp() -> Stamp {
    Stamp { session: session(), cwd: "/home/ada".into(), version: "0.1.0".to_owned(), git_branch: None }
}

fn write(records: &[Record]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(directory.path(), stamp());
    records.iter().for_each(|record| transcript.append(record).unwrap());
    directory
}

fn said(message: Arc<Message>) -> Record {
    Record::Message(message)
}

fn answer(number: u32, output_tokens: u64) -> Record {
    let mut message = Message::clone(&assistant(number, &format!("m{number}"), vec![Block::text("a")]));
    if let Body::Assistant { usage, model, .. } = &mut message.body {
        *usage = Some(Usage { output_tokens, input_tokens: 10, ..Usage::default() });
        *model = "opus".to_owned();
    }
    said(Arc::new(message))
}

fn cost(output_tokens: u64, cost_usd: f64) -> Record {
    let usage = Usage { output_tokens, input_tokens: 20, ..Usage::default() };
    Record::Cost(CostState {
        models: [("p/opus".to_owned(), ModelCost { usage, cost_usd })].into(),
        ..CostState::default()
    })
}

/// A thousandth for each token.
fn price(_: &str, usage: &Usage) -> Option<f64> {
    Some(usage.context_tokens() as f64 / 1_000.0)
}

/// A token for each letter.
fn letters(text: &str) -> u64 {
    text.len() as u64
}

const MEASURES: Measures<'static> = Measures { price: &price, tokens: &letters };

fn checkup(directory: &TempDir) -> Checkup {
    check(&transcript_path(directory.path(), &session()), MEASURES).unwrap()
}

fn expect_findings(directory: &TempDir, expected: Expect) {
    let lines = checkup(directory).findings.into_iter().map(|finding| {
        let mark = match finding.weight {
            Weight::Error => "!",
            Weight::Note => "?",
            Weight::Warning if finding.lossless => "+",
            Weight::Warning => "-",
        };
        format!("{mark} {}: {}\n", finding.check.name(), finding.detail)
    });
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn a_sound_transcript_has_no_findings() {
    let records = [said(user(1, "one")), answer(2, 500), said(user(3, "two")), answer(4, 500)];
    let directory = write(&[&records[..], &[cost(1_050, 1.0), Record::Mode("plan".to_owned())]].concat());
    expect_findings(&directory, expect![[""]]);
    assert_eq!(repair(directory.path(), stamp(), MEASURES).unwrap(), []);
}

#[test]
fn totals_that_missed_a_response_are_corrected_and_nothing_is_rewritten() {
    let records =
        [said(user(1, "one")), answer(2, 500), cost(500, 1.0), said(user(3, "two")), answer(4, 700)];
    let directory = write(&records);
    let path = transcript_path(directory.path(), &session());
    let before = fs::read(&path).unwrap();
    expect_findings(
        &directory,
        expect![[r#"
            + token totals: The total says 520 tokens, and the messages 1220.
        "#]],
    );
    let repaired = repair(directory.path(), stamp(), MEASURES).unwrap();
    assert_eq!((repaired.len(), repaired[0].success), (1, true));
    assert!(fs::read(&path).unwrap().starts_with(&before));
    expect_findings(&directory, expect![[""]]);
    let cost = load(directory.path(), &session(), None, None).unwrap().cost;
    let total = cost.models["p/opus"];
    assert_eq!((total.usage.output_tokens, total.usage.input_tokens), (1_200, 20));
    assert!((total.cost_usd - 1.7).abs() < 1e-9, "{total:?}");
    assert_eq!(repair(directory.path(), stamp(), MEASURES).unwrap(), []);
}

#[test]
fn totals_that_say_more_are_only_described() {
    let directory = write(&[said(user(1, "one")), answer(2, 500), cost(5_000, 1.0)]);
    expect_findings(
        &directory,
        expect![[r#"
            ? token totals: The total says 5020 tokens, the messages 510. Requests whose answer was not kept may explain that.
        "#]],
    );
    assert_eq!(repair(directory.path(), stamp(), MEASURES).unwrap(), []);
}

#[test]
fn copies_are_not_counted_again() {
    // A fork is not charged for what it began with.
    let from = ForkedFrom { session: session(), message: Some(uuid(2)) };
    let records = [Record::ForkedFrom(from), Record::Cost(CostState::default()), said(user(1, "one"))];
    let forked = write(&[&records[..], &[answer(2, 5_000), said(user(3, "two"))]].concat());
    expect_findings(&forked, expect![[""]]);
    // A partial resume copies the last rounds.
    let directory = write(&[said(user(1, "one")), answer(2, 500), cost(500, 1.0)]);
    let partial = load(directory.path(), &session(), Some(crate::Strategy::Partial), None).unwrap();
    let transcript = Transcript::open(directory.path(), stamp()).unwrap();
    partial.new_messages.into_iter().for_each(|message| transcript.append(&said(message)).unwrap());
    expect_findings(&directory, expect![[""]]);
    // Claude Code's own messages were never in the total.
    let foreign = tempfile::tempdir().unwrap();
    let path = transcript_path(foreign.path(), &session());
    fs::write(&path, include_str!("../../fixtures/claude-code.jsonl")).unwrap();
    let transcript = Transcript::open(foreign.path(), stamp()).unwrap();
    transcript.append(&Record::Cost(CostState::default())).unwrap();
    assert!(checkup(&foreign).findings.iter().all(|finding| finding.check != Check::Tokens));
}

#[test]
fn every_break_in_the_chain_is_described() {
    let mut lost = Message::clone(&user(4, "four"));
    lost.parent = Some(uuid(77));
    let mut branch = Message::clone(&user(9, "nine"));
    branch.parent = Some(uuid(2));
    let records = [
        said(user(1, "one")),
        said(assistant(2, "a", vec![tool_use("t1")])),
        said(Arc::new(lost)),
        said(user(5, "five")),
        said(result(6, "t9")),
        said(Arc::new(branch)),
        said(user(1, "one")),
    ];
    let directory = write(&records);
    let path = transcript_path(directory.path(), &session());
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(b"{\"type\":\"user\",\"uu");
    fs::write(&path, bytes).unwrap();
    expect_findings(
        &directory,
        expect![[r#"
            - message chain: The last record was cut off in the middle and was left out.
            - message chain: 1 record was there twice; the first copy counts.
            - message chain: 3 messages lie on other branches and stay in the file.
            - message chain: 1 tool call had no result and counts as interrupted.
            - message chain: On other branches, 1 messages follow ones that are missing.
            + state: Listings are told of 1 branches, and there are 2.
        "#]],
    );
    let repaired = repair(directory.path(), stamp(), MEASURES).unwrap();
    assert_eq!(repaired.len(), 1);
    assert!(!checkup(&directory).findings.iter().any(|finding| finding.lossless));
}

#[test]
fn state_that_makes_no_sense_is_told() {
    let queued = Record::Queued { turn: "a".to_owned(), text: "wait".to_owned() };
    let directory = write(&[
        said(user(1, "one")),
        Record::Mode("turbo\nmode".to_owned()),
        queued,
        Record::Dequeued { turn: "b".to_owned() },
        Record::Head { uuid: Some(uuid(77)) },
    ]);
    let path = transcript_path(directory.path(), &session());
    let mut text = fs::read_to_string(&path).unwrap();
    text += "{\"type\":\"reverie-prefix\",\"sessionId\":\"s\",\"model\":7}\n";
    text += &format!(
        "{{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"isSidechain\":true,\"uuid\":\"{}\",\"compactMetadata\":{{\"preTokens\":100,\"postTokens\":150}}}}\n",
        uuid(9)
    );
    fs::write(&path, text).unwrap();
    expect_findings(
        &directory,
        expect![[r#"
            - state: A prompt that was waiting when the session ended was not run: "wait".
            + state: The session was rewound to a message that is missing.
            - state: The session's mode has a name that is not known: turbo mode.
            - state: The start of the session's requests cannot be read; the next request renders it anew, and the provider's cache does not know that.
            - state: 1 prompts no longer wait that never did.
            ! state: A compaction made 100 tokens into 150: more than there were.
        "#]],
    );
    repair(directory.path(), stamp(), MEASURES).unwrap();
    assert!(!checkup(&directory).findings.iter().any(|finding| finding.lossless));
}

#[test]
fn a_session_that_is_open_is_left_to_who_has_it() {
    let directory = write(&[said(user(1, "one")), answer(2, 500), cost(0, 0.0)]);
    let _open = Transcript::open(directory.path(), stamp()).unwrap();
    let refused = repair(directory.path(), stamp(), MEASURES);
    assert!(matches!(refused, Err(RepairError::Write(TranscriptError::Busy))));
    let missing = check(&directory.path().join("nothing.jsonl"), MEASURES);
    assert!(matches!(missing, Err(LoadError::NotFound)));
}

#[test]
fn the_log_keeps_the_last_fifty_repairs_of_all_processes() {
    let cache = tempfile::tempdir().unwrap();
    let folder = cache.path().join("reverie");
    let repair = |number: u32| Repair {
        at: sample::user(number, "").timestamp,
        subject: number.to_string(),
        check: Check::Tokens.name().to_owned(),
        detail: "one\nline".to_owned(),
        success: number.is_multiple_of(2),
    };
    assert_eq!(RepairLog::open(&folder).recent(), []);
    std::thread::scope(|scope| {
        for process in 0..4 {
            let folder = &folder;
            scope.spawn(move || {
                let log = RepairLog::open(folder);
                for number in 0..10 {
                    log.add(&[repair(process * 10 + number)]).unwrap();
                }
            });
        }
    });
    let log = RepairLog::open(&folder);
    assert_eq!(log.recent().len(), 40);
    log.add(&(100..130).map(repair).collect::<Vec<_>>()).unwrap();
    let recent = log.recent();
    assert_eq!((recent.len(), &recent[49]), (50, &repair(129)));
    let path = folder.join("repairs.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    bytes.splice(0..3, *b"\xff\0{");
    bytes.extend_from_slice(b"{\"torn");
    fs::write(&path, bytes).unwrap();
    assert_eq!(log.recent().len(), 49);
    log.add(&[]).unwrap();
}

#[test]
fn summaries_are_as_long_as_they_were_counted() {
    let directory = write(&[said(user(1, "one"))]);
    let path = transcript_path(directory.path(), &session());
    let mut text = fs::read_to_string(&path).unwrap();
    let mut number = 10;
    // Where the count is: with the boundary, with the summary, or nowhere.
    for (boundary, summary) in [
        (r#""compactMetadata":{"preTokens":9000,"postTokens":400,"summaryTokens":350}"#, r#""x":1"#),
        (r#""compactMetadata":{"preTokens":9000,"summaryTokens":249}"#, r#""x":1"#),
        (r#""compactMetadata":{"preTokens":9000}"#, r#""summaryTokens":351"#),
        (r#""compactMetadata":{"preTokens":9000}"#, r#""x":1"#),
        (r#""content":"no sizes""#, r#""summaryTokens":9"#),
    ] {
        let said = "s".repeat(300);
        text += &format!(
            "{{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"uuid\":\"{}\",{boundary}}}\n",
            uuid(number)
        );
        text += &format!(
            "{{\"type\":\"user\",\"isCompactSummary\":true,\"uuid\":\"{}\",\"parentUuid\":\"{}\",{summary},\"message\":{{\"role\":\"user\",\"content\":\"{said}\"}}}}\n",
            uuid(number + 1),
            uuid(number),
        );
        number += 10;
    }
    fs::write(&path, text).unwrap();
    let told = checkup(&directory).findings.into_iter().filter(|finding| finding.check == Check::Tokens);
    let told: Vec<String> = told.map(|finding| finding.detail).collect();
    assert_eq!(
        told,
        [
            "A summary was counted as 249 tokens, and has about 300.",
            "A summary was counted as 351 tokens, and has about 300.",
            "A summary was counted as 9 tokens, and has about 300.",
        ]
    );
}
