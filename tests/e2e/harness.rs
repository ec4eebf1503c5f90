//! Starts a server on a fixture with a scripted model, and finds what tests need besides.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient, ServerProcess},
    model_server::ModelServer,
    prompt_block::prompt_blocks,
};

pub struct Harness {
    pub client: LspClient,
    pub model: ModelServer,
    pub fixture: Fixture,
}

impl Harness {
    /// A server inside this process, in a folder that the user trusts.
    pub async fn start(files: &str) -> Self {
        Self::connected(files, connect_in_process, true).await
    }

    /// A server inside this process, in a folder that nobody has trusted yet.
    pub async fn untrusted(files: &str) -> Self {
        Self::connected(files, connect_in_process, false).await
    }

    /// A server as a process of its own.
    pub async fn over_stdio(files: &str) -> Self {
        Self::connected(files, connect_over_stdio, true).await
    }

    async fn connected(
        files: &str,
        connect: impl Fn(&Fixture, &BTreeMap<String, String>) -> LspClient,
        trusted: bool,
    ) -> Self {
        let fixture = Fixture::new(files);
        if trusted {
            trust(&fixture);
        }
        let model = ModelServer::start().await;
        let client = connect(&fixture, &fixture.environment(&model.url()));
        let harness = Self { client, model, fixture };
        harness.initialize(&ClientOptions::new(&harness.fixture.workspace)).await;
        harness
    }

    /// Another environment or another description of the client than the usual.
    pub async fn start_with(
        fixture: Fixture,
        model: ModelServer,
        environment: &BTreeMap<String, String>,
        options: &ClientOptions,
    ) -> Self {
        let client = connect_in_process(&fixture, environment);
        let harness = Self { client, model, fixture };
        harness.initialize(options).await;
        harness
    }

    /// A new server on what another one left.
    pub async fn start_with_fixture(fixture: Fixture, model: ModelServer) -> Self {
        let environment = fixture.environment(&model.url());
        let options = ClientOptions::new(&fixture.workspace);
        Self::start_with(fixture, model, &environment, &options).await
    }

    async fn initialize(&self, options: &ClientOptions) {
        self.client.ignore("$/progress");
        self.client.ignore("window/logMessage");
        self.client.initialize(options).await;
    }

    /// Ends the server in good order and starts another on the same fixture, which has resumed the session.
    pub async fn restart(self, session: &str) -> Self {
        let Self { client, model, fixture } = self;
        client.shutdown().await;
        let client = connect_in_process(&fixture, &fixture.environment(&model.url()));
        let harness = Self { client, model, fixture };
        harness.initialize(&ClientOptions::new(&harness.fixture.workspace)).await;
        harness.resume(session).await;
        harness
    }

    pub async fn resume(&self, session: &str) -> Value {
        let params = json!({ "sessionId": session });
        self.client.request("reverie/session/resume", params).await.expect("the session resumes")
    }

    /// A session in which edits need no question.
    pub async fn editing_session(&self) -> String {
        self.client.new_session_with(json!({ "mode": "acceptEdits" })).await
    }

    /// Fails if something was left unread, unanswered or unfetched.
    pub async fn finish(self) {
        self.client.shutdown().await;
        self.model.finish();
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.fixture.path(relative)
    }

    /// The path as a tool's input names it.
    pub fn text_path(&self, relative: &str) -> String {
        self.path(relative).to_str().unwrap().to_owned()
    }
}

/// As if the user had trusted the fixture's workspace as it is now.
pub fn trust(fixture: &Fixture) {
    let environment = settings::Environment::new(fixture.home.clone(), fixture.environment(""));
    settings::trust::set(&environment, &fixture.workspace, true).expect("a folder can be trusted");
}

pub fn connect_in_process(fixture: &Fixture, environment: &BTreeMap<String, String>) -> LspClient {
    connect_with(fixture, environment, lsp::Faults::default().with_patience(testkit::PATIENCE))
}

/// A server inside this process that fails, or waits, where the test says.
pub fn connect_with(
    fixture: &Fixture,
    environment: &BTreeMap<String, String>,
    faults: lsp::Faults,
) -> LspClient {
    const PIPE_BYTES: usize = 64 * 1024;
    let (server_reader, client_writer) = tokio::io::duplex(PIPE_BYTES);
    let (client_reader, server_writer) = tokio::io::duplex(PIPE_BYTES);
    let options = lsp::Options {
        environment: settings::Environment::new(fixture.home.clone(), environment.clone()),
        cwd: fixture.workspace.clone(),
        command_line_settings: None,
        watch_parent: false,
        faults,
    };
    tokio::spawn(lsp::serve(server_reader, server_writer, options));
    LspClient::connect(client_reader, client_writer)
}

pub fn connect_over_stdio(fixture: &Fixture, environment: &BTreeMap<String, String>) -> LspClient {
    LspClient::over_stdio(ServerProcess::spawn(&binary(), &["lsp"], environment, &fixture.workspace))
}

/// The built `reverie` beside this test's executable.
pub fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its executable");
    let profile = test.parent().and_then(Path::parent).expect("target/<profile>/deps/e2e");
    let binary = profile.join("reverie");
    assert!(binary.is_file(), "{} is missing: run `cargo build --package cli` first", binary.display());
    binary
}

/// Where rigs that are installed for tests live.
pub fn rigs() -> PathBuf {
    let profile = binary().parent().and_then(Path::parent).expect("target/<profile>/reverie").to_owned();
    profile.join("rigs")
}

/// The command lines of all running processes that contain the marker.
pub fn processes_with(marker: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let is_process =
            entry.file_name().to_str().is_some_and(|name| name.bytes().all(|b| b.is_ascii_digit()));
        // A process may be gone by the time it is looked at.
        let Some(bytes) = is_process.then(|| std::fs::read(entry.path().join("cmdline")).ok()).flatten()
        else {
            continue;
        };
        let line = String::from_utf8_lossy(&bytes).replace('\0', " ");
        if line.contains(marker) {
            found.push(format!("{} {line}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

/// Fails unless everything the earlier request said is said again by the later one, byte for byte, at its start; cache
/// marks may move. Block by block, because a prompt after an unanswered one joins the same message.
#[track_caller]
pub fn assert_extends(earlier: &Value, later: &Value) {
    let items = |body: &Value| -> Vec<String> {
        prompt_blocks(body).iter().map(|block| format!("{:?} {}", block.section, block.json())).collect()
    };
    let (earlier, later) = (items(earlier), items(later));
    assert!(later.len() >= earlier.len(), "the later request has fewer blocks");
    for (index, (before, after)) in earlier.iter().zip(&later).enumerate() {
        assert_eq!(before, after, "block {index} changed");
    }
}
