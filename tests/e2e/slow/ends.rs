//! Two hundred ends in fourteen orders: gone within two seconds each time, no child left, the session free for the next.

use std::{
    io::Write,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::fixture::Fixture;

use crate::harness::binary;

const GONE_WITHIN: Duration = Duration::from_secs(2);
const CYCLES: usize = 15;

/// What a client does, in this order, before it hangs up or waits.
#[derive(Clone, Copy)]
enum Deed {
    Initialize,
    /// Makes a session and prompts; the turn then waits for an answer about a command that nobody gives.
    Prompt,
    Shutdown,
    Exit,
    /// A request that nobody may send any more.
    Late,
    HalfAFrame,
    /// Closes the server's input.
    HangUp,
    Terminate,
}

use Deed::{Exit, HalfAFrame, HangUp, Initialize, Late, Prompt, Shutdown, Terminate};

const ORDERS: [&[Deed]; 14] = [
    &[Initialize, Shutdown, Exit],
    &[Initialize, Exit],
    &[Exit],
    &[Shutdown, Exit],
    &[HangUp],
    &[Initialize, HangUp],
    &[Initialize, Shutdown, HangUp],
    &[Initialize, Shutdown, Shutdown, Exit],
    &[Initialize, Shutdown, Late, Exit],
    &[Initialize, HalfAFrame, HangUp],
    &[Initialize, Prompt, Shutdown, Exit],
    &[Initialize, Prompt, HangUp],
    &[Initialize, Terminate],
    &[Initialize, Prompt, Terminate],
];

#[test]
fn whatever_the_order_the_server_is_gone_and_leaves_nothing() {
    let fixture = Fixture::new("//- a.txt\none\n");
    for cycle in 0..CYCLES {
        for (order, deeds) in ORDERS.iter().enumerate() {
            let marker = format!("7{cycle:02}{order:02}.125");
            let mut server = start(&fixture);
            for (id, deed) in deeds.iter().enumerate() {
                act(&mut server, *deed, id, &fixture, &marker);
            }
            let started = Instant::now();
            let code = loop {
                if let Some(status) = server.try_wait().unwrap() {
                    break status.code();
                }
                assert!(started.elapsed() < GONE_WITHIN, "order {order}: still there");
                std::thread::yield_now();
            };
            if let [Initialize, .., Shutdown, Exit] = deeds {
                assert_eq!(code, Some(0), "order {order}");
            }
            while !crate::harness::processes_with(&marker).is_empty() {
                assert!(started.elapsed() < GONE_WITHIN, "order {order}: a child is left");
            }
        }
    }
    // Every session that was begun is free: one process opens them all.
    let listed = Command::new(binary())
        .args(["sessions", "list", "--json"])
        .envs(fixture.environment(""))
        .env_remove("ANTHROPIC_API_KEY")
        .current_dir(&fixture.workspace)
        .output()
        .unwrap();
    let sessions: Vec<Value> = String::from_utf8(listed.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(sessions.len(), 3 * CYCLES);
    let newest = sessions[0]["sessionId"].as_str().unwrap();
    let resumed = Command::new(binary())
        .args(["ask", "--model", "offline", "--resume", newest, "hello"])
        .envs(fixture.environment(""))
        .current_dir(&fixture.workspace)
        .output()
        .unwrap();
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
}

fn start(fixture: &Fixture) -> Child {
    Command::new(binary())
        .arg("lsp")
        .envs(fixture.environment(""))
        .current_dir(&fixture.workspace)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn act(server: &mut Child, deed: Deed, id: usize, fixture: &Fixture, marker: &str) {
    let root = format!("file://{}", fixture.workspace.display());
    match deed {
        Deed::Initialize => {
            let capabilities = json!({ "experimental": { "reverie": { "version": 1 } } });
            let folders = json!([{ "uri": root, "name": "w" }]);
            let params = json!({ "processId": std::process::id(), "workspaceFolders": folders, "capabilities": capabilities });
            send(server, &json!({ "id": id, "method": "initialize", "params": params }));
            answer(server, id);
            send(server, &json!({ "method": "initialized", "params": {} }));
        }
        Deed::Prompt => {
            let params = json!({ "model": "offline/offline" });
            send(server, &json!({ "id": 100, "method": "reverie/session/new", "params": params }));
            let session = answer(server, 100)["sessionId"].clone();
            let prompt = json!([{ "type": "text", "text": format!("run sleep {marker}") }]);
            let params = json!({ "sessionId": session, "prompt": prompt });
            send(server, &json!({ "id": 101, "method": "reverie/session/prompt", "params": params }));
            answer(server, 101);
        }
        Deed::Shutdown => {
            send(server, &json!({ "id": id, "method": "shutdown" }));
        }
        Deed::Exit => send(server, &json!({ "method": "exit" })),
        Deed::Late => send(server, &json!({ "id": id, "method": "reverie/models/list", "params": {} })),
        Deed::HalfAFrame => write(server, b"Content-Length: 100\r\n\r\n{\"jsonrpc\""),
        Deed::HangUp => drop(server.stdin.take()),
        Deed::Terminate => {
            let pid = rustix::process::Pid::from_raw(i32::try_from(server.id()).unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        }
    }
}

fn send(server: &mut Child, message: &Value) {
    let mut message = message.clone();
    message["jsonrpc"] = json!("2.0");
    let body = message.to_string();
    write(server, format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
}

/// A server that has gone already reads nothing more.
fn write(server: &mut Child, bytes: &[u8]) {
    if let Some(stdin) = &mut server.stdin
        && let Err(error) = stdin.write_all(bytes).and_then(|()| stdin.flush())
    {
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    }
}

/// Reads until the answer to this request has come.
fn answer(server: &mut Child, id: usize) -> Value {
    use std::io::{BufRead, BufReader, Read};
    let mut reader = BufReader::with_capacity(1, server.stdout.as_mut().unwrap());
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(reader.read_line(&mut line).unwrap() > 0, "the server ended without an answer to {id}");
            match line.trim().strip_prefix("Content-Length: ") {
                Some(number) => length = number.parse().unwrap(),
                None if line.trim().is_empty() => break,
                None => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let message: Value = serde_json::from_slice(&body).unwrap();
        if message["id"] == json!(id) && message.get("method").is_none() {
            return message["result"].clone();
        }
    }
}
