use conversation::ResultContent;
use expect_test::{Expect, expect};
use serde_json::Value;

use super::*;
use crate::ContextEdits;

const PATH: &str = "/home/ada/my notes/s/session-memory/summary.md";
const TEMPLATE: &str = "# Session Title\n_What it is_\n\n# Current State\n_Now_\n\n# Task specification\n_Wanted_\n\n\
                        # Files and Functions\n_Files_\n\n# Workflow\n_Commands_\n\n# Errors & Corrections\n_Wrong_\n\n\
                        # Learnings\n_Learnt_\n\n# Key results\n_Results_\n\n# Worklog\n_Log_\n";

fn says(role: Role, block: Block) -> RequestMessage {
    RequestMessage { role, content: vec![block] }
}

fn conversation() -> Vec<RequestMessage> {
    let call = |id: &str, name: &str, input: Value| {
        says(Role::Assistant, Block::ToolUse { id: id.to_owned(), name: name.to_owned(), input })
    };
    let result = |id: &str, text: &str, is_error: bool| {
        let content = ResultContent::Text(text.to_owned());
        says(Role::User, Block::ToolResult { tool_use_id: id.to_owned(), content, is_error })
    };
    vec![
        says(Role::User, Block::text("Make the parser\nfaster")),
        call("a", "Read", json!({ "file_path": "/w/parser.rs" })),
        result("a", "fn parse() {}", false),
        call("b", "Bash", json!({ "command": "cargo bench" })),
        result("b", "no such command: bench", true),
        says(Role::Assistant, Block::text("It needs nightly.")),
        says(Role::User, Block::text("No, use criterion instead")),
        says(Role::Assistant, Block::text("Done with criterion.")),
    ]
}

fn directive(notes: &str) -> String {
    format!(
        "{NOTES_TAG}\nKeep notes.\n\n<session-notes path=\"{PATH}\">\n{}\n</session-notes>\n\nMore.",
        notes.trim_end()
    )
}

fn request(mut messages: Vec<RequestMessage>, directive: String) -> Request {
    messages.push(says(Role::User, Block::text(directive)));
    Request {
        model: "offline".to_owned(),
        system: [].into(),
        tools: [].into(),
        messages,
        max_tokens: 1,
        output_schema: None,
        source: QuerySource::SessionMemory,
        shared: None,
        context_edits: ContextEdits::default(),
    }
}

/// The notes after the edits.
fn kept(messages: Vec<RequestMessage>, directive: String, notes: &str) -> String {
    let Some(Step::Calls(calls)) = step(&request(messages, directive)) else {
        panic!("there is something to write")
    };
    calls.iter().fold(notes.to_owned(), |notes, call| {
        let text = |field: &str| call.input[field].as_str().unwrap().to_owned();
        assert_eq!(notes.matches(&text("old_string")).count(), 1, "{}", text("old_string"));
        notes.replacen(&text("old_string"), &text("new_string"), 1)
    })
}

fn check(messages: Vec<RequestMessage>, notes: &str, expected: Expect) -> String {
    let notes = kept(messages, directive(notes), notes);
    expected.assert_eq(&notes);
    notes
}

#[test]
fn a_round_of_edits_fills_the_sections() {
    let notes = check(
        conversation(),
        TEMPLATE,
        expect![[r#"
        # Session Title
        _What it is_
        Make the parser faster

        # Current State
        _Now_
        - The last request: “No, use criterion instead”
        - Said last: Done with criterion.

        # Task specification
        _Wanted_
        - “Make the parser faster”
        - “No, use criterion instead”

        # Files and Functions
        _Files_
        - /w/parser.rs: read

        # Workflow
        _Commands_
        - `cargo bench`

        # Errors & Corrections
        _Wrong_
        - Bash of `cargo bench` failed: no such command: bench. Then: “It needs nightly.”
        - The user: “No, use criterion instead”

        # Learnings
        _Learnt_

        # Key results
        _Results_
        - “Make the parser faster” → “It needs nightly.”
        - “No, use criterion instead” → “Done with criterion.”

        # Worklog
        _Log_
        - “Make the parser faster”: 2 calls
        - “No, use criterion instead”
    "#]],
    );
    let mut messages = conversation();
    messages.push(says(Role::User, Block::text("Thanks. Push it")));
    let again = kept(messages, directive(&notes), &notes);
    assert_eq!(
        again.matches("Make the parser faster").count(),
        notes.matches("Make the parser faster").count()
    );
    assert!(again.contains("# Worklog\n_Log_\n- “Make the parser faster”: 2 calls\n"), "{again}");
}

#[test]
fn after_the_edits_there_is_a_word_and_no_more() {
    let mut asked = request(conversation(), directive(TEMPLATE));
    asked.messages.push(says(Role::Assistant, Block::text("edits")));
    asked.messages.push(says(Role::User, Block::text("results")));
    assert_eq!(step(&asked), Some(Step::Answer("The notes are up to date.".to_owned())));
    assert_eq!(step(&Request { source: QuerySource::Main, ..asked }), None);
}

#[test]
fn what_others_wrote_and_what_was_left_out_stays() {
    let notes = TEMPLATE
        .replace("_What it is_\n", "_What it is_\nMine\n")
        .replace("_Log_\n", "_Log_\nby hand\n- “before”: 3 calls\n");
    let whole = kept(conversation(), directive(&notes), &notes);
    assert!(whole.contains("_What it is_\nMine\n"), "{whole}");
    assert!(whole.contains("_Log_\nby hand\n- “Make the parser faster”"), "{whole}");
    let mut shortened = conversation();
    let summary = format!("<conversation-summary>\nNotes stand for it.\n\n{notes}\n</conversation-summary>");
    shortened.insert(0, says(Role::User, Block::text(summary)));
    let after = kept(shortened, directive(&notes), &notes);
    assert!(after.contains("_Log_\nby hand\n- “before”: 3 calls\n- “Make the parser faster”"), "{after}");
    assert!(!after.contains("Notes stand for it"), "{after}");
}

#[test]
fn words_and_forms_of_the_users_own_are_understood() {
    let path = "/h/session-memory/summary.md";
    let form = "# Log\n\n# Done\n";
    let asked = format!("{NOTES_TAG}\nWrite into {path}:\n{}", form.trim_end());
    let notes = kept(conversation(), asked, form);
    assert!(notes.starts_with("# Log\n\n# Done\n- “Make the parser faster”: 2 calls\n"), "{notes}");
    let nowhere = request(conversation(), format!("{NOTES_TAG}\nWrite something."));
    assert_eq!(step(&nowhere), Some(Step::Answer("There is nothing to write down.".to_owned())));
}

#[test]
fn notes_are_bounded_however_long_the_conversation_is() {
    let mut messages = Vec::new();
    for number in 0..500 {
        messages.push(says(Role::User, Block::text(format!("request {number}: {}", "wörd ".repeat(300)))));
        messages.push(says(Role::Assistant, Block::text("answer ".repeat(300))));
    }
    let notes = kept(messages, directive(TEMPLATE), TEMPLATE);
    assert!(notes.len() < 9 * (SECTION + 200), "{}", notes.len());
    assert!(notes.contains("request 0") && notes.contains("request 499"), "{notes}");
}
