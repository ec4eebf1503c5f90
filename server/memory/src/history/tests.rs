use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

use expect_test::{Expect, expect};
use tempfile::TempDir;

use super::*;

mod disk;
mod limits;
mod random;
mod undoing;

/// A memory directory whose history lives in a time of its own: every look takes a second.
struct Fixture {
    folder: TempDir,
    history: History,
    clock: Arc<AtomicI64>,
}

impl Fixture {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicI64::new(1_800_000_000));
        let ticking = Arc::clone(&clock);
        let now = move || Timestamp::from_second(ticking.fetch_add(1, Ordering::Relaxed)).unwrap();
        let history = History::open_with_clock(folder.path(), Arc::new(now)).unwrap();
        let fixture = Self { folder, history, clock };
        for (path, text) in files {
            fixture.put(path, Some(text));
        }
        fixture
    }

    /// The same, after the first look.
    fn watched(files: &[(&str, &str)]) -> Self {
        let fixture = Self::new(files);
        assert_eq!(fixture.history.observe().unwrap(), []);
        fixture
    }

    fn dir(&self) -> &Path {
        self.folder.path()
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.clock.load(Ordering::Relaxed)).unwrap()
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.dir().join(path)).ok()
    }

    fn put(&self, path: &str, text: Option<&str>) {
        let file = self.dir().join(path);
        match text {
            Some(text) => {
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            None => fs::remove_file(file).unwrap(),
        }
    }

    /// Writes and records, as tools do.
    fn write(&self, path: &str, text: Option<&str>, author: &Author) -> Change {
        let before = self.text(path);
        self.put(path, text);
        let before = before.as_ref().map(String::as_bytes);
        self.history.record(path, before, text.map(str::as_bytes), author).unwrap().unwrap()
    }

    fn undo(&self, target: &Target) -> Undone {
        self.history.undo(target, &Author::new(By::User, "undo"), &HashSet::new()).unwrap()
    }

    fn tree(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        let mut folders = vec![self.dir().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let relative = path.strip_prefix(self.dir()).unwrap().to_str().unwrap().to_owned();
                if path.is_dir() && relative != FOLDER {
                    folders.push(path);
                } else if path.is_file() {
                    files.push((relative, fs::read_to_string(&path).unwrap()));
                }
            }
        }
        files.sort();
        files
    }

    fn check_changes(&self, expected: Expect) {
        let mut shown = String::new();
        for change in self.history.changes(None, usize::MAX).unwrap() {
            let side = |content: io::Result<Option<Vec<u8>>>| match content.unwrap() {
                Some(bytes) => format!("{:?}", String::from_utf8(bytes).unwrap()),
                None => "nothing".to_owned(),
            };
            let (before, after) = (side(self.history.before(&change)), side(self.history.after(&change)));
            let by = change.by.as_str();
            shown.push_str(&format!("{}: {before} -> {after} by {by}, {}\n", change.path, change.why));
        }
        expected.assert_eq(&shown);
    }
}

fn model(group: &str) -> Author {
    let (session, message) = (Some("session".to_owned()), Some("message".to_owned()));
    Author { by: By::Model, why: "asked to".to_owned(), session, message, group: Some(group.to_owned()) }
}

#[test]
fn opening_and_reading_touch_nothing() {
    let fixture = Fixture::new(&[("a.md", "a")]);
    assert_eq!(fixture.history.changes(None, 10).unwrap(), []);
    assert!(!fixture.dir().join(FOLDER).exists());
    assert!(History::open(&fixture.dir().join("gone")).is_err());
    assert!(History::open(&fixture.dir().join("a.md")).is_err());
}

#[test]
fn a_change_is_kept_with_all_that_is_known_of_it() {
    let fixture = Fixture::watched(&[("user.md", "old\n")]);
    let change = fixture.write("user.md", Some("new\n"), &model("turn-1"));
    expect![[r#"
        Change {
            id: "01a3185c-53e8-7000-8ecd-cd3fe576ae7f",
            path: "user.md",
            at: 2027-01-15T08:00:01Z,
            by: Model,
            why: "asked to",
            session: Some(
                "session",
            ),
            message: Some(
                "message",
            ),
            group: Some(
                "turn-1",
            ),
            before: Some(
                01d09d19…,
            ),
            after: Some(
                7aa7a535…,
            ),
        }
    "#]]
    .assert_debug_eq(&change);
    let kept = fixture.history.changes(Some("user.md"), 1).unwrap();
    assert_eq!(kept, std::slice::from_ref(&change));
    expect![[r#"
        --- user.md
        +++ user.md
        @@ -1 +1 @@
        -old
        +new
    "#]]
    .assert_eq(&fixture.history.diff(&change));
    assert_eq!(fixture.history.before(&change).unwrap().unwrap(), b"old\n");
    assert_eq!(fixture.history.after(&change).unwrap().unwrap(), b"new\n");
}

#[test]
fn nothing_and_elsewhere_are_no_changes() {
    let fixture = Fixture::watched(&[("a.md", "a")]);
    assert_eq!(fixture.history.record("a.md", Some(b"a"), Some(b"a"), &model("t")).unwrap(), None);
    for path in ["../a.md", "/a.md", ".history/a.md", "a.txt", "x//a.md", "x/.git/a.md", "", ".md/.."] {
        assert!(fixture.history.record(path, None, Some(b"a"), &model("t")).is_err(), "{path}");
    }
    assert_eq!(fixture.history.changes(None, 10).unwrap(), []);
}

#[test]
fn the_first_record_keeps_the_others_as_they_are() {
    let fixture = Fixture::new(&[("other.md", "other"), ("a.md", "one")]);
    fixture.write("a.md", Some("two"), &model("t"));
    fixture.write("new.md", Some("new"), &model("t"));
    fixture.put("other.md", None);
    fixture.history.observe().unwrap();
    fixture.check_changes(expect![[r#"
        other.md: "other" -> nothing by user, changed on disk
        new.md: nothing -> "new" by model, asked to
        a.md: "one" -> "two" by model, asked to
    "#]]);
}

#[test]
fn what_others_did_before_a_write_is_recorded_before_it() {
    let fixture = Fixture::watched(&[("a.md", "one")]);
    fixture.put("a.md", Some("two, by the user"));
    fixture.write("a.md", Some("three"), &model("t"));
    assert_eq!(fixture.history.observe().unwrap(), []);
    fixture.check_changes(expect![[r#"
        a.md: "two, by the user" -> "three" by model, asked to
        a.md: "one" -> "two, by the user" by user, changed on disk
    "#]]);
}

#[test]
fn a_change_that_was_seen_before_it_was_recorded_is_its_authors() {
    let fixture = Fixture::watched(&[("a.md", "one")]);
    fixture.put("a.md", Some("two"));
    let seen = fixture.history.observe().unwrap();
    let recorded = fixture.history.record("a.md", Some(b"one"), Some(b"two"), &model("t")).unwrap().unwrap();
    assert_eq!(recorded.id, seen[0].id);
    fixture.check_changes(expect![[r#"
        a.md: "one" -> "two" by model, asked to
    "#]]);
}

#[test]
fn long_diffs_and_reasons_are_cut() {
    let fixture = Fixture::watched(&[]);
    let text: String = (0..10_000).map(|number| format!("line {number}\n")).collect();
    let author = Author::new(By::Dream, "x".repeat(1 << 20));
    let change = fixture.write("a.md", Some(&text), &author);
    let diff = fixture.history.diff(&change);
    assert!(diff.starts_with("--- /dev/null\n+++ a.md\n") && diff.ends_with("bytes in all\n"), "{diff}");
    assert!(diff.len() < 20_100);
    assert!(change.why.len() <= 2_000);
}
