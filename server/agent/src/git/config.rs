//! Whether a repository's own configuration says nothing but the usual, so that git may run: anything else could name
//! a program that git starts on the way, another configuration, or a place to fetch from.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read},
    path::Path,
};

/// A larger file is not the usual.
const LARGEST: u64 = 256 << 10;

/// Sections, with or without a name behind, and which of their keys are harmless to `status` and `log`; `*` for all.
const USUAL: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "abbrev",
            "autocrlf",
            "bare",
            "bigfilethreshold",
            "checkstat",
            "commitgraph",
            "compression",
            "eol",
            "filemode",
            "hidedotfiles",
            "ignorecase",
            "logallrefupdates",
            "longpaths",
            "multipackindex",
            "precomposeunicode",
            "preloadindex",
            "quotepath",
            "repositoryformatversion",
            "safecrlf",
            "sharedrepository",
            "sparsecheckout",
            "sparsecheckoutcone",
            "symlinks",
            "trustctime",
            "untrackedcache",
            "whitespace",
        ],
    ),
    ("extensions", &["noop", "objectformat", "preciousobjects", "refstorage", "worktreeconfig"]),
    ("remote", &["fetch", "gh-resolved", "mirror", "prune", "push", "pushurl", "tagopt", "url"]),
    ("branch", &["*"]),
    ("user", &["email", "name", "signingkey", "useconfigonly"]),
    ("submodule", &["active", "branch", "url"]),
    ("init", &["defaultbranch"]),
    ("pull", &["ff", "rebase"]),
    ("push", &["autosetupremote", "default", "followtags"]),
    ("fetch", &["prune", "prunetags"]),
    ("rebase", &["autosquash", "autostash", "updaterefs"]),
    ("rerere", &["autoupdate", "enabled"]),
    ("commit", &["gpgsign"]),
    ("tag", &["gpgsign", "sort"]),
    ("gc", &["auto"]),
    ("maintenance", &["auto", "strategy"]),
    ("color", &["*"]),
    ("advice", &["*"]),
    // The large file storage asks for these itself; its extensions are programs.
    ("lfs", &["access", "repositoryformatversion"]),
];

/// A file that is not there says nothing; one that cannot be read may say anything.
pub(super) fn is_usual(file: &Path) -> bool {
    match fs::metadata(file) {
        Err(error) => error.kind() == ErrorKind::NotFound,
        Ok(metadata) if !metadata.is_file() => false,
        Ok(_) => text(file).is_some_and(|text| says_the_usual(&text)),
    }
}

fn text(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
    let whole = bytes.len() as u64 <= LARGEST;
    String::from_utf8(bytes).ok().filter(|_| whole)
}

/// Line by line, as git reads it; what git may read otherwise is not the usual.
fn says_the_usual(text: &str) -> bool {
    let mut section = String::new();
    text.split('\n').all(|line| {
        let line = line.trim_matches([' ', '\t', '\r']);
        // A line that goes on below would have to be put together first.
        if line.ends_with('\\') || line.contains(|letter: char| letter.is_control() && letter != '\t') {
            return false;
        }
        let mut rest = line;
        if let Some(header) = line.strip_prefix('[') {
            let Some((name, behind)) = split_header(header) else { return false };
            section = name.to_ascii_lowercase();
            rest = behind.trim_start();
        }
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            return true;
        }
        let key = rest.split(['=', ' ', '\t', '#', ';']).next().unwrap_or_default().to_ascii_lowercase();
        is_name(&key)
            && USUAL
                .iter()
                .any(|(name, keys)| *name == section && (keys.contains(&key.as_str()) || keys.contains(&"*")))
    })
}

/// `core]` and `remote "origin"]`: the section's name and what stands behind.
fn split_header(header: &str) -> Option<(&str, &str)> {
    let (name, rest) = header.split_at(header.find([' ', '\t', ']'])?);
    let rest = rest.trim_start_matches([' ', '\t']);
    let behind = match rest.strip_prefix(']') {
        Some(behind) => behind,
        None => {
            let (subsection, rest) = rest.strip_prefix('"')?.split_once('"')?;
            if subsection.contains(['\\', '[', ']']) {
                return None;
            }
            rest.strip_prefix(']')?
        }
    };
    is_name(name).then_some((name, behind))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_and_its_tools_write_is_usual() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
            # a comment\n[remote \"origin\"]\n\turl = https://example.com/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
            \tgh-resolved = base\n[branch \"feature/x\"]\n\tremote = origin\n\tmerge = refs/heads/main\n\
            \tvscode-merge-base = origin/main\n[user] name = A ; me\n[extensions]\n\tworktreeConfig = true\n[pull]\n\trebase\n";
        assert!(says_the_usual(text));
        assert!(says_the_usual(&text.replace('\n', "\r\n")));
        assert!(says_the_usual(""));
    }

    #[test]
    fn what_may_start_a_program_is_not() {
        for text in [
            "[core]\nfsmonitor = evil",
            "[core] fsmonitor = evil",
            "[core]FSMonitor=evil",
            "[CORE]\n\tfsmonitor",
            "[core]\npager = evil",
            "[core]\nworktree = /",
            "[core]\nalternateRefsCommand = evil",
            "[diff]\nexternal = evil",
            "[diff \"x\"]\ntextconv = evil",
            "[diff.x]\ntextconv = evil",
            "[filter \"x\"]\nclean = evil",
            "[include]\npath = evil",
            "[includeIf \"gitdir:/\"]\npath = evil",
            "[gpg]\nprogram = evil",
            "[lfs \"extension.x\"]\nclean = evil",
            "[remote \"o\"]\npromisor = true",
            "[remote \"o\"]\nuploadpack = evil",
            "[extensions]\npartialClone = o",
            "[user]\nname = a\\\n[core]\nfsmonitor = evil",
            "[core]\nbare = false \\\n[user]\nfsmonitor = evil",
            "[user \"a]\"]\n[core]\nfsmonitor = evil",
            "[user \"a\\\"]\n[core]\nfsmonitor = evil",
            "fsmonitor = evil",
            "[core\nfsmonitor = evil",
            "[]\n*=evil",
            "\u{feff}[core]\nbare = false",
            "[branch \"x\"]\n\0=evil",
        ] {
            assert!(!says_the_usual(text), "{text}");
        }
    }
}
