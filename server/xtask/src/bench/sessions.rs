//! Old sessions: listing a thousand, resuming a large one, memory with a long one.

use std::{fmt::Write, fs, path::Path, time::Instant};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient, ServerProcess},
    model_server::{ModelServer, Reply},
};

use super::{Figure, resident};

pub async fn measure(binary: &Path) -> anyhow::Result<Vec<Figure>> {
    let fixture = Fixture::new("//- README.md\nA project.\n");
    fs::create_dir_all(fixture.project_dir())?;
    for number in 0..1_000 {
        fs::write(fixture.transcript(&id(number)), transcript(&fixture, number, 20, 300)?)?;
    }
    let (large, long) = (id(5_000), id(6_000));
    fs::write(fixture.transcript(&large), transcript(&fixture, 5_000, 2_000, 100_000)?)?;
    fs::write(fixture.transcript(&long), transcript(&fixture, 6_000, 2_000, 300)?)?;
    let bytes = fs::metadata(fixture.transcript(&large))?.len();

    let server = ModelServer::start().await;
    let environment = fixture.environment(&server.url());
    let process = ServerProcess::spawn(binary, &["lsp"], &environment, &fixture.workspace);
    let client = LspClient::over_stdio(process);
    client.ignore("reverie/session/update");
    client.ignore("$/progress");
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;

    let started = Instant::now();
    let listed = request(&client, "reverie/session/list", json!({"limit": 1_000})).await?;
    let listing = started.elapsed();
    let count = listed["sessions"].as_array().map(Vec::len).unwrap_or_default();

    request(&client, "reverie/session/resume", json!({"sessionId": long})).await?;
    server.reply(Reply::text("hello again"));
    client.turn(&long, "go on").await;
    let with_long = resident(client.process_id().unwrap_or_default())?;

    let started = Instant::now();
    request(&client, "reverie/session/resume", json!({"sessionId": large})).await?;
    let resuming = started.elapsed();
    client.shutdown().await;
    server.finish();
    Ok(vec![
        Figure::milliseconds("list 1,000 sessions", listing, 50.0).beside(format!("{count} listed")),
        Figure::megabytes("resident with a session of 2,000 messages", with_long, 60.0),
        Figure::milliseconds("resume a large transcript", resuming, 300.0)
            .beside(format!("{} MB", bytes / 1_000_000)),
    ])
}

async fn request(client: &LspClient, method: &str, params: Value) -> anyhow::Result<Value> {
    client.request(method, params).await.map_err(|error| anyhow::anyhow!("{method}: {}", error.message))
}

fn id(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

/// A conversation in Claude Code's layout: a call and its result in turn, the results `size` bytes long.
fn transcript(fixture: &Fixture, session: usize, messages: usize, size: usize) -> anyhow::Result<String> {
    let mut out = String::new();
    let text = "    let words = of(a, file);\n".repeat(size / 29 + 1);
    let uuid = |number: usize| format!("00000000-0000-4000-9000-{:012}", session * 10_000 + number);
    for number in 0..messages {
        let parent = number.checked_sub(1).map(uuid);
        let user = number % 2 == 0;
        let message = if number == 0 {
            json!({"role": "user", "content": "read everything"})
        } else if user {
            let result = json!({"type": "tool_result", "tool_use_id": format!("toolu_{}", number - 1), "content": text});
            json!({"role": "user", "content": [result]})
        } else {
            let call = json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": "Read", "input": {"file_path": "/a"}});
            json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
                "content": [{"type": "text", "text": "Next."}, call], "stop_reason": "tool_use", "stop_sequence": null,
                "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}})
        };
        let record = json!({
            "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": fixture.workspace,
            "sessionId": id(session), "version": "2.1.0", "gitBranch": "main",
            "type": if user { "user" } else { "assistant" }, "message": message, "uuid": uuid(number),
            "timestamp": "2026-01-01T00:00:00.000Z",
        });
        writeln!(out, "{record}")?;
    }
    Ok(out)
}
