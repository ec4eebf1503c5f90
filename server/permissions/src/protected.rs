//! Files whose change runs something later, and files whose text is a secret.
//!
//! Names are compared without regard to case: on some file systems `.GIT` is `.git`.

use std::path::Path;

use crate::paths::Place;

/// Whatever lies in such a folder is protected.
const FOLDERS: &[&str] = &[".git", ".vscode", ".idea", ".husky", ".ssh", ".devcontainer"];

const FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".profile",
    ".envrc",
    ".gitconfig",
    ".gitmodules",
    ".ripgreprc",
    ".mcp.json",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    // The user's record of the rules that were granted.
    "reverie-allowed.json",
];

/// Below `.claude`: what is read as instructions to run something.
const CLAUDE_FOLDERS: &[&str] = &["commands", "agents", "hooks", "skills"];

/// Credentials in the user's home: asked about even when the home is the workspace.
const SECRETS_IN_HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    ".config/gh",
    ".config/gcloud",
    ".claude/.credentials.json",
];

/// Names that mean credentials anywhere outside the workspace; a project's own are the project's business.
const SECRETS_OUTSIDE: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".kube",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".credentials.json",
    ".env",
    "shadow",
];

/// The part of the path that makes it a file whose change runs something later.
pub(crate) fn protected_part(place: &Place) -> Option<&'static str> {
    place.spellings().find_map(protected_name)
}

/// The part of the path that makes it a secret.
pub(crate) fn secret_part(place: &Place, inside_workspace: bool, home: &Path) -> Option<&'static str> {
    secret_part_by(place, inside_workspace, &Place::of(home))
}

/// Likewise, where it is known already what the home really is.
pub(crate) fn secret_part_by(place: &Place, inside_workspace: bool, home: &Place) -> Option<&'static str> {
    place.spellings().find_map(|path| {
        let below_home: Vec<&Path> =
            home.spellings().filter_map(|home| path.strip_prefix(home).ok()).collect();
        let in_home = |secret: &&&str| below_home.iter().any(|rest| rest.starts_with(secret));
        let outside = |secret: &&&str| {
            !inside_workspace && names(path).any(|part| same(part, secret) || is_variant(part, secret))
        };
        let found = SECRETS_IN_HOME.iter().find(in_home).or_else(|| SECRETS_OUTSIDE.iter().find(outside));
        found.copied()
    })
}

/// Whether the folder is the home itself, or lies below it where a secret's path begins.
pub(crate) fn may_hold_secrets(folder: &Path, home: &Place) -> bool {
    home.spellings().filter_map(|home| folder.strip_prefix(home).ok()).any(|rest| {
        let Some(first) = rest.iter().next() else { return true };
        SECRETS_IN_HOME.iter().any(|secret| Path::new(secret).iter().next() == Some(first))
    })
}

fn protected_name(path: &Path) -> Option<&'static str> {
    if let Some(name) = FOLDERS.iter().find(|name| names(path).any(|part| same(part, name))) {
        return Some(name);
    }
    let file = names(path).last()?;
    if let Some(name) = FILES.iter().find(|name| same(file, name)) {
        return Some(name);
    }
    let names: Vec<&str> = names(path).collect();
    let below_claude = names.windows(2).enumerate().any(|(at, pair)| match pair {
        [folder, name] if same(folder, ".claude") => {
            let is_file = at + 2 == names.len();
            let name = name.to_ascii_lowercase();
            (is_file && name.starts_with("settings") && name.ends_with(".json"))
                || CLAUDE_FOLDERS.contains(&name.as_str())
        }
        _ => false,
    });
    below_claude.then_some(".claude")
}

fn names(path: &Path) -> impl Iterator<Item = &str> {
    path.iter().filter_map(|part| part.to_str())
}

/// Some file systems also ignore invisible characters in names.
fn same(part: &str, name: &str) -> bool {
    let invisible = |character: char| matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    part.eq_ignore_ascii_case(name) || part.replace(invisible, "").eq_ignore_ascii_case(name)
}

/// `.env.local` is a kind of `.env`.
fn is_variant(part: &str, name: &str) -> bool {
    name == ".env" && part.starts_with(".env.")
}
