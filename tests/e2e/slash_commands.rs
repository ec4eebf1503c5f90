//! Prompts that begin with a slash: built-in commands answer by themselves, files and skills go to the model.

use serde_json::json;
use testkit::model_server::Reply;

use crate::harness::Harness;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn built_in_commands_answer_without_a_model() {
    let harness = Harness::start("").await;
    let session = harness.client.new_session().await;
    for (command, words) in [
        ("/help", "/cost"),
        ("/cost", "Nothing was spent"),
        ("/context", "tokens used"),
        ("/mode", "default"),
        ("/mode plan", "is now plan"),
        ("/model", "offline/offline"),
        ("/mcp", "No MCP servers"),
        ("/resume", "latest sessions"),
        ("/doctor", "config home"),
        ("/background", "Today it cost $0.0000"),
        ("/dream status", "There was none yet"),
        ("/dream stop", "No dream runs here"),
        ("/dream again", "means nothing"),
    ] {
        let turn = harness.client.turn(&session, command).await;
        assert_eq!(turn.stop_reason(), "endTurn", "{command}: {}", turn.events());
        assert!(turn.text().contains(words), "{command}: {}", turn.text());
    }
    let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "/nonsense now" }] });
    let error = harness.client.request("reverie/session/prompt", params).await.unwrap_err();
    assert_eq!(error.code, -32602, "{}", error.message);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clear_begins_anew_and_keeps_the_prefix() {
    let harness = Harness::start("").await;
    let session = harness.client.new_session().await;
    harness.model.reply(Reply::text("hello"));
    harness.client.turn(&session, "remember the word kiwi").await;
    let turn = harness.client.turn(&session, "/clear").await;
    assert_eq!(turn.stop_reason(), "endTurn");
    harness.client.ignore("context");
    harness.model.reply(Reply::text("no"));
    harness.client.turn(&session, "which word?").await;
    let requests = harness.model.requests();
    let [before, after] = [&requests[0].body, &requests[1].body];
    assert_eq!(before["system"].to_string().len(), after["system"].to_string().len());
    assert_eq!(before["tools"], after["tools"]);
    assert!(!after["messages"].to_string().contains("kiwi"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_file_and_a_skill_join_the_prompt() {
    let harness = Harness::start(
        "//- .claude/commands/review.md\n---\ndescription: Reviews a branch\nargument-hint: [branch]\n---\nReview $ARGUMENTS with care.\n\
         //- .claude/skills/release/SKILL.md\n---\nname: release\ndescription: How we release\n---\nTag, then push.\n",
    )
    .await;
    let list = harness.client.request("reverie/commands/list", json!({})).await.unwrap();
    let names: Vec<&str> =
        list["commands"].as_array().unwrap().iter().filter_map(|command| command["name"].as_str()).collect();
    assert!(names.contains(&"review") && names.contains(&"release") && names.contains(&"cost"), "{names:?}");
    let session = harness.client.new_session().await;
    for prompt in ["/review main", "/release 1.2"] {
        harness.model.reply(Reply::text("done"));
        harness.client.turn(&session, prompt).await;
    }
    harness.model.reply(Reply::tool("Skill", json!({ "name": "release" })));
    harness.model.reply(Reply::text("done"));
    harness.client.turn(&session, "make a release").await;
    let requests = harness.model.requests();
    assert!(requests[0].body["system"].to_string().contains("release: How we release"));
    assert!(requests[0].body["messages"].to_string().contains("Review main with care."));
    assert!(requests[1].body["messages"].to_string().contains("Tag, then push."));
    let said = requests.last().unwrap().body["messages"].to_string();
    assert!(said.matches("Tag, then push.").count() >= 2, "{said}");
    harness.finish().await;
}
