//! However a turn is stopped, its commands are stopped with it.

use std::time::{Duration, Instant};

use expect_test::expect;
use serde_json::{Value, json};
use testkit::{
    lsp_client::{ClientOptions, LspClient, ServerProcess},
    model_server::{Gate, Reply},
};
use tokio::process::Command;

use crate::program::{Program, Running, binary, processes_with};

/// Starts a long command in a turn and returns once it runs.
async fn busy(program: &Program, marker: &str) -> Running {
    let command = format!("sleep {marker} & echo started; sleep {marker}");
    program.model().reply(Reply::tool("Bash", json!({ "command": command })));
    let mut running = program.start(&["ask", "--json", "--mode", "bypass", "run it"]);
    running.close_input();
    running.line_with("toolProgress").await;
    assert!(!processes_with(marker).is_empty());
    running
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_stops_the_turn_and_its_commands() {
    let program = Program::scripted("").await;
    let running = busy(&program, "76301.5").await;
    running.signal("INT").await;
    let run = running.end().await;
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    let last: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["result"]["stopReason"], "cancelled");
    assert_eq!(processes_with("76301.5"), Vec::<String>::new());
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ending_the_program_ends_its_commands() {
    for (signal, marker) in [("TERM", "76302.5"), ("HUP", "76303.5")] {
        let program = Program::scripted("").await;
        let running = busy(&program, marker).await;
        running.signal(signal).await;
        assert_eq!(running.end().await.code, Some(130), "{signal}");
        assert_eq!(processes_with(marker), Vec::<String>::new());
        program.finish();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_in_the_middle_of_an_answer_keeps_what_was_said() {
    let program = Program::scripted("").await;
    let gate = Gate::closed();
    program.model().reply(Reply::text("Once upon a time there was").pausing_after(4, &gate));
    let mut running = program.start(&["ask", "tell me a story"]);
    running.close_input();
    gate.reached().await;
    running.seen("Once upon a time").await;
    running.signal("INT").await;
    let run = running.end().await;
    expect![[r#"

        --- stderr
        ! stopped
        --- exit code 130
    "#]]
    .assert_eq(&run.transcript());
    program.model().reply(Reply::text("The end."));
    assert_eq!(program.run(&["ask", "-c", "go on"]).await.stdout, "The end.\n");
    program.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_told_to_end_ends_its_commands() {
    let marker = "76304.5";
    let program = Program::scripted("").await;
    let arguments = ["lsp"];
    let process =
        ServerProcess::spawn(&binary(), &arguments, &program.environment, &program.fixture.workspace);
    let client = LspClient::over_stdio(process);
    client.ignore("$/progress");
    for kind in ["toolStart", "toolProgress", "toolEnd", "usage", "title", "turnEnd"] {
        client.ignore(kind);
    }
    client.initialize(&ClientOptions::new(&program.fixture.workspace)).await;
    client.allow_everything();
    let command = format!("echo started; sleep {marker}");
    program.model().reply(Reply::tool("Bash", json!({ "command": command })));
    let session = client.new_session().await;
    client.prompt(&session, "run it").await;
    client.wait_for("output", |seen| seen.kind() == "toolProgress").await;
    let process = client.process_id().unwrap().to_string();
    let told = Instant::now();
    assert!(Command::new("kill").args(["-s", "TERM", &process]).status().await.unwrap().success());
    client.closed().await;
    assert!(told.elapsed() < Duration::from_secs(2), "took {:?}", told.elapsed());
    drop(client);
    assert_eq!(processes_with(marker), Vec::<String>::new());
    program.finish();
}
