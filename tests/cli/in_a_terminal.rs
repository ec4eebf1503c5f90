//! `reverie ask` in a terminal: questions, colours, and a line that shows that something is going on.

use expect_test::expect;
use serde_json::json;
use testkit::model_server::{Gate, Reply};

use crate::{
    program::Program,
    tty::{CTRL_C, CTRL_D, Tty},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permission_is_asked_for_with_a_preview() {
    let program = Program::scripted("").await;
    let write = json!({ "file_path": program.fixture.path("new.txt"), "content": "hello\n" });
    program.model().reply(Reply::tool("Write", write));
    program.model().reply(Reply::text("Written."));
    let mut tty = Tty::plain(&program, r#""$REVERIE" ask "write it""#);
    tty.see("> ").await;
    tty.type_in("maybe\n").await;
    tty.see("please > ").await;
    tty.type_in("y\n").await;
    let (screen, code) = tty.end().await;
    expect![[r#"
        Allow Write new.txt? it changes <workspace>/new.txt
          --- new.txt
          +++ new.txt
          @@ -0,0 +1 @@
          +hello
          [y] Allow once
          [s] Allow for this session
          [a] Always allow Edit(/new.txt)
          [n] Deny; words after n are told to the model
        > maybe
        y, s, a or n, please > y
        • Write new.txt

        Written.

    "#]]
    .assert_eq(&program.stable(&without_status(&screen)));
    assert_eq!(code, Some(0));
    assert_eq!(program.fixture.read("new.txt"), "hello\n");
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_behind_a_no_are_told_to_the_model() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::tool("Bash", json!({ "command": "make install\nmake clean" })));
    program.model().reply(Reply::text("As you like."));
    let mut tty = Tty::plain(&program, r#""$REVERIE" ask "build it""#);
    tty.see("> ").await;
    tty.type_in("n use cargo instead\n").await;
    let (screen, code) = tty.end().await;
    expect![[r#"
        Allow Bash? the command may change something
          $ make install
            make clean
          [y] Allow once
          [s] Allow for this session
          [a] Always allow Bash(make install␊make clean)
          [n] Deny; words after n are told to the model
        > n use cargo instead
        ✗ Bash make install …
          You said no: use cargo instead

        As you like.

    "#]]
    .assert_eq(&program.stable(&without_status(&screen)));
    assert_eq!(code, Some(0));
    assert!(program.model().main_requests()[1].last_message_text().contains("use cargo instead"));
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_is_shown_before_it_is_fetched() {
    let program = Program::scripted("").await;
    let fetch = json!({ "url": "https://exаmple.invalid/?key=s3cret", "prompt": "the\u{200b} facts" });
    program.model().reply(Reply::tool("WebFetch", fetch));
    program.model().reply(Reply::text("As you like."));
    let mut tty = Tty::plain(&program, r#""$REVERIE" ask "look it up""#);
    // The question itself has a bracket and a blank.
    tty.see("told to the model").await;
    tty.see("> ").await;
    tty.type_in("n\n").await;
    let (screen, code) = tty.end().await;
    expect![[r#"
        Allow WebFetch? it fetches a page from xn--exmple-4nf.invalid
          https://xn--exmple-4nf.invalid/?key=s3cret
          Wanted from it: the<U+200B> facts
          [y] Allow once
          [s] Allow for this session
          [a] Always allow WebFetch(domain:xn--exmple-4nf.invalid)
          [n] Deny; words after n are told to the model
        > n
        ✗ WebFetch https://exаmple.invalid/?key=s3cret
          You said no.

        As you like.

    "#]]
    .assert_eq(&program.stable(&without_status(&screen)));
    assert_eq!(code, Some(0));
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_wide_yes_is_not_asked_again() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::tool("Bash", json!({ "command": "touch one" })));
    program.model().reply(Reply::tool("Bash", json!({ "command": "touch two" })));
    program.model().reply(Reply::text("Both."));
    let mut tty = Tty::plain(&program, r#""$REVERIE" ask "touch them""#);
    tty.see("> ").await;
    tty.type_in("s\n").await;
    tty.see("Both.").await;
    assert_eq!(tty.end().await.1, Some(0));
    assert_eq!(program.fixture.tree(), "one\ntwo\n");
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_at_a_question_stops_and_ctrl_d_says_no() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::tool("Bash", json!({ "command": "touch one" })));
    let mut tty = Tty::plain(&program, r#""$REVERIE" ask "touch it""#);
    tty.see("> ").await;
    tty.type_in(CTRL_C).await;
    assert_eq!(tty.end().await.1, Some(130));

    program.model().reply(Reply::tool("Bash", json!({ "command": "touch one" })));
    program.model().reply(Reply::text("Then not."));
    let mut tty = Tty::plain(&program, r#""$REVERIE" ask "touch it""#);
    tty.see("> ").await;
    tty.type_in(CTRL_D).await;
    tty.see("Then not.").await;
    assert_eq!(tty.end().await.1, Some(0));
    assert_eq!(program.fixture.tree(), "");
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_typed_before_a_question_does_not_answer_it() {
    let program = Program::scripted("").await;
    let gate = Gate::closed();
    program.model().reply(Reply::tool("Bash", json!({ "command": "touch one" })).behind(&gate));
    program.model().reply(Reply::text("Then not."));
    let mut tty = Tty::plain(&program, r#""$REVERIE" ask "touch it""#);
    gate.reached().await;
    tty.type_in("y\n").await;
    tty.see("y").await;
    gate.open();
    tty.see("> ").await;
    tty.type_in("n\n").await;
    tty.see("Then not.").await;
    assert_eq!(tty.end().await.1, Some(0));
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agent_can_ask_the_user() {
    let program = Program::scripted("").await;
    let question = json!({ "question": "Tabs or spaces?", "options": ["tabs", "spaces"] });
    program.model().reply(Reply::tool("AskUser", question));
    program.model().reply(Reply::text("Noted."));
    let mut tty = Tty::plain(&program, r#""$REVERIE" ask "format it""#);
    tty.see("[2] spaces").await;
    tty.see("> ").await;
    tty.type_in("2\n").await;
    tty.see("Noted.").await;
    assert_eq!(tty.end().await.1, Some(0));
    assert!(program.model().main_requests()[1].last_message_text().contains("spaces"));
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_status_line_shows_that_the_model_is_at_work() {
    let program = Program::scripted("").await;
    let gate = Gate::closed();
    program.model().reply(Reply::text("Here I am.").behind(&gate));
    let mut tty = Tty::plain(&program, r#""$REVERIE" ask "are you there?""#);
    tty.see("… thinking").await;
    tty.see("… thinking 1 s").await;
    gate.open();
    // Cleared before the text comes.
    tty.see("\r\x1b[KHere").await;
    assert_eq!(tty.end().await.1, Some(0));
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_has_colours_and_breaks_between_words() {
    let program = Program::scripted("").await;
    let text = "# Title\nA paragraph with `code` that is a little longer than the terminal is wide, 漢字 and all.\n\n```diff\n-old\n+new\n```";
    program.model().reply(Reply::text(text));
    let tty = Tty::coloured(&program, r#""$REVERIE" ask "show it""#);
    let (screen, code) = tty.end().await;
    expect![[r#"
        ␛[1m# Title␛[0m
        A paragraph with ␛[36m`code`␛[0m that is a little longer than the
        terminal is wide, 漢字 and all.

        ␛[2m```diff␛[0m
        ␛[31m-old␛[0m
        ␛[32m+new␛[0m
        ```

    "#]]
    .assert_eq(&without_status(&screen).replace('\x1b', "␛"));
    assert_eq!(code, Some(0));
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_of_sessions_fits_the_terminal() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::text("Yes."));
    program.run(&["ask", "a question whose words are many more than fit into one line of it"]).await;
    let tty = Tty::plain(&program, r#""$REVERIE" sessions"#);
    let (screen, code) = tty.end().await;
    assert_eq!(code, Some(0));
    let line = screen.trim_end();
    assert_eq!(line.chars().count(), 60, "{line}");
    assert!(line.contains("  a question"), "{line}");
    assert!(line.ends_with('…'), "{line}");
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_prompt_it_does_not_wait_for_one() {
    let program = Program::offline("");
    let (screen, code) = Tty::plain(&program, r#""$REVERIE" ask"#).end().await;
    assert_eq!(code, Some(2));
    assert!(screen.contains("there is no prompt"), "{screen}");
}

/// Without the status line, which is drawn as often as the machine is slow, and the cost, which follows the prompts.
fn without_status(screen: &str) -> String {
    let lines = screen.split('\n').map(|line| line.rsplit("\r\x1b[K").next().unwrap_or_default());
    lines.filter(|line| !line.contains("so far in this session")).collect::<Vec<_>>().join("\n")
}
