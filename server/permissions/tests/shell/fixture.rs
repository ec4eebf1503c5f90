//! A folder to run lines in, with names that would do harm if a pattern became an option.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use permissions::{
    Judged,
    shell::{Programs, Surroundings, Trusted, judge_in},
};

pub struct Fixture {
    _folder: tempfile::TempDir,
    pub cwd: PathBuf,
    pub home: PathBuf,
}

const FILES: &[&str] = &[
    "README.md",
    "notes.md",
    "MEMORY.md",
    "log.txt",
    "patterns.txt",
    "file with spaces.md",
    "a'b.md",
    "-x.md",
    "-delete",
    "-exec",
    "--include=x.md",
    "topics/a.md",
    "topics/b.md",
    "topics/[x].md",
    "src/main.rs",
    "src/lib.rs",
    ".hidden.md",
    "é.md",
];

pub fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (cwd, home) = (base.join("ws"), base.join("home"));
    fs::create_dir_all(&home).unwrap();
    for file in FILES {
        let path = cwd.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "text\n").unwrap();
    }
    for folder in ["objects", "refs"] {
        fs::create_dir_all(cwd.join(".git").join(folder)).unwrap();
    }
    fs::write(cwd.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    assert!(Command::new("mkfifo").arg(cwd.join("fifo")).status().unwrap().success());
    Fixture { _folder: folder, cwd, home }
}

impl Fixture {
    pub fn judge(&self, command: &str, programs: Programs) -> Result<Judged, String> {
        self.judge_with(command, programs, Trusted::Assumed)
    }

    pub fn judge_with(&self, command: &str, programs: Programs, trusted: Trusted) -> Result<Judged, String> {
        judge_in(command, &Surroundings { cwd: &self.cwd, home: Some(&self.home), programs, trusted })
    }
}

/// One row of a corpus.
pub struct Row {
    pub command: String,
    pub label: String,
    pub why: String,
}

pub fn corpus() -> Vec<Row> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpora/bash_readonly.jsonl");
    let field = |row: &serde_json::Value, name: &str| row[name].as_str().unwrap().to_owned();
    fs::read_to_string(file)
        .unwrap()
        .lines()
        .map(|line| {
            let row = serde_json::from_str(line).unwrap();
            Row { command: field(&row, "cmd"), label: field(&row, "label"), why: field(&row, "why") }
        })
        .collect()
}
