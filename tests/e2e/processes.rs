//! The script zoo against the real server: commands that hang, flood, hide and refuse to die end at their limit, and
//! nothing of them survives a cancel, the server's end or its murder.
//!
//! Every process of a test has that test's marker on its command line, which is how survivors are found.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient},
    model_server::{ModelServer, RecordedRequest, Reply},
};

use crate::harness::{Harness, connect_over_stdio, processes_with};

/// What a command may take to end beyond its limit, and a killed server's commands to be gone.
const ENDING: Duration = Duration::from_secs(2);

/// What a turn around a command may take besides, on a machine that does other things too.
const TURN: Duration = Duration::from_secs(1);

/// For commands that end by it, and for those that must end without it.
const LIMIT: Duration = Duration::from_millis(250);
const FAR_LIMIT: Duration = Duration::from_secs(60);

/// What the server may grow by while ten gigabytes pass through it.
const MOST_GROWTH_KILOBYTES: u64 = 50 * 1024;

/// A shell script that starts itself again in a session of its own and ends, for ever.
const CHAIN: &str = "//- chain.sh\nsetsid bash chain.sh \"$1\" &\n";

struct Animal {
    name: &'static str,
    command: &'static str,
    ends: Ends,
}

#[derive(Clone, Copy)]
enum Ends {
    AtTheLimit,
    /// By itself, and these words tell the model what else there was.
    Before(&'static str),
}

/// `MARK` stands for the marker, a number that `sleep` takes for hours.
const ZOO: &[Animal] = &[
    Animal { name: "hangs", command: "sleep MARK", ends: Ends::AtTheLimit },
    Animal { name: "hangs in a child", command: "(sleep MARK | sleep MARK) & wait", ends: Ends::AtTheLimit },
    Animal { name: "writes lines without end", command: "yes MARK", ends: Ends::AtTheLimit },
    Animal { name: "writes ten gigabytes", command: "head -c 10G /dev/zero; : MARK", ends: Ends::AtTheLimit },
    Animal { name: "writes to both streams", command: "yes MARK >&2 & yes MARK", ends: Ends::AtTheLimit },
    Animal {
        name: "ignores being asked",
        command: "trap '' TERM HUP INT; while :; do sleep MARK; done",
        ends: Ends::AtTheLimit,
    },
    Animal { name: "closes its output", command: "exec >&- 2>&-; sleep MARK", ends: Ends::AtTheLimit },
    Animal {
        name: "asks at the terminal",
        command: "read line; cat; read line </dev/tty; sleep MARK",
        ends: Ends::AtTheLimit,
    },
    Animal { name: "stops itself", command: "kill -STOP $$; sleep MARK", ends: Ends::AtTheLimit },
    Animal {
        name: "moves and forgets itself",
        command: "cd /; export PATH=/nowhere HOME=/ REVERIE_JOB=; /bin/sleep MARK",
        ends: Ends::AtTheLimit,
    },
    Animal {
        name: "deletes its folder",
        command: "mkdir -p $$/a && cd $$/a && rm -r ../../$$; sleep MARK",
        ends: Ends::AtTheLimit,
    },
    Animal {
        name: "leaves a daemon",
        command: "(setsid nohup bash -c 'trap \"\" TERM; while :; do sleep MARK; done' >/dev/null 2>&1 & disown); :",
        ends: Ends::Before("stopped; run_in_background keeps"),
    },
    Animal {
        name: "leaves a daemon without a name",
        command: "env -i /usr/bin/setsid /bin/sh -c '(/bin/sleep MARK >/dev/null 2>&1 &)'; :",
        ends: Ends::Before("stopped; run_in_background keeps"),
    },
    Animal {
        name: "goes from fork to fork",
        command: "bash chain.sh MARK; sleep MARK",
        ends: Ends::AtTheLimit,
    },
    Animal {
        name: "kills its warden",
        command: "kill -KILL $PPID; sleep MARK",
        ends: Ends::Before("killed by signal 9"),
    },
    Animal { name: "stops its warden", command: "kill -STOP $PPID; sleep MARK", ends: Ends::AtTheLimit },
];

/// All of it at once, and it says when it is ready.
const HERD: &str = r#"trap '' TERM HUP INT
setsid bash -c 'trap "" TERM HUP; (env -i /bin/sleep MARK &); while :; do sleep MARK; done' >/dev/null 2>&1 & disown
(setsid nohup sleep MARK >/dev/null 2>&1 &)
bash chain.sh MARK &
bash -c 'kill -STOP $$; : MARK' &
echo started
while :; do sleep MARK; done"#;

impl Animal {
    fn input(&self, marker: &str) -> Value {
        let limit = match self.ends {
            Ends::AtTheLimit => LIMIT,
            Ends::Before(_) => FAR_LIMIT,
        };
        let limit = u64::try_from(limit.as_millis()).unwrap();
        json!({ "command": self.command.replace("MARK", marker), "timeout": limit })
    }

    /// What the model must be told.
    fn says(&self) -> &'static str {
        match self.ends {
            Ends::AtTheLimit => "stopped after the timeout of 0.25 s",
            Ends::Before(words) => words,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_runs_end_in_time_and_leave_nothing() {
    const RUNS: usize = 200;
    const AT_ONCE: usize = 4;
    let marker = "86421.25";
    let fixture = Fixture::new(CHAIN);
    let model = ModelServer::start().await;
    model.program(move |request| zoo_reply(request, marker));
    let client = Arc::new(start(&fixture, &model).await);
    client.allow_everything();
    let server = client.process_id().unwrap();
    run_animal(&client, &client.new_session().await, &ZOO[0]).await;
    let before = resident_kilobytes(server, "VmRSS");
    let begun = Instant::now();
    let keepers: Vec<_> = (0..AT_ONCE)
        .map(|keeper| {
            let client = Arc::clone(&client);
            tokio::spawn(async move {
                let mut session = String::new();
                for run in (keeper..RUNS).step_by(AT_ONCE) {
                    if session.is_empty() || (run / AT_ONCE).is_multiple_of(ZOO.len()) {
                        session = client.new_session().await;
                    }
                    // Each keeper begins elsewhere, so that different animals meet.
                    let animal = &ZOO[(run / AT_ONCE + keeper * 5) % ZOO.len()];
                    run_animal(&client, &session, animal).await;
                }
            })
        })
        .collect();
    for keeper in keepers {
        keeper.await.unwrap();
    }
    let growth = resident_kilobytes(server, "VmHWM").saturating_sub(before);
    eprintln!("{RUNS} runs took {:?}, the server grew by {growth} kB at most", begun.elapsed());
    assert!(growth <= MOST_GROWTH_KILOBYTES, "the server grew by {growth} kB");
    assert_eq!(processes_with(marker), Vec::<String>::new());
    let client = Arc::into_inner(client).expect("the keepers have gone home");
    client.shutdown().await;
}

/// One turn with one command: in time, and with the right words.
async fn run_animal(client: &LspClient, session: &str, animal: &Animal) {
    let begun = Instant::now();
    let turn = client.turn(session, &format!("run: {}", animal.name)).await;
    let took = begun.elapsed();
    assert!(took < LIMIT + ENDING + TURN, "{}: {took:?}", animal.name);
    assert_eq!(turn.stop_reason(), "endTurn", "{}: {}", animal.name, turn.events());
    let told = turn.text();
    assert!(told.contains(animal.says()), "{}: {told}", animal.name);
}

/// The animal that the prompt names; then what was said of it.
fn zoo_reply(request: &RecordedRequest, marker: &str) -> Reply {
    let last = request.body["messages"].as_array().and_then(|messages| messages.last()).unwrap();
    let results = last["content"].as_array().unwrap().iter().filter(|block| block["type"] == "tool_result");
    if results.count() > 0 {
        let told = request.last_message_text();
        assert!(told.len() < 1024 * 1024);
        let end: String = told.chars().rev().take(400).collect::<Vec<_>>().into_iter().rev().collect();
        return Reply::text(end);
    }
    let prompt = request.last_message_text();
    let animal = ZOO.iter().rev().find(|animal| prompt.contains(&format!("run: {}", animal.name))).unwrap();
    Reply::tool("Bash", animal.input(marker))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_leaves_nothing_of_the_whole_herd() {
    let marker = "86422.25";
    let harness = Harness::over_stdio(CHAIN).await;
    let (session, turn) = with_herd(&harness.client, &harness.model, marker).await;
    let begun = Instant::now();
    harness.client.request("reverie/session/cancel", json!({ "sessionId": session })).await.unwrap();
    let turn = harness.client.turn_end(&session, &turn).await;
    assert_eq!(turn.stop_reason(), "cancelled");
    assert!(begun.elapsed() < ENDING, "took {:?}", begun.elapsed());
    assert_eq!(processes_with(marker), Vec::<String>::new());
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_in_good_order_leaves_nothing_of_the_whole_herd_nor_of_jobs() {
    let marker = "86423.25";
    let harness = Harness::over_stdio(CHAIN).await;
    with_jobs_and_herd(&harness.client, &harness.model, marker).await;
    let Harness { client, fixture: _fixture, .. } = harness;
    ignore_the_rest(&client);
    let begun = Instant::now();
    assert_eq!(client.shutdown().await, Some(0));
    assert!(begun.elapsed() < ENDING, "took {:?}", begun.elapsed());
    assert_eq!(processes_with(marker), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_survives_a_server_that_is_killed() {
    const KILLS: usize = 12;
    let mut slowest = Duration::ZERO;
    for kill in 0..KILLS {
        let marker = format!("{}.25", 86430 + kill);
        let fixture = Fixture::new(CHAIN);
        let walls = kill % 4 >= 2;
        fixture.write("~/.claude/settings.json", &format!(r#"{{ "sandbox": {{ "mainBash": {walls} }} }}"#));
        let model = ModelServer::start().await;
        let client = start(&fixture, &model).await;
        client.allow_everything();
        if kill % 2 == 0 {
            with_jobs_and_herd(&client, &model, &marker).await;
            assert!(processes_with(&marker).len() > 10, "{:?}", processes_with(&marker));
        } else {
            // In the very moment of the start, when there may be no warden yet.
            let command = HERD.replace("MARK", &marker);
            model.reply(Reply::tool("Bash", json!({ "command": command })));
            let session = client.new_session().await;
            client.prompt(&session, "run it").await;
            client.wait_for("the start", |seen| seen.kind() == "toolStart").await;
            wait_until(&format!("round {kill}: the command line"), || !processes_with(&marker).is_empty());
        }
        client.kill().await;
        let killed = Instant::now();
        wait_until(&format!("round {kill}: the end of all"), || processes_with(&marker).is_empty());
        slowest = slowest.max(killed.elapsed());
    }
    eprintln!("{KILLS} kills, nothing left after {slowest:?} at most");
    assert!(slowest < ENDING, "took {slowest:?}");
}

/// Two jobs in the background, then the herd, all running.
async fn with_jobs_and_herd(client: &LspClient, model: &ModelServer, marker: &str) {
    let job = json!({ "command": HERD.replace("MARK", marker), "run_in_background": true });
    // This one's shell has ended; what is left of it lives on as the job.
    let orphan = format!("trap '' TERM; (setsid sleep {marker} >/dev/null 2>&1 &); exit 0");
    let orphan = json!({ "command": orphan, "run_in_background": true });
    model.reply(Reply::tools([("Bash", job), ("Bash", orphan)]));
    model.reply(Reply::text("they run"));
    client.allow_everything();
    let session = client.new_session().await;
    assert_eq!(client.turn(&session, "start the jobs").await.stop_reason(), "endTurn");
    with_herd(client, model, marker).await;
}

/// Returns the session and the turn in which the herd runs.
async fn with_herd(client: &LspClient, model: &ModelServer, marker: &str) -> (String, String) {
    client.allow_everything();
    model.reply(Reply::tool("Bash", json!({ "command": HERD.replace("MARK", marker) })));
    let session = client.new_session().await;
    let turn = client.prompt(&session, "let them out").await;
    let started = |update: &Value| update["text"].as_str().is_some_and(|text| text.contains("started"));
    client
        .wait_for("the herd", |seen| seen.kind() == "toolProgress" && started(&seen.params["update"]))
        .await;
    (session, turn)
}

async fn start(fixture: &Fixture, model: &ModelServer) -> LspClient {
    let environment: BTreeMap<String, String> = fixture.environment(&model.url());
    let client = connect_over_stdio(fixture, &environment);
    client.ignore("$/progress");
    client.ignore("window/logMessage");
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    client
}

fn ignore_the_rest(client: &LspClient) {
    for kind in ["toolStart", "toolProgress", "toolEnd", "usage", "title", "turnEnd", "jobs"] {
        client.ignore(kind);
    }
}

/// Looks again and again; a killed server has nobody left who could tell.
#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "waited in vain for {what}");
        std::thread::yield_now();
    }
}

fn resident_kilobytes(process: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the server runs");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("a field of /proc");
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().expect("a number")
}
