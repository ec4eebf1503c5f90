//! Servers on the web, or what claims to be one.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure in a test should end it")]

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::post,
};
use expect_test::expect;
use mcp::{Content, McpError, Options, Scope, ServerConfig, Servers, Status, Transport};
use serde_json::{Value, json};
use settings::Environment;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Json,
    Events,
    /// Wants a login.
    Closed,
    /// Some other web page.
    Page,
    /// Breaks down in calls.
    Breaks,
    /// Never answers calls.
    Stalls,
}

#[derive(Clone)]
struct Web {
    manner: Manner,
    headers: Arc<Mutex<Vec<HeaderMap>>>,
}

async fn serve(manner: Manner) -> (String, Web) {
    let web = Web { manner, headers: Arc::default() };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = Router::new().route("/mcp", post(answer)).with_state(web.clone());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, web)
}

async fn answer(State(web): State<Web>, headers: HeaderMap, body: Bytes) -> Response {
    web.headers.lock().unwrap().push(headers);
    match web.manner {
        Manner::Closed => {
            return (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")], "").into_response();
        }
        Manner::Page => return ([(CONTENT_TYPE, "text/html")], "<html>hello</html>").into_response(),
        _ => {}
    }
    let message: Value = serde_json::from_slice(&body).unwrap();
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            let version = &message["params"]["protocolVersion"];
            json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "web", "version": "1"}})
        }
        "tools/list" => {
            json!({"tools": [{"name": "echo", "description": "Echoes", "inputSchema": {"type": "object"}}]})
        }
        "tools/call" if web.manner == Manner::Breaks => {
            return (StatusCode::INTERNAL_SERVER_ERROR, "oh no").into_response();
        }
        "tools/call" if web.manner == Manner::Stalls => std::future::pending().await,
        "tools/call" => {
            let text = &message["params"]["arguments"]["text"];
            json!({"content": [{"type": "text", "text": text}]})
        }
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    let response = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
    if web.manner == Manner::Events {
        let events = format!(": hello\n\nevent: message\ndata: {response}\n\n");
        return ([(CONTENT_TYPE, "text/event-stream")], events).into_response();
    }
    ([(CONTENT_TYPE, "application/json")], response).into_response()
}

fn start(url: &str, variables: &[(&str, &str)]) -> Servers {
    let servers = Servers::new(Options::default());
    let headers = BTreeMap::from([("Authorization".to_owned(), "Bearer ${TOKEN:-none}".to_owned())]);
    let config = ServerConfig {
        name: "web".to_owned(),
        scope: Scope::User,
        fingerprint: url.to_owned(),
        transport: Transport::Http { url: url.to_owned(), headers },
        source: String::new(),
    };
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    servers.keep(vec![config], &PathBuf::from("/"), &Environment::new(PathBuf::from("/"), variables));
    servers
}

async fn status(servers: &Servers) -> String {
    servers.tools(Duration::from_secs(60)).await;
    match servers.status().remove(0).1 {
        Status::Failed(why) => why,
        status => format!("{status:?}"),
    }
}

async fn call(servers: &Servers) -> Result<Vec<Content>, McpError> {
    let input = json!({"text": "hi"});
    servers.call("mcp__web__echo", input, CancellationToken::new(), Arc::new(|_| {})).await
}

#[tokio::test]
async fn tools_are_listed_and_called() {
    for manner in [Manner::Json, Manner::Events] {
        let (url, web) = serve(manner).await;
        let servers = start(&url, &[("TOKEN", "secret")]);
        let tools = servers.tools(Duration::from_secs(60)).await;
        assert_eq!(tools.len(), 1, "{}", status(&servers).await);
        assert_eq!(tools[0].name, "mcp__web__echo");
        assert_eq!(call(&servers).await.unwrap(), [Content::Text("hi".to_owned())]);
        let headers = web.headers.lock().unwrap().clone();
        assert!(headers.iter().all(|headers| headers["authorization"] == "Bearer secret"));
        servers.shutdown().await;
    }
}

#[tokio::test]
async fn what_keeps_a_server_from_being_used_is_said() {
    let (url, _) = serve(Manner::Closed).await;
    expect!["cannot be used: it wants a login; put an Authorization header into its configuration"]
        .assert_eq(&status(&start(&url, &[])).await);
    let (url, _) = serve(Manner::Page).await;
    expect!["cannot be used: it does not answer like an MCP server; check the address"]
        .assert_eq(&status(&start(&url, &[])).await);
    expect!["cannot be used: it answered with HTTP 404 Not Found"]
        .assert_eq(&status(&start(&url.replace("/mcp", "/other"), &[])).await);
    // A port that was free a moment ago.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    expect!["cannot be used: it cannot be reached: connection refused"]
        .assert_eq(&status(&start(&format!("http://{address}/mcp?key=hidden"), &[])).await);
    expect!["cannot be used: its address is not a web address"]
        .assert_eq(&status(&start("localhost:80", &[])).await);
    expect![[r#"cannot be used: its header "Authorization" cannot be sent"#]]
        .assert_eq(&status(&start("http://127.0.0.1:1/", &[("TOKEN", "a\nb")])).await);
    expect!["cannot be used: the environment variable URL is not set"]
        .assert_eq(&status(&start("${URL}", &[])).await);
}

#[tokio::test]
async fn a_call_that_breaks_is_an_error_and_the_next_one_is_tried() {
    let (url, web) = serve(Manner::Breaks).await;
    let servers = start(&url, &[]);
    let error = call(&servers).await.unwrap_err();
    expect!["the MCP server web cannot be called: HTTP 500"].assert_eq(&error.to_string());
    let before = web.headers.lock().unwrap().len();
    call(&servers).await.unwrap_err();
    assert!(web.headers.lock().unwrap().len() > before);
    servers.shutdown().await;
}

#[tokio::test]
async fn a_call_that_stalls_is_given_up() {
    let (url, _) = serve(Manner::Stalls).await;
    let servers = start(&url, &[("MCP_TOOL_TIMEOUT", "100")]);
    let error = call(&servers).await.unwrap_err();
    expect!["the MCP server web did not answer within 100ms; the call was cancelled"]
        .assert_eq(&error.to_string());
    servers.shutdown().await;
}
