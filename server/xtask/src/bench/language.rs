//! What memory in the text costs: each request in a workspace of 10,000 files with 1,000 memories, and typing in a source
//! file of which memories speak.

use std::{fs, path::Path, time::Duration, time::Instant};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{LspClient, ServerProcess, frame, uri},
};

use super::{
    Figure, in_milliseconds, median,
    memory::{Words, topic},
};

const FILES: usize = 10_000;
const MEMORIES: usize = 1_000;
const ROUNDS: usize = 60;
const EDITS: usize = 10_000;

pub async fn measure(binary: &Path) -> anyhow::Result<Vec<Figure>> {
    let fixture = Fixture::new("//- README.md\n");
    let source = write(&fixture)?;
    let memory = fixture.project_dir().join("memory");
    let environment = fixture.environment("http://127.0.0.1:9");
    let process = ServerProcess::spawn(binary, &["lsp"], &environment, &fixture.workspace);
    let client = LspClient::over_stdio(process);
    let known = json!({ "dynamicRegistration": false });
    let capabilities = json!({
        "textDocument": {
            "hover": known, "codeLens": known, "codeAction": known, "inlayHint": known, "diagnostic": known,
            "completion": known, "documentLink": known, "documentSymbol": known, "references": known,
        },
    });
    let params = json!({
        "processId": std::process::id(), "rootUri": uri(&fixture.workspace), "capabilities": capabilities,
        "workspaceFolders": [{ "uri": uri(&fixture.workspace), "name": "w" }],
    });
    ask(&client, "initialize", params).await?;
    client.notify("initialized", json!({}));
    let text = fs::read_to_string(&source)?;
    client.open_with(&source, &text, None);
    let index = memory.join("MEMORY.md");
    client.open_with(&index, &fs::read_to_string(&index)?, None);
    let one = memory.join("topic_7.md");
    client.open_with(&one, &fs::read_to_string(&one)?, None);
    // A screen full; each line of it has something to say.
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 60, "character": 0 } });
    let place = json!({ "line": 1, "character": 5 });

    let started = Instant::now();
    ask(
        &client,
        "textDocument/inlayHint",
        json!({ "textDocument": { "uri": uri(&source) }, "range": range }),
    )
    .await?;
    let first = started.elapsed();

    let requests = [
        ("textDocument/inlayHint", &source, json!({ "range": range })),
        ("textDocument/hover", &source, json!({ "position": place })),
        ("textDocument/codeAction", &source, json!({ "range": range, "context": { "diagnostics": [] } })),
        ("textDocument/diagnostic", &source, json!({})),
        ("textDocument/diagnostic", &index, json!({})),
        ("textDocument/diagnostic", &one, json!({})),
        ("textDocument/hover", &index, json!({ "position": place })),
        ("textDocument/codeLens", &one, json!({})),
        ("textDocument/completion", &index, json!({ "position": place })),
        ("textDocument/documentLink", &index, json!({})),
        ("textDocument/documentSymbol", &index, json!({})),
        ("textDocument/codeAction", &one, json!({ "range": range, "context": { "diagnostics": [] } })),
    ];
    let mut slowest: (Duration, String) = (Duration::ZERO, String::new());
    let mut all = Vec::new();
    for (method, path, params) in &requests {
        let mut took = Vec::new();
        for _ in 0..ROUNDS {
            let mut params = params.clone();
            if let Value::Object(fields) = &mut params {
                fields.insert("textDocument".to_owned(), json!({ "uri": uri(path) }));
            }
            let started = Instant::now();
            ask(&client, method, params).await?;
            took.push(started.elapsed());
        }
        let usual = median(took);
        all.push(usual);
        if usual > slowest.0 {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            slowest = (usual, format!("{method} in {file}"));
        }
    }
    // Somebody types in a memory: each time what is known is another.
    let mut typing = Vec::new();
    for _ in 0..ROUNDS {
        client.edit(&one, 0, 0, "");
        let started = Instant::now();
        let params = json!({ "textDocument": { "uri": uri(&one) } });
        ask(&client, "textDocument/diagnostic", params).await?;
        typing.push(started.elapsed());
    }
    let edits = edits(&client, &source).await?;
    client.abandon();
    Ok(vec![
        Figure::milliseconds("memory in the text: the slowest of its requests", slowest.0, 5.0).beside(
            format!(
                "{}; 10,000 files, 1,000 memories; {} kinds, the usual one {:.2} ms",
                slowest.1,
                requests.len(),
                in_milliseconds(median(all))
            ),
        ),
        Figure::milliseconds("memory in the text: diagnostics after a key in a memory", median(typing), 5.0),
        Figure::milliseconds("memory in the text: the first request of all", first, 2_000.0)
            .beside("reads every memory and lists the workspace"),
        // What the edits alone may take, and 5 ms for each of the requests.
        Figure::milliseconds("10,000 edits to a source file while hints are asked for", edits, 550.0)
            .beside("100 requests among them, each for a screen full of hints"),
    ])
}

async fn edits(client: &LspClient, source: &Path) -> anyhow::Result<Duration> {
    let mut frames: Vec<Vec<u8>> = Vec::new();
    for edit in 0..EDITS {
        let range = json!({"start": {"line": 3, "character": 2}, "end": {"line": 3, "character": 3}});
        frames.push(frame(&json!({
            "jsonrpc": "2.0", "method": "textDocument/didChange",
            "params": {
                "textDocument": {"uri": uri(source), "version": edit + 1_000},
                "contentChanges": [{"range": range, "text": "x"}],
            },
        })));
    }
    let whole = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 60, "character": 0 } });
    let params = json!({ "textDocument": { "uri": uri(source) }, "range": whole });
    let started = Instant::now();
    let mut answers = Vec::new();
    for part in frames.chunks(EDITS / 100) {
        client.send_raw(&part.concat());
        answers.push(client.start_request("textDocument/inlayHint", params.clone()).1);
    }
    ask(client, "reverie/models/list", json!({})).await?;
    let took = started.elapsed();
    for answer in answers {
        client
            .answer(answer, "textDocument/inlayHint")
            .await
            .map_err(|error| anyhow::anyhow!("{}", error.message))?;
    }
    Ok(took)
}

async fn ask(client: &LspClient, method: &str, params: Value) -> anyhow::Result<Value> {
    client.request(method, params).await.map_err(|error| anyhow::anyhow!("{method}: {}", error.message))
}

/// The workspace and what is remembered of it. Returns a source file of which memories speak.
fn write(fixture: &Fixture) -> anyhow::Result<std::path::PathBuf> {
    for number in 0..FILES {
        let folder = fixture.workspace.join(format!("src/m{}", number / 100));
        if number % 100 == 0 {
            fs::create_dir_all(&folder)?;
        }
        fs::write(folder.join(format!("file_{number}.rs")), format!("pub fn function_{number}() {{}}\n"))?;
    }
    let source = fixture.workspace.join("src/m0/file_7.rs");
    let lines: String = (0..400).map(|line| format!("pub fn function_{line}() {{ call(); }}\n")).collect();
    fs::write(&source, lines)?;
    let memory = fixture.project_dir().join("memory");
    fs::create_dir_all(&memory)?;
    let mut words = Words::default();
    let mut index = String::new();
    for number in 0..MEMORIES {
        let file = (number * 7) % FILES;
        let text = topic(&mut words, number);
        let text = format!(
            "{text}\nSee `src/m{}/file_{file}.rs`, `function_{}()` and `src/gone/file_{number}.rs`.\n",
            file / 100,
            number % 500
        );
        fs::write(memory.join(format!("topic_{number}.md")), text)?;
        if number < 190 {
            index.push_str(&format!("- [Topic {number}](topic_{number}.md) — {}\n", words.line(6)));
        }
    }
    fs::write(memory.join("MEMORY.md"), index)?;
    Ok(source)
}
