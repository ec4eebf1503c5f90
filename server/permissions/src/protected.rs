//! Files whose change runs something later: what version control, shells, editors and we ourselves obey.
//!
//! What a project's own tools run when the user runs them (package scripts, build files, what a server does after a
//! push) is the project, and not among them.

use std::{borrow::Cow, path::Path};

use crate::{
    names::{self, contains, folded},
    paths::Place,
};

/// Whatever lies in such a folder is protected.
const FOLDERS: &[&str] = &[
    ".git",
    ".hg",
    ".jj",
    ".githooks",
    ".husky",
    ".ssh",
    // Editors.
    ".vscode",
    ".idea",
    ".fleet",
    ".vs",
    ".zed",
    ".helix",
    ".cursor",
    ".windsurf",
    ".devcontainer",
    ".vim",
    ".nvim",
    ".emacs.d",
    ".doom.d",
    // Shells.
    ".bashrc.d",
    ".zshrc.d",
    ".oh-my-zsh",
];

/// Likewise, where one name alone would say too little.
const NESTED_FOLDERS: &[&str] = &[
    ".config/git",
    // Shells, and what starts with the user's session.
    ".config/bash",
    ".config/fish",
    ".config/nushell",
    ".config/zsh",
    ".config/tmux",
    ".config/direnv",
    ".config/mise",
    ".config/environment.d",
    ".config/autostart",
    ".config/systemd",
    "library/launchagents",
    // Editors.
    ".config/nvim",
    ".config/vim",
    ".config/emacs",
    ".config/doom",
    ".config/helix",
    ".config/kak",
    ".config/zed",
    ".config/code",
    ".config/vscodium",
    ".config/cursor",
    "application support/code",
];

/// Below `.claude`: what is read as instructions to run something.
const CLAUDE_FOLDERS: &[&str] =
    &[".claude/commands", ".claude/agents", ".claude/hooks", ".claude/skills", ".claude/plugins"];

const FILES: &[&str] = &[
    // Shells, and what starts with the user's session.
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".bash_completion",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".profile",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".inputrc",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    ".xsessionrc",
    ".pam_environment",
    ".tmux.conf",
    ".screenrc",
    // Obeyed by the shell as soon as it enters the folder.
    ".envrc",
    ".direnvrc",
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".mise.local.toml",
    // Version control, and what its hooks run.
    ".gitconfig",
    ".gitmodules",
    ".hgrc",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yaml",
    // A folder becomes a repository, whose configuration git obeys, by this file.
    "head",
    ".ripgreprc",
    // Editors.
    ".exrc",
    ".vimrc",
    ".gvimrc",
    ".lvimrc",
    ".local.vimrc",
    ".ideavimrc",
    ".nvimrc",
    ".nvim.lua",
    ".lazy.lua",
    ".neoconf.json",
    ".emacs",
    ".spacemacs",
    ".dir-locals.el",
    ".dir-locals-2.el",
    ".kakrc",
    ".devcontainer.json",
    // Our own: servers that are started, and the user's record of what was trusted and granted.
    ".mcp.json",
    ".claude.json",
    "managed-settings.json",
    "reverie-trust.json",
    "reverie-allowed.json",
    "reverie-includes.json",
];

const ENDINGS: &[&str] = &[".code-workspace", ".sublime-project"];

/// What git keeps in a repository's folder, whatever that is called.
const PARTS_OF_A_REPOSITORY: &[&str] = &[
    "head",
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "hooks",
    "info",
    "index",
    "logs",
    "modules",
    "objects",
    "packed-refs",
    "refs",
    "worktrees",
];

/// On macOS a file's content also has a path of its own: `x/..namedfork/data`.
const FORK: &str = "..namedfork";

/// The part of the path that makes it a file whose change runs something later.
pub(crate) fn protected_part(place: &Place) -> Option<&'static str> {
    place
        .spellings()
        .find_map(protected_below)
        .or_else(|| place.real.as_deref().is_some_and(is_part_of_a_repository).then_some(".git"))
}

/// Likewise by these names alone.
pub(crate) fn protected_below(path: &Path) -> Option<&'static str> {
    let names = folded(path);
    let folder = FOLDERS.iter().find(|name| names.iter().any(|part| names::is(part, name)));
    folder
        .or_else(|| NESTED_FOLDERS.iter().find(|folder| contains(&names, folder)))
        .copied()
        .or_else(|| CLAUDE_FOLDERS.iter().any(|folder| contains(&names, folder)).then_some(".claude"))
        .or_else(|| protected_file(&names))
}

fn protected_file(names: &[Cow<'_, str>]) -> Option<&'static str> {
    let (file, folders) = names.split(|part| part == FORK).next()?.split_last()?;
    if let Some(name) = FILES.iter().find(|name| names::is(file, name)) {
        return Some(name);
    }
    if let Some(ending) = ENDINGS.iter().find(|ending| file.ends_with(**ending)) {
        return Some(ending);
    }
    let in_claude = folders.last().is_some_and(|folder| names::is(folder, ".claude"));
    let is_settings = file.starts_with("settings") && file.ends_with(".json");
    (in_claude && (is_settings || names::is(file, "settings.json"))).then_some(".claude")
}

/// A repository may lie beside its checkout under any name, with a `.git` file that leads there, or be bare. A checkout
/// may also lie inside of it.
fn is_part_of_a_repository(path: &Path) -> bool {
    let is_repository = |folder: &Path| {
        let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
        has("HEAD") && ((has("objects") && has("refs")) || has("commondir"))
    };
    path.ancestors().skip(1).any(|folder| {
        let below = path.strip_prefix(folder).map(folded).unwrap_or_default();
        let is_own = |first: &Cow<'_, str>| PARTS_OF_A_REPOSITORY.iter().any(|part| names::is(first, part));
        below.first().is_some_and(is_own) && is_repository(folder)
    })
}
