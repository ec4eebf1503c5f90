use std::fs;

use expect_test::{Expect, expect};
use proptest::prelude::{ProptestConfig, prop, prop_assert_eq, proptest};
use tempfile::TempDir;

use super::*;
use crate::{
    Block, Body, Stamp, Transcript, request_messages,
    sample::{assistant, result, system, tool_use, user, uuid},
};

const SESSION: &str = "3f0c7d0e-6f1d-4f4e-9a55-0d5b6a1c2e11";

fn session() -> SessionId {
    SessionId::parse(SESSION).unwrap()
}

fn stamp() -> Stamp {
    let cwd = "/home/ada/engine".into();
    Stamp { session: session(), cwd, version: "0.1.0".to_owned(), git_branch: Some("main".to_owned()) }
}

fn write(messages: &[Arc<Message>]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(directory.path(), stamp());
    for message in messages {
        transcript.append(&Record::Message(Arc::clone(message))).unwrap();
    }
    directory
}

fn with_text(text: impl AsRef<[u8]>) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(transcript_path(directory.path(), &session()), text).unwrap();
    directory
}

fn load_all(directory: &TempDir, strategy: Option<Strategy>) -> Loaded {
    load(directory.path(), &session(), strategy).unwrap()
}

/// The thread as it would be sent, one line a message, then the repairs.
fn check(loaded: &Loaded, expected: Expect) {
    let mut shown = String::new();
    for message in request_messages(loaded.thread.iter().map(Arc::as_ref)) {
        shown += &format!("{:?}: {}\n", message.role, serde_json::to_string(&message.content).unwrap());
    }
    for repair in &loaded.repairs {
        shown += &format!("! {repair}\n");
    }
    expected.assert_eq(&shown);
}

#[test]
fn a_transcript_of_claude_code_resumes() {
    let loaded = load_all(&with_text(include_str!("../../fixtures/claude-code.jsonl")), None);
    assert_eq!(loaded.title.as_deref(), Some("Fix the carry of the engine"));
    assert_eq!(loaded.cwd, Some("/home/ada/engine".into()));
    assert_eq!(loaded.new_messages.len(), 1);
    check(&loaded, expect![[""]]);
}

#[test]
fn a_compacted_thread_begins_at_the_boundary() {
    let loaded = load_all(&with_text(include_str!("../../fixtures/claude-code-compacted.jsonl")), None);
    assert_eq!(loaded.title.as_deref(), Some("Widen the carry"));
    assert!(loaded.thread[1].flags.compact_summary);
    check(&loaded, expect![[""]]);
}

#[test]
fn calls_without_results_are_answered_once() {
    let messages = [
        user(1, "go"),
        assistant(2, "a", vec![tool_use("t1"), tool_use("t2")]),
        result(3, "t2"),
        assistant(4, "b", vec![tool_use("t3"), tool_use("t4")]),
        result(5, "t4"),
    ];
    let directory = write(&messages);
    let loaded = load_all(&directory, None);
    check(&loaded, expect![[""]]);
    assert_eq!(loaded.new_messages.len(), 1);
    assert_eq!(loaded.new_messages[0].parent, Some(uuid(5)));

    let transcript = Transcript::open(directory.path(), stamp()).unwrap();
    transcript.append(&Record::Message(Arc::clone(&loaded.new_messages[0]))).unwrap();
    let again = load_all(&directory, None);
    assert_eq!(again.thread, loaded.thread);
    assert_eq!(again.new_messages, []);
    assert_eq!(again.repairs, ["1 tool call had no result and counts as interrupted."]);
}

#[test]
fn results_without_calls_are_left_out() {
    let both = Body::User { content: vec![crate::sample::result_block("t8"), Block::text("and now?")] };
    let messages = [user(1, "go"), result(2, "t9"), crate::sample::message(3, both)];
    check(&load_all(&write(&messages), None), expect![[""]]);
}

#[test]
fn every_kind_of_damage_is_told() {
    let directory =
        write(&[user(1, "one"), user(2, "two"), user(3, "three"), user(4, "four"), user(5, "five")]);
    let path = transcript_path(directory.path(), &session());
    let lines: Vec<String> = fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
    let [one, two, three, four, five] = lines.as_slice() else { panic!() };
    let bytes = [
        format!("\u{feff}{one}\r\n").into_bytes(),
        b"{\"broken\n\0\0\0\0".to_vec(),
        format!("{two}{three}\n{two}\n").into_bytes(),
        four.replace("four", "fo\\ud83dur").replace("000000000003\"", "00000000ffff\"").into_bytes(),
        b"\n{\"type\":\"hologram\",\"sessionId\":\"s\",\"reverieFormat\":9}\n".to_vec(),
        five.replace("five", "fi\u{0}ve").replace('\u{0}', "").into_bytes(),
        b"\n".to_vec(),
        five.as_bytes()[..100].to_vec(),
    ];
    fs::write(&path, bytes.concat()).unwrap();
    check(&load_all(&directory, None), expect![[""]]);
}

#[test]
fn an_invalid_byte_costs_a_character_not_a_message() {
    let directory = write(&[user(1, "one"), user(2, "two")]);
    let path = transcript_path(directory.path(), &session());
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(3).position(|window| window == b"one").unwrap();
    bytes[at] = 0xff;
    fs::write(&path, bytes).unwrap();
    check(&load_all(&directory, None), expect![[""]]);
}

#[test]
fn nothing_readable_is_an_empty_thread_and_says_so() {
    check(&load_all(&with_text(""), None), expect![[""]]);
    check(&load_all(&with_text("what?\n\0\0\0"), None), expect![[""]]);
    let missing = tempfile::tempdir().unwrap();
    assert!(matches!(load(missing.path(), &session(), None), Err(LoadError::NotFound)));
}

#[test]
fn branches_are_found_and_can_be_loaded() {
    let mut edited = Message::clone(&user(4, "another way"));
    edited.parent = Some(uuid(1));
    let directory = write(&[
        user(1, "one"),
        assistant(2, "a", vec![Block::text("two")]),
        user(3, "three"),
        Arc::new(edited),
    ]);
    let found = branches(directory.path(), &session()).unwrap();
    assert_eq!(found, [Branch { leaf: uuid(4), messages: 2 }, Branch { leaf: uuid(3), messages: 3 }]);
    check(&load_all(&directory, None), expect![[""]]);
    check(&load_branch(directory.path(), &session(), uuid(3)).unwrap(), expect![[""]]);
}

#[test]
fn everything_else_in_the_file_comes_back() {
    let directory = write(&[user(1, "one")]);
    let transcript = Transcript::open(directory.path(), stamp()).unwrap();
    let prefix = Prefix {
        model: "a/b".to_owned(),
        system: serde_json::json!([{ "b": 0.1, "a": 1e300 }]),
        tools: serde_json::json!([{ "name": "Read" }]),
        context: vec![Block::text("context")],
    };
    let mut cost = CostState::default();
    cost.models.insert("a/b".to_owned(), crate::ModelCost { usage: Default::default(), cost_usd: 0.1 + 0.2 });
    let files = serde_json::json!({ "path": "/a" });
    transcript.append(&Record::Title("old".to_owned())).unwrap();
    transcript.append(&Record::Title("new".to_owned())).unwrap();
    transcript.append(&Record::Prefix(prefix.clone())).unwrap();
    transcript.append(&Record::Cost(cost.clone())).unwrap();
    transcript.append(&Record::ReadFiles(files.clone())).unwrap();
    transcript.append(&Record::Unknown(serde_json::json!({ "type": "progress" }))).unwrap();
    let loaded = load_all(&directory, None);
    assert_eq!(loaded.repairs, Vec::<String>::new());
    assert_eq!(loaded.title.as_deref(), Some("new"));
    assert_eq!((loaded.prefix, loaded.cost, loaded.read_files), (Some(prefix), cost, vec![files]));
}

fn long_session() -> Vec<Arc<Message>> {
    let todo = serde_json::json!({ "todos": [
        { "content": "widen", "status": "completed" }, { "content": "test\nit", "status": "pending" },
    ] });
    let todo = Block::ToolUse { id: "t2".to_owned(), name: "TodoWrite".to_owned(), input: todo };
    let mut failed = Message::clone(&result(4, "t2"));
    if let Body::User { content } = &mut failed.body {
        let text = crate::ResultContent::Text("no such list".to_owned());
        *content = vec![Block::ToolResult { tool_use_id: "t2".to_owned(), content: text, is_error: true }];
    }
    let mut messages = vec![
        user(1, "Widen the carry"),
        assistant(2, "a", vec![tool_use("t1"), todo]),
        result(3, "t1"),
        Arc::new(failed),
        assistant(5, "b", vec![Block::text("It is wider now.")]),
        system(6, "note"),
    ];
    for number in (7..17).step_by(2) {
        messages.push(user(number, &format!("question {number}")));
        messages.push(assistant(
            number + 1,
            &format!("m{number}"),
            vec![Block::text(format!("answer {number}"))],
        ));
    }
    messages
}

#[test]
fn the_partial_resume_is_a_digest_and_the_last_rounds() {
    let directory = write(&long_session());
    let loaded = load_all(&directory, Some(Strategy::Partial));
    assert_eq!(loaded.new_messages, loaded.thread);
    check(&loaded, expect![[""]]);

    let transcript = Transcript::open(directory.path(), stamp()).unwrap();
    for message in &loaded.new_messages {
        transcript.append(&Record::Message(Arc::clone(message))).unwrap();
    }
    let again = load_all(&directory, None);
    assert_eq!((again.strategy, again.thread), (Strategy::Full, loaded.thread));
}

#[test]
fn the_minimal_resume_is_what_is_known_about_the_project() {
    check(&load_all(&write(&long_session()), Some(Strategy::Minimal)), expect![[""]]);
}

#[test]
fn only_messages_of_side_chains_make_a_partial_resume() {
    let side = |message: Arc<Message>| {
        let mut message = Message::clone(&message);
        message.flags.sidechain = true;
        Arc::new(message)
    };
    let directory = write(&[side(user(1, "explore")), side(assistant(2, "a", vec![Block::text("found")]))]);
    let loaded = load_all(&directory, None);
    assert_eq!(loaded.strategy, Strategy::Partial);
    check(&loaded, expect![[""]]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_resumed_thread_sends_the_same_bytes(messages in prop::collection::vec(crate::record::tests::message(), 1..12)) {
        let mut parent = None;
        let mut thread = Vec::new();
        for (message, number) in messages.into_iter().zip(1..) {
            let mut message = Message { uuid: uuid(number), parent, ..message };
            message.flags.sidechain = false;
            parent = Some(message.uuid);
            thread.push(Arc::new(message));
        }
        let loaded = load_all(&write(&thread), None);
        let bytes = |thread: &[Arc<Message>]| serde_json::to_vec(&request_messages(thread.iter().map(Arc::as_ref))).unwrap();
        prop_assert_eq!(bytes(&loaded.thread), bytes(&thread));
    }
}
