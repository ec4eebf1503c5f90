//! In source files: outlines, what is told unasked, what is forgotten, files that come.

use super::*;

async fn pushed(desk: &mut Desk, path: &str) -> Value {
    let uri = desk.uri(path);
    let is_it = |told: &Value| {
        told["method"] == "textDocument/publishDiagnostics" && told["params"]["uri"] == json!(uri)
    };
    desk.client.receive_where(is_it).await["params"]["diagnostics"].clone()
}

async fn hinted_lines(desk: &mut Desk, path: &str) -> Vec<u64> {
    let whole =
        json!({ "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } } });
    let hints = desk.ask("textDocument/inlayHint", path, whole).await;
    hints.as_array().unwrap().iter().map(|hint| hint["position"]["line"].as_u64().unwrap()).collect()
}

/// The editor's answer, and the lines of the hints after it.
async fn outlined(symbols: Value) -> Vec<u64> {
    let mut capabilities = modern();
    capabilities["experimental"]["reverie"]["editorSymbols"] = json!(true);
    let source = "\n// Login: see (*T).Login\nfunc Login(t *T) {}\n";
    let memory = "//- memory/a.md\n---\nname: A\n---\nNever call `Login()` twice.\n";
    let mut desk = Desk::with(&format!("{memory}//- a.go\n{source}"), capabilities).await;
    desk.open("a.go", source).await;
    hinted_lines(&mut desk, "a.go").await;
    let asked = desk.client.receive_where(|told| told["method"] == "reverie/editor/symbols").await;
    let symbols: Vec<Value> = symbols
        .as_array()
        .unwrap()
        .iter()
        .map(|symbol| {
            let mut symbol = symbol.clone();
            symbol["uri"] = json!(desk.uri("a.go"));
            symbol
        })
        .collect();
    let result = json!({ "symbols": symbols });
    desk.client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })).await;
    desk.client.receive_where(|told| told["method"] == "workspace/inlayHint/refresh").await;
    hinted_lines(&mut desk, "a.go").await
}

#[tokio::test]
async fn an_outline_says_where_the_name_stands_and_an_empty_one_says_nothing() {
    let whole = json!({ "start": { "line": 1, "character": 0 }, "end": { "line": 2, "character": 19 } });
    let method = json!({ "name": "(*T).Login", "kind": 6, "range": whole, "selectionRange": over(2, 5, 10) });
    assert_eq!(outlined(json!([method])).await, [2]);
    let other = json!({ "name": "Logout", "kind": 6, "range": whole });
    assert_eq!(outlined(json!([other])).await, [0; 0]);
    // By the words of the text, of which none is behind `func` here but this one.
    assert_eq!(outlined(json!([])).await, [2]);
}

#[tokio::test]
async fn who_does_not_ask_is_told_what_a_source_file_lacks_as_it_is_typed() {
    let capabilities = json!({ "textDocument": { "codeLens": {}, "publishDiagnostics": {} } });
    let mut desk = Desk::with(FILES, capabilities).await;
    desk.open("src/auth.rs", "fn logout() {}\n").await;
    let told = pushed(&mut desk, "src/auth.rs").await;
    assert_eq!(told[0]["code"], "stale-reference", "{told}");
    let change = |text: &str, version: u32| json!({ "textDocument": { "uri": desk.uri("src/auth.rs"), "version": version }, "contentChanges": [{ "text": text }] });
    let (with, without) = (change("fn login() {}\n", 2), change("\n", 3));
    desk.client.notify("textDocument/didChange", with).await;
    assert_eq!(pushed(&mut desk, "src/auth.rs").await, json!([]));
    desk.client.notify("textDocument/didChange", without).await;
    assert_eq!(pushed(&mut desk, "src/auth.rs").await.as_array().unwrap().len(), 1);
    let close = json!({ "textDocument": { "uri": desk.uri("src/auth.rs") } });
    desk.client.notify("textDocument/didClose", close).await;
    assert_eq!(pushed(&mut desk, "src/auth.rs").await, json!([]));
}

#[tokio::test]
async fn what_is_forgotten_is_shown_where_it_was() {
    let mut desk = Desk::new(FILES).await;
    desk.open("src/auth.rs", "use std::io;\n\npub fn login() {}\n").await;
    hinted_lines(&mut desk, "src/auth.rs").await;
    desk.run(&json!({ "command": "reverie.memory.delete", "arguments": [{ "path": "auth.md" }] })).await;
    let shown = desk.client.receive_where(|told| told["method"] == "reverie/memory/inline").await;
    let places = shown["params"]["places"].as_array().unwrap();
    let lines: Vec<&Value> = places.iter().map(|place| &place["range"]["start"]["line"]).collect();
    assert_eq!(lines, [&json!(0), &json!(2)], "{shown}");
    assert_eq!(places[0]["text"], "◆ Forgotten: Auth");
}

#[tokio::test]
async fn a_file_that_was_made_later_is_not_gone() {
    let memory = "//- memory/MEMORY.md\n- [A](a.md)\n//- memory/a.md\n---\nname: A\ndescription: d\n---\nSee `deep/new.rs`.\n";
    let mut desk = Desk::new(&format!("{memory}//- src/main.rs\n\n")).await;
    let found = desk.ask("textDocument/diagnostic", "memory/a.md", json!({})).await;
    assert_eq!(found["items"][0]["code"], "stale-reference", "{found}");
    desk.write("src/deep/new.rs", "");
    let saved = json!({ "textDocument": { "uri": desk.uri("src/deep/new.rs") } });
    desk.client.notify("textDocument/didSave", saved).await;
    desk.client.receive_where(|told| told["method"] == "workspace/diagnostic/refresh").await;
    let found = desk.ask("textDocument/diagnostic", "memory/a.md", json!({})).await;
    assert_eq!(found["items"], json!([]));
}

#[tokio::test]
async fn a_planned_file_is_no_news_and_is_not_said_to_be_gone() {
    let mut desk = Desk::new(FILES).await;
    desk.ask("textDocument/diagnostic", "memory/auth.md", json!({})).await;
    desk.write(
        "memory/plan.md",
        "---\nname: Plan\ndescription: d\n---\nWrite `src/planned.rs`, then `src/auth.rs` goes.\n",
    );
    desk.client.receive_where(|told| told["method"] == "workspace/diagnostic/refresh").await;
    fs::remove_file(desk.path("src/auth.rs")).unwrap();
    let is_it = |told: &Value| told["method"] == "reverie/memory/event" && told["params"]["kind"] == "stale";
    let told = desk.client.receive_where(is_it).await;
    assert!(!told.to_string().contains("planned"), "{told}");
}

#[tokio::test]
async fn the_editor_is_asked_to_tell_which_files_come_and_go() {
    let capabilities = json!({ "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } } });
    let mut desk = Desk::with("", capabilities).await;
    let asked = desk.client.receive_where(|told| told["method"] == "client/registerCapability").await;
    expect![[r#"[{"id":"reverie/workspace/didChangeWatchedFiles","method":"workspace/didChangeWatchedFiles","registerOptions":{"watchers":[{"globPattern":"**/*","kind":5}]}}]"#]]
        .assert_eq(&asked["params"]["registrations"].to_string());
}

#[tokio::test]
async fn a_memory_is_stale_when_its_file_lacks_the_symbol_saved_or_not() {
    let mut desk = Desk::new(&FILES.replace(", see `src/old.rs`", "")).await;
    let found = desk.ask("textDocument/diagnostic", "memory/auth.md", json!({})).await;
    assert_eq!(found["items"], json!([]));
    desk.open("src/auth.rs", "pub fn enter() {}\n").await;
    let found = desk.ask("textDocument/diagnostic", "memory/auth.md", json!({})).await;
    assert_eq!(
        found["items"][0]["message"],
        "there is no login in src/auth.rs: check it, or say when it was"
    );
    let lenses = desk.ask("textDocument/codeLens", "memory/auth.md", json!({})).await;
    assert!(lenses.to_string().contains("stale: login() is gone"), "{lenses}");
}
