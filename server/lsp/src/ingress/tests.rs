use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use ls_types::{Hover, HoverParams, InitializeParams, InitializeResult};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::DuplexStream;
use tower_lsp::{LanguageServer, LspService, jsonrpc};

use super::*;
use crate::{
    framing::{Frame, FrameReader},
    message,
    outbound::Outbound,
    testing::server_in,
};

/// An ingress over any service, and what comes out of it.
struct Bench<S> {
    ingress: Ingress<S>,
    frames: FrameReader<DuplexStream>,
    _home: TempDir,
}

impl<S> Bench<S>
where
    S: Service<Request, Response = Option<Response>>,
    S::Future: Send + 'static,
{
    async fn new(service: S) -> Self {
        let home = TempDir::new().unwrap();
        let outbound = Outbound::default();
        let (ours, theirs) = tokio::io::duplex(64 * 1024 * 1024);
        tokio::spawn(outbound.clone().write_to(theirs));
        let ingress = Ingress::new(service, server_in(&home, outbound));
        let mut bench = Self { ingress, frames: FrameReader::new(ours), _home: home };
        bench.request(0, "initialize", json!({ "capabilities": {} })).await;
        assert!(bench.receive().await.get("result").is_some());
        bench
    }

    async fn request(&mut self, id: i64, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
    }

    async fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let incoming = message::parse(body.as_bytes()).unwrap();
        assert!(self.ingress.receive(incoming).await.is_continue());
    }

    async fn receive(&mut self) -> Value {
        let Frame::Body(body) = self.frames.next().await else { panic!("the link ended") };
        serde_json::from_slice(&body).unwrap()
    }
}

/// Fails in every way a handler can.
struct Fragile;

impl Service<Request> for Fragile {
    type Response = Option<Response>;
    type Error = std::convert::Infallible;
    type Future = BoxFuture<'static, Result<Option<Response>, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let (method, id, _) = request.into_parts();
        if method == "panic/call" {
            panic!("in call");
        }
        Box::pin(async move {
            match method.as_ref() {
                "panic/first" => panic!("before the first wait"),
                "panic/later" => {
                    tokio::task::yield_now().await;
                    panic!("after the first wait")
                }
                "silent" => Ok(None),
                _ => Ok(id.map(|id| Response::from_ok(id, Value::Null))),
            }
        })
    }
}

#[tokio::test]
async fn a_panic_fails_its_own_request_only() {
    let mut bench = Bench::new(Fragile).await;
    for (id, method) in [(1, "panic/call"), (2, "panic/first"), (3, "panic/later")] {
        bench.request(id, method, Value::Null).await;
        let answer = bench.receive().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32603)), "{method}");
    }
    bench.request(4, "fine", Value::Null).await;
    assert_eq!(bench.receive().await, json!({ "jsonrpc": "2.0", "result": null, "id": 4 }));
}

#[tokio::test]
async fn every_request_is_answered_even_if_the_router_says_nothing() {
    let mut bench = Bench::new(Fragile).await;
    bench.request(1, "silent", Value::Null).await;
    assert_eq!(bench.receive().await["error"]["code"], -32601);
}

/// Answers nothing but `initialize` and `shutdown`; a hover takes for ever.
struct Patient;

impl LanguageServer for Patient {
    async fn initialize(&self, _: InitializeParams) -> jsonrpc::Result<InitializeResult> {
        Ok(InitializeResult::default())
    }

    async fn shutdown(&self) -> jsonrpc::Result<()> {
        Ok(())
    }

    async fn hover(&self, _: HoverParams) -> jsonrpc::Result<Option<Hover>> {
        std::future::pending().await
    }
}

fn hover_params() -> Value {
    json!({ "textDocument": { "uri": "file:///a" }, "position": { "line": 0, "character": 0 } })
}

#[tokio::test]
async fn requests_are_answered_and_cancels_read_while_others_wait() {
    let (service, _socket) = LspService::new(|_| Patient);
    let mut bench = Bench::new(service).await;
    for id in 1..=5 {
        bench.request(id, "textDocument/hover", hover_params()).await;
    }
    bench.request(6, "no/such/method", Value::Null).await;
    assert_eq!(bench.receive().await["id"], 6);
    bench.send(&json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 3 } })).await;
    let cancelled = bench.receive().await;
    assert_eq!((&cancelled["id"], &cancelled["error"]["code"]), (&json!(3), &json!(-32800)));
    // Unknown, done and nonsensical ids change nothing.
    for id in [json!(3), json!(99), json!("x"), json!({})] {
        bench.send(&json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": id } })).await;
    }
    bench.request(7, "shutdown", Value::Null).await;
    assert_eq!(bench.receive().await["id"], 7);
}

#[tokio::test]
async fn a_storm_of_cancels_leaves_one_answer_each() {
    const COUNT: i64 = 10_000;
    let (service, _socket) = LspService::new(|_| Patient);
    let mut bench = Bench::new(service).await;
    for id in 1..=COUNT {
        bench.request(id, "textDocument/hover", hover_params()).await;
        // In an order that is neither the same nor the reverse.
        if id % 3 == 0 {
            let cancelled = json!({ "id": id / 3 });
            bench.send(&json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": cancelled })).await;
        }
    }
    for id in (1..=COUNT).rev() {
        bench.send(&json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": id } })).await;
    }
    let mut answered = vec![0; usize::try_from(COUNT).unwrap() + 1];
    for _ in 0..COUNT {
        let answer = bench.receive().await;
        assert_eq!(answer["error"]["code"], -32800);
        answered[usize::try_from(answer["id"].as_i64().unwrap()).unwrap()] += 1;
    }
    assert!(answered[1..].iter().all(|count| *count == 1));
}

#[tokio::test]
async fn params_nested_too_deeply_are_refused_with_the_requests_id() {
    let (service, _socket) = LspService::new(|_| Patient);
    let mut bench = Bench::new(service).await;
    let params = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"reverie/doctor","params":{params}}}"#);
    let incoming = message::parse(body.as_bytes()).unwrap();
    assert!(bench.ingress.receive(incoming).await.is_continue());
    let answer = bench.receive().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32600)));
}
