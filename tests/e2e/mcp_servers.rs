//! A real MCP server, written by others, driven by the model through the agent; and the provider's own web search.

use serde_json::json;
use testkit::{lsp_client::Answer, model_server::Reply};

use crate::harness::{Harness, rigs, trust};

/// Of a project with such a server.
pub fn configuration() -> String {
    let server = rigs().join("mcp/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    assert!(server.is_file(), "{} is missing: run `cargo xtask test` once", server.display());
    json!({ "mcpServers": { "everything": { "command": "node", "args": [server, "stdio"] } } }).to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tools_of_a_trusted_project_are_offered_asked_about_and_called() {
    let harness = Harness::start(&format!("//- .mcp.json\n{}\n", configuration())).await;
    harness.client.on_request("reverie/permission/ask", |_| Answer::allow_once());
    harness.model.reply(Reply::tool("mcp__everything__echo", json!({ "message": "hello from the editor" })));
    harness.model.reply(Reply::text("it answered"));
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "say hello").await;
    assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
    let asked = harness.client.asked("reverie/permission/ask");
    assert_eq!(asked[0]["tool"], "mcp__everything__echo", "{asked:?}");
    let requests = harness.model.requests();
    assert!(requests[0].body["tools"].to_string().contains("mcp__everything__echo"));
    let said = requests[1].body["messages"].to_string();
    assert!(said.contains("Echo: hello from the editor"), "{said}");
    let report = harness.client.turn(&session, "/mcp").await;
    assert!(report.text().contains("everything") && report.text().contains("ready"), "{}", report.text());
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_come_with_trust_join_at_the_next_prompt_and_the_broken_cache_is_told() {
    let harness = Harness::untrusted(&format!("//- .mcp.json\n{}\n", configuration())).await;
    harness.client.on_request("reverie/user/ask", |_| Answer::Result(json!({ "answer": "Not now" })));
    let session = harness.client.new_session().await;
    harness.model.reply(Reply::text("nothing here"));
    harness.client.turn(&session, "what can you do?").await;
    trust(&harness.fixture);
    harness.model.reply(Reply::text("more now"));
    let turn = harness.client.turn(&session, "and now?").await;
    assert_eq!(turn.count("context"), 1, "{}", turn.events());
    let requests = harness.model.requests();
    let [before, after] = [0, 1].map(|index| requests[index].body["tools"].to_string());
    assert!(!before.contains("mcp__everything") && after.contains("mcp__everything__echo"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_web_search_is_asked_about_and_goes_to_the_provider() {
    let harness = Harness::start("").await;
    harness.client.on_request("reverie/permission/ask", |_| Answer::allow_once());
    harness.model.reply(Reply::tool("WebSearch", json!({ "query": "the newest compiler" })));
    harness.model.reply(Reply::text("It is version 9."));
    harness.model.reply(Reply::text("Version 9."));
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "which compiler?").await;
    assert_eq!(turn.stop_reason(), "endTurn", "{}", turn.events());
    assert_eq!(harness.client.asked("reverie/permission/ask")[0]["tool"], "WebSearch");
    let requests = harness.model.requests();
    assert_eq!(requests[1].body["tools"][0]["type"], "web_search_20250305");
    assert!(requests[1].body["messages"].to_string().contains("the newest compiler"));
    assert!(requests[2].body["messages"].to_string().contains("It is version 9."));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_users_own_server_is_not_started_inside_a_folder_that_is_not_trusted() {
    let harness = Harness::untrusted("//- a.txt\none\n").await;
    let server = rigs().join("mcp/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let script = format!("pwd >> ~/started-in; exec node {} stdio", server.display());
    let servers = json!({ "mcpServers": { "mine": { "command": "sh", "args": ["-c", script] } } });
    harness.fixture.write("~/.claude/settings.json", &servers.to_string());
    harness.client.on_request("reverie/user/ask", |_| Answer::Result(json!({ "answer": "Not now" })));
    let session = harness.client.new_session().await;
    let mut started = Vec::new();
    for _ in 0..2 {
        harness.model.reply(Reply::text("well"));
        harness.client.turn(&session, "what can you do?").await;
        let offered = harness.model.requests().last().unwrap().body["tools"].to_string();
        assert!(offered.contains("mcp__mine__echo"), "{offered}");
        let lines = std::fs::read_to_string(harness.fixture.path("~/started-in")).unwrap();
        started = lines.lines().map(str::to_owned).collect();
        trust(&harness.fixture);
    }
    let expected = [harness.fixture.home.join(".claude"), harness.fixture.workspace.clone()];
    assert_eq!(started, expected.map(|folder| folder.to_str().unwrap().to_owned()));
    harness.finish().await;
}
