//! Scenarios in Markdown, run against any server: a heading is a test, prose says why, fenced blocks are its steps.
//!
//! | block | what it does |
//! |---|---|
//! | `file path=P [times=N]` | writes a file; `~/` is the home, anything else the workspace; the body N times |
//! | `settings` | writes the user's `settings.json` |
//! | `environment` | `NAME=value` lines for the server; `NAME=` takes one away |
//! | `client` | JSON over the client's own description: `{"encodings": ["utf-16"], "reverie": null}`; `ignore` names what need not be read |
//! | `git` | commits the workspace as it is now |
//! | `open path=P` | opens a document; with a body, that is its unsaved text |
//! | `model [for=main] [times=N]` | the next reply of the model, see `reply_text`; `for=recall`: to the question which memories fit; `compact`, `collapse`: to the request for a summary |
//! | `permission option=deny` | the answer to the next question for permission; the body is its message |
//! | `answer` | the answer to the next question of the agent, `approved` to a plan, or the button to press on the next message |
//! | `user [mention=P] [times=N]` | a prompt; runs the turn to its end |
//! | `resume [after=61m]` | ends the server, starts another, resumes the session; so much later |
//! | `notes` | writes the notes of the session |
//! | `compact [mode=M] [at=K] [preview=true]` | the editor asks for a compaction, at the K-th prompt; the body is what to mind |
//! | `uncompact`, `rewind to=K`, `fork` | takes a compaction back, goes to before the K-th prompt, goes on in a fork |
//! | `expect request [n=K] [for=main] [chars=60] [last=L]` | the layout of the K-th request (from 1), else of the last; of its items the last ones |
//! | `expect answer` | what the last `compact`, `uncompact` or `rewind` came to |
//! | `expect ledger`, `expect original change=K` or `of=ID` | what was done to the context, and the text behind it |
//! | `expect waste` | what the requests paid for more than once |
//! | `expect events`, `expect text` | what the editor saw of the last turn |
//! | `expect asked` | the permissions asked for so far |
//! | `expect tree`, `expect file path=P`, `expect buffer path=P` | the workspace now |
//!
//! `<workspace>`, `<memory>`, `<project>`, `<home>`, `<session>` and `<model>` stand for paths, the session's id and the model's
//! address in both directions; `<n>` for the number of what is there N times. With `UPDATE_EXPECT=1` the bodies of
//! `expect` blocks are rewritten instead of compared.

mod context;
mod parse;
mod reply_text;

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
    path::Path,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use similar::TextDiff;

pub use self::parse::{Block, Scenario, parse};
use crate::{
    fixture::Fixture,
    layout::{LayoutOptions, layout},
    lsp_client::{Answer, ClientOptions, LspClient, Turn, uri},
    model_server::{ModelServer, Reply},
};

/// Starts a server for a fixture with an environment and returns a client that is connected to it.
pub type Connect = Arc<dyn Fn(&Fixture, &BTreeMap<String, String>) -> LspClient + Send + Sync>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Compare,
    /// Rewrite what is expected.
    Update,
}

impl Mode {
    /// `UPDATE_EXPECT=1` asks for an update.
    pub fn from_environment() -> Self {
        if std::env::var_os("UPDATE_EXPECT").is_some() { Self::Update } else { Self::Compare }
    }
}

/// Runs every scenario of a file; fails with the headings of those that failed.
pub async fn run_file(path: &Path, mode: Mode, connect: Connect) {
    let text = std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let scenarios = parse(&text);
    assert!(!scenarios.is_empty(), "{} holds no scenario", path.display());
    let mut failures = Vec::new();
    let mut bodies = Vec::new();
    for scenario in scenarios {
        let heading = scenario.heading.clone();
        // On a task of its own, so that a panic ends only this scenario.
        match tokio::spawn(Run::whole(scenario, connect.clone())).await {
            Err(_) => failures.push(format!("## {heading}\npanicked, see above")),
            Ok(mismatches) => {
                for mismatch in mismatches {
                    if mode == Mode::Compare {
                        failures.push(format!(
                            "## {heading} (line {})\n{}",
                            mismatch.lines.start,
                            mismatch.diff()
                        ));
                    }
                    bodies.push((mismatch.lines, mismatch.actual));
                }
            }
        }
    }
    if mode == Mode::Update && !bodies.is_empty() {
        std::fs::write(path, parse::with_bodies(&text, bodies)).expect("the scenario file can be written");
    }
    assert!(failures.is_empty(), "{}\n\n{}", path.display(), failures.join("\n"));
}

struct Mismatch {
    lines: Range<usize>,
    expected: String,
    actual: String,
}

impl Mismatch {
    fn diff(&self) -> String {
        TextDiff::from_lines(&self.expected, &self.actual)
            .unified_diff()
            .header("expected", "actual")
            .to_string()
    }
}

struct Run {
    fixture: Fixture,
    model: ModelServer,
    environment: BTreeMap<String, String>,
    client_options: Value,
    connect: Connect,
    permissions: Arc<Mutex<VecDeque<Value>>>,
    answers: Arc<Mutex<VecDeque<String>>>,
    /// Questions that the scenario has no answer to.
    surprises: Arc<Mutex<Vec<String>>>,
    /// The server, its session and the last turn, once there is one.
    client: Option<LspClient>,
    session: Option<String>,
    turn: Option<Turn>,
    /// What the user said, commands left out.
    prompts: Vec<String>,
    /// The answer to what the editor asked for last.
    said: String,
    asked: Vec<Value>,
    mismatches: Vec<Mismatch>,
}

impl Run {
    async fn whole(scenario: Scenario, connect: Connect) -> Vec<Mismatch> {
        let fixture = Fixture::new("");
        let model = ModelServer::start().await;
        let mut run = Self {
            environment: fixture.environment(&model.url()),
            fixture,
            model,
            client_options: Value::Null,
            connect,
            permissions: Arc::default(),
            answers: Arc::default(),
            surprises: Arc::default(),
            client: None,
            session: None,
            turn: None,
            prompts: Vec::new(),
            said: String::new(),
            asked: Vec::new(),
            mismatches: Vec::new(),
        };
        for block in &scenario.blocks {
            run.step(block).await;
        }
        run.stop().await;
        let surprises = run.surprises.lock().expect("no handler panics").join("\n");
        assert!(surprises.is_empty(), "questions without an answer:\n{surprises}");
        let unused = run.permissions.lock().expect("no handler panics").len();
        assert_eq!(unused, 0, "answers to questions for permission were never used");
        assert_eq!(
            run.answers.lock().expect("no handler panics").len(),
            0,
            "answers to the agent were never used"
        );
        run.model.finish();
        run.mismatches
    }

    async fn step(&mut self, block: &Block) {
        let body = self.filled_in(&block.body);
        let words: Vec<&str> = block.words.iter().map(String::as_str).collect();
        match words[..] {
            ["file"] => self.fixture.write(block.attribute("path"), &repeated(block, &body).concat()),
            ["settings"] => self.fixture.write("~/.claude/settings.json", &body),
            ["environment"] => self.set_environment(&body),
            ["client"] => self.client_options = serde_json::from_str(&body).expect("the client is JSON"),
            ["git"] => self.fixture.git_init(),
            ["open"] => self.open(block.attribute("path"), &body).await,
            ["model"] => {
                let role = block.attributes.get("for").map_or("main", String::as_str);
                for body in repeated(block, &body) {
                    self.model.reply_to(role, reply_text::reply(&body));
                }
            }
            ["permission"] => {
                let message = Some(body.trim()).filter(|message| !message.is_empty());
                let answer = json!({ "option": block.attribute("option"), "message": message });
                self.permissions.lock().expect("no handler panics").push_back(answer);
            }
            ["answer"] => {
                self.answers.lock().expect("no handler panics").push_back(body.trim_end().to_owned())
            }
            ["user"] => {
                for body in repeated(block, &body) {
                    self.prompt(block, &body).await;
                }
            }
            ["resume"] => self.resume(block).await,
            ["notes"] => self.notes(&body).await,
            ["compact"] => self.compact(block, &body).await,
            ["uncompact"] => self.uncompact().await,
            ["rewind"] => self.rewind(block).await,
            ["fork"] => self.fork().await,
            ["expect", what] => {
                let actual = self.observed(what, block).await;
                self.compare(block, actual);
            }
            _ => panic!("line {}: no such block: {}", block.lines.start, block.name()),
        }
    }

    fn set_environment(&mut self, lines: &str) {
        for line in lines.lines() {
            match line.split_once('=') {
                Some((name, "")) => {
                    self.environment.remove(name);
                }
                Some((name, value)) => {
                    self.environment.insert(name.to_owned(), value.to_owned());
                }
                None => panic!("not NAME=value: {line}"),
            }
        }
    }

    async fn open(&mut self, path: &str, text: &str) {
        let path = self.fixture.path(path);
        let saved = std::fs::read_to_string(&path).ok();
        let text = if text.is_empty() {
            saved.clone().expect("an open without a text needs a file")
        } else {
            text.to_owned()
        };
        self.client().await.open_with(&path, &text, saved);
    }

    async fn prompt(&mut self, block: &Block, text: &str) {
        let mut parts = vec![json!({ "type": "text", "text": text.trim_end() })];
        if !text.starts_with('/') {
            self.prompts.push(text.trim_end().to_owned());
        }
        if let Some(path) = block.attributes.get("mention") {
            parts.push(json!({ "type": "mention", "uri": uri(&self.fixture.path(path)) }));
        }
        let session = self.session().await;
        let client = self.client().await;
        let params = json!({ "sessionId": session, "prompt": parts });
        let answer = client.request("reverie/session/prompt", params).await.expect("a prompt is accepted");
        let turn = client.turn_end(&session, answer["turnId"].as_str().expect("a turn has an id")).await;
        self.turn = Some(turn);
    }

    async fn resume(&mut self, block: &Block) {
        let session = self.session.clone().expect("a session to resume");
        self.stop().await;
        if let Some(minutes) = block.attributes.get("after") {
            self.age(minutes);
        }
        let params = json!({ "sessionId": session });
        self.client()
            .await
            .request("reverie/session/resume", params)
            .await
            .expect("the session can be resumed");
    }

    async fn session(&mut self) -> String {
        if self.session.is_none() {
            self.session = Some(self.client().await.new_session().await);
        }
        self.session.clone().expect("made above")
    }

    async fn client(&mut self) -> &LspClient {
        if self.client.is_none() {
            self.client = Some(self.start().await);
        }
        self.client.as_ref().expect("made above")
    }

    async fn start(&self) -> LspClient {
        let client = (self.connect)(&self.fixture, &self.environment);
        for ignored in ["$/progress", "window/logMessage"] {
            client.ignore(ignored);
        }
        let (permissions, surprises) = (self.permissions.clone(), self.surprises.clone());
        client.on_request("reverie/permission/ask", move |params| {
            match permissions.lock().expect("no handler panics").pop_front() {
                Some(answer) => Answer::Result(answer),
                None => surprise(&surprises, params),
            }
        });
        let (answers, surprises) = (self.answers.clone(), self.surprises.clone());
        client.on_request("reverie/user/ask", move |params| {
            match answers.lock().expect("no handler panics").pop_front() {
                Some(answer) => Answer::Result(json!({ "answer": answer })),
                None => surprise(&surprises, params),
            }
        });
        let (answers, surprises) = (self.answers.clone(), self.surprises.clone());
        client.on_request("reverie/plan/ask", move |params| {
            match answers.lock().expect("no handler panics").pop_front() {
                Some(answer) => Answer::Result(json!({ "approved": answer == "approved" })),
                None => surprise(&surprises, params),
            }
        });
        let answers = self.answers.clone();
        client.on_request("window/showMessageRequest", move |params| {
            let chosen = answers.lock().expect("no handler panics").pop_front();
            let actions = params["actions"].as_array().cloned().unwrap_or_default();
            let fits = |action: &&Value| {
                let title = action["title"].as_str().unwrap_or_default();
                chosen.as_deref().is_some_and(|chosen| title.starts_with(chosen))
            };
            Answer::Result(actions.iter().find(fits).cloned().unwrap_or_default())
        });
        let mut options = ClientOptions::new(&self.fixture.workspace);
        if let Some(reverie) = self.client_options.get("reverie") {
            options.reverie = reverie.clone();
        }
        if self.client_options["encodings"] == json!(["utf-16"]) {
            options.encodings = vec!["utf-16"];
        }
        options.configuration = self.client_options["configuration"].clone();
        for ignored in self.client_options["ignore"].as_array().into_iter().flatten() {
            client.ignore(ignored.as_str().expect("a method or a kind"));
        }
        client.initialize(&options).await;
        client
    }

    async fn stop(&mut self) {
        if let Some(client) = self.client.take() {
            self.asked.extend(client.asked("reverie/permission/ask"));
            client.shutdown().await;
        }
    }

    async fn observed(&mut self, what: &str, block: &Block) -> String {
        let turn = || self.turn.as_ref().expect("a turn came before");
        match what {
            "events" => {
                self.abstracted(&turn().events().split_inclusive('\n').map(event_line).collect::<String>())
            }
            "text" => self.abstracted(&(turn().text() + "\n")),
            "request" => self.request_layout(block),
            "tree" => self.fixture.tree(),
            "file" => self.fixture.read(&self.filled_in(block.attribute("path"))),
            "buffer" => {
                let path = self.fixture.path(block.attribute("path"));
                self.client().await.document(&path).text
            }
            "asked" => self.questions(),
            "answer" => self.abstracted(&self.said),
            "ledger" => self.ledger().await,
            "original" => self.original(block).await,
            "waste" => self.waste(),
            _ => panic!("line {}: nothing to expect of {what}", block.lines.start),
        }
    }

    fn request_layout(&self, block: &Block) -> String {
        let role = block.attributes.get("for").map_or("main", String::as_str);
        let requests = self.model.requests_of(role);
        let index = block.attributes.get("n").map_or(requests.len(), |n| n.parse().expect("n is a number"));
        let Some(request) = index.checked_sub(1).and_then(|index| requests.get(index)) else {
            return format!("there are {} requests, none is number {index}\n", requests.len());
        };
        let mut options = LayoutOptions {
            each_tool: false,
            prefix_sizes: false,
            replacements: self.replacements(),
            ..LayoutOptions::default()
        };
        if let Some(chars) = block.attributes.get("chars") {
            options.text_chars = chars.parse().expect("chars is a number");
        }
        let whole = layout(&request.body, &options);
        let Some(last) = block.attributes.get("last") else { return whole };
        let last: usize = last.parse().expect("last is a number");
        let left_out = whole.lines().count().saturating_sub(last);
        let shown = whole.split_inclusive('\n').skip(left_out);
        format!("… {left_out} more\n{}", shown.collect::<String>())
    }

    fn questions(&self) -> String {
        let mut asked = self.asked.clone();
        asked.extend(self.client.iter().flat_map(|client| client.asked("reverie/permission/ask")));
        let line = |params: &Value| {
            let options: Vec<&str> = params["options"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|option| option["label"].as_str())
                .collect();
            let preview = params["preview"]["text"].as_str().unwrap_or_default();
            let reason = params["reason"].as_str().unwrap_or_default();
            let tool = params["tool"].as_str().unwrap_or_default();
            format!("{tool}: {reason}\n{}\n[{}]\n", preview.trim_end(), options.join("] ["))
        };
        self.abstracted(&asked.iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    fn compare(&mut self, block: &Block, actual: String) {
        let expected = block.body.clone();
        if expected.trim_end() != actual.trim_end() {
            self.mismatches.push(Mismatch { lines: block.lines.clone(), expected, actual });
        }
    }

    fn filled_in(&self, text: &str) -> String {
        self.replacements().iter().fold(text.to_owned(), |text, (value, name)| text.replace(name, value))
    }

    fn abstracted(&self, text: &str) -> String {
        self.replacements().iter().fold(text.to_owned(), |text, (value, name)| text.replace(value, name))
    }

    fn replacements(&self) -> Vec<(String, String)> {
        let memory = self.fixture.project_dir().join("memory").display().to_string();
        let project = self.fixture.project_dir().display().to_string();
        let mut replacements = vec![(memory, "<memory>".to_owned()), (project, "<project>".to_owned())];
        replacements.extend(self.session.iter().map(|id| (id.clone(), "<session>".to_owned())));
        replacements.extend(self.fixture.replacements());
        replacements.push((self.model.url(), "<model>".to_owned()));
        replacements
    }
}

/// The body, or as many as `times` says, each with its number.
fn repeated(block: &Block, body: &str) -> Vec<String> {
    let Some(times) = block.attributes.get("times") else { return vec![body.to_owned()] };
    let times: usize = times.parse().expect("times is a number");
    (1..=times).map(|number| body.replace("<n>", &number.to_string())).collect()
}

fn event_line(line: &str) -> String {
    if line.starts_with("context ") { context::without_counts(line) } else { line.to_owned() }
}

fn surprise(surprises: &Mutex<Vec<String>>, params: &Value) -> Answer {
    surprises.lock().expect("no handler panics").push(params.to_string());
    Answer::Error { code: -32603, message: "the scenario has no answer".to_owned() }
}

/// For scripts outside of scenarios: the same text form of a reply.
pub fn reply(body: &str) -> Reply {
    reply_text::reply(body)
}
