//! A small MCP server on stdio that behaves as its first argument says, for tests: `scripted_server MODE`.
//!
//! Modes: `plain`, `garbage` (noise between the messages), `silent` (never answers), `dies` (at once), `pages` (tools on
//! several pages, some of them impossible), `modern` (knows only the protocol without a handshake), `refuses`.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a fault in a test should end it")]
#![expect(clippy::print_stdout, reason = "its standard output is the wire")]
#![expect(clippy::zombie_processes, reason = "that is what is tested")]

use std::{
    env,
    io::{self, BufRead, Write},
    process::{Command, Stdio, exit},
};

use serde_json::{Value, json};

fn main() {
    let mode = env::args().nth(1).unwrap_or_default();
    if mode == "dies" {
        eprintln!("one\ntwo\ncannot find the database");
        exit(7);
    }
    let mut server = Server { mode, changed: false, cancelled: Vec::new() };
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        server.receive(&message);
    }
}

struct Server {
    mode: String,
    changed: bool,
    cancelled: Vec<Value>,
}

impl Server {
    fn receive(&mut self, message: &Value) {
        if self.mode == "silent" {
            return;
        }
        if self.mode == "garbage" {
            print!("starting up…\n\n{{\"not\": \"mcp\"}}\n[1, 2]\n{{broken\n");
        }
        let (id, params) = (&message["id"], &message["params"]);
        match message["method"].as_str().unwrap_or_default() {
            "initialize" if matches!(self.mode.as_str(), "modern" | "refuses") => {
                error(id, -32601, "no handshakes here");
            }
            "initialize" => {
                let capabilities = json!({"tools": {"listChanged": true}});
                let version = &params["protocolVersion"];
                answer(
                    id,
                    json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": {"name": "scripted", "version": "1"}}),
                );
            }
            "server/discover" if self.mode == "modern" => {
                answer(
                    id,
                    json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
                );
            }
            "notifications/cancelled" => self.cancelled.push(params["requestId"].clone()),
            "tools/list" if self.mode == "pages" => answer(id, page(params["cursor"].as_str())),
            "tools/list" => answer(id, json!({ "tools": self.tools() })),
            "tools/call" => self.call(id, params),
            _ if id.is_null() => {}
            method => error(id, -32601, method),
        }
    }

    fn tools(&self) -> Vec<Value> {
        let names = [
            "slow",
            "echo",
            "fails",
            "dies",
            "huge",
            "endless",
            "image",
            "structured",
            "steps",
            "change",
            "cancelled",
            "environment",
            "leaves",
            "odd",
        ];
        let mut tools: Vec<Value> = names.iter().map(|name| tool(name)).collect();
        if self.changed {
            tools.push(tool("added"));
        }
        tools
    }

    fn call(&mut self, id: &Value, params: &Value) {
        let arguments = &params["arguments"];
        match params["name"].as_str().unwrap_or_default() {
            "echo" => answer(id, text(arguments["text"].as_str().unwrap_or_default())),
            "fails" => {
                answer(id, json!({"content": [{"type": "text", "text": "no such record"}], "isError": true}))
            }
            "dies" => {
                eprintln!("about to die");
                eprint!("out of cheese");
                exit(3);
            }
            "huge" => answer(id, text(&"x".repeat(5_000_000))),
            "endless" => {
                let chunk = vec![b'y'; 1024 * 1024];
                while io::stdout().write_all(&chunk).is_ok() {}
            }
            "image" => answer(
                id,
                json!({"content": [{"type": "image", "mimeType": "image/jpeg", "data": "iVBORw0KGgoAAAAN"}]}),
            ),
            "structured" => answer(id, json!({"content": [], "structuredContent": {"sum": 3}})),
            "steps" => {
                let token = &params["_meta"]["progressToken"];
                for step in 1..=2 {
                    send(
                        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": step, "total": 2, "message": format!("step\n{step}")}}),
                    );
                }
                // The test ends the call when it has heard both.
            }
            "change" => {
                self.changed = true;
                answer(id, text("changed"));
                send(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
            }
            "cancelled" => answer(id, text(&json!(self.cancelled).to_string())),
            "environment" => {
                let variables: Vec<String> =
                    env::vars().map(|(name, value)| format!("{name}={value}")).collect();
                answer(id, text(&variables.join("\n")));
            }
            "leaves" => {
                let child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
                answer(id, text(&child.id().to_string()));
                if arguments["then"] == "die" {
                    exit(0);
                }
            }
            "odd" => {
                answer(id, json!({"content": [{"type": "hologram"}, {"type": "text", "text": "and text"}]}))
            }
            "added" => answer(id, text("added")),
            _ => {}
        }
    }
}

fn page(cursor: Option<&str>) -> Value {
    match cursor {
        None => {
            json!({"tools": [tool("b"), "no tool at all", {"name": "list", "inputSchema": []}], "nextCursor": "2"})
        }
        Some("2") => json!({"tools": [tool("a"), tool("a")], "nextCursor": "3"}),
        Some(_) => json!({"tools": [tool("c")], "nextCursor": ""}),
    }
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("Does {name}"), "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}})
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn answer(id: &Value, result: Value) {
    send(json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn error(id: &Value, code: i32, message: &str) {
    send(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}));
}

/// Whoever listens no more has ended us.
fn send(message: Value) {
    if writeln!(io::stdout(), "{message}").is_err() {
        exit(0);
    }
}
