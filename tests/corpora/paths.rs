//! May a background agent write here? Every path of the corpus, asked of the program and of the library, and written to.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use workspace::Beneath;

use crate::{
    places::Project,
    program::answers,
    tree::{differences, tree},
};

#[derive(Deserialize)]
struct Row {
    id: String,
    /// As it stands in JSON: one path is no Unicode.
    path: Box<serde_json::value::RawValue>,
    label: String,
    why: String,
    reason: String,
    needs: Option<String>,
}

impl Row {
    fn is_allowed(&self) -> bool {
        self.label == "allow"
    }

    fn complaint(&self, answer: &str) -> String {
        format!("{} {} {}: {answer}", self.id, self.why, self.reason)
    }
}

fn corpus() -> Vec<Row> {
    let text = include_str!("memory_paths.jsonl");
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

/// What the paths of the corpus expect to find.
struct Fixture {
    folder: TempDir,
    project: Project,
    memory: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path();
        let project = Project {
            folder: base.join("home/.claude/projects/-ws"),
            outside: base.join("outside"),
            home: base.join("home"),
            workspace: base.join("ws"),
        };
        project.fill();
        let memory = project.memory();
        Self { folder, project, memory }
    }

    /// The line that asks for this path.
    fn line(&self, row: &Row) -> String {
        format!("{{\"path\": {}}}", self.project.localized(row.path.get()))
    }
}

#[test]
fn the_fixture_holds_what_the_corpus_needs() {
    let fixture = Fixture::new();
    for row in corpus() {
        let Some(needs) = &row.needs else { continue };
        let name = needs.split_whitespace().next().expect("a name");
        let path = fixture.memory.join(name.trim_end_matches('/'));
        assert!(path.symlink_metadata().is_ok(), "{} {needs}", row.id);
    }
}

/// Asked twice: of the program, and of the library where the path can be a path.
#[test]
fn every_path_is_judged_right() {
    let (fixture, rows) = (Fixture::new(), corpus());
    let lines: Vec<String> = rows.iter().map(|row| fixture.line(row)).collect();
    let beneath = Beneath::open(&fixture.memory).expect("the memory folder");
    let root = fixture.memory.to_str().expect("a UTF-8 path");
    let mut wrong = Vec::new();
    for ((row, line), answer) in rows.iter().zip(&lines).zip(answers(&["path", "--root", root], &lines)) {
        assert!(answer["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{answer}");
        if answer["allow"] != json!(row.is_allowed()) {
            wrong.push(row.complaint(&answer.to_string()));
        }
        if let Ok(input) = serde_json::from_str::<Value>(line) {
            let path = input["path"].as_str().expect("a path");
            let judged = beneath.check(Path::new(path));
            assert_eq!(json!(judged.is_ok()), answer["allow"], "{}", row.complaint(&format!("{judged:?}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows.len() >= 124);
}

#[test]
fn what_is_allowed_is_written_and_nothing_else_changes() {
    let (fixture, rows) = (Fixture::new(), corpus());
    let lines: Vec<String> = rows.iter().map(|row| fixture.line(row)).collect();
    let root = fixture.memory.to_str().expect("a UTF-8 path");
    let outside = || tree(fixture.folder.path(), &fixture.memory);
    let (before, inside) = (outside(), tree(&fixture.memory, Path::new("/")));
    let mut written: Vec<PathBuf> = Vec::new();
    for ((row, line), answer) in
        rows.iter().zip(&lines).zip(answers(&["path", "--root", root, "--write"], &lines))
    {
        assert_eq!(answer["allow"], json!(row.is_allowed()), "{}", row.complaint(&answer.to_string()));
        if row.is_allowed() {
            let input: Value = serde_json::from_str(line).expect("a path in Unicode");
            let path = PathBuf::from(input["path"].as_str().expect("a path"));
            assert_eq!(fs::read_to_string(&path).expect("it was written"), "x", "{}", row.id);
            written.push(path.canonicalize().expect("it exists"));
        }
    }
    // The memory folder itself got new entries, so its own time differs.
    let changed = differences(&before, &outside());
    assert!(changed.iter().all(|path| *path == fixture.memory), "{changed:?}");
    let memory = fixture.memory.canonicalize().expect("it exists");
    for path in differences(&inside, &tree(&fixture.memory, Path::new("/"))) {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let expected = path.is_dir() || written.contains(&real);
        assert!(expected && real.starts_with(&memory), "{} changed", path.display());
    }
}

#[test]
fn bytes_that_are_no_text_name_nothing() {
    let fixture = Fixture::new();
    let root = fixture.memory.to_str().expect("a UTF-8 path");
    // `/\xff.md`
    let answer = answers(&["path", "--root", root], &[r#"{"path_b64": "L/8ubWQ="}"#.to_owned()]);
    assert_eq!(answer[0]["allow"], false);
}
