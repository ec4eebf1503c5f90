use std::fs;

use expect_test::expect;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::{
    Block, ModelCost, Prefix, RequestMessage, Transcript, cut, list, load, request_messages,
    sample::{assistant, result, tool_use, user, uuid},
};

fn id(number: u32) -> SessionId {
    SessionId::parse(&format!("3f0c7d0e-6f1d-4f4e-9a55-{number:012x}")).unwrap()
}

fn stamp(number: u32) -> Stamp {
    Stamp { session: id(number), cwd: "/home/ada".into(), version: "0.1.0".to_owned(), git_branch: None }
}

fn prefix() -> Prefix {
    let context = vec![Block::text("c")];
    Prefix {
        model: "a/b".to_owned(),
        system: json!([{ "b": 0.1, "a": "s" }]),
        tools: json!([]),
        context,
        instructions: json!(null),
        boundary: None,
    }
}

fn thread() -> Vec<Arc<crate::Message>> {
    vec![
        user(1, "Widen the carry"),
        assistant(2, "a", vec![tool_use("t1"), tool_use("t2")]),
        result(3, "t1"),
        result(4, "t2"),
        assistant(5, "b", vec![Block::text("It is wider.")]),
        user(6, "And now?"),
    ]
}

fn source() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(directory.path(), stamp(1));
    let append = |record: Record| transcript.append(&record).unwrap();
    append(Record::Prefix(prefix()));
    for (message, number) in thread().into_iter().zip(1..) {
        append(Record::Message(message));
        if number == 5 {
            append(Record::ReadFiles(json!([{ "path": "/first" }])));
            let models = [("a/b".to_owned(), ModelCost { cost_usd: 1.5, ..ModelCost::default() })].into();
            append(Record::Cost(CostState { models, ..CostState::default() }));
        }
    }
    append(Record::ReadFiles(json!([{ "path": "/second" }])));
    append(Record::Mode("plan".to_owned()));
    append(Record::ModelChoice("a/b".to_owned()));
    directory
}

fn requests(thread: &[Arc<crate::Message>]) -> Vec<RequestMessage> {
    request_messages(thread.iter().map(Arc::as_ref))
}

#[test]
fn a_fork_is_the_whole_thread_with_its_state_and_nothing_spent() {
    let directory = source();
    let forked = fork(directory.path(), &id(1), None, &stamp(2)).unwrap();
    assert_eq!((forked.messages, forked.title.as_str()), (6, "(fork) Widen the carry"));
    let loaded = load(directory.path(), &id(2), None, None).unwrap();
    assert_eq!(loaded.thread, thread());
    assert_eq!(loaded.prefix, Some(prefix()));
    assert_eq!(loaded.forked_from, Some(ForkedFrom { session: id(1), message: Some(uuid(6)) }));
    assert_eq!((loaded.mode.as_deref(), loaded.model.as_deref()), (Some("plan"), Some("a/b")));
    assert_eq!(loaded.read_files, [json!([{ "path": "/first" }]), json!([{ "path": "/second" }])]);
    assert_eq!((loaded.cost.cost_usd(), loaded.repairs), (0.0, Vec::new()));
    assert_eq!((loaded.branches.len(), loaded.new_records), (1, Vec::new()));
    let listed = list(&[directory.path().to_owned()]);
    let listed = listed.iter().find(|summary| summary.session == id(2)).unwrap();
    assert_eq!((listed.title.as_str(), listed.cost_usd), ("(fork) Widen the carry", Some(0.0)));
    assert_eq!(listed.forked_from, loaded.forked_from);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn wherever_it_is_cut_the_requests_are_the_same_up_to_there_and_every_call_has_its_result() {
    let directory = source();
    let whole = load(directory.path(), &id(1), None, None).unwrap().thread;
    for (position, number) in (0..whole.len()).zip(10..) {
        let at = whole[position].uuid;
        let forked = fork(directory.path(), &id(1), Some(at), &stamp(number)).unwrap();
        assert_eq!(forked.from.message, Some(at));
        let loaded = load(directory.path(), &id(number), None, None).unwrap();
        assert_eq!(loaded.repairs, Vec::<String>::new(), "cut after {position}");
        assert_eq!(loaded.new_messages, []);
        let expected = cut(&whole, Some(at)).unwrap();
        assert_eq!(requests(&loaded.thread), requests(&expected.thread), "cut after {position}");
        let complete: Vec<_> = whole[..=position].iter().map(|message| message.uuid).collect();
        let kept: Vec<_> = loaded.thread.iter().map(|message| message.uuid).collect();
        assert_eq!(kept[..complete.len()], complete);
    }
    let in_round = load(directory.path(), &id(12), None, None).unwrap();
    let last = serde_json::to_string(&requests(&in_round.thread).last().unwrap().content).unwrap();
    expect![[r#"[{"type":"tool_result","tool_use_id":"t1","content":"result of t1"},{"type":"tool_result","tool_use_id":"t2","content":"The tool call was interrupted before it finished: there is no result, and it may have had an effect.","is_error":true}]"#]].assert_eq(&last);
    assert_eq!(in_round.read_files, Vec::<serde_json::Value>::new(), "it was read later");
}

#[test]
fn a_fork_takes_the_place_of_nothing() {
    let directory = source();
    let before = fs::read(transcript_path(directory.path(), &id(1))).unwrap();
    let error = fork(directory.path(), &id(1), None, &stamp(1)).unwrap_err();
    assert!(matches!(error, ForkError::Write(error) if error.kind() == io::ErrorKind::AlreadyExists));
    assert_eq!(fs::read(transcript_path(directory.path(), &id(1))).unwrap(), before);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn what_is_not_there_cannot_be_forked() {
    let directory = source();
    let missing = fork(directory.path(), &id(7), None, &stamp(8));
    assert!(matches!(missing, Err(ForkError::Source(LoadError::NotFound))));
    let nowhere = fork(directory.path(), &id(1), Some(uuid(99)), &stamp(8));
    assert!(matches!(nowhere, Err(ForkError::Source(LoadError::NoSuchMessage(_)))));
    fs::write(transcript_path(directory.path(), &id(3)), "").unwrap();
    assert!(matches!(fork(directory.path(), &id(3), None, &stamp(8)), Err(ForkError::Empty)));
}

#[test]
fn a_fork_of_claude_codes_session_is_a_straight_line() {
    let directory = tempfile::tempdir().unwrap();
    let text = include_str!("../../fixtures/claude-code.jsonl");
    fs::write(transcript_path(directory.path(), &id(1)), text).unwrap();
    let whole = load(directory.path(), &id(1), None, None).unwrap();
    fork(directory.path(), &id(1), None, &stamp(2)).unwrap();
    let loaded = load(directory.path(), &id(2), None, None).unwrap();
    assert_eq!(requests(&loaded.thread), requests(&whole.thread));
    assert_eq!(loaded.title.as_deref(), Some("(fork) Fix the carry of the engine"));
    let again = fork(directory.path(), &id(2), None, &stamp(3)).unwrap();
    assert_eq!(again.title, "(fork) Fix the carry of the engine");
}
