//! Each feature over the wire, in-process: what is asked, what is answered.

mod any_text;
mod editing;
mod instructions;
mod keeping;
mod sources;
mod switches;
mod unsaved;

use std::{fs, path::PathBuf};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::{testing::TestClient, uri};

/// What a modern editor says of itself, as far as it matters here.
fn modern() -> Value {
    let known = json!({ "dynamicRegistration": false });
    json!({
        "textDocument": {
            "hover": known, "completion": known, "definition": known, "references": known, "documentLink": known,
            "rename": known, "documentSymbol": known, "foldingRange": known, "formatting": known, "codeLens": known,
            "codeAction": known, "inlayHint": known, "diagnostic": known,
        },
        "workspace": {
            "workspaceEdit": { "documentChanges": true, "resourceOperations": ["create", "rename"] },
            "codeLens": { "refreshSupport": true },
            "inlayHint": { "refreshSupport": true },
            "diagnostics": { "refreshSupport": true },
        },
        "window": { "showDocument": { "support": true } },
        "experimental": { "reverie": { "version": 1, "memoryView": true, "inlineMemory": true } },
    })
}

struct Desk {
    client: TestClient,
    root: PathBuf,
    memory: PathBuf,
}

impl Desk {
    /// `//- path` begins a file; `memory/` is the memory directory.
    async fn new(files: &str) -> Self {
        Self::with(files, modern()).await
    }

    async fn with(files: &str, capabilities: Value) -> Self {
        let client = TestClient::initialized(capabilities).await;
        let root = client.home.path().to_owned();
        let memory = client.server.agent().memory_directory().unwrap();
        let desk = Self { client, root, memory };
        for file in files.split("//- ").skip(1) {
            let (path, text) = file.split_once('\n').unwrap();
            desk.write(path, text);
        }
        desk
    }

    fn path(&self, path: &str) -> PathBuf {
        path.strip_prefix("memory/").map_or_else(|| self.root.join(path), |path| self.memory.join(path))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn uri(&self, path: &str) -> String {
        uri::from_path(&self.path(path))
    }

    async fn open(&mut self, path: &str, text: &str) {
        let document = json!({ "uri": self.uri(path), "languageId": "x", "version": 1, "text": text });
        self.client.notify("textDocument/didOpen", json!({ "textDocument": document })).await;
    }

    async fn ask(&mut self, method: &str, path: &str, mut params: Value) -> Value {
        params["textDocument"] = json!({ "uri": self.uri(path) });
        let answer = self.client.request(method, params).await;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    async fn run(&mut self, command: &Value) -> Value {
        let answer = self.try_to_run(command).await;
        assert!(answer.get("error").is_none(), "{command}: {answer}");
        answer["result"].clone()
    }

    /// The whole answer, which may be an error.
    async fn try_to_run(&mut self, command: &Value) -> Value {
        let params = json!({ "command": command["command"], "arguments": command["arguments"] });
        self.client.request("workspace/executeCommand", params).await
    }

    /// Without where the fixture lies, and on which day.
    fn shown(&self, value: &Value) -> String {
        let text = serde_json::to_string(value).unwrap();
        let text = text.replace(&jiff::Zoned::now().date().to_string(), "TODAY");
        let text =
            text.replace(&uri::from_path(&self.memory), "M:").replace(self.memory.to_str().unwrap(), "M:");
        text.replace(&uri::from_path(&self.root), "W:").replace(self.root.to_str().unwrap(), "W:")
    }

    async fn check(&mut self, method: &str, path: &str, params: Value, expected: Expect) {
        let answer = self.ask(method, path, params).await;
        expected.assert_eq(&self.shown(&answer));
    }
}

fn at(line: u32, character: u32) -> Value {
    json!({ "position": { "line": line, "character": character } })
}

fn over(line: u32, start: u32, end: u32) -> Value {
    json!({ "start": { "line": line, "character": start }, "end": { "line": line, "character": end } })
}

const FILES: &str = "//- src/auth.rs\nuse std::io;\n\npub fn login() {}\n//- memory/MEMORY.md\n# Memory\n- [Auth](auth.md) — how to log in\n- [Gone](gone.md)\n//- memory/auth.md\n---\nname: Auth\ndescription: How to log in\ntype: project\n---\n\nCall `login()` of `src/auth.rs` once, see `src/old.rs`.\n";

#[tokio::test]
async fn a_memory_and_its_index_are_served() {
    let mut desk = Desk::new(FILES).await;
    desk.check(
        "textDocument/hover",
        "memory/MEMORY.md",
        at(1, 4),
        expect![[r#"{"contents":{"kind":"markdown","value":"**Auth**\n\nHow to log in\n\nproject, saved today; never recalled"},"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":33}}}"#]],
    )
    .await;
    desk.check("textDocument/definition", "memory/MEMORY.md", at(1, 10), expect![[r#"{"uri":"M:/auth.md","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}}}"#]]).await;
    desk.check("textDocument/documentLink", "memory/MEMORY.md", json!({}), expect![[r#"[{"range":{"start":{"line":1,"character":9},"end":{"line":1,"character":16}},"target":"M:/auth.md"}]"#]]).await;
    desk.check(
        "textDocument/references",
        "memory/auth.md",
        json!({ "position": { "line": 0, "character": 0 }, "context": { "includeDeclaration": false } }),
        expect![[r#"[{"uri":"M:/MEMORY.md","range":{"start":{"line":1,"character":9},"end":{"line":1,"character":16}}}]"#]],
    )
    .await;
    desk.check("textDocument/documentSymbol", "memory/MEMORY.md", json!({}), expect![[r#"[{"name":"Memory","kind":15,"range":{"start":{"line":0,"character":0},"end":{"line":3,"character":0}},"selectionRange":{"start":{"line":0,"character":0},"end":{"line":0,"character":8}},"children":[{"name":"Auth","detail":"how to log in","kind":1,"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":33}},"selectionRange":{"start":{"line":1,"character":9},"end":{"line":1,"character":16}}},{"name":"Gone","kind":1,"range":{"start":{"line":2,"character":0},"end":{"line":2,"character":17}},"selectionRange":{"start":{"line":2,"character":9},"end":{"line":2,"character":16}}}]}]"#]]).await;
    desk.check(
        "textDocument/foldingRange",
        "memory/auth.md",
        json!({}),
        expect![[r#"[{"startLine":0,"endLine":4}]"#]],
    )
    .await;
    desk.check(
        "textDocument/formatting",
        "memory/MEMORY.md",
        json!({ "options": { "tabSize": 2, "insertSpaces": true } }),
        expect!["null"],
    )
    .await;
    desk.write("memory/team/MEMORY.md", "* [Auth](../auth.md) - how to log in  \n\n\n");
    desk.check(
        "textDocument/formatting",
        "memory/team/MEMORY.md",
        json!({ "options": { "tabSize": 2, "insertSpaces": true } }),
        expect![[r#"[{"range":{"start":{"line":0,"character":0},"end":{"line":3,"character":0}},"newText":"- [Auth](../auth.md) — how to log in\n"}]"#]],
    )
    .await;
    fs::remove_dir_all(desk.path("memory/team")).unwrap();
    desk.check("textDocument/codeLens", "memory/auth.md", json!({}), expect![[r#"[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":3}},"command":{"title":"never recalled","command":"reverie.memory.history","arguments":[{"path":"M:/auth.md"}]}},{"range":{"start":{"line":6,"character":42},"end":{"line":6,"character":54}},"command":{"title":"stale: src/old.rs is gone","command":""}}]"#]]).await;
    desk.check("textDocument/prepareRename", "memory/MEMORY.md", at(1, 10), expect![[r#"{"range":{"start":{"line":1,"character":9},"end":{"line":1,"character":16}},"placeholder":"auth.md"}"#]]).await;
    desk.check(
        "textDocument/rename",
        "memory/MEMORY.md",
        json!({ "position": { "line": 1, "character": 10 }, "newName": "login.md" }),
        expect![[r#"{"documentChanges":[{"textDocument":{"uri":"M:/MEMORY.md","version":null},"edits":[{"range":{"start":{"line":1,"character":9},"end":{"line":1,"character":16}},"newText":"login.md"}]},{"kind":"rename","oldUri":"M:/auth.md","newUri":"M:/login.md"}]}"#]],
    )
    .await;
    desk.check("textDocument/completion", "memory/MEMORY.md", at(2, 9), expect![[r#"[{"label":"auth.md","kind":17,"detail":"Auth","documentation":{"kind":"markdown","value":"> Call `login()` of `src/auth.rs` once, see `src/old.rs`."},"sortText":"0000","filterText":"auth.md","textEdit":{"range":{"start":{"line":2,"character":9},"end":{"line":2,"character":9}},"newText":"auth.md"}}]"#]]).await;
    desk.check("textDocument/diagnostic", "memory/MEMORY.md", json!({}), expect![[r#"{"kind":"full","resultId":"1b60c42eed4fd2b9","items":[{"range":{"start":{"line":2,"character":9},"end":{"line":2,"character":16}},"severity":2,"code":"dead-link","source":"reverie","message":"there is no gone.md, which this entry links to"}]}"#]]).await;
    desk.check("textDocument/diagnostic", "memory/auth.md", json!({}), expect![[r#"{"kind":"full","resultId":"1d9e540821044d8c","items":[{"range":{"start":{"line":6,"character":42},"end":{"line":6,"character":54}},"severity":2,"code":"stale-reference","source":"reverie","message":"there is no src/old.rs in the workspace: check it, or say when it was"}]}"#]]).await;
    let here = json!({ "range": over(6, 45, 45), "context": { "diagnostics": [] } });
    desk.check("textDocument/codeAction", "memory/auth.md", here, expect![[r#"[{"title":"Remove the reference","kind":"quickfix","edit":{"documentChanges":[{"textDocument":{"uri":"M:/auth.md","version":null},"edits":[{"range":{"start":{"line":6,"character":41},"end":{"line":6,"character":54}},"newText":""}]}]},"isPreferred":true},{"title":"Say that it is gone","kind":"quickfix","edit":{"documentChanges":[{"textDocument":{"uri":"M:/auth.md","version":null},"edits":[{"range":{"start":{"line":6,"character":42},"end":{"line":6,"character":54}},"newText":"src/old.rs (gone, TODAY)"}]}]}},{"title":"Delete this memory","kind":"refactor","command":{"title":"Delete this memory","command":"reverie.memory.delete","arguments":[{"path":"M:/auth.md"}]}}]"#]]).await;
}

#[tokio::test]
async fn a_client_that_cannot_be_told_later_is_told_at_once() {
    let mut client = TestClient::start();
    let answer = client.request("initialize", json!({ "capabilities": modern() })).await;
    let capabilities = answer["result"]["capabilities"].as_object().unwrap();
    let providers: Vec<&str> =
        capabilities.keys().map(String::as_str).filter(|key| key.ends_with("Provider")).collect();
    expect!["hoverProvider completionProvider definitionProvider referencesProvider documentSymbolProvider codeActionProvider codeLensProvider documentFormattingProvider renameProvider documentLinkProvider foldingRangeProvider executeCommandProvider inlayHintProvider diagnosticProvider"].assert_eq(&providers.join(" "));
}

#[tokio::test]
async fn the_text_that_is_typed_counts_before_it_is_saved() {
    let mut desk = Desk::new(FILES).await;
    desk.open("memory/MEMORY.md", "- [Über 😀](auth.md) [x](nowhere.md)\r\n- [😀😀](gone.md)\r\n").await;
    let answer = desk.ask("textDocument/diagnostic", "memory/MEMORY.md", json!({})).await;
    expect![[r#"{"start":{"line":1,"character":9},"end":{"line":1,"character":16}}"#]]
        .assert_eq(&desk.shown(&answer["items"][0]["range"]));
    let id = json!({ "previousResultId": answer["resultId"] });
    desk.check(
        "textDocument/diagnostic",
        "memory/MEMORY.md",
        id,
        expect![[r#"{"kind":"unchanged","resultId":"f069ef5f22355db6"}"#]],
    )
    .await;
    // An entry that is not there yet, but in the text, makes no orphan.
    let orphan = desk.ask("textDocument/diagnostic", "memory/auth.md", json!({})).await;
    assert!(!orphan.to_string().contains("orphan"), "{orphan}");
    let change = json!({ "textDocument": { "uri": desk.uri("memory/MEMORY.md"), "version": 2 }, "contentChanges": [{ "text": "" }] });
    desk.client.notify("textDocument/didChange", change).await;
    let orphan = desk.ask("textDocument/diagnostic", "memory/auth.md", json!({})).await;
    assert!(orphan.to_string().contains("orphan"), "{orphan}");
}

#[tokio::test]
async fn code_shows_what_is_remembered_of_it() {
    let mut desk = Desk::new(FILES).await;
    desk.open("src/auth.rs", "use std::io;\n\npub fn login() {}\n").await;
    let all = json!({ "range": over(0, 0, 0) });
    desk.check("textDocument/inlayHint", "src/auth.rs", all, expect![[r#"[{"position":{"line":0,"character":12},"label":[{"value":"◆ 1 memory","tooltip":{"kind":"markdown","value":"◆ **Auth** — saved today\n\n> Call `login()` of `src/auth.rs` once, see `src/old.rs`.\n\n`M:/auth.md`"},"command":{"title":"◆ 1 memory","command":"reverie.memory.open","arguments":[{"paths":["M:/auth.md"]}]}}],"paddingLeft":true}]"#]]).await;
    desk.check("textDocument/hover", "src/auth.rs", at(2, 9), expect![[r#"{"contents":{"kind":"markdown","value":"◆ **Auth** — saved today\n\n> Call `login()` of `src/auth.rs` once, see `src/old.rs`.\n\n`M:/auth.md`"},"range":{"start":{"line":2,"character":7},"end":{"line":2,"character":12}}}"#]]).await;
    // A hint says it already.
    desk.check("textDocument/codeLens", "src/auth.rs", json!({}), expect!["null"]).await;
    let here = json!({ "range": over(2, 9, 9), "context": { "diagnostics": [] } });
    let actions = desk.ask("textDocument/codeAction", "src/auth.rs", here).await;
    expect![[r#"[{"title":"Remember something about this","kind":"refactor","command":{"title":"Remember something about this","command":"reverie.memory.remember","arguments":[{"uri":"W:/src/auth.rs","range":{"start":{"line":2,"character":9},"end":{"line":2,"character":9}}}]}},{"title":"Open the memory “Auth”","kind":"refactor","command":{"title":"Open the memory “Auth”","command":"reverie.memory.open","arguments":[{"paths":["M:/auth.md"]}]}}]"#]].assert_eq(&desk.shown(&actions));
    desk.open("src/auth.rs", "fn logout() {}\n").await;
    let gone = desk.ask("textDocument/diagnostic", "src/auth.rs", json!({})).await;
    assert!(gone.to_string().contains("speaks of login, which is not in this file any more"), "{gone}");
}

#[tokio::test]
async fn an_editor_without_hints_gets_lenses_and_one_without_pulling_is_told() {
    let capabilities = json!({ "textDocument": { "codeLens": {}, "publishDiagnostics": {} } });
    let mut desk = Desk::with(FILES, capabilities).await;
    desk.open("src/auth.rs", "use std::io;\n\npub fn login() {}\n").await;
    desk.check("textDocument/codeLens", "src/auth.rs", json!({}), expect![[r#"[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":12}},"command":{"title":"◆ 1 memory","command":"reverie.memory.open","arguments":[{"paths":["M:/auth.md"]}]}},{"range":{"start":{"line":2,"character":7},"end":{"line":2,"character":12}},"command":{"title":"◆ 1 memory","command":"reverie.memory.open","arguments":[{"paths":["M:/auth.md"]}]}}]"#]]).await;
    let uri = desk.uri("memory/MEMORY.md");
    desk.open("memory/MEMORY.md", "- [Gone](gone.md)\n").await;
    let is_it = |told: &Value| {
        told["method"] == "textDocument/publishDiagnostics" && told["params"]["uri"] == json!(uri)
    };
    let told = desk.client.receive_where(is_it).await;
    assert_eq!(told["params"]["diagnostics"][0]["code"], "dead-link", "{told}");
    desk.client.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } })).await;
    let told = desk.client.receive_where(is_it).await;
    assert_eq!(told["params"]["diagnostics"], json!([]));
}

#[tokio::test]
async fn files_that_are_nothing_to_the_agent_are_answered_with_nothing() {
    let mut desk = Desk::new(FILES).await;
    let elsewhere = tempfile::NamedTempFile::with_suffix(".md").unwrap();
    for (method, params) in [
        ("textDocument/hover", at(0, 0)),
        ("textDocument/completion", at(0, 0)),
        ("textDocument/codeLens", json!({})),
        ("textDocument/documentSymbol", json!({})),
    ] {
        for uri in [
            uri::from_path(elsewhere.path()),
            "untitled:x".to_owned(),
            "file:///nowhere/at all.md".to_owned(),
        ] {
            let mut params = params.clone();
            params["textDocument"] = json!({ "uri": uri });
            let answer = desk.client.request(method, params).await;
            assert_eq!(answer["result"], Value::Null, "{method} {uri}: {answer}");
        }
    }
}
