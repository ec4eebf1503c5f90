//! A workspace and a memory directory from one text, for this crate's tests: `//- path` begins a file, `memory/` is the
//! memory directory, and `$0` in a text is where the cursor is.

use std::{collections::HashMap, fs, path::PathBuf};

use jiff::{Timestamp, civil::Date};
use memory::{
    Store,
    lint::{self, LintContext},
    mentions::Files,
};
use tempfile::TempDir;

use crate::{Facts, Knowledge, Page, Places};

pub(crate) struct Bench {
    folder: TempDir,
    pub knowledge: Knowledge,
    pub places: Places,
    pub files: Files,
    store: Store,
    cursors: HashMap<PathBuf, usize>,
}

pub(crate) const TODAY: Date = jiff::civil::date(2026, 3, 20);

impl Bench {
    pub(crate) fn new(files: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("memory")).unwrap();
        fs::create_dir_all(root.join("work")).unwrap();
        let mut cursors = HashMap::new();
        for file in files.split("//- ").skip(1) {
            let (path, text) = file.split_once('\n').unwrap();
            let path = match path.starts_with("memory/") {
                true => root.join(path),
                false => root.join("work").join(path),
            };
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text.replacen("$0", "", 1)).unwrap();
            cursors.extend(text.find("$0").map(|at| (path, at)));
        }
        let places = Places {
            memory: Some(root.join("memory")),
            config_home: root.join("home/.claude"),
            managed: root.join("managed"),
            roots: vec![root.join("work")],
        };
        let files = Files::new(places.roots.clone());
        let documents = lint::read(&root.join("memory"), &LintContext::default()).unwrap();
        let knowledge = Knowledge::of(root.join("memory"), documents, Vec::new(), &files, None);
        Self { store: Store::new(root.join("memory")), folder, knowledge, places, files, cursors }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        let root = self.folder.path().canonicalize().unwrap();
        if path.starts_with("memory/") { root.join(path) } else { root.join("work").join(path) }
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// The text of a file, and where its `$0` was.
    pub(crate) fn cursor(&self, path: &str) -> (String, usize) {
        (self.text(path), *self.cursors.get(&self.path(path)).expect("a text with a cursor"))
    }

    pub(crate) fn with<T>(&self, path: &str, text: &str, look: impl FnOnce(&Page<'_>, &Facts<'_>) -> T) -> T {
        let path = self.path(path);
        self.store.refresh();
        let memory = |relative: &str| self.store.memory(relative);
        let facts = Facts {
            knowledge: &self.knowledge,
            places: &self.places,
            files: &self.files,
            memory: &memory,
            open: &|_| None,
            home: self.folder.path(),
            now: Timestamp::now(),
            today: TODAY,
        };
        let role = self.places.role(&path).expect("a file that has a role");
        look(&Page { path: &path, text, role }, &facts)
    }

    /// Without where the fixture lies.
    pub(crate) fn shown(&self, text: &str) -> String {
        let root = self.folder.path().canonicalize().unwrap();
        let text = text.replace(&format!("{}/work/", root.display()), "");
        text.replace(&format!("{}/", root.display()), "")
    }
}
