//! Ten thousand edits in a row leave the server's text equal to the client's, in both encodings.

use std::path::Path;

use serde_json::json;
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, LspClient, uri},
    model_server::{ModelServer, Reply},
};

use crate::harness::connect_in_process;

const EDITS: usize = 10_000;
/// Every kind of line ending and character width there is.
const PIECES: &[&str] = &[
    "a",
    "word ",
    "\n",
    "\r\n",
    "ä",
    "漢字",
    "𝄞",
    "👩‍💻",
    "\u{2028}",
    "\u{85}",
    "\t",
    "e\u{301}",
    "",
    "x\ny\r\nz",
];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_edits_in_utf_8() {
    check("utf-8", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_edits_in_utf_16() {
    check("utf-16", 2).await;
}

async fn check(encoding: &'static str, seed: u64) {
    let fixture = Fixture::new("//- a.txt\none\n");
    let model = ModelServer::start().await;
    let client = connect_in_process(&fixture, &fixture.environment(&model.url()));
    client.ignore("$/progress");
    client.ignore("window/logMessage");
    let options = ClientOptions { encodings: vec![encoding], ..ClientOptions::new(&fixture.workspace) };
    let answer = client.initialize(&options).await;
    assert_eq!(answer["capabilities"]["positionEncoding"], encoding);
    let path = fixture.path("a.txt");
    client.open_with(&path, "first 𝄞 line\r\nsecond\n", Some("one\n".to_owned()));
    let mut random = Random(seed);
    for _ in 0..EDITS {
        random_edit(&client, &path, &mut random);
    }

    let text = client.document(&path).text;
    let session = client.new_session().await;
    model.reply(Reply::tool("Read", json!({ "file_path": path })));
    model.reply(Reply::text("read"));
    let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "read" }, { "type": "mention", "uri": uri(&path) }] });
    let answer = client.request("reverie/session/prompt", params).await.unwrap();
    client.turn_end(&session, answer["turnId"].as_str().unwrap()).await;
    let result = model.main_requests().pop().unwrap().tool_result("toolu_0001").unwrap();
    let read: String = result
        .split('\n')
        .filter_map(|line| line.split_once('\t'))
        .filter(|(number, _)| number.trim().bytes().all(|b| b.is_ascii_digit()))
        .map(|(_, line)| format!("{line}\n"))
        .collect();
    let expected = text.replace("\r\n", "\n");
    assert_eq!(read.trim_end_matches('\n'), expected.trim_end_matches('\n'));
    client.shutdown().await;
    model.finish();
}

/// Replaces a random stretch by a random piece; the text stays under some kilobytes.
fn random_edit(client: &LspClient, path: &Path, random: &mut Random) {
    let text = client.document(path).text;
    let mut boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    // No position of LSP lies inside a line ending.
    boundaries.retain(|at| !(text[..*at].ends_with('\r') && text[*at..].starts_with('\n')));
    let first = random.below(boundaries.len());
    let longest = if text.len() > 4_000 { 40 } else { 6 };
    let last = (first + random.below(longest)).min(boundaries.len() - 1);
    client.edit(path, boundaries[first], boundaries[last], PIECES[random.below(PIECES.len())]);
}
