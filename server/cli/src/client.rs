//! A client of the server in this process, over the same protocol that editors speak.

use std::{
    collections::HashMap,
    fmt,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context, anyhow};
use protocol::{ClientCapabilities, Request};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use settings::Environment;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream},
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

/// Room for a burst of updates; the server merges what does not fit.
const PIPE_BYTES: usize = 256 * 1_024;

/// What the server sends by itself.
pub enum Incoming {
    Notification { method: String, params: Box<RawValue> },
    Request { id: Value, method: String, params: Value },
}

/// The server's answer when it does not do what was asked; whoever knows more to say about a code finds it by
/// downcasting.
#[derive(Debug, Deserialize)]
pub struct Refusal {
    pub code: i64,
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

/// Who waits for the answer to which request.
type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Result<Value, Refusal>>>>>;

pub struct Client {
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Waiting,
    next_id: AtomicU64,
    pub incoming: mpsc::UnboundedReceiver<Incoming>,
    server: JoinHandle<u8>,
}

impl Client {
    /// Starts a server and shakes hands. `settings` is the command line's layer.
    pub async fn start(
        cwd: &Path,
        settings: Option<Value>,
        capabilities: ClientCapabilities,
    ) -> anyhow::Result<Self> {
        Self::start_with(cwd, settings, capabilities, &Value::Null).await
    }

    /// The same for one turn that nobody goes on with.
    pub async fn start_non_interactive(
        cwd: &Path,
        settings: Option<Value>,
        capabilities: ClientCapabilities,
    ) -> anyhow::Result<Self> {
        let options = json!({"reverie": {"nonInteractive": true}});
        Self::start_with(cwd, settings, capabilities, &options).await
    }

    async fn start_with(
        cwd: &Path,
        settings: Option<Value>,
        capabilities: ClientCapabilities,
        initialization: &Value,
    ) -> anyhow::Result<Self> {
        let environment = Environment::of_process();
        crate::logging::start(&environment, crate::logging::Stderr::Nothing);
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let (server_input, server_output) = tokio::io::split(theirs);
        let options = lsp::Options {
            environment,
            cwd: cwd.to_owned(),
            command_line_settings: settings,
            watch_parent: false,
            faults: lsp::Faults::default(),
        };
        let server = tokio::spawn(lsp::serve(server_input, server_output, options));
        let client = Self::on(ours, server);
        let params = json!({
            "processId": null,
            "clientInfo": {"name": "reverie", "version": env!("CARGO_PKG_VERSION")},
            "capabilities": {"general": {"positionEncodings": ["utf-8"]}, "experimental": {"reverie": capabilities}},
            "initializationOptions": initialization,
        });
        client.call_method("initialize", params).await?;
        client.notify("initialized", &json!({}));
        Ok(client)
    }

    fn on(stream: DuplexStream, server: JoinHandle<u8>) -> Self {
        let (reader, mut writer) = tokio::io::split(stream);
        let (outgoing, mut queue) = mpsc::unbounded_channel::<Vec<u8>>();
        tokio::spawn(async move {
            while let Some(body) = queue.recv().await {
                let header = format!("Content-Length: {}\r\n\r\n", body.len());
                if writer.write_all(header.as_bytes()).await.is_err()
                    || writer.write_all(&body).await.is_err()
                {
                    return;
                }
            }
        });
        let waiting = Arc::new(Mutex::new(HashMap::new()));
        let (sender, incoming) = mpsc::unbounded_channel();
        tokio::spawn(read_all(reader, Arc::clone(&waiting), sender));
        Self { outgoing, waiting, next_id: AtomicU64::new(1), incoming, server }
    }

    pub async fn call<R: Request>(&self, params: &R::Params) -> anyhow::Result<R::Result> {
        let answer = self.call_method(R::NAME, serde_json::to_value(params)?).await?;
        serde_json::from_value(answer).with_context(|| format!("the answer to {} makes no sense", R::NAME))
    }

    async fn call_method(&self, method: &str, params: Value) -> anyhow::Result<Value> {
        Ok(self.ask(method, params).await.map_err(|_| anyhow!("the server ended"))??)
    }

    fn ask(&self, method: &str, params: Value) -> oneshot::Receiver<Result<Value, Refusal>> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        answer
    }

    pub fn notify(&self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub fn answer(&self, id: &Value, result: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    pub fn refuse(&self, id: &Value, method: &str) {
        let error = json!({"code": -32601, "message": format!("this client does not answer {method}")});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }

    /// Says goodbye in order and waits for the server to be gone.
    pub async fn stop(self) {
        self.shut_down().await;
        self.exit().await;
    }

    /// Resolves when the server has done what it wants to have done before its end. Does not hold the client.
    pub fn shut_down(&self) -> impl Future<Output = ()> + 'static {
        let answer = self.ask("shutdown", Value::Null);
        async move {
            if answer.await.is_err() {
                tracing::debug!("the server ended by itself");
            }
        }
    }

    /// Ends the server, whatever it is at, and waits for it to be gone: a matter of two seconds at most.
    pub async fn exit(self) {
        self.notify("exit", &Value::Null);
        drop(self.outgoing);
        if let Err(error) = self.server.await {
            tracing::error!(%error, "the server failed at its end");
        }
    }

    fn send(&self, message: &Value) {
        // Fails only when the server is gone; whoever waits for an answer hears of it.
        if self.outgoing.send(message.to_string().into_bytes()).is_err() {
            tracing::debug!("the server is gone");
        }
    }
}

#[derive(Deserialize)]
struct Message {
    id: Option<Value>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    result: Option<Value>,
    error: Option<Refusal>,
}

async fn read_all(
    reader: tokio::io::ReadHalf<DuplexStream>,
    waiting: Waiting,
    incoming: mpsc::UnboundedSender<Incoming>,
) {
    let mut reader = BufReader::new(reader);
    while let Some(body) = read_frame(&mut reader).await {
        let Ok(message) = serde_json::from_slice::<Message>(&body) else {
            tracing::error!("the server sent something that is not JSON-RPC");
            continue;
        };
        let forwarded = match (message.method, message.id) {
            (Some(method), Some(id)) => {
                let params = message
                    .params
                    .and_then(|raw| serde_json::from_str(raw.get()).ok())
                    .unwrap_or(Value::Null);
                incoming.send(Incoming::Request { id, method, params })
            }
            (Some(method), None) => {
                let params = message.params.unwrap_or_else(|| RawValue::NULL.to_owned());
                incoming.send(Incoming::Notification { method, params })
            }
            (None, id) => {
                let id = id.and_then(|id| id.as_u64()).unwrap_or_default();
                let waiter = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                let outcome = match message.error {
                    Some(error) => Err(error),
                    None => Ok(message.result.unwrap_or(Value::Null)),
                };
                if let Some(waiter) = waiter
                    && waiter.send(outcome).is_err()
                {
                    tracing::debug!(id, "nobody waits for this answer any more");
                }
                Ok(())
            }
        };
        if forwarded.is_err() {
            return;
        }
    }
    // Whoever still waits learns that the server is gone.
    waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

async fn read_frame(reader: &mut BufReader<tokio::io::ReadHalf<DuplexStream>>) -> Option<Vec<u8>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length:") {
            length = value.trim().parse::<usize>().ok();
        }
    }
    let mut body = vec![0; length?];
    reader.read_exact(&mut body).await.ok()?;
    Some(body)
}
