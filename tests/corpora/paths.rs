//! May a background agent write here? Every path of the corpus, asked of the program and of the library, and written to.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use workspace::Beneath;

use crate::{
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
    memory: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path();
        let project = base.join("home/.claude/projects/-ws");
        let memory = project.join("memory");
        let outside = base.join("outside");
        for made in [
            &memory.join("topics"),
            &memory.join("team"),
            &memory.join("dir.md"),
            &memory.join(".git/hooks"),
            &project.join("other"),
            &outside,
            &base.join("ws/.git/hooks"),
            &base.join("ws/.claude"),
        ] {
            fs::create_dir_all(made).expect("a folder");
        }
        let files = [
            memory.join("MEMORY.md"),
            memory.join("user.md"),
            memory.join("topics/a.md"),
            memory.join(".consolidate-lock"),
            project.join("session.jsonl"),
            outside.join("secret.md"),
            base.join("home/.bashrc"),
        ];
        for file in files {
            fs::write(file, "old").expect("a file");
        }
        let links = [
            ("link_file.md", outside.join("secret.md")),
            ("link_dir", outside.clone()),
            ("link_rel", PathBuf::from("../../..")),
            ("chain1", PathBuf::from("chain2")),
            ("chain2", outside.clone()),
            ("dangling_dir", outside.join("nodir")),
            ("dangling.md", outside.join("nothing.md")),
            ("topics/proc", PathBuf::from("/proc/self")),
            ("loop.md", PathBuf::from("loop.md")),
            ("a_loop", PathBuf::from("b_loop")),
            ("b_loop", PathBuf::from("a_loop")),
            ("topics/up", PathBuf::from("../..")),
            ("inner_link.md", PathBuf::from("MEMORY.md")),
            ("dir_inner", PathBuf::from("topics")),
            ("link_lock.md", PathBuf::from(".consolidate-lock")),
        ];
        for (name, target) in links {
            symlink(target, memory.join(name)).expect("a link");
        }
        fs::hard_link(outside.join("secret.md"), memory.join("hard.md")).expect("a link");
        UnixListener::bind(memory.join("socket.md")).expect("a socket");
        make_special("mkfifo", &[], &memory.join("fifo.md"));
        // Only root makes devices; a pipe is as special.
        if !make_special("mknod", &["c", "1", "3"], &memory.join("dev_null.md")) {
            make_special("mkfifo", &[], &memory.join("dev_null.md"));
        }
        Self { folder, memory }
    }

    /// The line that asks for this path.
    fn line(&self, row: &Row) -> String {
        let base = self.folder.path().display().to_string();
        let project = format!("{base}/home/.claude/projects/-ws");
        let path = row
            .path
            .get()
            .replace("@MEM@", &format!("{project}/memory"))
            .replace("@PROJ@", &project)
            .replace("@HOME@", &format!("{base}/home"))
            .replace("@OUT@", &format!("{base}/outside"))
            .replace("@WS@", &format!("{base}/ws"));
        format!("{{\"path\": {path}}}")
    }
}

fn make_special(program: &str, arguments: &[&str], path: &Path) -> bool {
    let status = Command::new(program).arg(path).args(arguments).stderr(std::process::Stdio::null()).status();
    status.expect("it is installed").success()
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
