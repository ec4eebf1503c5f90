//! An LSP client for tests, over any pair of streams or a spawned server.
//!
//! It behaves like a careful editor (see `answers` and `document`) and forgets nothing: what the server said is
//! kept in order, and dropping the client fails the test if a notification was neither read nor ignored by name, a
//! request stayed unanswered, an update does not fit the protocol's types or a session's `seq` has a gap.

mod answers;
mod document;
mod editing;
mod framing;
mod incoming;
mod process;
mod sessions;
mod turn;

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
};

use self::answers::Handler;
pub use self::{
    answers::Answer,
    document::{Document, Encoding, offset_of, position_of, range_json, uri},
    framing::{frame, read_frame},
    process::ServerProcess,
    turn::Turn,
};

/// What the client tells the server about itself.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    pub roots: Vec<PathBuf>,
    /// Offered in this order; the server picks.
    pub encodings: Vec<&'static str>,
    /// `experimental.reverie`; null for a client that knows nothing of us.
    pub reverie: Value,
    /// What `workspace/configuration` is answered from.
    pub configuration: Value,
    /// Whose death ends the server.
    pub process_id: u32,
}

impl ClientOptions {
    pub fn new(root: &Path) -> Self {
        Self {
            roots: vec![root.to_owned()],
            encodings: vec!["utf-8", "utf-16"],
            reverie: json!({
                "version": 1, "permissionAsk": true, "userAsk": true, "planAsk": true, "documentSave": true,
            }),
            configuration: Value::Null,
            process_id: std::process::id(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Value,
}

#[derive(Clone, Debug)]
pub struct Notification {
    pub method: String,
    pub params: Value,
    read: bool,
}

impl Notification {
    /// For a session update its kind, else the method.
    pub fn kind(&self) -> &str {
        self.params["update"]["kind"].as_str().unwrap_or(&self.method)
    }
}

pub struct LspClient {
    shared: Arc<Shared>,
    next_id: AtomicI64,
    reader: JoinHandle<()>,
    process: Option<ServerProcess>,
    abandoned: bool,
    patience: Duration,
}

struct Shared {
    state: Mutex<State>,
    changed: watch::Sender<u64>,
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
}

struct State {
    log: Vec<Notification>,
    ignored: Vec<String>,
    pending: HashMap<i64, (String, oneshot::Sender<Result<Value, RpcError>>)>,
    handlers: HashMap<String, Handler>,
    /// What the server asked, in order.
    asked: Vec<(String, Value)>,
    unanswered: usize,
    documents: BTreeMap<String, Document>,
    encoding: Encoding,
    configuration: Value,
    next_seq: HashMap<String, u64>,
    problems: Vec<String>,
    closed: bool,
}

impl LspClient {
    pub fn connect(
        reader: impl AsyncRead + Send + Unpin + 'static,
        mut writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let (outgoing, mut frames) = mpsc::unbounded_channel::<Vec<u8>>();
        tokio::spawn(async move {
            while let Some(frame) = frames.recv().await {
                // An empty frame closes the stream; a server that is gone has nothing more to read.
                if frame.is_empty()
                    || writer.write_all(&frame).await.is_err()
                    || writer.flush().await.is_err()
                {
                    break;
                }
            }
        });
        let state = State {
            log: Vec::new(),
            // It dreams when enough sessions are there, whatever the test is about.
            ignored: vec!["reverie/dream/progress".to_owned()],
            pending: HashMap::new(),
            handlers: HashMap::new(),
            asked: Vec::new(),
            unanswered: 0,
            documents: BTreeMap::new(),
            encoding: Encoding::Utf16,
            configuration: Value::Null,
            next_seq: HashMap::new(),
            problems: Vec::new(),
            closed: false,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: watch::Sender::new(0), outgoing });
        let task = tokio::spawn(incoming::read_all(BufReader::new(reader), shared.clone()));
        Self {
            shared,
            next_id: AtomicI64::new(1),
            reader: task,
            process: None,
            abandoned: false,
            patience: crate::PATIENCE,
        }
    }

    /// Talks to a server that runs as a process of its own.
    pub fn over_stdio(mut process: ServerProcess) -> Self {
        let (stdout, stdin) = process.take_streams();
        let mut client = Self::connect(stdout, stdin);
        client.process = Some(process);
        client
    }

    /// The handshake; returns the server's answer to `initialize`.
    pub async fn initialize(&self, options: &ClientOptions) -> Value {
        self.state().configuration = options.configuration.clone();
        let folders: Vec<Value> =
            options.roots.iter().map(|root| json!({ "uri": uri(root), "name": "test" })).collect();
        let params = json!({
            "processId": options.process_id,
            "clientInfo": { "name": "testkit" },
            "rootUri": options.roots.first().map(|root| uri(root)),
            "workspaceFolders": folders,
            "capabilities": {
                "general": { "positionEncodings": options.encodings },
                "workspace": {
                    "applyEdit": true,
                    "configuration": true,
                    "workspaceFolders": true,
                    "workspaceEdit": { "documentChanges": true },
                    "didChangeConfiguration": { "dynamicRegistration": true },
                    "didChangeWatchedFiles": { "dynamicRegistration": true },
                },
                "window": { "workDoneProgress": true, "showMessage": {} },
                "experimental": { "reverie": options.reverie },
            },
        });
        let answer = self.request("initialize", params).await.expect("initialize succeeds");
        self.state().encoding = match answer["capabilities"]["positionEncoding"].as_str() {
            Some("utf-8") => Encoding::Utf8,
            _ => Encoding::Utf16,
        };
        self.notify("initialized", json!({}));
        answer
    }

    pub async fn request(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let (_, answer) = self.start_request(method, params);
        self.answer(answer, method).await
    }

    /// Sends a request and returns its id without waiting.
    pub fn start_request(
        &self,
        method: &str,
        params: Value,
    ) -> (i64, oneshot::Receiver<Result<Value, RpcError>>) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.state().pending.insert(id, (method.to_owned(), sender));
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        (id, receiver)
    }

    pub async fn answer(
        &self,
        receiver: oneshot::Receiver<Result<Value, RpcError>>,
        method: &str,
    ) -> Result<Value, RpcError> {
        match tokio::time::timeout(self.patience, receiver).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => panic!("the server went away before it answered {method}\n{}", self.dump()),
            Err(_) => panic!("no answer to {method}\n{}", self.dump()),
        }
    }

    pub fn notify(&self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Bytes as they are, for what no client should send.
    pub fn send_raw(&self, bytes: &[u8]) {
        assert!(!bytes.is_empty());
        // A closed stream shows in the answer that does not come.
        self.shared.outgoing.send(bytes.to_vec()).unwrap_or_default();
    }

    /// From now on requests of this method are answered by the closure.
    pub fn on_request(&self, method: &str, handler: impl FnMut(&Value) -> Answer + Send + 'static) {
        self.state().handlers.insert(method.to_owned(), Box::new(handler));
    }

    /// Allows everything that is asked for.
    pub fn allow_everything(&self) {
        self.on_request("reverie/permission/ask", |_| Answer::allow_once());
    }

    /// What the server asked by this method so far.
    pub fn asked(&self, method: &str) -> Vec<Value> {
        let state = self.state();
        state.asked.iter().filter(|(asked, _)| asked == method).map(|(_, params)| params.clone()).collect()
    }

    /// Waits until the server has asked this so many times.
    pub async fn wait_until_asked(&self, method: &str, times: usize) -> Vec<Value> {
        self.wait(&format!("{method} to be asked {times} times"), |state| {
            let asked: Vec<Value> = state
                .asked
                .iter()
                .filter(|(asked, _)| asked == method)
                .map(|(_, params)| params.clone())
                .collect();
            (asked.len() >= times).then_some(asked)
        })
        .await
    }

    /// Notifications of this method, or session updates of this kind, need not be read.
    pub fn ignore(&self, method_or_kind: &str) {
        self.state().ignored.push(method_or_kind.to_owned());
    }

    /// The first unread notification that fits; it counts as read then.
    pub async fn wait_for(&self, what: &str, fits: impl Fn(&Notification) -> bool) -> Notification {
        self.wait(what, |state| {
            let found = state.log.iter_mut().find(|notification| !notification.read && fits(notification))?;
            found.read = true;
            Some(found.clone())
        })
        .await
    }

    /// Likewise, or nothing if the server goes away first.
    pub async fn wait_for_unless_gone(
        &self,
        what: &str,
        fits: impl Fn(&Notification) -> bool,
    ) -> Option<Notification> {
        self.wait(what, |state| match state.log.iter_mut().find(|seen| !seen.read && fits(seen)) {
            Some(found) => {
                found.read = true;
                Some(Some(found.clone()))
            }
            None => state.closed.then_some(None),
        })
        .await
    }

    /// All notifications so far, read or not. Looking at them here does not count as reading.
    pub fn log(&self) -> Vec<Notification> {
        self.state().log.clone()
    }

    /// What broke a rule so far.
    pub fn problems(&self) -> Vec<String> {
        self.state().problems.clone()
    }

    /// The server's end in good order; returns the exit code of a process.
    pub async fn shutdown(mut self) -> Option<i32> {
        self.request("shutdown", Value::Null).await.expect("shutdown succeeds");
        self.notify("exit", Value::Null);
        let code = self.ended().await;
        self.check();
        self.abandoned = true;
        code
    }

    /// Closes the server's input and waits until it is gone.
    pub async fn hang_up(mut self) -> Option<i32> {
        self.shared.outgoing.send(Vec::new()).unwrap_or_default();
        let code = self.ended().await;
        self.abandoned = true;
        code
    }

    /// Kills the server with SIGKILL; what it had not said any more is of no interest.
    pub async fn kill(mut self) -> Vec<Notification> {
        self.abandoned = true;
        self.process.as_mut().expect("only processes are killed").kill().await;
        crate::within(&mut self.reader, "the end of the server's output")
            .await
            .expect("the reader does not panic");
        self.log()
    }

    /// Waits until the server has closed its output.
    pub async fn closed(&self) {
        self.wait("the end", |state| state.closed.then_some(())).await;
    }

    /// The id of the server's process.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().and_then(ServerProcess::id)
    }

    /// How long to wait for anything, where the usual is too short.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Gives up the checks at the end, for a test that breaks rules on purpose.
    pub fn abandon(mut self) {
        self.abandoned = true;
    }

    async fn ended(&mut self) -> Option<i32> {
        let patience = self.patience;
        if tokio::time::timeout(patience, &mut self.reader).await.is_err() {
            panic!("the server does not end\n{}", self.dump());
        }
        match &mut self.process {
            Some(process) => process.wait().await,
            None => None,
        }
    }

    async fn wait<T>(&self, what: &str, mut ready: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut changed = self.shared.changed.subscribe();
        let wait = async {
            loop {
                changed.mark_unchanged();
                let closed = {
                    let mut state = self.state();
                    if let Some(value) = ready(&mut state) {
                        return Some(value);
                    }
                    state.closed
                };
                if closed || changed.changed().await.is_err() {
                    return None;
                }
            }
        };
        match tokio::time::timeout(self.patience, wait).await {
            Ok(Some(value)) => value,
            Ok(None) => panic!("the server went away before {what}\n{}", self.dump()),
            Err(_) => panic!("waited in vain for {what}\n{}", self.dump()),
        }
    }

    fn send(&self, message: &Value) {
        self.shared.outgoing.send(frame(message)).unwrap_or_default();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().expect("no handler panics")
    }

    fn check(&self) {
        let state = self.state();
        let mut problems = state.problems.clone();
        let unread = state.log.iter().filter(|notification| {
            let ignored = |name: &String| *name == notification.method || name == notification.kind();
            !notification.read && !state.ignored.iter().any(ignored)
        });
        problems.extend(
            unread.map(|notification| format!("nobody read {} {}", notification.method, notification.params)),
        );
        if state.unanswered > 0 {
            problems.push(format!("{} requests of the server were never answered", state.unanswered));
        }
        drop(state);
        assert!(problems.is_empty(), "{}\n{}", problems.join("\n"), self.dump());
    }

    /// Everything a failure needs to be understood.
    fn dump(&self) -> String {
        let state = self.state();
        let mut dump = String::from("— notifications —\n");
        let skipped = state.log.len().saturating_sub(60);
        if skipped > 0 {
            dump.push_str(&format!("({skipped} earlier)\n"));
        }
        for notification in &state.log[skipped..] {
            let params: String = notification.params.to_string().chars().take(300).collect();
            dump.push_str(&format!("{} {params}\n", notification.method));
        }
        dump.push_str("— asked by the server —\n");
        for (method, params) in &state.asked {
            let params: String = params.to_string().chars().take(300).collect();
            dump.push_str(&format!("{method} {params}\n"));
        }
        let waiting: Vec<&str> = state.pending.values().map(|(method, _)| method.as_str()).collect();
        dump.push_str(&format!("— open requests — {}\n", waiting.join(", ")));
        if let Some(process) = &self.process {
            dump.push_str(&format!("— stderr —\n{}", process.stderr()));
        }
        dump
    }
}

impl Drop for LspClient {
    fn drop(&mut self) {
        self.reader.abort();
        if !self.abandoned && !std::thread::panicking() {
            self.check();
        }
    }
}

#[cfg(test)]
mod tests;
