//! What is known follows what happens: files that go, memories that move, switches, commands.

use super::*;

pub(super) async fn event(desk: &mut Desk, kind: &str) -> Value {
    let is_it = |told: &Value| told["method"] == "reverie/memory/event" && told["params"]["kind"] == kind;
    desk.client.receive_where(is_it).await["params"].clone()
}

pub(super) async fn asked(desk: &mut Desk, method: &str) -> Value {
    let asked = desk.client.receive_where(|told| told["method"] == method).await;
    desk.client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": null })).await;
    asked["params"].clone()
}

pub(super) async fn until_it_says(desk: &Desk, path: &str, words: &str) {
    let says = async {
        while !fs::read_to_string(desk.path(path)).unwrap().contains(words) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), says).await.expect(words);
}

#[tokio::test]
async fn a_memory_is_stale_within_a_second_and_the_fix_leads_to_where_the_file_is() {
    let mut desk = Desk::new(&FILES.replace(", see `src/old.rs`", "")).await;
    let hints = json!({ "range": over(0, 0, 0) });
    desk.ask("textDocument/inlayHint", "src/auth.rs", hints).await;
    let began = std::time::Instant::now();
    fs::create_dir_all(desk.path("src/deep")).unwrap();
    fs::rename(desk.path("src/auth.rs"), desk.path("src/deep/auth.rs")).unwrap();
    let stale = event(&mut desk, "stale").await;
    let took = began.elapsed();
    assert_eq!(stale["files"][0]["reason"], "src/auth.rs is gone", "{stale}");
    // A busy machine takes longer than a second.
    assert!(took.as_secs() < 3, "{took:?}");
    asked(&mut desk, "workspace/diagnostic/refresh").await;
    asked(&mut desk, "workspace/codeLens/refresh").await;
    let here = json!({ "range": over(6, 25, 25), "context": { "diagnostics": [] } });
    let actions = desk.ask("textDocument/codeAction", "memory/auth.md", here).await;
    assert_eq!(actions[0]["title"], "Point to src/deep/auth.rs", "{actions}");
    assert_eq!(actions[0]["edit"]["documentChanges"][0]["edits"][0]["newText"], "src/deep/auth.rs");
    assert_eq!(actions[1]["title"], "Remove the reference");
    let lenses = desk.ask("textDocument/codeLens", "memory/auth.md", json!({})).await;
    assert!(lenses.to_string().contains("stale: src/auth.rs is gone"), "{lenses}");
    // It is there again.
    fs::rename(desk.path("src/deep/auth.rs"), desk.path("src/auth.rs")).unwrap();
    asked(&mut desk, "workspace/diagnostic/refresh").await;
    let found = desk.ask("textDocument/diagnostic", "memory/auth.md", json!({})).await;
    assert_eq!(found["items"], json!([]));
}

#[tokio::test]
async fn a_source_file_that_the_editor_renames_is_followed_and_one_that_it_deletes_is_let_go() {
    // Another file has the new name, and another the old one: only the editor knows which it is.
    let others = "//- a/session.rs\n\n//- b/auth.rs\n\n//- c/auth.rs\n\n";
    let mut desk = Desk::new(&format!("{}{others}", FILES.replace(", see `src/old.rs`", ""))).await;
    desk.ask("textDocument/inlayHint", "src/auth.rs", json!({ "range": over(0, 0, 0) })).await;
    fs::rename(desk.path("src/auth.rs"), desk.path("src/session.rs")).unwrap();
    let moves =
        json!({ "files": [{ "oldUri": desk.uri("src/auth.rs"), "newUri": desk.uri("src/session.rs") }] });
    desk.client.notify("workspace/didRenameFiles", moves).await;
    let stale = event(&mut desk, "stale").await;
    assert_eq!(stale["files"][0]["reason"], "src/auth.rs is gone", "{stale}");
    let here = json!({ "range": over(6, 25, 25), "context": { "diagnostics": [] } });
    let actions = desk.ask("textDocument/codeAction", "memory/auth.md", here.clone()).await;
    assert_eq!(actions[0]["title"], "It is src/session.rs now", "{actions}");
    assert_eq!(actions[0]["isPreferred"], true);
    let edit = &actions[0]["edit"]["documentChanges"][0]["edits"][0];
    assert_eq!((&edit["newText"], &edit["range"]), (&json!("src/session.rs"), &over(6, 19, 30)));
    // Followed, and then deleted.
    let text = fs::read_to_string(desk.path("memory/auth.md")).unwrap();
    desk.open("memory/auth.md", &text.replace("src/auth.rs", "src/session.rs")).await;
    let mended = desk.ask("textDocument/diagnostic", "memory/auth.md", json!({})).await;
    assert_eq!(mended["items"], json!([]), "{mended}");
    fs::remove_file(desk.path("src/session.rs")).unwrap();
    let gone = json!({ "changes": [{ "uri": desk.uri("src/session.rs"), "type": 3 }] });
    desk.client.notify("workspace/didChangeWatchedFiles", gone).await;
    let stale = event(&mut desk, "stale").await;
    assert_eq!(stale["files"][0]["reason"], "src/session.rs is gone", "{stale}");
    let actions = desk.ask("textDocument/codeAction", "memory/auth.md", here).await;
    assert_eq!(actions[0]["title"], "Point to a/session.rs", "the only one that has its name: {actions}");
    assert_ne!(actions[0]["isPreferred"], true, "{actions}");
    assert_eq!(actions[1]["title"], "Remove the reference");
    assert_eq!(actions[1]["edit"]["documentChanges"][0]["textDocument"]["version"], 1);
}

#[tokio::test]
async fn a_memory_that_moves_takes_its_entries_along() {
    let mut desk = Desk::new(FILES).await;
    let (old, new) = (desk.uri("memory/auth.md"), desk.uri("memory/login.md"));
    let moves = json!({ "files": [{ "oldUri": old, "newUri": new }] });
    let edit = desk.client.request("workspace/willRenameFiles", moves.clone()).await;
    expect![[r#"{"documentChanges":[{"textDocument":{"uri":"M:/MEMORY.md","version":null},"edits":[{"range":{"start":{"line":1,"character":9},"end":{"line":1,"character":16}},"newText":"login.md"}]}]}"#]].assert_eq(&desk.shown(&edit["result"]));
    // One who does not ask before.
    fs::rename(desk.path("memory/auth.md"), desk.path("memory/login.md")).unwrap();
    desk.client.notify("workspace/didRenameFiles", moves).await;
    until_it_says(&desk, "memory/MEMORY.md", "[Auth](login.md)").await;
}

#[tokio::test]
async fn what_is_done_to_a_memory_goes_through_its_history() {
    let twin = "//- memory/b.md\n---\nname: B\n---\nThe very same words about logging in.\n//- memory/a.md\n---\nname: A\n---\nThe very same words about logging in.\n";
    let mut desk = Desk::new(&format!("//- memory/MEMORY.md\n- [A](a.md)\n- [B](b.md)\n{twin}")).await;
    let here = json!({ "range": over(3, 0, 0), "context": { "diagnostics": [] } });
    let actions = desk.ask("textDocument/codeAction", "memory/b.md", here.clone()).await;
    let merge = actions.as_array().unwrap().iter().find(|action| action["title"] == "Merge this into a.md");
    let command = merge.unwrap_or_else(|| panic!("{actions}"))["command"].clone();
    desk.run(&command).await;
    assert!(!desk.path("memory/b.md").exists());
    assert_eq!(fs::read_to_string(desk.path("memory/MEMORY.md")).unwrap(), "- [A](a.md)\n");
    let gone = event(&mut desk, "deleted").await;
    let undo = json!({ "command": "reverie.memory.undo", "arguments": [{ "changeId": gone["files"][0]["changeId"] }] });
    desk.run(&undo).await;
    assert!(desk.path("memory/b.md").exists());
    let actions = desk.ask("textDocument/codeAction", "memory/b.md", here).await;
    let delete = actions.as_array().unwrap().iter().find(|action| action["title"] == "Delete this memory");
    let command = delete.unwrap()["command"].clone();
    desk.run(&command).await;
    assert!(!desk.path("memory/b.md").exists());
}

#[tokio::test]
async fn a_memory_goes_with_its_entries_in_every_index_and_moves_with_them() {
    let files = "//- memory/MEMORY.md\n- [A](team/a.md)\n- [B](b.md)\n//- memory/team/MEMORY.md\n- [A](./a.md)\n- [B](../b.md)\n//- memory/team/a.md\nx\n//- memory/b.md\ny\n";
    let mut desk = Desk::new(files).await;
    let read = |desk: &Desk, path: &str| fs::read_to_string(desk.path(path)).unwrap();
    desk.run(&json!({ "command": "reverie.memory.delete", "arguments": [{ "path": "team/a.md" }] })).await;
    assert_eq!(read(&desk, "memory/MEMORY.md"), "- [B](b.md)\n");
    assert_eq!(read(&desk, "memory/team/MEMORY.md"), "- [B](../b.md)\n");
    // One who does not ask before.
    fs::rename(desk.path("memory/b.md"), desk.path("memory/c d.md")).unwrap();
    let moves =
        json!({ "files": [{ "oldUri": desk.uri("memory/b.md"), "newUri": desk.uri("memory/c d.md") }] });
    desk.client.notify("workspace/didRenameFiles", moves).await;
    until_it_says(&desk, "memory/team/MEMORY.md", "- [B](<../c d.md>)\n").await;
    until_it_says(&desk, "memory/MEMORY.md", "- [B](<c d.md>)\n").await;
}

#[tokio::test]
async fn something_is_remembered_of_a_place_and_shown_there() {
    let mut desk = Desk::new("//- src/auth.rs\npub fn login() {}\n").await;
    desk.open("src/auth.rs", "pub fn login() {}\n").await;
    let here = json!({ "range": over(0, 8, 8), "context": { "diagnostics": [] } });
    let actions = desk.ask("textDocument/codeAction", "src/auth.rs", here).await;
    let mut command = actions[0]["command"].clone();
    assert_eq!(command["command"], "reverie.memory.remember");
    command["arguments"][0]["text"] = json!("Never call it twice");
    let saved = desk.run(&command).await;
    let text = fs::read_to_string(saved["path"].as_str().unwrap()).unwrap();
    assert!(text.contains("About `login()` in `src/auth.rs`."), "{text}");
    assert!(fs::read_to_string(desk.path("memory/MEMORY.md")).unwrap().contains("Never call it twice"));
    let shown = desk.client.receive_where(|told| told["method"] == "reverie/memory/inline").await;
    let place = &shown["params"]["places"][0];
    assert_eq!(place["uri"], json!(desk.uri("src/auth.rs")), "{shown}");
    assert_eq!(place["text"], "◆ Remembered: Never call it twice");
    assert!(place["changeId"].is_string());
    // Without words it is begun, and shown.
    let here = json!({ "uri": desk.uri("src/auth.rs"), "range": over(0, 0, 0) });
    desk.run(&json!({ "command": "reverie.memory.remember", "arguments": [here] })).await;
    let shown = asked(&mut desk, "window/showDocument").await;
    expect![[r#"{"uri":"M:/about-src-auth-rs-1.md","takeFocus":true}"#]].assert_eq(&desk.shown(&shown));
}

#[tokio::test]
async fn the_editor_is_told_for_which_files_to_ask_and_switches_apply_at_once() {
    let known = json!({ "dynamicRegistration": true });
    let capabilities = json!({ "textDocument": { "hover": known, "inlayHint": known, "completion": known } });
    let mut desk = Desk::with("", capabilities).await;
    let methods = |params: &Value, field: &str| {
        let mut methods: Vec<String> = params[field]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["method"].as_str().unwrap().to_owned())
            .collect();
        methods.sort();
        methods
    };
    let registered = asked(&mut desk, "client/registerCapability").await;
    assert_eq!(
        methods(&registered, "registrations"),
        ["textDocument/completion", "textDocument/hover", "textDocument/inlayHint"]
    );
    let text = desk.shown(&registered);
    assert!(text.contains("**/CLAUDE.md") && text.contains("M:/**/*.md") && text.contains("W:/**"), "{text}");
    let settings = json!({ "settings": { "reverie": { "inline": { "hover": false, "hints": false } } } });
    desk.client.notify("workspace/didChangeConfiguration", settings).await;
    let gone = asked(&mut desk, "client/unregisterCapability").await;
    assert_eq!(methods(&gone, "unregisterations"), ["textDocument/hover", "textDocument/inlayHint"]);
    desk.write("CLAUDE.md", "x\n");
    assert_eq!(desk.ask("textDocument/hover", "CLAUDE.md", at(0, 0)).await, Value::Null);
    let settings = json!({ "settings": { "reverie": { "inline": {} } } });
    desk.client.notify("workspace/didChangeConfiguration", settings).await;
    let again = asked(&mut desk, "client/registerCapability").await;
    assert_eq!(methods(&again, "registrations"), ["textDocument/hover", "textDocument/inlayHint"]);
    assert_ne!(desk.ask("textDocument/hover", "CLAUDE.md", at(0, 0)).await, Value::Null);
}

#[tokio::test]
async fn what_is_recalled_learnt_and_dreamt_is_told_at_its_place() {
    use agent::{MemoryActor, MemoryEvent, MemoryEventKind, MemoryFile};
    let mut desk = Desk::new(FILES).await;
    desk.open("src/auth.rs", "use std::io;\n\npub fn login() {}\n").await;
    let text = fs::read_to_string(desk.path("memory/auth.md")).unwrap();
    desk.open("memory/auth.md", &text).await;
    let file = |change: Option<&str>| MemoryFile {
        path: desk.path("memory/auth.md"),
        name: "Auth".to_owned(),
        kind: None,
        reason: String::new(),
        change: change.map(str::to_owned),
        diff: None,
    };
    let events = [
        (MemoryEventKind::Recalled, MemoryActor::Recall, file(None)),
        (MemoryEventKind::Saved, MemoryActor::Extraction, file(Some("1"))),
        (MemoryEventKind::Updated, MemoryActor::Dream, file(Some("2"))),
    ];
    let mut shown = String::new();
    for (kind, by, file) in events {
        let event = MemoryEvent { kind, session: None, turn: None, by, files: vec![file] };
        desk.client.server.language().happened(&event);
        let told = desk.client.receive_where(|told| told["method"] == "reverie/memory/inline").await;
        for place in told["params"]["places"].as_array().unwrap() {
            let (uri, line) = (desk.shown(&place["uri"]), &place["range"]["start"]["line"]);
            shown.push_str(&format!("{uri} {line} {} {}\n", place["text"], place["changeId"]));
        }
    }
    expect![[r#"
        "M:/auth.md" 0 "◆ Recalled: Auth" null
        "W:/src/auth.rs" 0 "◆ Recalled: Auth" null
        "W:/src/auth.rs" 2 "◆ Recalled: Auth" null
        "M:/auth.md" 0 "◆ Remembered from the session: Auth" "1"
        "W:/src/auth.rs" 0 "◆ Remembered from the session: Auth" "1"
        "W:/src/auth.rs" 2 "◆ Remembered from the session: Auth" "1"
        "M:/auth.md" 0 "◆ Updated by a dream: Auth" "2"
        "W:/src/auth.rs" 0 "◆ Updated by a dream: Auth" "2"
        "W:/src/auth.rs" 2 "◆ Updated by a dream: Auth" "2"
    "#]]
    .assert_eq(&shown);
}
