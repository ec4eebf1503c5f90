//! A long session, played by a script: hundreds of rounds of reading, searching, running and editing, in turns, with an
//! hour's pause now and then, so that every layer that keeps a conversation small comes to its work.
//!
//! Owns the script and what it comes to. Who starts the server says so, and judges the outcome.

mod rounds;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use self::rounds::Rounds;
use crate::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient},
    model_server::{ModelServer, Reply},
    prompt_cache::CacheUsage,
};

/// What is played.
#[derive(Clone, Debug)]
pub struct LongSession {
    pub turns: usize,
    pub rounds_per_turn: usize,
    /// Behind so many turns the user goes away for two hours.
    pub pauses: Vec<usize>,
    /// Rounds that read more at once than one message may have.
    pub floods: Vec<usize>,
    pub layers: Layers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layers {
    /// As they are by default; compaction may count with another window than the model's.
    Default { window: Option<u64> },
    /// None of them, and a window that nothing fills.
    Off,
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub spent: CacheUsage,
    /// The same requests, each token bought once and read as long as it lives.
    pub cheapest: CacheUsage,
    pub requests: usize,
    /// Of one request.
    pub most_tokens: u64,
    /// Every change to the context: its layer and what was done.
    pub ledger: Vec<(String, String)>,
    /// Turns that did not come to their end, calls that failed, errors that were shown.
    pub complaints: Vec<String>,
}

impl Outcome {
    pub fn layers(&self) -> BTreeSet<&str> {
        self.ledger.iter().map(|(layer, _)| layer.as_str()).collect()
    }

    pub fn cost_ratio(&self) -> f64 {
        self.spent.cost() / self.cheapest.cost()
    }
}

/// A model that the built-in table knows, with 200,000 tokens.
const MODEL: &str = "claude-sonnet-4-5";

const PAUSE: Duration = Duration::from_secs(2 * 60 * 60);

/// The notes stand in for the conversation once; then they are gone, and summaries have to be asked for.
const NOTES: &str = "# Session title\nThe parts of the machine\n\n# Current state\nEvery part is read, compared with \
                     its neighbours, and given a new revision.\n\n# Files\nsrc/part_00.rs and those behind it.\n";

impl LongSession {
    /// `connect` starts a server in the fixture with this environment.
    pub async fn play(&self, connect: impl Fn(&Fixture, &BTreeMap<String, String>) -> LspClient) -> Outcome {
        let fixture = Fixture::new("//- ~/.claude/CLAUDE.md\nAnswer in few words.\n");
        fixture.write("~/.claude/settings.json", &self.layers.settings().to_string());
        rounds::write_files(&fixture);
        let model = ModelServer::start().await;
        model.keep_newest(2);
        let mut rounds = Rounds::new(&fixture, self.rounds_per_turn, self.floods.clone());
        model.program(move |request| match request.role.as_str() {
            "main" => rounds.next(),
            "compact" => Reply::text(rounds::SUMMARY),
            _ => Reply::text("The parts of the machine"),
        });
        let mut environment = fixture.environment(&model.url());
        if let Layers::Default { window: Some(window) } = self.layers {
            environment.insert("CLAUDE_CODE_AUTO_COMPACT_WINDOW".to_owned(), window.to_string());
        }

        let mut client = started(&fixture, &connect, &environment).await;
        let session = client.new_session_with(json!({ "mode": "acceptEdits" })).await;
        let notes = fixture.project_dir().join(&session).join("session-memory/summary.md");
        let mut complaints = Vec::new();
        for number in 0..self.turns {
            if self.pauses.contains(&number) {
                client.shutdown().await;
                set_back(&fixture.transcript(&session));
                model.advance_clock(PAUSE);
                if self.pauses.first() == Some(&number) {
                    write(&notes, NOTES);
                }
                client = started(&fixture, &connect, &environment).await;
                let params = json!({ "sessionId": session });
                client.request("reverie/session/resume", params).await.expect("the session resumes");
            }
            let turn = client.turn(&session, &rounds::prompt(number)).await;
            if turn.of_kind("context").iter().any(|change| change["layer"] == "sessionMemory") {
                fs::remove_file(&notes).expect("the notes were there");
            }
            complaints.extend(turn.updates.iter().filter_map(|update| complaint(&update["update"])));
        }
        let report = client.request("reverie/context/report", json!({ "sessionId": session })).await;
        let ledger = ledger(&report.expect("a session has a report"));
        client.shutdown().await;
        let outcome = {
            let cache = model.cache();
            Outcome {
                spent: cache.totals(),
                cheapest: cache.cheapest_possible(),
                requests: cache.history().len(),
                most_tokens: cache.history().iter().map(CacheUsage::total).max().unwrap_or_default(),
                ledger,
                complaints,
            }
        };
        model.finish();
        outcome
    }
}

impl Layers {
    fn settings(self) -> Value {
        match self {
            Self::Default { .. } => json!({ "model": MODEL }),
            Self::Off => json!({
                "model": MODEL,
                "models": { (format!("anthropic/{MODEL}")): { "contextWindow": 50_000_000 } },
                "autoCompactEnabled": false,
                "reverie": { "features": {
                    "toolResultStorage": false,
                    "microcompactTime": false,
                    "sessionMemoryCompact": false,
                    "serverContextManagement": false,
                    "reactiveCompaction": false,
                } },
            }),
        }
    }
}

async fn started(
    fixture: &Fixture,
    connect: &impl Fn(&Fixture, &BTreeMap<String, String>) -> LspClient,
    environment: &BTreeMap<String, String>,
) -> LspClient {
    let mut client = connect(fixture, environment);
    client.set_patience(Duration::from_secs(120));
    client.allow_everything();
    for what in ["$/progress", "window/logMessage", "reverie/session/update", "reverie/memory/event"] {
        client.ignore(what);
    }
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    client
}

/// As if all of it had been said so much earlier.
fn set_back(transcript: &Path) {
    let pause = SignedDuration::try_from(PAUSE).expect("two hours");
    let text = fs::read_to_string(transcript).expect("a session has a transcript");
    let mut earlier = String::with_capacity(text.len());
    for line in text.lines() {
        let mut record: Value = serde_json::from_str(line).expect("a transcript is made of JSON");
        for key in ["timestamp", "at"] {
            let time = record[key].as_str().and_then(|time| time.parse::<Timestamp>().ok());
            if let Some(time) = time {
                record[key] = json!((time - pause).to_string());
            }
        }
        earlier.push_str(&record.to_string());
        earlier.push('\n');
    }
    fs::write(transcript, earlier).expect("a transcript can be written");
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders can be made");
    fs::write(path, text).expect("a file can be written");
}

fn complaint(update: &Value) -> Option<String> {
    let is_bad = match update["kind"].as_str()? {
        "turnEnd" => update["stopReason"] != "endTurn",
        "toolEnd" => update["ok"] != true,
        "notice" => update["level"] != "info",
        "retry" => true,
        _ => false,
    };
    is_bad.then(|| update.to_string())
}

fn ledger(report: &Value) -> Vec<(String, String)> {
    let word = |change: &Value, key: &str| change[key].as_str().unwrap_or_default().to_owned();
    let changes = report["ledger"].as_array().into_iter().flatten();
    changes.map(|change| (word(change, "layer"), word(change, "detail"))).collect()
}
