//! A model selects what the local ranker is not sure of, and nobody waits for it.

use serde_json::{Value, json};
use testkit::{
    fixture::Fixture,
    lsp_client::{Answer, ClientOptions},
    model_server::{Gate, ModelServer, RecordedRequest, Reply},
};

use super::{FRIDAY, LOCAL, put, recalled, recalled_names, remembering, topic};
use crate::harness::{Harness, connect_with, trust};

const PROMPT: &str = "on which days do we deploy?";

/// One memory of which the ranker is sure, six that have nothing to do with it, by their words.
async fn seven_memories(files: &str) -> Harness {
    let others = [
        ("coffee.md", "The coffee machine is descaled on Mondays"),
        ("holidays.md", "The office is closed in August"),
        ("editor.md", "Grace edits with tabs of width four"),
        ("database.md", "Staging data is copied from production every night"),
        ("keys.md", "Badges are handed out at the reception"),
        ("music.md", "Nobody plays music before noon"),
    ];
    let texts: Vec<(&str, String)> =
        others.iter().map(|(path, words)| (*path, topic(words, &format!("{words}.")))).collect();
    let mut memories: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (*path, text.as_str())).collect();
    memories.push(("deploy-days.md", FRIDAY));
    remembering(files, &memories).await
}

/// Keeps the main loop busy, round after round, until a request shows this memory.
fn works_until_shown(harness: &Harness, path: &str) {
    let (marker, file) = (format!("/{path}:\n"), harness.text_path("a.txt"));
    harness.model.program(move |request: &RecordedRequest| {
        let is_shown = recalled(&request.body).iter().any(|text| text.contains(&marker));
        match is_shown {
            true => Reply::text("done"),
            false => Reply::tool("Read", json!({ "file_path": file })),
        }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_request_goes_out_before_the_selector_answers() {
    let harness = seven_memories("//- a.txt\none\n").await;
    let gate = Gate::closed();
    let selected = json!({ "selected": ["coffee.md", "../../etc/passwd", "nowhere.md", "deploy-days.md", "coffee.md", "music.md"] });
    harness.model.reply_to_recall(Reply::text(selected.to_string()).behind(&gate));
    works_until_shown(&harness, "coffee.md");
    let session = harness.client.new_session().await;
    let id = harness.client.prompt(&session, PROMPT).await;
    gate.reached().await;
    harness.model.wait_for_requests(3).await;
    let first = harness.model.main_requests().remove(0);
    assert_eq!(recalled_names(&harness, &first.body), ["deploy-days.md"], "what the ranker is sure of");
    gate.open();
    let turn = harness.client.turn_end(&session, &id).await;
    assert_eq!(turn.stop_reason(), "endTurn");

    let last = harness.model.main_requests().pop().unwrap();
    assert_eq!(recalled_names(&harness, &last.body), ["deploy-days.md", "coffee.md", "music.md"]);
    // Behind the tool results, where it was attached.
    let blocks =
        last.body["messages"].as_array().unwrap().last().unwrap()["content"].as_array().unwrap().clone();
    let kinds: Vec<&str> = blocks.iter().filter_map(|block| block["type"].as_str()).collect();
    assert_eq!(kinds, ["tool_result", "text", "text"], "{blocks:#?}");

    let by_rank = harness.memory_event("recalled").await;
    assert!(by_rank["files"][0]["reason"].as_str().unwrap().contains("fits the message by"), "{by_rank}");
    let by_model = harness.memory_event("recalled").await;
    assert_eq!(by_model["turnId"], turn.id);
    let reasons: Vec<&Value> =
        by_model["files"].as_array().unwrap().iter().map(|file| &file["reason"]).collect();
    assert_eq!(reasons, ["the selector model named it for this message"; 2]);

    let explained = harness.ask("explain", json!({ "sessionId": session, "turnId": turn.id })).await;
    let decision = |name: &str| {
        let entries = explained["candidates"].as_array().unwrap();
        let path = harness.memory_text(name);
        entries.iter().find(|entry| entry["path"] == path).unwrap()["decision"].clone()
    };
    assert_eq!(decision("deploy-days.md"), "recalled");
    assert_eq!(decision("coffee.md"), "recalled");
    assert_eq!(decision("holidays.md"), "notSelected");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_request_does_not_wait_for_a_slow_ranker_either() {
    let fixture = Fixture::new("//- a.txt\none\n");
    put(&fixture, "deploy-days.md", FRIDAY);
    trust(&fixture);
    let model = ModelServer::start().await;
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let faults = lsp::Faults::new(move |point| {
        if point == "recall" {
            wait.lock().unwrap().recv().unwrap();
        }
    });
    let client = connect_with(&fixture, &fixture.environment(&model.url()), faults);
    client.initialize(&ClientOptions::new(&fixture.workspace)).await;
    client.ignore("$/progress");
    let harness = Harness { client, model, fixture };
    works_until_shown(&harness, "deploy-days.md");
    let session = harness.client.new_session().await;
    let turn = harness.client.prompt(&session, PROMPT).await;
    let first = harness.model.wait_for_requests(2).await.remove(0);
    assert_eq!(recalled(&first.body), Vec::<String>::new());
    go.send(()).unwrap();
    assert_eq!(harness.client.turn_end(&session, &turn).await.stop_reason(), "endTurn");
    harness.memory_event("recalled").await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_question_is_small_and_plain_and_is_booked_under_its_own_model() {
    let harness =
        seven_memories("//- ~/.claude/settings.json\n{\"model\": \"opus\"}\n//- a.txt\none\n").await;
    harness.model.recall_selects(&["coffee.md"]);
    works_until_shown(&harness, "coffee.md");
    let session = harness.client.new_session().await;
    harness.client.turn(&session, PROMPT).await;
    let question = harness.model.requests_of("recall").pop().unwrap();
    let body = &question.body;
    assert_eq!(body["model"], "claude-sonnet-5-5");
    assert_ne!(harness.model.main_requests()[0].body["model"], body["model"]);
    assert_eq!(body["max_tokens"], 256);
    assert!(body.get("tools").is_none() && body.get("thinking").is_none(), "{body}");
    assert!(!body.to_string().contains("cache_control"), "{body}");
    assert_eq!(body["output_config"]["format"]["type"], "json_schema");
    assert_eq!(body["output_config"]["format"]["schema"]["required"], json!(["selected"]));
    let text = question.last_message_text();
    assert!(text.contains(PROMPT), "{text}");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(lines.len(), 6, "all but what is attached already: {text}");
    let coffee = lines.iter().find(|line| line.contains("coffee.md")).unwrap();
    let (head, tail) = coffee.split_once(" (").unwrap();
    assert_eq!(head, "- [project] coffee.md");
    assert!(tail.ends_with("): The coffee machine is descaled on Mondays"), "{coffee}");

    let cost = harness.client.turn(&session, "/cost").await.text();
    assert!(cost.contains("claude-sonnet-5-5") && cost.contains("claude-opus-5-5"), "{cost}");
    for _ in 0..2 {
        harness.memory_event("recalled").await;
    }
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recent_tools_are_named_and_what_was_shown_is_not_offered_again() {
    let harness = seven_memories("//- a.txt\none\n").await;
    harness.model.recall_selects(&["coffee.md"]);
    harness.model.reply(Reply::tool("Read", json!({ "file_path": harness.text_path("a.txt") })));
    works_until_shown(&harness, "coffee.md");
    let session = harness.client.new_session().await;
    harness.client.turn(&session, PROMPT).await;
    let gate = Gate::closed();
    harness.model.reply_to_recall(Reply::text("{\"selected\": [\"coffee.md\"]}").behind(&gate));
    harness.model.reply(Reply::text("later").behind(&gate));
    let turn = harness.client.prompt(&session, "and what about the next one?").await;
    let waits = async {
        while harness.model.requests_of("recall").len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    testkit::within(waits, "the second question").await;
    let question = harness.model.requests_of("recall").pop().unwrap().last_message_text();
    assert!(question.contains("Tools in use just now: Read"), "{question}");
    assert!(!question.contains("coffee.md") && !question.contains("deploy-days.md"), "{question}");
    gate.open();
    harness.client.turn_end(&session, &turn).await;
    for _ in 0..2 {
        harness.memory_event("recalled").await;
    }
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_than_five_are_shown_whatever_the_selector_says() {
    let harness = seven_memories("//- a.txt\none\n").await;
    harness.model.recall_selects(&[
        "coffee.md",
        "holidays.md",
        "editor.md",
        "database.md",
        "keys.md",
        "music.md",
    ]);
    works_until_shown(&harness, "database.md");
    let session = harness.client.new_session().await;
    harness.client.turn(&session, PROMPT).await;
    let last = harness.model.main_requests().pop().unwrap();
    let expected = ["deploy-days.md", "coffee.md", "holidays.md", "editor.md", "database.md"];
    assert_eq!(recalled_names(&harness, &last.body), expected);
    for _ in 0..2 {
        harness.memory_event("recalled").await;
    }
    harness.finish().await;
}

/// Three that fit: two go along at once, the third is the next in the ranker's order.
async fn three_that_fit() -> Harness {
    let texts = [
        ("release-notes.md", topic("How release notes are written", "Release notes are written by Ada.")),
        ("release-train.md", topic("The release train leaves at noon", "The release train leaves at noon.")),
        ("release-tags.md", topic("Release tags are signed", "Every release tag is signed by two people.")),
        ("coffee.md", topic("The coffee machine is descaled on Mondays", "On Mondays.")),
    ];
    let memories: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (*path, text.as_str())).collect();
    remembering("//- a.txt\none\n", &memories).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_answer_that_can_be_used_the_ranker_decides() {
    let replies = [
        Reply::text("I would rather not say."),
        Reply::text("{\"selected\": \"coffee.md\"}"),
        Reply::text("{\"selected\": [\"cof"),
        Reply::status(500),
        Reply::status(401),
        Reply::text("{\"selected\": [\"coffee.md\"]}").cut_after_events(2),
    ];
    for reply in replies {
        let harness = three_that_fit().await;
        let said = format!("{reply:?}");
        harness.model.reply_to_recall(reply);
        let file = harness.text_path("a.txt");
        harness.model.program(move |request: &RecordedRequest| match recalled(&request.body).len() {
            3.. => Reply::text("done"),
            _ => Reply::tool("Read", json!({ "file_path": file })),
        });
        let session = harness.client.new_session().await;
        let turn = harness
            .client
            .turn(&session, "what about the release notes, the release tags and the release train?")
            .await;
        assert_eq!(turn.stop_reason(), "endTurn", "{said}");
        let last = harness.model.main_requests().pop().unwrap();
        let mut names = recalled_names(&harness, &last.body);
        names.sort();
        assert_eq!(names, ["release-notes.md", "release-tags.md", "release-train.md"], "{said}");
        harness.client.ignore("reverie/memory/event");
        harness.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_selector_that_hangs_is_given_two_seconds() {
    let harness = three_that_fit().await;
    harness.client.on_request("reverie/permission/ask", |_| Answer::allow_once());
    harness.model.reply_to_recall(Reply::text("{\"selected\": []}").stalling_after_events(2));
    harness.model.program(|request: &RecordedRequest| match recalled(&request.body).len() {
        3.. => Reply::text("done"),
        _ => Reply::tool("Bash", json!({ "command": "sleep 0.4" })),
    });
    let session = harness.client.new_session().await;
    harness
        .client
        .turn(&session, "what about the release notes, the release tags and the release train?")
        .await;
    let asked = harness.model.requests_of("recall")[0].arrived;
    let waited = harness.model.main_requests().last().unwrap().arrived - asked;
    assert!(waited.as_millis() >= 1_500, "{waited:?}");
    harness.client.ignore("reverie/memory/event");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_after_the_end_of_the_turn_is_dropped_and_its_file_stays_eligible() {
    let harness = seven_memories("//- a.txt\none\n").await;
    let (asked, late) = (Gate::closed(), Gate::closed());
    harness.model.reply_to_recall(Reply::text("{\"selected\": [\"coffee.md\"]}").behind(&late));
    harness.model.reply(Reply::text("on a Friday").behind(&asked));
    let session = harness.client.new_session().await;
    let turn = harness.client.prompt(&session, PROMPT).await;
    late.reached().await;
    asked.open();
    harness.client.turn_end(&session, &turn).await;
    late.open();
    harness.memory_event("recalled").await;

    harness.model.recall_selects(&["coffee.md"]);
    works_until_shown(&harness, "coffee.md");
    harness.client.turn(&session, "and when is the coffee machine out of order?").await;
    let last = harness.model.main_requests().pop().unwrap();
    assert!(recalled_names(&harness, &last.body).contains(&"coffee.md".to_owned()));
    harness.client.ignore("reverie/memory/event");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_knows_no_schema_is_asked_again_without() {
    let harness = seven_memories("//- a.txt\none\n").await;
    let body = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "output_config: Extra inputs are not permitted" } });
    harness.model.reply_to_recall(Reply::status(400).body(&body.to_string()));
    harness.model.reply_to_recall(Reply::text("Sure: ```json\n{\"selected\": [\"coffee.md\"]}\n```"));
    works_until_shown(&harness, "coffee.md");
    let session = harness.client.new_session().await;
    harness.client.turn(&session, PROMPT).await;
    let questions = harness.model.requests_of("recall");
    assert_eq!(questions.len(), 2);
    assert!(questions[0].body.get("output_config").is_some());
    assert!(questions[1].body.get("output_config").is_none());
    assert_eq!(questions[0].body["messages"], questions[1].body["messages"]);
    for _ in 0..2 {
        harness.memory_event("recalled").await;
    }
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_the_turn_cancels_the_question() {
    let harness = seven_memories("//- a.txt\none\n").await;
    let gate = Gate::closed();
    harness.model.reply_to_recall(Reply::text("{\"selected\": [\"coffee.md\"]}").behind(&gate));
    harness.model.reply(Reply::text("never said").behind(&gate));
    let session = harness.client.new_session().await;
    let turn = harness.client.prompt(&session, PROMPT).await;
    let both = async {
        while harness.model.requests().len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    testkit::within(both, "two requests").await;
    harness.client.request("reverie/session/cancel", json!({ "sessionId": session })).await.unwrap();
    assert_eq!(harness.client.turn_end(&session, &turn).await.stop_reason(), "cancelled");
    gate.open();
    harness.model.always("recall", Reply::text("{\"selected\": []}"));
    let request = harness.exchange(&session, "hello").await;
    assert_eq!(recalled_names(&harness, &request.body), ["deploy-days.md"]);
    harness.memory_event("recalled").await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_joins_a_turn_brings_its_own_to_mind() {
    let harness = remembering(LOCAL, &[("deploy-days.md", FRIDAY)]).await;
    let session = harness.client.new_session().await;
    let gate = Gate::closed();
    harness.model.reply(Reply::tool("Glob", json!({ "pattern": "*" })).behind(&gate));
    harness.model.reply(Reply::text("on Fridays"));
    let first = harness.client.prompt(&session, "look around").await;
    gate.reached().await;
    let second = harness.client.prompt(&session, PROMPT).await;
    gate.open();
    harness.client.turn_end(&session, &first).await;
    harness.client.turn_end(&session, &second).await;
    let requests = harness.model.main_requests();
    assert_eq!((requests.len(), recalled(&requests[0].body).len()), (2, 0));
    assert_eq!(recalled_names(&harness, &requests[1].body), ["deploy-days.md"]);
    harness.memory_event("recalled").await;
    harness.finish().await;
}
