use std::{cell::Cell, os::unix::fs::symlink};

use tempfile::TempDir;

use super::*;

/// Reads `project/file` and counts how often.
struct Reader {
    root: TempDir,
    known: Known<&'static str, String>,
    made: Cell<usize>,
}

impl Reader {
    fn new() -> Self {
        let reader = Self { root: TempDir::new().unwrap(), known: Known::new(), made: Cell::new(0) };
        fs::create_dir(reader.path("project")).unwrap();
        reader
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, text: &str) {
        fs::write(self.path("project/file"), text).unwrap();
    }

    fn read_at(&self, now: SystemTime) -> String {
        self.known.get(now, "file", |seen| {
            self.made.set(self.made.get() + 1);
            let folder = seen.canonical(&self.path("project"));
            seen.git_root(&folder);
            seen.look(&folder.join("file"));
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            fs::read_to_string(folder.join("file")).unwrap_or(name)
        })
    }

    /// When all files are old enough to be relied on.
    fn read(&self) -> String {
        self.read_at(SystemTime::now() + Duration::from_secs(10))
    }

    /// Whether reading now makes the result again.
    fn makes(&self) -> bool {
        let before = self.made.get();
        self.read();
        self.made.get() > before
    }
}

#[test]
fn what_has_not_changed_is_not_read_again() {
    let reader = Reader::new();
    for text in ["one", "two"] {
        reader.write(text);
        assert_eq!((reader.read().as_str(), reader.makes()), (text, false));
    }
    assert_eq!(reader.made.get(), 2);
}

#[test]
fn a_change_within_a_tick_of_the_clock_is_not_missed() {
    let reader = Reader::new();
    for text in ["1", "2", "3", "4", "5"] {
        reader.write(text);
        assert_eq!(reader.read_at(SystemTime::now()), text);
    }
    // Nothing of it was kept, nor is anything from a clock that was put back.
    assert_eq!(reader.read_at(UNIX_EPOCH), "5");
    assert!(reader.makes());
}

#[test]
fn what_comes_goes_or_lies_elsewhere_is_a_change() {
    let reader = Reader::new();
    let changes: [&dyn Fn(&Reader); 6] = [
        &|reader| reader.write("one"),
        &|reader| fs::remove_file(reader.path("project/file")).unwrap(),
        // A link to nothing, then to something.
        &|reader| symlink(reader.path("target"), reader.path("project/file")).unwrap(),
        &|reader| fs::write(reader.path("target"), "two").unwrap(),
        &|reader| {
            fs::create_dir_all(reader.path("project/.git"))
                .and_then(|()| fs::write(reader.path("project/.git/HEAD"), "x"))
                .unwrap()
        },
        // The same folder, but not by the same name.
        &|reader| {
            fs::rename(reader.path("project"), reader.path("moved")).unwrap();
            symlink(reader.path("moved"), reader.path("project")).unwrap();
        },
    ];
    assert!(reader.makes());
    for (number, change) in changes.into_iter().enumerate() {
        assert!(!reader.makes(), "before change {number}");
        change(&reader);
        assert!(reader.makes(), "after change {number}");
    }
}

#[test]
fn only_so_much_is_kept() {
    let folder = TempDir::new().unwrap();
    let known: Known<usize, usize> = Known::new();
    for key in 0..2 * MOST {
        known.get(SystemTime::now(), key, |seen| {
            seen.look(&folder.path().join("missing"));
            key
        });
    }
    let kept: Vec<usize> = known.entries().iter().map(|entry| entry.key).collect();
    assert_eq!(kept, (MOST..2 * MOST).collect::<Vec<_>>());
}
