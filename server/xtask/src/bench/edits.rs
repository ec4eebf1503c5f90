//! 10,000 incremental edits to a buffer of 1 MB, over the wire.

use std::{path::Path, time::Instant};

use serde_json::json;
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient, ServerProcess, frame, uri},
};

use super::Figure;

const EDITS: usize = 10_000;

pub async fn measure(binary: &Path) -> anyhow::Result<Vec<Figure>> {
    let fixture = Fixture::new("//- large.txt\n");
    let text = "a line of some length, as they are in code\n".repeat(1_000_000 / 43);
    let path = fixture.path("large.txt");
    let environment = fixture.environment("http://127.0.0.1:9");
    let process = ServerProcess::spawn(binary, &["lsp"], &environment, &fixture.workspace);
    let client = LspClient::over_stdio(process);
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    client.open_with(&path, &text, None);
    let mut frames = Vec::new();
    for edit in 0..EDITS {
        let line = (edit * 7_919) % 20_000;
        let range = json!({"start": {"line": line, "character": 2}, "end": {"line": line, "character": 3}});
        frames.extend(frame(&json!({
            "jsonrpc": "2.0", "method": "textDocument/didChange",
            "params": {
                "textDocument": {"uri": uri(&path), "version": edit + 2},
                "contentChanges": [{"range": range, "text": "x"}],
            },
        })));
    }
    let started = Instant::now();
    client.send_raw(&frames);
    // Answered after everything before it was applied.
    let answered = client.request("reverie/models/list", json!({})).await;
    let took = started.elapsed();
    if let Err(error) = answered {
        anyhow::bail!("the barrier failed: {}", error.message);
    }
    client.abandon();
    Ok(vec![
        Figure::milliseconds("10,000 edits to a 1 MB buffer", took, 50.0)
            .beside("over a pipe, JSON-RPC included"),
    ])
}
