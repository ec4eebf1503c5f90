//! Transcripts as they are found on disk: damaged, foreign, listed, renamed, deleted.

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient},
    model_server::{ModelServer, Reply},
};

use crate::harness::{Harness, connect_in_process};

async fn start(fixture: &Fixture, model: &ModelServer) -> LspClient {
    let client = connect_in_process(fixture, &fixture.environment(&model.url()));
    client.ignore("$/progress");
    client.ignore("window/logMessage");
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    client
}

/// A session of two turns with a tool call; returns its id.
async fn record(harness: &Harness) -> String {
    let session = harness.client.new_session().await;
    harness
        .model
        .reply(Reply::text("Looking.").and_tool("Read", json!({ "file_path": harness.text_path("a.txt") })));
    harness.model.reply(Reply::text("The first answer."));
    harness.client.turn(&session, "the first question").await;
    harness.model.reply(Reply::text("The second answer."));
    harness.client.turn(&session, "the second question").await;
    session
}

/// What happens to a file, as a function of its lines.
type Damage = (&'static str, fn(&mut Vec<Vec<u8>>));

const DAMAGES: &[Damage] = &[
    ("the last line is torn", |lines| {
        let last = lines.last_mut().unwrap();
        last.truncate(last.len() / 2);
    }),
    ("the file ends in NUL bytes", |lines| lines.push(vec![0; 4096])),
    ("a line in the middle is garbage", |lines| lines.insert(lines.len() / 2, b"{{{ not json\n".to_vec())),
    ("a line is not UTF-8", |lines| lines.insert(2, b"\xff\xfe\xfd{}\n".to_vec())),
    ("NUL bytes stand in the middle", |lines| {
        lines.insert(lines.len() / 2, [vec![0; 512], b"\n".to_vec()].concat())
    }),
    ("a message names a parent that is nowhere", |lines| {
        edit_message(lines, 1, |record| record["parentUuid"] = json!("11111111-1111-4111-8111-111111111111"));
    }),
    ("two messages are each other's parents", |lines| {
        let last = message(lines, usize::MAX)["uuid"].clone();
        edit_message(lines, 0, |record| record["parentUuid"] = last);
    }),
    ("a tool's result is missing", |lines| {
        let at = position_of(lines, |record| record["message"]["content"][0]["type"] == "tool_result");
        lines.remove(at);
    }),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_of_every_kind_is_repaired_and_told() {
    for (what, damage) in DAMAGES {
        let harness = Harness::start("//- a.txt\none\n").await;
        let session = record(&harness).await;
        let Harness { client, model, fixture } = harness;
        client.shutdown().await;
        let path = fixture.transcript(&session);
        let bytes = std::fs::read(&path).unwrap();
        let mut lines: Vec<Vec<u8>> =
            bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        damage(&mut lines);
        std::fs::write(&path, lines.concat()).unwrap();

        let client = start(&fixture, &model).await;
        let resumed = client.request("reverie/session/resume", json!({ "sessionId": session })).await;
        let resumed = resumed.unwrap_or_else(|error| panic!("{what}: {error:?}"));
        assert!(!resumed["repairs"].as_array().unwrap().is_empty(), "{what}: the repair is told: {resumed}");
        let shown = resumed["messages"].to_string();
        assert!(shown.contains("the first question"), "{what}: {shown}");
        model.reply(Reply::text("still here"));
        assert_eq!(client.turn(&session, "go on").await.text(), "still here", "{what}");
        client.shutdown().await;

        // A repair is made once: the next resume finds nothing to mend that was already mended.
        let client = start(&fixture, &model).await;
        let again = client.request("reverie/session/resume", json!({ "sessionId": session })).await.unwrap();
        assert!(again["messages"].to_string().contains("still here"), "{what}: {again}");
        client.shutdown().await;
        model.finish();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn harmless_differences_are_no_damage() {
    let harness = Harness::start("//- a.txt\none\n").await;
    let session = record(&harness).await;
    let Harness { client, model, fixture } = harness;
    client.shutdown().await;
    let path = fixture.transcript(&session);
    let text = std::fs::read_to_string(&path).unwrap();
    let unknown = "{\"type\":\"from-the-future\",\"answer\":42}\n";
    std::fs::write(&path, format!("\u{feff}{}\r\n{unknown}\n", text.trim_end().replace('\n', "\r\n")))
        .unwrap();
    let client = start(&fixture, &model).await;
    let resumed = client.request("reverie/session/resume", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(resumed["strategy"], "full");
    assert!(resumed["messages"].to_string().contains("The second answer."));
    model.reply(Reply::text("still here"));
    client.turn(&session, "go on").await;
    client.shutdown().await;
    assert!(
        std::fs::read_to_string(&path).unwrap().contains("from-the-future"),
        "unknown records are never dropped"
    );
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transcript_of_claude_code_is_listed_and_goes_on() {
    let fixture = Fixture::new("//- src/main.rs\nfn main() {}\n");
    let session = "0b8f3c52-7f3e-4c0e-9d57-3f1f8f5a1c11";
    let recorded = include_str!("../fixtures/claude-code.jsonl");
    let text = recorded.replace("<workspace>", fixture.workspace.to_str().unwrap());
    std::fs::create_dir_all(fixture.project_dir()).unwrap();
    std::fs::write(fixture.transcript(session), &text).unwrap();
    let model = ModelServer::start().await;
    let client = start(&fixture, &model).await;
    let list = client.request("reverie/session/list", json!({})).await.unwrap();
    assert_eq!(list["sessions"][0]["sessionId"], session, "{list}");
    assert_eq!(list["sessions"][0]["firstPrompt"], "what does main do?");
    let resumed = client.request("reverie/session/resume", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(resumed["strategy"], "full", "{resumed}");
    model.reply(Reply::text("It still does nothing."));
    assert_eq!(client.turn(session, "and now?").await.text(), "It still does nothing.");
    let request = model.main_requests().pop().unwrap();
    let messages = request.body["messages"].to_string();
    for said in ["what does main do?", "It does nothing at all.", "toolu_foreign", "fn main() {}", "and now?"]
    {
        assert!(messages.contains(said), "{said} is missing in {messages}");
    }
    client.shutdown().await;
    let after = std::fs::read_to_string(fixture.transcript(session)).unwrap();
    assert!(after.starts_with(&text), "what another program wrote is only added to");
    model.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_listed_in_pages_renamed_and_deleted() {
    let harness = Harness::start("").await;
    harness.client.ignore("title");
    let mut ids = Vec::new();
    for number in 0..5 {
        harness.model.reply(Reply::text("yes"));
        let session = harness.client.new_session().await;
        harness.client.turn(&session, &format!("prompt number {number}")).await;
        ids.push(session);
    }
    let request = async |method: &str, params: Value| harness.client.request(method, params).await.unwrap();
    let mut seen = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut params = json!({ "limit": 2 });
        if !cursor.is_null() {
            params["cursor"] = cursor;
        }
        let page = request("reverie/session/list", params).await;
        for session in page["sessions"].as_array().unwrap() {
            seen.push(session["sessionId"].as_str().unwrap().to_owned());
            assert!(
                session["bytes"].as_u64().unwrap() > 0 && session["costUsd"].as_f64().unwrap() > 0.0,
                "{session}"
            );
        }
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    ids.reverse();
    assert_eq!(seen, ids, "newest first, each once");

    request("reverie/session/rename", json!({ "sessionId": ids[1], "title": "A new name" })).await;
    let found = request("reverie/session/list", json!({ "query": "new name" })).await;
    assert_eq!(found["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(found["sessions"][0]["sessionId"], ids[1].as_str());
    request("reverie/session/delete", json!({ "sessionId": ids[0] })).await;
    assert!(!harness.fixture.transcript(&ids[0]).exists());
    let left = request("reverie/session/list", json!({})).await;
    assert_eq!(left["sessions"].as_array().unwrap().len(), 4);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transcripts_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let harness = Harness::start("").await;
    harness.model.reply(Reply::text("yes"));
    let session = harness.client.new_session().await;
    harness.client.turn(&session, "hello").await;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&harness.fixture.transcript(&session)), 0o600);
    assert_eq!(mode(&harness.fixture.project_dir()), 0o700);
    harness.finish().await;
}

fn parsed(line: &[u8]) -> Value {
    serde_json::from_slice(line).unwrap_or(Value::Null)
}

fn position_of(lines: &[Vec<u8>], fits: impl Fn(&Value) -> bool) -> usize {
    lines.iter().position(|line| fits(&parsed(line))).expect("such a record")
}

/// The positions of the messages among the records.
fn messages(lines: &[Vec<u8>]) -> Vec<usize> {
    (0..lines.len()).filter(|at| parsed(&lines[*at])["uuid"].is_string()).collect()
}

fn message(lines: &[Vec<u8>], number: usize) -> Value {
    let positions = messages(lines);
    parsed(&lines[positions[number.min(positions.len() - 1)]])
}

fn edit_message(lines: &mut [Vec<u8>], number: usize, change: impl FnOnce(&mut Value)) {
    let at = messages(lines)[number];
    let mut record = parsed(&lines[at]);
    change(&mut record);
    lines[at] = format!("{record}\n").into_bytes();
}
