//! Servers that others wrote, from the registry: the whole way from `.mcp.json` to an answer.
//!
//! `cargo xtask test` installs them into `target/rigs/mcp`.

#![expect(clippy::unwrap_used, reason = "a failure in a test should end it")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp::{Content, McpError, Options, Progress, Scope, Servers, Status, configured};
use serde_json::{Value, json};
use settings::Environment;
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(60);

fn program(package: &str) -> String {
    let rigs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/rigs/mcp");
    let path = rigs.join("node_modules/@modelcontextprotocol").join(package).join("dist/index.js");
    assert!(path.is_file(), "{} is missing: `cargo xtask test` installs it", path.display());
    path.canonicalize().unwrap().display().to_string()
}

/// Starts what a project's `.mcp.json` says.
async fn start(folder: &Path, servers: Value) -> Servers {
    fs::write(folder.join(".mcp.json"), json!({ "mcpServers": servers }).to_string()).unwrap();
    let environment = Environment::new(folder.join("home"), [("PATH".to_owned(), env::var("PATH").unwrap())]);
    let found = configured(&environment, folder, &BTreeMap::new());
    assert_eq!(found.problems, [""; 0]);
    let servers = Servers::new(Options::default());
    assert!(found.servers.iter().all(|config| config.scope == Scope::Project));
    servers.keep(found.servers, folder, &environment);
    servers.tools(LONG).await;
    for (name, status) in servers.status() {
        assert!(matches!(status, Status::Ready { tools } if tools > 3), "{name}: {status:?}");
    }
    assert_eq!(servers.problems(), [""; 0]);
    servers
}

async fn call(servers: &Servers, name: &str, input: Value) -> Result<Vec<Content>, McpError> {
    servers.call(name, input, CancellationToken::new(), Arc::new(|_| {})).await
}

fn first_text(content: &[Content]) -> &str {
    match content.first() {
        Some(Content::Text(text)) => text,
        _ => "",
    }
}

async fn drive_everything(servers: &Servers) {
    let tools = servers.tools(LONG).await;
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(names.is_sorted() && names.contains(&"mcp__everything__echo"), "{names:?}");
    let echoed = call(servers, "mcp__everything__echo", json!({"message": "hello"})).await.unwrap();
    assert_eq!(first_text(&echoed), "Echo: hello");
    let sum = call(servers, "mcp__everything__get-sum", json!({"a": 2, "b": 40})).await.unwrap();
    assert!(first_text(&sum).contains("42"), "{sum:?}");
    let image = call(servers, "mcp__everything__get-tiny-image", json!({})).await.unwrap();
    assert!(
        image.iter().any(|one| matches!(one, Content::Image { media_type, .. } if media_type == "image/png")),
        "{image:?}"
    );
    let structured =
        call(servers, "mcp__everything__get-structured-content", json!({"location": "New York"})).await;
    assert!(first_text(&structured.unwrap()).contains("temperature"));
    let wrong = call(servers, "mcp__everything__echo", json!({})).await;
    assert!(matches!(wrong, Err(McpError::Tool(_))), "{wrong:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reference_server_on_stdio() {
    let folder = tempfile::tempdir().unwrap();
    let entry = json!({"everything": {"command": "node", "args": [program("server-everything"), "stdio"]}});
    let servers = start(folder.path(), entry).await;
    drive_everything(&servers).await;

    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let listener = Arc::clone(&heard);
    let progress: Progress = Arc::new(move |line| listener.lock().unwrap().push(line));
    let name = "mcp__everything__trigger-long-running-operation";
    let input = json!({"duration": 1, "steps": 2});
    servers.call(name, input, CancellationToken::new(), progress).await.unwrap();
    assert!(!heard.lock().unwrap().is_empty());

    let cancel = CancellationToken::new();
    let input = json!({"duration": 1000, "steps": 1000});
    let stopping = cancel.clone();
    let stop: Progress = Arc::new(move |_| stopping.cancel());
    assert_eq!(servers.call(name, input, cancel, stop).await, Err(McpError::Cancelled));
    servers.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reference_server_over_http() {
    let folder = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let mut child = Ended(
        Command::new("node")
            .args([&program("server-everything"), "streamableHttp"])
            .env("PORT", port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        assert!(child.0.try_wait().unwrap().is_none(), "the server has ended");
        tokio::task::yield_now().await;
    }
    let entry = json!({"everything": {"type": "http", "url": format!("http://127.0.0.1:{port}/mcp")}});
    let servers = start(folder.path(), entry).await;
    drive_everything(&servers).await;
    servers.shutdown().await;
}

/// Ended with the test.
struct Ended(std::process::Child);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.kill().unwrap_or_default();
        drop(self.0.wait());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_system_server_reads_and_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let root: PathBuf = folder.path().canonicalize().unwrap();
    fs::write(root.join("notes.txt"), "remember the milk").unwrap();
    let entry = json!({"fs": {"command": "node", "args": [program("server-filesystem"), root]}});
    let servers = start(&root, entry).await;
    let read =
        call(&servers, "mcp__fs__read_text_file", json!({"path": root.join("notes.txt")})).await.unwrap();
    assert_eq!(first_text(&read), "remember the milk");
    let outside = call(&servers, "mcp__fs__read_text_file", json!({"path": "/etc/passwd"})).await;
    assert!(matches!(&outside, Err(McpError::Tool(words)) if words.contains("denied")), "{outside:?}");
    let tools = servers.tools(LONG).await;
    let read_only: Vec<&str> =
        tools.iter().filter(|tool| tool.read_only).map(|tool| tool.name.as_str()).collect();
    assert!(read_only.contains(&"mcp__fs__read_text_file") && !read_only.contains(&"mcp__fs__write_file"));
    servers.shutdown().await;
}
