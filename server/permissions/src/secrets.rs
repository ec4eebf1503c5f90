//! Files whose text is a credential, by their names.
//!
//! The one list, for files that tools read and for operands of commands. Commands are not judged harmless if they read
//! any of them; tools ask only outside the workspace, or in the user's home.

use std::{borrow::Cow, path::Path};

use crate::{
    names::{self, contains, folded, starts_with},
    paths::Place,
};

/// Of a file or of a folder with all that is in it.
pub(crate) const NAMES: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".credentials.json",
    ".claude.json",
    ".env",
    ".envrc",
    ".htpasswd",
    ".vault-token",
    ".terraformrc",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "shadow",
    "shadow-",
    "gshadow",
    "gshadow-",
    "master.passwd",
    "sudoers",
    "credentials",
];

const ENDINGS: &[&str] = &[".pem", ".p12", ".pfx", ".keystore", ".jks", ".kdbx"];

const PATHS: &[&str] = &[
    ".config/gh",
    ".config/gcloud",
    ".claude/.credentials.json",
    ".cargo/credentials.toml",
    "ssl/private",
    ".git/config",
];

/// Of the system, with credentials below.
const SYSTEM_FOLDERS: &[&str] = &["/", "/etc", "/etc/ssh", "/etc/ssl", "/private", "/private/etc"];

/// In which every user has a folder, and folders that are a user's themselves.
const HOMES: &[&str] = &["/home", "/Users"];
const SYSTEM_HOMES: &[&str] = &["/root", "/var/root"];

/// The part of the path that makes it a secret, wherever it lies.
pub(crate) fn secret(path: &Path) -> Option<&'static str> {
    secret_among(&folded(path))
}

/// The part of the path that makes it a secret for a tool. What lies in the workspace is the project's own business,
/// but for what is known to lie in a home: that is asked about even when the home is the workspace.
pub(crate) fn secret_part(place: &Place, inside_workspace: bool, home: &Path) -> Option<&'static str> {
    secret_part_by(place, inside_workspace, &Place::of(home))
}

/// Likewise, where it is known already what the home really is.
pub(crate) fn secret_part_by(place: &Place, inside_workspace: bool, home: &Place) -> Option<&'static str> {
    place.spellings().find_map(|path| {
        let mut below_home = home.spellings().filter_map(|home| path.strip_prefix(home).ok());
        below_home
            .find_map(|rest| secret_of_home(&folded(rest)))
            .or_else(|| if inside_workspace { None } else { secret(path) })
    })
}

/// Whether the folder is the home itself, or lies below it where a secret's path begins.
pub(crate) fn may_hold_secrets(folder: &Path, home: &Place) -> bool {
    home.spellings().filter_map(|home| folder.strip_prefix(home).ok()).any(|rest| {
        let names = folded(rest);
        let Some(first) = names.first() else { return true };
        let begins = |path: &&str| path.split('/').next().is_some_and(|name| names::is(first, name));
        secret_of_home(&names).is_some() || PATHS.iter().any(begins)
    })
}

/// Whether the folder is a user's home, has homes in it, or is one of the system's with credentials in it. Wherever
/// those are usually: whose home it is does not matter.
pub(crate) fn full_of_secrets(folder: &Path) -> bool {
    let is_one_of = |folder: &Path, list: &[&str]| list.iter().any(|known| folder == Path::new(known));
    let is_home = |folder: &Path| {
        is_one_of(folder, SYSTEM_HOMES) || folder.parent().is_some_and(|above| is_one_of(above, HOMES))
    };
    let begins_a_path = |name: &str| PATHS.iter().any(|path| path.split('/').next() == Some(name));
    is_one_of(folder, SYSTEM_FOLDERS)
        || is_one_of(folder, HOMES)
        || is_home(folder)
        || (folder.parent().is_some_and(is_home)
            && folder.file_name().and_then(|name| name.to_str()).is_some_and(begins_a_path))
}

fn secret_among(names: &[Cow<'_, str>]) -> Option<&'static str> {
    names
        .iter()
        .find_map(|part| secret_name(part))
        .or_else(|| PATHS.iter().find(|path| contains(names, path)).copied())
}

/// Right in the home. A folder of the user's may have a plain name such as `shadow`, and be a project.
fn secret_of_home(names: &[Cow<'_, str>]) -> Option<&'static str> {
    let first = names.first().filter(|first| first.starts_with(['.', '_']));
    first
        .and_then(|first| secret_name(first))
        .or_else(|| PATHS.iter().find(|path| starts_with(names, path)).copied())
}

fn secret_name(part: &str) -> Option<&'static str> {
    // `.env.local` is a kind of `.env`.
    let is_it = |name: &&&str| names::is(part, name) || (**name == ".env" && part.starts_with(".env."));
    let by_name = NAMES.iter().find(is_it);
    if part.starts_with("ssh_host_") && part.ends_with("_key") {
        return Some("ssh_host_*_key");
    }
    by_name.or_else(|| ENDINGS.iter().find(|ending| part.ends_with(**ending))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    /// Tools and commands must not differ in what they take for a secret.
    #[test]
    fn every_secret_is_one_to_tools_and_to_commands() {
        let tree = tree();
        let command_may_read = |name: &str| {
            let (_, access) = tree.access(&format!("Look cat '{name}'"));
            access.is_read_only()
        };
        assert!(command_may_read("plain.txt"));
        let endings = ENDINGS.iter().map(|ending| format!("key{ending}"));
        let names = NAMES.iter().chain(PATHS).map(|name| (*name).to_owned());
        for name in names.chain(endings) {
            for name in [name.clone(), name.to_uppercase(), format!("{name}."), format!("{name}/deep")] {
                let outside = Place::of(Path::new(&tree.expand(&format!("@O/{name}"))));
                assert!(secret_part(&outside, false, &tree.policy.home).is_some(), "a tool reads {name}");
                assert!(secret_part(&outside, true, &tree.policy.home).is_none(), "a project's own {name}");
                assert!(!command_may_read(&name), "a command reads {name}");
            }
        }
    }

    #[test]
    fn homes_and_the_systems_folders_are_full_of_secrets() {
        for folder in [
            "/",
            "/etc",
            "/etc/ssh",
            "/root",
            "/home",
            "/home/u",
            "/Users/u",
            "/home/u/.config",
            "/root/.cargo",
        ] {
            assert!(full_of_secrets(Path::new(folder)), "{folder}");
        }
        for folder in ["/usr/share", "/home/u/project", "/root/project/.config", "/etc/nginx", "/tmp"] {
            assert!(!full_of_secrets(Path::new(folder)), "{folder}");
        }
        assert!(secret(Path::new("/etc/ssh/ssh_host_ed25519_key")).is_some());
        assert!(secret(Path::new("/etc/ssh/ssh_host_ed25519_key.pub")).is_none());
    }

    #[test]
    fn a_home_that_is_the_workspace_keeps_its_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let in_home = |name: &str| secret_part(&Place::of(&home.join(name)), true, &home);
        for name in [".ssh/id_rsa", ".SSH/config", "_netrc", ".config/gh/hosts.yml", ".env.local", ".my.cnf"]
        {
            assert!(in_home(name).is_some(), "{name}");
            let (above, home) = (home.join(name), Place::of(&home));
            assert!(above.parent().is_some_and(|folder| may_hold_secrets(folder, &home)), "{name}");
        }
        for name in ["shadow/main.c", "project/.env", "notes.txt", ".config/fish/config.fish"] {
            assert_eq!(in_home(name), None, "{name}");
        }
    }
}
