//! A memory directory as Claude Code writes it is read as it is, and it lies where Claude Code looks for it.

use serde_json::{Value, json};
use testkit::{fixture::Fixture, lsp_client::ClientOptions, model_server::ModelServer};

use super::{LOCAL, recalled_names, remembering};
use crate::harness::{Harness, trust};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_of_claude_code_is_read_as_it_is() {
    let memories = [
        (
            "MEMORY.md",
            "- [User role](user_role.md) — data scientist, new to Rust\n- [Testing](feedback_testing.md) — no mocks\n\
             - [Pipelines](reference/pipeline_bugs.md) — Linear project INGEST\n",
        ),
        (
            "user_role.md",
            "---\nname: User role\ndescription: The user is a data scientist who is new to Rust\ntype: user\n---\n\n\
             Explain ownership by analogy with Python.\n",
        ),
        (
            "feedback_testing.md",
            "---\nname: testing-approach\ndescription: Integration tests hit a real database, never mocks\n\
             type: feedback\n---\n\nIntegration tests must hit a real database.\n\n**Why:** a mock hid a broken migration.\n\
             **How to apply:** whenever tests touch the database.\n",
        ),
        (
            "reference/pipeline_bugs.md",
            "---\nname: Pipeline bugs\ndescription: Pipeline bugs are tracked in Linear project INGEST\ntype: reference\n\
             originSessionId: 0d6c\nmodified: 2026-01-01\n---\n\nSee Linear, project INGEST.\n",
        ),
        (
            "strange.md",
            "---\nname: Strange\ndescription: The kitchen has three kettles\ntype: banana\n---\nKettles.\n",
        ),
        ("plain.md", "The greenhouse is watered by Joan every second Tuesday.\n"),
        (
            "crlf.md",
            "---\r\nname: Endings\r\ndescription: Carriage returns are kept in fixtures\r\ntype: project\r\n---\r\n\r\nKeep them.\r\n",
        ),
    ];
    let harness = remembering(LOCAL, &memories).await;
    let listed = harness.ask("list", json!({})).await;
    assert_eq!(listed["dir"], json!(super::directory(&harness.fixture)));
    let shown: Vec<String> = listed["memories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|memory| {
            let path = memory["path"].as_str().unwrap().rsplit("/memory/").next().unwrap();
            format!(
                "{path} | {} | {} | {}",
                memory["name"].as_str().unwrap(),
                memory["type"],
                memory["scope"]
            )
        })
        .collect();
    expect_test::expect![[r#"
        crlf.md | Endings | "project" | "private"
        feedback_testing.md | testing-approach | "feedback" | "private"
        plain.md | plain | null | "private"
        reference/pipeline_bugs.md | Pipeline bugs | "reference" | "private"
        strange.md | Strange | null | "private"
        user_role.md | User role | "user" | "private""#]]
    .assert_eq(&shown.join("\n"));

    let session = harness.client.new_session().await;
    for (prompt, path) in [
        ("should integration tests use mocks or a real database?", "feedback_testing.md"),
        ("in which Linear project are pipeline bugs tracked?", "reference/pipeline_bugs.md"),
        ("who is watering the greenhouse on Tuesday?", "plain.md"),
        ("how many kettles does the kitchen have?", "strange.md"),
        ("are carriage returns kept in fixtures?", "crlf.md"),
    ] {
        let request = harness.exchange(&session, prompt).await;
        let names = recalled_names(&harness, &request.body);
        assert!(names.contains(&path.to_owned()), "{prompt}: {names:?}");
    }
    harness.client.ignore("reverie/memory/event");
    // The index is in the first message, the files are as they were.
    let first = &harness.model.main_requests()[0].body["messages"][0]["content"][0]["text"];
    assert!(
        first.as_str().unwrap().contains("- [Pipelines](reference/pipeline_bugs.md) — Linear project INGEST"),
        "{first}"
    );
    for (path, text) in memories {
        assert_eq!(std::fs::read_to_string(harness.memory(path)).unwrap(), text, "{path}");
    }
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_gives_the_folder_that_claude_code_makes_of_it() {
    for (name, slug) in [
        ("my.app", "my-app"),
        ("with space", "with-space"),
        ("under_score", "under-score"),
        ("größe", "gr--e"),
        ("日本", "--"),
        ("MiXed-09", "MiXed-09"),
    ] {
        let mut fixture = Fixture::new("");
        let folder = fixture.workspace.join(name);
        std::fs::create_dir(&folder).unwrap();
        let parent = fixture.project_dir();
        fixture.workspace = folder;
        trust(&fixture);
        let model = ModelServer::start().await;
        let environment = fixture.environment(&model.url());
        let options = ClientOptions::new(&fixture.workspace);
        let harness = Harness::start_with(fixture, model, &environment, &options).await;
        let listed = harness.ask("list", json!({})).await;
        let expected = format!("{}-{slug}/memory", parent.display());
        assert_eq!(listed["dir"], Value::String(expected), "{name}");
        harness.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subfolder_of_a_repository_shares_its_memory() {
    let mut fixture = Fixture::new("//- deep/inside/a.txt\none\n");
    fixture.git_init();
    let expected = super::directory(&fixture);
    trust(&fixture);
    fixture.workspace = fixture.workspace.join("deep/inside");
    let model = ModelServer::start().await;
    let environment = fixture.environment(&model.url());
    let options = ClientOptions::new(&fixture.workspace);
    let harness = Harness::start_with(fixture, model, &environment, &options).await;
    assert_eq!(harness.ask("list", json!({})).await["dir"], json!(expected));
    harness.finish().await;
}
