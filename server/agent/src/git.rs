//! The repository's state for the system prompt: branch, short status, last commits. Read once a session.
//!
//! Branches come from git's own files. The rest asks `git`, unless the repository's config names a program that
//! git might start on the way: opening a folder must never run what the folder says.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use settings::directories;

/// Longer statuses are cut: they are a hint, and the model can ask for the rest.
const STATUS_CHARS: usize = 2_000;

/// A repository so large or so broken that git takes longer is described by the model's own calls.
const LIMIT: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitState {
    pub branch: String,
    pub main_branch: Option<String>,
    pub status: Option<String>,
    pub commits: Option<String>,
}

/// `None` outside a repository. What git does not say within [`LIMIT`] is left out.
pub(crate) async fn read(folder: PathBuf) -> Option<GitState> {
    let reading = tokio::task::spawn_blocking(move || {
        let root = directories::git_root(&folder)?;
        let git_dir = directories::git_dir(&folder)?;
        let common = directories::common_git_dir(&git_dir);
        let state = GitState {
            branch: current_branch(&git_dir)?,
            main_branch: main_branch(&common),
            ..GitState::default()
        };
        Some((root, state, names_a_program(&git_dir, &common)))
    });
    let (root, state, risky) = reading.await.ok().flatten()?;
    if risky {
        return Some(state);
    }
    let (status, commits) = tokio::join!(
        run(&root, &["status", "--short", "--ignore-submodules=all"]),
        run(&root, &["log", "--oneline", "--no-decorate", "--no-show-signature", "-5"]),
    );
    Some(GitState { status: status.map(|text| cut(&text)), commits, ..state })
}

/// The branch alone, for stamping records: a file read.
pub(crate) fn branch(folder: &Path) -> Option<String> {
    current_branch(&directories::git_dir(folder)?)
}

fn current_branch(git_dir: &Path) -> Option<String> {
    let head = read_small(&git_dir.join("HEAD"))?;
    let head = head.trim();
    match head.strip_prefix("ref: refs/heads/") {
        Some(branch) => Some(branch.to_owned()),
        None => Some(format!("(detached at {})", head.get(..12).unwrap_or(head))),
    }
}

fn main_branch(common: &Path) -> Option<String> {
    if let Some(head) = read_small(&common.join("refs/remotes/origin/HEAD"))
        && let Some(branch) = head.trim().strip_prefix("ref: refs/remotes/origin/")
    {
        return Some(branch.to_owned());
    }
    let packed = read_small(&common.join("packed-refs")).unwrap_or_default();
    ["main", "master"]
        .into_iter()
        .find(|name| {
            let reference = format!("refs/heads/{name}");
            common.join(&reference).is_file() || packed.lines().any(|line| line.ends_with(&reference))
        })
        .map(str::to_owned)
}

/// Whether the repository's own config could make git start a program, fetch, or read another config.
fn names_a_program(git_dir: &Path, common: &Path) -> bool {
    const WORDS: [&str; 15] = [
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
        "promisor",
        "partialclone",
        "uploadpack",
        "protocol",
        "alternate",
    ];
    let files = [common.join("config"), common.join("config.worktree"), git_dir.join("config.worktree")];
    files.iter().any(|file| {
        let text = read_small(file).unwrap_or_default().to_ascii_lowercase();
        WORDS.iter().any(|word| text.contains(word))
    })
}

async fn run(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = tokio::process::Command::new("git")
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager"])
        .args(arguments)
        .current_dir(root)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(LIMIT, output).await.ok()?.ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// git's own small files; never a pipe or a device.
fn read_small(path: &Path) -> Option<String> {
    const MOST: u64 = 4 << 20;
    let kind = fs::metadata(path).ok()?;
    if !kind.is_file() || kind.len() > MOST {
        return None;
    }
    fs::read_to_string(path).ok()
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
