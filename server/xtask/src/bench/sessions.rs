//! Old sessions: listing and searching a thousand, resuming a large one, forking and reporting on a long one.

use std::{
    fmt::Write,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient, ServerProcess},
    model_server::{ModelServer, Reply},
};

use super::{Figure, at_rest, in_milliseconds, median, resident};

const RUNS: usize = 10;

/// When everything was said.
pub(super) const WRITTEN: &str = "2026-01-01T00:00:00.000Z";

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

    let process = client.process_id().unwrap_or_default();
    let searching = searching(&client, process).await?;

    request(&client, "reverie/session/resume", json!({"sessionId": long})).await?;
    server.reply(Reply::text("hello again"));
    client.turn(&long, "go on").await;
    let with_long = resident(process)?;
    let report = timed(&client, "reverie/context/report", json!({"sessionId": long})).await?;
    let fork = timed(&client, "reverie/session/fork", json!({"sessionId": long})).await?;

    let started = Instant::now();
    request(&client, "reverie/session/resume", json!({"sessionId": large})).await?;
    let resuming = started.elapsed();
    client.shutdown().await;
    server.finish();
    let mut figures =
        vec![Figure::milliseconds("list 1,000 sessions", listing, 50.0).beside(format!("{count} listed"))];
    figures.extend(searching);
    figures.extend([
        Figure::milliseconds("fork a session of 2,000 messages", fork, 50.0),
        // The whole answer: remembered counts could not save more.
        Figure::left_out("token counts of 2,000 messages, one report", in_milliseconds(report))
            .beside("at most: the whole of `reverie/context/report`"),
        Figure::megabytes("resident with a session of 2,000 messages", with_long, 60.0),
        Figure::milliseconds("resume a large transcript", resuming, 300.0)
            .beside(format!("{} MB", bytes / 1_000_000)),
    ]);
    Ok(figures)
}

/// The first search of a project finds no index; the later ones find what it left behind.
async fn searching(client: &LspClient, process: u32) -> anyhow::Result<Vec<Figure>> {
    let search = async |query: &str| {
        let started = Instant::now();
        let found = request(client, "reverie/session/search", json!({ "query": query })).await?;
        anyhow::Ok((started.elapsed(), found["hits"].as_array().map(Vec::len).unwrap_or_default()))
    };
    let (first, first_hits) = search("topic517").await?;
    at_rest(process).await?;
    let (mut rare, mut common) = (Vec::new(), Vec::new());
    let (mut rare_hits, mut common_hits) = (0, 0);
    for number in 0..RUNS {
        let (took, hits) = search(&format!("everything topic{}", 100 + number)).await?;
        rare.push(took);
        rare_hits += hits;
        let (took, hits) = search("\"read everything\"").await?;
        common.push(took);
        common_hits += hits;
    }
    Ok(vec![
        Figure::milliseconds("first search over 1,000 sessions, without an index", first, 2_000.0)
            .beside(format!("{first_hits} found"))
            .provided(first_hits == 1),
        Figure::milliseconds("search over 1,000 sessions", median(rare).max(median(common.clone())), 50.0)
            .beside(format!("words that all have {:.2} ms", in_milliseconds(median(common))))
            .provided(rare_hits == RUNS && common_hits > 0),
    ])
}

async fn timed(client: &LspClient, method: &str, params: Value) -> anyhow::Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let started = Instant::now();
        request(client, method, params.clone()).await?;
        times.push(started.elapsed());
    }
    Ok(median(times))
}

pub(super) async fn request(client: &LspClient, method: &str, params: Value) -> anyhow::Result<Value> {
    client.request(method, params).await.map_err(|error| anyhow::anyhow!("{method}: {}", error.message))
}

pub(super) fn id(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

/// A conversation in Claude Code's layout: a call and its result in turn, the results `size` bytes long.
pub(super) fn transcript(
    fixture: &Fixture,
    session: usize,
    messages: usize,
    size: usize,
) -> anyhow::Result<String> {
    let mut out = String::new();
    let text = "    let words = of(a, file);\n".repeat(size / 29 + 1);
    let uuid = |number: usize| format!("00000000-0000-4000-9000-{:012}", session * 10_000 + number);
    for number in 0..messages {
        let parent = number.checked_sub(1).map(uuid);
        let user = number % 2 == 0;
        let message = if number == 0 {
            json!({"role": "user", "content": format!("read everything about topic{session}")})
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
            "timestamp": WRITTEN,
        });
        writeln!(out, "{record}")?;
    }
    Ok(out)
}
