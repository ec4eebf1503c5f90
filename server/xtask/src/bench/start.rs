//! How soon it is there: spawn to `initialize`, `ask` to the first request, memory at rest.

use std::{path::Path, process::Stdio, time::Instant};

use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient, ServerProcess},
    model_server::{ModelServer, Reply},
};

use super::{Figure, median, resident};

const RUNS: usize = 20;

pub async fn measure(binary: &Path) -> anyhow::Result<Vec<Figure>> {
    let fixture = Fixture::new("//- CLAUDE.md\nUse tabs.\n//- src/main.rs\nfn main() {}\n");
    fixture.git_init();
    let server = ModelServer::start().await;
    let environment = fixture.environment(&server.url());

    let mut initialized = Vec::new();
    let mut idle = 0;
    for _ in 0..RUNS {
        let started = Instant::now();
        let process = ServerProcess::spawn(binary, &["lsp"], &environment, &fixture.workspace);
        let client = LspClient::over_stdio(process);
        client.initialize(&ClientOptions::new(&fixture.workspace)).await;
        initialized.push(started.elapsed());
        idle = resident(client.process_id().unwrap_or_default())?;
        client.shutdown().await;
    }

    let mut asked = Vec::new();
    for run in 0..RUNS {
        server.reply(Reply::text("hello"));
        let started = Instant::now();
        let mut child = tokio::process::Command::new(binary)
            .args(["ask", "hello there"])
            .env_clear()
            .envs(&environment)
            .current_dir(&fixture.workspace)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let requests = server.wait_for_requests(run + 1).await;
        if let Some(request) = requests.last() {
            asked.push(request.arrived.duration_since(started));
        }
        child.wait().await?;
    }
    let baseline = spawn_baseline().await?;
    server.finish();
    Ok(vec![
        Figure::milliseconds("`reverie lsp`: spawn → initialize", median(initialized), 10.0)
            .beside(format!("spawning `true`: {:.2} ms", baseline.as_secs_f64() * 1_000.0)),
        Figure::megabytes("idle, resident", idle, 15.0),
        Figure::milliseconds("`reverie ask`: start → first request", median(asked), 30.0),
    ])
}

async fn spawn_baseline() -> anyhow::Result<std::time::Duration> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let started = Instant::now();
        tokio::process::Command::new("true").status().await?;
        times.push(started.elapsed());
    }
    Ok(median(times))
}
