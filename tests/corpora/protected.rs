//! Files that other programs run or obey: forty of them, each there, missing, behind a link, and in a missing folder;
//! and every usual way to write one. "0 written."

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::json;
use tempfile::TempDir;

use crate::{
    program::{answers, binary},
    tree::{differences, tree},
};

const PROTECTED: [&str; 40] = [
    "home/.bashrc",
    "home/.bash_profile",
    "home/.zshrc",
    "home/.zshenv",
    "home/.profile",
    "home/.gitconfig",
    "home/.config/git/config",
    "home/.ssh/authorized_keys",
    "home/.ssh/config",
    "home/.netrc",
    "home/.npmrc",
    "home/.cargo/config.toml",
    "home/.config/fish/config.fish",
    "home/.config/nvim/init.lua",
    "home/.config/systemd/user/x.service",
    "home/.config/autostart/x.desktop",
    "home/.local/bin/ls",
    "home/.ripgreprc",
    "home/.claude/CLAUDE.md",
    "home/.claude/settings.json",
    "home/.claude/commands/x.md",
    "home/.claude/agents/x.md",
    "home/.claude/skills/x/SKILL.md",
    "home/.claude/projects/-ws/session.jsonl",
    "ws/.git/config",
    "ws/.git/hooks/pre-commit",
    "ws/.git/info/attributes",
    "ws/.gitmodules",
    "ws/.gitattributes",
    "ws/.mcp.json",
    "ws/.claude/settings.json",
    "ws/.claude/settings.local.json",
    "ws/.claude/commands/x.md",
    "ws/CLAUDE.md",
    "ws/AGENTS.md",
    "ws/.vscode/settings.json",
    "ws/.vscode/tasks.json",
    "ws/.idea/workspace.xml",
    "ws/.nvim.lua",
    "ws/.envrc",
];

/// Each with the path as its first argument; the folder for new files is the second.
const WAYS: &str = r#"
    mkdir -p "$(dirname "$1")"; echo x > "$1"; echo x >> "$1"; : <> "$1"; truncate -s 0 "$1"; tee "$1" < /dev/null; rm -f "$1"
    ln -sf "$2/mine" "$1"; ln -f "$2/mine" "$1"; cp "$2/mine" "$1"; mv -f "$1" "$2/taken"; mv -f "$2/mine" "$1"; dd of="$1" < /dev/null
    touch "$1"; chmod 777 "$1"; mkfifo "$1"; rmdir "$(dirname "$1")"; sed -i s/o/x/ "$1"; sort -o "$1" /dev/null; mkdir "$1"
    cd "$(dirname "$1")" && echo x > "$(basename "$1")"; echo x > "/proc/self/cwd/$(basename "$1")"; cd /; echo x > "./$1"
    HOME=$2 TMPDIR=$(dirname "$1") GIT_DIR=$(dirname "$1") git config --file "$1" a.b c; git config --global a.b c
"#;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Exists,
    Missing,
    /// A link in the memory folder leads there.
    Linked,
    ParentMissing,
}

fn fixture(state: State) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let base = folder.path();
    for made in ["home", "ws", "memory/links"] {
        fs::create_dir_all(base.join(made)).expect("a folder");
    }
    for (number, path) in PROTECTED.iter().enumerate() {
        let path = base.join(path);
        if state != State::ParentMissing {
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        }
        if matches!(state, State::Exists | State::Linked) {
            fs::write(&path, "old").expect("a file");
        }
        if state == State::Linked {
            symlink(&path, base.join(format!("memory/links/{number}.md"))).expect("a link");
        }
    }
    folder
}

/// How a command or an agent would name it.
fn named(base: &Path, state: State) -> Vec<String> {
    let path = |(number, path): (usize, &&str)| match state {
        State::Linked => base.join(format!("memory/links/{number}.md")),
        _ => base.join(path),
    };
    PROTECTED.iter().enumerate().map(path).map(|path| path.to_str().expect("UTF-8").to_owned()).collect()
}

fn check(state: State) {
    let folder = fixture(state);
    let base = folder.path();
    let memory = base.join("memory");
    let outside = || tree(base, &memory);
    let before = outside();
    let lines: Vec<String> =
        named(base, state).iter().map(|path| json!({"path": path}).to_string()).collect();
    for answer in answers(&["path", "--write", "--root", memory.to_str().expect("UTF-8")], &lines) {
        assert_eq!(answer["allow"], false, "{answer}");
    }
    let script = format!(
        "try() {{ echo x > \"$2/mine\"; {WAYS} }}\nfor path; do try \"$path\" \"$MEMORY\"; done; exit 0"
    );
    let script = script.replace("$MEMORY", memory.to_str().expect("UTF-8"));
    let mut command = std::process::Command::new(binary());
    command
        .args(["debug", "sandbox", "--limit", "60", "--memory"])
        .arg(&memory)
        .args(["--", "bash", "-c", &script, "bash"]);
    let output = command.args(named(base, state)).env("HOME", base.join("home")).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let changed = differences(&before, &outside());
    assert!(changed.iter().all(|path| *path == memory), "{state:?}: {changed:?}");
}

#[test]
fn files_that_exist_are_not_changed() {
    check(State::Exists);
}

#[test]
fn files_that_are_missing_are_not_made() {
    check(State::Missing);
}

#[test]
fn links_do_not_lead_to_them() {
    check(State::Linked);
}

#[test]
fn their_folders_are_not_made() {
    check(State::ParentMissing);
}
