//! The README's picture can be drawn again at any time.

use std::path::Path;

use testkit::within;
use tokio::process::Command;

use crate::program::Program;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_run_becomes_a_picture() {
    let program = Program::offline("");
    let picture = program.fixture.path("ask.svg");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("pictures/terminal.py");
    let mut command = Command::new("python3");
    command.arg(script).arg("--output").arg(&picture);
    let output = within(program.prepared(command).output(), "the picture").await.expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let picture = program.fixture.read("ask.svg");
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    for part in ["reverie ask", "offline model", "server/model/src/retry.rs:"] {
        assert!(picture.contains(part), "{part} is missing");
    }
}
