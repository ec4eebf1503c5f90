//! Memories that are open with unsaved changes: nothing is written under them, and nothing is lost.

use super::{keeping::until_it_says, *};

const TWO: &str = "//- src/auth.rs\npub fn login() {}\n//- memory/MEMORY.md\n- [A](a.md)\n- [B](b.md)\n//- memory/a.md\na\n//- memory/b.md\nb\n";

async fn type_in(desk: &mut Desk, path: &str, text: &str) {
    let before = fs::read_to_string(desk.path(path)).unwrap_or_default();
    desk.open(path, &before).await;
    let document = json!({ "uri": desk.uri(path), "version": 2 });
    let change = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
    desk.client.notify("textDocument/didChange", change).await;
}

async fn save(desk: &mut Desk, path: &str, text: &str) {
    desk.write(path, text);
    let saved = json!({ "textDocument": { "uri": desk.uri(path) } });
    desk.client.notify("textDocument/didSave", saved).await;
}

fn command(name: &str, argument: Value) -> Value {
    json!({ "command": format!("reverie.memory.{name}"), "arguments": [argument] })
}

fn read(desk: &Desk, path: &str) -> String {
    fs::read_to_string(desk.path(path)).unwrap()
}

async fn refused(desk: &mut Desk, name: &str, argument: Value) -> String {
    let answer = desk.try_to_run(&command(name, argument)).await;
    answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[tokio::test]
async fn two_memories_are_not_merged_while_one_of_them_is_being_written() {
    for (typed_in, words) in [
        ("memory/a.md", "a.md has unsaved changes; save or close it first"),
        ("memory/b.md", "b.md has unsaved changes; save or close it first"),
        ("memory/MEMORY.md", "MEMORY.md has unsaved changes; save or close it first"),
    ] {
        let mut desk = Desk::new(TWO).await;
        type_in(&mut desk, typed_in, "- [B](b.md) and more\n").await;
        let both = json!({ "path": "b.md", "into": "a.md" });
        assert_eq!(refused(&mut desk, "merge", both.clone()).await, words);
        assert_eq!((read(&desk, "memory/a.md"), read(&desk, "memory/b.md")), ("a\n".into(), "b\n".into()));
        save(&mut desk, typed_in, "- [B](b.md) and more\n").await;
        desk.run(&command("merge", both)).await;
        assert!(!desk.path("memory/b.md").exists());
    }
}

#[tokio::test]
async fn a_memory_is_not_deleted_under_an_index_that_is_being_written() {
    let mut desk = Desk::new(TWO).await;
    type_in(&mut desk, "memory/MEMORY.md", "- [A](a.md)\n- [B](b.md)\n- more\n").await;
    let words = refused(&mut desk, "delete", json!({ "path": "b.md" })).await;
    assert_eq!(words, "MEMORY.md has unsaved changes; save or close it first");
    assert!(desk.path("memory/b.md").exists());
    // One that no line of it names.
    desk.write("memory/c.md", "c\n");
    desk.run(&command("delete", json!({ "path": "c.md" }))).await;
    assert!(!desk.path("memory/c.md").exists());
}

#[tokio::test]
async fn what_is_taken_back_leaves_alone_what_is_being_written() {
    let mut desk = Desk::new(TWO).await;
    let merged = desk.run(&command("merge", json!({ "path": "b.md", "into": "a.md" }))).await;
    type_in(&mut desk, "memory/a.md", "a\n\nb\nand more\n").await;
    let undo = json!({ "changeId": merged["changeId"], "together": true });
    let undone = desk.run(&command("undo", undo)).await;
    expect![[r#"{"undone":["M:/b.md","M:/MEMORY.md"],"kept":[{"path":"M:/a.md","reason":"has unsaved changes; save or close it first"}]}"#]]
        .assert_eq(&desk.shown(&undone));
    assert_eq!(read(&desk, "memory/a.md"), "a\n\nb\n");
    assert_eq!(read(&desk, "memory/b.md"), "b\n");
}

#[tokio::test]
async fn what_was_done_is_taken_back_as_a_whole_by_the_change_that_it_told() {
    let mut desk = Desk::new(TWO).await;
    let before = read(&desk, "memory/MEMORY.md");
    let here = json!({ "uri": desk.uri("src/auth.rs"), "range": over(0, 8, 8), "text": "Never twice" });
    for (name, argument) in [
        ("merge", json!({ "path": "b.md", "into": "a.md" })),
        ("delete", json!({ "path": "b.md" })),
        ("remember", here),
    ] {
        let done = desk.run(&command(name, argument)).await;
        // Somebody else is quick.
        desk.client.request("reverie/memory/write", json!({ "path": "other.md", "content": name })).await;
        assert_ne!(read(&desk, "memory/MEMORY.md"), before);
        desk.run(&command("undo", json!({ "changeId": done["changeId"], "together": true }))).await;
        assert_eq!(read(&desk, "memory/MEMORY.md"), before, "{name}");
        assert_eq!((read(&desk, "memory/a.md"), read(&desk, "memory/b.md")), ("a\n".into(), "b\n".into()));
        assert_eq!(read(&desk, "memory/other.md"), name);
    }
}

/// The edit that the editor is asked for, as the text would be after it.
async fn edited(desk: &mut Desk, path: &str, typed: &str) -> String {
    let asked = desk.client.receive_where(|told| told["method"] == "workspace/applyEdit").await;
    let document = &asked["params"]["edit"]["documentChanges"][0];
    assert_eq!(document["textDocument"], json!({ "uri": desk.uri(path), "version": 2 }), "{asked}");
    let text = editing::applied(typed, &document["edits"]);
    let change = json!({ "textDocument": { "uri": desk.uri(path), "version": 3 }, "contentChanges": [{ "text": text }] });
    desk.client.notify("textDocument/didChange", change).await;
    desk.client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "applied": true } })).await;
    text
}

fn editing_client() -> Value {
    let mut capabilities = modern();
    capabilities["workspace"]["applyEdit"] = json!(true);
    capabilities
}

#[tokio::test]
async fn something_is_remembered_in_an_index_that_is_being_written_through_the_editor() {
    let mut desk = Desk::with(TWO, editing_client()).await;
    let typed = "- [A](a.md)\n- half a li";
    type_in(&mut desk, "memory/MEMORY.md", typed).await;
    let here = json!({ "uri": desk.uri("src/auth.rs"), "range": over(0, 8, 8), "text": "Never twice" });
    let saved = desk.run(&command("remember", here)).await;
    assert!(fs::read_to_string(saved["path"].as_str().unwrap()).unwrap().contains("Never twice"));
    let text = edited(&mut desk, "memory/MEMORY.md", typed).await;
    assert!(text.starts_with("- [A](a.md)\n- half a li\n- [Never twice]("), "{text}");
    assert_eq!(read(&desk, "memory/MEMORY.md"), "- [A](a.md)\n- [B](b.md)\n", "on disk it is the editor's");
}

#[tokio::test]
async fn a_renamed_memory_takes_along_links_of_open_and_of_closed_files() {
    let files =
        "//- memory/MEMORY.md\n- [A](a.md)\n//- memory/a.md\nsee [b](b.md)\n//- memory/b.md\nsee [a](a.md)\n";
    let mut desk = Desk::with(files, editing_client()).await;
    let typed = "- [A](a.md)\n- more\n";
    type_in(&mut desk, "memory/MEMORY.md", typed).await;
    fs::create_dir(desk.path("memory/deep")).unwrap();
    fs::rename(desk.path("memory/a.md"), desk.path("memory/deep/x.md")).unwrap();
    let moves =
        json!({ "files": [{ "oldUri": desk.uri("memory/a.md"), "newUri": desk.uri("memory/deep/x.md") }] });
    desk.client.notify("workspace/didRenameFiles", moves).await;
    until_it_says(&desk, "memory/b.md", "see [a](deep/x.md)\n").await;
    until_it_says(&desk, "memory/deep/x.md", "see [b](../b.md)\n").await;
    assert_eq!(edited(&mut desk, "memory/MEMORY.md", typed).await, "- [A](deep/x.md)\n- more\n");
}

#[tokio::test]
async fn a_renamed_folder_takes_along_its_entries() {
    let files = "//- memory/MEMORY.md\n- [A](old/a.md)\n//- memory/old/a.md\nsee [b](b.md) and [c](../c.md)\n//- memory/old/b.md\nb\n//- memory/c.md\nc\n";
    let mut desk = Desk::new(files).await;
    let moves =
        json!({ "files": [{ "oldUri": desk.uri("memory/old"), "newUri": desk.uri("memory/new/deep") }] });
    let edit = desk.client.request("workspace/willRenameFiles", moves.clone()).await;
    assert!(edit["result"].to_string().contains("new/deep/a.md"), "{edit}");
    // The editor does not make the edits after all.
    fs::create_dir(desk.path("memory/new")).unwrap();
    fs::rename(desk.path("memory/old"), desk.path("memory/new/deep")).unwrap();
    desk.client.notify("workspace/didRenameFiles", moves).await;
    until_it_says(&desk, "memory/MEMORY.md", "- [A](new/deep/a.md)\n").await;
    assert_eq!(
        read(&desk, "memory/new/deep/a.md"),
        "see [b](b.md) and [c](../c.md)\n",
        "the editor had that edit"
    );
}
