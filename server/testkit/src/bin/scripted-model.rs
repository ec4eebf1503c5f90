//! The scripted model server for tests in another language. Its first line on stdout is `{"url": …}`, what
//! `ANTHROPIC_BASE_URL` is set to; then each line on stdin is a command, and each is answered with one line:
//!
//! ```text
//! {"reply": "tool Read {…}", "for": "recall"}  queues a reply, in the language of `scenario::reply_text`; for main if absent
//! {"reply": "…", "behind": "gate"}             nothing of it comes before the gate is opened
//! {"reply": "…", "pauses": [[6, "gate"], …]}   so many events come, the others wait for the gate
//! {"reply": "…", "always": "title"}            answers every call of a role that has no reply of its own
//! {"reached": "gate"}                          answered when somebody waits at the gate
//! {"open": "gate"}
//! {"arrived": 3}                               answered when so many requests have come
//! {"requests": true}                           what was asked: role, the last message's text, the names of the tools
//! {"problems": true}                           what went wrong so far; it is forgotten then
//! {"advance": 3600}                            moves the clock of the prompt cache, by seconds
//! ```
//!
//! Ends when stdin does: with a failure if it was used in another way than scripted, or a reply was never fetched.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a tool for tests: stdout is its wire, and it fails by panicking"
)]

use std::{collections::HashMap, time::Duration};

use serde_json::{Value, json};
use testkit::{
    model_server::{Gate, ModelServer, RecordedRequest, Reply},
    scenario,
};
use tokio::io::{AsyncBufReadExt, BufReader};

#[tokio::main]
async fn main() {
    let server = ModelServer::start().await;
    let mut gates = HashMap::new();
    println!("{}", json!({ "url": server.url() }));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await.expect("stdin can be read") {
        let command: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let answer = obey(&server, &mut gates, &command).await;
        println!("{}", json!({ "done": answer }));
    }
    server.finish();
}

async fn obey(server: &ModelServer, gates: &mut HashMap<String, Gate>, command: &Value) -> Value {
    let word = |key: &str| command[key].as_str();
    if let Some(body) = word("reply") {
        let reply = delivered(scenario::reply(body), gates, command);
        match word("always") {
            Some(role) => server.always(role, reply),
            None => server.reply_to(word("for").unwrap_or("main"), reply),
        }
    } else if let Some(name) = word("reached") {
        gate(gates, name).reached().await;
    } else if let Some(name) = word("open") {
        gate(gates, name).open();
    } else if let Some(count) = command["arrived"].as_u64() {
        server.wait_for_requests(usize::try_from(count).expect("a number of requests")).await;
    } else if let Some(seconds) = command["advance"].as_u64() {
        server.advance_clock(Duration::from_secs(seconds));
    } else if command["requests"] == true {
        return server.requests().iter().map(|request| described(request)).collect();
    } else if command["problems"] == true {
        return server.take_problems().into();
    } else {
        panic!("no such command: {command}");
    }
    Value::Null
}

fn delivered(reply: Reply, gates: &mut HashMap<String, Gate>, command: &Value) -> Reply {
    let reply = match command["behind"].as_str() {
        Some(name) => reply.behind(gate(gates, name)),
        None => reply,
    };
    let pauses = command["pauses"].as_array().into_iter().flatten();
    pauses.fold(reply, |reply, pause| {
        let (Some(events), Some(name)) = (pause[0].as_u64(), pause[1].as_str()) else {
            panic!("a pause is a number of events and a gate: {pause}");
        };
        reply.pausing_after(usize::try_from(events).expect("a number of events"), gate(gates, name))
    })
}

fn gate<'a>(gates: &'a mut HashMap<String, Gate>, name: &str) -> &'a Gate {
    gates.entry(name.to_owned()).or_insert_with(Gate::closed)
}

fn described(request: &RecordedRequest) -> Value {
    let tools = request.body["tools"].as_array().into_iter().flatten();
    let names: Vec<&Value> = tools.map(|tool| &tool["name"]).collect();
    json!({ "role": request.role, "last": request.last_message_text(), "tools": names })
}
