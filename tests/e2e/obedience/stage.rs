//! The world of an obedient model: a home, a workspace, a memory folder full of traps, an address that nobody may talk to;
//! and what is left of it afterwards.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{Answer, ClientOptions, LspClient},
    model_server::ModelServer,
};
use workspace::Beneath;

use super::{
    calls, injections,
    model::{Call, Obedient, Outcome, Verdict},
    places::{Places, Project},
    sink::Sink,
    tree::{Tree, differences, tree},
};
use crate::{
    harness::{connect_over_stdio, trust},
    mcp_servers,
};

/// What the user has said.
pub struct Setting<'a> {
    pub allow: &'a [&'a str],
    pub deny: &'a [&'a str],
    pub mode: &'a str,
    pub trusted: bool,
    /// With the tools of another program.
    pub mcp: bool,
}

impl Default for Setting<'_> {
    fn default() -> Self {
        Self { allow: &[], deny: &[], mode: "default", trusted: true, mcp: false }
    }
}

pub struct Stage {
    pub client: LspClient,
    pub model: ModelServer,
    fixture: Fixture,
    project: Project,
    places: Places,
    sink: Sink,
    session: String,
    obedient: Arc<Mutex<Obedient>>,
    before: Tree,
    settings: Value,
}

impl Stage {
    pub async fn new(setting: Setting<'_>) -> Self {
        Self::prepared(setting, |_| {}).await
    }

    /// With something done to it before the server starts.
    pub async fn prepared(setting: Setting<'_>, prepare: impl Fn(&Fixture)) -> Self {
        let settings = json!({
            "permissions": { "allow": setting.allow, "deny": setting.deny, "defaultMode": setting.mode },
            "reverie": { "features": { "sessionMemory": false, "recallModel": "local" } },
        });
        let fixture = Fixture::new(&format!("//- ~/.claude/settings.json\n{settings}\n"));
        let root = fixture.home.parent().expect("a folder").to_owned();
        let places = Places {
            workspace: fixture.workspace.clone(),
            canary: root.join("canary"),
            home: fixture.home.clone(),
        };
        let project = Project {
            folder: fixture.project_dir(),
            outside: root.join("outside"),
            home: fixture.home.clone(),
            workspace: fixture.workspace.clone(),
        };
        let sink = Sink::new();
        places.fill();
        project.fill();
        std::fs::write(project.memory().join("topics/gone.md"), "old").expect("a file");
        calls::hide_secrets(&project);
        injections::plant(&injections::all(&project, sink.port()), &project);
        if setting.mcp {
            fixture.write(".mcp.json", &mcp_servers::configuration());
        }
        if setting.trusted {
            trust(&fixture);
        }
        prepare(&fixture);
        let before = tree(&root, Path::new("/"));
        let model = ModelServer::start().await;
        let obedient = Obedient::at(&model);
        let client = connect_over_stdio(&fixture, &fixture.environment(&model.url()));
        for unread in [
            "$/progress",
            "notice",
            "textDocument/publishDiagnostics",
            "reverie/memory/event",
            "reverie/dream/progress",
        ] {
            client.ignore(unread);
        }
        client.ignore("window/logMessage");
        client.on_request("reverie/user/ask", |_| Answer::Result(json!({ "answer": "Not now" })));
        client.initialize(&ClientOptions::new(&fixture.workspace)).await;
        let session = client.new_session().await;
        let settings = client.request("reverie/settings/get", json!({})).await.expect("settings");
        Self { client, model, fixture, project, places, sink, session, obedient, before, settings }
    }

    pub fn memory(&self) -> PathBuf {
        self.project.memory()
    }

    /// What links lead to.
    pub fn outside(&self) -> PathBuf {
        self.project.outside.clone()
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.fixture.path(relative)
    }

    pub fn order(&self, name: &str, input: Value, verdict: Verdict) {
        let case = format!("{name} {input}");
        self.obedient().order(Call { case, name: name.to_owned(), input, verdict });
    }

    /// Everything that the tables know. `harmless` is what becomes of commands that change nothing.
    pub fn tempt(&self, harmless: Verdict) {
        let port = self.sink.port();
        let mut obedient = self.obedient();
        obedient.heed(injections::all(&self.project, port));
        let orders = [
            injections::errands(&self.project, harmless),
            calls::reads(&self.project),
            calls::paths(&self.project),
            calls::commands(&self.places, port, harmless),
            calls::removals(&self.project),
        ];
        for call in orders.into_iter().flatten() {
            obedient.order(call);
        }
    }

    /// Turns, until the model has tried all it was told in the extractions after them.
    pub async fn extract(&self) {
        let turns = 20;
        for _ in 0..turns {
            let turn = self.client.turn(&self.session, "Go on.").await;
            assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
            self.job_ends().await;
            if !self.obedient().has_more() {
                return;
            }
        }
        panic!("{turns} turns were not enough");
    }

    pub async fn dream(&self) {
        self.begin_dream().await;
        self.job_ends().await;
        assert!(!self.obedient().has_more(), "one dream was not enough");
    }

    pub async fn begin_dream(&self) {
        let started = self.client.request("reverie/dream/start", json!({})).await.expect("it is answered");
        assert!(started["dreamId"].is_string(), "{started}");
    }

    pub async fn job_ends(&self) {
        let is_end = |seen: &testkit::lsp_client::Notification| {
            let token = seen.params["token"].as_str().unwrap_or_default();
            seen.method == "$/progress"
                && token.starts_with("reverie/job/")
                && seen.params["value"]["kind"] == "end"
        };
        self.client.wait_for("the end of a job", is_end).await;
    }

    pub fn outcomes(&self) -> Vec<Outcome> {
        self.obedient().outcomes(&self.model.requests())
    }

    pub async fn leave(self) {
        self.client.shutdown().await;
        self.model.finish();
    }

    /// Ends the server and looks at what is left.
    pub async fn assert_unharmed(self) {
        let settings = self.client.request("reverie/settings/get", json!({})).await.expect("settings");
        assert_eq!(settings, self.settings, "a setting changed");
        let outcomes = self.outcomes();
        let obeyed = self.obedient().obeyed.clone();
        let Self { client, model, fixture, project, sink, before, .. } = self;
        client.shutdown().await;
        model.finish();
        let root = fixture.home.parent().expect("a folder");
        let after = tree(root, Path::new("/"));
        let complaints: Vec<String> = [
            wrong_verdicts(&outcomes),
            unmet(&obeyed, &injections::all(&project, sink.port())),
            changed_outside(&before, &after, &project),
            strange_memories(&before, &after, &project),
            payloads(&after, &outcomes),
            sink.visits(),
        ]
        .concat();
        assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
    }

    fn obedient(&self) -> MutexGuard<'_, Obedient> {
        self.obedient.lock().expect("no panic")
    }
}

/// Denied is denied in words that can be acted on; and nothing that is shown holds a secret.
fn wrong_verdicts(outcomes: &[Outcome]) -> Vec<String> {
    let mut wrong = Vec::new();
    for Outcome { call, fork, is_error, text, .. } in outcomes {
        let fits = match call.verdict {
            Verdict::Done => !is_error,
            Verdict::Denied => *is_error && text.split_whitespace().count() >= 3,
            Verdict::Either => true,
        };
        if !fits || text.to_lowercase().contains("canary of") {
            let text: String = text.chars().take(300).collect();
            wrong.push(format!("{fork}: {}: {text}", call.case));
        }
    }
    wrong
}

/// Whoever heard of one heard of all.
fn unmet(obeyed: &BTreeSet<(String, String)>, all: &[injections::Injection]) -> Vec<String> {
    let forks: BTreeSet<&String> = obeyed.iter().map(|(_, fork)| fork).collect();
    let mut unmet = Vec::new();
    for fork in forks {
        for injection in all {
            if !obeyed.contains(&(injection.name.clone(), fork.clone())) {
                unmet.push(format!("{fork}: {} was never met", injection.name));
            }
        }
    }
    unmet
}

/// What is not as it was, but for memories and what every session writes down.
fn changed_outside(before: &Tree, after: &Tree, project: &Project) -> Vec<String> {
    let config = project.home.join(".claude");
    let is_own = |path: &Path| {
        let Ok(below) = path.strip_prefix(&config) else { return false };
        let mut names = below.iter().map(|name| name.to_str().unwrap_or_default());
        match (names.next(), path.strip_prefix(&project.folder)) {
            // Their own entries change with what is made in them.
            (None, _) => true,
            (Some("projects"), Ok(below)) => match below.iter().next() {
                None => true,
                Some(first) => {
                    let first = first.to_str().unwrap_or_default();
                    !before.contains_key(&project.folder.join(first)) || first == "memory"
                }
            },
            (Some("projects"), Err(_)) => path == config.join("projects"),
            (Some(first), _) => first == "cache" || first == "logs" || first.starts_with("reverie"),
        }
    };
    let changed = differences(before, after).into_iter().filter(|path| !is_own(path));
    changed.map(|path| format!("{} changed", path.display())).collect()
}

/// In the memory folder there are only ordinary files of ordinary names, but for what was there and what the server keeps.
fn strange_memories(before: &Tree, after: &Tree, project: &Project) -> Vec<String> {
    let memory = project.memory();
    let beneath = Beneath::open(&memory).expect("the memory folder");
    let mut strange = Vec::new();
    for path in differences(before, after) {
        let Ok(below) = path.strip_prefix(&memory) else { continue };
        let is_servers = below.starts_with(".history") || below == Path::new(".consolidate-lock");
        if below.as_os_str().is_empty() || is_servers || path.is_dir() {
            continue;
        }
        let ends_well = below.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
        let is_ordinary = beneath.check(&path).is_ok();
        if !ends_well || !is_ordinary {
            strange.push(format!("{} is no memory", path.display()));
        }
    }
    strange
}

/// What was written by a call that was denied must be nowhere, not even in the history.
fn payloads(after: &Tree, outcomes: &[Outcome]) -> Vec<String> {
    let texts: BTreeMap<&PathBuf, String> = after
        .iter()
        .filter_map(|(path, entry)| {
            Some((path, String::from_utf8_lossy(entry.content.as_ref()?).into_owned()))
        })
        .collect();
    let mut found = Vec::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.is_error) {
        let mark = super::model::mark(outcome.number);
        for (path, text) in &texts {
            if text.contains(&mark) {
                found.push(format!("{}: what was denied is in {}", outcome.call.case, path.display()));
            }
        }
    }
    found
}
