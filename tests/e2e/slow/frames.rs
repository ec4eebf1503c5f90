//! Streams of bytes that no client should send: the server always ends, and never by a panic.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{frame, uri},
    within,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Bytes that mean something to a parser of frames or JSON.
const TELLING: &[u8] = b"0123456789{}[]\"\\\r\n:, \0\xff";

/// What a client says in a short life, up to `exit`.
fn conversation(fixture: &Fixture) -> Vec<u8> {
    let document = uri(&fixture.path("a.txt"));
    let position = json!({ "line": 0, "character": 1 });
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "processId": null, "rootUri": uri(&fixture.workspace), "capabilities": {} } }),
        json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }),
        json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": { "uri": document, "languageId": "x", "version": 1, "text": "ä𝄞\r\n" } } }),
        json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": { "textDocument": { "uri": document, "version": 2 }, "contentChanges": [{ "range": { "start": position, "end": position }, "text": "é" }] } }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "reverie/session/list", "params": {} }),
        json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 2 } }),
        json!({ "jsonrpc": "2.0", "id": "three", "method": "reverie/session/prompt", "params": { "sessionId": "x", "prompt": [] } }),
        json!({ "jsonrpc": "2.0", "id": 4, "method": "shutdown" }),
        json!({ "jsonrpc": "2.0", "method": "exit" }),
    ];
    messages.iter().flat_map(frame).collect()
}

/// Feeds the bytes to a server of its own and closes; returns the exit code and what it wrote.
async fn served(fixture: &Fixture, bytes: &[u8]) -> (u8, Vec<u8>) {
    let (server_reader, mut writer) = tokio::io::duplex(1 << 16);
    let (mut reader, server_writer) = tokio::io::duplex(1 << 20);
    let options = lsp::Options {
        environment: settings::Environment::new(
            fixture.home.clone(),
            fixture.environment("http://127.0.0.1:9"),
        ),
        cwd: fixture.workspace.clone(),
        command_line_settings: None,
        watch_parent: false,
        faults: lsp::Faults::default(),
    };
    let server = tokio::spawn(lsp::serve(server_reader, server_writer, options));
    // A server that has already ended reads no more.
    writer.write_all(bytes).await.unwrap_or_default();
    drop(writer);
    let code = within(server, "the server to end").await.expect("no panic");
    let mut said = Vec::new();
    reader.read_to_end(&mut said).await.unwrap();
    (code, said)
}

fn count_panics() -> &'static AtomicUsize {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        report(panic);
    }));
    &PANICS
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_beginning_of_a_conversation_ends_cleanly() {
    let panics = count_panics();
    let fixture = Fixture::new("//- a.txt\none\n");
    let bytes = conversation(&fixture);
    for end in 0..=bytes.len() {
        let (code, said) = served(&fixture, &bytes[..end]).await;
        assert!(code <= 1, "{end}: {code}");
        if end == bytes.len() {
            assert_eq!(code, 0, "{}", String::from_utf8_lossy(&said));
        }
    }
    assert_eq!(panics.load(Ordering::Relaxed), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mutated_conversations_end_and_replies_are_well_formed() {
    let panics = count_panics();
    let fixture = Fixture::new("//- a.txt\none\n");
    let original = conversation(&fixture);
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |bound: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize % bound
    };
    for round in 0..1_000 {
        let mut bytes = original.clone();
        for _ in 0..=next(4) {
            let at = next(bytes.len());
            match next(4) {
                0 => bytes[at] = next(256) as u8,
                1 => {
                    bytes.remove(at);
                }
                2 => bytes.insert(at, TELLING[next(TELLING.len())]),
                _ => {
                    let piece = bytes[at..bytes.len().min(at + next(200))].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
        }
        let (code, said) = served(&fixture, &bytes).await;
        assert!(code <= 1, "round {round}: {code}");
        assert_well_formed(&said, round);
    }
    assert_eq!(panics.load(Ordering::Relaxed), 0);
}

fn assert_well_formed(mut said: &[u8], round: usize) {
    while !said.is_empty() {
        let text = String::from_utf8_lossy(said);
        let (head, _) =
            text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("round {round}: no header in {text:?}"));
        let length: usize = head.strip_prefix("Content-Length: ").unwrap().parse().unwrap();
        let start = head.len() + 4;
        let body: Value = serde_json::from_slice(&said[start..start + length]).unwrap();
        assert_eq!(body["jsonrpc"], "2.0", "round {round}: {body}");
        said = &said[start + length..];
    }
}
