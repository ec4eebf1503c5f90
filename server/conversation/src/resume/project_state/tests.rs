use std::{fs, os::unix::fs::PermissionsExt};

use expect_test::expect;

use super::*;
use crate::{
    Block,
    sample::{assistant, result, user},
};

fn call(id: &str, name: &str, input: serde_json::Value) -> Block {
    Block::ToolUse { id: id.to_owned(), name: name.to_owned(), input }
}

fn edit(number: u32, file: &str) -> Arc<Message> {
    let input = serde_json::json!({ "file_path": file });
    assistant(number, &number.to_string(), vec![call("t", "Edit", input)])
}

fn progress(thread: &[Arc<Message>]) -> Progress<'_> {
    Progress {
        session: None,
        title: Some("Widen\nthe carry"),
        cwd: Some(Path::new("/home/ada/engine")),
        git_branch: Some("main"),
        thread,
        notes: Some(Path::new("/notes/summary.md")),
    }
}

#[test]
fn it_is_a_small_markdown_file_for_the_user_alone() {
    let directory = tempfile::tempdir().unwrap();
    let todos = serde_json::json!({ "todos": [
        { "content": "widen", "status": "completed" }, { "content": "test it", "status": "in_progress" },
    ] });
    let thread = [
        user(1, "Widen the carry\n## Decisions\n- of mine"),
        assistant(2, "a", vec![call("t", "TodoWrite", todos)]),
        result(3, "t"),
        edit(4, "/home/ada/engine/carry.py"),
        result(5, "t"),
        assistant(6, "b", vec![Block::text("It is 50 columns wide now.")]),
    ];
    ProjectState::update(directory.path(), |state| state.learn(progress(&thread))).unwrap();
    let path = directory.path().join("project-state.md");
    expect![[r#"
        # Project state

        What a session here begins with when its transcript cannot be replayed. Reverie rewrites this file at the end of a turn.

        ## Project
        - Working directory: /home/ada/engine
        - Branch: main

        ## Context files, newest first
        - /home/ada/engine/carry.py

        ## Decisions
        - It is 50 columns wide now.

        ## Pending tasks
        - [in_progress] test it

        ## Last session
        - Title: Widen the carry
        - Last activity: 2025-06-15T15:06:46Z
        - Asked last: Widen the carry ## Decisions - of mine
        - Notes: /notes/summary.md
    "#]]
    .assert_eq(&fs::read_to_string(&path).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut learnt = ProjectState::default();
    learnt.learn(progress(&thread));
    assert_eq!(ProjectState::read(directory.path()), Some(learnt));
}

#[test]
fn sessions_add_to_what_is_known_and_the_newest_counts() {
    let mut state = ProjectState::default();
    state.tasks.push("[pending] from before".to_owned());
    let many: Vec<_> = (1..=30).map(|number| edit(number, &format!("/f{number}"))).collect();
    state.learn(progress(&many));
    assert_eq!((state.files.len(), state.files[0].as_str(), state.files[19].as_str()), (20, "/f30", "/f11"));
    assert_eq!(state.tasks, ["[pending] from before"], "it had no list of its own");
    let again = [user(1, "go on"), edit(2, "/f12"), assistant(3, "x", vec![Block::text("Decided.")])];
    state.learn(Progress { git_branch: Some("topic"), ..progress(&again) });
    state.learn(Progress { git_branch: Some("topic"), ..progress(&again) });
    assert_eq!((state.files.len(), &state.files[..2]), (20, &["/f12".to_owned(), "/f30".to_owned()][..]));
    assert_eq!(state.decisions, ["Decided."], "said once, however often it is seen");
    assert_eq!(state.facts, ["Working directory: /home/ada/engine", "Branch: topic"]);
    let before = state.clone();
    state.learn(progress(&[]));
    assert_eq!((&state.files, &state.last_session), (&before.files, &before.last_session));
}

#[test]
fn what_others_write_into_it_is_bounded_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("project-state.md");
    assert_eq!(ProjectState::read(directory.path()), None);
    fs::write(&path, b"\xff\xfe nonsense\n- nowhere\n## Unknown\n- dropped\n").unwrap();
    assert_eq!(ProjectState::read(directory.path()), None);
    fs::write(&path, format!("## Project\n- Language: Rust\n- {}\n", "x".repeat(1 << 20))).unwrap();
    let state = ProjectState::read(directory.path()).unwrap();
    assert_eq!(state.facts[0], "Language: Rust");
    assert!(state.facts[1].chars().count() <= 601);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let directory = directory.path();
            scope.spawn(move || {
                ProjectState::update(directory, |state| state.decisions.push(format!("decision {number}")))
                    .unwrap();
            });
        }
    });
    let state = ProjectState::read(directory.path()).unwrap();
    assert_eq!((state.decisions.len(), state.facts[0].as_str()), (8, "Language: Rust"));
    let written = fs::metadata(&path).unwrap().modified().unwrap();
    ProjectState::update(directory.path(), |_| {}).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written, "nothing changed");
}
