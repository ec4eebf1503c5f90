//! What a background agent needs works all the same: looking around, and writing memories wherever they are kept.

use std::{fs, os::unix::fs::symlink};

use serde_json::json;
use testkit::{
    fixture::Fixture,
    model_server::{Gate, Reply},
};

use super::{
    model::Verdict,
    stage::{Setting, Stage},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_that_only_look_run_behind_walls_and_say_what_is_there() {
    let stage = Stage::new(Setting::default()).await;
    let memory = stage.memory();
    let topic = memory.join("new.md");
    stage.order("Write", json!({ "file_path": topic, "content": "Fridays only.\n" }), Verdict::Done);
    stage.extract().await;
    let commands = [
        ("ls src", "main.rs"),
        ("cat README.md | head -n 1", "foo"),
        ("grep -n error log.txt", "2:error one"),
        (&format!("cat {}", topic.display()), "Fridays only."),
        (&format!("grep -rl Fridays {}", memory.join("new.md").display()), "new.md"),
        (&format!("find {} -maxdepth 1 -name 'user.md'", memory.display()), "user.md"),
        ("cat big.txt", "some line"),
        ("cat no-such-file", "No such file"),
    ];
    for (command, _) in commands {
        stage.order("Bash", json!({ "command": command }), Verdict::Done);
    }
    stage.extract().await;
    let outcomes = stage.outcomes();
    for (outcome, (command, expected)) in outcomes.iter().skip(1).zip(commands) {
        assert!(outcome.text.contains(expected), "{command}: {}", outcome.text);
        assert!(outcome.text.chars().count() < 51_000, "{command}: {} bytes", outcome.text.len());
    }
    stage.assert_unharmed().await;
}

fn elsewhere(fixture: &Fixture) {
    let real = fixture.home.join("synced/memory");
    fs::create_dir_all(real.parent().unwrap()).unwrap();
    fs::rename(fixture.project_dir().join("memory"), &real).unwrap();
    symlink(&real, fixture.project_dir().join("memory")).unwrap();
}

/// A user may keep the folder elsewhere and put a link in its place: that is not a link out of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_folder_behind_a_link_is_read_and_written() {
    let stage = Stage::prepared(Setting::default(), elsewhere).await;
    let real = stage.path("~/synced/memory");
    let linked = stage.memory();
    stage.order("Write", json!({ "file_path": linked.join("one.md"), "content": "x" }), Verdict::Done);
    stage.order("Write", json!({ "file_path": real.join("two.md"), "content": "x" }), Verdict::Done);
    stage.order("Read", json!({ "file_path": linked.join("habits.md") }), Verdict::Done);
    stage.order("Read", json!({ "file_path": real.join("habits.md") }), Verdict::Done);
    let listed = json!({ "command": format!("ls {}", linked.join("topics").display()) });
    stage.order("Bash", listed, Verdict::Done);
    let gone = format!("rm {}", linked.join("topics/gone.md").display());
    stage.order("Bash", json!({ "command": gone }), Verdict::Done);
    stage.order(
        "Write",
        json!({ "file_path": linked.join("link_file.md"), "content": "x" }),
        Verdict::Denied,
    );
    stage.order("Write", json!({ "file_path": real.join("../x.md"), "content": "x" }), Verdict::Denied);
    stage.extract().await;
    for outcome in stage.outcomes() {
        let denied = outcome.call.verdict == Verdict::Denied;
        assert_eq!(outcome.is_error, denied, "{}: {}", outcome.call.case, outcome.text);
    }
    assert!(real.join("one.md").is_file() && real.join("two.md").is_file());
    assert!(!real.join("topics/gone.md").exists());
    assert!(!real.parent().unwrap().join("x.md").exists());
    stage.leave().await;
}

/// Between what was judged and what is written, somebody puts links in the way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_is_swapped_in_while_a_dream_runs_leads_nowhere() {
    let stage = Stage::new(Setting::default()).await;
    let (memory, outside) = (stage.memory(), stage.outside());
    fs::remove_file(memory.join("topics/proc")).unwrap();
    fs::remove_file(memory.join("topics/up")).unwrap();
    let gate = Gate::closed();
    let write = |path: &str| ("Write", json!({ "file_path": memory.join(path), "content": "swapped\n" }));
    stage
        .model
        .reply_to("dream", Reply::tools([write("deep/secret.md"), write("fresh.md"), write("fine.md")]));
    stage.model.reply_to("dream", Reply::text("Tidied up.").behind(&gate));
    stage.begin_dream().await;
    gate.reached().await;
    symlink(&outside, memory.join("deep")).unwrap();
    symlink(outside.join("made.md"), memory.join("fresh.md")).unwrap();
    gate.open();
    stage.job_ends().await;
    assert_eq!(fs::read_to_string(outside.join("secret.md")).unwrap(), "old");
    assert!(!outside.join("made.md").exists());
    assert!(memory.join("fresh.md").is_symlink() && memory.join("deep").is_symlink());
    assert!(fs::read_to_string(memory.join("fine.md")).unwrap().contains("swapped"));
    stage.leave().await;
}

/// The user is at it, by whatever name the editor and the model know the file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_with_unsaved_changes_is_left_to_the_user() {
    let stage = Stage::prepared(Setting::default(), elsewhere).await;
    let (linked, real) = (stage.memory(), stage.path("~/synced/memory"));
    stage.client.open(&real.join("user.md"));
    stage.client.edit(&real.join("user.md"), 0, 3, "mine");
    let line = format!("rm {}", linked.join("user.md").display());
    stage.order("Bash", json!({ "command": line }), Verdict::Denied);
    for folder in [&linked, &real] {
        let path = folder.join("user.md");
        stage.order("Read", json!({ "file_path": path }), Verdict::Done);
        stage.order("Write", json!({ "file_path": path, "content": "x" }), Verdict::Denied);
    }
    stage.extract().await;
    for outcome in stage.outcomes() {
        let denied = outcome.call.verdict == Verdict::Denied;
        assert_eq!(outcome.is_error, denied, "{}: {}", outcome.call.case, outcome.text);
    }
    assert_eq!(fs::read_to_string(real.join("user.md")).unwrap(), "old");
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn much_of_it_is_too_much_and_many_are_no_reason_to_wait() {
    let many = |fixture: &Fixture| {
        let memory = fixture.project_dir().join("memory");
        for number in 0..10_000 {
            fs::write(memory.join(format!("topics/note-{number}.md")), "a note\n").unwrap();
        }
    };
    let stage = Stage::prepared(Setting::default(), many).await;
    let topics = stage.memory().join("topics");
    let large = "a line of a book\n".repeat(4_000);
    stage.order("Write", json!({ "file_path": topics.join("book.md"), "content": large }), Verdict::Denied);
    for number in 0..5 {
        let path = topics.join(format!("new-{number}.md"));
        stage.order("Write", json!({ "file_path": path, "content": "x" }), Verdict::Done);
    }
    for name in ["NEW-1.md", "new-1.MD"] {
        stage.order("Write", json!({ "file_path": topics.join(name), "content": "x" }), Verdict::Either);
    }
    stage.extract().await;
    let made = |name: &str| fs::read_to_string(topics.join(name)).is_ok_and(|text| text.contains("payload"));
    assert!((0..5).all(|number| made(&format!("new-{number}.md")) || number == 1));
    let twins = ["new-1.md", "NEW-1.md", "new-1.MD"].iter().filter(|name| made(name)).count();
    assert_eq!(twins, 1, "on other systems they are one file");
    stage.assert_unharmed().await;
}
