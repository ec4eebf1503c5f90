//! Servers that are to end while they learn: they wait for it in sight, as long as they may, and can be hurried.

use std::{
    fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient, Notification},
    model_server::{Gate, ModelServer, Reply},
};

use super::{Memories, ended_job, memories_in, topic};
use crate::harness::{connect_over_stdio, connect_with, trust};

const GONE_WITHIN: Duration = Duration::from_secs(2);
const INDEX: &str = "- [Deploys](deploys.md) — never on a Friday\n";

/// A server that is about to write a memory, as soon as the gate opens.
struct Learning {
    client: LspClient,
    model: ModelServer,
    fixture: Fixture,
    session: String,
    gate: Gate,
}

impl Learning {
    async fn over_stdio(parent: Option<u32>) -> Self {
        let connect = |fixture: &Fixture, url: &str| connect_over_stdio(fixture, &fixture.environment(url));
        Self::start(connect, parent).await
    }

    async fn start(connect: impl Fn(&Fixture, &str) -> LspClient, parent: Option<u32>) -> Self {
        let fixture = Fixture::new("");
        trust(&fixture);
        let model = ModelServer::start().await;
        let client = connect(&fixture, &model.url());
        let mut options = ClientOptions::new(&fixture.workspace);
        options.process_id = parent.unwrap_or(options.process_id);
        for kind in ["$/progress", "window/logMessage", "reverie/memory/event", "notice"] {
            client.ignore(kind);
        }
        client.initialize(&options).await;
        let gate = Gate::closed();
        let folder = fixture.project_dir().join("memory");
        model.reply(Reply::text("I see"));
        model.reply_to("extraction", writes(&folder).behind(&gate));
        let session = client.new_session().await;
        client.turn(&session, "we never deploy on a Friday").await;
        gate.reached().await;
        let is_begin = |seen: &Notification| is_of_job(seen) && seen.params["value"]["kind"] == "begin";
        client.wait_for("the job to be shown", is_begin).await;
        Self { client, model, fixture, session, gate }
    }

    fn memories(&self) -> Memories {
        memories_in(&self.fixture.project_dir().join("memory"))
    }

    /// What is said about the progress of the job.
    fn progress(&self) -> Vec<Notification> {
        self.client.log().into_iter().filter(is_of_job).collect()
    }

    fn is_shown(&self) -> bool {
        let of_kind =
            |kind: &str| self.progress().iter().filter(|seen| seen.params["value"]["kind"] == kind).count();
        of_kind("begin") == 1 && of_kind("end") == 0
    }

    /// Asks for the end; returns when the server is surely at it.
    async fn shut_down(
        &self,
    ) -> tokio::sync::oneshot::Receiver<Result<Value, testkit::lsp_client::RpcError>> {
        let (_, answer) = self.client.start_request("shutdown", Value::Null);
        let late = self.client.request("reverie/models/list", json!({})).await.unwrap_err();
        assert_eq!(late.code, -32600, "{late:?}");
        answer
    }
}

fn is_of_job(seen: &Notification) -> bool {
    let token = seen.params["token"].as_str().unwrap_or_default();
    seen.method == "$/progress" && token.starts_with("reverie/job/")
}

fn writes(folder: &std::path::Path) -> Reply {
    let write = |name: &str, text: &str| {
        ("Write", json!({ "file_path": folder.join(name).to_str().unwrap(), "content": text }))
    };
    Reply::tools([
        write("deploys.md", &topic("Deploys", "Nothing goes out on a Friday.")),
        write("MEMORY.md", INDEX),
    ])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_waits_in_sight_until_the_memory_is_written() {
    let learning = Learning::over_stdio(None).await;
    learning.model.reply_to("extraction", Reply::text("saved"));
    let mut answer = learning.shut_down().await;
    assert!(answer.try_recv().is_err());
    assert!(learning.is_shown(), "{:?}", learning.progress());
    assert_eq!(learning.memories(), Memories::new());
    learning.gate.open();
    learning.client.answer(answer, "shutdown").await.unwrap();
    assert_eq!(learning.memories().len(), 2);
    let last = learning.progress().pop().unwrap();
    assert_eq!(last.params["value"], json!({ "kind": "end", "message": "Deploys" }));
    learning.client.notify("exit", Value::Null);
    learning.client.closed().await;
    learning.client.abandon();
    learning.model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_wait_ends_the_server_at_once_and_the_next_session_learns_it() {
    for hurry in ["exit", "hang up", "death"] {
        let mut editor = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
        let learning = Learning::over_stdio(Some(editor.id())).await;
        let answer = learning.shut_down().await;
        let begun = Instant::now();
        match hurry {
            "exit" => learning.client.notify("exit", Value::Null),
            "death" => {
                editor.kill().unwrap();
                editor.wait().unwrap();
            }
            _ => {}
        }
        let Learning { client, model, fixture, session, gate } = learning;
        if hurry == "hang up" {
            client.hang_up().await;
        } else {
            client.closed().await;
            client.abandon();
        }
        assert!(begun.elapsed() < GONE_WITHIN, "{hurry}: {:?}", begun.elapsed());
        drop(answer);
        let folder = fixture.project_dir().join("memory");
        assert_eq!(memories_in(&folder), Memories::new(), "{hurry}");
        gate.open();

        let client = connect_over_stdio(&fixture, &fixture.environment(&model.url()));
        for kind in ["$/progress", "window/logMessage", "reverie/memory/event", "notice"] {
            client.ignore(kind);
        }
        client.initialize(&ClientOptions::new(&fixture.workspace)).await;
        client.request("reverie/session/resume", json!({ "sessionId": session })).await.unwrap();
        model.reply(Reply::text("yes"));
        model.reply_to("extraction", writes(&folder));
        model.reply_to("extraction", Reply::text("saved"));
        client.turn(&session, "and now?").await;
        assert_eq!(ended_job(&client, "extraction").await["state"], "completed", "{hurry}");
        let asked = model.requests_of("extraction")[1].last_message_text();
        // Both turns: nothing of the first was learnt.
        assert!(asked.contains("Look at the last 4 messages"), "{hurry}: {asked}");
        client.shutdown().await;
        assert_eq!(memories_in(&folder)["MEMORY.md"], INDEX, "{hurry}");
        model.finish();
        if hurry != "death" {
            editor.kill().unwrap();
            editor.wait().unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_that_never_comes_is_not_waited_for_beyond_the_limit() {
    let faults = || lsp::Faults::default().with_drain(Duration::from_millis(200));
    let connect = |fixture: &Fixture, url: &str| connect_with(fixture, &fixture.environment(url), faults());
    let learning = Learning::start(connect, None).await;
    let begun = Instant::now();
    let answer = learning.shut_down().await;
    learning.client.answer(answer, "shutdown").await.unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(200));
    let last = learning.progress().pop().unwrap();
    assert_eq!(last.params["value"]["kind"], "end");
    learning.gate.open();
    learning.client.notify("exit", Value::Null);
    learning.client.closed().await;
    assert_eq!(learning.memories(), Memories::new());
    learning.client.abandon();
    learning.model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extraction_that_is_stopped_writes_nothing_more() {
    for during in ["tasks/stop", "progress", "shutdown"] {
        let learning = Learning::over_stdio(None).await;
        let token = learning.progress()[0].params["token"].clone();
        let cancel = json!({ "token": token });
        match during {
            "tasks/stop" => {
                let id = token.as_str().unwrap().strip_prefix("reverie/job/").unwrap();
                learning.client.request("reverie/tasks/stop", json!({ "taskId": id })).await.unwrap();
            }
            "progress" => learning.client.notify("window/workDoneProgress/cancel", cancel),
            _ => {
                let answer = learning.shut_down().await;
                learning.client.notify("window/workDoneProgress/cancel", cancel);
                learning.client.answer(answer, "shutdown").await.unwrap();
            }
        }
        if during != "shutdown" {
            assert_eq!(ended_job(&learning.client, "extraction").await["state"], "killed");
        }
        learning.gate.open();
        let Learning { client, model, fixture, .. } = learning;
        if during == "shutdown" {
            client.notify("exit", Value::Null);
            client.closed().await;
            client.abandon();
        } else {
            client.shutdown().await;
        }
        let folder = fixture.project_dir().join("memory");
        assert_eq!(memories_in(&folder), Memories::new(), "{during}");
        let left: Vec<_> = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(left.iter().all(|name| name.to_str() == Some(".history")), "{during}: {left:?}");
        model.finish();
    }
}
