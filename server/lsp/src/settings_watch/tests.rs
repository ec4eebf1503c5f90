use std::fs;

use serde_json::{Value, json};

use crate::testing::TestClient;

/// A client that shows diagnostics, with `project` in its home folder, where its files are before it starts.
struct Editor {
    client: TestClient,
}

impl Editor {
    async fn start(files: &[(&str, &str)], encodings: &[&str]) -> Self {
        Self::start_with(TestClient::start(), files, encodings).await
    }

    async fn start_with(mut client: TestClient, files: &[(&str, &str)], encodings: &[&str]) -> Self {
        fs::create_dir_all(client.home.path().join("project")).unwrap();
        for (name, text) in files {
            write(&client, name, text);
        }
        let folder = client.home.path().join("project");
        let answer = client
            .request(
                "initialize",
                json!({
                    "workspaceFolders": [{ "uri": format!("file://{}", folder.display()), "name": "project" }],
                    "capabilities": {
                        "textDocument": { "publishDiagnostics": {} },
                        "general": { "positionEncodings": encodings },
                    }
                }),
            )
            .await;
        assert!(answer.get("result").is_some(), "{answer}");
        client.notify("initialized", json!({})).await;
        Self { client }
    }

    fn write(&self, name: &str, text: &str) {
        write(&self.client, name, text);
    }

    fn uri(&self, name: &str) -> String {
        format!("file://{}", self.client.home.path().join(name).display())
    }

    /// The next diagnostics of this file, a line each.
    async fn diagnostics(&mut self, name: &str) -> String {
        let uri = self.uri(name);
        let message = self
            .client
            .receive_where(|message| {
                message["method"] == "textDocument/publishDiagnostics"
                    && message["params"]["uri"] == uri.as_str()
            })
            .await;
        let shown = message["params"]["diagnostics"].as_array().unwrap().iter().map(|diagnostic| {
            let Value::Object(range) = &diagnostic["range"] else { panic!("{diagnostic}") };
            let (start, end) = (&range["start"], &range["end"]);
            format!(
                "{}:{}-{}:{} [{}] {}",
                start["line"],
                start["character"],
                end["line"],
                end["character"],
                diagnostic["severity"],
                diagnostic["message"].as_str().unwrap()
            )
        });
        shown.collect::<Vec<_>>().join("\n")
    }

    async fn document(&mut self, method: &str, name: &str, rest: Value) {
        let mut params =
            json!({ "textDocument": { "uri": self.uri(name), "version": 2, "languageId": "json" } });
        for (key, value) in rest.as_object().unwrap() {
            match key.as_str() {
                "text" => params["textDocument"]["text"] = value.clone(),
                _ => params[key] = value.clone(),
            }
        }
        self.client.notify(method, params).await;
    }
}

/// At once, as careful editors do: a file that is empty for a moment is another story.
fn write(client: &TestClient, name: &str, text: &str) {
    let path = client.home.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

const USER: &str = ".claude/settings.json";
const PROJECT: &str = "project/.claude/settings.json";
const LOCAL: &str = "project/.claude/settings.local.json";

#[tokio::test]
async fn what_is_wrong_at_the_start_is_shown_and_cleared_when_it_is_mended() {
    let mut editor = Editor::start(&[(USER, "{\n  \"maxRounds\": 0, \"Model\": \"x\"\n}")], &[]).await;
    assert_eq!(
        editor.diagnostics(USER).await,
        "1:15-1:16 [2] maxRounds: must be more than 0\n1:18-1:25 [4] Model: nothing reads this key; did you mean `model`?"
    );
    editor.write(USER, "{}");
    assert_eq!(editor.diagnostics(USER).await, "");
}

#[tokio::test]
async fn columns_are_in_the_unit_that_was_agreed_on() {
    let text = "{ /* 🦀 */ \"maxRounds\": 0 }";
    let mut editor = Editor::start(&[(USER, text)], &[]).await;
    assert!(editor.diagnostics(USER).await.starts_with("0:24-0:25 "));
    let mut editor = Editor::start(&[(USER, text)], &["utf-8"]).await;
    assert!(editor.diagnostics(USER).await.starts_with("0:26-0:27 "));
}

#[tokio::test]
async fn files_that_come_later_are_noticed_on_disk() {
    let mut editor = Editor::start(&[(USER, "{\"maxRounds\": 0}")], &[]).await;
    editor.diagnostics(USER).await;
    editor.write(PROJECT, "{\"permissions\": {\"allow\": [\"Bash\"]}}");
    assert_eq!(
        editor.diagnostics(PROJECT).await,
        "0:26-0:34 [2] permissions.allow: counts once you trust this folder"
    );
    // The folder is watched by now.
    editor.write(LOCAL, "{");
    assert_eq!(
        editor.diagnostics(LOCAL).await,
        "0:0-0:1 [1] not valid JSON: EOF while parsing an object; none of its rules is in force, so every command asks until it is mended"
    );
    fs::remove_file(editor.client.home.path().join(LOCAL)).unwrap();
    assert_eq!(editor.diagnostics(LOCAL).await, "");
    // Removed as a whole, and made anew.
    fs::remove_dir_all(editor.client.home.path().join("project/.claude")).unwrap();
    assert_eq!(editor.diagnostics(PROJECT).await, "");
    editor.write(PROJECT, "{\"model\": 1}");
    assert!(editor.diagnostics(PROJECT).await.contains("model: invalid type"));
}

#[tokio::test]
async fn what_is_written_in_the_editor_is_judged_before_it_is_saved() {
    let mut editor = Editor::start(&[(PROJECT, "{}")], &[]).await;
    editor.document("textDocument/didOpen", PROJECT, json!({ "text": "{}" })).await;
    editor
        .document(
            "textDocument/didChange",
            PROJECT,
            json!({ "contentChanges": [{ "text": "{\"model\": 5}" }] }),
        )
        .await;
    assert_eq!(
        editor.diagnostics(PROJECT).await,
        "0:10-0:11 [2] model: invalid type: integer `5`, expected a string"
    );
    editor.document("textDocument/didClose", PROJECT, json!({})).await;
    assert_eq!(editor.diagnostics(PROJECT).await, "");
}

#[tokio::test]
async fn a_torn_file_is_told_with_what_stays_in_force() {
    let mut editor =
        Editor::start(&[(USER, "{\"permissions\": {\"deny\": [\"Bash\"], \"ask\": 1}}")], &[]).await;
    editor.diagnostics(USER).await;
    editor.write(USER, "{\"permissions\": ");
    let shown = editor.diagnostics(USER).await;
    assert!(shown.contains("what it said before stays in force"), "{shown}");
}

#[tokio::test]
async fn a_client_may_tell_of_changes_itself_and_of_its_folders() {
    let mut editor = Editor::start(&[("other/.claude/settings.json", "{\"model\": 1}")], &[]).await;
    let folder = json!([{ "uri": editor.uri("other"), "name": "other" }]);
    editor
        .client
        .notify("workspace/didChangeWorkspaceFolders", json!({ "event": { "added": folder, "removed": [] } }))
        .await;
    assert!(editor.diagnostics("other/.claude/settings.json").await.contains("model"));
    editor
        .client
        .notify("workspace/didChangeWorkspaceFolders", json!({ "event": { "added": [], "removed": folder } }))
        .await;
    assert_eq!(editor.diagnostics("other/.claude/settings.json").await, "");
    let changes = json!({ "changes": [{ "uri": editor.uri(USER), "type": 2 }] });
    editor.write(USER, "{\"model\": 1}");
    editor.client.notify("workspace/didChangeWatchedFiles", changes).await;
    assert!(editor.diagnostics(USER).await.contains("model"));
}

#[tokio::test]
async fn a_client_that_shows_none_is_told_none() {
    let mut client = TestClient::start();
    write(&client, USER, "{\"model\": 1}");
    client.request("initialize", json!({ "capabilities": {} })).await;
    client.notify("initialized", json!({})).await;
    client.request("shutdown", Value::Null).await;
    assert_eq!(client.finish_writing().await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_look_that_panics_is_not_the_last() {
    let first = std::sync::atomic::AtomicBool::new(true);
    let faults = crate::Faults::new(move |point| {
        let panics = point == "settings watch" && first.swap(false, std::sync::atomic::Ordering::SeqCst);
        assert!(!panics, "a test lets {point} panic");
    });
    let files = [(USER, "{\"maxRounds\": 0}")];
    let mut editor = Editor::start_with(TestClient::failing(faults), &files, &[]).await;
    assert_eq!(editor.diagnostics(USER).await, "0:14-0:15 [2] maxRounds: must be more than 0");
}
