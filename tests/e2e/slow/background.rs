//! What the agent does by itself, with servers that are killed, stopped, hurried, or without a disk.

mod dream_kills;
mod dream_rivals;
mod extraction_ends;
mod extraction_kills;
mod full_disk;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient, ServerProcess},
    model_server::{Gate, ModelServer, RecordedRequest, Reply},
};

use crate::harness::{binary, trust};

const LOCK: &str = ".consolidate-lock";
const STRACE: &str = "/usr/bin/strace";

/// The memories of a project: by path, what they say.
type Memories = BTreeMap<String, String>;

/// A project with memories that a dream puts in order, and a model that knows how.
struct Night {
    fixture: Fixture,
    model: ModelServer,
    held: Arc<Mutex<Option<(usize, Gate)>>>,
    old: Memories,
}

impl Night {
    async fn new() -> Self {
        let fixture = Fixture::new("");
        trust(&fixture);
        let model = ModelServer::start().await;
        for role in ["dream", "extraction"] {
            model.serve(role);
        }
        let held: Arc<Mutex<Option<(usize, Gate)>>> = Arc::default();
        let (memory, holding) = (fixture.project_dir().join("memory"), Arc::clone(&held));
        model.program(move |request| {
            let (round, reply) = match request.role.as_str() {
                "dream" => (round_of(request), dreams(&memory, round_of(request))),
                _ => (0, Reply::text("so it is")),
            };
            let mut held = holding.lock().unwrap();
            match held.take_if(|(at, _)| request.role == "dream" && *at == round) {
                Some((_, gate)) => reply.behind(&gate),
                None => reply,
            }
        });
        let night = Self { fixture, model, held, old: old() };
        night.reset();
        night
    }

    fn memory(&self) -> PathBuf {
        self.fixture.project_dir().join("memory")
    }

    fn lock(&self) -> PathBuf {
        self.memory().join(LOCK)
    }

    /// As it was in the evening; the last dream was two days ago. Returns when, as the protocol says it.
    fn reset(&self) -> String {
        let memory = self.memory();
        if memory.exists() {
            fs::remove_dir_all(&memory).unwrap();
        }
        fs::create_dir_all(&memory).unwrap();
        for (path, text) in &self.old {
            fs::write(memory.join(path), text).unwrap();
        }
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(now() - 2 * 24 * 60 * 60);
        fs::write(self.lock(), "4000000").unwrap();
        set_modified(&self.lock(), at);
        jiff::Timestamp::try_from(at).unwrap().to_string()
    }

    /// The next response of this round of a dream comes when the gate opens.
    fn hold_back(&self, round: usize) -> Gate {
        let gate = Gate::closed();
        *self.held.lock().unwrap() = Some((round, gate.clone()));
        gate
    }

    async fn server(&self) -> LspClient {
        self.server_in(&[], &self.fixture.workspace).await
    }

    /// One whose program is run by another.
    async fn server_in(&self, wrapper: &[&str], folder: &Path) -> LspClient {
        let program = binary();
        let words: Vec<&str> = wrapper.iter().copied().chain([program.to_str().unwrap(), "lsp"]).collect();
        let environment = self.fixture.environment(&self.model.url());
        let process = ServerProcess::spawn(Path::new(words[0]), &words[1..], &environment, folder);
        let client = LspClient::over_stdio(process);
        for kind in ["$/progress", "window/logMessage", "reverie/memory/event", "reverie/dream/progress"] {
            client.ignore(kind);
        }
        client.initialize(&ClientOptions::new(folder)).await;
        client
    }

    fn memories(&self) -> Memories {
        memories_in(&self.memory())
    }

    /// Every file is what it was or what it was to become; none is missing that was not to go.
    #[track_caller]
    fn assert_whole(&self, new: &Memories) {
        let found = self.memories();
        for (path, text) in &found {
            let is_known = [&self.old, new].iter().any(|known| known.get(path) == Some(text));
            assert!(is_known, "{path} is neither the old one nor the new one: {text:?}");
        }
        for path in self.old.keys().filter(|path| new.contains_key(*path)) {
            assert!(found.contains_key(path), "{path} is lost: {found:?}");
        }
    }
}

/// Starts a dream; what the server says to that.
async fn start(client: &LspClient) -> Value {
    client.request("reverie/dream/start", json!({})).await.expect("the question is fine")
}

/// How the dream ended; nothing if the server ended first.
async fn end(client: &LspClient) -> Option<Value> {
    let is_end = |seen: &testkit::lsp_client::Notification| {
        seen.method == "reverie/dream/progress" && seen.params["status"] != "running"
    };
    client.wait_for_unless_gone("the end of the dream", is_end).await.map(|seen| seen.params)
}

/// One dream from its beginning to its good end.
async fn dream(client: &LspClient) {
    let started = start(client).await;
    assert!(started["dreamId"].is_string(), "{started}");
    let ended = end(client).await.expect("the server stays");
    assert_eq!(ended["status"], "completed", "{ended}");
}

async fn status(client: &LspClient) -> Value {
    client.request("reverie/dream/status", json!({})).await.unwrap()
}

/// The last job of this kind that has ended.
async fn ended_job(client: &LspClient, kind: &str) -> Value {
    let ended = async {
        loop {
            let listed = client.request("reverie/tasks/list", json!({})).await.unwrap();
            let tasks = listed["tasks"].as_array().unwrap();
            let last = tasks.iter().rfind(|task| task["kind"] == kind).cloned();
            if let Some(task) = last.filter(|task| task["state"] != "running") {
                return task;
            }
        }
    };
    testkit::within(ended, &format!("the end of the {kind}")).await
}

/// Whatever lint finds, it knows how to mend.
async fn assert_sound(client: &LspClient) -> usize {
    let found = client.request("reverie/memory/lint", json!({})).await.unwrap();
    let findings = found["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["fix"].is_string()), "{found}");
    findings.len()
}

fn memories_in(folder: &Path) -> Memories {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().collect()).unwrap_or_else(|_| vec![]);
    let paths = entries.into_iter().map(|entry| entry.path());
    let texts =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).map(|path| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap())
        });
    texts.collect()
}

fn set_modified(path: &Path, at: SystemTime) {
    File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

fn hours_ago(hours: u64) -> SystemTime {
    SystemTime::now() - Duration::from_secs(hours * 60 * 60)
}

/// How often a fork has been answered already.
fn round_of(request: &RecordedRequest) -> usize {
    let messages = request.body["messages"].as_array().unwrap();
    let directive = messages.iter().rposition(|message| message.to_string().contains("<reverie-fork kind="));
    (messages.len() - directive.unwrap_or_default()) / 2
}

fn topic(name: &str, text: &str) -> String {
    let front = format!("name: {name}\ndescription: {text}\ntype: feedback\ncreated: 2026-03-01");
    format!("---\n{front}\n---\n{text}\n**Why:** it was said.\n**How to apply:** always.\n")
}

fn old() -> Memories {
    let index = "- [Tabs](tabs.md) — tabs, not spaces\n- [Indent](indent.md) — no spaces in front\n\
                 - [Deploys](deploys.md) — never on a Friday\n- [Lunch](lunch.md) — at noon\n";
    let files = [
        ("tabs.md", topic("Tabs", "Lines begin with tabs.")),
        ("indent.md", topic("Indent", "Never put spaces at the beginning.")),
        ("deploys.md", topic("Deploys", "Nothing goes out on a Friday.")),
        ("lunch.md", topic("Lunch", "Nobody is there at noon.")),
        ("MEMORY.md", index.to_owned()),
    ];
    files.map(|(path, text)| (path.to_owned(), text)).into()
}

/// Looks, then merges two memories, adds one, and changes the index; says so.
fn dreams(memory: &Path, round: usize) -> Reply {
    let path = |name: &str| memory.join(name).to_str().unwrap().to_owned();
    let write = |name: &str, text: String| ("Write", json!({ "file_path": path(name), "content": text }));
    match round {
        0 => {
            let names = ["MEMORY.md", "tabs.md", "indent.md", "deploys.md", "reviews.md"];
            Reply::tools(names.map(|name| ("Read", json!({ "file_path": path(name) }))))
        }
        1 => Reply::tools([
            write("tabs.md", topic("Tabs", "Lines begin with tabs, never with spaces.")),
            write("deploys.md", topic("Deploys", "Nothing goes out on a Friday or before a holiday.")),
            write("reviews.md", topic("Reviews", "Two people look at a migration.")),
            write(
                "MEMORY.md",
                "- [Tabs](tabs.md) — tabs, not spaces\n- [Deploys](deploys.md) — never on a Friday\n\
                 - [Lunch](lunch.md) — at noon\n- [Reviews](reviews.md) — two for a migration\n"
                    .to_owned(),
            ),
            ("Bash", json!({ "command": format!("rm {}", path("indent.md")) })),
        ]),
        _ => Reply::text("- merged indent.md into tabs.md"),
    }
}
