//! A home and a workspace in a temporary folder, made from one string:
//!
//! ```text
//! //- src/main.rs
//! fn main() {}
//! //- ~/.claude/settings.json
//! { "model": "sonnet" }
//! ```

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

pub struct Fixture {
    // Held for its drop, which removes everything.
    _folder: TempDir,
    pub home: PathBuf,
    pub workspace: PathBuf,
}

impl Fixture {
    /// Paths are relative to the workspace, or to the home with `~/`.
    pub fn new(files: &str) -> Self {
        let folder = TempDir::with_prefix("reverie-").expect("a temporary folder");
        // The real path: what a server that resolves links will say too.
        let root = folder.path().canonicalize().expect("the folder exists");
        let fixture = Self { home: root.join("home"), workspace: root.join("workspace"), _folder: folder };
        fs::create_dir(&fixture.home).expect("a fresh folder");
        fs::create_dir(&fixture.workspace).expect("a fresh folder");
        for (path, text) in parse(files) {
            fixture.write(&path, &text);
        }
        fixture
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        match relative.strip_prefix("~/") {
            Some(in_home) => self.home.join(in_home),
            None => self.workspace.join(relative),
        }
    }

    pub fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders can be made");
        fs::write(&path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }

    pub fn read(&self, relative: &str) -> String {
        let path = self.path(relative);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
    }

    pub fn config_home(&self) -> PathBuf {
        self.home.join(".claude")
    }

    /// Everything a server under test may see of the environment.
    pub fn environment(&self, model_url: &str) -> BTreeMap<String, String> {
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
        let home = self.home.to_str().expect("test paths are UTF-8").to_owned();
        let config = self.config_home().to_str().expect("test paths are UTF-8").to_owned();
        BTreeMap::from([
            ("PATH".to_owned(), path),
            ("HOME".to_owned(), home),
            ("CLAUDE_CONFIG_DIR".to_owned(), config),
            ("ANTHROPIC_BASE_URL".to_owned(), model_url.to_owned()),
            ("ANTHROPIC_API_KEY".to_owned(), "test-key".to_owned()),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("SHELL".to_owned(), "/bin/bash".to_owned()),
        ])
    }

    /// The folder where Claude Code's layout keeps the transcripts of the workspace.
    pub fn project_dir(&self) -> PathBuf {
        let path = self.workspace.to_str().expect("test paths are UTF-8");
        let slug: String = path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        self.config_home().join("projects").join(slug)
    }

    pub fn transcript(&self, session: &str) -> PathBuf {
        self.project_dir().join(format!("{session}.jsonl"))
    }

    /// Makes the workspace a repository with everything committed, the same on every machine.
    pub fn git_init(&self) {
        self.git(&["init", "--quiet", "--initial-branch=main"]);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=start"]);
    }

    pub fn git(&self, arguments: &[&str]) {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(&self.workspace)
            .env("HOME", &self.home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Test")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "test@example.com")))
            .envs(["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(|name| (name, "2026-01-01T00:00:00Z")))
            .output()
            .expect("git is installed");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Everything in the workspace with mode and bytes; of a link its target.
    pub fn contents(&self) -> BTreeMap<String, (u32, Vec<u8>)> {
        use std::os::unix::{ffi::OsStrExt, fs::MetadataExt};
        let mut found = BTreeMap::new();
        let mut folders = vec![self.workspace.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder can be read").flatten() {
                let path = entry.path();
                let metadata = path.symlink_metadata().expect("an entry can be looked at");
                let bytes = if metadata.is_dir() {
                    folders.push(path.clone());
                    Vec::new()
                } else if metadata.is_symlink() {
                    fs::read_link(&path).expect("a link has a target").as_os_str().as_bytes().to_vec()
                } else {
                    fs::read(&path).expect("a file can be read")
                };
                let name = path.strip_prefix(&self.workspace).expect("below it").display().to_string();
                found.insert(name, (metadata.mode(), bytes));
            }
        }
        found
    }

    /// The files of the workspace, one path a line, sorted; `.git` left out.
    pub fn tree(&self) -> String {
        let mut paths = Vec::new();
        collect(&self.workspace, &self.workspace, &mut paths);
        paths.sort();
        paths.into_iter().map(|path| path + "\n").collect()
    }

    /// What stands for the machine's own paths in snapshots.
    pub fn replacements(&self) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_str().expect("test paths are UTF-8").to_owned();
        vec![(text(&self.workspace), "<workspace>".to_owned()), (text(&self.home), "<home>".to_owned())]
    }
}

/// Paths and texts.
pub fn parse(files: &str) -> Vec<(String, String)> {
    let mut parsed: Vec<(String, String)> = Vec::new();
    for line in files.split_inclusive('\n') {
        match (line.strip_prefix("//- "), parsed.last_mut()) {
            (Some(path), _) => parsed.push((path.trim().to_owned(), String::new())),
            (None, Some((_, text))) => text.push_str(line),
            (None, None) => assert!(line.trim().is_empty(), "text before the first `//- path`: {line}"),
        }
    }
    parsed
}

fn collect(root: &Path, folder: &Path, paths: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder of the fixture").map(|entry| entry.expect("an entry"))
    {
        let path = entry.path();
        if entry.file_type().expect("a type").is_dir() {
            if entry.file_name() != ".git" {
                collect(root, &path, paths);
            }
        } else {
            let relative = path.strip_prefix(root).expect("inside the root");
            paths.push(relative.to_str().expect("test paths are UTF-8").to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_from_one_string() {
        let fixture =
            Fixture::new("//- a.txt\none\n//- src/b.rs\nfn b() {}\n//- ~/.claude/settings.json\n{}\n");
        assert_eq!(fixture.tree(), "a.txt\nsrc/b.rs\n");
        assert_eq!(fixture.read("a.txt"), "one\n");
        assert_eq!(fixture.read("~/.claude/settings.json"), "{}\n");
        fixture.git_init();
        assert_eq!(fixture.tree(), "a.txt\nsrc/b.rs\n");
    }
}
