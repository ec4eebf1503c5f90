//! Random edits through the whole server: its text must be the client's, in either encoding.

use std::path::Path;

use serde_json::{Value, json};

use crate::testing::TestClient;

const EDITS: usize = 10_000;
const PIECES: &[&str] = &[
    "a",
    "fn main() {}",
    "\n",
    "\r\n",
    "\r",
    "ü",
    "日本",
    "🦀",
    "👩‍💻",
    "\u{2028}",
    "\u{85}",
    "\u{c}",
    " ",
    "\t",
    "x\ny\r\nz\r",
    "",
];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound).unwrap()).unwrap()
    }

    /// A place that an LSP position can name: between characters, but not inside `\r\n`.
    fn place(&mut self, text: &str) -> usize {
        let mut place = self.below(text.len() + 1);
        while !text.is_char_boundary(place)
            || (place > 0
                && text.as_bytes()[place - 1] == b'\r'
                && text.as_bytes().get(place) == Some(&b'\n'))
        {
            place -= 1;
        }
        place
    }
}

fn position(text: &str, place: usize, utf8: bool) -> Value {
    let (mut line, mut line_start) = (0, 0);
    let bytes = text.as_bytes();
    for (index, byte) in bytes[..place].iter().enumerate() {
        let ends_line = *byte == b'\n' || (*byte == b'\r' && bytes.get(index + 1) != Some(&b'\n'));
        if ends_line {
            line += 1;
            line_start = index + 1;
        }
    }
    let before = &text[line_start..place];
    let character = if utf8 { before.len() } else { before.encode_utf16().count() };
    json!({ "line": line, "character": character })
}

async fn edits_arrive(utf8: bool) {
    let encoding = if utf8 { "utf-8" } else { "utf-16" };
    let mut client = TestClient::initialized(json!({ "general": { "positionEncodings": [encoding] } })).await;
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut text = String::from("one\r\ntwo 🦀\nthree\rfour");
    let document = json!({ "uri": "file:///w/a.rs", "languageId": "rust", "version": 0, "text": text });
    client.notify("textDocument/didOpen", json!({ "textDocument": document })).await;
    let mut version = 0;
    let mut edits = 0;
    while edits < EDITS {
        let mut changes = Vec::new();
        for _ in 0..=random.below(3) {
            edits += 1;
            if random.below(500) == 0 {
                text = PIECES.concat();
                changes.push(json!({ "text": text }));
                continue;
            }
            let (one, other) = (random.place(&text), random.place(&text));
            let start = one.min(other);
            // Mostly small, so that the text keeps some length.
            let mut end = if random.below(4) == 0 { one.max(other).min(start + 40) } else { start };
            while !text.is_char_boundary(end) {
                end += 1;
            }
            if text.as_bytes().get(end) == Some(&b'\n') && end > 0 && text.as_bytes()[end - 1] == b'\r' {
                end += 1;
            }
            let new = PIECES[random.below(PIECES.len())];
            let range = json!({ "start": position(&text, start, utf8), "end": position(&text, end, utf8) });
            changes.push(json!({ "range": range, "text": new }));
            text.replace_range(start..end, new);
        }
        version += 1;
        let document = json!({ "uri": "file:///w/a.rs", "version": version });
        client
            .notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }))
            .await;
    }
    // Requests are read in the order of the wire, so all edits are in.
    client.request("reverie/session/cancel", json!({ "sessionId": "" })).await;
    let workspace = client.server.workspace();
    assert_eq!(workspace.document_text(Path::new("/w/a.rs")), Some(text));
    assert_eq!(workspace.documents()[0].version, version);
    client.notify("textDocument/didClose", json!({ "textDocument": { "uri": "file:///w/a.rs" } })).await;
    client.request("reverie/session/cancel", json!({ "sessionId": "" })).await;
    assert!(client.server.workspace().documents().is_empty());
}

#[tokio::test]
async fn ten_thousand_edits_arrive_in_utf8() {
    edits_arrive(true).await;
}

#[tokio::test]
async fn ten_thousand_edits_arrive_in_utf16() {
    edits_arrive(false).await;
}
