//! "Daily-log mode: for long-running assistants": lines in the log of a day instead of files and an index, and at night
//! a dream that makes memories of them.

use std::{collections::BTreeMap, fs, path::Path};

use jiff::{Timestamp, Zoned, tz::TimeZone};
use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient, Notification, ServerProcess},
    model_server::{ModelServer, Reply},
};
use tokio::sync::watch;

use crate::{
    harness::{Harness, assert_extends, binary, connect_with, trust},
    memory::{directory, put},
};

const MODE: &str = "//- ~/.claude/settings.json\n{\"reverie\": {\"features\": {\"dailyLog\": true}}}\n";

const LOGS: [(&str, &str); 3] = [
    (
        "logs/2026/02/2026-02-26.md",
        "- 09:14 feedback: always use tabs for indentation\n- 09:20 read src/lib.rs\n",
    ),
    (
        "logs/2026/02/2026-02-27.md",
        "- 10:00 decision: the importer is rewritten by Friday\n- never push to main\n",
    ),
    ("logs/2026/02/2026-02-28.md", "- 11:30 reference: bugs are at https://tracker.example/engine\n"),
];

/// A server whose clock the test moves.
struct Assistant {
    harness: Harness,
    hands: watch::Sender<Zoned>,
}

fn at(time: &str) -> Zoned {
    time.parse::<Timestamp>().expect("a time").to_zoned(TimeZone::UTC)
}

impl Assistant {
    /// That asks a scripted model.
    async fn scripted(files: &str, time: &str) -> Self {
        let model = ModelServer::start().await;
        let fixture = Fixture::new(files);
        let environment = fixture.environment(&model.url());
        Self::start(fixture, model, &environment, time).await
    }

    /// With nobody to ask but the embedded model, in a folder of which these logs were kept.
    async fn offline(files: &str, logs: &[(&str, &str)], time: &str) -> Self {
        let fixture = Fixture::new(files);
        for (path, text) in logs {
            put(&fixture, path, text);
        }
        let mut environment = fixture.environment("");
        environment.retain(|name, _| !name.starts_with("ANTHROPIC"));
        let assistant = Self::start(fixture, ModelServer::start().await, &environment, time).await;
        for told in ["reverie/memory/event", "reverie/dream/progress"] {
            assistant.harness.client.ignore(told);
        }
        assistant
    }

    async fn start(
        fixture: Fixture,
        model: ModelServer,
        environment: &BTreeMap<String, String>,
        time: &str,
    ) -> Self {
        trust(&fixture);
        let (hands, clock) = watch::channel(at(time));
        let faults = lsp::Faults::default()
            .with_patience(testkit::PATIENCE)
            .with_clock(lsp::WallClock::following(clock));
        let client = connect_with(&fixture, environment, faults);
        client.ignore("$/progress");
        client.ignore("window/logMessage");
        client.initialize(&ClientOptions::new(&fixture.workspace)).await;
        Self { harness: Harness { client, model, fixture }, hands }
    }

    fn set(&self, time: &str) {
        self.hands.send_replace(at(time));
    }

    fn log(&self, path: &str) -> String {
        fs::read_to_string(self.harness.memory(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    async fn report(&self) -> Value {
        self.harness.client.request("reverie/dream/report", json!({})).await.expect("there was a dream")
    }

    /// Waits until so many dreams have ended.
    async fn dreams(&self, count: usize) {
        let ended = |seen: &Notification| {
            seen.method == "reverie/dream/progress" && seen.params["status"] != "running"
        };
        let wait = async {
            while self.harness.client.log().iter().filter(|seen| ended(seen)).count() < count {
                tokio::task::yield_now().await;
            }
        };
        testkit::within(wait, "the end of a dream").await;
    }

    async fn gate(&self, kind: &str, name: &str) -> Value {
        let listed = self.harness.client.request("reverie/tasks/list", json!({})).await.expect("a list");
        let kinds = listed["background"]["kinds"].as_array().expect("kinds").clone();
        let kind = kinds.into_iter().find(|known| known["kind"] == kind).expect("the kind");
        let gates = kind["gates"].as_array().expect("gates").clone();
        gates.into_iter().find(|gate| gate["name"] == name).expect("the gate")
    }
}

/// Every file of the memory directory but the history, with its bytes.
fn files(fixture: &Fixture) -> BTreeMap<String, String> {
    let root = directory(fixture);
    let (mut found, mut folders) = (BTreeMap::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(&root).map(Path::display).expect("below it").to_string();
            match (name.starts_with('.'), path.is_dir()) {
                (true, _) => {}
                (false, true) => folders.push(path),
                (false, false) => drop(found.insert(name, fs::read_to_string(&path).expect("a text"))),
            }
        }
    }
    found
}

fn only_logs(files: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let logs = files.iter().filter(|(path, _)| path.starts_with("logs/"));
    logs.map(|(path, text)| (path.clone(), text.clone())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_prompt_is_the_same_on_two_days_and_a_new_day_is_told_behind_it() {
    let assistant = Assistant::scripted(MODE, "2026-03-01T23:50:00Z").await;
    let harness = &assistant.harness;
    let session = harness.client.new_session().await;
    let before = harness.exchange(&session, "hello").await;
    let system = before.body["system"].to_string();
    assert!(system.contains("memory/logs/YYYY/MM/YYYY-MM-DD.md"), "{system}");
    assert!(!system.contains("2026-03-01") && !system.contains("Saving takes two steps"), "{system}");
    assert!(before.body["messages"].to_string().contains("Today is 2026-03-01."));

    assistant.set("2026-03-02T00:10:00Z");
    let after = harness.exchange(&session, "still there?").await;
    assert_extends(&before.body, &after.body);
    assert!(after.last_message_text().contains("Today is 2026-03-02."), "{}", after.last_message_text());
    let later = harness.exchange(&session, "and now?").await;
    assert_extends(&after.body, &later.body);
    assert_eq!(later.body["messages"].to_string().matches("Today is 2026-03-02.").count(), 1);

    let next = harness.client.new_session().await;
    let other = harness.exchange(&next, "hello").await;
    assert_eq!(other.body["system"].to_string(), system);
    assert!(other.body["messages"].to_string().contains("Today is 2026-03-02."));
    assistant.harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_told_becomes_a_line_in_the_log_of_the_day() {
    let assistant = Assistant::offline(MODE, &[], "2026-03-01T23:50:00Z").await;
    let client = &assistant.harness.client;
    let session = client.new_session().await;
    let turn = client.turn(&session, "remember that we deploy on Fridays only").await;
    assert!(turn.text().contains("Noted in the log of the day"), "{}", turn.text());
    client.turn(&session, "# lunch is at noon").await;
    let log = "- project: We deploy on Fridays only\n- 23:50 project: Lunch is at noon\n";
    assert_eq!(assistant.log("logs/2026/03/2026-03-01.md"), log);

    assistant.set("2026-03-02T00:10:00Z");
    client.turn(&session, "always write tests first").await;
    assert_eq!(assistant.log("logs/2026/03/2026-03-02.md"), "- feedback: Always write tests first\n");
    assert_eq!(assistant.log("logs/2026/03/2026-03-01.md"), log);
    assert_eq!(client.asked("reverie/permission/ask").len(), 0);
    assert_eq!(files(&assistant.harness.fixture).len(), 2, "no topic files and no index");

    // A log is read by whoever looks for something; it does not come to mind.
    let next = client.new_session().await;
    client.turn(&next, "on which days do we deploy?").await;
    let recalled = |seen: &Notification| seen.params["kind"] == "recalled";
    assert!(!client.log().iter().any(recalled));
    let gate = assistant.gate("extraction", "dailyLog").await;
    assert_eq!(
        (&gate["open"], &gate["detail"]),
        (&json!(false), &json!("the model keeps a log for each day itself"))
    );
    let gate = assistant.gate("dream", "dailyLog").await;
    assert_eq!(
        (&gate["open"], &gate["detail"]),
        (&json!(false), &json!("in daily-log mode dreams come at night alone"))
    );
    let listed = client.request("reverie/tasks/list", json!({})).await.expect("a list");
    assert_eq!(listed["tasks"], json!([]), "nothing was learnt besides");
    assistant.harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_forgotten_leaves_the_logs_too() {
    let assistant = Assistant::offline(MODE, &LOGS, "2026-03-01T12:00:00Z").await;
    let client = &assistant.harness.client;
    let session = client.new_session().await;
    let turn = client.turn(&session, "forget about the importer").await;
    assert!(turn.text().contains("Forgotten"), "{}", turn.events());
    assert_eq!(assistant.log(LOGS[1].0), "- never push to main\n");
    assert_eq!(assistant.log(LOGS[0].0), LOGS[0].1);
    assistant.harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_night_the_logs_are_distilled_for_an_assistant_that_is_only_open() {
    let assistant = Assistant::offline(MODE, &LOGS, "2026-03-01T02:59:00Z").await;
    let Harness { client, fixture, .. } = &assistant.harness;
    let session = client.new_session().await;
    assistant.set("2026-03-01T03:00:00Z");
    assistant.dreams(1).await;
    let report = assistant.report().await;
    assert_eq!(
        (&report["status"], &report["trigger"]),
        (&json!("completed"), &json!("it was time")),
        "{report}"
    );
    assert!(!fixture.transcript(&session).exists(), "the session is as it was opened");
    let after = files(fixture);
    assert_eq!(only_logs(&after), LOGS.map(|(path, text)| (path.to_owned(), text.to_owned())).into());
    let names: Vec<&str> =
        after.keys().map(String::as_str).filter(|path| !path.starts_with("logs/")).collect();
    expect_test::expect![[r#"
        MEMORY.md
        always-tabs-indentation.md
        bugs-https-tracker-example-engine.md
        decided-importer-rewritten.md
        never-push-main.md"#]]
    .assert_eq(&names.join("\n"));
    expect_test::expect![[r#"
        - [Bugs are at https://tracker.example/engine](bugs-https-tracker-example-engine.md) — Bugs are at https://tracker.example/engine
        - [We decided: the importer is rewritten by…](decided-importer-rewritten.md) — We decided: the importer is rewritten by 2026-03-06
        - [Never push to main](never-push-main.md) — Never push to main
        - [Always use tabs for indentation](always-tabs-indentation.md) — Always use tabs for indentation
    "#]].assert_eq(&after["MEMORY.md"]);
    let lint = assistant.harness.ask("lint", json!({})).await;
    assert_eq!(lint["findings"], json!([]), "{lint}");

    // The clock has struck once; the next night there is nothing left to do.
    assistant.set("2026-03-01T03:05:00Z");
    assistant.set("2026-03-02T03:00:00Z");
    assistant.dreams(2).await;
    assert_eq!(assistant.report().await["changes"], json!([]));
    assert_eq!(files(fixture), after);
    assistant.harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_night_may_be_at_another_time() {
    let settings = json!({"reverie": {"features": {"dailyLog": true, "dream": {"at": "22:30"}}}});
    let files = format!("//- ~/.claude/settings.json\n{settings}\n");
    let assistant = Assistant::offline(&files, &LOGS, "2026-03-01T02:59:00Z").await;
    assistant.harness.client.new_session().await;
    assistant.set("2026-03-01T03:00:00Z");
    assistant.set("2026-03-01T22:30:00Z");
    assistant.dreams(1).await;
    let ended = assistant.harness.client.log();
    let ids = ended.iter().filter_map(|seen| seen.params["dreamId"].as_str());
    assert_eq!(ids.collect::<std::collections::BTreeSet<_>>().len(), 1);
    assistant.harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_by_command_distils_the_logs_and_a_second_one_changes_nothing() {
    let assistant = Assistant::offline(MODE, &LOGS, "2026-03-01T12:00:00Z").await;
    let Harness { client, fixture, .. } = &assistant.harness;
    client.request("reverie/dream/start", json!({})).await.expect("it begins");
    assistant.dreams(1).await;
    let after = files(fixture);
    assert!(after.len() > LOGS.len() + 1, "{after:?}");
    assert_eq!(only_logs(&after).len(), LOGS.len());
    client.request("reverie/dream/start", json!({})).await.expect("it begins");
    assistant.dreams(2).await;
    assert_eq!(assistant.report().await["changes"], json!([]));
    assert_eq!(files(fixture), after);

    let session = client.new_session().await;
    client.turn(&session, "may I push to main?").await;
    let log = client.log();
    let recalled = log.iter().find(|seen| seen.params["kind"] == "recalled").expect("a memory comes to mind");
    assert!(!recalled.params.to_string().contains("/logs/"), "{}", recalled.params);
    assistant.harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_that_would_change_a_log_is_told_that_it_stays() {
    let assistant = Assistant::scripted(MODE, "2026-03-01T12:00:00Z").await;
    let Harness { client, model, fixture } = &assistant.harness;
    client.ignore("reverie/dream/progress");
    let (path, text) = LOGS[0];
    put(fixture, path, text);
    let log = assistant.harness.memory_text(path);
    let calls = [
        (
            "Write",
            json!({ "file_path": assistant.harness.memory_text("logs/2026/new.md"), "content": "mine" }),
        ),
        ("Bash", json!({ "command": format!("rm {log}") })),
    ];
    model.reply_to("dream", Reply::tools(calls));
    model.reply_to("dream", Reply::text("Then not."));
    client.request("reverie/dream/start", json!({})).await.expect("it begins");
    assistant.dreams(1).await;
    let told = model.requests_of("dream")[1].last_message_text();
    assert_eq!(told.matches("is the log of a day and stays as it is").count(), 2, "{told}");
    assert_eq!(files(fixture), BTreeMap::from([(path.to_owned(), text.to_owned())]));
    assistant.harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_may_be_started_as_an_assistant() {
    let fixture = Fixture::new("");
    let model = ModelServer::start().await;
    let environment = fixture.environment(&model.url());
    let server = ServerProcess::spawn(&binary(), &["lsp", "--assistant"], &environment, &fixture.workspace);
    let client = LspClient::over_stdio(server);
    client.ignore("$/progress");
    client.ignore("window/logMessage");
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    let harness = Harness { client, model, fixture };
    let session = harness.client.new_session().await;
    let request = harness.exchange(&session, "hello").await;
    assert!(request.body["system"].to_string().contains("memory/logs/YYYY/MM/YYYY-MM-DD.md"));
    harness.finish().await;
}
