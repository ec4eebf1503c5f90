//! The repository's state for the system prompt: branch, short status, last commits. Read once a session.
//!
//! Branches come from git's own files. The rest asks `git`, unless the repository's config says more than the usual
//! (`git/config.rs`): opening a folder must never run what the folder says. What is read goes through `git/text.rs`.

mod config;
#[cfg(test)]
mod tests;
mod text;

use std::{
    fs::{self, File},
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use settings::directories;

/// A repository so large or so broken that git takes longer is described by the model's own calls.
const LIMIT: Duration = Duration::from_secs(2);

/// More than git writes into a file that holds one name.
const NAME_BYTES: u64 = 4 << 10;

/// All branches of a large repository; in a larger one the main branch is not found out.
const PACKED_BYTES: u64 = 4 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitState {
    pub branch: String,
    pub main_branch: Option<String>,
    pub status: Option<String>,
    pub commits: Option<String>,
}

/// `None` outside a repository. What git does not say within [`LIMIT`] is left out. In a folder that is not trusted no
/// program runs, git included.
pub(crate) async fn read(folder: PathBuf, trusted: bool) -> Option<GitState> {
    let reading = tokio::task::spawn_blocking(move || {
        let git_dir = directories::git_dir(&folder)?;
        let repository = Repository {
            root: directories::git_root(&folder)?,
            common: directories::common_git_dir(&git_dir),
            git_dir,
        };
        let state = GitState {
            branch: current_branch(&repository.git_dir)?,
            main_branch: main_branch(&repository.common),
            ..GitState::default()
        };
        let safe = trusted && repository.is_safe();
        Some((repository, state, safe))
    });
    let (repository, state, safe) = reading.await.ok().flatten()?;
    if !safe {
        return Some(state);
    }
    let (status, commits) = tokio::join!(
        repository.ask(&["status", "--short", "--no-branch", "--ignore-submodules=all"]),
        repository.ask(&["log", "--oneline", "--no-decorate", "--no-show-signature", "--no-color", "-5"]),
    );
    Some(GitState {
        status: status.map(|printed| text::lines(&printed, "more changes; run git status for all")),
        commits: commits.map(|printed| text::lines(&printed, "more commits; run git log for all")),
        ..state
    })
}

/// The branch alone, for stamping records: a file read.
pub(crate) fn branch(folder: &Path) -> Option<String> {
    current_branch(&directories::git_dir(folder)?)
}

fn current_branch(git_dir: &Path) -> Option<String> {
    let path = git_dir.join("HEAD");
    // What holds more than a name, or no text, is a `HEAD` all the same.
    let Some(head) = read_small(&path, NAME_BYTES) else {
        return path.is_file().then(|| text::ODD.to_owned());
    };
    let head = head.trim_end();
    if let Some(target) = head.strip_prefix("ref:") {
        let branch = target.trim_start().strip_prefix("refs/heads/");
        return Some(branch.map_or_else(|| text::ODD.to_owned(), text::branch_name));
    }
    let short = head.get(..12).filter(|_| head.bytes().all(|byte| byte.is_ascii_hexdigit()));
    Some(short.map_or_else(|| text::ODD.to_owned(), |short| format!("(detached at {short})")))
}

fn main_branch(common: &Path) -> Option<String> {
    if let Some(head) = read_small(&common.join("refs/remotes/origin/HEAD"), NAME_BYTES)
        && let Some(branch) = head.trim_end().strip_prefix("ref: refs/remotes/origin/")
    {
        return Some(text::branch_name(branch));
    }
    let packed = read_small(&common.join("packed-refs"), PACKED_BYTES).unwrap_or_default();
    ["main", "master"]
        .into_iter()
        .find(|name| {
            let reference = format!("refs/heads/{name}");
            common.join(&reference).is_file() || packed.lines().any(|line| line.ends_with(&reference))
        })
        .map(str::to_owned)
}

struct Repository {
    root: PathBuf,
    git_dir: PathBuf,
    common: PathBuf,
}

impl Repository {
    /// Whether git may run: here is a repository, of this user, and its config says nothing but the usual.
    fn is_safe(&self) -> bool {
        // Telling git where to look, below, also turns off its own check that nobody else made the repository.
        let user = rustix::process::geteuid().as_raw();
        let ours = |folder: &Path| fs::metadata(folder).is_ok_and(|metadata| metadata.uid() == user);
        let configs = [
            self.common.join("config"),
            self.common.join("config.worktree"),
            self.git_dir.join("config.worktree"),
        ];
        self.common.join("objects").is_dir()
            && self.common.join("refs").is_dir()
            && [&self.root, &self.git_dir, &self.common].into_iter().all(|folder| ours(folder))
            && configs.iter().all(|file| config::is_usual(file))
    }

    async fn ask(&self, arguments: &[&str]) -> Option<String> {
        let output = tokio::process::Command::new("git")
            .args([
                "-c",
                "core.fsmonitor=false",
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "color.status=false",
            ])
            .arg("--no-pager")
            .args(arguments)
            .current_dir(&self.root)
            // This repository and no other: left to itself git takes one further up where it does not like this one.
            .env("GIT_DIR", &self.git_dir)
            .env("GIT_COMMON_DIR", &self.common)
            .env("GIT_WORK_TREE", &self.root)
            .env_remove("GIT_INDEX_FILE")
            .env_remove("GIT_OBJECT_DIRECTORY")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(LIMIT, output).await.ok()?.ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// git's own small files; never a pipe or a device.
fn read_small(path: &Path, most: u64) -> Option<String> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(most + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= most).then_some(text)
}
