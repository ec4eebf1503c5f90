//! Memory in the text, of the real binary: a memory that names a file is stale soon after the file has gone, in whichever
//! way it goes; what a settings file switches off is gone at once, and comes back.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{ClientOptions, uri},
    model_server::ModelServer,
};

use crate::harness::{connect_over_stdio, trust};

/// "Within a second"; a busy machine takes longer.
const SOON: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_is_stale_soon_after_its_file_was_deleted() {
    stale_when(|fixture| fs::remove_file(fixture.path("src/deep/auth.rs")).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_is_stale_soon_after_a_folder_of_its_file_was_moved() {
    stale_when(|fixture| fs::rename(fixture.path("src/deep"), fixture.path("moved")).unwrap()).await;
    stale_when(|fixture| fs::rename(fixture.path("src"), fixture.path("moved")).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_settings_file_switches_off_is_gone_at_once_and_comes_back() {
    let (fixture, memory) = fixture();
    fixture.write("CLAUDE.md", "# Rules\n");
    let model = ModelServer::start().await;
    let client = connect_over_stdio(&fixture, &fixture.environment(&model.url()));
    client.ignore("$/progress");
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    let hovered = async |path: &Path| {
        let place = json!({ "line": 0, "character": 3 });
        let params = json!({ "textDocument": { "uri": uri(path) }, "position": place });
        client.request("textDocument/hover", params).await.unwrap() != Value::Null
    };
    let lenses = async || {
        let params = json!({ "textDocument": { "uri": uri(&memory.join("auth.md")) } });
        client.request("textDocument/codeLens", params).await.unwrap() != Value::Null
    };
    let (index, source, instructions) =
        (memory.join("MEMORY.md"), fixture.path("src/deep/auth.rs"), fixture.path("CLAUDE.md"));
    let shown = async || {
        [hovered(&index).await, hovered(&source).await, hovered(&instructions).await, lenses().await]
    };
    assert_eq!(shown().await, [true, true, true, true]);
    for (settings, expected) in [
        ("{ \"autoMemoryEnabled\": false }", [false, false, true, false]),
        ("{}", [true, true, true, true]),
        ("{ \"inline\": { \"hover\": false } }", [false, false, false, true]),
        ("{ \"inline\": { \"lens\": false } }", [true, true, true, false]),
        ("{ \"autoMemoryEnabled\": true, \"inline\": { \"lens\": true } }", [true, true, true, true]),
    ] {
        fixture.write("~/.claude/settings.json", settings);
        let began = Instant::now();
        let mut seen = shown().await;
        while seen != expected && began.elapsed() < SOON {
            seen = shown().await;
        }
        assert_eq!(seen, expected, "{settings}");
    }
    client.shutdown().await;
    model.finish();
}

/// A memory, in its index, that names a file and a symbol of it.
fn fixture() -> (Fixture, PathBuf) {
    let fixture = Fixture::new("//- src/deep/auth.rs\npub fn login() {}\n//- src/other.rs\n\n");
    trust(&fixture);
    let memory = fixture.project_dir().join("memory");
    fs::create_dir_all(&memory).unwrap();
    fs::write(memory.join("MEMORY.md"), "- [Auth](auth.md)\n").unwrap();
    let text =
        "---\nname: Auth\ndescription: d\ntype: project\n---\nSee `src/deep/auth.rs`, call `login()`.\n";
    fs::write(memory.join("auth.md"), text).unwrap();
    (fixture, memory)
}

async fn stale_when(goes: fn(&Fixture)) {
    let (fixture, memory) = fixture();
    let model = ModelServer::start().await;
    let client = connect_over_stdio(&fixture, &fixture.environment(&model.url()));
    client.ignore("$/progress");
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    let source = fixture.path("src/deep/auth.rs");
    client.open(&source);
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 9, "character": 0 } });
    let params = json!({ "textDocument": { "uri": uri(&source) }, "range": range });
    let hints = client.request("textDocument/inlayHint", params).await.unwrap();
    assert_eq!(hints[0]["label"][0]["value"], "◆ 1 memory", "{hints}");

    let began = Instant::now();
    goes(&fixture);
    let told = client
        .wait_for("the memory to be stale", |seen| {
            seen.method == "reverie/memory/event" && seen.params["kind"] == "stale"
        })
        .await;
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!(told.params["files"][0]["name"], "Auth");
    let params = json!({ "textDocument": { "uri": uri(&memory.join("auth.md")) } });
    let answer = client.request("textDocument/diagnostic", params).await.unwrap();
    assert_eq!(answer["items"][0]["code"], "stale-reference", "{answer}");
    client.shutdown().await;
    model.finish();
}
