//! "Nothing is remembered in the dark": what editors ask about memory, method by method.

use serde_json::{Value, json};
use testkit::model_server::Reply;

use super::{FRIDAY, LOCAL, remembering, topic};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memories_are_listed_read_written_and_deleted() {
    let index = "- [Deploy days](deploy-days.md) — Fridays only\n";
    let stale = topic("Where the parser is", "The parser is in `src/parser.rs`.");
    let memories = [("MEMORY.md", index), ("deploy-days.md", FRIDAY), ("team/parser.md", &stale)];
    let harness = remembering(LOCAL, &memories).await;
    let listed = harness.ask("list", json!({})).await;
    let [deploys, parser] = listed["memories"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!(deploys["path"], harness.memory_text("deploy-days.md"));
    assert_eq!([&deploys["name"], &deploys["type"]], [&json!("Deploy days"), &json!("project")]);
    assert_eq!(deploys["description"], "We deploy on Fridays only");
    assert_eq!((&deploys["scope"], &deploys["stale"]), (&json!("private"), &json!(false)));
    assert!(deploys["modifiedAt"].as_str().unwrap().ends_with('Z'), "{deploys}");
    assert_eq!((&parser["scope"], &parser["stale"]), (&json!("team"), &json!(true)), "{parser}");

    for path in ["deploy-days.md", &harness.memory_text("deploy-days.md"), "./deploy-days.md"] {
        assert_eq!(harness.ask("read", json!({ "path": path })).await["content"], FRIDAY, "{path}");
    }
    assert_eq!(harness.ask("read", json!({ "path": "MEMORY.md" })).await["content"], index);

    let newer = FRIDAY.replace("Fridays", "Mondays");
    let written = harness.ask("write", json!({ "path": "deploy-days.md", "content": newer })).await;
    assert_eq!(written["path"], harness.memory_text("deploy-days.md"));
    let updated = harness.memory_event("updated").await;
    assert_eq!((&updated["by"], &updated["files"][0]["reason"]), (&json!("user"), &json!("you edited it")));
    harness.ask("write", json!({ "path": "sub/new.md", "content": FRIDAY })).await;
    assert_eq!(harness.memory_event("saved").await["by"], "user");
    // The same again is no change.
    harness.ask("write", json!({ "path": "sub/new.md", "content": FRIDAY })).await;
    let history = harness.ask("history", json!({ "path": "sub/new.md" })).await;
    assert_eq!(history["changes"].as_array().unwrap().len(), 1, "{history}");

    let answer = harness.ask("delete", json!({ "path": "deploy-days.md" })).await;
    let deleted = harness.memory_event("deleted").await;
    assert_eq!(answer, json!({ "changeId": deleted["files"][0]["changeId"] }));
    assert_eq!((&deleted["by"], &deleted["files"][0]["reason"]), (&json!("user"), &json!("you deleted it")));
    assert!(!harness.memory("deploy-days.md").exists());
    assert_eq!(std::fs::read_to_string(harness.memory("MEMORY.md")).unwrap(), "");
    let change = &deleted["files"][0]["changeId"];
    harness.ask("undo", json!({ "changeId": change })).await;
    harness.memory_event("undone").await;
    assert_eq!(std::fs::read_to_string(harness.memory("deploy-days.md")).unwrap(), newer);
    assert_eq!(std::fs::read_to_string(harness.memory("MEMORY.md")).unwrap(), index);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_lies_outside_is_neither_read_nor_written() {
    let harness =
        remembering("//- ~/secret.md\nmine\n//- a.md\nalso mine\n", &[("deploy-days.md", FRIDAY)]).await;
    let outside = harness.path("~/secret.md");
    std::os::unix::fs::symlink(&outside, harness.memory("link.md")).unwrap();
    std::os::unix::fs::symlink(harness.path("~/"), harness.memory("folder")).unwrap();
    std::fs::hard_link(&outside, harness.memory("hard.md")).unwrap();
    let workspace = harness.text_path("a.md");
    let paths = [
        outside.to_str().unwrap().to_owned(),
        workspace,
        "../x.md".to_owned(),
        "../../../../secret.md".to_owned(),
        "sub/../../x.md".to_owned(),
        harness.memory_text("../x.md"),
        "link.md".to_owned(),
        "folder/secret.md".to_owned(),
        "folder/new.md".to_owned(),
        ".history/changes.jsonl".to_owned(),
        ".history/x.md".to_owned(),
        ".HISTORY/x.md".to_owned(),
        ".git/config".to_owned(),
        String::new(),
        ".".to_owned(),
        "/".to_owned(),
        "a\0b.md".to_owned(),
        "a\nb.md".to_owned(),
    ];
    for path in &paths {
        for (method, params) in [
            ("read", json!({ "path": path })),
            ("write", json!({ "path": path, "content": "pwned" })),
            ("delete", json!({ "path": path })),
        ] {
            let words = harness.refusal(method, params).await;
            assert!(!words.contains("mine"), "{method} {path}: {words}");
        }
    }
    harness.refusal("write", json!({ "path": "hard.md", "content": "pwned" })).await;
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "mine\n");
    assert_eq!(harness.fixture.read("a.md"), "also mine\n");
    assert_eq!(std::fs::read_to_string(harness.memory("deploy-days.md")).unwrap(), FRIDAY);
    assert!(!harness.path("~/new.md").exists() && !harness.memory("../x.md").exists());
    for path in ["missing.md", "deploy-days.md/x.md"] {
        harness.refusal("read", json!({ "path": path })).await;
        harness.refusal("delete", json!({ "path": path })).await;
    }
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_ranks_and_quotes() {
    let coffee =
        topic("The coffee machine", "It stands in the kitchen.\nIt is descaled on Mondays by Ada.\n");
    let harness = remembering(LOCAL, &[("deploy-days.md", FRIDAY), ("sub/coffee.md", &coffee)]).await;
    let found = harness.ask("search", json!({ "query": "who descales the coffee machine on Mondays" })).await;
    let hit = &found["hits"][0];
    assert_eq!(hit["path"], harness.memory_text("sub/coffee.md"));
    assert!(hit["score"].as_f64().unwrap() > 0.0);
    assert_eq!(hit["snippet"], "It is descaled on Mondays by Ada.");
    let found = harness.ask("search", json!({ "query": "deploy fridays coffee", "limit": 1 })).await;
    assert_eq!(found["hits"].as_array().unwrap().len(), 1);
    for query in ["", "   ", "zyzzyva", "the", &"word ".repeat(50_000)] {
        harness.ask("search", json!({ "query": query })).await;
    }
    assert_eq!(harness.ask("search", json!({ "query": "zyzzyva" })).await["hits"], json!([]));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_explanation_has_the_parts_of_the_score() {
    let coffee = topic("The coffee machine", "On Mondays.");
    let harness = remembering(LOCAL, &[("deploy-days.md", FRIDAY), ("coffee.md", &coffee)]).await;
    let session = harness.client.new_session().await;
    let explained = harness.ask("explain", json!({ "sessionId": session })).await;
    assert_eq!(explained["candidates"], json!([]), "nothing was said yet");
    harness.model.reply(Reply::text("on Fridays"));
    let turn = harness.client.turn(&session, "on which days do we deploy?").await;
    harness.memory_event("recalled").await;
    for params in [json!({ "sessionId": session, "turnId": turn.id }), json!({ "sessionId": session })] {
        let explained = harness.ask("explain", params).await;
        let [first, second] = explained["candidates"].as_array().unwrap().as_slice() else {
            panic!("{explained}")
        };
        assert_eq!(
            (&first["path"], &first["decision"]),
            (&json!(harness.memory_text("deploy-days.md")), &json!("recalled"))
        );
        let reason = first["reason"].as_str().unwrap();
        assert!(
            reason.contains("“deploy”") && reason.contains("; score ") && reason.contains("description"),
            "{reason}"
        );
        assert!(first["score"].as_f64().unwrap() > second["score"].as_f64().unwrap());
        assert_eq!(
            (&second["path"], &second["decision"]),
            (&json!(harness.memory_text("coffee.md")), &json!("notSelected"))
        );
        assert_eq!(second["reason"], "no word of the message is in it");
    }
    // What another message would recall, after what was shown.
    let params = json!({ "sessionId": session, "query": "is the coffee machine on which we deploy clean?" });
    let explained = harness.ask("explain", params).await;
    let decision = |name: &str| -> Value {
        let path = harness.memory_text(name);
        let entries = explained["candidates"].as_array().unwrap();
        entries.iter().find(|entry| entry["path"] == path).unwrap()["decision"].clone()
    };
    assert_eq!(
        (decision("coffee.md"), decision("deploy-days.md")),
        (json!("recalled"), json!("filtered")),
        "{explained}"
    );
    let words =
        harness.refusal("explain", json!({ "sessionId": session, "turnId": "of another life" })).await;
    assert!(words.contains("of another life"), "{words}");
    harness.refusal("explain", json!({ "sessionId": "0d6c2c10-0000-4000-8000-000000000000" })).await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_one_name_are_not_mistaken_for_each_other() {
    let (here, there) =
        (topic("Deploys of the shop", "The shop deploys on Mondays."), topic("Coffee", "On Mondays."));
    let harness = remembering(LOCAL, &[("notes.md", &there), ("shop/notes.md", &here)]).await;
    let session = harness.client.new_session().await;
    harness.model.reply(Reply::text("on Mondays"));
    let turn = harness.client.turn(&session, "when are the deploys of the shop?").await;
    let event = harness.memory_event("recalled").await;
    assert_eq!(event["files"].as_array().unwrap().len(), 1);
    assert_eq!(event["files"][0]["path"], harness.memory_text("shop/notes.md"));
    harness.model.reply(Reply::text("on Mondays too"));
    harness.client.turn(&session, "the shop deploys on Mondays, and the coffee?").await;
    harness.memory_event("recalled").await;
    let explained = harness.ask("explain", json!({ "sessionId": session })).await;
    // The one that was shown before fits better, and stands first.
    assert_eq!(explained["candidates"][0]["path"], harness.memory_text("shop/notes.md"), "{explained}");
    for candidate in explained["candidates"].as_array().unwrap() {
        let expected =
            if candidate["path"] == harness.memory_text("notes.md") { "recalled" } else { "filtered" };
        assert_eq!(candidate["decision"], expected, "{explained}");
    }
    let explained = harness.ask("explain", json!({ "sessionId": session, "turnId": turn.id })).await;
    for candidate in explained["candidates"].as_array().unwrap() {
        let expected =
            if candidate["path"] == harness.memory_text("notes.md") { "notSelected" } else { "recalled" };
        assert_eq!(candidate["decision"], expected, "{explained}");
    }
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_history_says_who_what_and_why_and_everything_since_a_time_can_be_undone() {
    let harness = remembering(LOCAL, &[]).await;
    let session = harness.client.new_session().await;
    harness.greet(&session).await;
    let path = harness.memory_text("deploy-days.md");
    harness.ask("write", json!({ "path": "first.md", "content": "one\n" })).await;
    harness.memory_event("saved").await;
    let since = harness.ask("history", json!({})).await["changes"][0]["at"].as_str().unwrap().to_owned();

    harness.model.reply(Reply::tool("Write", json!({ "file_path": path, "content": FRIDAY })));
    harness.exchange(&session, "keep in mind that we deploy on Fridays").await;
    harness.memory_event("saved").await;
    harness.ask("write", json!({ "path": path, "content": FRIDAY.replace("Fridays", "Mondays") })).await;
    harness.memory_event("updated").await;
    harness.ask("write", json!({ "path": "other.md", "content": "two\n" })).await;
    harness.memory_event("saved").await;

    let history = harness.ask("history", json!({ "path": path })).await;
    let [edited, saved] = history["changes"].as_array().unwrap().as_slice() else { panic!("{history}") };
    assert_eq!([&edited["by"], &edited["why"]], [&json!("user"), &json!("you edited it")]);
    assert_eq!(edited.get("sessionId"), None);
    assert!(
        edited["diff"]
            .as_str()
            .unwrap()
            .contains("-We deploy on Fridays only.\n+We deploy on Mondays only.\n"),
        "{edited}"
    );
    assert_eq!([&saved["by"], &saved["sessionId"]], [&json!("model"), &json!(session)]);
    assert_eq!(saved["why"], "you asked to remember it: “keep in mind that we deploy on Fridays”");
    let shown = harness.resume(&session).await;
    let prompt =
        shown["messages"].as_array().unwrap().iter().find(|message| message["uuid"] == saved["messageUuid"]);
    assert_eq!(prompt.unwrap()["text"], "keep in mind that we deploy on Fridays");
    assert_eq!(saved["path"], path);
    assert!(saved["at"].as_str().unwrap() < edited["at"].as_str().unwrap());
    let one = harness.ask("history", json!({ "limit": 1 })).await;
    assert_eq!(one["changes"].as_array().unwrap().len(), 1);

    // A change that others have built upon is left alone, and it is said.
    let kept = harness.ask("undo", json!({ "changeId": saved["id"] })).await;
    assert_eq!(kept["undone"], json!([]), "{kept}");
    assert!(kept["kept"][0]["reason"].as_str().unwrap().contains("was changed since"), "{kept}");

    let undone = harness.ask("undo", json!({ "since": since })).await;
    assert_eq!(undone["undone"].as_array().unwrap().len(), 3, "all from then on: {undone}");
    let event = harness.memory_event("undone").await;
    assert_eq!(event["files"].as_array().unwrap().len(), 3);
    let listed = harness.ask("list", json!({})).await;
    assert_eq!(listed["memories"], json!([]));

    for params in
        [json!({ "changeId": "01890000-0000-7000-8000-000000000000" }), json!({ "dreamId": "none" })]
    {
        assert!(harness.refusal("undo", params).await.contains("has no change or group"));
    }
    for params in [json!({}), json!({ "changeId": "a", "since": since }), json!({ "since": "yesterday-ish" })]
    {
        harness.refusal("undo", params).await;
    }
    harness.refusal("history", json!({ "path": "../../x.md" })).await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lint_says_where_and_what_and_never_quotes_a_secret() {
    let secret = format!("ghp_{}", "Zx9Qw3Er5Ty7Ui1Op2As4Df6Gh8Jk0Lz5Xc7");
    let index = "- [Gone](gone.md) — nothing there\n- [Deploy days](deploy-days.md) — Fridays only\n- [Key](key.md) — k\n";
    let key = topic("Where the key is", &format!("The key is {secret} today."));
    let orphan = "Yesterday we moved to `src/nowhere.rs`.\n";
    let memories =
        [("MEMORY.md", index), ("deploy-days.md", FRIDAY), ("key.md", &key), ("orphan.md", orphan)];
    let harness = remembering("//- src/main.rs\nfn main() {}\n", &memories).await;
    let lint = harness.ask("lint", json!({})).await;
    let found: Vec<String> = lint["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            let path = finding["path"].as_str().unwrap().rsplit('/').next().unwrap();
            format!("{path}:{} {}", finding["line"], finding["code"].as_str().unwrap())
        })
        .collect();
    for expected in [
        "MEMORY.md:1 dead-link",
        "key.md:7 secret",
        "orphan.md:1 no-frontmatter",
        "orphan.md:1 orphan",
        "key.md:7 relative-date",
        "orphan.md:1 stale-reference",
    ] {
        assert!(found.contains(&expected.to_owned()), "{expected}: {found:#?}");
    }
    assert!(!found.iter().any(|finding| finding.starts_with("deploy-days.md")), "{found:#?}");
    assert!(!lint.to_string().contains(&secret), "{lint}");
    let dead =
        lint["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == "dead-link").unwrap();
    assert!(dead["fix"].is_string(), "{dead}");
    harness.finish().await;
}
