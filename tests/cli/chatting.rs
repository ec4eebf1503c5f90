//! `reverie chat`, from a pipe and from a keyboard.

use expect_test::expect;
use serde_json::json;
use testkit::model_server::{Gate, Reply};

use crate::{
    program::Program,
    tty::{CTRL_C, CTRL_D, Tty},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_a_pipe_each_line_waits_for_the_turn_before_it() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::text("First."));
    program.model().reply(Reply::text("Second."));
    let run = program.run_with(&["chat"], b"one\n\n/nonsense\ntwo \\\nmore\n").await;
    expect![[r#"
        First.
        Second.
        --- stderr
        ! there is no command /nonsense; /help lists them
        --- exit code 0
    "#]]
    .assert_eq(&run.transcript());
    let requests = program.model().main_requests();
    assert!(requests[1].last_message_text().contains("two \nmore"));
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_learns_that_a_turn_failed() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::status(400));
    assert_eq!(program.run_with(&["chat"], b"one\n").await.code, Some(1));
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_at_the_keyboard() {
    let program = Program::scripted("").await;
    let mut tty = Tty::plain(&program, r#""$REVERIE" chat"#);
    tty.see("› ").await;
    tty.type_in("/nonsense\n").await;
    tty.see("no command /nonsense").await;
    tty.see("› ").await;
    tty.type_in("/context\n").await;
    tty.see("free").await;
    tty.see("› ").await;
    program.model().reply(Reply::text("Hello to you."));
    tty.type_in("hello\n").await;
    tty.see("Hello to you.").await;
    tty.see("› ").await;
    tty.type_in(CTRL_D).await;
    let (_, code) = tty.end().await;
    assert_eq!(code, Some(0));
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_typed_during_a_turn_joins_it() {
    let program = Program::scripted("//- a.txt\nx\n").await;
    let gate = Gate::closed();
    let read = json!({ "file_path": program.fixture.path("a.txt") });
    program.model().reply(Reply::tool("Read", read).behind(&gate));
    let mut tty = Tty::plain(&program, r#""$REVERIE" chat"#);
    tty.see("› ").await;
    tty.type_in("look at a.txt\n").await;
    gate.reached().await;
    tty.type_in("and hurry\n").await;
    tty.see("queued").await;
    program.model().reply(Reply::text("It is an x."));
    gate.open();
    tty.see("It is an x.").await;
    tty.see("› ").await;
    tty.type_in("/quit\n").await;
    assert_eq!(tty.end().await.1, Some(0));
    let requests = program.model().main_requests();
    assert!(requests[1].last_message_text().contains("and hurry"));
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_pasted_is_one_message() {
    let program = Program::scripted("").await;
    program.model().reply(Reply::text("Two lines."));
    let mut tty = Tty::plain(&program, r#""$REVERIE" chat"#);
    tty.see("› ").await;
    tty.type_in("first line\nsecond line\nlast").await;
    tty.see("(pasted: Enter sends it)").await;
    tty.type_in("\n").await;
    tty.see("Two lines.").await;
    tty.type_in(CTRL_D).await;
    assert_eq!(tty.end().await.1, Some(0));
    assert!(program.model().main_requests()[0].last_message_text().contains("first line\nsecond line\nlast"));
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_stops_the_turn_then_warns_then_leaves() {
    let program = Program::scripted("").await;
    let gate = Gate::closed();
    program.model().reply(Reply::text("never").behind(&gate));
    let mut tty = Tty::plain(&program, r#""$REVERIE" chat"#);
    tty.see("› ").await;
    tty.type_in("hello\n").await;
    gate.reached().await;
    tty.type_in(CTRL_C).await;
    tty.see("! stopped").await;
    tty.see("› ").await;
    tty.type_in(CTRL_C).await;
    tty.see("Ctrl-C again leaves").await;
    tty.see("› ").await;
    tty.type_in(CTRL_C).await;
    assert_eq!(tty.end().await.1, Some(130));
    program.finish();
}
