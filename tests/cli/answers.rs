//! `reverie ask` with pipes: the answer on stdout and nothing else there, what stands beside it on stderr.

use expect_test::expect;
use serde_json::json;
use testkit::model_server::Reply;

use crate::program::Program;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_answer_is_on_stdout_and_its_making_on_stderr() {
    let program = Program::scripted("//- src/main.rs\nfn main() {}\n").await;
    let path = program.fixture.path("src/main.rs");
    program.model().reply(
        Reply::text("Let me look.")
            .and_tool("Read", json!({ "file_path": path }))
            .and_tool("Glob", json!({ "pattern": "**/*.rs" })),
    );
    program.model().reply(Reply::text("It has **one** function, `main`."));
    let run = program.run(&["ask", "what", "is", "in", "main.rs?"]).await;
    expect![[r#"
        Let me look.
        It has **one** function, `main`.
        --- stderr
        • Read src/main.rs
        • Glob **/*.rs
        --- exit code 0
    "#]]
    .assert_eq(&run.transcript());
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_shown_as_a_diff() {
    let program = Program::scripted("//- notes.txt\none\ntwo\n").await;
    let path = program.fixture.path("notes.txt");
    program.model().reply(Reply::tool("Read", json!({ "file_path": path })));
    let edit = json!({ "file_path": path, "old_string": "two", "new_string": "three" });
    program.model().reply(Reply::tool("Edit", edit));
    program.model().reply(Reply::text("Done."));
    let run = program.run(&["ask", "--mode", "acceptEdits", "count on"]).await;
    expect![[r#"
        Done.
        --- stderr
        • Read notes.txt
        • Edit notes.txt
          --- notes.txt
          +++ notes.txt
          @@ -1,2 +1,2 @@
           one
          -two
          +three
        --- exit code 0
    "#]]
    .assert_eq(&run.transcript());
    assert_eq!(program.fixture.read("notes.txt"), "one\nthree\n");
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_offline_model_answers_on_a_fresh_machine() {
    let program = Program::offline("//- src/harbour.rs\n/// Where ships rest.\npub fn moor_the_ship() {}\n");
    let run = program.run(&["ask", "where is moor_the_ship?"]).await;
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("offline model"), "{}", run.stdout);
    assert!(run.stdout.contains("src/harbour.rs:"), "{}", run.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_piped_in_goes_with_the_prompt() {
    let program = Program::scripted("").await;
    for arguments in [&["ask", "review this"][..], &["ask", "review this", "-"]] {
        program.model().reply(Reply::text("Fine."));
        assert_eq!(program.run_with(arguments, b"the piped text\n").await.stdout, "Fine.\n");
    }
    for arguments in [&["ask"][..], &["ask", "-"]] {
        program.model().reply(Reply::text("Fine."));
        let run = program.run_with(arguments, b"review this\n\nthe piped text\n").await;
        assert_eq!(run.stdout, "Fine.\n");
    }
    for request in program.model().main_requests() {
        let last = request.last_message_text();
        assert!(last.contains("review this\n\nthe piped text"), "{last}");
    }
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_text_is_refused() {
    let program = Program::offline("");
    let run = program.run_with(&["ask", "what is this?"], b"\xff\xfe\x00").await;
    expect![[r#"
        --- stderr
        reverie: what came on stdin is not text: invalid utf-8 sequence of 1 bytes from index 0
        --- exit code 1
    "#]]
    .assert_eq(&run.transcript());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_goes_on_with_its_newest_or_by_its_id() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::text("First."));
    program.run(&["ask", "one"]).await;
    program.model().reply(Reply::text("Second."));
    assert_eq!(program.run(&["ask", "-c", "two"]).await.stdout, "Second.\n");
    let listed = program.command(&["sessions"]).output().await.unwrap().stdout;
    let id = String::from_utf8(listed).unwrap().split(' ').next().unwrap().to_owned();
    program.model().reply(Reply::text("Third."));
    assert_eq!(program.run(&["ask", "--resume", &id, "three"]).await.stdout, "Third.\n");
    program.model().reply(Reply::text("Fourth."));
    assert_eq!(program.run(&["ask", "--resume", &id[..8], "four"]).await.stdout, "Fourth.\n");
    let messages = program.model().main_requests().pop().unwrap().body["messages"].to_string();
    for word in ["one", "First.", "two", "Second.", "three", "Third.", "four"] {
        assert!(messages.contains(word), "{word} is missing");
    }
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_folder_and_another_model_can_be_named() {
    let program = Program::scripted("//- inner/file.txt\nx\n").await;
    program.model().reply(Reply::text("Here."));
    let run = program.run(&["ask", "-C", "inner", "--model", "haiku", "where are we?"]).await;
    assert_eq!(run.stdout, "Here.\n", "{}", run.stderr);
    let body = program.model().main_requests()[0].body.to_string();
    assert!(body.contains("haiku"), "the model");
    assert!(body.contains("workspace/inner"), "the folder");
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_terminal_nothing_is_allowed_unasked_and_the_way_is_shown() {
    let program = Program::scripted("").await;
    let write = json!({ "file_path": program.fixture.path("new.txt"), "content": "hello\n" });
    let calls = || Reply::tools([("Bash", json!({ "command": "touch made" })), ("Write", write.clone())]);
    program.model().reply(calls());
    program.model().reply(Reply::text("I could not."));
    let run = program.run(&["ask", "do it"]).await;
    expect![[r#"
        I could not.
        --- stderr
        • Bash touch made
        ✗ Bash touch made
          nobody is here to ask; allow it with --allow 'Bash(touch:*)'
        • Write new.txt
        ✗ Write new.txt
          nobody is here to ask; allow it with --allow 'Edit(/new.txt)', or all edits with --mode acceptEdits
        --- exit code 0
    "#]]
    .assert_eq(&run.transcript());
    assert_eq!(program.fixture.tree(), "");

    program.model().reply(calls());
    program.model().reply(Reply::text("Done."));
    let run = program.run(&["ask", "--allow", "Bash(touch:*)", "--mode", "acceptEdits", "do it"]).await;
    assert_eq!(run.stdout, "Done.\n", "{}", run.stderr);
    assert_eq!(program.fixture.tree(), "made\nnew.txt\n");
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn escape_sequences_of_the_model_are_shown_not_obeyed() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::text("a \u{1b}[31mred\u{1b}]0;title\u{7} b\u{202e}c"));
    let run = program.run(&["ask", "colour"]).await;
    assert_eq!(run.stdout, "a ␛[31mred␛]0;title␇ b�c\n");
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_leaves_stops_the_turn_quietly() {
    let program = Program::scripted("").await;
    let gate = testkit::model_server::Gate::closed();
    let text: String = (0..2_000).map(|number| format!("line {number}\n")).collect();
    program.model().reply(Reply::text(text).pausing_after(1_000, &gate));
    let line = r#""$REVERIE" ask "count" | head -1; echo "${PIPESTATUS[0]}""#;
    let run = program.shell(line).await;
    expect![[r#"
        line 0
        130
        --- stderr
        --- exit code 0
    "#]]
    .assert_eq(&run.transcript());
    program.finish();
}
