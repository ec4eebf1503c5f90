//! CLAUDE.md files and rules: what a session is told, in which order, when more joins, and what is never read unasked.

use std::{fs, path::Path};

use serde_json::{Value, json};
use testkit::{
    lsp_client::{Answer, ClientOptions, Notification, Turn, uri},
    model_server::{RecordedRequest, Reply},
};

use crate::harness::{Harness, assert_extends, trust};

const YES: &str = "Yes, always for this folder";

/// What every request begins with, the index of memories and the date included.
fn context(request: &RecordedRequest) -> String {
    request.body["messages"][0]["content"][0]["text"].as_str().expect("a first block of text").to_owned()
}

fn conversation(request: &RecordedRequest) -> String {
    request.body["messages"].to_string()
}

/// The files that a text shows, as `path (kind)`.
fn shown(harness: &Harness, text: &str) -> Vec<String> {
    let files = text.lines().filter_map(|line| line.strip_prefix("File ")?.strip_suffix(':'));
    let mut files: Vec<String> = files.map(str::to_owned).collect();
    for (path, name) in harness.fixture.replacements() {
        files.iter_mut().for_each(|file| *file = file.replace(&path, &name));
    }
    files
}

fn notices(turn: &Turn) -> Vec<String> {
    let text = |notice: &&Value| notice["text"].as_str().unwrap_or_default().to_owned();
    turn.of_kind("notice").iter().map(text).collect()
}

/// The answer to a question may come while the turn runs or after it.
async fn wait_for_notice(harness: &Harness, turn: &Turn, words: &str) {
    if !notices(turn).concat().contains(words) {
        let says_so = |seen: &Notification| {
            seen.params["update"]["text"].as_str().is_some_and(|text| text.contains(words))
        };
        harness.client.wait_for(words, says_so).await;
    }
}

async fn say(harness: &Harness, session: &str, prompt: &str) -> Turn {
    harness.model.reply(Reply::text("yes"));
    harness.client.turn(session, prompt).await
}

async fn read(harness: &Harness, session: &str, paths: &[&str]) -> Turn {
    let call = |path: &&str| ("Read", json!({ "file_path": harness.text_path(path) }));
    harness.model.reply(Reply::tools(paths.iter().map(call)));
    harness.model.reply(Reply::text("read"));
    let turn = harness.client.turn(session, "read").await;
    assert!(turn.of_kind("toolEnd").iter().all(|end| end["ok"] == true), "{}", turn.events());
    turn
}

async fn reload(harness: &Harness, session: &str) -> Value {
    let params = json!({ "sessionId": session });
    harness.client.request("reverie/instructions/reload", params).await.expect("a quiet session reloads")
}

/// The requests so far only ever add to the one before.
fn assert_prefix_kept(harness: &Harness) {
    for pair in harness.model.main_requests().windows(2) {
        assert_extends(&pair[0].body, &pair[1].body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_request_has_all_files_lowest_priority_first_each_with_its_label() {
    let harness = Harness::start(
        "//- ~/.claude/CLAUDE.md\nuser text\n//- ~/.claude/rules/style.md\nuser rule\n\
         //- CLAUDE.md\nproject text, see @docs/more.md and `@docs/code.md` <!-- not this -->\n\
         //- docs/more.md\nincluded text\n//- docs/code.md\nnever shown\n\
         //- .claude/CLAUDE.md\ndot text\n//- .claude/rules/b.md\nrule b\n//- .claude/rules/a/a.md\nrule a\n\
         //- .claude/rules/waits.md\n---\npaths: '*.rs'\n---\nnever shown\n\
         //- CLAUDE.local.md\nlocal text\n//- AGENTS.md\nnever shown\n//- sub/CLAUDE.md\nnever shown\n",
    )
    .await;
    let session = harness.client.new_session().await;
    let before = harness.client.turn(&session, "/memory").await;
    assert!(before.text().contains("CLAUDE.local.md (local, session_start)"), "{}", before.text());
    let turn = say(&harness, &session, "hello there").await;
    let text = context(&harness.model.requests()[0]);
    let expected = [
        "<home>/.claude/CLAUDE.md (user instructions)",
        "<home>/.claude/rules/style.md (user instructions)",
        "<workspace>/CLAUDE.md (project instructions)",
        "<workspace>/docs/more.md (project instructions)",
        "<workspace>/.claude/CLAUDE.md (project instructions)",
        "<workspace>/.claude/rules/a/a.md (project instructions)",
        "<workspace>/.claude/rules/b.md (project instructions)",
        "<workspace>/CLAUDE.local.md (local instructions)",
    ];
    assert_eq!(shown(&harness, &text), expected);
    assert!(text.contains("(project instructions):\n\nincluded text\n"), "{text}");
    assert!(!text.contains("never shown") && !text.contains("not this"), "{text}");
    assert_eq!(notices(&turn), Vec::<String>::new());
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_md_stands_in_for_a_claude_md_that_is_not_there() {
    let harness = Harness::start("//- AGENTS.md\nFrom AGENTS.\n").await;
    let session = harness.client.new_session().await;
    say(&harness, &session, "hello there").await;
    let text = context(&harness.model.requests()[0]);
    assert_eq!(shown(&harness, &text), ["<workspace>/AGENTS.md (project instructions)"]);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_include_that_leaves_the_workspace_is_asked_about_once_and_never_before_trust() {
    let harness = Harness::untrusted(
        "//- CLAUDE.md\n@inside.md @~/outside.md\n//- inside.md\nINSIDE\n//- ~/outside.md\nOUTSIDE\n",
    )
    .await;
    harness.client.on_request("reverie/user/ask", |_| Answer::Result(json!({ "answer": YES })));
    let session = harness.client.new_session().await;
    let turn = say(&harness, &session, "hello there").await;
    assert!(notices(&turn).concat().contains("is outside the workspace and left out"), "{}", turn.events());
    let text = context(&harness.model.requests()[0]);
    assert!(text.contains("INSIDE") && !text.contains("OUTSIDE"), "{text}");
    assert_eq!(harness.client.asked("reverie/user/ask"), Vec::<Value>::new(), "nobody trusts the folder");

    trust(&harness.fixture);
    let session = harness.client.new_session().await;
    let turn = say(&harness, &session, "hello again").await;
    let asked = harness.client.wait_until_asked("reverie/user/ask", 1).await;
    let outside = harness.text_path("~/outside.md");
    assert!(asked[0]["question"].as_str().unwrap().contains(&outside), "{asked:?}");
    wait_for_notice(&harness, &turn, "from the next session on").await;
    assert!(!context(&harness.model.requests()[1]).contains("OUTSIDE"));
    let kept = harness.fixture.read("~/.claude/reverie-includes.json");
    assert!(kept.contains(&outside), "{kept}");

    let session = harness.client.new_session().await;
    say(&harness, &session, "hello once more").await;
    assert!(context(&harness.model.requests()[2]).contains("OUTSIDE"));
    assert_eq!(harness.client.asked("reverie/user/ask").len(), 1);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_include_is_not_asked_about_again_by_another_server() {
    let harness = Harness::start("//- CLAUDE.md\n@~/outside.md\n//- ~/outside.md\nOUTSIDE\n").await;
    harness.client.on_request("reverie/user/ask", |_| Answer::Result(json!({ "answer": "No" })));
    let session = harness.client.new_session().await;
    let turn = say(&harness, &session, "hello there").await;
    harness.client.wait_until_asked("reverie/user/ask", 1).await;
    wait_for_notice(&harness, &turn, "stays left out").await;
    // A question now would be a problem: nobody answers it.
    let harness = harness.restart(&session).await;
    let session = harness.client.new_session().await;
    say(&harness, &session, "hello again").await;
    assert!(!context(&harness.model.requests()[1]).contains("OUTSIDE"));
    assert_eq!(harness.client.asked("reverie/user/ask"), Vec::<Value>::new());
    harness.finish().await;
}

/// `sub` has instructions of its own, and rules wait for two kinds of files.
const NESTED: &str = "//- CLAUDE.md\nROOT\n//- sub/CLAUDE.md\nNESTED, see @more.md\n//- sub/more.md\nMORE\n\
                      //- sub/a/x.txt\nx\n//- sub/b/y.txt\ny\n//- sub/c/z.txt\nz\n//- main.rs\nfn main() {}\n\
                      //- .claude/rules/rust.md\n---\npaths: '**/*.rs'\n---\nRUST RULE\n\
                      //- .claude/rules/web.md\n---\npaths: web\n---\nWEB RULE\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_touched_brings_its_instructions_once_at_the_next_round_also_after_a_restart() {
    let harness = Harness::start(NESTED).await;
    let session = harness.editing_session().await;
    read(&harness, &session, &["sub/a/x.txt"]).await;
    let requests = harness.model.main_requests();
    assert!(!conversation(&requests[0]).contains("NESTED"));
    let joined = requests[1].last_message_text();
    let nested = [
        "<workspace>/sub/CLAUDE.md (project instructions)",
        "<workspace>/sub/more.md (project instructions)",
    ];
    assert_eq!(shown(&harness, &joined), nested, "{joined}");

    // A rule waits for what is edited just as for what is read.
    let (path, old) = (harness.text_path("main.rs"), "fn main");
    harness.model.reply(Reply::tool("Read", json!({ "file_path": path })));
    let edit = json!({ "file_path": path, "old_string": old, "new_string": "pub fn main" });
    harness.model.reply(Reply::tool("Edit", edit));
    harness.model.reply(Reply::text("done"));
    harness.client.turn(&session, "edit it").await;
    let create = json!({ "file_path": harness.text_path("web/new.ts"), "content": "let a = 1;\n" });
    harness.model.reply(Reply::tool("Write", create));
    harness.model.reply(Reply::text("done"));
    harness.client.turn(&session, "create it").await;
    read(&harness, &session, &["sub/b/y.txt"]).await;

    let harness = harness.restart(&session).await;
    read(&harness, &session, &["sub/a/x.txt", "sub/c/z.txt", "main.rs", "web/new.ts"]).await;
    let last = harness.model.main_requests().pop().unwrap();
    let said = conversation(&last);
    for text in ["NESTED", "MORE", "RUST RULE", "WEB RULE"] {
        assert_eq!(said.matches(text).count(), 1, "{text}: {said}");
    }
    assert_prefix_kept(&harness);
    let files = reload(&harness, &session).await;
    assert_eq!(files["files"].as_array().unwrap().len(), 1, "what waits is not in force: {files}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_side_by_side_bring_the_same_instructions_once() {
    let folders: Vec<String> = (0..16).map(|folder| format!("sub/{folder}/file.txt")).collect();
    let files: String = folders.iter().map(|path| format!("//- {path}\nwords\n")).collect();
    let harness = Harness::start(&format!("//- sub/CLAUDE.md\nNESTED\n{files}")).await;
    let session = harness.client.new_session().await;
    let paths: Vec<&str> = folders.iter().map(String::as_str).collect();
    read(&harness, &session, &paths).await;
    let said = conversation(&harness.model.main_requests()[1]);
    assert_eq!(said.matches("NESTED").count(), 1, "{said}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mentioned_file_brings_its_instructions_with_the_prompt() {
    let harness = Harness::start(NESTED).await;
    let session = harness.client.new_session().await;
    harness.model.reply(Reply::text("seen"));
    let mention = json!({ "type": "mention", "uri": uri(&harness.path("sub/a/x.txt")) });
    let params =
        json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "look at this" }, mention] });
    let accepted = harness.client.request("reverie/session/prompt", params).await.unwrap();
    harness.client.turn_end(&session, accepted["turnId"].as_str().unwrap()).await;
    let said = conversation(&harness.model.main_requests()[0]);
    assert_eq!(said.matches("NESTED").count(), 1, "{said}");
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_rewind_takes_away_comes_back_when_it_is_touched_again() {
    let harness = Harness::start(NESTED).await;
    let session = harness.client.new_session().await;
    say(&harness, &session, "hello there").await;
    read(&harness, &session, &["sub/a/x.txt", "main.rs"]).await;
    let resumed = harness.resume(&session).await;
    let messages = resumed["messages"].as_array().unwrap();
    let prompt = messages.iter().find(|message| message["text"] == "read").unwrap();
    let params = json!({ "sessionId": session, "messageUuid": prompt["uuid"] });
    harness.client.request("reverie/session/rewind", params).await.unwrap();
    read(&harness, &session, &["sub/a/x.txt", "main.rs"]).await;
    let said = conversation(&harness.model.main_requests().pop().unwrap());
    for text in ["NESTED", "RUST RULE"] {
        assert_eq!(said.matches(text).count(), 1, "{text}: {said}");
    }
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clear_reads_everything_anew_and_says_so_where_it_breaks_the_cache() {
    let harness = Harness::start(NESTED).await;
    let session = harness.client.new_session().await;
    read(&harness, &session, &["sub/a/x.txt"]).await;
    harness.fixture.write("CLAUDE.md", "ANOTHER ROOT\n");
    let turn = harness.client.turn(&session, "/clear").await;
    let layers: Vec<&Value> = turn.of_kind("context").iter().map(|update| &update["layer"]).collect();
    assert_eq!(layers, ["instructions", "clear"], "{}", turn.events());
    let turn = read(&harness, &session, &["sub/a/x.txt"]).await;
    assert_eq!(notices(&turn), Vec::<String>::new(), "what was read anew has not changed since");
    let last = harness.model.main_requests().pop().unwrap();
    assert!(context(&last).contains("ANOTHER ROOT"));
    assert_eq!(conversation(&last).matches("NESTED").count(), 1);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_file_is_sent_whole_with_a_notice_and_a_hint_what_to_move() {
    let line = "word ".repeat(19) + "end.\n";
    let harness = Harness::start("").await;
    harness.fixture.write("CLAUDE.md", &format!("# Short\n\nx\n\n# Deployment\n\n{}", line.repeat(420)));
    let session = harness.client.new_session().await;
    let turn = say(&harness, &session, "hello there").await;
    let notices = notices(&turn);
    let [notice] = notices.as_slice() else { panic!("{notices:?}") };
    assert!(notice.contains("more than 40000") && notice.contains("\"Deployment\""), "{notice}");
    assert_eq!(context(&harness.model.requests()[0]).matches(line.trim()).count(), 420);

    // At the limit there is nothing to say.
    harness.fixture.write("CLAUDE.md", &"x".repeat(40_000));
    let session = harness.client.new_session().await;
    let turn = say(&harness, &session, "hello again").await;
    assert_eq!(self::notices(&turn), Vec::<String>::new());
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hidden_characters_are_told_and_spelled_out() {
    let harness = Harness::start(
        "//- CLAUDE.md\nfirst\nUse tabs\u{200b}.\n@inc\u{6c}uded.md\n//- included.md\nright\u{202e}left\n\
         //- sub/CLAUDE.md\ntag\u{e0041}\u{e0042}\n//- sub/x.txt\nx\n",
    )
    .await;
    let session = harness.client.new_session().await;
    let turn = read(&harness, &session, &["sub/x.txt"]).await;
    let told = notices(&turn).join("\n");
    for words in [
        "CLAUDE.md:2 has a zero-width character",
        "included.md:1 has a character that turns the direction",
        "sub/CLAUDE.md:1 has an invisible tag character",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let said = conversation(&harness.model.main_requests()[1]);
    for shown in ["tabs[U+200B].", "right[U+202E]left", "tag[2 hidden characters]"] {
        assert!(said.contains(shown), "{shown}: {said}");
    }
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_on_disk_is_told_to_the_user_once_and_not_to_the_model() {
    let harness = Harness::start("//- CLAUDE.md\nOLD\n//- .claude/rules/a.md\nrule\n").await;
    let session = harness.client.new_session().await;
    say(&harness, &session, "hello there").await;
    harness.fixture.write("CLAUDE.md", "NEW TEXT\n");
    harness.fixture.write(".claude/rules/b.md", "another rule\n");
    let turn = say(&harness, &session, "and now").await;
    let told = notices(&turn).join("\n");
    assert!(told.contains("CLAUDE.md") && told.contains("changed on disk"), "{told}");
    assert!(told.contains(".claude/rules") && told.contains("/memory reload"), "{told}");
    let turn = say(&harness, &session, "and now again").await;
    assert_eq!(notices(&turn), Vec::<String>::new());
    assert_eq!(turn.count("context"), 0);
    assert_prefix_kept(&harness);
    assert!(!conversation(&harness.model.requests()[2]).contains("NEW TEXT"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_takes_the_new_text_and_announces_the_broken_cache() {
    let harness = Harness::start(
        "//- CLAUDE.md\nOLD @inc.md\n//- inc.md\nINC\n//- CLAUDE.local.md\nmine\n//- ~/.claude/CLAUDE.md\nme\n",
    )
    .await;
    let session = harness.client.new_session().await;
    say(&harness, &session, "hello there").await;
    harness.fixture.write("CLAUDE.md", "NEW @inc.md\n");
    let result = reload(&harness, &session).await;
    let file = |path: &str, kind: &str, reason: &str| json!({ "path": harness.text_path(path), "memoryType": kind, "loadReason": reason });
    let expected = [
        file("~/.claude/CLAUDE.md", "user", "session_start"),
        file("CLAUDE.md", "project", "session_start"),
        file("inc.md", "project", "include"),
        file("CLAUDE.local.md", "local", "session_start"),
    ];
    assert_eq!(result["files"], json!(expected));
    let is_break =
        |seen: &Notification| seen.kind() == "context" && seen.params["update"]["layer"] == "instructions";
    let announced = harness.client.wait_for("the broken cache", is_break).await;
    assert_eq!(announced.params["update"]["cache"], "broken", "{}", announced.params);
    let turn = say(&harness, &session, "and now").await;
    assert_eq!(notices(&turn), Vec::<String>::new());
    assert!(context(&harness.model.requests()[1]).contains("NEW"));
    let report =
        harness.client.request("reverie/context/report", json!({ "sessionId": session })).await.unwrap();
    let ledger = report["ledger"].as_array().unwrap();
    assert!(
        ledger.iter().any(|entry| entry["layer"] == "instructions" && entry["cache"] == "broken"),
        "{report}"
    );

    // Nothing has changed: nothing breaks, and nothing is announced.
    reload(&harness, &session).await;
    // The same by its other name; and it lasts.
    harness.fixture.write("CLAUDE.md", "NEWEST\n");
    let turn = harness.client.turn(&session, "/memory reload").await;
    assert_eq!(turn.count("context"), 1, "{}", turn.events());
    assert!(turn.text().contains("CLAUDE.local.md (local, session_start)"), "{}", turn.text());
    let harness = harness.restart(&session).await;
    say(&harness, &session, "and after the restart").await;
    let requests = harness.model.requests();
    assert!(context(&requests[2]).contains("NEWEST") && !context(&requests[2]).contains("INC"));
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worktree_inside_its_repository_has_its_own_files_and_not_both() {
    let harness = Harness::start("//- CLAUDE.md\nPROJECT\n//- sub/CLAUDE.md\nSUB\n//- sub/x.txt\nx\n").await;
    harness.fixture.git_init();
    harness.fixture.git(&["worktree", "add", "--quiet", "trees/feature"]);
    let folder = harness.text_path("trees/feature");
    let session = harness.client.new_session_with(json!({ "cwd": folder })).await;
    harness.fixture.write("CLAUDE.local.md", "MINE\n");
    read(&harness, &session, &["trees/feature/sub/x.txt"]).await;
    let requests = harness.model.main_requests();
    let expected = [
        "<workspace>/CLAUDE.local.md (local instructions)",
        "<workspace>/trees/feature/CLAUDE.md (project instructions)",
    ];
    assert_eq!(shown(&harness, &context(&requests[0])), expected);
    let joined = requests[1].last_message_text();
    assert_eq!(shown(&harness, &joined), ["<workspace>/trees/feature/sub/CLAUDE.md (project instructions)"]);
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_reached_through_a_link_has_the_same_rules() {
    let harness = Harness::start(NESTED).await;
    let link = harness.path("~/link");
    std::os::unix::fs::symlink(&harness.fixture.workspace, &link).unwrap();
    let Harness { client, model, fixture } = harness;
    client.shutdown().await;
    let environment = fixture.environment(&model.url());
    let options = ClientOptions::new(Path::new(&link));
    let harness = Harness::start_with(fixture, model, &environment, &options).await;
    let session = harness.client.new_session().await;
    for path in ["sub/a/x.txt", "sub/b/y.txt", "main.rs"] {
        harness.model.reply(Reply::tool("Read", json!({ "file_path": link.join(path) })));
        harness.model.reply(Reply::text("read"));
        harness.client.turn(&session, "read").await;
    }
    let said = conversation(&harness.model.main_requests().pop().unwrap());
    for text in ["ROOT", "NESTED", "RUST RULE"] {
        assert_eq!(said.matches(text).count(), 1, "{text}: {said}");
    }
    fs::remove_file(link).unwrap();
    harness.finish().await;
}
