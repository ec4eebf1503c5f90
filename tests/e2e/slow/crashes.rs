//! The real server is killed 200 times at random moments of a scripted session.
//!
//! What counts as acknowledged: everything the model was sent; every call of a response whose usage the client saw; every
//! turn whose end the client saw. After each kill the session must resume, and its next request must begin with what the
//! last one said, byte for byte, and hold the rest.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient, Notification},
    model_server::{ModelServer, RecordedRequest, Reply},
};

use crate::harness::{assert_extends, connect_over_stdio, trust};

const KILLS: usize = 200;
const KILLS_PER_SESSION: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_kills_lose_nothing_that_was_acknowledged() {
    let fixture = Fixture::new("//- a.txt\none\ntwo\nthree\n");
    fixture.write("~/.claude/settings.json", r#"{ "permissions": { "allow": ["Bash(echo:*)"] } }"#);
    trust(&fixture);
    let model = ModelServer::start().await;
    model.program(rounds(fixture.path("a.txt").to_str().unwrap().to_owned()));
    // Kills strike up to half a turn's time after its end.
    let longest = whole_turn(&fixture, &model).await.mul_f64(1.5);
    let mut random = 88_172_645_463_325_252_u64;
    let mut repairs = 0;
    let mut moments = Moments::default();
    for round in 0..KILLS / KILLS_PER_SESSION {
        let mut session: Option<String> = None;
        let mut last_request: Option<Value> = None;
        let mut last_answer: Option<String> = None;
        let mut seen_calls: Vec<String> = Vec::new();
        for kill in 0..KILLS_PER_SESSION {
            let client = start(&fixture, &model).await;
            let id = match &session {
                None => client.new_session().await,
                Some(id) => {
                    let resumed = client.request("reverie/session/resume", json!({ "sessionId": id })).await;
                    match resumed {
                        Ok(resumed) => {
                            check_resumed(&resumed, last_answer.as_deref());
                            repairs += resumed["repairs"].as_array().map_or(0, Vec::len);
                        }
                        // Before anything was acknowledged there may be nothing to resume.
                        Err(error) => {
                            assert!(last_request.is_none(), "round {round}, kill {kill}: {error:?}")
                        }
                    }
                    id.clone()
                }
            };
            let sent_before = model.main_requests().len();
            let prompt =
                json!({ "sessionId": id, "prompt": [{ "type": "text", "text": format!("go on, {kill}") }] });
            let (_, accepted) = client.start_request("reverie/session/prompt", prompt);
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // The moment of the kill: this is what is random here.
            tokio::time::sleep(longest.mul_f64((random >> 11) as f64 / (1u64 << 53) as f64)).await;
            let log = client.kill().await;
            drop(accepted);

            let requests = model.main_requests();
            let new: Vec<_> = requests[sent_before..].iter().collect();
            for request in &new {
                if let Some(last) = &last_request {
                    assert_extends(last, &request.body);
                }
                assert_holds(&request.body, &seen_calls);
                last_request = Some(request.body.clone());
            }
            seen_calls.extend(acknowledged_calls(&log));
            if !new.is_empty() || !log.is_empty() {
                session = Some(id);
            }
            match (finished_answer(&log), new.is_empty()) {
                (Some(answer), _) => {
                    last_answer = Some(answer);
                    moments.after_the_end += 1;
                }
                (None, true) => moments.before_a_request += 1,
                (None, false) => moments.in_the_middle += 1,
            }
        }
        let client = start(&fixture, &model).await;
        let id = session.expect("some prompt was accepted");
        let resumed = client.request("reverie/session/resume", json!({ "sessionId": id })).await.unwrap();
        check_resumed(&resumed, last_answer.as_deref());
        let turn = client.turn(&id, "finish").await;
        assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
        let last = model.main_requests().pop().unwrap();
        if let Some(before) = &last_request {
            assert_extends(before, &last.body);
        }
        client.shutdown().await;
    }
    eprintln!("{moments:?}, {repairs} repairs");
    // Kills that all hit the same moment would prove little.
    assert!(
        moments.in_the_middle >= KILLS / 10 && repairs > 0,
        "badly chosen moments: {moments:?}, {repairs} repairs"
    );
}

/// When the kills struck.
#[derive(Debug, Default)]
struct Moments {
    before_a_request: usize,
    in_the_middle: usize,
    after_the_end: usize,
}

async fn start(fixture: &Fixture, model: &ModelServer) -> LspClient {
    let client = connect_over_stdio(fixture, &fixture.environment(&model.url()));
    client.ignore("$/progress");
    client.ignore("window/logMessage");
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    client
}

/// How long a turn takes when nobody disturbs it.
async fn whole_turn(fixture: &Fixture, model: &ModelServer) -> Duration {
    let client = start(fixture, model).await;
    let session = client.new_session().await;
    let started = Instant::now();
    assert_eq!(client.turn(&session, "undisturbed").await.stop_reason(), "endTurn");
    let took = started.elapsed();
    client.shutdown().await;
    took
}

/// Three rounds of tools, then an answer; which one is due shows in the request itself.
fn rounds(path: String) -> impl FnMut(&RecordedRequest) -> Reply + Send {
    let mut answers = 0;
    move |request| {
        let messages = request.body["messages"].as_array().unwrap();
        let has_prompt = |message: &&Value| {
            let blocks = message["content"].as_array().unwrap();
            blocks
                .iter()
                .any(|block| block["type"] == "text" && !block["text"].as_str().unwrap().starts_with('<'))
        };
        let since_prompt = messages
            .iter()
            .rev()
            .take_while(|message| !(message["role"] == "user" && has_prompt(message)))
            .count();
        match since_prompt {
            0 => Reply::text("Reading.")
                .and_tool("Read", json!({ "file_path": path }))
                .and_tool("Grep", json!({ "pattern": "two" })),
            2 => Reply::tool("Bash", json!({ "command": "echo hello" })),
            4 => Reply::text("Once more.").and_tool("Read", json!({ "file_path": path, "offset": 2 })),
            _ => {
                answers += 1;
                Reply::text(format!("answer number {answers}: {}", "words ".repeat(40)))
            }
        }
    }
}

/// The calls of the responses whose usage was seen: those are in the transcript.
fn acknowledged_calls(log: &[Notification]) -> Vec<String> {
    let end = log.iter().rposition(|seen| seen.kind() == "usage").unwrap_or(0);
    let calls = log[..end].iter().filter(|seen| seen.kind() == "toolStart");
    calls.map(|seen| seen.params["update"]["toolUseId"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn assert_holds(body: &Value, calls: &[String]) {
    let text = body["messages"].to_string();
    for call in calls {
        assert!(text.contains(&format!("\"{call}\"")), "the call {call}, which the client saw, is lost");
    }
}

/// The last text of a turn whose end was seen: it was acknowledged.
fn finished_answer(log: &[Notification]) -> Option<String> {
    log.iter().find(|seen| seen.kind() == "turnEnd" && seen.params["update"]["stopReason"] == "endTurn")?;
    let deltas = log.iter().filter(|seen| seen.kind() == "textDelta");
    let text: String =
        deltas.map(|seen| seen.params["update"]["text"].as_str().unwrap().to_owned()).collect();
    text.rfind("answer number").map(|at| text[at..].trim_end().to_owned())
}

fn check_resumed(resumed: &Value, answer: Option<&str>) {
    assert_eq!(resumed["strategy"], "full", "{resumed}");
    if let Some(answer) = answer {
        let messages = resumed["messages"].as_array().unwrap();
        let found = messages.iter().any(|message| message["text"].as_str().unwrap().contains(answer));
        assert!(found, "an answer whose turn had ended is lost: {answer}");
    }
}
