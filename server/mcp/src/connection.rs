//! One connection to one server, from its handshake to its end: listing tools, calling them, and saying in words what
//! went wrong.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rmcp::{
    ClientServiceExt, RoleClient,
    model::{
        CallToolRequest, CallToolRequestParams, ClientRequest, ListToolsRequest, PaginatedRequestParams,
        ProtocolVersion, ServerResult,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, PeerRequestOptions, RequestHandle, RunningService,
        ServiceError,
    },
    transport::async_rw::AsyncRwTransport,
};
use serde_json::{Map, Value};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::{
    Content, McpError, Progress, Transport,
    bounded::Bounded,
    content,
    handler::Handler,
    http,
    process::{Process, Program},
    server::Server,
    text,
    tools::Listing,
    variables,
};

const MOST_PAGES: usize = 50;
/// One message on standard output.
const LONGEST_LINE: usize = 16 * 1024 * 1024;
/// For a server that is gone to have its last answer read, or its end seen.
const AFTERWARDS: Duration = Duration::from_millis(500);

pub(crate) struct Connection {
    server: String,
    service: RunningService<RoleClient, Handler>,
    /// `None` for a server on the web.
    process: Option<Process>,
    too_long: Arc<AtomicBool>,
    listing: Mutex<Arc<Listing>>,
}

impl Connection {
    /// Starts the server or connects to it, shakes hands and lists its tools. Errors are words that follow the
    /// server's name. Dropping the future ends what was started.
    pub(crate) async fn open(server: &Server) -> Result<Self, String> {
        let old = ClientLifecycleMode::Initialize;
        let connection = match Self::shake_hands(server, old).await {
            Ok(connection) => connection,
            Err(Refused::Otherwise(why)) => return Err(why),
            // "From 2026-07-28 on there is no handshake left to answer": a server that knows only that refuses.
            Err(Refused::ByServer(why)) => {
                let new =
                    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
                Self::shake_hands(server, new).await.map_err(|_| why)?
            }
        };
        connection.list(server).await?;
        Ok(connection)
    }

    async fn shake_hands(server: &Server, lifecycle: ClientLifecycleMode) -> Result<Self, Refused> {
        let environment = &server.launch.environment;
        let unusable = |why: String| format!("cannot be used: {why}");
        let expand = |text: &str| variables::expand(text, environment).map_err(unusable);
        let expand_values = |map| variables::expand_values(map, environment).map_err(unusable);
        let too_long = Arc::new(AtomicBool::new(false));
        let handler = Handler::default();
        let (shaken, process) = match &server.config.transport {
            Transport::Stdio { command, args, env } => {
                let command = expand(command)?;
                let args = args.iter().map(|arg| expand(arg)).collect::<Result<Vec<String>, String>>()?;
                let program = Program {
                    wrapper: &server.launch.wrapper,
                    command: &command,
                    args: &args,
                    env: &expand_values(env)?,
                    cwd: &server.launch.cwd,
                };
                let (process, stdin, stdout) = Process::start(&program, environment, &server.launch.tracker)
                    .map_err(|error| format!("cannot be started: {command}: {error}"))?;
                let stdout = Bounded::new(stdout, LONGEST_LINE, Arc::clone(&too_long));
                // Its own limit is out of the way: it would drop the answer and leave us waiting.
                let transport =
                    AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(2 * LONGEST_LINE);
                let shaking = handler.serve_with_lifecycle(transport, lifecycle);
                (timeout(server.launch.start_limit, shaking).await, Some(process))
            }
            Transport::Http { url, headers } => {
                let transport = http::transport(expand(url)?, expand_values(headers)?, environment);
                let transport = transport.await.map_err(unusable)?;
                let shaking = handler.serve_with_lifecycle(transport, lifecycle);
                (timeout(server.launch.start_limit, shaking).await, None)
            }
        };
        let service = match shaken {
            Ok(Ok(service)) => service,
            Ok(Err(error)) => return Err(refusal(&error, process.as_ref(), &too_long).await),
            Err(_) => {
                let why = format!(
                    "did not answer within {:?}{}",
                    server.launch.start_limit,
                    said(process.as_ref())
                );
                return Err(Refused::Otherwise(why));
            }
        };
        Ok(Self { server: server.config.name.clone(), service, process, too_long, listing: Mutex::default() })
    }

    pub(crate) fn listing(&self) -> Arc<Listing> {
        Arc::clone(&self.listing.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether nothing more will come of it.
    pub(crate) fn is_over(&self) -> bool {
        self.service.peer().is_transport_closed()
            || self.process.as_ref().is_some_and(|process| process.ended().is_some())
    }

    /// Ends it, also for calls that are under way.
    pub(crate) fn close(&self) {
        self.service.cancellation_token().cancel();
        self.process.iter().for_each(Process::stop);
    }

    /// Why it is over.
    pub(crate) async fn end(&self) -> String {
        if self.too_long.load(Ordering::Relaxed) {
            return format!("sent a message of more than {} MB and was ended", LONGEST_LINE / 1024 / 1024);
        }
        let Some(process) = &self.process else { return "closed the connection".to_owned() };
        match timeout(AFTERWARDS, process.end()).await {
            Ok(how) => format!("ended ({how})"),
            Err(_) => "closed its output and was ended".to_owned(),
        }
    }

    /// Waits until the server says that its tools have changed.
    pub(crate) async fn tools_changed(&self) {
        self.service.service().tools_changed().await;
    }

    /// Asks for the tools.
    pub(crate) async fn list(&self, server: &Server) -> Result<(), String> {
        let limit = server.launch.start_limit;
        let listed = match timeout(limit, self.all_tools()).await {
            Ok(Ok(listed)) => listed,
            Ok(Err(ServiceError::TransportClosed)) => {
                return Err(format!("{}{}", self.end().await, said(self.process.as_ref())));
            }
            Ok(Err(error)) => return Err(format!("does not list its tools: {}", in_words(&error))),
            Err(_) => return Err(format!("did not list its tools within {limit:?}")),
        };
        let listing = Listing::new(&server.config.name, &server.part, listed);
        *self.listing.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(listing);
        Ok(())
    }

    async fn all_tools(&self) -> Result<Vec<Value>, ServiceError> {
        let has_tools = self.service.peer_info().is_none_or(|info| info.capabilities.tools.is_some());
        let mut tools = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..if has_tools { MOST_PAGES } else { 0 } {
            let page = PaginatedRequestParams::default().with_cursor(cursor.take());
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(page));
            // Read as plain JSON: one tool that is not by the book must not hide the others.
            let mut result = plain(&self.service.send_request(request).await?);
            if let Some(Value::Array(listed)) = result.get_mut("tools").map(Value::take) {
                tools.extend(listed);
            }
            cursor = result.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
            if cursor.as_deref().unwrap_or_default().is_empty() {
                break;
            }
        }
        Ok(tools)
    }

    /// Calls a tool by the server's own name for it.
    pub(crate) async fn call(
        &self,
        tool: String,
        input: Map<String, Value>,
        limit: Duration,
        cancel: &CancellationToken,
        progress: Progress,
    ) -> Result<Vec<Content>, McpError> {
        let params = CallToolRequestParams::new(tool).with_arguments(input);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let asking = self.service.send_cancellable_request(request, PeerRequestOptions::no_options());
        let Ok(mut handle) = asking.await else { return Err(self.over().await) };
        let _listening = self.service.service().listen(&handle.progress_token, progress);
        let response = tokio::select! {
            response = &mut handle.rx => response,
            () = cancel.cancelled() => {
                give_up(handle, "cancelled by the user");
                return Err(McpError::Cancelled);
            }
            () = tokio::time::sleep(limit) => {
                give_up(handle, "timed out");
                return Err(McpError::TimedOut { server: self.server.clone(), limit });
            }
            () = self.process_end() => match timeout(AFTERWARDS, &mut handle.rx).await {
                Ok(response) => response,
                Err(_) => return Err(self.over().await),
            },
        };
        match response {
            Ok(Ok(ServerResult::InputRequiredResult(_))) => {
                Err(self.failed("asks for input that cannot be given here"))
            }
            Ok(Ok(ServerResult::CreateTaskResult(_))) => {
                Err(self.failed("answers with a task, which is not supported"))
            }
            Ok(Ok(result)) => content::of_result(&plain(&result)).map_err(McpError::Tool),
            Ok(Err(ServiceError::McpError(error))) => {
                Err(McpError::Tool(text::shortened(&error.message, 10_000)))
            }
            Ok(Err(ServiceError::TransportClosed)) | Err(_) => Err(self.over().await),
            Ok(Err(error)) => Err(self.failed(&format!("cannot be called: {}", in_words(&error)))),
        }
    }

    async fn process_end(&self) {
        match &self.process {
            Some(process) => drop(process.end().await),
            None => std::future::pending().await,
        }
    }

    async fn over(&self) -> McpError {
        let how = self.end().await;
        McpError::Ended { server: self.server.clone(), how, last_lines: said(self.process.as_ref()) }
    }

    fn failed(&self, why: &str) -> McpError {
        McpError::Server { server: self.server.clone(), why: why.to_owned() }
    }
}

/// Tells the server that nobody waits any more, without waiting for it.
fn give_up(handle: RequestHandle<RoleClient>, reason: &'static str) {
    tokio::spawn(async move {
        if let Ok(Err(error)) = timeout(AFTERWARDS, handle.cancel(Some(reason.to_owned()))).await {
            tracing::debug!(%error, "a cancellation was not delivered");
        }
    });
}

/// A handshake that came to nothing.
enum Refused {
    /// The server understood and said no.
    ByServer(String),
    Otherwise(String),
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Self::Otherwise(why)
    }
}

async fn refusal(error: &ClientInitializeError, process: Option<&Process>, too_long: &AtomicBool) -> Refused {
    if too_long.load(Ordering::Relaxed) {
        return Refused::Otherwise("does not speak MCP: its first message has no end".to_owned());
    }
    match (error, process) {
        (ClientInitializeError::JsonRpcError(error), _) => {
            Refused::ByServer(format!("refused the connection: {}", text::one_line(&error.message, 300)))
        }
        (
            ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. },
            Some(process),
        ) => {
            let how = timeout(AFTERWARDS, process.end()).await;
            let how = how.map_or_else(|_| "closed its output".to_owned(), |how| format!("ended ({how})"));
            Refused::Otherwise(format!("{how} before it answered{}", said(Some(process))))
        }
        (ClientInitializeError::TransportError { error, .. }, None) => {
            Refused::Otherwise(format!("cannot be used: {}", http::reason(error)))
        }
        (error, process) => {
            let words = text::one_line(&error.to_string(), 300);
            Refused::Otherwise(format!("does not speak MCP: {words}{}", said(process)))
        }
    }
}

fn in_words(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => text::one_line(&error.message, 300),
        ServiceError::TransportSend(error) => http::reason(error),
        error => text::one_line(&error.to_string(), 300),
    }
}

/// What it had to say on stderr, behind a sentence.
fn said(process: Option<&Process>) -> String {
    match process.map(Process::last_lines).unwrap_or_default() {
        lines if lines.is_empty() => String::new(),
        lines => format!("; its last lines were:\n{lines}"),
    }
}

/// A result as it was on the wire.
fn plain(result: &ServerResult) -> Value {
    serde_json::to_value(result).unwrap_or_default()
}
