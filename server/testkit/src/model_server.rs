//! A scripted model server on real HTTP: Messages API and chat completions, streamed.
//!
//! A test queues replies by role; each request takes the first that fits. Every request is kept, checked
//! (`validation`), and billed by the cache simulation (`prompt_cache`). A request nobody expected is answered 400, and
//! that, an invalid request or a reply nobody fetched fails the test when the server is finished or dropped.

mod anthropic;
mod delivery;
mod openai;
mod reply;

use std::{
    collections::{HashSet, VecDeque},
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, OnceLock},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, Uri},
    response::Response,
    routing::post,
    serve::ListenerExt,
};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

pub use self::reply::{Gate, Reply, ReplyBlock, SUMMARY_SECTIONS};
use self::{anthropic::Message, delivery::stream_response, reply::Answer};
use crate::{
    prompt_block::{Section, prompt_block, prompt_blocks},
    prompt_cache::{CacheUsage, PromptCache},
    validation::validate_request,
};

/// What the agent does by itself, beside whatever a test is about. Unless the test queues replies for such a role, or
/// says [`ModelServer::serve`], its requests are checked, answered with a word, for nothing, and not kept.
const BY_ITSELF: [&str; 3] = ["extraction", "session_memory", "dream"];

/// A request as it came, and what became of it.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub bytes: Bytes,
    pub body: Value,
    pub arrived: Instant,
    /// When the last byte of a streamed reply was handed to the connection.
    pub answered: Arc<OnceLock<Instant>>,
    /// See [`role_of`].
    pub role: String,
}

impl RecordedRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The text of every block of the last message, tool results included.
    pub fn last_message_text(&self) -> String {
        let last = self.body["messages"].as_array().and_then(|messages| messages.last());
        last.map(|message| all_text(&message["content"])).unwrap_or_default()
    }

    /// The content of the result of this call.
    pub fn tool_result(&self, tool_use_id: &str) -> Option<String> {
        let messages = self.body["messages"].as_array()?;
        let mut blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
        blocks.find(|block| block["tool_use_id"] == tool_use_id).map(|block| all_text(&block["content"]))
    }
}

/// On whose behalf a request was made. The wire does not say, so it is read off the content: whoever has tools is the
/// main loop, unless a directive makes it a fork; side queries are known by their system prompt.
pub fn role_of(body: &Value) -> String {
    if let Some(kind) = fork_kind(body) {
        return kind;
    }
    let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let system = all_text(&body["system"]).to_lowercase();
    let side_queries = [("recall", "you choose which notes"), ("title", "title")];
    match side_queries.iter().find(|(_, word)| !has_tools && system.contains(word)) {
        Some((role, _)) => (*role).to_owned(),
        None => "main".to_owned(),
    }
}

/// What the line says that marks a fork's directive: `<reverie-fork kind="compact">`. Results of tools do not count.
fn fork_kind(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array()?;
    let user = messages.iter().rev().filter(|message| message["role"] == "user");
    let texts = user.flat_map(|message| match &message["content"] {
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        content => Vec::from_iter(content.as_str()),
    });
    let mut lines = texts.flat_map(str::lines);
    lines.find_map(|line| Some(line.strip_prefix("<reverie-fork kind=\"")?.split_once("\">")?.0.to_owned()))
}

/// Says whether a reply is meant for a request.
pub type Matcher = Box<dyn Fn(&RecordedRequest) -> bool + Send>;

type Program = Box<dyn FnMut(&RecordedRequest) -> Reply + Send>;

pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    state: Mutex<Script>,
    cache: Mutex<PromptCache>,
    request_count: watch::Sender<usize>,
}

#[derive(Default)]
struct Script {
    expected: VecDeque<Expected>,
    /// Of what the agent does by itself, what the test has something to say to.
    subjects: HashSet<String>,
    /// Roles that may call as often as they like.
    standing: Vec<(String, Reply)>,
    program: Option<Program>,
    requests: Vec<Arc<RecordedRequest>>,
    /// How many of the requests are kept, where not all are.
    kept: Option<usize>,
    /// The bills of those of the main loop that reached the model: side queries have a prompt of their own.
    usages: Vec<CacheUsage>,
    problems: Vec<String>,
    required_key: Option<String>,
    known_models: Option<Vec<String>>,
    clock: Duration,
    next_tool_use: usize,
    next_message: usize,
}

struct Expected {
    description: String,
    matcher: Matcher,
    reply: Reply,
}

impl ModelServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            cache: Mutex::default(),
            request_count: watch::Sender::new(0),
        });
        let router = Router::new()
            .route("/v1/messages", post(messages))
            .route("/v1/messages/count_tokens", post(count_tokens))
            .route("/v1/chat/completions", post(chat_completions))
            // The request of a long conversation has megabytes.
            .layer(DefaultBodyLimit::disable())
            .with_state(shared.clone());
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).expect("a TCP socket"));
        let task = tokio::spawn(async move { axum::serve(listener, router).await.expect("the server runs") });
        Self { address, shared, task }
    }

    /// What `ANTHROPIC_BASE_URL` is set to.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next request of the main loop gets this reply.
    pub fn reply(&self, reply: Reply) {
        self.reply_to("main", reply);
    }

    /// The next question which memories fit a message gets this reply; in whatever order it comes among the others.
    pub fn reply_to_recall(&self, reply: Reply) {
        self.reply_to("recall", reply);
    }

    /// As [`ModelServer::reply_to_recall`], with an answer that names these files.
    pub fn recall_selects(&self, files: &[&str]) {
        self.reply_to_recall(Reply::text(json!({ "selected": files }).to_string()));
    }

    pub fn reply_to(&self, role: &str, reply: Reply) {
        let wanted = role.to_owned();
        self.serve(role);
        self.reply_when(role, Box::new(move |request| request.role == wanted), reply);
    }

    pub fn reply_when(&self, description: &str, matcher: Matcher, reply: Reply) {
        self.script().expected.push_back(Expected { description: description.to_owned(), matcher, reply });
    }

    /// This role is what the test is about, too: its requests are kept, and go to the script.
    pub fn serve(&self, role: &str) {
        self.script().subjects.insert(role.to_owned());
    }

    /// Answers every call of a role that has no reply of its own; never calling is fine too.
    pub fn always(&self, role: &str, reply: Reply) {
        self.serve(role);
        self.script().standing.push((role.to_owned(), reply));
    }

    /// Answers whatever the script does not: for long sessions.
    pub fn program(&self, program: impl FnMut(&RecordedRequest) -> Reply + Send + 'static) {
        self.script().program = Some(Box::new(program));
    }

    /// From now on any other key is answered 401.
    pub fn require_key(&self, key: &str) {
        self.script().required_key = Some(key.to_owned());
    }

    /// From now on any other model is answered 404.
    pub fn know_models(&self, models: &[&str]) {
        self.script().known_models = Some(models.iter().map(|model| (*model).to_owned()).collect());
    }

    /// Moves the clock of the prompt cache.
    pub fn advance_clock(&self, by: Duration) {
        self.script().clock += by;
    }

    /// From now on only the newest requests are kept: those of a long session would fill the memory.
    pub fn keep_newest(&self, count: usize) {
        self.script().kept = Some(count);
    }

    /// From now on tokens are counted by this, in requests and replies.
    pub fn count_with(&self, counter: impl Fn(&str) -> u64 + Send + 'static) {
        self.cache().count_with(Box::new(counter));
    }

    pub fn requests(&self) -> Vec<Arc<RecordedRequest>> {
        self.script().requests.clone()
    }

    /// The requests of the main loop.
    pub fn main_requests(&self) -> Vec<Arc<RecordedRequest>> {
        self.requests_of("main")
    }

    /// See [`role_of`].
    pub fn requests_of(&self, role: &str) -> Vec<Arc<RecordedRequest>> {
        self.requests().into_iter().filter(|request| request.role == role).collect()
    }

    /// Waits until so many requests have arrived.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<Arc<RecordedRequest>> {
        let mut arrived = self.shared.request_count.subscribe();
        let wait = async { arrived.wait_for(|arrived| *arrived >= count).await.map(|_| ()) };
        crate::within(wait, &format!("{count} model requests")).await.expect("the server holds the sender");
        self.requests()
    }

    /// The bills of the main loop's requests that were accepted, in order.
    pub fn usages(&self) -> Vec<CacheUsage> {
        self.script().usages.clone()
    }

    pub fn cache(&self) -> MutexGuard<'_, PromptCache> {
        self.shared.cache()
    }

    /// What went wrong so far: unexpected calls, invalid requests.
    pub fn problems(&self) -> Vec<String> {
        self.script().problems.clone()
    }

    /// Forgets the problems so far, for a test that provokes them.
    pub fn take_problems(&self) -> Vec<String> {
        std::mem::take(&mut self.script().problems)
    }

    /// Fails the test if something went wrong or a reply was never fetched. Dropping does the same.
    pub fn finish(self) {
        drop(self);
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.shared.state.lock().expect("no program panics")
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
        if std::thread::panicking() {
            return;
        }
        let Ok(script) = self.shared.state.lock() else {
            panic!("a program of the model server panicked");
        };
        let mut problems = script.problems.clone();
        problems.extend(script.expected.iter().map(|expected| {
            format!("a reply for {} was never fetched: {:?}", expected.description, expected.reply.answer)
        }));
        assert!(
            problems.is_empty(),
            "the model server was used in another way than scripted:\n{}",
            problems.join("\n")
        );
    }
}

async fn messages(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, bytes: Bytes) -> Response {
    let request = shared.record(&uri, &headers, bytes);
    if let Some(refusal) = shared.refusal(&request, Wire::Anthropic) {
        return refusal;
    }
    let mut findings = validate_request(&request.body);
    let betas = request.header("anthropic-beta").unwrap_or_default();
    if !request.body["context_management"].is_null() && !betas.contains("context-management-2025-06-27") {
        findings.push("context_management: Extra inputs are not permitted".to_owned());
    }
    if !findings.is_empty() {
        return shared.problem(format!("an invalid request: {}", findings.join("; ")));
    }
    shared.answer(&request, Wire::Anthropic).await
}

async fn chat_completions(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response {
    let request = shared.record(&uri, &headers, bytes);
    if let Some(refusal) = shared.refusal(&request, Wire::OpenAi) {
        return refusal;
    }
    shared.answer(&request, Wire::OpenAi).await
}

/// Needs no script: the answer follows from the request.
async fn count_tokens(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response {
    let request = shared.record(&uri, &headers, bytes);
    let blocks = prompt_blocks(&request.body);
    let cache = shared.cache();
    let tokens: u64 = blocks.iter().map(|block| cache.tokens_of(block)).sum();
    drop(cache);
    json_response(200, &json!({ "input_tokens": tokens }).to_string(), &[])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wire {
    Anthropic,
    OpenAi,
}

impl Shared {
    fn record(&self, uri: &Uri, headers: &HeaderMap, bytes: Bytes) -> Arc<RecordedRequest> {
        let arrived = Instant::now();
        let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        let request = Arc::new(RecordedRequest {
            path: uri.path().to_owned(),
            headers: headers
                .iter()
                .map(|(name, value)| {
                    (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
                })
                .collect(),
            role: role_of(&body),
            bytes,
            body,
            arrived,
            answered: Arc::default(),
        });
        if !self.is_aside(&request) {
            self.script().keep(request.clone());
            self.request_count.send_modify(|count| *count += 1);
        }
        request
    }

    /// Whether the test is about something else.
    fn is_aside(&self, request: &RecordedRequest) -> bool {
        BY_ITSELF.contains(&request.role.as_str()) && !self.script().subjects.contains(&request.role)
    }

    /// What the provider checks before it looks at the request: who asks, and for which model.
    fn refusal(&self, request: &RecordedRequest, wire: Wire) -> Option<Response> {
        let bearer = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let key = request.header("x-api-key").or(bearer);
        if wire == Wire::Anthropic && request.header("anthropic-version").is_none() {
            return Some(self.problem("anthropic-version: header is required".to_owned()));
        }
        let script = self.script();
        if script.required_key.as_deref().is_some_and(|required| key != Some(required)) {
            return Some(status_response(&Reply::status(401)));
        }
        let model = request.body["model"].as_str().unwrap_or_default();
        if script.known_models.as_ref().is_some_and(|known| !known.iter().any(|known| known == model)) {
            let body = json!({ "type": "error", "error": { "type": "not_found_error", "message": format!("model: {model}") } });
            return Some(json_response(404, &body.to_string(), &[]));
        }
        None
    }

    fn problem(&self, text: String) -> Response {
        self.script().problems.push(text.clone());
        let body = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": text } });
        json_response(400, &body.to_string(), &[])
    }

    async fn answer(&self, request: &RecordedRequest, wire: Wire) -> Response {
        if self.is_aside(request) {
            return self.word(request, wire);
        }
        let Some(reply) = self.script().take_reply(request) else {
            let last = request.last_message_text();
            let shown: String = last.chars().take(300).collect();
            return self.problem(format!(
                "nobody expected this call of {}; its last message: {shown}",
                request.role
            ));
        };
        if let Some(gate) = &reply.delivery.start_gate {
            gate.pass().await;
        }
        if !reply.is_accepted() {
            return status_response(&reply);
        }
        let usage = match self.bill(request) {
            Ok(usage) => usage,
            Err(error) => return self.problem(error),
        };
        let pieces = match &reply.answer {
            Answer::Raw(bytes) => vec![bytes.clone()],
            Answer::Status { .. } => return status_response(&reply),
            Answer::Message(blocks, stop_reason) => {
                let (id, blocks) = self.script().numbered(blocks);
                let output = self.output_tokens(&blocks);
                let message = Message {
                    id,
                    model: request.body["model"].as_str().unwrap_or_default(),
                    stop_reason: stop_reason.as_deref().unwrap_or_else(|| natural_stop_reason(&blocks)),
                    blocks: &blocks,
                    applied_edits: reply.applied_edits.as_ref(),
                    usage: usage.to_json(output),
                };
                match wire {
                    Wire::Anthropic if request.body["stream"] != true => {
                        return json_response(200, &anthropic::whole(&message).to_string(), &[]);
                    }
                    Wire::Anthropic => anthropic::events(&message),
                    Wire::OpenAi => {
                        openai::events(&message, request.body["stream_options"]["include_usage"] == true)
                    }
                }
            }
        };
        stream_response(pieces, reply.delivery, Arc::clone(&request.answered))
    }

    /// "Nothing.", for no tokens.
    fn word(&self, request: &RecordedRequest, wire: Wire) -> Response {
        let message = Message {
            id: "msg_aside".to_owned(),
            model: request.body["model"].as_str().unwrap_or_default(),
            stop_reason: "end_turn",
            blocks: &[ReplyBlock::Text("Nothing.".to_owned())],
            applied_edits: None,
            usage: json!({ "input_tokens": 0, "output_tokens": 0 }),
        };
        let pieces = match wire {
            Wire::Anthropic => anthropic::events(&message),
            Wire::OpenAi => openai::events(&message, false),
        };
        stream_response(pieces, Reply::text("").delivery, Arc::clone(&request.answered))
    }

    fn bill(&self, request: &RecordedRequest) -> Result<CacheUsage, String> {
        let now = self.script().clock;
        let usage = self.cache().bill(&request.body, now)?;
        if request.role == "main" {
            self.script().usages.push(usage);
        }
        Ok(usage)
    }

    fn output_tokens(&self, blocks: &[ReplyBlock]) -> u64 {
        let cache = self.cache();
        let section = Section::Message { index: 0, role: "assistant".to_owned() };
        let block = |block| prompt_block(section.clone(), &anthropic::whole_block(block));
        blocks.iter().map(|reply| cache.tokens_of(&block(reply))).sum()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.state.lock().expect("no program panics")
    }

    fn cache(&self) -> MutexGuard<'_, PromptCache> {
        self.cache.lock().expect("no test panics while it holds the cache")
    }
}

impl Script {
    fn keep(&mut self, request: Arc<RecordedRequest>) {
        self.requests.push(request);
        let surplus = self.kept.map_or(0, |kept| self.requests.len().saturating_sub(kept));
        self.requests.drain(..surplus);
    }

    fn take_reply(&mut self, request: &RecordedRequest) -> Option<Reply> {
        if let Some(index) = self.expected.iter().position(|expected| (expected.matcher)(request)) {
            return self.expected.remove(index).map(|expected| expected.reply);
        }
        if let Some((_, reply)) = self.standing.iter().find(|(role, _)| *role == request.role) {
            return Some(reply.clone());
        }
        self.program.as_mut().map(|program| program(request))
    }

    /// Gives the message and each call without an id its number.
    fn numbered(&mut self, blocks: &[ReplyBlock]) -> (String, Vec<ReplyBlock>) {
        self.next_message += 1;
        let blocks = blocks
            .iter()
            .map(|block| match block {
                ReplyBlock::ToolUse { id: None, name, input } => {
                    self.next_tool_use += 1;
                    let id = Some(format!("toolu_{:04}", self.next_tool_use));
                    ReplyBlock::ToolUse { id, name: name.clone(), input: input.clone() }
                }
                other => other.clone(),
            })
            .collect();
        (format!("msg_{:04}", self.next_message), blocks)
    }
}

fn natural_stop_reason(blocks: &[ReplyBlock]) -> &'static str {
    let calls = blocks.iter().any(|block| matches!(block, ReplyBlock::ToolUse { .. }));
    let truncated = blocks.iter().any(|block| matches!(block, ReplyBlock::TruncatedToolUse { .. }));
    match (truncated, calls) {
        (true, _) => "max_tokens",
        (false, true) => "tool_use",
        (false, false) => "end_turn",
    }
}

fn status_response(reply: &Reply) -> Response {
    let Answer::Status { status, headers, body } = &reply.answer else {
        panic!("only status replies are refusals");
    };
    json_response(*status, body, headers)
}

fn json_response(status: u16, body: &str, headers: &[(String, String)]) -> Response {
    let mut response = Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .header("request-id", "req_test");
    for (name, value) in headers {
        response = response.header(name, value);
    }
    response.body(Body::from(body.to_owned())).expect("the headers are valid")
}

/// Texts of blocks, however deep, joined by line breaks.
pub(crate) fn all_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().map(all_text).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        }
        Value::Object(block) => {
            let inner = block.get("text").or_else(|| block.get("content"));
            inner.map(all_text).unwrap_or_default()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
