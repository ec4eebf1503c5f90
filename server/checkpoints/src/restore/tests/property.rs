//! Random turns, and back to the beginning of each.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Call {
    Bash(Vec<Step>),
    Edit(&'static str, String),
}

#[derive(Clone, Debug)]
enum Step {
    Write(&'static str, String),
    Append(&'static str, String),
    Truncate(&'static str),
    Rename(&'static str, &'static str),
    Remove(&'static str),
    MakeFolder(&'static str),
    RemoveFolder(&'static str),
    Chmod(&'static str, u32),
    Symlink(&'static str, &'static str),
    HardLink(&'static str, &'static str),
}

fn path() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec!["a", "b", "a/b", "a/c", "b/a", "b/a/c", "c/a/b", "c", "c/ö\n", "a/.x"])
}

fn text() -> impl Strategy<Value = String> {
    proptest::sample::select(vec!["", "1", "2", "one\r\n", "two\r\n", "long enough to be more than a block?"])
        .prop_map(|text| text.repeat(text.len()))
}

fn step() -> impl Strategy<Value = Step> {
    let mode = proptest::sample::select(vec![0o644, 0o600, 0o755, 0o555, 0o700, 0o4711]);
    let target = proptest::sample::select(vec!["a", "../b", "nowhere", "../outside", "../outside/file", "."]);
    prop_oneof![
        3 => (path(), text()).prop_map(|(path, text)| Step::Write(path, text)),
        1 => (path(), text()).prop_map(|(path, text)| Step::Append(path, text)),
        1 => path().prop_map(Step::Truncate),
        2 => (path(), path()).prop_map(|(from, to)| Step::Rename(from, to)),
        2 => path().prop_map(Step::Remove),
        2 => path().prop_map(Step::MakeFolder),
        1 => path().prop_map(Step::RemoveFolder),
        1 => (path(), mode).prop_map(|(path, mode)| Step::Chmod(path, mode)),
        1 => (path(), target).prop_map(|(path, target)| Step::Symlink(path, target)),
        1 => (path(), path()).prop_map(|(from, to)| Step::HardLink(from, to)),
    ]
}

fn turns() -> impl Strategy<Value = Vec<Vec<Call>>> {
    let call = prop_oneof![
        2 => proptest::collection::vec(step(), 0..6).prop_map(Call::Bash),
        1 => (path(), text()).prop_map(|(path, text)| Call::Edit(path, text)),
    ];
    proptest::collection::vec(proptest::collection::vec(call, 0..4), 1..5)
}

/// Whether a step that follows links stays in the workspace.
fn leads_inside(root: &Path, path: &Path) -> bool {
    path.ancestors().find_map(|above| above.canonicalize().ok()).is_some_and(|real| real.starts_with(root))
}

/// As a command would do it; what is not possible does not happen.
fn perform(root: &Path, step: &Step) -> io::Result<()> {
    let at = |path: &str| root.join(path);
    let follows = |path: &str| leads_inside(root, &at(path));
    match step {
        Step::Write(path, text) if follows(path) => {
            std::fs::create_dir_all(at(path).parent().unwrap())?;
            std::fs::write(at(path), text)
        }
        Step::Append(path, text) if follows(path) => {
            use std::io::Write as _;
            std::fs::OpenOptions::new().append(true).open(at(path))?.write_all(text.as_bytes())
        }
        Step::Truncate(path) if follows(path) => {
            std::fs::OpenOptions::new().write(true).open(at(path))?.set_len(1)
        }
        Step::Rename(from, to) if follows(from) && follows(to) => std::fs::rename(at(from), at(to)),
        Step::Remove(path) if follows(path) => std::fs::remove_file(at(path)),
        Step::MakeFolder(path) if follows(path) => std::fs::create_dir_all(at(path)),
        Step::RemoveFolder(path) if follows(path) => std::fs::remove_dir_all(at(path)),
        Step::Chmod(path, mode) if follows(path) => std::fs::set_permissions(
            at(path),
            PermissionsExt::from_mode(if at(path).is_dir() { mode | 0o700 } else { *mode }),
        ),
        Step::Symlink(path, target) if follows(path) => symlink(target, at(path)),
        Step::HardLink(from, to) if follows(from) && follows(to) => std::fs::hard_link(at(from), at(to)),
        _ => Ok(()),
    }
}

fn edit(fixture: &Fixture, path: &Path, text: &str) -> Option<Observed> {
    // Nobody edits through a link that leads nowhere.
    if !leads_inside(&fixture.root, path) || (path.is_symlink() && !path.exists()) {
        return None;
    }
    let before = fixture.store.before_write(path).ok()?;
    write_atomically(&before.path, text).ok();
    Some(fixture.store.after_write(before).unwrap())
}

/// As the tools do it: other names of the file keep the old content.
fn write_atomically(path: &Path, text: &str) -> io::Result<()> {
    std::fs::create_dir_all(path.parent().unwrap())?;
    let beside = path.with_file_name(".reverie-1.tmp");
    std::fs::write(&beside, text)?;
    if let Ok(metadata) = path.metadata() {
        std::fs::set_permissions(&beside, metadata.permissions())?;
    }
    std::fs::rename(&beside, path).or_else(|_| std::fs::remove_file(&beside))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_turn_can_be_gone_back_to(turns in turns()) {
        let fixture = fixture(&[("a/b", "1"), ("a/c", "2"), ("c/a/b", "3")]);
        std::fs::create_dir_all(&fixture.outside).unwrap();
        std::fs::write(fixture.outside.join("file"), "outside").unwrap();
        let root = &fixture.root;
        let tracker = fixture.tracker();
        tracker.start();
        let (mut entries, mut begins) = (Vec::new(), Vec::new());
        for calls in &turns {
            begins.push((entries.len(), tree(root)));
            for call in calls {
                match call {
                    Call::Bash(steps) => entries.push(fixture.run(&tracker, || {
                        for step in steps {
                            perform(root, step).ok();
                        }
                    })),
                    Call::Edit(path, text) => {
                        let observed = edit(&fixture, &root.join(path), text);
                        entries.extend(observed.map(|observed| observed.into_entry("message")));
                    }
                }
            }
        }
        let end = tree(root);
        prop_assert!(entries.iter().all(|entry| entry.uncaptured.is_empty()));
        for (first, begin) in begins.iter().rev() {
            let plan = fixture.store.plan(&entries[*first..]);
            prop_assert_eq!((&plan.conflicts, &plan.failures), (&vec![], &vec![]));
            let (restored, undo) = fixture.store.restore(&plan, "rewind").unwrap();
            prop_assert_eq!(&restored.failures, &vec![]);
            prop_assert_eq!(&tree(root), begin);
            prop_assert_eq!(fixture.restore(&[undo]).failures, vec![]);
            prop_assert_eq!(&tree(root), &end);
        }
        prop_assert_eq!(std::fs::read_to_string(fixture.outside.join("file")).unwrap(), "outside");
        prop_assert_eq!(std::fs::read_dir(&fixture.outside).unwrap().count(), 1);
    }
}
