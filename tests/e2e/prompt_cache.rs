//! "The prompt prefix is sacred": what was sent is sent again, and each token is bought once.

use serde_json::{Value, json};
use testkit::{
    model_server::{ModelServer, Reply},
    prompt_block::{PromptBlock, Section, prompt_blocks},
};

use crate::harness::{Harness, assert_extends};

/// Ten files of some size, so that results weigh something.
fn ten_files() -> String {
    (0..10)
        .map(|file| {
            let lines: String =
                (0..60).map(|line| format!("line {line} of file {file}, with some words in it\n")).collect();
            format!("//- file_{file}.txt\n{lines}")
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_rounds_keep_the_prefix_and_cost_at_most_two_percent_more_than_possible() {
    let harness = Harness::start(&ten_files()).await;
    for file in 0..10 {
        let path = harness.text_path(&format!("file_{file}.txt"));
        harness
            .model
            .reply(Reply::text(format!("I look at {file}.")).and_tool("Read", json!({ "file_path": path })));
    }
    harness.model.reply(Reply::text("all read"));
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "read all ten files").await;
    assert_eq!((turn.stop_reason(), turn.count("toolEnd")), ("endTurn", 10), "{}", turn.events());

    let requests = harness.model.main_requests();
    assert_eq!(requests.len(), 11);
    for pair in requests.windows(2) {
        assert_extends(&pair[0].body, &pair[1].body);
    }
    assert_nothing_bought_twice(&harness.model);
    assert_cheap(&harness.model);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_parallel_reads_buy_nothing_twice() {
    let harness = Harness::start(&ten_files()).await;
    let read = |file: usize| {
        (
            "Read",
            json!({ "file_path": harness.text_path(&format!("file_{}.txt", file % 10)), "offset": file + 1, "limit": 2 }),
        )
    };
    harness.model.reply(Reply::tools([read(0)]));
    harness.model.reply(Reply::tools((0..30).map(read)));
    harness.model.reply(Reply::tools((0..30).rev().map(read)));
    harness.model.reply(Reply::text("done"));
    let session = harness.client.new_session().await;
    let turn = harness.client.turn(&session, "read a lot").await;
    assert_eq!((turn.stop_reason(), turn.count("toolEnd")), ("endTurn", 61));
    assert!(turn.of_kind("toolEnd").iter().all(|end| end["ok"] == true));
    assert_nothing_bought_twice(&harness.model);
    assert_cheap(&harness.model);

    // The answers stand in the order of the calls, whichever was ready first.
    let last = harness.model.main_requests().pop().unwrap();
    let messages = last.body["messages"].as_array().unwrap();
    let [.., calls, results] = messages.as_slice() else { panic!("too few messages") };
    let ids = |message: &Value, field: &str| -> Vec<String> {
        let blocks = message["content"].as_array().unwrap();
        blocks.iter().filter_map(|block| block[field].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(ids(calls, "id"), ids(results, "tool_use_id"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_turns_of_talk_buy_each_token_once() {
    let harness = Harness::start(&ten_files()).await;
    let session = harness.client.new_session().await;
    for number in 0..12 {
        if number % 3 == 0 {
            let path = harness.text_path("file_1.txt");
            harness
                .model
                .reply(Reply::tool("Read", json!({ "file_path": path, "offset": number + 1, "limit": 3 })));
        }
        harness.model.reply(Reply::text(format!("answer {number}: {}", "words ".repeat(50))));
        harness.client.turn(&session, &format!("question {number}: {}", "more words ".repeat(30))).await;
    }
    let requests = harness.model.main_requests();
    for pair in requests.windows(2) {
        assert_extends(&pair[0].body, &pair[1].body);
    }
    assert_nothing_bought_twice(&harness.model);
    assert_cheap(&harness.model);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resumed_session_sends_the_same_prefix_and_reads_all_of_it() {
    let files = ten_files() + "//- CLAUDE.md\nTabs, never spaces.\n";
    let harness = Harness::start(&files).await;
    harness.fixture.git_init();
    let path = harness.text_path("file_3.txt");
    harness.model.reply(
        Reply::tool("Read", json!({ "file_path": path }))
            .and_tool("Read", json!({ "file_path": harness.text_path("missing.txt") })),
    );
    harness.model.reply(Reply::text("read"));
    let session = harness.client.new_session().await;
    harness.client.turn(&session, "read file 3").await;

    // The world moves on between the sessions; what was sent does not.
    harness.fixture.write("CLAUDE.md", "Spaces, never tabs.\n");
    harness.fixture.write("new_file.txt", "new\n");
    harness.fixture.write("file_3.txt", "changed\n");
    harness.fixture.git(&["add", "--all"]);
    let harness = harness.restart(&session).await;
    harness.model.reply(Reply::text("welcome back"));
    harness.client.turn(&session, "and now?").await;

    let requests = harness.model.main_requests();
    assert_eq!(requests.len(), 3);
    assert_extends(&requests[1].body, &requests[2].body);
    assert_nothing_bought_twice(&harness.model);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_session_reads_tools_and_system_instead_of_writing_them() {
    let harness = Harness::start("//- a.txt\nhi\n").await;
    for text in ["first", "second"] {
        harness.model.reply(Reply::text("hello"));
        let session = harness.client.new_session().await;
        harness.client.turn(&session, text).await;
    }
    let shared: u64 = prompt_blocks(&harness.model.main_requests()[1].body)
        .iter()
        .filter(|block| matches!(block.section, Section::Tool | Section::System))
        .map(PromptBlock::tokens)
        .sum();
    let second = harness.model.usages()[1];
    assert!(second.read >= shared, "read {} of the {shared} tokens of tools and system", second.read);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_turn_leaves_the_prefix_whole() {
    let harness = Harness::start("//- a.txt\nhi\n").await;
    harness.client.allow_everything();
    let session = harness.client.new_session().await;
    harness
        .model
        .reply(Reply::text("before").and_tool("Bash", json!({ "command": "echo started; sleep 600" })));
    let turn = harness.client.prompt(&session, "run it").await;
    harness.client.wait_for("output", |seen| seen.kind() == "toolProgress").await;
    harness.client.request("reverie/session/cancel", json!({ "sessionId": session })).await.unwrap();
    harness.client.turn_end(&session, &turn).await;
    harness.model.reply(Reply::text("after"));
    harness.client.turn(&session, "go on").await;
    let requests = harness.model.main_requests();
    assert_extends(&requests[0].body, &requests[1].body);
    harness.finish().await;
}

/// Every request reads what the one before it read and wrote.
#[track_caller]
fn assert_nothing_bought_twice(model: &ModelServer) {
    let usages = model.usages();
    for (index, pair) in usages.windows(2).enumerate() {
        let cached = pair[0].read + pair[0].written_5m + pair[0].written_1h;
        assert!(
            pair[1].read >= cached,
            "request {} read {} of {cached} cached tokens: {usages:#?}",
            index + 1,
            pair[1].read
        );
    }
}

#[track_caller]
fn assert_cheap(model: &ModelServer) {
    let ratio = model.cache().cost_ratio();
    assert!(ratio <= 1.02, "{ratio:.4} times the cheapest possible: {:#?}", model.usages());
}
