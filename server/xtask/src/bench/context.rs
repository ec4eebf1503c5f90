//! What keeps a conversation small, and what it costs: a long session with the layers and without, the stages before a
//! request, the way of a prompt in a long session, and how well the meter foretells.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use context::{Calibration, Clear, Composition, Prepared, Projection, Shelf, Situation, Switches, prepare};
use conversation::{Block, Body, Flags, Message, ResultContent, Usage};
use jiff::Timestamp;
use serde_json::json;
use testkit::{
    fixture::Fixture,
    long_session::{Layers, LongSession, Outcome},
    lsp_client::{ClientOptions, LspClient, ServerProcess},
    metering,
    model_server::{ModelServer, Reply},
};
use uuid::Uuid;

use super::{Figure, each, in_milliseconds, median, sessions, turns};

const MESSAGES: usize = 2_000;
const WINDOW: u64 = 200_000;
const RUNS: usize = 20;
const MODEL: &str = "claude-sonnet-4-5";

/// "After a few rounds."
const FEW: usize = 5;
const SAMPLES: [(&str, &str); 4] = [
    ("code", include_str!("../../../context/src/calibration/fixtures/code.txt")),
    ("prose", include_str!("../../../context/src/calibration/fixtures/prose.txt")),
    ("JSON", include_str!("../../../context/src/calibration/fixtures/json.txt")),
    ("Chinese", include_str!("../../../context/src/calibration/fixtures/chinese.txt")),
];

pub async fn measure(binary: &Path) -> anyhow::Result<Vec<Figure>> {
    let mut figures = long_session(binary).await;
    figures.push(stages()?);
    figures.push(long_prompt(binary).await?);
    figures.push(meter(binary).await);
    Ok(figures)
}

async fn long_session(binary: &Path) -> Vec<Figure> {
    let script = |layers| LongSession {
        turns: 20,
        rounds_per_turn: 25,
        pauses: vec![1, 12],
        floods: vec![60, 260],
        layers,
    };
    let connect = |fixture: &Fixture, environment: &BTreeMap<String, String>| {
        LspClient::over_stdio(ServerProcess::spawn(binary, &["lsp"], environment, &fixture.workspace))
    };
    let with = script(Layers::Default { window: None }).play(connect).await;
    let without = script(Layers::Off).play(connect).await;
    let worked = ["storage", "microcompact", "sessionMemory", "full"]
        .iter()
        .all(|layer| with.layers().contains(layer));
    let is_sound = |outcome: &Outcome| outcome.complaints.is_empty();
    for complaint in with.complaints.iter().chain(&without.complaints) {
        println!("{complaint}");
    }
    let count = |layer: &str| with.ledger.iter().filter(|(of, _)| of == layer).count();
    let times = without.spent.cost() / with.spent.cost();
    vec![
        Figure::number("500 rounds: cost / the cheapest possible", with.cost_ratio(), 1.02, "")
            .beside(format!(
                "forks included; storage {}, microcompaction {}, notes {}, summaries {}; at most {} tokens",
                count("storage"),
                count("microcompact"),
                count("sessionMemory"),
                count("full"),
                with.most_tokens
            ))
            .provided(worked && is_sound(&with) && with.most_tokens <= WINDOW),
        Figure::new(
            "500 rounds without the layers: how much dearer",
            format!("{times:.1} ×"),
            "≥ 2 ×".to_owned(),
            (times >= 2.0).into(),
        )
        .beside(format!(
            "{:.1} instead of {:.1} million input tokens' worth; up to {} tokens a request",
            without.spent.cost() / 1e6,
            with.spent.cost() / 1e6,
            without.most_tokens
        ))
        .provided(is_sound(&without)),
    ]
}

/// A conversation of calls and results, and nothing that has to be done about it.
fn stages() -> anyhow::Result<Figure> {
    let thread = thread();
    let (projection, calibration) = (Projection::default(), Calibration::default());
    let count = |message: &Message| calibration.tokens(MODEL, &Composition::of_message(message));
    let now = thread.last().map_or(Timestamp::UNIX_EPOCH, |last| last.timestamp);
    let switches = Switches {
        storage: true,
        message_limit: 200_000,
        snip: None,
        clear: Some(Clear { after: Duration::from_secs(3_600), keep: 5 }),
        cache_edits: None,
        collapse: false,
        auto_compact: true,
    };
    let situation = Situation {
        thread: &thread,
        projection: &projection,
        used: 100_000,
        effective: 180_000,
        threshold: 167_000,
        switches: &switches,
        now,
        tokens: &count,
    };
    let mut changes = 0;
    let took = each(10, || {
        let Prepared { changes: made, .. } = prepare(&situation, &mut NoShelf);
        changes += made.len();
        Ok(())
    })?;
    let bytes: usize = thread.iter().map(|message| size(message)).sum();
    Ok(Figure::milliseconds("the stages before a request, 2,000 messages and nothing to do", took, 5.0)
        .beside(format!("{} KB of results", bytes / 1_000))
        .provided(changes == 0))
}

struct NoShelf;

impl Shelf for NoShelf {
    fn keep(&mut self, _: &str, _: &ResultContent) -> Option<PathBuf> {
        None
    }
}

fn thread() -> Vec<Arc<Message>> {
    let body = |number: usize| match number % 2 {
        0 => Body::Assistant {
            id: Some(format!("msg_{number}")),
            model: MODEL.to_owned(),
            content: vec![
                Block::text("The next one."),
                Block::ToolUse {
                    id: format!("toolu_{number}"),
                    name: "Read".to_owned(),
                    input: json!({ "file_path": format!("/project/src/part_{number}.rs") }),
                },
            ],
            stop_reason: None,
            usage: Some(Usage { input_tokens: 1_000, ..Usage::default() }),
        },
        _ => Body::User {
            content: vec![Block::ToolResult {
                tool_use_id: format!("toolu_{}", number - 1),
                content: ResultContent::Text("    let words = of(a, file);\n".repeat(10 + number % 50)),
                is_error: false,
            }],
        },
    };
    let message = |number: usize| {
        Arc::new(Message {
            uuid: Uuid::from_u128(number as u128 + 1),
            parent: None,
            timestamp: Timestamp::UNIX_EPOCH,
            flags: Flags::default(),
            body: body(number),
        })
    };
    (0..MESSAGES).map(message).collect()
}

fn size(message: &Message) -> usize {
    let Body::User { content } = &message.body else { return 0 };
    let text = |block: &Block| match block {
        Block::ToolResult { content: ResultContent::Text(text), .. } => text.len(),
        _ => 0,
    };
    content.iter().map(text).sum()
}

/// A prompt in a session of 2,000 messages, beside one in a session of none.
async fn long_prompt(binary: &Path) -> anyhow::Result<Figure> {
    let fixture = Fixture::new("//- README.md\nA project.\n");
    let settings = json!({ "model": MODEL, "models": { (format!("anthropic/{MODEL}")): { "contextWindow": 1_000_000 } } });
    fixture.write("~/.claude/settings.json", &settings.to_string());
    let now = Timestamp::now().to_string();
    let long = sessions::id(6_000);
    fs::create_dir_all(fixture.project_dir())?;
    let transcript = sessions::transcript(&fixture, 6_000, MESSAGES, 800)?;
    fs::write(fixture.transcript(&long), transcript.replace(sessions::WRITTEN, &now))?;

    let server = ModelServer::start().await;
    let client = started(binary, &fixture, &server).await;
    let short = client.new_session().await;
    sessions::request(&client, "reverie/session/resume", json!({ "sessionId": long })).await?;
    let mut times = HashMap::new();
    for session in [&short, &long] {
        server.reply(Reply::text("ready"));
        client.turn(session, "are you there?").await;
        let mut taken = Vec::new();
        for _ in 0..RUNS {
            let before = server.main_requests().len();
            server.reply(Reply::text("yes"));
            let started = Instant::now();
            let turn = client.prompt(session, "and again, please, with some more words").await;
            let request = turns::main_request(&server, before).await;
            taken.push(request.arrived.duration_since(started));
            client.turn_end(session, &turn).await;
        }
        times.insert(session, median(taken));
    }
    let bytes = server.main_requests().last().map_or(0, |request| request.bytes.len());
    client.shutdown().await;
    server.finish();
    let [short, long] = [&short, &long].map(|session| times.remove(session).unwrap_or_default());
    Ok(Figure::milliseconds("warm prompt → request in a session of 2,000 messages", long, 20.0)
        .beside(format!("{} KB; in a short session {:.2} ms", bytes / 1_000, in_milliseconds(short))))
}

/// Against a provider that counts with a real vocabulary.
async fn meter(binary: &Path) -> Figure {
    let mut worst: f64 = 0.0;
    let mut beside = Vec::new();
    for (kind, sample) in SAMPLES {
        let fixture = Fixture::new("");
        let server = ModelServer::start().await;
        let counted: Mutex<HashMap<String, u64>> = Mutex::default();
        server.count_with(move |text| match counted.lock() {
            Ok(mut counted) => {
                *counted.entry(text.to_owned()).or_insert_with(|| context::tokenizer::count(text))
            }
            Err(_) => 0,
        });
        let client = started(binary, &fixture, &server).await;
        let texts = metering::texts(sample, 10, 6_000);
        let readings = metering::readings(&client, &server, &fixture, &texts).await;
        let errors = readings.iter().skip(FEW).map(|reading| reading.error().abs());
        let largest = errors.fold(0.0, f64::max);
        beside.push(format!("{kind} {largest:.2}"));
        worst = worst.max(largest);
        client.shutdown().await;
        server.finish();
    }
    Figure::number("error of the meter after five rounds", worst, 3.0, " %")
        .beside(format!("counted with o200k: {}", beside.join(", ")))
}

async fn started(binary: &Path, fixture: &Fixture, server: &ModelServer) -> LspClient {
    let environment = fixture.environment(&server.url());
    let process = ServerProcess::spawn(binary, &["lsp"], &environment, &fixture.workspace);
    let client = LspClient::over_stdio(process);
    for what in ["reverie/session/update", "$/progress", "reverie/memory/event"] {
        client.ignore(what);
    }
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    client
}
