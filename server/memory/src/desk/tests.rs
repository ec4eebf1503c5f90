//! What a commit leaves, also where it does not come to its end.

use std::{collections::HashSet, fs};

use super::*;
use crate::history::{By, Target};

fn author(_: &str) -> Author {
    Author { group: Some("d1".to_owned()), ..Author::new(By::Dream, "merged") }
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        fs::write(folder.path().join(path), text).unwrap();
    }
    folder
}

fn read(folder: &tempfile::TempDir, path: &str) -> Option<String> {
    fs::read_to_string(folder.path().join(path)).ok()
}

#[test]
fn nothing_is_on_disk_before_the_commit_and_all_of_it_can_be_undone() {
    let folder = folder(&[("a.md", "a"), ("b.md", "b"), ("MEMORY.md", "- [A](a.md) — a\n")]);
    let mut desk = Desk::open(folder.path()).unwrap();
    desk.put("a.md", Some(b"a and b".to_vec())).unwrap();
    desk.put("b.md", None).unwrap();
    desk.put("sub/c.md", Some(b"c".to_vec())).unwrap();
    assert_eq!((read(&folder, "a.md"), read(&folder, "b.md")), (Some("a".into()), Some("b".into())));
    assert_eq!(desk.current("a.md").unwrap(), Some(b"a and b".to_vec()));
    assert_eq!(desk.current("b.md").unwrap(), None);

    let committed = desk.commit(author, || false, || Ok(()));
    assert!(committed.error.is_none() && committed.kept.is_empty());
    assert_eq!((read(&folder, "a.md"), read(&folder, "b.md")), (Some("a and b".into()), None));
    assert_eq!(read(&folder, "sub/c.md"), Some("c".into()));
    assert_eq!(desk.drafts().count(), 0);

    let history = History::open(folder.path()).unwrap();
    history.undo(&Target::Group("d1".to_owned()), &Author::new(By::User, "back"), &HashSet::new()).unwrap();
    assert_eq!((read(&folder, "a.md"), read(&folder, "b.md")), (Some("a".into()), Some("b".into())));
    assert_eq!(read(&folder, "sub/c.md"), None);
}

#[test]
fn what_others_changed_meanwhile_stays_and_both_indexes_count() {
    let folder = folder(&[("a.md", "a"), ("b.md", "b"), ("MEMORY.md", "- [A](a.md) — a\n- [B](b.md) — b\n")]);
    let mut desk = Desk::open(folder.path()).unwrap();
    desk.put("a.md", Some(b"ours".to_vec())).unwrap();
    desk.put("b.md", None).unwrap();
    desk.put("MEMORY.md", Some(b"# Mine\n- [A](a.md) \xe2\x80\x94 better\n".to_vec())).unwrap();
    fs::write(folder.path().join("a.md"), "theirs").unwrap();
    fs::write(folder.path().join("MEMORY.md"), "- [A](a.md) — a\n- [B](b.md) — b\n- [C](c.md) — c\n")
        .unwrap();
    let committed = desk.commit(author, || false, || Ok(()));
    assert_eq!(committed.kept.len(), 1);
    assert_eq!(read(&folder, "a.md").unwrap(), "theirs");
    assert_eq!(read(&folder, "b.md"), None);
    assert_eq!(read(&folder, "MEMORY.md").unwrap(), "# Mine\n- [A](a.md) — better\n- [C](c.md) — c\n");
}

#[test]
fn whoever_may_no_longer_write_writes_nothing_more() {
    let folder = folder(&[]);
    let mut desk = Desk::open(folder.path()).unwrap();
    for name in ["a.md", "b.md", "c.md"] {
        desk.put(name, Some(b"x".to_vec())).unwrap();
    }
    let left = std::cell::Cell::new(1);
    let committed = desk.commit(
        author,
        || false,
        || match left.replace(left.get() - 1) {
            ..=0 => Err(io::Error::other("lost")),
            _ => Ok(()),
        },
    );
    assert_eq!((committed.changes.len(), committed.left), (1, vec!["a.md".to_owned()]));
    assert!(committed.error.is_some());
    assert_eq!((read(&folder, "a.md").is_some(), read(&folder, "b.md").is_some()), (true, false));
}

#[test]
fn what_cannot_all_be_written_is_put_back() {
    let files = [("a.md", "a"), ("b.md", "b"), ("MEMORY.md", "- [A](a.md) — a\n- [B](b.md) — b\n")];
    let names = ["a.md", "b.md", "c.md", "MEMORY.md"];
    // From the first change to the last, the history takes no more at each of them.
    for last in 0..4 {
        let folder = folder(&files);
        let mut desk = Desk::open(folder.path()).unwrap();
        desk.put("a.md", Some(b"a and b".to_vec())).unwrap();
        desk.put("c.md", Some(b"c".to_vec())).unwrap();
        desk.put("MEMORY.md", Some("- [A](a.md) — both\n".into())).unwrap();
        desk.put("b.md", None).unwrap();
        let made = std::cell::Cell::new(0);
        let committed = desk.commit(
            author,
            || false,
            || {
                if made.replace(made.get() + 1) == last {
                    let history = folder.path().join(".history");
                    if history.exists() {
                        fs::remove_dir_all(&history)?;
                    }
                    fs::write(history, "not a folder")?;
                }
                Ok(())
            },
        );
        assert!(committed.error.is_some() && committed.left.is_empty(), "{last}: {committed:?}");
        let found = names.map(|name| read(&folder, name));
        let before = names
            .map(|name| files.iter().find(|(file, _)| *file == name).map(|(_, text)| (*text).to_owned()));
        assert_eq!(found, before, "{last}");
    }
}

#[test]
fn what_somebody_made_of_a_change_is_not_put_back() {
    let folder = folder(&[("a.md", "a")]);
    let mut desk = Desk::open(folder.path()).unwrap();
    desk.put("a.md", Some(b"ours".to_vec())).unwrap();
    desk.put("b.md", Some(b"b".to_vec())).unwrap();
    let made = std::cell::Cell::new(0);
    let committed = desk.commit(
        author,
        || false,
        || {
            if made.replace(made.get() + 1) == 1 {
                fs::write(folder.path().join("a.md"), "theirs")?;
                fs::remove_dir_all(folder.path().join(".history"))?;
                fs::write(folder.path().join(".history"), "not a folder")?;
            }
            Ok(())
        },
    );
    assert!(committed.error.is_some());
    assert_eq!((read(&folder, "a.md"), read(&folder, "b.md")), (Some("theirs".into()), None));
}

#[test]
fn more_than_half_must_not_go_and_the_index_must_stay_loadable() {
    let folder = folder(&[("a.md", "a"), ("b.md", "b"), ("c.md", "c"), ("d.md", "d")]);
    let mut desk = Desk::open(folder.path()).unwrap();
    desk.put("a.md", None).unwrap();
    desk.put("b.md", None).unwrap();
    assert_eq!(desk.objection().unwrap(), None);
    desk.put("c.md", None).unwrap();
    assert_eq!(desk.objection().unwrap().as_deref(), Some("it would delete 3 of 4 memories, more than half"));
    desk.put("c.md", Some(b"c".to_vec())).unwrap();
    desk.put("MEMORY.md", Some("x\n".repeat(201).into_bytes())).unwrap();
    assert!(desk.objection().unwrap().unwrap().contains("201 lines"));
}

#[test]
fn names_that_an_agent_may_not_use_are_refused() {
    let folder = folder(&[]);
    let desk = Desk::open(folder.path()).unwrap();
    let root = folder.path();
    for path in [".history/log.md", ".consolidate-lock", "../x.md", "a.sh", "CLAUDE.md"] {
        assert!(desk.place(&root.join(path)).is_err(), "{path}");
    }
    assert_eq!(desk.place(&root.join("sub/a.md")).unwrap(), "sub/a.md");
}

#[test]
fn who_is_stopped_half_way_leaves_nothing() {
    let folder = folder(&[("a.md", "a")]);
    let mut desk = Desk::open(folder.path()).unwrap();
    for name in ["a.md", "b.md", "c.md"] {
        desk.put(name, Some(b"new".to_vec())).unwrap();
    }
    let left = std::cell::Cell::new(2);
    let committed = desk.commit(author, || left.replace(left.get() - 1) == 0, || Ok(()));
    assert_eq!(committed.error.unwrap().kind(), io::ErrorKind::Interrupted);
    assert!(committed.changes.is_empty() && committed.left.is_empty());
    assert_eq!((read(&folder, "a.md"), read(&folder, "b.md")), (Some("a".into()), None));
}

#[test]
fn names_that_differ_by_case_are_twins() {
    let folder = folder(&[]);
    let mut desk = Desk::open(folder.path()).unwrap();
    desk.put("Case.md", Some(b"x".to_vec())).unwrap();
    assert_eq!(desk.twin("case.md"), Some("Case.md"));
    assert_eq!((desk.twin("Case.md"), desk.twin("other.md")), (None, None));
}
