use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use expect_test::{Expect, expect};

use super::*;
use crate::testing::{Fixture, fixture};

const WAIT: Duration = Duration::from_secs(60);

impl Fixture {
    fn tracker_within(&self, limits: Limits) -> Tracker {
        let config = Config { roots: vec![self.root.clone()], limits, ..Config::default() };
        Tracker::new(Arc::clone(&self.store), config)
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::create_dir_all(self.root.join(path).parent().unwrap()).unwrap();
        std::fs::write(self.root.join(path), text).unwrap();
    }

    fn remove(&self, path: &str) {
        let path = self.root.join(path);
        if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }.unwrap();
    }

    fn tracker_of(&self, roots: &[&str], never: &[&str]) -> Tracker {
        let paths = |names: &[&str]| names.iter().map(|name| self.root.join(name)).collect();
        let config = Config { roots: paths(roots), never: paths(never), ..Config::default() };
        Tracker::new(Arc::clone(&self.store), config)
    }

    /// `~ path` for a change, `+` and `-` for what came and went, `?` for what was not captured.
    fn shown(&self, observed: &Observed) -> String {
        let name = |path: &Path| path.strip_prefix(&self.root).unwrap().display().to_string();
        let mut lines = String::new();
        for change in &observed.changes {
            let mark = match (&change.before, &change.after) {
                (None, _) => '+',
                (_, None) => '-',
                _ => '~',
            };
            lines.push_str(&format!("{mark} {}\n", name(&change.path)));
        }
        for uncaptured in &observed.uncaptured {
            lines.push_str(&format!(
                "? {}: {:?}, {}\n",
                name(&uncaptured.path),
                uncaptured.fate,
                uncaptured.why
            ));
        }
        if observed.unnamed > 0 || observed.cut {
            lines.push_str(&format!("unnamed {} cut {}\n", observed.unnamed, observed.cut));
        }
        if observed.uncertain {
            lines.push_str("uncertain\n");
        }
        lines
    }
}

/// What a tracker sees of a command.
fn check(files: &[(&str, &str)], limits: Limits, command: impl FnOnce(&Fixture), expect: Expect) {
    let fixture = fixture(files);
    let running = fixture.tracker_within(limits).before_command(WAIT);
    command(&fixture);
    expect.assert_eq(&fixture.shown(&running.finish()));
}

#[test]
fn changes_are_seen_whatever_hides_them() {
    check(
        &[("time", "one"), ("touched", "one"), ("rename/a", "one"), ("kept", "one")],
        Limits::default(),
        |fixture| {
            let path = fixture.root.join("time");
            let modified = path.metadata().unwrap().modified().unwrap();
            fixture.write("time", "two");
            std::fs::File::open(&path).unwrap().set_modified(modified).unwrap();
            fixture.write("touched", "one");
            std::fs::rename(fixture.root.join("rename"), fixture.root.join("renamed")).unwrap();
        },
        expect![[r#"
            - rename
            - rename/a
            + renamed
            + renamed/a
            ~ time
        "#]],
    );
}

#[test]
fn what_is_only_touched_leaves_nothing_in_the_store() {
    let fixture = fixture(&[("a", "1"), ("b", "1")]);
    let running = fixture.tracker_within(Limits::default()).before_command(WAIT);
    fixture.write("a", "1");
    fixture.remove("b");
    fixture.write("b", "1");
    assert!(running.finish().is_empty());
    assert_eq!(fixture.store.size().unwrap().blobs, 0);
}

#[test]
fn what_others_change_between_commands_is_not_ours() {
    let fixture = fixture(&[("a", "1"), ("b", "1")]);
    let tracker = fixture.tracker_within(Limits::default());
    assert!(tracker.before_command(WAIT).finish().is_empty());
    fixture.write("a", "2");
    fixture.remove("b");
    let running = tracker.before_command(WAIT);
    assert_eq!(running.coverage, Coverage { copied: 1, bytes: 1, ..Coverage::default() });
    fixture.write("a", "3");
    let observed = running.finish();
    assert_eq!(fixture.shown(&observed), "~ a\n");
    let before = observed.changes[0].before.as_ref().unwrap();
    assert_eq!(fixture.store.content(before).unwrap(), b"2");
    // One that nobody finished leaves nothing behind.
    drop(tracker.before_command(WAIT));
    fixture.write("a", "4");
    assert!(tracker.before_command(WAIT).finish().is_empty());
}

#[test]
fn commands_at_the_same_time_share_what_happens_and_lose_nothing() {
    let fixture = fixture(&[("a", "1"), ("b", "1")]);
    let tracker = fixture.tracker_within(Limits::default());
    let long = tracker.before_command(WAIT);
    fixture.write("a", "2");
    let short = tracker.before_command(WAIT);
    fixture.write("b", "2");
    // Not what happened before it began.
    assert_eq!(fixture.shown(&short.finish()), "~ b\nuncertain\n");
    fixture.write("b", "3");
    assert_eq!(fixture.shown(&long.finish()), "~ a\n~ b\n~ b\nuncertain\n");
    // And again alone.
    let alone = tracker.before_command(WAIT);
    fixture.write("a", "3");
    assert_eq!(fixture.shown(&alone.finish()), "~ a\n");
}

#[test]
fn beside_a_command_that_changes_nothing_all_is_certain() {
    let fixture = fixture(&[("a", "1"), ("b", "1")]);
    let tracker = fixture.tracker_within(Limits::default());
    let long = tracker.before_command(WAIT);
    fixture.write("a", "2");
    assert!(tracker.before_command(WAIT).finish().is_empty());
    fixture.write("b", "2");
    assert_eq!(fixture.shown(&long.finish()), "~ a\n~ b\n");
}

#[test]
fn what_is_seen_of_a_command_in_the_background_is_uncertain() {
    let fixture = fixture(&[("a", "1"), ("b", "1")]);
    let tracker = fixture.tracker_within(Limits::default());
    let background = tracker.before_command(WAIT);
    assert_eq!(background.observe(), Observed::default());
    fixture.write("a", "2");
    assert_eq!(fixture.shown(&background.observe()), "~ a\nuncertain\n");
    fixture.write("b", "2");
    assert_eq!(fixture.shown(&background.finish()), "~ b\nuncertain\n");
}

#[test]
fn what_a_command_did_that_nobody_finished_is_not_certainly_another_ones() {
    let fixture = fixture(&[("a", "1"), ("b", "1")]);
    let tracker = fixture.tracker_within(Limits::default());
    let stays = tracker.before_command(WAIT);
    let dropped = tracker.before_command(WAIT);
    fixture.write("a", "2");
    drop(dropped);
    assert_eq!(fixture.shown(&stays.finish()), "~ a\nuncertain\n");
    let alone = tracker.before_command(WAIT);
    fixture.write("b", "2");
    assert_eq!(fixture.shown(&alone.finish()), "~ b\n");
}

#[test]
fn what_is_ignored_is_named_when_it_is_touched() {
    check(
        &[
            (".gitignore", "*.log\n/out/\n!keep.log\n"),
            ("a.log", "1"),
            ("keep.log", "1"),
            ("gone.log", "1"),
            ("same.log", "1"),
            ("out/file", "1"),
            ("node_modules/x/y", "1"),
            (".git/HEAD", "1"),
            ("cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n"),
            ("cache/file", "1"),
            ("sub/.gitignore", "!*.log\n"),
            ("sub/b.log", "1"),
        ],
        Limits::default(),
        |fixture| {
            for name in ["a.log", "keep.log", "new.log", "sub/b.log", ".git/HEAD", "cache/file", "out/file"] {
                fixture.write(name, "2");
            }
            fixture.remove("gone.log");
            fixture.remove("node_modules");
        },
        expect![[r#"
            ~ keep.log
            ~ sub/b.log
            ? a.log: Modified, ignored by .gitignore
            ? gone.log: Deleted, ignored by .gitignore
            ? new.log: Created, ignored by .gitignore
            ? node_modules: Deleted, ignored by .gitignore
        "#]],
    );
}

#[test]
fn rules_above_the_root_count_within_a_repository_only() {
    for (repository, expected) in [(true, ""), (false, "~ inner/a.log\n~ inner/b.tmp\n")] {
        let fixture = fixture(&[("inner/a.log", "1"), ("inner/b.tmp", "1"), (".gitignore", "*.log\n")]);
        if repository {
            fixture.write(".git/info/exclude", "*.tmp\n");
        }
        let inner = fixture.root.join("inner");
        let config = Config { roots: vec![inner], ..Config::default() };
        let running = Tracker::new(Arc::clone(&fixture.store), config).before_command(WAIT);
        fixture.write("inner/a.log", "2");
        fixture.write("inner/b.tmp", "2");
        let observed = running.finish();
        assert_eq!(fixture.shown(&Observed { uncaptured: Vec::new(), ..observed }), expected);
    }
}

#[test]
fn new_rules_neither_delete_nor_create() {
    check(
        &[(".gitignore", "out/\n"), ("src/a", "1"), ("src/b", "1"), ("out/old", "1")],
        Limits::default(),
        |fixture| {
            fixture.write(".gitignore", "src/\n");
            fixture.write("src/a", "2");
            fixture.write("src/new", "1");
            fixture.write("out/new", "1");
        },
        expect![[r#"
            ~ .gitignore
            ~ src/a
            + src/new
            ? out: Unknown, ignored by .gitignore
        "#]],
    );
}

#[test]
fn an_exclusion_from_outside_takes_effect_at_the_next_look() {
    let fixture = fixture(&[("a.gen", "1")]);
    let excludes = fixture.root.join("excludes");
    let config = Config {
        roots: vec![fixture.root.clone()],
        exclude: vec![fixture.root.join("ours")],
        ignore_files: vec![excludes.clone()],
        ..Config::default()
    };
    let tracker = Tracker::new(Arc::clone(&fixture.store), config);
    drop(tracker.before_command(WAIT));
    fixture.write("excludes", "*.gen\n");
    let running = tracker.before_command(WAIT);
    fixture.write("a.gen", "2");
    fixture.write("b.gen", "2");
    fixture.write("ours/file", "2");
    expect![[r#"
        ~ a.gen
        ? b.gen: Created, ignored by .gitignore
        ? ours: Created, ignored by .gitignore
    "#]]
    .assert_eq(&fixture.shown(&running.finish()));
}

#[test]
fn a_root_that_contains_the_store_is_not_tracked() {
    let fixture = fixture(&[("a", "1"), ("project/a", "1")]);
    let store = Arc::new(Store::new(fixture.root.join("inside/store")));
    let roots = vec![fixture.root.clone(), fixture.root.join("project")];
    let running = Tracker::new(store, Config { roots, ..Config::default() }).before_command(WAIT);
    let coverage = Coverage { copied: 1, bytes: 1, untracked_roots: 1, ..Coverage::default() };
    assert_eq!(running.coverage, coverage);
    fixture.write("a", "2");
    fixture.write("project/a", "2");
    assert_eq!(fixture.shown(&running.finish()), "~ project/a\n");
}

#[test]
fn a_home_and_what_contains_it_are_not_tracked_but_what_is_in_it() {
    let fixture = fixture(&[("homes/me/a", "1"), ("homes/me/project/b", "1")]);
    symlink("homes/me", fixture.root.join("link")).unwrap();
    let tracker = fixture.tracker_of(&["/", "homes", "homes/me", "homes/me/project"], &["link"]);
    assert_eq!(tracker.shared.config.roots, [fixture.root.join("homes/me/project")]);
    let running = tracker.before_command(WAIT);
    let coverage = Coverage { copied: 1, bytes: 1, untracked_roots: 3, ..Coverage::default() };
    assert_eq!(running.coverage, coverage);
    fixture.write("homes/me/a", "2");
    fixture.write("homes/me/project/b", "2");
    assert_eq!(fixture.shown(&running.finish()), "~ homes/me/project/b\n");
}

#[test]
fn nothing_is_copied_where_no_root_is_tracked() {
    let fixture = fixture(&[("a", "1")]);
    let tracker = fixture.tracker_of(&["/", ""], &["not/there"]);
    tracker.start();
    assert_eq!(Arc::strong_count(&tracker.shared), 1);
    let running = tracker.before_command(WAIT);
    assert_eq!(running.coverage, Coverage { untracked_roots: 2, ..Coverage::default() });
    fixture.write("a", "2");
    assert!(running.finish().is_empty());
    assert!(!fixture.store.folder().exists());
}

#[test]
fn what_is_too_large_or_too_much_is_named_when_it_is_touched() {
    check(
        &[("a", "12345"), ("b", "123456"), ("c", "1234"), ("d", "1234"), ("e", "123456")],
        Limits { bytes: 10, file_bytes: 5, ..Limits::default() },
        |fixture| {
            for name in ["a", "b", "c"] {
                fixture.write(name, "new");
            }
            fixture.write("large", "123456");
            fixture.remove("d");
        },
        expect![[r#"
            ~ a
            ~ c
            + large
            ? b: Modified, too large to keep a copy
            ? d: Deleted, the workspace has more than is kept copies of
        "#]],
    );
}

#[test]
fn a_folder_beyond_the_limit_is_left_out_and_never_taken_for_new() {
    let fixture = fixture(&[("a", "1"), ("many/1", "1"), ("many/2", "1"), ("many/3", "1"), ("z", "1")]);
    let tracker = fixture.tracker_within(Limits { files: 5, ..Limits::default() });
    let running = tracker.before_command(WAIT);
    assert_eq!(running.coverage, Coverage { copied: 2, bytes: 2, over_budget: 1, ..Coverage::default() });
    fixture.write("many/4", "1");
    fixture.write("a", "2");
    assert_eq!(fixture.shown(&running.finish()), "~ a\n");
    // It becomes small enough while a command runs.
    let running = tracker.before_command(WAIT);
    for name in ["many/1", "many/2", "many/3"] {
        fixture.remove(name);
    }
    expect![[r#"
        ? many: Unknown, the workspace has more than is kept copies of
    "#]]
    .assert_eq(&fixture.shown(&running.finish()));
    // What is known of a folder stays known when it grows too large.
    let running = tracker.before_command(WAIT);
    for number in 0..10 {
        fixture.write(&format!("many/{number}"), "2");
    }
    expect![[r#"
        ~ many/4
        unnamed 0 cut true
    "#]]
    .assert_eq(&fixture.shown(&running.finish()));
}

#[test]
fn too_many_names_are_counted() {
    let fixture = fixture(&[(".gitignore", "*.log")]);
    let running = fixture.tracker_within(Limits::default()).before_command(WAIT);
    for number in 0..105 {
        fixture.write(&format!("{number}.log"), "");
    }
    let observed = running.finish();
    assert_eq!((observed.uncaptured.len(), observed.unnamed), (100, 5));
}

#[test]
fn links_are_not_followed_and_special_files_are_not_opened() {
    let fixture = fixture(&[("folder/file", "1"), ("plain", "1")]);
    std::fs::create_dir_all(fixture.outside.join("deep")).unwrap();
    symlink(&fixture.outside, fixture.root.join("out")).unwrap();
    symlink(".", fixture.root.join("loop")).unwrap();
    let running = fixture.tracker_within(Limits::default()).before_command(WAIT);
    assert_eq!(running.coverage.copied, 2);
    std::fs::write(fixture.outside.join("deep/file"), "1").unwrap();
    std::fs::rename(fixture.root.join("folder"), fixture.root.join("moved")).unwrap();
    symlink("moved", fixture.root.join("folder")).unwrap();
    fixture.remove("plain");
    let fifo = |name: &str| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, fixture.root.join(name), rustix::fs::FileType::Fifo, mode, 0)
            .unwrap();
    };
    fifo("plain");
    fifo("pipe");
    expect![[r#"
        ~ folder
        - folder/file
        + moved
        + moved/file
        ~ plain
        ? pipe: Created, not a regular file
    "#]]
    .assert_eq(&fixture.shown(&running.finish()));
}

#[test]
fn names_may_be_any_bytes() {
    let fixture = fixture(&[]);
    let path = fixture.root.join(OsString::from_vec(b"\xff\n".to_vec()));
    std::fs::write(&path, "1").unwrap();
    let running = fixture.tracker_within(Limits::default()).before_command(WAIT);
    std::fs::write(&path, "2").unwrap();
    let observed = running.finish();
    assert_eq!(observed.changes[0].path, path);
}

#[test]
fn nested_roots_are_looked_at_once() {
    let fixture = fixture(&[("inner/a", "1"), ("inner-not/b", "1")]);
    let roots = ["inner", "", "inner-not", "absent"].map(|name| fixture.root.join(name)).to_vec();
    let config = Config { roots, ..Config::default() };
    let running = Tracker::new(Arc::clone(&fixture.store), config).before_command(WAIT);
    assert_eq!(running.coverage.copied, 2);
    fixture.write("inner/a", "2");
    assert_eq!(fixture.shown(&running.finish()), "~ inner/a\n");
}

#[test]
fn a_root_that_is_removed_is_all_deleted() {
    let fixture = fixture(&[("a", "1"), ("b/c", "1")]);
    let running = fixture.tracker_within(Limits::default()).before_command(WAIT);
    std::fs::remove_dir_all(&fixture.root).unwrap();
    assert_eq!(fixture.shown(&running.finish()), "- a\n- b\n- b/c\n");
}

#[test]
fn what_there_was_no_time_for_is_never_taken_for_new() {
    let fixture = fixture(&[("a", "1"), ("b/c", "1")]);
    let config = Config { roots: vec![fixture.root.clone()], ..Config::default() };
    let mut snapshot = Snapshot::default();
    let mut look = |hurry: bool, wish| {
        let clock = Clock { deadline: None, hurry: &AtomicBool::new(hurry) };
        let observed = snapshot.look(&config, &fixture.store, &clock, wish).unwrap();
        (
            fixture.shown(&Observed { changes: observed.changes, ..Observed::default() }),
            observed.uncaptured.len(),
            observed.cut,
            snapshot.coverage(),
        )
    };
    let unready = Coverage { not_ready: 1, ..Coverage::default() };
    assert_eq!(look(true, Wish::Forget), (String::new(), 0, false, unready));
    let ready = Coverage { copied: 2, bytes: 2, ..Coverage::default() };
    assert_eq!(look(false, Wish::Hold), (String::new(), 1, false, ready));
    // And what was known stays so when time runs out.
    fixture.write("a", "2");
    assert_eq!(look(true, Wish::Hold), (String::new(), 0, true, ready));
    assert_eq!(look(false, Wish::Hold), ("~ a\n".to_owned(), 0, false, ready));
}

#[test]
fn a_command_does_not_wait_for_the_first_look_to_end() {
    let fixture = fixture(&[("a", "1")]);
    let tracker = fixture.tracker_within(Limits::default());
    // Somebody who is told to hurry gives the snapshot back.
    std::thread::scope(|scope| {
        let loan = tracker.shared.borrow(None);
        scope.spawn(|| {
            while !tracker.shared.hurry.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            drop(loan);
        });
        assert_eq!(tracker.before_command(Duration::ZERO).coverage.copied, 1);
    });
    assert!(!tracker.shared.hurry.load(Ordering::Relaxed));
}

#[test]
fn a_look_in_the_background_never_follows_a_command() {
    let fixture = fixture(&[("a", "1")]);
    let tracker = fixture.tracker_within(Limits::default());
    let running = tracker.before_command(WAIT);
    fixture.write("a", "2");
    tracker.start();
    assert_eq!(fixture.shown(&running.finish()), "~ a\n");
}

#[test]
fn the_first_look_is_begun_once() {
    let fixture = fixture(&[("a", "1")]);
    let tracker = fixture.tracker_within(Limits::default());
    let loan = tracker.shared.borrow(None);
    tracker.start();
    tracker.start();
    // The thread waits for the snapshot, and has its share until then.
    assert_eq!(Arc::strong_count(&tracker.shared), 2);
    drop(loan);
    while Arc::strong_count(&tracker.shared) > 1 {
        std::thread::yield_now();
    }

    let tracker = fixture.tracker_within(Limits::default());
    drop(tracker.before_command(WAIT));
    tracker.start();
    assert_eq!(Arc::strong_count(&tracker.shared), 1);
}

#[test]
fn copies_that_nobody_needs_are_cleared_away() {
    let fixture = fixture(&[("a", "1"), ("b/c", "2")]);
    let tracker = fixture.tracker_within(Limits::default());
    drop(tracker.before_command(WAIT));
    {
        let mut loan = tracker.shared.borrow(None);
        let staging = loan.snapshot.staging.as_ref().unwrap();
        staging.put(&vec![0; usize::try_from(SPARE).unwrap() + 100]).unwrap();
        loan.snapshot.compact(&fixture.store);
        assert_eq!(loan.snapshot.staging.as_ref().unwrap().len(), 2);
    }
    let running = tracker.before_command(WAIT);
    fixture.write("b/c", "3");
    let observed = running.finish();
    assert_eq!(fixture.store.content(observed.changes[0].before.as_ref().unwrap()).unwrap(), b"2");
    // The copies themselves have no name.
    assert_eq!(fixture.store.size().unwrap().blobs, 1);
}
