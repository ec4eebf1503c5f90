//! A real Neovim with nothing but its own LSP client drives the server.

use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    model_server::{ModelServer, Reply},
};

use crate::harness::{binary, rigs};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_to_an_unsaved_buffer_is_undone_in_one_step() {
    let fixture = Fixture::new("//- greeting.txt\nsaved long ago\nhello world\n");
    let model = ModelServer::start().await;
    let path = fixture.path("greeting.txt").to_str().unwrap().to_owned();
    model.reply(Reply::tool("Read", json!({ "file_path": path })));
    let edit = json!({ "file_path": path, "old_string": "hello world", "new_string": "hello\nmoon" });
    model.reply(Reply::tool("Edit", edit));
    model.reply(Reply::text("Done."));

    let neovim = rigs().join("nvim/0.11/bin/nvim");
    assert!(neovim.is_file(), "{} is missing: `cargo xtask test` installs it", neovim.display());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/nvim/unsaved_buffer.lua");
    let mut command = tokio::process::Command::new(neovim);
    command.args(["--clean", "--headless", "-l", script]).arg(binary()).arg(&fixture.workspace);
    command.env_clear().envs(fixture.environment(&model.url())).current_dir(&fixture.workspace);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = testkit::within(command.output(), "Neovim to end").await.unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("no report ({error}): {stderr}"));
    assert_eq!(
        report,
        json!({
            "stopReason": "endTurn",
            "encoding": "utf-8",
            "asked": [{ "tool": "Edit", "preview": "diff" }],
            "edited": ["typed but not saved", "hello", "moon"],
            "modified": true,
            "disk": ["saved long ago", "hello world"],
            "undone": ["typed but not saved", "hello world"],
        })
    );
    let read = model.requests()[1].last_message_text();
    assert!(read.contains("typed but not saved"), "Read sees the buffer: {read}");
    model.finish();
}
