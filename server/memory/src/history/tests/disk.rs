//! What others do to the directory, and what a crash leaves of the history.

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn what_happens_while_nobody_looks_is_noticed() {
    let fixture =
        Fixture::watched(&[("a.md", "a"), ("sub/b.md", "b"), ("same.md", "same"), ("notes.txt", "x")]);
    fixture.put("a.md", Some("A"));
    fixture.put("sub/b.md", None);
    fixture.put("deep/er/c.MD", Some("c"));
    fixture.put(".git/x.md", Some("x"));
    fixture.put("notes.txt", Some("y"));
    symlink("/etc/passwd", fixture.dir().join("link.md")).unwrap();
    let seen = fixture.history.observe().unwrap();
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|change| change.group.as_ref() == Some(&seen[0].id)));
    fixture.check_changes(expect![[r#"
        sub/b.md: "b" -> nothing by user, changed on disk
        deep/er/c.MD: nothing -> "c" by user, changed on disk
        a.md: "a" -> "A" by user, changed on disk
    "#]]);
    assert_eq!(fixture.history.observe().unwrap(), []);
}

#[test]
fn a_change_of_the_same_length_and_time_is_noticed() {
    let fixture = Fixture::watched(&[("a.md", "one")]);
    let file = fixture.dir().join("a.md");
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, "two").unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    assert_eq!(fixture.history.observe().unwrap().len(), 1);
}

#[test]
fn what_has_become_unreadable_or_huge_is_not_gone() {
    let fixture = Fixture::watched(&[("a.md", "a"), ("sub/b.md", "b")]);
    fs::File::options().write(true).open(fixture.dir().join("a.md")).unwrap().set_len(1 << 30).unwrap();
    fs::set_permissions(fixture.dir().join("sub"), fs::Permissions::from_mode(0o000)).unwrap();
    let readable_anyway = fs::read_dir(fixture.dir().join("sub")).is_ok();
    assert_eq!(fixture.history.observe().unwrap(), []);
    fs::set_permissions(fixture.dir().join("sub"), fs::Permissions::from_mode(0o700)).unwrap();
    fixture.put("a.md", Some("b"));
    assert_eq!(fixture.history.observe().unwrap().len(), 1, "root reads everything: {readable_anyway}");
}

#[test]
fn everything_kept_is_for_its_owner_only_and_no_memory() {
    let fixture = Fixture::watched(&[("a.md", "a")]);
    fixture.write("a.md", Some("b"), &model("t"));
    let mut folders = vec![fixture.dir().join(FOLDER)];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files += 1;
                assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
                assert_ne!(path.extension(), Some("md".as_ref()));
            }
        }
    }
    assert_eq!(files, 5, "log, lock, known and two contents");
}

fn history_file(fixture: &Fixture, name: &str) -> PathBuf {
    fixture.dir().join(FOLDER).join(name)
}

#[test]
fn a_log_torn_at_any_byte_is_read_and_goes_on() {
    let fixture = Fixture::watched(&[]);
    for text in ["1", "2", "3"] {
        fixture.write("a.md", Some(text), &model("t"));
    }
    let log = history_file(&fixture, "changes.jsonl");
    let whole = fs::read(&log).unwrap();
    let ends: Vec<usize> = (1..=whole.len()).filter(|end| whole[end - 1] == b'\n').collect();
    for len in (0..=whole.len()).step_by(7).chain([whole.len()]) {
        fs::write(&log, &whole[..len]).unwrap();
        let expected = ends.iter().filter(|end| **end <= len).count();
        assert_eq!(fixture.history.changes(None, 10).unwrap().len(), expected, "cut at {len}");
    }
    // Cut in the third line: it is lost, and what it would have told is seen on disk.
    fs::write(&log, &whole[..whole.len() - 5]).unwrap();
    fixture.history.observe().unwrap();
    fixture.check_changes(expect![[r#"
        a.md: "2" -> "3" by user, changed on disk
        a.md: "1" -> "2" by model, asked to
        a.md: nothing -> "1" by model, asked to
    "#]]);
}

#[test]
fn a_crash_between_the_log_and_what_is_known_repeats_nothing() {
    let fixture = Fixture::watched(&[("gone.md", "x")]);
    fixture.write("a.md", Some("1"), &model("t"));
    let known = history_file(&fixture, "known.json");
    let old = fs::read(&known).unwrap();
    fixture.write("a.md", Some("2"), &model("t"));
    fixture.write("gone.md", None, &model("t"));
    fixture.write("new.md", Some("n"), &model("t"));
    fs::write(&known, old).unwrap();
    assert_eq!(fixture.history.observe().unwrap(), []);
    fixture.undo(&Target::Group("t".to_owned()));
    assert_eq!(fixture.tree(), [("gone.md".to_owned(), "x".to_owned())]);
}

#[test]
fn lines_that_are_no_changes_hide_nothing() {
    let fixture = Fixture::watched(&[]);
    fixture.write("a.md", Some("1"), &model("t"));
    let log = history_file(&fixture, "changes.jsonl");
    let own = fs::read_to_string(&log).unwrap();
    let escape = own.replace("a.md", "../../outside.md").replace("\"id\":\"0", "\"id\":\"1");
    let zeros = "\0".repeat(4096);
    fs::write(&log, format!("{{}}\n{zeros}\n[1]\nnot json\n{escape}{own}{zeros}")).unwrap();
    fixture.write("a.md", Some("2"), &model("t"));
    fixture.check_changes(expect![[r#"
        a.md: "1" -> "2" by model, asked to
        a.md: nothing -> "1" by model, asked to
    "#]]);
    let folder = Beneath::open(fixture.dir()).unwrap().private(FOLDER).unwrap().unwrap();
    assert_eq!(log::read(&folder).unwrap().skipped, 5);
}

#[test]
fn whatever_is_missing_the_history_goes_on() {
    for broken in ["known.json", "changes.jsonl", "contents", "lock"] {
        for replace in [false, true] {
            let fixture = Fixture::watched(&[("other.md", "other")]);
            fixture.write("a.md", Some("1"), &model("t"));
            let path = history_file(&fixture, broken);
            if path.is_dir() {
                fs::remove_dir_all(&path).unwrap();
            } else if replace {
                fs::write(&path, "{\"files\": [").unwrap();
            } else {
                fs::remove_file(&path).unwrap();
            }
            assert_eq!(fixture.history.observe().unwrap(), [], "{broken}");
            let change = fixture.write("a.md", Some("2"), &model("t"));
            assert_eq!(fixture.undo(&Target::Change(change.id)).paths, ["a.md"], "{broken}");
            assert_eq!(fixture.text("a.md").unwrap(), "1");
        }
    }
}

#[test]
fn a_damaged_content_is_said_to_be_and_not_put_back() {
    let fixture = Fixture::watched(&[("a.md", "one")]);
    let change = fixture.write("a.md", Some("two"), &model("t"));
    let name = change.before.unwrap().to_string();
    let file = history_file(&fixture, "contents").join(&name[..2]).join(&name[2..]);
    let mut bytes = fs::read(&file).unwrap();
    bytes[4] ^= 0xff;
    fs::write(&file, bytes).unwrap();
    expect!["the change of a.md cannot be shown: the copy of its content is damaged\n"]
        .assert_eq(&fixture.history.diff(&change));
    let undone = fixture.undo(&Target::Change(change.id.clone()));
    expect![[r#"[("a.md", "cannot be put back: the copy of its content is damaged")]"#]]
        .assert_eq(&format!("{:?}", undone.conflicts));
    fs::remove_file(&file).unwrap();
    let undone = fixture.undo(&Target::Change(change.id));
    expect![[r#"[("a.md", "cannot be put back: its content is no longer kept")]"#]]
        .assert_eq(&format!("{:?}", undone.conflicts));
    assert_eq!(fixture.text("a.md").unwrap(), "two");
}

#[test]
fn two_histories_of_one_directory_lose_nothing() {
    const EACH: usize = 40;
    let fixture = Fixture::watched(&[]);
    let dir = fixture.dir();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            scope.spawn(move || {
                let history = History::open(dir).unwrap();
                let path = format!("{writer}.md");
                let mut before: Option<String> = None;
                for number in 0..EACH {
                    let after = format!("{writer} {number}");
                    fs::write(dir.join(&path), &after).unwrap();
                    let old = before.as_ref().map(String::as_bytes);
                    history.record(&path, old, Some(after.as_bytes()), &model("t")).unwrap();
                    before = Some(after);
                }
            });
        }
        scope.spawn(move || {
            let history = History::open(dir).unwrap();
            for _ in 0..EACH {
                history.observe().unwrap();
                assert!(history.changes(None, usize::MAX).is_ok());
            }
        });
    });
    let changes = fixture.history.changes(None, usize::MAX).unwrap();
    for writer in 0..4 {
        let path = format!("{writer}.md");
        let own: Vec<&Change> = changes.iter().rev().filter(|change| change.path == path).collect();
        let by_model = own.iter().filter(|change| change.by == By::Model).count();
        assert_eq!(by_model, EACH, "{path}");
        assert!(own.windows(2).all(|pair| pair[0].after == pair[1].before), "{path}: {own:#?}");
        let last = own.last().unwrap().after.unwrap();
        assert_eq!(last, ContentId::of(format!("{writer} {}", EACH - 1).as_bytes()));
    }
    let mut ids: Vec<&str> = changes.iter().map(|change| change.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), changes.len());
}
