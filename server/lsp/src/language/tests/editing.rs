//! Edits of several files: each is meant for the text as it is at that moment, and nothing is lost.

use super::*;

/// What was remembered before the disk changed is not what counts.
const LATER: &str = "# Memory\n\nÜber alles 😀:\n- [Auth](auth.md) — how to log in\n";

async fn with_an_index_that_has_just_changed() -> Desk {
    let mut desk = Desk::new(FILES).await;
    desk.ask("textDocument/hover", "memory/MEMORY.md", at(1, 4)).await;
    desk.write("memory/MEMORY.md", LATER);
    desk
}

/// The text of a file that is not open, after an edit of it.
pub(super) fn applied(text: &str, edits: &Value) -> String {
    let mut text = text.to_owned();
    for edit in edits.as_array().unwrap().iter().rev() {
        let offset = |place: &Value| {
            let (line, character) =
                (place["line"].as_u64().unwrap() as usize, place["character"].as_u64().unwrap() as usize);
            let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
            let line: Vec<u16> = text[start..].encode_utf16().take(character).collect();
            start + String::from_utf16(&line).unwrap().len()
        };
        let range = offset(&edit["range"]["start"])..offset(&edit["range"]["end"]);
        text.replace_range(range, edit["newText"].as_str().unwrap());
    }
    text
}

#[tokio::test]
async fn a_rename_goes_by_the_text_as_it_is() {
    let mut desk = with_an_index_that_has_just_changed().await;
    let params = json!({ "position": { "line": 3, "character": 10 }, "newName": "login.md" });
    let renamed = desk.ask("textDocument/rename", "memory/MEMORY.md", params).await;
    let edits = &renamed["documentChanges"][0]["edits"];
    assert_eq!(applied(LATER, edits), LATER.replace("auth.md", "login.md"), "{renamed}");
    desk.write("memory/MEMORY.md", "- [Auth](auth.md)\n");
    let params = json!({ "position": { "line": 1, "character": 8 }, "newName": "Login" });
    let renamed = desk.ask("textDocument/rename", "memory/auth.md", params).await;
    let edits = &renamed["documentChanges"][0]["edits"];
    assert_eq!(applied("- [Auth](auth.md)\n", edits), "- [Login](auth.md)\n", "{renamed}");
}

#[tokio::test]
async fn a_move_goes_by_the_text_as_it_is() {
    let mut desk = with_an_index_that_has_just_changed().await;
    let (old, new) = (desk.uri("memory/auth.md"), desk.uri("memory/login.md"));
    let moves = json!({ "files": [{ "oldUri": old, "newUri": new }] });
    let edit = desk.client.request("workspace/willRenameFiles", moves).await;
    let edits = &edit["result"]["documentChanges"][0]["edits"];
    assert_eq!(applied(LATER, edits), LATER.replace("auth.md", "login.md"), "{edit}");
}

#[tokio::test]
async fn an_entry_is_added_to_the_index_as_it_is() {
    let mut desk = Desk::new(FILES).await;
    desk.ask("textDocument/hover", "memory/MEMORY.md", at(1, 4)).await;
    desk.write("memory/MEMORY.md", "ü\n");
    let here = json!({ "range": over(0, 0, 0), "context": { "diagnostics": [] } });
    let actions = desk.ask("textDocument/codeAction", "memory/auth.md", here).await;
    let mut actions = actions.as_array().unwrap().iter();
    let added = actions.find(|action| action["title"] == "Add it to MEMORY.md").unwrap();
    let edits = &added["edit"]["documentChanges"][0]["edits"];
    assert_eq!(applied("ü\n", edits), "ü\n- [Auth](auth.md) — How to log in\n", "{added}");
}

#[tokio::test]
async fn a_rename_goes_by_what_is_typed_and_not_saved() {
    let mut desk = Desk::new(FILES).await;
    let typed = "\r\n😀 [it][a]\r\n\r\n[a]: auth.md\r\n- [Auth](auth.md)";
    desk.open("memory/MEMORY.md", typed).await;
    let params = json!({ "position": { "line": 3, "character": 6 }, "newName": "login" });
    let renamed = desk.ask("textDocument/rename", "memory/MEMORY.md", params).await;
    let changed = &renamed["documentChanges"][0];
    assert_eq!(changed["textDocument"]["version"], 1, "{renamed}");
    assert_eq!(applied(typed, &changed["edits"]), typed.replace("auth.md", "login.md"), "{renamed}");
}

#[tokio::test]
async fn a_byte_order_mark_is_no_character_of_the_first_line() {
    let mut desk = Desk::new("//- memory/auth.md\nx\n").await;
    desk.write("memory/MEMORY.md", "\u{feff}- [Auth](auth.md)\n");
    let (old, new) = (desk.uri("memory/auth.md"), desk.uri("memory/login.md"));
    let moves = json!({ "files": [{ "oldUri": old, "newUri": new }] });
    let edit = desk.client.request("workspace/willRenameFiles", moves).await;
    let edits = &edit["result"]["documentChanges"][0]["edits"];
    assert_eq!(applied("- [Auth](auth.md)\n", edits), "- [Auth](login.md)\n", "{edit}");
}

#[tokio::test]
async fn what_is_too_large_to_be_kept_is_neither_merged_nor_deleted() {
    let mut desk = Desk::new("//- memory/MEMORY.md\n- [A](a.md)\n- [B](b.md)\n//- memory/b.md\nmore\n").await;
    let large = "x".repeat((8 << 20) + 1);
    desk.write("memory/a.md", &large);
    for (command, argument) in [
        ("reverie.memory.merge", json!({ "path": "b.md", "into": "a.md" })),
        ("reverie.memory.merge", json!({ "path": "a.md", "into": "b.md" })),
        ("reverie.memory.delete", json!({ "path": "a.md" })),
    ] {
        let answer = desk.try_to_run(&json!({ "command": command, "arguments": [argument] })).await;
        let words = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{command}: {answer}"));
        assert!(words.contains("a.md is larger than 8 MB"), "{words}");
    }
    // Nor what would be, together.
    let half = "y".repeat(5 << 20);
    desk.write("memory/c.md", &half);
    desk.write("memory/d.md", &format!("{half}z"));
    let both = json!({ "path": "c.md", "into": "d.md" });
    let answer = desk.try_to_run(&json!({ "command": "reverie.memory.merge", "arguments": [both] })).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("larger than 8 MB"), "{answer}");
    let on_disk = |name: &str| fs::read_to_string(desk.memory.join(name)).unwrap();
    assert!(on_disk("a.md") == large && on_disk("c.md") == half, "nothing is lost");
    assert_eq!(on_disk("b.md"), "more\n");
    assert_eq!(on_disk("MEMORY.md"), "- [A](a.md)\n- [B](b.md)\n");
}

#[tokio::test]
async fn an_index_that_cannot_be_written_back_stays_as_it_is() {
    let mut desk = Desk::new("//- src/auth.rs\npub fn login() {}\n//- memory/b.md\nmore\n").await;
    fs::write(desk.path("memory/MEMORY.md"), b"- [B](b.md) \xff\n").unwrap();
    let here =
        json!({ "uri": desk.uri("src/auth.rs"), "range": over(0, 8, 8), "text": "Never call it twice" });
    for (command, argument) in
        [("reverie.memory.remember", here), ("reverie.memory.delete", json!({ "path": "b.md" }))]
    {
        let answer = desk.try_to_run(&json!({ "command": command, "arguments": [argument] })).await;
        let words = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{command}: {answer}"));
        assert!(words.contains("MEMORY.md is not UTF-8 text"), "{words}");
    }
    assert_eq!(fs::read(desk.path("memory/MEMORY.md")).unwrap(), b"- [B](b.md) \xff\n");
    let names = fs::read_dir(&desk.memory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.filter(|name| name != ".history").collect();
    names.sort();
    assert_eq!(names, ["MEMORY.md", "b.md"]);
}

#[tokio::test]
async fn an_index_that_is_not_there_is_made_before_it_is_edited() {
    let memory = "//- memory/auth.md\n---\nname: Auth\ndescription: How to log in\n---\nx\n";
    let here = json!({ "range": over(0, 0, 0), "context": { "diagnostics": [] } });
    let added = |actions: Value| {
        let mut actions = actions.as_array().unwrap().clone().into_iter();
        actions.find(|action| action["title"] == "Add it to MEMORY.md").unwrap()["edit"].clone()
    };
    let mut desk = Desk::new(memory).await;
    let edit = added(desk.ask("textDocument/codeAction", "memory/auth.md", here.clone()).await);
    expect![[r#"{"documentChanges":[{"kind":"create","uri":"M:/MEMORY.md","options":{"ignoreIfExists":true}},{"textDocument":{"uri":"M:/MEMORY.md","version":null},"edits":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"newText":"- [Auth](auth.md) — How to log in\n"}]}]}"#]].assert_eq(&desk.shown(&edit));
    // One that makes no files for a server does what it can.
    let mut capabilities = modern();
    capabilities["workspace"]["workspaceEdit"]["resourceOperations"] = json!([]);
    let mut desk = Desk::with(memory, capabilities).await;
    let edit = added(desk.ask("textDocument/codeAction", "memory/auth.md", here).await);
    assert_eq!(edit["documentChanges"].as_array().unwrap().len(), 1, "{edit}");
}
