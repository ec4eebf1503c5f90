//! Whatever is missing or wrong: the message says what happened and what to do, and the exit code is 1.

use expect_test::{Expect, expect};
use testkit::model_server::{Gate, Reply};

use crate::program::{Program, Run};

fn check(run: &Run, expected: Expect) {
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{}", run.stderr);
    expected.assert_eq(&run.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_missing() {
    let program = Program::offline("");
    check(
        &program.run(&["ask", "--model", "opus", "hi"]).await,
        expect![[r#"
            reverie: no API key for anthropic: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) and start again, or choose the model "offline"
        "#]],
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_wrong() {
    let program = Program::scripted("").await;
    program.model().require_key("another");
    check(
        &program.run(&["ask", "hi"]).await,
        expect![[r#"
            reverie: the API key was refused by <model> (401): invalid x-api-key; set ANTHROPIC_API_KEY to a valid key (or ANTHROPIC_AUTH_TOKEN to a valid token) and start again
        "#]],
    );
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_is_unknown_here() {
    let program = Program::offline("");
    check(
        &program.run(&["ask", "--model", "nosuch", "hi"]).await,
        expect![[r#"
            reverie: there is no model called nosuch; known are opus, sonnet, haiku, anthropic/claude-opus-5-5, anthropic/claude-sonnet-5-5, anthropic/claude-haiku-5-5, anthropic/claude-fable-5-1, offline/offline, and any openai/MODEL of a server at OPENAI_BASE_URL
        "#]],
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_is_unknown_to_the_provider() {
    let program = Program::scripted("").await;
    program.model().know_models(&["claude-one"]);
    check(
        &program.run(&["ask", "--model", "anthropic/claude-nosuch", "hi"]).await,
        expect![[r#"
            reverie: anthropic has no model called claude-nosuch, or the key may not use it (404): model: claude-nosuch; `reverie doctor` lists the known models, the setting "model" chooses one
        "#]],
    );
    program.finish();
}

/// It is tried again for a while, so the first words are what counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_cannot_be_reached() {
    let mut program = Program::offline("");
    // The discard port: nothing listens there.
    program.environment.insert("ANTHROPIC_BASE_URL".to_owned(), "http://127.0.0.1:9".to_owned());
    program.environment.insert("ANTHROPIC_API_KEY".to_owned(), "key".to_owned());
    let mut running = program.start(&["ask", "hi"]);
    running.close_input();
    let said = running.error_with("cannot reach").await;
    let (reason, again) = said.split_once("; trying").expect("it is tried again");
    expect!["! cannot reach http://127.0.0.1:9: connection refused; check that a server runs there and that ANTHROPIC_BASE_URL is right"].assert_eq(reason);
    assert!(again.ends_with("s (attempt 2)\n"), "{again}");
    let said = running.error_with("attempt 3").await;
    assert!(said.starts_with("! trying again in "), "the reason is not repeated: {said}");
    running.signal("INT").await;
    let run = running.end().await;
    assert_eq!(run.code, Some(130));
    assert!(run.stderr.ends_with("! stopped\n"), "{}", run.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_unknown() {
    let program = Program::offline("");
    check(
        &program.run(&["ask", "--resume", "nosuch", "hi"]).await,
        expect![[r#"
            reverie: there is no session nosuch; 'reverie sessions' lists this project's, with --all every one
        "#]],
    );
    check(
        &program.run(&["sessions", "show", "nosuch"]).await,
        expect![[r#"
            reverie: there is no session nosuch; 'reverie sessions' lists this project's, with --all every one
        "#]],
    );
    check(
        &program.run(&["ask", "-c", "hi"]).await,
        expect![[r#"
            reverie: this project has no session to continue; leave out --continue to start one
        "#]],
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_in_use() {
    let program = Program::scripted("").await;
    let gate = Gate::closed();
    program.model().reply(Reply::text("First.").behind(&gate));
    let mut first = program.start(&["ask", "one"]);
    first.close_input();
    gate.reached().await;
    check(
        &program.run(&["ask", "-c", "two"]).await,
        expect![[r#"
            reverie: session <id> is open in another Reverie; close it there, or start a new session here
        "#]],
    );
    gate.open();
    assert_eq!(first.end().await.stdout, "First.\n");
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_cannot_be_used() {
    let program = Program::offline("//- file.txt\nx\n");
    check(
        &program.run(&["ask", "-C", "nosuch", "hi"]).await,
        expect![[r#"
            reverie: cannot work in the folder nosuch: No such file or directory (os error 2)
        "#]],
    );
    check(
        &program.run(&["ask", "-C", "file.txt", "hi"]).await,
        expect![[r#"
            reverie: cannot work in file.txt: it is not a folder
        "#]],
    );
    let deleted = program.shell(r#"mkdir gone && cd gone && rmdir ../gone && "$REVERIE" ask hi"#).await;
    check(
        &deleted,
        expect![[r#"
            reverie: cannot work in the current folder, which may have been deleted: No such file or directory (os error 2)
        "#]],
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_that_makes_no_sense_is_named() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::text("Hi."));
    let run = program.run(&["ask", "--allow", "Bash((", "hi"]).await;
    assert_eq!(run.stdout, "Hi.\n");
    expect![[r#"
        ! settings: command line: permissions.allow: the rule `Bash((` is not understood: the closing parenthesis is missing; the entry is left out
    "#]]
    .assert_eq(&run.stderr);
    program.finish();
}
