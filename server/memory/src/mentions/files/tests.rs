use std::fs;

use tempfile::TempDir;

use super::*;

fn workspace(paths: &str) -> (TempDir, Files) {
    let root = tempfile::tempdir().unwrap();
    for path in paths.split_whitespace() {
        add(&root, path);
    }
    let files = Files::new(vec![root.path().to_owned()]);
    (root, files)
}

fn add(root: &TempDir, path: &str) {
    fs::create_dir_all(root.path().join(path).parent().unwrap()).unwrap();
    fs::write(root.path().join(path), "").unwrap();
}

fn remove(root: &TempDir, path: &str) {
    fs::remove_file(root.path().join(path)).unwrap();
}

#[test]
fn a_file_that_moved_is_found_by_its_name_if_only_one_has_it() {
    let (root, files) = workspace("src/deep/auth.rs a/twice.rs b/twice.rs");
    assert_eq!(files.only_one_named("auth.rs").as_deref(), Some("src/deep/auth.rs"));
    assert_eq!(files.only_one_named("twice.rs"), None);
    assert_eq!(files.find("deep/auth.rs"), Some(root.path().join("src/deep/auth.rs")));
    fs::remove_file(root.path().join("src/deep/auth.rs")).unwrap();
    assert!(files.is_gone("deep/auth.rs", Place::Code), "what has gone is not listed for ever");
}

#[test]
fn a_file_that_was_renamed_is_followed_as_often_as_it_was() {
    let (root, files) = workspace("lib/session.rs");
    for (old, new) in [
        ("src/auth.rs", "src/login.rs"),
        ("src/login.rs", "src/session.rs"),
        ("src", "lib"),
        ("round", "about"),
        ("about", "round"),
    ] {
        files.rename(&root.path().join(old), &root.path().join(new));
    }
    for path in ["src/auth.rs", "src/login.rs", "src/session.rs"] {
        assert_eq!(files.renamed(path).as_deref(), Some("lib/session.rs"), "{path}");
    }
    assert_eq!(files.renamed("src/other.rs"), None, "it is not there");
    assert_eq!(files.renamed("round/a.rs"), None);
    assert_eq!(files.renamed("srcs/auth.rs"), None);
}

#[test]
fn what_was_at_a_root_is_gone_though_others_end_so_and_what_was_elsewhere_may_be_anywhere() {
    let (root, files) = workspace("src/main.rs a/src/main.rs b/deep/x.rs");
    assert_eq!(files.find("src/main.rs"), Some(root.path().join("src/main.rs")));
    assert!(files.find("deep/x.rs").is_some());
    remove(&root, "src/main.rs");
    assert!(files.is_gone("src/main.rs", Place::Code));
    assert_eq!(files.find("src/main.rs"), None, "the other was never meant");
    fs::rename(root.path().join("b"), root.path().join("c")).unwrap();
    files.list_again();
    assert!(!files.is_gone("deep/x.rs", Place::Code));
    add(&root, "src/main.rs");
    assert!(!files.is_gone("src/main.rs", Place::Code));
    // Whoever begins now does not know which one it was.
    remove(&root, "src/main.rs");
    assert!(!Files::new(vec![root.path().to_owned()]).is_gone("src/main.rs", Place::Code));
}

#[test]
fn what_may_be_no_file_of_the_workspace_is_not_gone() {
    let (_root, files) = workspace("src/utils/date.ts src/main.rs docs/guide.md");
    for path in [
        "stdio.h",
        "discord.js",
        "src/utils/date",
        "docs/a/b",
        "target/release/x",
        "web/dist/index.html",
        "node_modules/x/y.js",
        "build/out.js",
    ] {
        assert!(!files.is_gone(path, Place::Code), "{path}");
    }
    for path in ["src/gone.rs", "src/utils/gone", "never/was/gone.yaml"] {
        assert!(files.is_gone(path, Place::Code), "{path}");
    }
    assert!(files.is_gone("gone.md", Place::Link));
}

#[test]
fn a_bare_name_is_gone_when_it_has_led_somewhere() {
    let (root, files) = workspace("src/auth.rs");
    assert!(files.find("auth.rs").is_some());
    remove(&root, "src/auth.rs");
    assert!(files.is_gone("auth.rs", Place::Code));
}

#[test]
fn a_file_that_came_after_the_list_is_found_when_it_is_named() {
    let (root, files) = workspace("src/main.rs");
    assert!(files.is_gone("deep/old.rs", Place::Code));
    add(&root, "src/deep/new.rs");
    // A list is not made twice at once.
    let began = Instant::now();
    while files.is_gone("deep/new.rs", Place::Code) {
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn the_list_is_right_about_what_came_back_and_wrong_about_what_came_or_went() {
    let (root, files) = workspace("src/a.rs src/b.rs");
    let as_listed = |path: &str| files.is_as_listed(&root.path().join(path));
    assert!(as_listed("src/new.rs"), "there is no list yet");
    files.find("nowhere.rs");
    add(&root, "src/new.rs");
    add(&root, "src/a.rs");
    remove(&root, "src/b.rs");
    assert_eq!(["src/a.rs", "src/b.rs", "src/new.rs", "target/x"].map(as_listed), [true, false, false, true]);
    files.list_again();
    assert_eq!(["src/a.rs", "src/b.rs", "src/new.rs"].map(as_listed), [true, true, true]);
}
