//! Branches, rewinds and forks as a resume finds them.

use std::{fs, sync::Arc};

use expect_test::{Expect, expect};
use tempfile::TempDir;

use super::*;
use crate::{
    Block, Body, ForkedFrom, Stamp, Transcript, list,
    sample::{assistant, result, tool_use, user, uuid},
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

fn load_at(directory: &TempDir, at: Option<Uuid>) -> Loaded {
    load(directory.path(), &session(), None, at).unwrap()
}

fn said(message: Arc<Message>) -> Record {
    Record::Message(message)
}

/// Message `number` after message `parent`; 0 is none.
fn after(parent: u32, message: Arc<Message>) -> Record {
    let mut message = Message::clone(&message);
    message.parent = (parent > 0).then(|| uuid(parent));
    Record::Message(Arc::new(message))
}

fn head(number: u32) -> Record {
    Record::Head { uuid: (number > 0).then(|| uuid(number)) }
}

fn answer(number: u32, text: &str) -> Arc<Message> {
    assistant(number, &format!("m{number}"), vec![Block::text(text)])
}

/// The thread by its last hex digits, the branches, and the repairs.
fn check(loaded: &Loaded, expected: Expect) {
    let number = |uuid: Uuid| uuid.as_u128() & 0xffff;
    let thread: Vec<u128> = loaded.thread.iter().map(|message| number(message.uuid)).collect();
    let mut shown = format!("{thread:x?}\n");
    for branch in &loaded.branches {
        let Branch { leaf, first_prompt, messages, current, .. } = branch;
        let mark = if *current { "*" } else { " " };
        shown += &format!("{mark} {:x}: {messages} messages, {first_prompt:?}\n", number(*leaf));
    }
    for repair in &loaded.repairs {
        shown += &format!("! {repair}\n");
    }
    expected.assert_eq(&shown);
}

fn conversation() -> Vec<Record> {
    vec![said(user(1, "one")), said(answer(2, "two")), said(user(3, "three")), said(answer(4, "four"))]
}

#[test]
fn a_rewound_session_ends_where_it_was_rewound_to_until_something_is_said() {
    let mut records = conversation();
    records.push(head(2));
    let directory = write(&records);
    check(
        &load_at(&directory, None),
        expect![[r#"
            [1, 2]
            * 2: 2 messages, "one"
              4: 4 messages, "three"
        "#]],
    );
    let transcript = Transcript::open(directory.path(), stamp()).unwrap();
    transcript.append(&after(2, user(5, "five"))).unwrap();
    check(
        &load_at(&directory, None),
        expect![[r#"
            [1, 2, 5]
            * 5: 3 messages, "five"
              4: 4 messages, "three"
        "#]],
    );
}

#[test]
fn the_newest_of_several_rewinds_counts() {
    let mut records = conversation();
    records.extend([head(2), head(4), head(1)]);
    check(
        &load_at(&write(&records), None),
        expect![[r#"
            [1]
            * 1: 1 messages, "one"
              4: 4 messages, "three"
        "#]],
    );
}

#[test]
fn before_the_first_message_the_thread_is_empty_and_begins_anew() {
    let mut records = conversation();
    records.push(head(0));
    let directory = write(&records);
    let loaded = load_at(&directory, None);
    assert_eq!((loaded.strategy, loaded.new_messages.len()), (Strategy::Full, 0));
    check(
        &loaded,
        expect![[r#"
            []
            * 0: 0 messages, ""
              4: 4 messages, "one"
        "#]],
    );
    let transcript = Transcript::open(directory.path(), stamp()).unwrap();
    transcript.append(&after(0, user(5, "anew"))).unwrap();
    check(
        &load_at(&directory, None),
        expect![[r#"
            [5]
            * 5: 1 messages, "anew"
              4: 4 messages, "one"
        "#]],
    );
}

#[test]
fn a_rewind_into_a_round_interrupts_its_calls_and_later_reads_are_unseen() {
    let records = [
        said(user(1, "go")),
        said(assistant(2, "a", vec![tool_use("t1"), tool_use("t2")])),
        said(result(3, "t1")),
        said(result(4, "t2")),
        Record::ReadFiles(serde_json::json!(["/a"])),
        said(answer(5, "done")),
        head(2),
    ];
    let directory = write(&records);
    let loaded = load_at(&directory, None);
    assert_eq!((loaded.new_messages.len(), loaded.read_files.len()), (1, 0));
    assert_eq!(loaded.thread.len(), 3);
    let transcript = Transcript::open(directory.path(), stamp()).unwrap();
    transcript.append(&said(Arc::clone(&loaded.new_messages[0]))).unwrap();
    let again = load_at(&directory, None);
    assert_eq!(again.thread, loaded.thread);
    assert_eq!((again.new_messages.len(), again.branches.len()), (0, 2));
    // The answer was made by a resume; a rewind may name it before it is written.
    let made = crate::record::interrupted_uuid(uuid(2));
    let unwritten = write(&[&records[..6], &[Record::Head { uuid: Some(made) }]].concat());
    assert_eq!(load_at(&unwritten, None).thread, loaded.thread);
}

#[test]
fn another_branch_is_gone_on_with_and_found_again() {
    let mut records = conversation();
    records.extend([head(2), after(2, user(5, "five"))]);
    let directory = write(&records);
    let loaded = load_at(&directory, Some(uuid(4)));
    check(
        &loaded,
        expect![[r#"
            [1, 2, 3, 4]
            * 4: 4 messages, "three"
              5: 3 messages, "five"
        "#]],
    );
    assert_eq!(loaded.new_records, [head(4)]);
    let transcript = Transcript::open(directory.path(), stamp()).unwrap();
    loaded.new_records.iter().for_each(|record| transcript.append(record).unwrap());
    assert_eq!(load_at(&directory, None).thread, loaded.thread);
    assert!(matches!(
        load(directory.path(), &session(), None, Some(uuid(77))),
        Err(LoadError::NoSuchMessage(missing)) if missing == uuid(77)
    ));
}

#[test]
fn a_lost_place_is_told_and_the_newest_message_counts() {
    let mut records = conversation();
    records.push(head(77));
    check(
        &load_at(&write(&records), None),
        expect![[r#"
            [1, 2, 3, 4]
            * 4: 4 messages, "one"
            ! The message that the session was rewound to is missing; it goes on from the newest one.
        "#]],
    );
}

#[test]
fn a_head_that_names_no_place_is_none() {
    let directory = write(&conversation());
    let path = transcript_path(directory.path(), &session());
    let mut text = fs::read_to_string(&path).unwrap();
    text += "{\"type\":\"reverie-head\",\"sessionId\":\"s\",\"headUuid\":7}\n{\"type\":\"reverie-head\",\"sessionId\":\"s\"}\n";
    fs::write(&path, text).unwrap();
    assert_eq!(load_at(&directory, None).thread.len(), 4);
}

#[test]
fn a_second_beginning_hides_nothing() {
    let mut records = conversation();
    records.extend([after(0, user(5, "five")), after(5, answer(6, "six"))]);
    let directory = write(&records);
    let loaded = load_at(&directory, None);
    check(
        &loaded,
        expect![[r#"
            [5, 6]
            * 6: 2 messages, "five"
              4: 4 messages, "one"
            ! 4 earlier messages belong to a conversation that was begun anew; they stay in the file.
        "#]],
    );
    // Nobody rewound, so no listing knows yet.
    assert_eq!(loaded.new_records, [Record::Branches(2)]);
    assert_eq!(list(&[directory.path().to_owned()])[0].branches, 1);
    let transcript = Transcript::open(directory.path(), stamp()).unwrap();
    transcript.append(&loaded.new_records[0]).unwrap();
    assert_eq!(list(&[directory.path().to_owned()])[0].branches, 2);
    assert_eq!(load_at(&directory, None).new_records, []);
    assert_eq!(load_at(&directory, Some(uuid(4))).thread.len(), 4);
}

#[test]
fn parallel_results_of_claude_code_are_no_branches() {
    let directory = tempfile::tempdir().unwrap();
    let text = include_str!("../../fixtures/claude-code.jsonl");
    fs::write(transcript_path(directory.path(), &session()), text).unwrap();
    let loaded = load_at(&directory, None);
    assert_eq!((loaded.branches.len(), &loaded.new_records), (1, &Vec::new()));
    assert_eq!(count_branches(&transcript_path(directory.path(), &session())).unwrap(), 1);
    // Nor on a branch that was left.
    let first = loaded.thread.first().unwrap();
    let mut other = Message::clone(&user(0x99, "another way"));
    other.parent = Some(first.uuid);
    let transcript = Transcript::open(directory.path(), stamp()).unwrap();
    transcript.append(&Record::Head { uuid: Some(first.uuid) }).unwrap();
    transcript.append(&said(Arc::new(other))).unwrap();
    let loaded = load_at(&directory, None);
    assert_eq!((loaded.branches.len(), &loaded.new_records), (2, &Vec::new()));
    assert_eq!(loaded.repairs, Vec::<String>::new());
}

#[test]
fn many_beginnings_are_counted_up_to_a_bound() {
    let records: Vec<Record> = (1..=300).map(|number| after(0, user(number, "x"))).collect();
    let loaded = load_at(&write(&records), None);
    assert_eq!(loaded.branches.len(), 100);
    assert_eq!(loaded.branches[1].leaf, uuid(299));
}

#[test]
fn checkpoints_model_and_origin_come_back() {
    let mut records = vec![
        Record::ForkedFrom(ForkedFrom { session: session(), message: Some(uuid(9)) }),
        said(user(1, "one")),
        Record::Checkpoint(serde_json::json!({ "a": 1 })),
        Record::ModelChoice("a/b".to_owned()),
    ];
    records.push(Record::Checkpoint(serde_json::json!("b")));
    let loaded = load_at(&write(&records), None);
    assert_eq!(loaded.checkpoints, [serde_json::json!({ "a": 1 }), serde_json::json!("b")]);
    assert_eq!(loaded.model.as_deref(), Some("a/b"));
    assert_eq!(loaded.forked_from, Some(ForkedFrom { session: session(), message: Some(uuid(9)) }));
    assert_eq!(loaded.repairs, Vec::<String>::new());
}

#[test]
fn a_thread_is_cut_anywhere() {
    let thread = [user(1, "go"), assistant(2, "a", vec![tool_use("t1")]), result(3, "t1"), answer(4, "done")];
    assert_eq!(cut(&thread, None), Some(Cut::default()));
    assert_eq!(cut(&thread, Some(uuid(9))), None);
    let whole = cut(&thread, Some(uuid(3))).unwrap();
    assert_eq!((whole.thread.as_slice(), whole.new_messages.len()), (&thread[..3], 0));
    let open = cut(&thread, Some(uuid(2))).unwrap();
    assert_eq!((open.thread.len(), open.new_messages.len()), (3, 1));
    assert!(matches!(&open.new_messages[0].body, Body::User { .. }));
}
