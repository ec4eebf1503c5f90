use std::{fs, time::Duration};

use super::*;

struct Bench {
    folder: tempfile::TempDir,
    store: Store,
}

impl Bench {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("memory"));
        let bench = Self { folder, store };
        for (path, text) in files {
            bench.write(path, text);
        }
        bench
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join("memory").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.folder.path().join("memory").join(path)).unwrap();
    }

    fn found(&self, text: &str) -> Vec<String> {
        self.store.rank(text, 10, Timestamp::now()).hits.into_iter().map(|hit| hit.id).collect()
    }
}

const DEPLOY: &str =
    "---\nname: Deploys\ndescription: We deploy on Fridays only\ntype: project\n---\n\nFridays.\n";

#[test]
fn memories_are_listed_with_what_they_say_of_themselves() {
    let bench = Bench::new(&[("deploys.md", DEPLOY), ("sub/bare.md", "only a body\n"), ("MEMORY.md", "x")]);
    let listed = bench.store.memories();
    let shown: Vec<_> = listed
        .iter()
        .map(|it| (it.path.as_str(), it.name.as_str(), it.description.as_str(), it.kind))
        .collect();
    assert_eq!(
        shown,
        [
            ("deploys.md", "Deploys", "We deploy on Fridays only", Some(Kind::Project)),
            ("sub/bare.md", "bare", "", None)
        ]
    );
}

#[test]
fn what_changes_on_disk_is_found_at_the_next_look() {
    let bench = Bench::new(&[("deploys.md", DEPLOY)]);
    assert_eq!(bench.found("when can I ship?"), ["deploys.md"]);
    bench.write("tabs.md", "---\nname: Tabs\n---\nindent with tabulators\n");
    assert_eq!(bench.found("which indent is it: tabulators?"), ["tabs.md"]);
    bench.write("tabs.md", "---\nname: Tabs\n---\nindent with blanks instead\n");
    assert_eq!(bench.found("tabulators please"), [""; 0]);
    bench.remove("deploys.md");
    assert_eq!(bench.found("when can I deploy?"), [""; 0]);
}

#[test]
fn a_watched_directory_is_looked_at_when_something_has_changed_and_not_before() {
    let bench = Bench::new(&[("deploys.md", DEPLOY)]);
    bench.store.set_watched(true);
    assert_eq!(bench.store.memories().len(), 1);
    bench.write("b.md", "two");
    assert_eq!(bench.store.memories().len(), 1);
    bench.store.mark_stale();
    assert_eq!(bench.store.memories().len(), 2);
}

#[test]
fn uses_are_counted_and_kept() {
    let bench = Bench::new(&[("deploys.md", DEPLOY)]);
    bench.store.memories();
    let now = Timestamp::now();
    bench.store.count(
        &[("deploys.md".to_owned(), Use::Recalled), ("gone.md".to_owned(), Use::Recalled)],
        None,
        now,
    );
    bench.store.count(
        &[("deploys.md".to_owned(), Use::Cited), ("deploys.md".to_owned(), Use::Recalled)],
        Some("s"),
        now,
    );
    let expected = Counts { recalled: 2, cited: 1, last: Some(now), session: Some("s".to_owned()) };
    assert_eq!(bench.store.memories()[0].counts, expected);
    let other = Store::new(bench.store.directory().to_owned());
    assert_eq!(other.memories()[0].counts, expected);
}

#[test]
fn hostile_files_do_no_harm() {
    let bench = Bench::new(&[("deploys.md", DEPLOY)]);
    bench.write("long.md", &"x".repeat(10 << 20));
    bench.write("bomb.md", &format!("---\na: &a [{}]\n---\nx", "[".repeat(2_000)));
    bench.write("bytes.md", "\u{0}\u{1}\u{202e}");
    let started = std::time::Instant::now();
    assert_eq!(bench.found("when can I deploy?"), ["deploys.md"]);
    assert_eq!(bench.store.memories().len(), 4);
    assert!(started.elapsed() < Duration::from_secs(20));
}
