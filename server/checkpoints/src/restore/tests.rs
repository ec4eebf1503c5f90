use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::entry::{Fate, Observed, Uncaptured, Why};
use crate::plan::{Clash, Conflict, is_uncertain};
use crate::testing::{Fixture, fixture, tree};
use crate::tracker::{Config, Tracker};

mod property;

const WAIT: Duration = Duration::from_secs(60);

impl Fixture {
    fn tracker(&self) -> Tracker {
        let config = Config { roots: vec![self.root.clone()], ..Config::default() };
        Tracker::new(Arc::clone(&self.store), config)
    }

    /// What `command` did, as an entry.
    fn run(&self, tracker: &Tracker, command: impl FnOnce()) -> Entry {
        let running = tracker.before_command(WAIT);
        command();
        let observed = running.finish();
        assert!(!observed.cut);
        observed.into_entry("message")
    }

    fn restore(&self, entries: &[Entry]) -> Restored {
        let plan = self.store.plan(entries);
        assert_eq!((&plan.conflicts, &plan.failures), (&vec![], &vec![]));
        self.store.restore(&plan, "rewind").unwrap().0
    }
}

fn paths<'a>(root: &Path, paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<String> {
    paths.into_iter().map(|path| path.strip_prefix(root).unwrap().display().to_string()).collect()
}

#[test]
fn what_a_command_did_is_undone_byte_for_byte() {
    let fixture = fixture(&[
        ("src/main.rs", "fn main() {}\r\n"),
        ("src/old.rs", "\u{feff}old"),
        ("src/deep/er/file", "x"),
        ("script", "#!/bin/sh\n"),
        (".hidden", ""),
    ]);
    let root = fixture.root.clone();
    symlink("src/main.rs", root.join("link")).unwrap();
    std::fs::set_permissions(root.join("script"), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::create_dir(root.join("empty")).unwrap();
    let before = tree(&root);
    let tracker = fixture.tracker();
    tracker.start();
    let entry = fixture.run(&tracker, || {
        std::fs::write(root.join("src/main.rs"), "changed").unwrap();
        std::fs::rename(root.join("src/old.rs"), root.join("src/new.rs")).unwrap();
        std::fs::remove_dir_all(root.join("src/deep")).unwrap();
        std::fs::write(root.join("src/deep"), "a file now").unwrap();
        std::fs::set_permissions(root.join("script"), PermissionsExt::from_mode(0o600)).unwrap();
        std::fs::remove_file(root.join(".hidden")).unwrap();
        std::fs::create_dir(root.join(".hidden")).unwrap();
        std::fs::write(root.join(".hidden/inside"), "").unwrap();
        std::fs::remove_file(root.join("link")).unwrap();
        symlink("/etc", root.join("link")).unwrap();
        std::fs::remove_dir(root.join("empty")).unwrap();
    });
    let changed = paths(&root, entry.changes.iter().map(|change| &change.path));
    assert_eq!(
        changed,
        [
            ".hidden",
            ".hidden/inside",
            "empty",
            "link",
            "script",
            "src/deep",
            "src/deep/er",
            "src/deep/er/file",
            "src/main.rs",
            "src/new.rs",
            "src/old.rs"
        ]
    );
    let after = tree(&root);

    let plan = fixture.store.plan(std::slice::from_ref(&entry));
    let (restored, undo) = fixture.store.restore(&plan, "rewind").unwrap();
    assert_eq!(paths(&root, &restored.paths), changed);
    assert_eq!(restored.failures, []);
    assert_eq!(tree(&root), before);

    assert_eq!(fixture.restore(&[undo]).failures, []);
    assert_eq!(tree(&root), after);
}

#[test]
fn what_is_as_it_was_needs_no_action() {
    let fixture = fixture(&[("a", "1")]);
    let tracker = fixture.tracker();
    let path = fixture.root.join("a");
    let entry = fixture.run(&tracker, || std::fs::write(&path, "2").unwrap());
    let back = fixture.run(&tracker, || std::fs::write(&path, "1").unwrap());
    assert_eq!(fixture.store.plan(&[entry, back]), Plan::default());
}

#[test]
fn the_work_of_others_is_undone_only_by_force() {
    let fixture = fixture(&[("since", "1"), ("between", "1"), ("ours", "1")]);
    let root = &fixture.root;
    let tracker = fixture.tracker();
    let write = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
    let first = fixture
        .run(&tracker, || ["since", "between", "ours"].map(|name| write(name, "2")).into_iter().collect());
    write("between", "3 by the user");
    let second =
        fixture.run(&tracker, || ["between", "ours"].map(|name| write(name, "4")).into_iter().collect());
    write("since", "5 by the user");

    let mut plan = fixture.store.plan(&[first, second]);
    let conflicts: Vec<_> =
        plan.conflicts.iter().map(|Conflict { action, why }| (action.path.clone(), *why)).collect();
    assert_eq!(
        conflicts,
        [(root.join("between"), Clash::ChangedBetween), (root.join("since"), Clash::ChangedSince)]
    );
    let (restored, _) = fixture.store.restore(&plan, "rewind").unwrap();
    assert_eq!(restored.paths, [root.join("ours")]);
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    assert_eq!(["since", "between", "ours"].map(read), ["5 by the user", "4", "1"]);

    plan.actions.clear();
    plan.force();
    assert_eq!(fixture.store.restore(&plan, "rewind").unwrap().0.failures, []);
    assert_eq!(["since", "between", "ours"].map(read), ["1", "1", "1"]);
}

#[test]
fn what_may_be_the_work_of_others_is_undone_only_by_force() {
    let fixture = fixture(&[("a", "1"), ("user", "1"), ("ours", "1")]);
    let root = &fixture.root;
    let tracker = fixture.tracker();
    let write = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
    let background = tracker.before_command(WAIT);
    write("a", "2 by the command");
    write("user", "2 by the user");
    let seen = background.observe().into_entry("message");
    drop(background);
    let later = fixture.run(&tracker, || ["user", "ours"].map(|name| write(name, "3")).into_iter().collect());
    let entries = [seen, later];

    let mut plan = fixture.store.plan(&entries);
    let conflicts: Vec<_> =
        plan.conflicts.iter().map(|Conflict { action, why }| (action.path.clone(), *why)).collect();
    assert_eq!(conflicts, ["a", "user"].map(|name| (root.join(name), Clash::Uncertain)));
    assert_eq!(
        Clash::Uncertain.to_string(),
        "changed while a command ran in the background or beside another; it may not be its work"
    );
    assert_eq!(
        ["a", "user", "ours"].map(|name| is_uncertain(&entries, &root.join(name))),
        [true, true, false]
    );
    let (restored, _) = fixture.store.restore(&plan, "rewind").unwrap();
    assert_eq!(restored.paths, [root.join("ours")]);

    plan.actions.clear();
    plan.force();
    let (restored, undo) = fixture.store.restore(&plan, "rewind").unwrap();
    assert_eq!(restored.failures, []);
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    assert_eq!(["a", "user", "ours"].map(read), ["1", "1", "1"]);
    // What the rewind itself did is certain.
    fixture.restore(&[undo]);
    assert_eq!(["a", "user"].map(read), ["2 by the command", "3"]);
}

#[test]
fn an_edit_beside_a_command_in_the_background_can_be_undone() {
    let fixture = fixture(&[("alone", "1"), ("joined", "1")]);
    let root = &fixture.root;
    let tracker = fixture.tracker();
    let background = tracker.before_command(WAIT);
    let edit = |path: &str, text: &str| {
        let path = root.join(path);
        let before = fixture.store.before_write(&path).unwrap();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        fixture.store.after_write(before).unwrap().into_entry("message")
    };
    let mut entries =
        vec![edit("alone", "2"), edit("new/file", "2"), edit("joined", "2"), edit("alone", "3")];
    std::fs::write(root.join("joined"), "3 by the user").unwrap();
    entries.push(background.observe().into_entry("message"));
    entries.push(edit("alone", "4"));
    entries.push(background.finish().into_entry("message"));

    let plan = fixture.store.plan(&entries);
    let conflicts: Vec<_> =
        plan.conflicts.iter().map(|Conflict { action, why }| (action.path.clone(), *why)).collect();
    assert_eq!(conflicts, [(root.join("joined"), Clash::Uncertain)]);
    let (restored, _) = fixture.store.restore(&plan, "rewind").unwrap();
    assert_eq!(paths(root, &restored.paths), ["alone", "new", "new/file"]);
    assert_eq!(std::fs::read_to_string(root.join("alone")).unwrap(), "1");
    assert_eq!(std::fs::read_to_string(root.join("joined")).unwrap(), "3 by the user");
    assert!(!root.join("new").exists());
}

#[test]
fn what_two_sessions_did_at_once_is_kept_by_a_rewind_of_either() {
    let fixture = fixture(&[("one", "1"), ("other", "1")]);
    let root = &fixture.root;
    let tracker = fixture.tracker();
    let (one, other) = (tracker.before_command(WAIT), tracker.before_command(WAIT));
    for name in ["one", "other"] {
        std::fs::write(root.join(name), "2").unwrap();
    }
    for entry in [one.finish().into_entry("one"), other.finish().into_entry("other")] {
        let plan = fixture.store.plan(&[entry]);
        assert_eq!(plan.actions, []);
        assert!(plan.conflicts.iter().all(|conflict| conflict.why == Clash::Uncertain));
        assert_eq!(plan.conflicts.len(), 2);
    }
}

#[test]
fn a_change_at_the_last_moment_is_not_lost() {
    let fixture = fixture(&[("a", "1"), ("b", "1")]);
    let root = &fixture.root;
    let tracker = fixture.tracker();
    let entry = fixture.run(&tracker, || {
        std::fs::write(root.join("a"), "2").unwrap();
        std::fs::write(root.join("b"), "2").unwrap();
    });
    let plan = fixture.store.plan(&[entry]);
    std::fs::write(root.join("a"), "by the user").unwrap();
    let prepared = fixture.store.prepare(&plan, "rewind").unwrap();
    std::fs::write(root.join("b"), "by the user").unwrap();
    let restored = fixture.store.apply(prepared);
    assert_eq!(restored.paths, Vec::<PathBuf>::new());
    assert_eq!(restored.failures.len(), 2);
    for name in ["a", "b"] {
        assert_eq!(std::fs::read_to_string(root.join(name)).unwrap(), "by the user");
    }
    assert_eq!(tree(root).len(), 2, "no temporary file is left");
}

#[test]
fn a_folder_that_others_put_files_in_stays() {
    let fixture = fixture(&[("file", "1")]);
    let root = &fixture.root;
    let tracker = fixture.tracker();
    let entry = fixture.run(&tracker, || {
        std::fs::create_dir(root.join("new")).unwrap();
        std::fs::write(root.join("new/ours"), "").unwrap();
        std::fs::remove_file(root.join("file")).unwrap();
        std::fs::create_dir(root.join("file")).unwrap();
    });
    std::fs::write(root.join("new/theirs"), "").unwrap();
    std::fs::write(root.join("file/theirs"), "").unwrap();
    let restored = fixture.restore(&[entry]);
    assert_eq!(restored.paths, [root.join("new/ours")]);
    let why = || "the folder has other files in it".to_owned();
    assert_eq!(
        restored.failures,
        [Failure { path: root.join("file"), why: why() }, Failure { path: root.join("new"), why: why() }]
    );
    assert!(root.join("new/theirs").exists() && root.join("file/theirs").exists());
}

#[test]
fn nothing_is_restored_through_a_link_that_took_the_place_of_a_folder() {
    let fixture = fixture(&[("folder/file", "1")]);
    let root = &fixture.root;
    let outside = fixture.outside.join("elsewhere");
    std::fs::create_dir_all(&outside).unwrap();
    let tracker = fixture.tracker();
    let entry = fixture.run(&tracker, || std::fs::write(root.join("folder/file"), "2").unwrap());
    std::fs::remove_dir_all(root.join("folder")).unwrap();
    symlink(&outside, root.join("folder")).unwrap();
    std::fs::write(outside.join("file"), "2").unwrap();
    let mut plan = fixture.store.plan(&[entry]);
    plan.force();
    let (restored, _) = fixture.store.restore(&plan, "rewind").unwrap();
    assert_eq!(restored.paths, Vec::<PathBuf>::new());
    assert_eq!(restored.failures.len(), 1);
    assert_eq!(std::fs::read_to_string(outside.join("file")).unwrap(), "2");
}

#[test]
fn folders_that_are_gone_are_made_again() {
    let fixture = fixture(&[("a/b/file", "1")]);
    let root = &fixture.root;
    let tracker = fixture.tracker();
    let entry = fixture.run(&tracker, || std::fs::write(root.join("a/b/file"), "2").unwrap());
    std::fs::remove_dir_all(root.join("a")).unwrap();
    let mut plan = fixture.store.plan(&[entry]);
    assert_eq!(plan.actions, []);
    plan.force();
    let (restored, undo) = fixture.store.restore(&plan, "rewind").unwrap();
    assert_eq!(paths(root, &restored.paths), ["a", "a/b", "a/b/file"]);
    assert_eq!(std::fs::read_to_string(root.join("a/b/file")).unwrap(), "1");
    fixture.restore(&[undo]);
    assert!(!root.join("a").exists());
}

#[test]
fn a_folder_that_may_not_be_written_in_keeps_its_mode() {
    let fixture = fixture(&[("locked/file", "1"), ("locked/gone", "1")]);
    let root = &fixture.root;
    let lock = |mode| {
        std::fs::set_permissions(root.join("locked"), PermissionsExt::from_mode(mode)).unwrap();
    };
    lock(0o555);
    let before = tree(root);
    let tracker = fixture.tracker();
    let entry = fixture.run(&tracker, || {
        lock(0o755);
        std::fs::write(root.join("locked/file"), "2").unwrap();
        std::fs::remove_file(root.join("locked/gone")).unwrap();
        lock(0o555);
    });
    assert_eq!(entry.changes.len(), 2);
    assert_eq!(fixture.restore(&[entry]).failures, []);
    assert_eq!(tree(root), before);
    lock(0o755);
}

#[test]
fn other_names_of_a_file_are_restored_as_well() {
    let fixture = fixture(&[("one", "1")]);
    let root = &fixture.root;
    std::fs::hard_link(root.join("one"), root.join("two")).unwrap();
    let before = tree(root);
    let tracker = fixture.tracker();
    let entry = fixture.run(&tracker, || std::fs::write(root.join("one"), "2").unwrap());
    assert_eq!(entry.changes.len(), 2);
    assert_eq!(fixture.restore(&[entry]).failures, []);
    assert_eq!(tree(root), before);
}

#[test]
fn a_copy_that_is_gone_is_told() {
    let fixture = fixture(&[("a", "1")]);
    let path = fixture.root.join("a");
    let entry = fixture.run(&fixture.tracker(), || std::fs::write(&path, "2").unwrap());
    fixture.store.collect([], Duration::ZERO, std::time::SystemTime::now() + WAIT).unwrap();
    let plan = fixture.store.plan(&[entry]);
    assert_eq!(plan.failures, [Failure { path, why: "its copy is gone".to_owned() }]);
    assert_eq!(plan.actions, []);
}

#[test]
fn what_was_never_captured_is_named_in_the_plan() {
    let fixture = fixture(&[(".gitignore", "*.env"), ("a.env", "secret")]);
    let root = &fixture.root;
    let entry = fixture.run(&fixture.tracker(), || {
        std::fs::remove_file(root.join("a.env")).unwrap();
        std::fs::write(root.join("b.env"), "").unwrap();
    });
    assert_eq!(entry.uncaptured.len(), 2);
    let lost = Uncaptured { path: root.join("a.env"), fate: Fate::Deleted, why: Why::Ignored };
    assert_eq!(fixture.store.plan(&[entry]).uncaptured, [lost]);
}

#[test]
fn a_large_new_file_is_removed_only_with_a_copy() {
    let fixture = fixture(&[]);
    let root = &fixture.root;
    let entry = fixture.run(&fixture.tracker(), || {
        for (name, len) in [("large", 9 << 20), ("larger", crate::present::LARGEST + 1)] {
            std::fs::File::create(root.join(name)).unwrap().set_len(len).unwrap();
        }
    });
    assert_eq!(entry.changes.len(), 2);
    let plan = fixture.store.plan(&[entry]);
    assert_eq!(plan.conflicts, []);
    let (restored, undo) = fixture.store.restore(&plan, "rewind").unwrap();
    assert_eq!(restored.paths, [root.join("large")]);
    assert_eq!(restored.failures.len(), 1);
    assert!(root.join("larger").exists());
    fixture.restore(&[undo]);
    assert_eq!(root.join("large").metadata().unwrap().len(), 9 << 20);
}

#[test]
fn many_files_are_restored_too() {
    let fixture = fixture(&[]);
    let root = &fixture.root;
    for number in 0..100 {
        std::fs::write(root.join(number.to_string()), number.to_string()).unwrap();
    }
    let before = tree(root);
    let entry = fixture.run(&fixture.tracker(), || {
        for number in 0..100 {
            std::fs::write(root.join(number.to_string()), "same").unwrap();
        }
    });
    assert_eq!(fixture.restore(&[entry]).paths.len(), 100);
    assert_eq!(tree(root), before);
}

#[test]
fn killed_at_any_step_each_file_is_old_or_new_and_the_next_try_finishes() {
    let make = || {
        let fixture =
            fixture(&[("edited", "old"), ("gone/file", "old"), ("turned", "old"), ("kept", "same")]);
        let root = fixture.root.clone();
        symlink("kept", root.join("link")).unwrap();
        let before = tree(&root);
        let entry = fixture.run(&fixture.tracker(), || {
            std::fs::write(root.join("edited"), "new").unwrap();
            std::fs::remove_dir_all(root.join("gone")).unwrap();
            std::fs::remove_file(root.join("turned")).unwrap();
            std::fs::create_dir(root.join("turned")).unwrap();
            std::fs::write(root.join("created"), "new").unwrap();
            std::fs::remove_file(root.join("link")).unwrap();
            symlink("created", root.join("link")).unwrap();
        });
        (fixture, before, entry)
    };
    for steps in 0.. {
        let (fixture, before, entry) = make();
        let after = tree(&fixture.root);
        let prepared =
            fixture.store.prepare(&fixture.store.plan(std::slice::from_ref(&entry)), "rewind").unwrap();
        let undo = prepared.entry.clone();
        let mut done = 0;
        let mut disk = Disk::new(|| {
            done += 1;
            if done > steps { Err(io::Error::other("killed")) } else { Ok(()) }
        });
        let restored = fixture.store.apply_on(prepared, &mut disk);
        drop(disk);
        for (path, now) in tree(&fixture.root) {
            let temporary = path.to_string_lossy().contains(".reverie-");
            let (old, new) = (before.get(&path), after.get(&path));
            // A new folder is for us only until all is done.
            let half_made = now == "folder 700";
            assert!(
                temporary || half_made || Some(&now) == old || Some(&now) == new,
                "{path:?} {now} after {steps}"
            );
        }
        if done <= steps {
            assert_eq!(restored.failures, []);
            assert!(steps > 10);
            return;
        }
        // Made again as somebody would who finds it half done; what is half made shows as a conflict.
        let mut plan = fixture.store.plan(std::slice::from_ref(&entry));
        plan.force();
        assert_eq!(fixture.store.restore(&plan, "rewind").unwrap().0.failures, [], "after {steps}");
        assert_eq!(tree(&fixture.root), before, "after {steps}");
        // And what was written down before the first step undoes all of it.
        assert_eq!(fixture.restore(&[undo]).failures, []);
        assert_eq!(tree(&fixture.root), after, "after {steps}");
    }
}

#[test]
fn observations_become_an_entry() {
    let mut observed = Observed::default();
    assert!(observed.is_empty());
    observed.append(Observed { unnamed: 2, cut: true, ..Observed::default() });
    assert!(!observed.is_empty());
    let entry = observed.into_entry("message");
    assert_eq!(entry, Entry { message: "message".to_owned(), unnamed: 2, ..Entry::default() });
}
