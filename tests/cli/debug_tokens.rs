//! `reverie debug tokens`: "JSON lines in, JSON lines out, flushed per line".

use expect_test::expect;

use crate::program::Program;

#[tokio::test]
async fn each_line_is_answered_at_once() {
    let program = Program::offline("");
    let mut running = program.start(&["debug", "tokens", "--model", "opus"]);
    // The input stays open: an answer that waits for its end never comes.
    running.write("{\"text\": \"hello world\"}\n").await;
    assert_eq!(running.line().await, "{\"tokens\":2}\n");
    running.write("{\"text\": \"\"}\n").await;
    assert_eq!(running.line().await, "{\"tokens\":0}\n");
    running.close_input();
    let run = running.end().await;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
}

#[tokio::test]
async fn a_bad_line_is_answered_and_the_next_is_read() {
    let program = Program::offline("");
    let run = program
        .run_with(&["debug", "tokens"], b"nonsense\n\n{\"text\": 5}\n\xff\n{\"text\": \"ok\", \"more\": 1}")
        .await;
    expect![[r#"
        {"error":"expected {\"text\": …}: expected ident at line 1 column 2"}
        {"error":"expected {\"text\": …}: invalid type: integer `5`, expected a string at line 1 column 10"}
        {"error":"expected {\"text\": …}: expected value at line 1 column 1"}
        {"tokens":1}
        --- stderr
        --- exit code 0
    "#]]
    .assert_eq(&run.transcript());
}
