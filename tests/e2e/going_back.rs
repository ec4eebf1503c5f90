//! Rewind, fork, branches: the conversation and its files go back, and nothing is lost on the way.

use serde_json::{Value, json};
use testkit::{
    lsp_client::{Answer, Turn},
    model_server::Reply,
};

use crate::harness::{Harness, assert_extends};

/// The uuid of the prompt with this text, as a resume shows it.
async fn prompt_uuid(harness: &Harness, session: &str, text: &str) -> String {
    let shown = harness.resume(session).await;
    let messages = shown["messages"].as_array().unwrap();
    let is_prompt = |message: &&Value| message["role"] == "user" && message["text"] == text;
    messages.iter().find(is_prompt).unwrap()["uuid"].as_str().unwrap().to_owned()
}

async fn rewind(harness: &Harness, session: &str, message: &str) -> Value {
    let params = json!({ "sessionId": session, "messageUuid": message });
    harness.client.request("reverie/session/rewind", params).await.expect("a quiet session can be rewound")
}

async fn run(harness: &Harness, session: &str, prompt: &str, calls: &[(&str, Value)]) -> Turn {
    for (tool, input) in calls {
        harness.model.reply(Reply::tool(tool, input.clone()));
    }
    harness.model.reply(Reply::text("done"));
    harness.client.turn(session, prompt).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rewind_brings_back_every_byte_of_edits_commands_renames_and_deletions() {
    let harness = Harness::start(
        "//- src/a.txt\none\ntwo\n//- gone.txt\nkeep me\n//- old_name.txt\nmoved\n//- run.sh\necho hi\n",
    )
    .await;
    std::fs::write(harness.path("bytes.bin"), [0u8, 159, 146, 150, 10, 13]).unwrap();
    harness.client.on_request("reverie/permission/ask", |_| Answer::allow_once());
    let before = harness.fixture.contents();
    let session = harness.editing_session().await;
    let a = harness.text_path("src/a.txt");
    run(
        &harness,
        &session,
        "first",
        &[
            ("Read", json!({ "file_path": a })),
            ("Edit", json!({ "file_path": a, "old_string": "two", "new_string": "2" })),
            ("Write", json!({ "file_path": harness.text_path("new/deep.txt"), "content": "new\n" })),
        ],
    )
    .await;
    let middle = harness.fixture.contents();
    let command = "rm gone.txt && mv old_name.txt new_name.txt && printf x >> bytes.bin && chmod +x run.sh \
                   && mkdir -p made/by/bash && echo b > made/by/bash/b.txt && sed -i s/one/1/ src/a.txt";
    run(&harness, &session, "second", &[("Bash", json!({ "command": command }))]).await;
    assert_eq!(harness.fixture.read("src/a.txt"), "1\n2\n");

    let second = prompt_uuid(&harness, &session, "second").await;
    let answer = rewind(&harness, &session, &second).await;
    assert_eq!(harness.fixture.contents(), middle, "{answer}");
    assert_eq!(answer["prompt"], "second");
    assert_eq!(answer["kept"], json!([]));

    let first = prompt_uuid(&harness, &session, "first").await;
    let answer = rewind(&harness, &session, &first).await;
    assert_eq!(harness.fixture.contents(), before, "{answer}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_user_changed_since_is_left_alone_unless_forced() {
    let harness = Harness::start("//- a.txt\none\n//- b.txt\none\n").await;
    let session = harness.editing_session().await;
    let (a, b) = (harness.text_path("a.txt"), harness.text_path("b.txt"));
    run(
        &harness,
        &session,
        "change both",
        &[
            ("Read", json!({ "file_path": a })),
            ("Read", json!({ "file_path": b })),
            ("Edit", json!({ "file_path": a, "old_string": "one", "new_string": "two" })),
            ("Edit", json!({ "file_path": b, "old_string": "one", "new_string": "two" })),
        ],
    )
    .await;
    harness.fixture.write("a.txt", "mine\n");
    let prompt = prompt_uuid(&harness, &session, "change both").await;
    let answer = rewind(&harness, &session, &prompt).await;
    assert_eq!(answer["restored"], json!([b]));
    assert_eq!(answer["kept"][0]["path"], a);
    assert_eq!([harness.fixture.read("a.txt"), harness.fixture.read("b.txt")], ["mine\n", "one\n"]);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_document_is_rewound_in_the_editor() {
    let harness = Harness::start("//- a.txt\none\n").await;
    harness.client.open(&harness.path("a.txt"));
    let text = || harness.client.document(&harness.path("a.txt")).text;
    let session = harness.editing_session().await;
    let a = harness.text_path("a.txt");
    run(
        &harness,
        &session,
        "change it",
        &[
            ("Read", json!({ "file_path": a })),
            ("Edit", json!({ "file_path": a, "old_string": "one", "new_string": "two" })),
        ],
    )
    .await;
    assert_eq!(text(), "two\n");
    let prompt = prompt_uuid(&harness, &session, "change it").await;
    rewind(&harness, &session, &prompt).await;
    assert_eq!(text(), "one\n");
    assert_eq!(harness.fixture.read("a.txt"), "one\n");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_a_command_changed_behind_open_documents_come_back_on_disk() {
    let harness = Harness::start("//- a.txt\none\n//- b.txt\ntwo\n").await;
    harness.client.on_request("reverie/permission/ask", |_| Answer::allow_once());
    for name in ["a.txt", "b.txt"] {
        harness.client.open(&harness.path(name));
    }
    let session = harness.client.new_session().await;
    run(&harness, &session, "spoil them", &[("Bash", json!({ "command": "echo x > a.txt; rm b.txt" }))])
        .await;
    let prompt = prompt_uuid(&harness, &session, "spoil them").await;
    let answer = rewind(&harness, &session, &prompt).await;
    assert_eq!(answer["restored"].as_array().unwrap().len(), 2, "{answer}");
    assert_eq!([harness.fixture.read("a.txt"), harness.fixture.read("b.txt")], ["one\n", "two\n"]);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_can_take_back_what_its_source_did() {
    let harness = Harness::start("//- a.txt\none\n").await;
    let session = harness.editing_session().await;
    let a = harness.text_path("a.txt");
    run(
        &harness,
        &session,
        "change it",
        &[
            ("Read", json!({ "file_path": a })),
            ("Edit", json!({ "file_path": a, "old_string": "one", "new_string": "two" })),
        ],
    )
    .await;
    let forked =
        harness.client.request("reverie/session/fork", json!({ "sessionId": session })).await.unwrap();
    let fork = forked["sessionId"].as_str().unwrap();
    let prompt = prompt_uuid(&harness, fork, "change it").await;
    rewind(&harness, fork, &prompt).await;
    assert_eq!(harness.fixture.read("a.txt"), "one\n");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rewound_conversation_goes_on_from_there_and_keeps_the_old_branch() {
    let harness = Harness::start("").await;
    let session = harness.client.new_session().await;
    for (prompt, answer) in [("one", "first"), ("two", "second")] {
        harness.model.reply(Reply::text(answer));
        harness.client.turn(&session, prompt).await;
    }
    let two = prompt_uuid(&harness, &session, "two").await;
    rewind(&harness, &session, &two).await;
    // Survives a restart although nothing was said since.
    let harness = harness.restart(&session).await;
    harness.model.reply(Reply::text("third"));
    harness.client.turn(&session, "three").await;
    let requests = harness.model.requests();
    let said = requests.last().unwrap().body["messages"].to_string();
    assert!(said.contains("one") && said.contains("three") && !said.contains("two"), "{said}");
    assert_extends(&requests[0].body, &requests.last().unwrap().body);

    let page = harness.client.request("reverie/session/list", json!({})).await.unwrap();
    assert_eq!(page["sessions"][0]["branches"], 2, "{page}");
    let forked =
        harness.client.request("reverie/session/fork", json!({ "sessionId": session })).await.unwrap();
    let told = harness.client.turn(forked["sessionId"].as_str().unwrap(), "/resume").await.text();
    assert!(told.contains(", 2 branches)") && told.contains(&format!(", a fork of `{session}`)")), "{told}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_branch_can_be_resumed() {
    let harness = Harness::start("").await;
    let session = harness.client.new_session().await;
    for (prompt, answer) in [("one", "first"), ("two", "second")] {
        harness.model.reply(Reply::text(answer));
        harness.client.turn(&session, prompt).await;
    }
    let two = prompt_uuid(&harness, &session, "two").await;
    rewind(&harness, &session, &two).await;
    harness.model.reply(Reply::text("third"));
    harness.client.turn(&session, "three").await;
    let Harness { client, model, fixture } = harness;
    client.shutdown().await;
    let harness = Harness::start_with_fixture(fixture, model).await;
    let shown = harness.resume(&session).await;
    let branches = shown["branches"].as_array().unwrap();
    assert_eq!(branches.len(), 2, "{shown}");
    let other = branches.iter().find(|branch| branch["current"] == false).unwrap();
    assert_eq!(other["firstPrompt"], "two");
    let params = json!({ "sessionId": session, "messageUuid": other["messageUuid"] });
    let shown = harness.client.request("reverie/session/resume", params).await.unwrap();
    let texts: Vec<&str> =
        shown["messages"].as_array().unwrap().iter().filter_map(|message| message["text"].as_str()).collect();
    assert!(texts.contains(&"two") && texts.contains(&"second") && !texts.contains(&"three"), "{texts:?}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_shares_the_past_and_the_cache_and_nothing_else() {
    let harness = Harness::start("").await;
    let session = harness.client.new_session().await;
    harness.model.reply(Reply::text("first"));
    harness.client.turn(&session, "one").await;
    let forked =
        harness.client.request("reverie/session/fork", json!({ "sessionId": session })).await.unwrap();
    let fork = forked["sessionId"].as_str().unwrap();
    for (id, prompt) in [(fork, "in the fork"), (session.as_str(), "in the source")] {
        harness.model.reply(Reply::text("ok"));
        harness.client.turn(id, prompt).await;
    }
    let requests = harness.model.requests();
    let [first, forks, sources] = [0, 1, 2].map(|index| &requests[index].body);
    assert_extends(first, forks);
    assert_extends(first, sources);
    assert!(!sources["messages"].to_string().contains("in the fork"));
    let page = harness.client.request("reverie/session/list", json!({})).await.unwrap();
    let listed = page["sessions"].as_array().unwrap().iter().find(|one| one["sessionId"] == fork).unwrap();
    assert_eq!(listed["forkedFrom"], session);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_searched_and_exported() {
    let harness = Harness::start("").await;
    let session = harness.client.new_session().await;
    harness.model.reply(Reply::text("The **parser** skips the byte order mark."));
    harness.client.turn(&session, "what does the parser do?").await;
    let other = harness.client.new_session().await;
    harness.model.reply(Reply::text("Nothing of that kind."));
    harness.client.turn(&other, "anything else?").await;

    let search = |params: Value| harness.client.request("reverie/session/search", params);
    let found = search(json!({ "query": "PARSER mark" })).await.unwrap();
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["hits"][0]["sessionId"], session);
    assert_eq!(found["hits"][0]["role"], "assistant");
    let found = search(json!({ "query": "parser", "role": "user" })).await.unwrap();
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    let found = search(json!({ "query": "parser", "sessionId": other })).await.unwrap();
    assert_eq!(found["hits"], json!([]));
    let found = search(json!({ "query": "parser", "until": "2020-01-01T00:00:00Z" })).await.unwrap();
    assert_eq!(found["hits"], json!([]));

    let export = |params: Value| harness.client.request("reverie/session/export", params);
    let text = export(json!({ "sessionId": session })).await.unwrap()["text"].as_str().unwrap().to_owned();
    assert!(text.contains("what does the parser do?") && text.contains("**parser** skips"), "{text}");
    let path = harness.text_path("session.json");
    let to_file = json!({ "sessionId": session, "format": "json", "path": path });
    assert_eq!(export(to_file.clone()).await.unwrap()["path"], path);
    let written: Value = serde_json::from_str(&harness.fixture.read("session.json")).unwrap();
    assert!(written.to_string().contains("byte order mark"));
    assert_eq!(export(to_file).await.unwrap_err().code, -32003, "a file is never replaced");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_and_what_answers_it_are_found_by_id() {
    let harness = Harness::start("").await;
    let session = harness.client.new_session().await;
    for (prompt, answer) in [("one", "first"), ("two", "second")] {
        harness.model.reply(Reply::text(answer));
        harness.client.turn(&session, prompt).await;
    }
    let two = prompt_uuid(&harness, &session, "two").await;
    let search = |params: Value| harness.client.request("reverie/session/search", params);
    let found = search(json!({ "query": "", "messageUuid": two })).await.unwrap();
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["hits"][0]["snippet"], "two");
    let found = search(json!({ "query": "", "parentUuid": two })).await.unwrap();
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["hits"][0]["snippet"], "second");
    let found = search(json!({ "query": "one", "messageUuid": two })).await.unwrap();
    assert_eq!(found["hits"], json!([]));
    let wrong = search(json!({ "query": "", "parentUuid": "two" })).await.unwrap_err();
    assert!(wrong.code == -32602 && wrong.message.contains("parentUuid"), "{}", wrong.message);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_of_the_conversation_shows_what_the_methods_does() {
    let harness = Harness::start("").await;
    let session = harness.client.new_session().await;
    let told = harness.client.turn(&session, "/doctor").await.text();
    let result = harness.client.request("reverie/doctor", json!({})).await.unwrap();
    assert_eq!(result["repairs"], json!([]));
    let rows: Vec<&str> = told
        .lines()
        .filter_map(|line| line.strip_prefix("- ")?.split_once(" ("))
        .map(|(name, _)| name)
        .collect();
    let checks = result["checks"].as_array().unwrap();
    let names: Vec<&str> = checks.iter().filter_map(|check| check["name"].as_str()).collect();
    assert_eq!(rows, names);
    assert!(names.contains(&"working memory") && names.contains(&"credential"), "{names:?}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_minimal_resume_brings_what_the_project_knows_from_other_sessions() {
    let harness = Harness::start("").await;
    let session = harness.client.new_session().await;
    run(&harness, &session, "tabs or spaces?", &[]).await;
    let other = harness.client.new_session().await;
    harness.model.reply(Reply::text("We use tabs."));
    harness.client.turn(&other, "decide").await;
    let Harness { client, model, fixture } = harness;
    client.shutdown().await;
    let harness = Harness::start_with_fixture(fixture, model).await;
    let params = json!({ "sessionId": session, "strategy": "minimal" });
    let shown = harness.client.request("reverie/session/resume", params).await.unwrap();
    assert_eq!(shown["strategy"], "minimal");
    harness.model.reply(Reply::text("Tabs."));
    harness.client.turn(&session, "so what is it?").await;
    let requests = harness.model.requests();
    let said = requests.last().unwrap().body["messages"].to_string();
    assert!(said.contains("We use tabs.") && said.contains("Asked last: tabs or spaces?"), "{said}");
    harness.finish().await;
}
