//! A scripted week ends with the right memories, and its dream can be taken back, byte for byte.
//!
//! `tests/scenarios/week/week.md` is the script: what is said in which session, what must be remembered, and what must
//! not. Each session has a process of its own, in one of two worktrees.

mod script;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use jiff::{ToSpan, Zoned, tz::TimeZone};
use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient, ServerProcess},
};

use self::script::{End, Script, Session, Tree, field};
use crate::harness::binary;

const FILES: &str = "\
//- README.md
# Ingest
Reads orders from CSV files and keeps them.
//- src/parse.rs
/// An empty line is an order without fields.
pub fn parse(line: &str) -> Vec<String> {
    line.split(',').map(str::to_owned).collect()
}
//- src/retry.rs
/// How often a batch is tried again.
pub const RETRIES: u32 = 3;
//- package.json
{ \"name\": \"dashboard\", \"scripts\": { \"build\": \"npm run compile\" } }
";

/// Of a process that ended long ago, as a dream leaves it.
const NOBODY: &str = "4194305\n";

struct Week {
    fixture: Fixture,
}

impl Week {
    fn begin() -> Self {
        let fixture = Fixture::new(FILES);
        fixture.git_init();
        let week = Self { fixture };
        let second = week.folder(Tree::Second);
        week.fixture.git(&["worktree", "add", "--quiet", second.to_str().unwrap()]);
        for tree in [Tree::Main, Tree::Second] {
            let environment =
                settings::Environment::new(week.fixture.home.clone(), week.fixture.environment(""));
            settings::trust::set(&environment, &week.folder(tree), true).expect("a folder can be trusted");
        }
        fs::create_dir_all(week.memory()).unwrap();
        week.dreamt(Duration::ZERO);
        week
    }

    fn folder(&self, tree: Tree) -> PathBuf {
        match tree {
            Tree::Main => self.fixture.workspace.clone(),
            Tree::Second => self.fixture.workspace.with_file_name("second"),
        }
    }

    /// One for both worktrees.
    fn memory(&self) -> PathBuf {
        self.fixture.project_dir().join("memory")
    }

    /// The last dream was so long ago.
    fn dreamt(&self, ago: Duration) {
        let lock = self.memory().join(".consolidate-lock");
        fs::write(&lock, NOBODY).unwrap();
        fs::File::options().write(true).open(&lock).unwrap().set_modified(SystemTime::now() - ago).unwrap();
    }

    async fn start(&self, session: &Session) -> LspClient {
        let folder = self.folder(session.tree);
        let mut environment = self.fixture.environment("");
        environment.retain(|name, _| !name.starts_with("ANTHROPIC"));
        // A day west of Greenwich it is yesterday, a day east of it tomorrow.
        environment.insert("TZ".to_owned(), format!("DAY{}", (2 - session.day) * 24));
        let process = ServerProcess::spawn(&binary(), &["lsp"], &environment, &folder);
        let client = LspClient::over_stdio(process);
        let unread = ["$/progress", "window/logMessage", "title", "notice", "reverie/memory/event"];
        unread.iter().for_each(|kind| client.ignore(kind));
        client.ignore("reverie/dream/progress");
        client.initialize(&ClientOptions::new(&folder)).await;
        client.allow_everything();
        client
    }

    /// From the start of the server to its end.
    async fn play(&self, session: &Session) {
        let client = self.start(session).await;
        say(&client, session).await;
        match session.end {
            End::Shutdown => assert_eq!(client.shutdown().await, Some(0), "{}", session.title),
            End::KilledAtOnce => drop(client.kill().await),
            End::KilledWhenItHasRemembered => {
                let is_saved = |params: &Value| params["kind"] == "saved" && params["by"] == "extraction";
                client.wait_for("what is remembered", |seen| is_saved(&seen.params)).await;
                client.kill().await;
            }
        }
        let date = Zoned::now().with_time_zone(TimeZone::UTC).date() + (session.day - 2).days();
        for (path, text) in &session.by_hand {
            let path = self.memory().join(path);
            let before = fs::read_to_string(&path).unwrap_or_default();
            let text = text.replace(&format!("{{day {}}}", session.day), &date.to_string());
            fs::write(&path, before + &text).unwrap();
        }
    }

    /// The memories and the index, by their paths.
    fn files(&self) -> BTreeMap<String, String> {
        let folder = self.memory();
        let paths =
            files_in(&folder).into_iter().filter(|path| path.extension().is_some_and(|it| it == "md"));
        let inside = |path: &Path| path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
        let outside_history = paths.filter(|path| !inside(path).starts_with(".history"));
        outside_history.map(|path| (inside(&path), fs::read_to_string(path).unwrap())).collect()
    }
}

async fn say(client: &LspClient, session: &Session) {
    let id = client.new_session().await;
    for prompt in &session.prompts {
        let turn = client.turn(&id, prompt).await;
        assert_eq!(turn.stop_reason(), "endTurn", "{}: {}", session.title, turn.events());
    }
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files_in(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

async fn ask(client: &LspClient, method: &str, params: Value) -> Value {
    let answer = client.request(method, params).await;
    answer.unwrap_or_else(|error| panic!("{method}: {}", error.message))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_week_leaves_the_right_memories_and_its_dream_can_be_taken_back() {
    let (week, script) = (Week::begin(), Script::read());
    let (last, sessions) = script.sessions.split_last().unwrap();
    assert_eq!(sessions.len(), 12);
    for session in sessions {
        week.play(session).await;
    }
    assert!(!week.memory().join(".history/dreams").exists(), "it was not yet time to dream");
    let before = week.files();

    week.dreamt(Duration::from_secs(25 * 60 * 60));
    let client = week.start(last).await;
    let status = ask(&client, "reverie/dream/status", json!({})).await;
    assert_eq!(status["sessionsSince"], 12, "{status}");
    say(&client, last).await;
    let is_end = |params: &Value| params["status"].as_str().is_some_and(|status| status != "running");
    let end = client.wait_for("the end of the dream", |seen| {
        seen.method == "reverie/dream/progress" && is_end(&seen.params)
    });
    let end = end.await.params;
    assert_eq!(end["status"], "completed", "{end}");
    let after = week.files();

    assert_remembered(&script, &before, &after);
    assert_nowhere(&script, &week, &after);
    assert_index(&after);
    let findings = ask(&client, "reverie/memory/lint", json!({})).await["findings"].clone();
    assert_eq!(findings, json!([]), "{after:#?}");
    assert_reported(&client, &before, &after).await;
    assert_undone_and_done_again(&client, &week, &end["dreamId"], &before, &after).await;
    assert_eq!(client.shutdown().await, Some(0));
}

/// Each memory of the list has one file, and no file is another.
#[track_caller]
fn assert_remembered(script: &Script, before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) {
    let mut others: BTreeSet<&str> = after.keys().map(String::as_str).collect();
    others.remove("MEMORY.md");
    let mut wrong = Vec::new();
    for expected in &script.memories {
        let fits: Vec<&str> =
            after.iter().filter(|(_, text)| expected.is(text)).map(|(path, _)| path.as_str()).collect();
        match fits.as_slice() {
            [path] => drop(others.remove(path)),
            _ => wrong.push(format!("{expected:?} is in {fits:?}")),
        }
    }
    wrong.extend(others.into_iter().map(|path| format!("nobody expects {path}")));
    assert!(wrong.is_empty(), "{wrong:#?}\nbefore the dream: {before:#?}\nafter it: {after:#?}");
}

#[track_caller]
fn assert_nowhere(script: &Script, week: &Week, after: &BTreeMap<String, String>) {
    for (path, text) in after {
        let found: Vec<&String> =
            script.nowhere.iter().filter(|words| text.contains(words.as_str())).collect();
        assert!(found.is_empty(), "{path} has {found:?}: {text}");
    }
    // The history tells from which message something was learnt.
    for path in files_in(&week.memory()) {
        let bytes = fs::read(&path).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("ghp_"), "{} has the secret", path.display());
    }
}

/// Within its limits, a line for each memory, and no line that leads nowhere.
#[track_caller]
fn assert_index(after: &BTreeMap<String, String>) {
    let index = &after["MEMORY.md"];
    assert!(index.lines().count() <= 200 && index.len() <= 25_000, "{index}");
    let targets = index.lines().filter_map(|line| Some(line.split_once("](")?.1.split_once(')')?.0));
    let targets: Vec<&str> = targets.collect();
    let listed: BTreeSet<&str> = targets.iter().copied().collect();
    assert_eq!(targets.len(), listed.len(), "{index}");
    assert!(
        after.keys().filter(|path| *path != "MEMORY.md").all(|path| listed.contains(path.as_str())),
        "{index}"
    );
    assert_eq!(listed.len(), after.len() - 1, "{index}");
}

/// What was changed, as diffs, and why; in the history with whoever did it.
async fn assert_reported(
    client: &LspClient,
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) {
    let report = ask(client, "reverie/dream/report", json!({})).await;
    assert_eq!(report["trigger"], "enough time and sessions had passed", "{report}");
    let name = |path: &Value| path.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let changes = report["changes"].as_array().unwrap();
    let changed: BTreeSet<String> = changes.iter().map(|change| name(&change["path"])).collect();
    let all: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differs = |path: &&&String| before.get(**path) != after.get(**path);
    assert_eq!(changed, all.iter().filter(differs).map(|path| (*path).clone()).collect(), "{report}");
    for change in changes {
        let (why, diff) = (change["why"].as_str().unwrap(), change["diff"].as_str().unwrap());
        assert!(why.starts_with("a dream: "), "no reason for {change}");
        assert!(
            diff.contains("\n@@ ") && report["text"].as_str().unwrap().contains(diff.trim_end()),
            "{report}"
        );
    }
    let file = fs::read_to_string(report["path"].as_str().unwrap()).unwrap();
    assert!(file.ends_with(report["text"].as_str().unwrap()), "{file}");
    let history = ask(client, "reverie/memory/history", json!({ "limit": 1000 })).await;
    let changes = history["changes"].as_array().unwrap();
    let authors: BTreeSet<&str> = changes.iter().map(|change| change["by"].as_str().unwrap()).collect();
    assert_eq!(authors, BTreeSet::from(["dream", "extraction", "model", "user"]));
    for change in changes.iter().filter(|change| change["by"] == "extraction") {
        if let Some(text) = after.get(&name(&change["path"])).filter(|_| name(&change["path"]) != "MEMORY.md")
        {
            let source = field(text, "source").unwrap_or_default();
            assert!(source.contains('/'), "a session and a message: {text}");
            assert!(field(text, "created").is_some(), "{text}");
        }
    }
}

async fn assert_undone_and_done_again(
    client: &LspClient,
    week: &Week,
    dream: &Value,
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) {
    let begun = jiff::Timestamp::now().to_string();
    let undone = ask(client, "reverie/memory/undo", json!({ "dreamId": dream })).await;
    assert_eq!(undone["kept"], Value::Null, "{undone}");
    assert_eq!(&week.files(), before, "all is as it was before the dream");
    let again = ask(client, "reverie/memory/undo", json!({ "since": begun })).await;
    assert_eq!(again["kept"], Value::Null, "{again}");
    assert_eq!(&week.files(), after, "all is as the dream left it");
}
