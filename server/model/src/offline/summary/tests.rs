use std::time::Instant;

use conversation::ResultContent;
use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::{ContextEdits, Delta, Event};

fn user(text: &str) -> RequestMessage {
    RequestMessage { role: Role::User, content: vec![Block::text(text)] }
}

fn says(text: &str) -> RequestMessage {
    RequestMessage { role: Role::Assistant, content: vec![Block::text(text)] }
}

/// A call and its result.
fn calls(id: &str, tool: &str, input: serde_json::Value, result: Result<&str, &str>) -> [RequestMessage; 2] {
    let call = Block::ToolUse { id: id.to_owned(), name: tool.to_owned(), input };
    let (Ok(text) | Err(text)) = result;
    let content = ResultContent::Text(text.to_owned());
    let result = Block::ToolResult { tool_use_id: id.to_owned(), content, is_error: result.is_err() };
    [
        RequestMessage { role: Role::Assistant, content: vec![call] },
        RequestMessage { role: Role::User, content: vec![result] },
    ]
}

fn request(mut messages: Vec<RequestMessage>, directive: &str) -> Request {
    match messages.last_mut() {
        Some(last) if last.role == Role::User => last.content.push(Block::text(directive)),
        _ => messages.push(user(directive)),
    }
    Request {
        model: "offline".to_owned(),
        system: [].into(),
        tools: [].into(),
        messages,
        max_tokens: 1,
        output_schema: None,
        source: QuerySource::Main,
        shared: None,
        context_edits: ContextEdits::default(),
    }
}

fn whole(messages: Vec<RequestMessage>) -> String {
    answer(&request(messages, &format!("{SUMMARY_TAG}\nSummarise."))).unwrap()
}

fn check(messages: Vec<RequestMessage>, expected: Expect) {
    expected.assert_eq(&whole(messages));
}

fn conversation() -> Vec<RequestMessage> {
    let todos = json!({"todos": [
        {"content": "Find the parser", "status": "completed"},
        {"content": "Fix the parser", "status": "in_progress"},
        {"content": "Add a test", "status": "pending"},
    ]});
    let edit = json!({"file_path": "/w/src/parse.rs", "old_string": "fn parse() {", "new_string": "fn parse(input: &str) {"});
    let mut messages = vec![user(
        "<system-reminder>\nThe project's rules\n</system-reminder>\nMake the parser take its input.\n4. Errors and Fixes\nKeep the API.",
    )];
    messages.extend(calls(
        "1",
        "Read",
        json!({"file_path": "/w/parse.rs"}),
        Err("file does not exist\nlook elsewhere"),
    ));
    messages.push(says("It is elsewhere."));
    messages.extend(calls("2", "Glob", json!({"pattern": "**/parse.rs"}), Ok("/w/src/parse.rs")));
    messages.extend(calls("3", "Read", json!({"file_path": "/w/src/parse.rs"}), Ok("1→fn parse() {")));
    messages.push(says("Found it in src/parse.rs."));
    messages.push(user("Good, change it."));
    messages.extend(calls("4", "TodoWrite", todos, Ok("noted")));
    messages.extend(calls("5", "Edit", edit, Ok("edited")));
    messages.extend(calls(
        "6",
        "Bash",
        json!({"command": "cargo test -p parser"}),
        Err("exit 101\n2 tests failed"),
    ));
    messages.extend(calls("7", "Bash", json!({"command": "cargo test -p parser"}), Ok("ok")));
    messages
}

#[test]
fn the_nine_sections_of_a_conversation() {
    check(
        conversation(),
        expect![[r#"
            <analysis>
            Messages read, in their order: 18.
            </analysis>

            <summary>
            1. Request and Intent
            What the user asked for, first to last.
            - “Make the parser take its input. 4. Errors and Fixes Keep the API.”
            - “Good, change it.”

            2. Key Concepts
            What the conversation is about, by its files and commands.
            - Kinds of files: rs (3)
            - Commands: cargo test (2)
            - Tools: Bash (2), Edit (1), Glob (1), Read (2), TodoWrite (1)

            3. Files and Code
            What was read, changed and written, in the order of the first touch.
            - /w/src/parse.rs: read; changed: `fn parse() {` became `fn parse(input: &str) {`

            4. Errors and Fixes
            What failed, and what followed.
            - Read of `/w/parse.rs` failed: file does not exist look elsewhere. Then: “It is elsewhere.”
            - Bash of `cargo test -p parser` failed: exit 101 2 tests failed. A later try worked.

            5. Problem Solving
            What was asked, and what came of it.
            - “Make the parser take its input. 4. Errors and Fixes Keep the API.” → “Found it in src/parse.rs.”

            6. All User Messages
            What the user wrote, word for word.
            - Make the parser take its input.
              > 4. Errors and Fixes
              > Keep the API.
            - Good, change it.

            7. Pending Tasks
            What is on the list and not done.
            - Fix the parser (in progress)
            - Add a test

            8. Current Work
            Where the work stands.
            - The last request: “Good, change it.”
            - TodoWrite worked.
            - Edit of `/w/src/parse.rs` worked.
            - Bash of `cargo test -p parser` failed.
            - Bash of `cargo test -p parser` worked.

            9. Next Step
            What follows from the last request.
            - The last request was: “Good, change it.”
            - Go on with “Fix the parser”.
            </summary>"#]],
    );
}

#[test]
fn a_conversation_in_which_nothing_happened() {
    check(
        Vec::new(),
        expect![[r#"
            <analysis>
            Messages read, in their order: 1.
            </analysis>

            <summary>
            1. Request and Intent
            Nothing was asked for yet.

            2. Key Concepts
            No files and no commands came up.

            3. Files and Code
            No file was read or changed.

            4. Errors and Fixes
            Nothing failed.

            5. Problem Solving
            Nothing was worked out yet.

            6. All User Messages
            The user wrote nothing.

            7. Pending Tasks
            Nothing is left to do.

            8. Current Work
            No work has begun.

            9. Next Step
            None: there is no request.
            </summary>"#]],
    );
}

#[test]
fn an_earlier_summary_is_carried_over() {
    let first = whole(conversation());
    let summary = first.split_once("<summary>").unwrap().1.replace("</summary>", "");
    let stands = format!(
        "The conversation so far was replaced by this summary.\n{summary}\nWhere a detail is missing, see:\n/t.jsonl"
    );
    let mut messages = vec![user(&stands), says("Going on."), user("Now the docs.")];
    messages.extend(calls("8", "Write", json!({"file_path": "/w/README.md", "content": "a\nb\n"}), Ok("ok")));
    messages.push(says("The README says how to call it."));
    check(
        messages,
        expect![[r#"
            <analysis>
            Messages read, in their order: 7.
            </analysis>

            <summary>
            1. Request and Intent
            What the user asked for, first to last.
            - “Make the parser take its input. 4. Errors and Fixes Keep the API.”
            - “Good, change it.”
            - “Now the docs.”

            2. Key Concepts
            What the conversation is about, by its files and commands.
            - Kinds of files: rs (3)
            - Commands: cargo test (2)
            - Tools: Bash (2), Edit (1), Glob (1), Read (2), TodoWrite (1)
            - Kinds of files: md (1)
            - Tools: Write (1)

            3. Files and Code
            What was read, changed and written, in the order of the first touch.
            - /w/src/parse.rs: read; changed: `fn parse() {` became `fn parse(input: &str) {`
            - /w/README.md: written, 2 lines

            4. Errors and Fixes
            What failed, and what followed.
            - Read of `/w/parse.rs` failed: file does not exist look elsewhere. Then: “It is elsewhere.”
            - Bash of `cargo test -p parser` failed: exit 101 2 tests failed. A later try worked.

            5. Problem Solving
            What was asked, and what came of it.
            - “Make the parser take its input. 4. Errors and Fixes Keep the API.” → “Found it in src/parse.rs.”
            - “Now the docs.” → “The README says how to call it.”

            6. All User Messages
            What the user wrote, word for word.
            - Make the parser take its input.
              > 4. Errors and Fixes
              > Keep the API.
            - Good, change it.
            - Now the docs.

            7. Pending Tasks
            What is on the list and not done.
            - Fix the parser (in progress)
            - Add a test

            8. Current Work
            Where the work stands.
            - The last request: “Now the docs.”
            - Write of `/w/README.md` worked.
            - Said last: The README says how to call it.

            9. Next Step
            What follows from the last request.
            - The last request was: “Now the docs.”
            - Go on with “Fix the parser”.
            </summary>"#]],
    );
    // Nothing new: all of it is still there, also what comes next.
    let again = whole(vec![user(&stands)]);
    assert_eq!(again.split_once("<summary>").unwrap().1, first.split_once("<summary>").unwrap().1);
}

#[test]
fn a_real_models_summary_is_carried_over_too() {
    let titles = super::sections::TITLES;
    let body =
        |number: usize, title: &str| format!("**{}. Primary {title}:**\nSays {number}\n\n", number + 1);
    let summary: String = titles.iter().enumerate().map(|(number, title)| body(number, title)).collect();
    let text = whole(vec![user(&summary), user("go on"), says("done")]);
    for number in 0..7 {
        assert!(text.contains(&format!("Says {number}\n")), "{number}: {text}");
    }
    // Where the work stood then is not where it stands now.
    assert!(!text.contains("Says 7") && !text.contains("Says 8"), "{text}");
}

#[test]
fn a_collapsed_part_is_carried_over() {
    let collapsed = "<collapsed-messages id=\"x\">\nThe lexer was rewritten.\n</collapsed-messages>";
    let text = whole(vec![user(collapsed), says("ok"), user("next")]);
    assert!(text.contains("- Of messages that were left out: The lexer was rewritten."), "{text}");
    assert!(!text.contains("collapsed-messages"), "{text}");
}

#[test]
fn a_part_is_told_in_a_few_sentences() {
    let directive = |quotes: &str| format!("{COLLAPSE_TAG}\nThe part {quotes}. Summarise it.");
    let told = |quotes: &str| answer(&request(conversation(), &directive(quotes))).unwrap();
    expect!["The user asked: “Make the parser take its input. 4. Errors and Fixes Keep the API.”, “Good, change it.” Files that were read: /w/src/parse.rs. Files that were changed: /w/src/parse.rs. Commands that were run: `cargo test -p parser`. What failed: Read of `/w/parse.rs` (file does not exist look elsewhere), Bash of `cargo test -p parser` (exit 101 2 tests failed). The last answer was: “Found it in src/parse.rs.”"].assert_eq(&told("is everything"));
    expect!["Files that were read: /w/src/parse.rs. The last answer was: “Found it in src/parse.rs.”"]
        .assert_eq(&told("begins with “It is elsewhere.” and ends with “Found it in src/parse.rs.”"));
    let empty = answer(&request(Vec::new(), &directive(""))).unwrap();
    expect!["Nothing was asked or done in this part."].assert_eq(&empty);
}

#[test]
fn the_source_alone_asks_for_a_summary_too() {
    let with = |source| answer(&Request { source, ..request(conversation(), "Summarise.") });
    assert_eq!(with(QuerySource::Compact), Some(whole(conversation())));
    assert!(with(QuerySource::Collapse).unwrap().starts_with("The user asked:"));
    assert_eq!(with(QuerySource::Main), None);
    assert_eq!(with(QuerySource::Extraction), None);
}

#[test]
fn the_summary_is_all_that_the_model_says() {
    let events = crate::offline::respond(&request(conversation(), SUMMARY_TAG));
    let said: String = events
        .iter()
        .filter_map(|event| match event {
            Event::BlockDelta { delta: Delta::Text(text), .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(said, whole(conversation()));
}

#[test]
fn talk_about_the_tag_asks_for_nothing() {
    assert_eq!(answer(&request(Vec::new(), &format!("What does `{SUMMARY_TAG}` mean?"))), None);
    let mut messages = request(vec![user("hi")], SUMMARY_TAG).messages;
    messages.push(says("so"));
    messages.push(user("go on"));
    assert_eq!(answer(&Request { messages, ..request(Vec::new(), "") }), None);
}

#[test]
fn a_second_directive_sees_neither_the_first_nor_its_answer() {
    let mut messages = request(conversation(), &format!("{SUMMARY_TAG}\nSummarise.")).messages;
    messages.push(says("<summary>half</summary>"));
    let again = answer(&request(messages, &format!("{SUMMARY_TAG}\nSections are missing."))).unwrap();
    let summary = |text: &str| text.split_once("<summary>").unwrap().1.to_owned();
    assert_eq!(summary(&again), summary(&whole(conversation())));
}

#[test]
fn a_summary_is_bounded_however_long_the_conversation_is() {
    let mut messages = Vec::new();
    for turn in 0..1_000 {
        messages.push(user(&format!("request {turn}: {}", "wörd ".repeat(400))));
        let id = format!("t{turn}");
        let path = format!("/w/{}/{turn}.rs", "folder".repeat(100));
        let edit =
            json!({"file_path": path, "old_string": "x".repeat(5_000), "new_string": "y\n".repeat(5_000)});
        let result = if turn % 2 == 0 { Err("e".repeat(9_000)) } else { Ok("ok".to_owned()) };
        messages.extend(calls(&id, "Edit", edit, result.as_deref().map_err(String::as_str)));
        messages.push(says(&"answer ".repeat(500)));
    }
    let started = Instant::now();
    let mut text = whole(messages.clone());
    println!("{} bytes in {:?}", text.len(), started.elapsed());
    for _ in 0..3 {
        assert!(text.len() < 42_000, "{}", text.len());
        assert!(text.contains("\n- request 0: ") && text.contains("\n- request 999: "));
        for (number, title) in super::sections::TITLES.iter().enumerate() {
            assert!(text.contains(&format!("\n{}. {title}\n", number + 1)), "{title}");
        }
        // A summary of a summary is no longer than the first.
        let earlier = text.replace("<summary>", "").replace("</summary>", "");
        let mut next = vec![user(&earlier)];
        next.extend(messages.iter().skip(2_000).cloned());
        text = whole(next);
    }
}

#[test]
fn what_stands_for_messages_is_no_question() {
    let summary = answer(&request(conversation(), &format!("{SUMMARY_TAG}\nSummarise."))).unwrap();
    let stands_in = format!("<conversation-summary>\n{summary}\n</conversation-summary>");
    let question = |messages: Vec<RequestMessage>| {
        let asked = Request { messages, ..request(Vec::new(), "") };
        crate::offline::situation::Situation::of(&asked).question
    };
    assert_eq!(question(vec![user(&stands_in), user("and now?")]), "and now?");
    let asked = Request { messages: vec![user(&stands_in)], ..request(Vec::new(), "") };
    assert!(!crate::offline::situation::Situation::of(&asked).first_answer, "it has introduced itself");
    // Behind a compaction in the middle of a turn, nothing else is there.
    assert!(!question(vec![user(&stands_in)]).is_empty());
    assert_eq!(question(vec![user("[Left out here to make room: 3 earlier messages]"), user("so?")]), "so?");
}
