//! Whatever is typed: every request is answered, and every place of an answer is in the text. What the features make of
//! random texts is tested in `language`; here, that a text reaches them as the editor has it.

use super::*;

const TYPED: [(&str, &str); 6] = [
    (
        "memory/typed.md",
        "\u{feff}---\r\nname: [\"ü😀\r\ndescription: {a: b\r\ntype: pro\r\n---\r\n\r\n# 😀\r\nSee [a](auth.md) [b][b] `src/auth.rs:12`, yesterday 👩‍👩‍👧.\r\n\r\n[b]: <auth.md\r\n",
    ),
    (
        "memory/MEMORY.md",
        "# Ü\r\n* [😀](auth.md) - x\r\n- [half](\r\n- [Gone](<go ne.md>)\n\r- [A][a]\r\n\n[a]: auth.md 'x",
    ),
    ("CLAUDE.md", "# 😀 Ü\r\n@docs/ü.md [x](docs/\r\n```\r\n@no\r\n<!-- 😀\r\n@"),
    (".claude/rules/r.md", "---\npaths: [\"*.rs\", \n---\n@../😀"),
    (".claude/settings.json", "{\r\n  \"ü😀\": \"\\\", \"inline\": { \"lens\": tr"),
    ("src/auth.rs", "// 😀\r\npub fn login() { \"ü\" } /* 😀 */ login"),
];

fn requests(line: u32, character: u32) -> Vec<(&'static str, Value)> {
    let range =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": line, "character": character } });
    vec![
        ("hover", at(line, character)),
        ("completion", at(line, character)),
        ("definition", at(line, character)),
        (
            "references",
            json!({ "position": { "line": line, "character": character }, "context": { "includeDeclaration": true } }),
        ),
        ("documentLink", json!({})),
        ("prepareRename", at(line, character)),
        ("documentSymbol", json!({})),
        ("foldingRange", json!({})),
        ("formatting", json!({ "options": { "tabSize": 2, "insertSpaces": true } })),
        ("codeLens", json!({})),
        ("codeAction", json!({ "range": range, "context": { "diagnostics": [] } })),
        ("inlayHint", json!({ "range": range })),
        ("diagnostic", json!({})),
    ]
}

/// Every position of an answer that is about the document itself.
fn positions(answer: &Value, own: &str, found: &mut Vec<(u64, u64)>) {
    match answer {
        Value::Object(fields) => {
            let uri = fields.get("uri").or_else(|| answer.pointer("/textDocument/uri"));
            if uri.is_some_and(|uri| uri != own) {
                return;
            }
            if let (Some(line), Some(character)) = (answer["line"].as_u64(), answer["character"].as_u64()) {
                found.push((line, character));
            }
            fields.values().for_each(|value| positions(value, own, found));
        }
        Value::Array(items) => items.iter().for_each(|item| positions(item, own, found)),
        _ => {}
    }
}

/// Where lines end, as LSP has it: in UTF-16.
fn lines(text: &str) -> Vec<u64> {
    let mut lines = vec![0];
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' | '\n' => lines.push(0),
            character => *lines.last_mut().unwrap() += character.len_utf16() as u64,
        }
    }
    lines
}

#[tokio::test]
async fn every_text_that_is_being_typed_is_answered_in_its_own_places() {
    let mut desk = Desk::new(FILES).await;
    for (path, whole) in TYPED {
        desk.open(path, "").await;
        let own = desk.uri(path);
        let mut version = 1;
        for (end, _) in whole.char_indices().skip(1).step_by(3).chain([(whole.len(), ' ')]) {
            let text = &whole[..end];
            version += 1;
            let change = json!({ "textDocument": { "uri": own, "version": version }, "contentChanges": [{ "text": text }] });
            desk.client.notify("textDocument/didChange", change).await;
            let lines = lines(text);
            let (line, character) = (lines.len() as u32 - 1, *lines.last().unwrap() as u32);
            for (method, params) in requests(line, character) {
                let answer = desk.ask(&format!("textDocument/{method}"), path, params).await;
                let mut found = Vec::new();
                positions(&answer, &own, &mut found);
                let is_inside = |(line, character): &(u64, u64)| {
                    lines.get(*line as usize).is_some_and(|end| character <= end)
                };
                assert!(found.iter().all(is_inside), "{method} of {text:?}: {answer}");
            }
        }
    }
}

#[tokio::test]
async fn texts_of_five_megabytes_are_answered() {
    let mut desk = Desk::new(FILES).await;
    for (path, line) in [
        ("memory/typed.md", "- [A](auth.md) `src/gone.rs` [b]: ü 😀\r\n"),
        ("memory/MEMORY.md", "- [A](auth.md) — ü 😀\r\n"),
        ("CLAUDE.md", "# 😀\r\n@docs/gone.md\r\n"),
        (".claude/settings.json", "{ \"a\": [\r\n"),
        ("src/auth.rs", "pub fn login() { login() } // ü 😀\r\n"),
    ] {
        desk.open(path, &line.repeat(5 * 1024 * 1024 / line.len())).await;
        for (method, params) in requests(3, 3) {
            desk.ask(&format!("textDocument/{method}"), path, params).await;
        }
    }
    // The others are known as ever.
    let hints = desk.ask("textDocument/definition", "memory/auth.md", at(6, 24)).await;
    assert!(hints.to_string().contains("src/auth.rs"), "{hints}");
}
