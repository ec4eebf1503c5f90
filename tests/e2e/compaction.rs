//! Compactions that go wrong, are stopped or struck by a crash: the conversation is the old one or the new one, and the
//! user is told.

mod cancelling;
pub mod crashes;
mod guards;
mod hostile;
mod refusals;
mod summaries;
mod too_long;

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::Turn,
    model_server::{ModelServer, Reply, SUMMARY_SECTIONS},
};

use crate::harness::{Harness, trust};

/// With this the window is always too full, and the number of messages alone decides: a conversation is compacted by
/// itself before the request with its tenth message.
pub const EAGER: &str = r#"{ "autoCompactPercent": 1 }"#;

/// Turns after which the next prompt meets ten messages.
pub const TURNS_TO_TEN: usize = 5;

/// A server with these user settings.
pub async fn start(settings: &str) -> Harness {
    start_with_files(settings, "").await
}

pub async fn start_with_files(settings: &str, files: &str) -> Harness {
    let fixture = Fixture::new(files);
    fixture.write("~/.claude/settings.json", settings);
    trust(&fixture);
    Harness::start_with_fixture(fixture, ModelServer::start().await).await
}

/// A session of so many turns, long enough that a summary is shorter.
pub async fn talk(harness: &Harness, turns: usize) -> String {
    let session = harness.client.new_session().await;
    go_on(harness, &session, turns).await;
    session
}

pub async fn go_on(harness: &Harness, session: &str, turns: usize) {
    for number in 0..turns {
        harness.model.reply(Reply::text(format!("answer {number}: {}", "words ".repeat(400))));
        let turn =
            harness.client.turn(session, &format!("question {number}: {}", "more words ".repeat(40))).await;
        assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
    }
}

/// A summary with these of the nine sections.
pub fn summary_with(sections: impl IntoIterator<Item = usize>) -> Reply {
    let mut text = "<analysis>Let me see.</analysis>\n<summary>\n".to_owned();
    for section in sections {
        text.push_str(&format!(
            "{}. {}:\n   What there is to say.\n",
            section + 1,
            SUMMARY_SECTIONS[section]
        ));
    }
    Reply::text(text + "</summary>")
}

pub fn summary() -> Reply {
    summary_with(0..SUMMARY_SECTIONS.len())
}

pub fn too_long(message: &str) -> Reply {
    let body = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": message } });
    Reply::status(400).body(&body.to_string())
}

pub fn too_long_by_some() -> Reply {
    too_long("prompt is too long: 208310 tokens > 200000 maximum")
}

pub async fn compact(harness: &Harness, session: &str) -> Result<Value, String> {
    let params = json!({ "sessionId": session, "mode": "full" });
    let answer = harness.client.request("reverie/session/compact", params).await;
    answer.map_err(|error| format!("{} {}", error.code, error.message))
}

pub async fn report(harness: &Harness, session: &str) -> Value {
    let params = json!({ "sessionId": session });
    harness.client.request("reverie/context/report", params).await.expect("a report")
}

/// What the next request of the session says, without cache marks. It is asked with a prompt of its own.
pub async fn next_messages(harness: &Harness, session: &str, prompt: &str) -> Value {
    harness.model.reply(Reply::text("so it is"));
    let turn = harness.client.turn(session, prompt).await;
    assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
    let request = harness.model.main_requests().pop().expect("a request");
    let mut messages = request.body["messages"].clone();
    without_marks(&mut messages);
    messages
}

pub fn without_marks(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(without_marks);
        }
        Value::Array(items) => items.iter_mut().for_each(without_marks),
        _ => {}
    }
}

/// The turn's lines with figures that depend on the length of the system prompt left out.
pub fn told(turn: &Turn) -> String {
    without_figures(&turn.events())
}

pub fn without_figures(text: &str) -> String {
    let mut shown = String::new();
    let mut digits = String::new();
    for character in text.chars().chain(['\n']) {
        if character.is_ascii_digit() {
            digits.push(character);
            continue;
        }
        shown.push_str(if digits.len() > 2 { "…" } else { &digits });
        digits.clear();
        shown.push(character);
    }
    shown.pop();
    shown
}

/// The roles of the requests so far, in order, `count_tokens` as itself.
pub fn roles(harness: &Harness) -> Vec<String> {
    let role = |path: &str, role: &str| {
        if path.ends_with("count_tokens") { "count".to_owned() } else { role.to_owned() }
    };
    harness.model.requests().iter().map(|request| role(&request.path, &request.role)).collect()
}
