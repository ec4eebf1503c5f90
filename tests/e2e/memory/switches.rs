//! Memory, recall and the model that selects can each be switched off.

use std::collections::BTreeMap;

use serde_json::json;
use testkit::{fixture::Fixture, lsp_client::ClientOptions, model_server::ModelServer};

use super::{FRIDAY, put, recalled, recalled_names, remembering, topic};
use crate::harness::{Harness, trust};

async fn with(settings: &str, variables: &[(&str, &str)]) -> Harness {
    let fixture = Fixture::new(&format!("//- ~/.claude/settings.json\n{settings}\n"));
    put(&fixture, "deploy-days.md", FRIDAY);
    put(&fixture, "coffee.md", &topic("The coffee machine is descaled on Mondays", "On Mondays."));
    trust(&fixture);
    let model = ModelServer::start().await;
    let mut environment: BTreeMap<String, String> = fixture.environment(&model.url());
    environment.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let options = ClientOptions::new(&fixture.workspace);
    Harness::start_with(fixture, model, &environment, &options).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_memory_nothing_is_told_recalled_or_kept() {
    for (settings, variables) in [
        ("{}", &[("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1")][..]),
        ("{\"autoMemoryEnabled\": false}", &[]),
        ("{}", &[("CLAUDE_CODE_SIMPLE", "1")]),
    ] {
        let harness = with(settings, variables).await;
        let session = harness.client.new_session().await;
        let request = harness.exchange(&session, "on which days do we deploy?").await;
        assert!(!request.body.to_string().contains("Memory directory"), "{settings} {variables:?}");
        assert!(!request.body.to_string().contains("Fridays"), "{settings} {variables:?}");
        let turn = harness.client.turn(&session, "# lunch is at noon").await;
        assert!(turn.text().contains("switched off"), "{}", turn.text());
        for method in ["list", "lint", "history"] {
            assert!(harness.refusal(method, json!({})).await.contains("switched off"));
        }
        assert!(!harness.memory(".history").exists());
        harness.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_variable_can_switch_it_on_again() {
    let harness = with("{\"autoMemoryEnabled\": false}", &[("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "0")]).await;
    let session = harness.client.new_session().await;
    let request = harness.exchange(&session, "hello").await;
    assert!(request.body.to_string().contains("Memory directory"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_recall_memory_is_told_of_but_nothing_comes_to_mind() {
    let harness = with("{\"reverie\": {\"features\": {\"recall\": false}}}", &[]).await;
    let session = harness.client.new_session().await;
    let request = harness.exchange(&session, "on which days do we deploy?").await;
    assert!(request.body.to_string().contains("Memory directory"));
    assert_eq!(recalled(&request.body), Vec::<String>::new());
    harness.client.turn(&session, "# lunch is at noon").await;
    harness.memory_event("saved").await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_local_ranker_asks_nobody() {
    let harness = with("{\"reverie\": {\"features\": {\"recallModel\": \"local\"}}}", &[]).await;
    let session = harness.client.new_session().await;
    let request = harness.exchange(&session, "when can I ship?").await;
    assert_eq!(recalled_names(&harness, &request.body), ["deploy-days.md"]);
    assert_eq!(harness.model.requests().len(), 1);
    harness.memory_event("recalled").await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_cannot_choose_the_selector() {
    let project = "//- .claude/settings.json\n{\"reverie\": {\"features\": {\"recallModel\": \"opus\"}}}\n";
    let harness =
        remembering(project, &[("deploy-days.md", FRIDAY), ("c.md", &topic("Coffee", "On Mondays."))]).await;
    harness.model.always("recall", testkit::model_server::Reply::text("{\"selected\": []}"));
    let session = harness.client.new_session().await;
    harness.exchange(&session, "on which days do we deploy?").await;
    for question in harness.model.requests_of("recall") {
        assert_eq!(question.body["model"], "claude-sonnet-5-5");
    }
    harness.memory_event("recalled").await;
    harness.finish().await;
}
