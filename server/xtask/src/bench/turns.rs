//! What a turn costs: the wait before a request, between rounds, for a delta; tokens, money, memory, and searching.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient, ServerProcess},
    model_server::{Gate, ModelServer, RecordedRequest, Reply},
    prompt_cache::PromptCache,
};

use super::{
    Figure, median,
    memory::{Words, topic},
    resident,
};

const RUNS: usize = 10;
const ROUNDS: usize = 10;
const PATIENCE: Duration = Duration::from_secs(30);

pub async fn measure(binary: &Path) -> anyhow::Result<Vec<Figure>> {
    let fixture = Fixture::new(
        "//- CLAUDE.md\nUse tabs. Tests are named by behaviour.\n//- ~/.claude/CLAUDE.md\nAnswer in few words.\n",
    );
    remember(&fixture)?;
    for number in 0..30 {
        fixture.write(&format!("src/file_{number}.rs"), &"pub fn something() -> u32 { 42 }\n".repeat(200));
    }
    search_tree(&fixture);
    fixture.git_init();
    let server = ModelServer::start().await;
    server.always("recall", Reply::text("{\"selected\": []}"));
    let environment = fixture.environment(&server.url());
    let process = ServerProcess::spawn(binary, &["lsp"], &environment, &fixture.workspace);
    let client = LspClient::over_stdio(process);
    client.ignore("reverie/session/update");
    client.ignore("$/progress");
    client.ignore("reverie/memory/event");
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    let session = client.new_session().await;
    let read = |number: usize| ("Read", json!({"file_path": format!("src/file_{number}.rs")}));

    server.reply(Reply::text("ready"));
    client.turn(&session, "when do we deploy the payment service?").await;
    let first = server.main_requests().first().map(|request| request.bytes.len()).unwrap_or_default();
    let has_recalled = server.main_requests().first().is_some_and(|request| has_memory(&request.body));

    let mut turns = 1;
    let mut prompts = Vec::new();
    for _ in 0..RUNS {
        learnt(&client, turns).await?;
        turns += 1;
        let before = server.main_requests().len();
        server.reply(Reply::text("yes"));
        let started = Instant::now();
        let turn = client.prompt(&session, "and again, please, with some more words").await;
        let request = main_request(&server, before).await;
        prompts.push(request.arrived.duration_since(started));
        client.turn_end(&session, &turn).await;
    }

    learnt(&client, turns).await?;
    turns += 1;
    let before = server.main_requests().len();
    for number in 0..ROUNDS {
        let (tool, input) = read(number);
        server.reply(Reply::tool(tool, input));
    }
    server.reply(Reply::text("done"));
    client.turn(&session, "ten rounds").await;
    let gaps = gaps(&server, before);

    let hits = main_loop(&server)?.totals().hit_rate();

    let mut thirty = Vec::new();
    for _ in 0..RUNS {
        learnt(&client, turns).await?;
        turns += 1;
        let before = server.main_requests().len();
        server.reply(Reply::tools((0..30).map(read)));
        server.reply(Reply::text("done"));
        let session = client.new_session().await;
        client.turn(&session, "thirty at once").await;
        thirty.extend(self::gaps(&server, before));
    }

    let mut deltas = Vec::new();
    for _ in 0..RUNS {
        learnt(&client, turns).await?;
        turns += 1;
        let gate = Gate::closed();
        server.reply(Reply::text("one delta").pausing_after(2, &gate));
        let turn = client.prompt(&session, "a delta").await;
        gate.reached().await;
        let started = Instant::now();
        gate.open();
        client
            .wait_for("a delta", |update| {
                update.kind() == "textDelta" && update.params["turnId"] == turn.as_str()
            })
            .await;
        deltas.push(started.elapsed());
        client.turn_end(&session, &turn).await;
    }

    let ratio = main_loop(&server)?.cost_ratio();
    let before = server.main_requests().len();
    server.reply(Reply::text("hello"));
    let second = client.new_session().await;
    client.turn(&second, "a second session").await;
    let usage = server.usages().get(before).cloned();
    let resident_after = resident(client.process_id().unwrap_or_default())?;
    let rewritten = usage.map_or(1.0, |usage| {
        let opening = opening_tokens(server.main_requests().get(before).map(|request| &request.body));
        1.0 - (usage.read as f64 / opening).min(1.0)
    });

    let mut figures = vec![
        Figure::milliseconds("warm prompt → request on the wire", median(prompts), 2.0)
            .beside("200 memories, recall on"),
        Figure::milliseconds("gap per tool round", median(gaps), 2.0),
        Figure::milliseconds("thirty parallel reads", median(thirty), 10.0),
        Figure::milliseconds("delta at the socket → notification at the editor", median(deltas), 1.0),
        Figure::number("first request, bytes / 4", first as f64 / 4.0, 6_000.0, " tokens")
            .beside("CLAUDE.md, the rules of memory, 20 lines of its index, a recalled memory")
            .provided(has_recalled),
        Figure::number("cost of the session / the cheapest possible", ratio, 1.02, "")
            .beside(format!("cache hit rate {:.1} %", hits * 100.0)),
        Figure::number(
            "second session: share of tools + system not read from the cache",
            rewritten,
            0.02,
            "",
        ),
        Figure::megabytes("resident after these turns", resident_after, 25.0),
    ];
    figures.extend(searching(&server, &client, &fixture).await?);
    client.shutdown().await;
    server.finish();
    Ok(figures)
}

/// Waits until something was learnt from so many turns: whoever prompts reads the answer first.
async fn learnt(client: &LspClient, turns: u64) -> anyhow::Result<()> {
    let begun = Instant::now();
    loop {
        let listed = client.request("reverie/tasks/list", json!({})).await;
        let listed = listed.map_err(|error| anyhow::anyhow!("{error:?}"))?;
        let kinds = listed["background"]["kinds"].as_array().cloned().unwrap_or_default();
        let extraction = kinds.iter().find(|kind| kind["kind"] == "extraction");
        if extraction.is_some_and(|kind| kind["today"]["runs"].as_u64() >= Some(turns)) {
            return Ok(());
        }
        anyhow::ensure!(begun.elapsed() < PATIENCE, "nothing was learnt from {turns} turns: {listed}");
    }
}

/// 200 memories, of which one is about deploying, and the first 20 in the index.
fn remember(fixture: &Fixture) -> anyhow::Result<()> {
    let directory = fixture.project_dir().join("memory");
    fs::create_dir_all(&directory)?;
    let mut words = Words::default();
    let mut index = String::new();
    for number in 0..199 {
        fs::write(directory.join(format!("topic_{number}.md")), topic(&mut words, number))?;
        if number < 20 {
            index.push_str(&format!("- [{}](topic_{number}.md) — {}\n", words.line(2), words.line(8)));
        }
    }
    fs::write(directory.join("MEMORY.md"), index)?;
    let deploys = "---\nname: Deploys of the payment service\ndescription: When we deploy the payment service\n\
                   type: project\n---\n\nWe deploy the payment service on Fridays only.\n";
    fs::write(directory.join("deploys.md"), deploys)?;
    Ok(())
}

fn has_memory(body: &Value) -> bool {
    body["messages"].to_string().contains("on Fridays only")
}

/// The bill of the main loop alone: the questions which memories fit are new each time, and cost what they cost.
fn main_loop(server: &ModelServer) -> anyhow::Result<PromptCache> {
    let mut cache = PromptCache::new();
    for request in server.main_requests() {
        cache.bill(&request.body, Duration::ZERO).map_err(anyhow::Error::msg)?;
    }
    Ok(cache)
}

/// The request of the main loop behind so many others.
pub(super) async fn main_request(server: &ModelServer, before: usize) -> Arc<RecordedRequest> {
    loop {
        let all = server.requests();
        if let Some(request) = all.iter().filter(|request| request.role == "main").nth(before) {
            return Arc::clone(request);
        }
        server.wait_for_requests(all.len() + 1).await;
    }
}

/// From the last byte of each reply to the arrival of the next request.
pub(super) fn gaps(server: &ModelServer, before: usize) -> Vec<Duration> {
    let requests = server.main_requests();
    let requests: Vec<_> = requests.iter().skip(before).collect();
    let gap = |pair: &[&Arc<RecordedRequest>]| Some(pair[1].arrived.duration_since(*pair[0].answered.get()?));
    requests.windows(2).filter_map(gap).collect()
}

/// Tokens of tools and system as the cache simulation counts them: bytes / 4.
fn opening_tokens(body: Option<&Value>) -> f64 {
    let bytes = |value: &Value| value.to_string().len() as f64;
    body.map_or(1.0, |body| (bytes(&body["tools"]) + bytes(&body["system"])) / 4.0 * 0.97)
}

/// 20,000 files in 200 folders, one in a hundred of them with the word that is searched for.
fn search_tree(fixture: &Fixture) {
    for folder in 0..200 {
        for file in 0..100 {
            let word = if file == 7 { "needle" } else { "hay" };
            let text = format!(
                "// {folder} {file}\n{}let {word} = {file};\n",
                "let value = compute(1, 2);\n".repeat(40)
            );
            fixture.write(&format!("tree/{folder}/module_{file}.rs"), &text);
        }
    }
}

async fn searching(
    server: &ModelServer,
    client: &LspClient,
    fixture: &Fixture,
) -> anyhow::Result<Vec<Figure>> {
    // A session of its own: a long conversation's request would be most of the time.
    let session = &client.new_session().await;
    let calls = [
        (
            "Grep / `rg` on 20,000 files",
            Reply::tool("Grep", json!({"pattern": "let needle", "path": "tree"})),
            vec!["-l", "let needle", "tree"],
        ),
        (
            "Glob / `rg --files` on 20,000 files",
            Reply::tool("Glob", json!({"pattern": "tree/**/module_7.rs"})),
            vec!["--files", "-g", "module_7.rs", "tree"],
        ),
    ];
    let mut figures = Vec::new();
    for (what, reply, arguments) in calls {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            let before = server.main_requests().len();
            server.reply(reply.clone());
            server.reply(Reply::text("found"));
            client.turn(session, "search").await;
            ours.extend(gaps(server, before).first());
            let started = Instant::now();
            Command::new("rg").args(&arguments).current_dir(&fixture.workspace).output()?;
            theirs.push(started.elapsed());
        }
        let (ours, theirs) = (median(ours), median(theirs));
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        figures.push(Figure::number(what, ratio, 1.1, " ×").beside(format!(
            "{:.1} ms, round trip included; rg {:.1} ms",
            ours.as_secs_f64() * 1_000.0,
            theirs.as_secs_f64() * 1_000.0
        )));
    }
    Ok(figures)
}
