use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use expect_test::expect;
use permissions::{Decision, Mode, Policy, decide};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use super::*;
use crate::{
    edit::Edit,
    read::Read,
    testing::{Bench, Saves},
};

#[tokio::test]
async fn a_new_file_is_created_with_its_folders() {
    let bench = Bench::new();
    bench.run(&Write, json!({"file_path": "a/b/c.txt", "content": "one\ntwo\n"})).await.check(expect![[r#"
        Created a/b/c.txt with 2 lines.
        === shown as a diff of c.txt
        --- a/b/c.txt
        +++ a/b/c.txt
        @@ -0,0 +1,2 @@
        +one
        +two
    "#]]);
    assert_eq!(bench.on_disk("a/b/c.txt"), "one\ntwo\n");
}

#[tokio::test]
async fn an_existing_file_must_have_been_read_as_it_is() {
    let bench = Bench::new().with_file("a.txt", "one\ntwo\nthree\n");
    let input = json!({"file_path": "a.txt", "content": "one\n2\nthree\n"});
    bench
        .run(&Write, input.clone())
        .await
        .check(expect!["FAILED: a.txt has not been read yet; read it before changing it"]);
    bench.run(&Read, json!({"file_path": "a.txt"})).await;
    bench.put("a.txt", "one\ntwo\nthree!\n");
    bench
        .run(&Write, input.clone())
        .await
        .check(expect!["FAILED: a.txt has been modified since it was read; read it again"]);
    assert_eq!(bench.on_disk("a.txt"), "one\ntwo\nthree!\n");
    bench.run(&Read, json!({"file_path": "a.txt"})).await;
    bench.run(&Write, input).await.check(expect![[r#"
        Wrote a.txt: 2 lines added, 2 removed.
        === shown as a diff of a.txt
        --- a.txt
        +++ a.txt
        @@ -1,3 +1,3 @@
         one
        -two
        -three!
        +2
        +three
    "#]]);
    assert_eq!(bench.on_disk("a.txt"), "one\n2\nthree\n");
}

#[tokio::test]
async fn only_a_file_that_was_read_whole_is_replaced() {
    let bench =
        Bench::new().with_file("long.txt", "x\n".repeat(2_500)).with_file("wide.txt", "x".repeat(9_000));
    let replaced = json!({"file_path": "long.txt", "content": "short\n"});
    bench.run(&Read, json!({"file_path": "long.txt"})).await;
    bench.run(&Write, replaced.clone()).await.check(expect![
        "FAILED: long.txt cannot be replaced: only lines 1 to 2000 of it were read; read the rest or use Edit"
    ]);
    bench.run(&Read, json!({"file_path": "long.txt", "offset": 2_400})).await;
    bench.run(&Write, replaced.clone()).await.check(expect!["FAILED: long.txt cannot be replaced: only lines 2400 to 2500 of it were read; read the rest or use Edit"]);
    assert_eq!(bench.on_disk("long.txt").len(), 5_000);

    let edit =
        json!({"file_path": "long.txt", "old_string": "x\nx\n", "new_string": "y\n", "replace_all": true});
    assert!(!bench.run(&Edit, edit).await.failed());
    assert!(bench.run(&Write, replaced.clone()).await.failed());
    bench.run(&Read, json!({"file_path": "long.txt"})).await;
    assert!(!bench.run(&Write, replaced).await.failed());
    assert_eq!(bench.on_disk("long.txt"), "short\n");

    bench.run(&Read, json!({"file_path": "wide.txt"})).await;
    let replaced = json!({"file_path": "wide.txt", "content": ""});
    bench.run(&Write, replaced).await.check(expect![
        "FAILED: wide.txt has lines too long to be shown whole, so not all of it was read; use Edit"
    ]);
}

#[tokio::test]
async fn a_long_file_can_be_read_in_pieces_and_then_replaced() {
    let bench = Bench::new().with_file("long.txt", "x\n".repeat(2_500));
    bench.run(&Read, json!({"file_path": "long.txt", "offset": 2_001})).await;
    bench.run(&Read, json!({"file_path": "long.txt"})).await;
    assert!(!bench.run(&Write, json!({"file_path": "long.txt", "content": "short\n"})).await.failed());
}

#[tokio::test]
async fn what_was_written_needs_no_reading() {
    let bench = Bench::new();
    bench.run(&Write, json!({"file_path": "a.txt", "content": "one\n"})).await;
    let again = bench.run(&Write, json!({"file_path": "a.txt", "content": "two\n"})).await;
    assert!(!again.failed());
    bench
        .run(&Write, json!({"file_path": "a.txt", "content": "two\n"}))
        .await
        .check(expect!["a.txt already holds exactly this; nothing was written"]);
    assert_eq!(bench.on_disk("a.txt"), "two\n");
}

#[tokio::test]
async fn an_open_file_is_changed_in_the_editor() {
    let bench = Bench::new().with_file("a.txt", "one\n");
    bench.open("a.txt", "one\n", Saves::Yes);
    bench.run(&Read, json!({"file_path": "a.txt"})).await;
    bench.run(&Write, json!({"file_path": "a.txt", "content": "two\n"})).await.check(expect![[r#"
        Wrote a.txt: 1 line added, 1 removed.
        === shown as a diff of a.txt
        --- a.txt
        +++ a.txt
        @@ -1 +1 @@
        -one
        +two
    "#]]);
    assert_eq!(bench.context.workspace.document_text(&bench.path("a.txt")).unwrap(), "two\n");
    assert_eq!(bench.on_disk("a.txt"), "two\n");
}

#[tokio::test]
async fn a_file_with_unsaved_changes_stays_unsaved_and_the_model_is_told() {
    let bench = Bench::new().with_file("a.txt", "one\n");
    bench.open("a.txt", "one and a half\n", Saves::No);
    bench.run(&Read, json!({"file_path": "a.txt"})).await;
    bench.run(&Write, json!({"file_path": "a.txt", "content": "two\n"})).await.check(expect![[r#"
        Wrote a.txt: 1 line added, 1 removed. The change is in the editor and not saved to disk yet.
        === shown as a diff of a.txt
        --- a.txt
        +++ a.txt
        @@ -1 +1 @@
        -one and a half
        +two
    "#]]);
    assert_eq!(bench.context.workspace.document_text(&bench.path("a.txt")).unwrap(), "two\n");
    assert_eq!(bench.on_disk("a.txt"), "one\n");
}

#[tokio::test]
async fn a_cancelled_write_changes_nothing() {
    let bench = Bench::new();
    bench.context.cancel.cancel();
    bench
        .run(&Write, json!({"file_path": "a.txt", "content": "one\n"}))
        .await
        .check(expect!["FAILED: cancelled; a.txt was not changed"]);
    assert!(!bench.path("a.txt").exists());
}

#[tokio::test]
async fn folders_and_wrong_inputs_are_refused() {
    let bench = Bench::new().with_file("src/a.txt", "one\n");
    bench
        .run(&Write, json!({"file_path": "src", "content": ""}))
        .await
        .check(expect!["FAILED: src is a folder; list it with Glob (path: src, pattern: *)"]);
    bench
        .run(&Write, json!({"file_path": "src/a.txt/b", "content": ""}))
        .await
        .check(expect!["FAILED: src/a.txt/b cannot be read: a part of the path is a file, not a directory"]);
    bench.run(&Write, json!({"file_path": "a", "content": {"key": 1}})).await.check(expect![
        "FAILED: the input of Write is not valid: content must be a string, but is an object"
    ]);
}

#[test]
fn the_preview_is_the_diff() {
    let bench = Bench::new().with_file("a.txt", "one\ntwo\n");
    let preview = bench.preview(&Write, &json!({"file_path": "a.txt", "content": "one\n2\n"}));
    expect![[r#"
        Some(
            Diff(
                "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
            ),
        )
    "#]]
    .assert_debug_eq(&preview);
    let preview = bench.preview(&Write, &json!({"file_path": "b.txt", "content": "new\n"}));
    expect![[r#"
        Some(
            Diff(
                "--- b.txt\n+++ b.txt\n@@ -0,0 +1 @@\n+new\n",
            ),
        )
    "#]]
    .assert_debug_eq(&preview);
    assert_eq!(bench.preview(&Write, &json!({"file_path": 1})), None);
}

#[tokio::test]
async fn a_link_that_was_there_when_it_was_judged_is_written_through() {
    let bench = Bench::new().with_file("real/a.txt", "one\n");
    symlink("real", bench.path("folder")).unwrap();
    symlink("real/a.txt", bench.path("file")).unwrap();
    for (link, target, text) in [
        ("folder/a.txt", "real/a.txt", "two\n"),
        ("file", "real/a.txt", "three\n"),
        ("folder/new/b.txt", "real/new/b.txt", "four\n"),
    ] {
        bench.run(&Read, json!({"file_path": link})).await;
        assert!(!bench.run(&Write, json!({"file_path": link, "content": text})).await.failed(), "{link}");
        assert_eq!(bench.on_disk(target), text);
    }
    assert!(bench.path("folder").is_symlink() && bench.path("file").is_symlink());
    symlink("nowhere", bench.path("dangling")).unwrap();
    bench
        .run(&Write, json!({"file_path": "dangling", "content": ""}))
        .await
        .check(expect!["FAILED: dangling was not changed: a link in its path leads nowhere"]);
}

#[tokio::test]
async fn a_link_that_appears_after_the_decision_is_refused() {
    let bench = Bench::new().with_file("folder/a.txt", "one\n").with_file("other/a.txt", "one\n");
    bench.run(&Read, json!({"file_path": "folder/a.txt"})).await;
    let names = ["folder/a.txt", "folder/new/b.txt", "c.txt"];
    let calls = names.map(|name| {
        let input = json!({"file_path": name, "content": "two\n"});
        (bench.access(&Write, &input).unwrap(), input)
    });
    fs::rename(bench.path("folder"), bench.path("away")).unwrap();
    symlink("other", bench.path("folder")).unwrap();
    symlink("other/c.txt", bench.path("c.txt")).unwrap();
    let mut words = String::new();
    for (access, input) in calls {
        words += &format!("{}\n", bench.run_judged(&Write, input, &access).await.words());
    }
    expect![[r#"
        FAILED: folder/a.txt was not changed: a folder in its path is a symbolic link that was not there when the write was allowed
        FAILED: folder/new/b.txt was not changed: a folder in its path is a symbolic link that was not there when the write was allowed
        FAILED: c.txt was not changed: this is a symbolic link, not a regular file; it is not read
    "#]].assert_eq(&words);
    assert_eq!(bench.on_disk("other/a.txt"), "one\n");
    assert_eq!(fs::read_dir(bench.path("other")).unwrap().count(), 1);
}

/// Judged and written as in a session that accepts edits, while a folder is swapped for links that lead out of the
/// workspace and into `.git`, as fast as it goes.
#[test]
fn nothing_is_written_but_what_was_judged() {
    let seconds = std::env::var("REVERIE_RACE_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let bench = Bench::new();
    let outside = tempfile::tempdir().unwrap();
    let [folder, git, link_out, link_to_git] =
        ["folder", ".git", "link out", "link to git"].map(|name| bench.path(name));
    fs::create_dir(&folder).unwrap();
    fs::create_dir(&git).unwrap();
    symlink(outside.path(), &link_out).unwrap();
    symlink(&git, &link_to_git).unwrap();
    let swap = |link: &Path| renameat_with(CWD, &folder, CWD, link, RenameFlags::EXCHANGE).unwrap();
    let policy =
        Policy { mode: Mode::AcceptEdits, roots: vec![bench.context.cwd.clone()], ..Policy::default() };
    let over = AtomicBool::new(false);
    let (mut written, mut refused, mut asked, mut swaps) = (0_u64, 0_u64, 0_u64, 0_u64);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for link in [&link_out, &link_to_git] {
                    swap(link);
                    swap(link);
                    swaps += 2;
                }
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let end = Instant::now() + Duration::from_secs(seconds);
        for number in 0_u64.. {
            if Instant::now() >= end {
                break;
            }
            let input = json!({"file_path": format!("folder/{number}/a.txt"), "content": "ours"});
            let access = bench.access(&Write, &input).unwrap();
            match decide("Write", &access, &policy) {
                Decision::Allow { .. } => match runtime.block_on(bench.run_judged(&Write, input, &access)) {
                    outcome if outcome.failed() => refused += 1,
                    _ => written += 1,
                },
                Decision::Ask { .. } | Decision::Deny { .. } => asked += 1,
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    let figures = format!("{written} written, {refused} refused, {asked} asked about, {swaps} swaps");
    let escaped = [outside.path(), &git].map(|folder| fs::read_dir(folder).unwrap().count());
    assert_eq!(escaped, [0, 0], "{figures}");
    assert!(written > 0 && refused > 0 && asked > 0 && swaps > 0, "{figures}");
    eprintln!("{figures} in {seconds} s");
}
