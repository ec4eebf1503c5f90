//! The repository's state for the system prompt: branch, short status, last commits. Read once a session.
//!
//! Branches come from git's own files. The rest asks `git`, unless the repository's config names a program that
//! git might start on the way: opening a folder must never run what the folder says.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use settings::directories;

/// Longer statuses are cut: they are a hint, and the model can ask for the rest.
const STATUS_CHARS: usize = 2_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitState {
    pub branch: String,
    pub main_branch: Option<String>,
    pub status: Option<String>,
    pub commits: Option<String>,
}

/// `None` outside a repository. Blocks for as long as two runs of git take.
pub(crate) fn read(folder: &Path) -> Option<GitState> {
    let root = directories::git_root(folder)?;
    let git_dir = git_dir(&root)?;
    let common = common_dir(&git_dir);
    let (branch, main_branch) = (current_branch(&git_dir)?, main_branch(&common));
    if names_a_program(&common) {
        return Some(GitState { branch, main_branch, ..GitState::default() });
    }
    let (status, commits) = std::thread::scope(|scope| {
        let status = scope.spawn(|| run(&root, &["status", "--short", "--ignore-submodules=all"]));
        let commits = run(&root, &["log", "--oneline", "--no-decorate", "--no-show-signature", "-5"]);
        (status.join().ok().flatten(), commits)
    });
    Some(GitState { branch, main_branch, status: status.map(|text| cut(&text)), commits })
}

/// The branch alone, for stamping records: a file read.
pub(crate) fn branch(folder: &Path) -> Option<String> {
    current_branch(&git_dir(&directories::git_root(folder)?)?)
}

fn git_dir(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    if dot_git.is_dir() {
        return Some(dot_git);
    }
    let text = fs::read_to_string(&dot_git).ok()?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}

fn common_dir(git_dir: &Path) -> PathBuf {
    match fs::read_to_string(git_dir.join("commondir")) {
        Ok(relative) => git_dir.join(relative.trim()),
        Err(_) => git_dir.to_owned(),
    }
}

fn current_branch(git_dir: &Path) -> Option<String> {
    let head = fs::read_to_string(git_dir.join("HEAD")).ok()?;
    let head = head.trim();
    match head.strip_prefix("ref: refs/heads/") {
        Some(branch) => Some(branch.to_owned()),
        None => Some(format!("(detached at {})", head.get(..12).unwrap_or(head))),
    }
}

fn main_branch(common: &Path) -> Option<String> {
    if let Ok(head) = fs::read_to_string(common.join("refs/remotes/origin/HEAD"))
        && let Some(branch) = head.trim().strip_prefix("ref: refs/remotes/origin/")
    {
        return Some(branch.to_owned());
    }
    let packed = fs::read_to_string(common.join("packed-refs")).unwrap_or_default();
    ["main", "master"]
        .into_iter()
        .find(|name| {
            let reference = format!("refs/heads/{name}");
            common.join(&reference).is_file() || packed.lines().any(|line| line.ends_with(&reference))
        })
        .map(str::to_owned)
}

/// Whether the repository's own config could make git start a program or read another config.
fn names_a_program(common: &Path) -> bool {
    ["config", "config.worktree"].into_iter().any(|name| {
        let text = fs::read_to_string(common.join(name)).unwrap_or_default().to_ascii_lowercase();
        [
            "[filter",
            "[include",
            "fsmonitor",
            "textconv",
            "external",
            "command",
            "worktree =",
            "gpg",
            "program",
            "pager",
        ]
        .iter()
        .any(|word| text.contains(word))
    })
}

fn run(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager"])
        .args(arguments)
        .current_dir(root)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

fn cut(status: &str) -> String {
    match status.char_indices().nth(STATUS_CHARS) {
        None => status.to_owned(),
        Some((end, _)) => {
            let kept = status.get(..end).unwrap_or_default();
            let kept = kept.rsplit_once('\n').map_or(kept, |(lines, _)| lines);
            format!("{kept}\n… (more changes; run git status for all)")
        }
    }
}
