//! A minimal client for this crate's tests: the server at the other end of a pipe in memory.

use std::{collections::VecDeque, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf},
    task::JoinHandle,
    time::timeout,
};

use crate::{
    Faults, Options,
    framing::{Frame, FrameReader},
    outbound::Outbound,
    server::Server,
};

/// Only a hanging test ever waits this long.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct TestClient {
    pub server: Server,
    pub home: TempDir,
    writer: WriteHalf<DuplexStream>,
    frames: FrameReader<ReadHalf<DuplexStream>>,
    serving: JoinHandle<u8>,
    last_id: i64,
    unread: VecDeque<Value>,
}

/// A server that reads nothing outside `home`.
pub(crate) fn server_in(home: &TempDir, outbound: Outbound) -> Server {
    server_with(home, outbound, Faults::default())
}

fn server_with(home: &TempDir, outbound: Outbound, faults: Faults) -> Server {
    let options = Options {
        environment: settings::Environment::new(home.path().to_owned(), []),
        cwd: home.path().to_owned(),
        command_line_settings: None,
        watch_parent: true,
        faults,
    };
    Server::new(options, outbound)
}

impl TestClient {
    pub(crate) fn start() -> Self {
        Self::failing(Faults::default())
    }

    /// A server that panics where it is told to.
    pub(crate) fn failing(faults: Faults) -> Self {
        let home = TempDir::new().unwrap();
        let outbound = Outbound::default();
        let server = server_with(&home, outbound.clone(), faults);
        let (ours, theirs) = tokio::io::duplex(1024 * 1024);
        let (reader, writer) = tokio::io::split(ours);
        let (input, output) = tokio::io::split(theirs);
        let serving = tokio::spawn(crate::run(server.clone(), outbound, input, output, true));
        let frames = FrameReader::new(reader);
        Self { server, home, writer, frames, serving, last_id: 0, unread: VecDeque::new() }
    }

    pub(crate) async fn initialized(capabilities: Value) -> Self {
        let mut client = Self::start();
        let answer = client.request("initialize", json!({ "capabilities": capabilities })).await;
        assert!(answer.get("result").is_some(), "{answer}");
        client.notify("initialized", json!({})).await;
        client
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        timeout(PATIENCE, self.writer.write_all(bytes)).await.unwrap().unwrap();
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).await;
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Sends a request without waiting for its answer.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    /// Sends a request and returns the whole response; what comes before it stays unread.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.receive_where(|message| message["id"] == id && message.get("method").is_none()).await
    }

    pub(crate) async fn receive(&mut self) -> Value {
        self.receive_where(|_| true).await
    }

    pub(crate) async fn receive_where(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.unread.iter().position(&wanted) {
            return self.unread.remove(place).unwrap();
        }
        loop {
            let message = self.next_message().await;
            if wanted(&message) {
                return message;
            }
            self.unread.push_back(message);
        }
    }

    /// Closes the link and returns the server's exit code.
    pub(crate) async fn hang_up(self) -> u8 {
        drop((self.writer, self.frames));
        timeout(PATIENCE, self.serving).await.unwrap().unwrap()
    }

    /// Closes the way to the server and returns what it still says.
    pub(crate) async fn finish_writing(mut self) -> Vec<Value> {
        self.writer.shutdown().await.unwrap();
        let mut last_words = Vec::from(self.unread);
        while let Frame::Body(body) = timeout(PATIENCE, self.frames.next()).await.unwrap() {
            last_words.push(serde_json::from_slice(&body).unwrap());
        }
        last_words
    }

    /// The server's exit code, with the link still open.
    pub(crate) async fn exit_code(self) -> u8 {
        let _open = (self.writer, self.frames);
        timeout(PATIENCE, self.serving).await.unwrap().unwrap()
    }

    async fn next_message(&mut self) -> Value {
        match timeout(PATIENCE, self.frames.next()).await.expect("the server should say something") {
            Frame::Body(body) => serde_json::from_slice(&body).unwrap(),
            other => panic!("the server sent {other:?}"),
        }
    }
}
