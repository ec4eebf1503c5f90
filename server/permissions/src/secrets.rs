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
    ".oci",
    ".kube",
    ".docker",
    ".dockercfg",
    ".kaggle",
    ".password-store",
    ".mozilla",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    ".git-credentials",
    ".credentials.json",
    ".claude.json",
    ".env",
    ".envrc",
    ".flaskenv",
    ".dev.vars",
    ".htpasswd",
    ".vault-token",
    ".terraformrc",
    // What was typed, passwords among it.
    ".bash_history",
    ".zsh_history",
    ".zhistory",
    "fish_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".rediscli_history",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "shadow",
    "shadow-",
    "gshadow",
    "gshadow-",
    "master.passwd",
    "opasswd",
    "sudoers",
    "sudoers.d",
    "credentials",
];

pub(crate) const ENDINGS: &[&str] = &[
    ".pem",
    ".key",
    ".ppk",
    ".p8",
    ".p12",
    ".pfx",
    ".keystore",
    ".jks",
    ".kdbx",
    ".keytab",
    ".env",
    ".tfvars",
    ".tfstate",
    ".tfstate.backup",
];

/// What such a name begins and ends with, and how it is spoken of.
const FRAMES: &[(&str, &str, &str)] = &[
    // `.env.local`, `.env-production` and an editor's `.env~` are kinds of `.env`.
    (".env.", "", ".env"),
    (".env-", "", ".env"),
    (".env_", "", ".env"),
    (".env~", "", ".env"),
    ("id_", "_sk", "id_*_sk"),
    ("ssh_host_", "_key", "ssh_host_*_key"),
];

/// One name for each of the endings and frames.
const EXAMPLES: &[&str] = &[
    "server.pem",
    "server.key",
    "login.ppk",
    "auth.p8",
    "server.p12",
    "server.pfx",
    "release.keystore",
    "release.jks",
    "passwords.kdbx",
    "krb5.keytab",
    "prod.env",
    "prod.tfvars",
    "terraform.tfstate",
    "terraform.tfstate.backup",
    ".env.local",
    ".env-local",
    ".env_local",
    ".env~",
    "id_ed25519_sk",
    "ssh_host_rsa_key",
];

const PATHS: &[&str] = &[
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/github-copilot",
    ".config/gcloud",
    ".config/containers",
    ".config/rclone",
    ".config/op",
    ".config/composer/auth.json",
    ".config/google-chrome",
    ".config/chromium",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".cache/huggingface/token",
    ".huggingface/token",
    ".cargo/credentials.toml",
    ".composer/auth.json",
    ".gradle/gradle.properties",
    ".m2/settings.xml",
    ".terraform.d/credentials.tfrc.json",
    ".local/share/keyrings",
    ".local/share/fish/fish_history",
    "library/keychains",
    "ssl/private",
    "etc/wireguard",
    "networkmanager/system-connections",
    ".git/config",
];

/// Beginnings of names right below `/etc`: copies of these are as secret.
const OF_ETC: &[&str] = &["shadow", "gshadow", "sudoers"];

/// Of the system, with credentials below.
const SYSTEM_FOLDERS: &[&str] = &[
    "/",
    "/etc",
    "/etc/ssh",
    "/etc/ssl",
    "/etc/security",
    "/etc/NetworkManager",
    "/private",
    "/private/etc",
];

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

/// Names that are a secret's, for patterns to be held against.
pub(crate) fn examples() -> impl Iterator<Item = &'static str> {
    NAMES.iter().chain(EXAMPLES).copied()
}

/// Whether the folder is the home itself, or lies below it where a secret's path begins.
pub(crate) fn may_hold_secrets(folder: &Path, home: &Place) -> bool {
    home.spellings().filter_map(|home| folder.strip_prefix(home).ok()).any(|rest| {
        let names = folded(rest);
        secret_of_home(&names).is_some() || PATHS.iter().any(|path| begins(path, &names))
    })
}

/// Whether the folder is a user's home, has homes in it, or is one of the system's with credentials in it. Wherever
/// those are usually: whose home it is does not matter.
pub(crate) fn full_of_secrets(folder: &Path) -> bool {
    let is_one_of = |folder: &Path, list: &[&str]| list.iter().any(|known| folder == Path::new(known));
    let is_home = |folder: &Path| {
        is_one_of(folder, SYSTEM_HOMES) || folder.parent().is_some_and(|above| is_one_of(above, HOMES))
    };
    let is_on_the_way = |folder: &Path| {
        let homes = folder.ancestors().filter(|above| is_home(above));
        let below = homes.filter_map(|home| folder.strip_prefix(home).ok());
        below.map(folded).any(|names| PATHS.iter().any(|path| begins(path, &names)))
    };
    is_one_of(folder, SYSTEM_FOLDERS) || is_one_of(folder, HOMES) || is_on_the_way(folder)
}

/// Whether a path that is a secret's begins with these names, as it does with none.
fn begins(path: &str, names: &[Cow<'_, str>]) -> bool {
    let mut parts = path.split('/');
    names.iter().all(|name| parts.next().is_some_and(|part| names::is(name, part)))
}

fn secret_among(names: &[Cow<'_, str>]) -> Option<&'static str> {
    names
        .iter()
        .find_map(|part| secret_name(part))
        .or_else(|| PATHS.iter().find(|path| contains(names, path)).copied())
        .or_else(|| secret_of_etc(names))
}

fn secret_of_etc(names: &[Cow<'_, str>]) -> Option<&'static str> {
    let below = match names {
        [root, etc, name, ..] if root == "/" && etc == "etc" => name,
        [root, private, etc, name, ..] if root == "/" && private == "private" && etc == "etc" => name,
        _ => return None,
    };
    OF_ETC.iter().find(|start| below.starts_with(**start)).copied()
}

/// Right in the home. A folder of the user's may have a plain name such as `shadow`, and be a project.
fn secret_of_home(names: &[Cow<'_, str>]) -> Option<&'static str> {
    let first = names.first().filter(|first| first.starts_with(['.', '_']));
    first
        .and_then(|first| secret_name(first))
        .or_else(|| PATHS.iter().find(|path| starts_with(names, path)).copied())
}

fn secret_name(part: &str) -> Option<&'static str> {
    let by_name = NAMES.iter().find(|name| names::is(part, name));
    let by_ending = || ENDINGS.iter().find(|ending| part.ends_with(**ending));
    let by_frame = || {
        let frame = FRAMES
            .iter()
            .find(|(start, end, _)| part.strip_prefix(*start).is_some_and(|rest| rest.ends_with(end)));
        frame.map(|(_, _, name)| *name)
    };
    by_name.or_else(by_ending).copied().or_else(by_frame)
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
        let names = NAMES.iter().chain(PATHS).chain(EXAMPLES).map(|name| (*name).to_owned());
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
        for folder in
            ["/home/u/.local/share", "/root/.cache/huggingface", "/etc/security", "/etc/NetworkManager"]
        {
            assert!(full_of_secrets(Path::new(folder)), "{folder}");
        }
        assert!(!full_of_secrets(Path::new("/home/u/.config/nvim")));
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

    #[test]
    fn every_ending_and_frame_has_an_example() {
        for ending in ENDINGS {
            assert!(EXAMPLES.iter().any(|name| name.ends_with(ending)), "{ending}");
        }
        for (start, end, _) in FRAMES {
            assert!(
                EXAMPLES.iter().any(|name| name.starts_with(start) && name.ends_with(end)),
                "{start}{end}"
            );
        }
        assert!(EXAMPLES.iter().all(|name| secret_name(name).is_some()));
    }

    #[test]
    fn names_that_are_like_those_of_secrets() {
        for path in [
            "config/master.key",
            "prod.env",
            ".env-staging",
            ".env~",
            "/etc/shadow.bak",
            "/etc/sudoers.d/users",
            "/etc/sudoers.dpkg-old",
            "/etc/krb5.keytab",
            "/etc/security/opasswd",
            "/etc/wireguard/wg0.conf",
            "/etc/NetworkManager/system-connections/home.nmconnection",
            "/home/u/.local/share/fish/fish_history",
            "/home/u/.config/google-chrome/Default/Cookies",
            "id_ecdsa_sk",
        ] {
            assert!(secret(Path::new(path)).is_some(), "{path}");
        }
        for path in [
            "tsconfig.env.ts",
            "environment.ts",
            "environments/prod.ts",
            "keyboard.key.rs",
            "env",
            "dotenv",
            "src/.environment",
            "monkey",
            "id_ed25519_sk.pub",
            "docs/shadow.md",
            "src/sudoers_parser.rs",
            "keys.json",
            "api.p8.md",
            ".config/nvim/init.lua",
            "terraform/main.tf",
        ] {
            assert_eq!(secret(Path::new(path)), None, "{path}");
        }
    }
}
