//! A repository's own configuration: judged only if it says nothing but the usual.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use super::super::format;
use crate::{
    paths::{Lead, follow, lead},
    secrets::secret,
};

/// A larger file is not the usual.
const LARGEST: u64 = 256 * 1024;

/// Sections of which every key is harmless to commands that look, with or without a name behind.
const SECTIONS: &[&str] = &[
    "remote",
    "branch",
    "user",
    "submodule",
    "pull",
    "push",
    "fetch",
    "gc",
    "maintenance",
    "color",
    "init",
    "advice",
    "receive",
    "gui",
    "rebase",
    "rerere",
    "commit",
    "tag",
    "pack",
    "vscode-merge-base",
    "log",
    "status",
    "stash",
    "checkout",
    "feature",
    "index",
    "i18n",
    "github",
    "gitflow",
    // Of what is fetched, which is nothing.
    "protocol",
    "http",
    "url",
];

/// Sections of which these keys are.
const KEYS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
            "safecrlf",
            "abbrev",
            "quotepath",
            "compression",
            "longpaths",
            "sparsecheckout",
            "sparsecheckoutcone",
            "commitgraph",
            "multipackindex",
            "preloadindex",
            "untrackedcache",
            "sharedrepository",
            "trustctime",
            "checkstat",
            "whitespace",
            "bigfilethreshold",
            "hidedotfiles",
            "commentchar",
            "commentstring",
            // Overridden, and never asked for by commands that look.
            "hookspath",
            "editor",
        ],
    ),
    // Extensions of LFS are programs.
    ("lfs", &["repositoryformatversion", "access", "locksverify"]),
    ("merge", &["ff", "conflictstyle", "renames", "renamelimit", "stat", "log"]),
    (
        "diff",
        &[
            "algorithm",
            "renames",
            "renamelimit",
            "context",
            "interhunkcontext",
            "indentheuristic",
            "mnemonicprefix",
            "noprefix",
            "colormoved",
            "colormovedws",
            "wserrorhighlight",
            "wordregex",
            "dirstat",
            "statgraphwidth",
            "suppressblankempty",
            "relative",
            "ignoresubmodules",
            "submodule",
            "autorefreshindex",
        ],
    ),
    (
        "blame",
        &["coloring", "blankboundary", "showemail", "showroot", "markunblamablelines", "markignoredlines"],
    ),
    // Signatures are never looked at.
    ("gpg", &["format"]),
    ("extensions", &["objectformat", "refstorage", "worktreeconfig", "noop", "preciousobjects"]),
];

/// In any section: these fetch what is missing, from wherever they say.
const NEVER: &[&str] = &["promisor", "partialclonefilter", "vcs"];

/// Of the repository that `git` would find from here, which is a real path. The folder that has it; without one, git
/// does nothing.
pub(super) fn check(cwd: &Path) -> Result<Option<PathBuf>, String> {
    for folder in cwd.ancestors() {
        if is_there(&folder.join("HEAD"))
            && is_there(&folder.join("objects"))
            && is_there(&folder.join("refs"))
        {
            return Err("it would run inside a git folder".to_owned());
        }
        let found = folder.join(".git");
        if !is_there(&found) {
            continue;
        }
        same_for_all(&found)?;
        let own = if found.is_file() { folder.join(path_in(&found, "gitdir: ")?) } else { found };
        let common = match is_there(&own.join("commondir")) {
            true => own.join(path_in(&own.join("commondir"), "")?),
            false => own.clone(),
        };
        let files = [common.join("config"), own.join("config.worktree")];
        for path in [&own, &common, &own.join("HEAD"), &common.join("objects"), &common.join("refs")] {
            same_for_all(path)?;
        }
        // What git does not take for a repository it passes by, and finds one above.
        if !has_head(&own)? || !common.join("objects").is_dir() || !common.join("refs").is_dir() {
            return Err(format!("{} is no whole repository", own.display()));
        }
        let repository = Repository { folder, own: &own };
        files.iter().try_for_each(|file| {
            same_for_all(file)?;
            let Some(text) = text(file)? else { return Ok(()) };
            usual(&text, &repository)
                .map_err(|what| format!("{} has {what}, which may run other programs", file.display()))
        })?;
        return Ok(Some(folder.to_owned()));
    }
    Ok(None)
}

/// Where a repository is.
struct Repository<'a> {
    /// With its files; a real path.
    folder: &'a Path,
    /// With what git keeps of them.
    own: &'a Path,
}

/// What is something else for git than it is for us was not looked at.
fn same_for_all(path: &Path) -> Result<(), String> {
    match lead(path) {
        Lead::ByProcess => Err(format!("{} leads elsewhere for every process", path.display())),
        Lead::To(_) | Lead::Nowhere => Ok(()),
    }
}

/// Also a link that leads nowhere yet.
fn is_there(path: &Path) -> bool {
    !matches!(path.symlink_metadata(), Err(error) if error.kind() == ErrorKind::NotFound)
}

/// A worktree's or a submodule's `.git` is a file that says where to go, and so is `commondir`.
fn path_in(file: &Path, label: &str) -> Result<PathBuf, String> {
    let text = text(file)?.unwrap_or_default();
    let path = text.strip_prefix(label).unwrap_or_default().trim_end_matches(['\n', '\r']);
    // What git makes of blanks and further lines is not for here to guess.
    if path.is_empty() || path.trim() != path || path.contains(['\n', '\r', '\0']) {
        return Err(format!("{} is not understood", file.display()));
    }
    Ok(PathBuf::from(path))
}

/// A branch's name or a commit's.
fn has_head(folder: &Path) -> Result<bool, String> {
    let head = folder.join("HEAD");
    let text = text(&head)?.filter(|_| !head.is_symlink()).unwrap_or_default();
    let is_commit = |text: &str| {
        let digits = text.chars().take_while(char::is_ascii_hexdigit).count();
        digits >= 40
    };
    let is_branch = |name: &str| name.trim_start().starts_with("refs/");
    Ok(text.strip_prefix("ref:").is_some_and(is_branch) || is_commit(&text))
}

fn text(path: &Path) -> Result<Option<String>, String> {
    let odd = || format!("{} cannot be read", path.display());
    match fs::metadata(path) {
        Err(_) => return Ok(None),
        Ok(metadata) if metadata.is_file() && metadata.len() <= LARGEST => {}
        Ok(_) => return Err(odd()),
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
    read.map_err(|_| odd())?;
    String::from_utf8(bytes).map(Some).map_err(|_| odd())
}

/// Line by line, as git reads it; what git may read otherwise is not the usual.
fn usual(text: &str, repository: &Repository<'_>) -> Result<(), String> {
    let mut section = String::new();
    for line in text.split('\n') {
        let line = line.trim_matches(|character: char| character.is_ascii_whitespace());
        if line.ends_with('\\') {
            return Err("a continued line".to_owned());
        }
        let mut rest = line;
        if let Some(header) = line.strip_prefix('[') {
            let Some((name, behind)) = split_header(header) else { return Err(format!("`{line}`")) };
            section = name.to_ascii_lowercase();
            rest = behind.trim_start();
        }
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            continue;
        }
        let key = rest.split(['=', ' ', '\t', '#', ';']).next().unwrap_or_default().to_ascii_lowercase();
        let known = SECTIONS.contains(&section.as_str())
            || KEYS.iter().any(|(name, keys)| *name == section && keys.contains(&key.as_str()))
            || is_harmless(&section, &key, plain_value(rest), repository);
        let is_wide = section == "log" && key == "date" && !format::widths_are_small(rest);
        if !known
            || is_wide
            || NEVER.contains(&key.as_str())
            || !key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
        {
            return Err(format!("`{section}.{key}`"));
        }
    }
    Ok(())
}

/// Keys that are harmless with some values.
fn is_harmless(section: &str, key: &str, value: Option<&str>, repository: &Repository<'_>) -> bool {
    let Some(value) = value else { return false };
    match (section, key) {
        // Overridden. Anything else is a program.
        ("core", "fsmonitor") => matches!(value, "true" | "false"),
        // As a submodule says it.
        ("core", "worktree") => {
            follow(&repository.own.join(value)).is_some_and(|real| real == repository.folder)
        }
        // What is no name of a commit is shown in a complaint.
        ("blame", "ignorerevsfile") => follow(&repository.folder.join(value))
            .is_some_and(|real| real.starts_with(repository.folder) && secret(&real).is_none()),
        _ => false,
    }
}

/// What stands behind `key =`, if git reads it as it is written.
fn plain_value(line: &str) -> Option<&str> {
    let (_, value) = line.split_once('=')?;
    let value = value.trim();
    (!value.contains(['"', '\\', '#', ';'])).then_some(value)
}

/// `core]` and `remote "origin"]`: the section's name and what stands behind.
fn split_header(header: &str) -> Option<(&str, &str)> {
    let end = header.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '-'))?;
    let (name, rest) = header.split_at_checked(end)?;
    let rest = rest.trim_start_matches([' ', '\t']);
    if let Some(behind) = rest.strip_prefix(']') {
        return Some((name, behind));
    }
    let (subsection, rest) = rest.strip_prefix('"')?.split_once('"')?;
    let behind = rest.strip_prefix(']')?;
    (!subsection.contains(['\\', ']', '['])).then_some((name, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual(text: &str) -> Result<(), String> {
        let repository = Repository { folder: Path::new("/usr/share"), own: Path::new("/usr/lib") };
        super::usual(text, &repository)
    }

    #[test]
    fn the_usual_is_accepted() {
        let usual_text = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n# a comment\n[remote \"origin\"]\n\turl = https://example.com/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user] name = A\n";
        assert_eq!(usual(usual_text), Ok(()));
        assert_eq!(usual(&usual_text.replace('\n', "\r\n")), Ok(()));
        assert_eq!(usual(""), Ok(()));
    }

    #[test]
    fn keys_without_a_program_are_usual() {
        for text in [
            "[core]\nhooksPath = .husky\neditor = vim\ncommentChar = \";\"",
            "[core]\nfsmonitor = true",
            "[core] fsmonitor=false",
            "[core]\nworktree = ../share",
            "[core]\nworktree = /usr/share",
            "[merge]\nff = only\nconflictstyle = zdiff3",
            "[diff]\nalgorithm = histogram\nrenames = copies",
            "[log]\ndate = iso\nshowSignature = true",
            "[status]\nshort = true\n[stash]\nshowPatch = true\n[checkout]\ndefaultRemote = origin",
            "[feature]\nmanyFiles = true\n[index]\nversion = 4\n[i18n]\ncommitEncoding = utf-8",
            "[protocol]\nversion = 2\n[http]\npostBuffer = 1\n[http \"https://x\"]\nproxy = y",
            "[url \"git@x:\"]\ninsteadOf = https://x/",
            "[github]\nuser = a\n[gitflow \"branch\"]\nmaster = main",
            "[gpg]\nformat = ssh",
            "[lfs \"https://x/info/lfs\"]\naccess = basic\nlocksverify = false",
            "[blame]\nignoreRevsFile = .git-blame-ignore-revs",
        ] {
            assert_eq!(usual(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn whatever_may_run_a_program_is_not() {
        for text in [
            "[core]\nfsmonitor = evil",
            "[core] fsmonitor = evil",
            "[core]FSMonitor=evil",
            "[CORE]\n\tfsmonitor",
            "[core]\npager = evil",
            "[core]\nworktree = /",
            "[core]\nworktree = ..",
            "[core]\nworktree = \"/usr/share\"",
            "[core]\nworktree",
            "[core]\nfsmonitor = \"true\"",
            "[core]\nfsmonitor = ./true",
            "[core]\naskPass = evil",
            "[core]\nattributesFile = evil",
            "[blame]\nignoreRevsFile = /etc/passwd",
            "[blame]\nignoreRevsFile = ../x",
            "[blame]\nignoreRevsFile = .env",
            "[blame]\nignoreRevsFile = \"/etc/passwd\"",
            "[diff]\norderFile = x",
            "[diff]\ntool = evil",
            "[diff \"algorithm\"]\ncommand = evil",
            "[merge \"x\"]\ndriver = evil",
            "[pager]\nlog = evil",
            "[gpg \"ssh\"]\nprogram = evil",
            "[log]\ndate = format:%200000000d",
            "[http]\npromisor = true",
            "[lfs]\nurl = x",
            "[core]\nsshCommand = evil",
            "[diff]\nexternal = evil",
            "[diff \"x\"]\ntextconv = evil",
            "[diff.x]\ntextconv = evil",
            "[filter \"x\"]\nclean = evil",
            "[include]\npath = evil",
            "[includeIf \"gitdir:/\"]\npath = evil",
            "[gpg]\nprogram = evil",
            "[lfs \"extension.x\"]\nclean = evil",
            "[alias]\nlog = !evil",
            "[remote \"o\"]\npromisor = true",
            "[extensions]\npartialClone = o",
            "[user]\nname = a\\\n[core]\nfsmonitor = evil",
            "[core]\nbare = false \\\n[user]\nfsmonitor = evil",
            "[user \"a]\"]\n[core]\nfsmonitor = evil",
            "[user \"a\\\"]\n[core]\nfsmonitor = evil",
            "fsmonitor = evil",
            "[core\nfsmonitor = evil",
        ] {
            assert!(usual(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_configuration_is_found_where_git_finds_it() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        fs::create_dir_all(base.join("repo/.git/worktrees/w")).unwrap();
        fs::create_dir_all(base.join("repo/sub/deep")).unwrap();
        fs::create_dir_all(base.join("tree")).unwrap();
        fs::write(
            base.join("tree/.git"),
            format!("gitdir: {}\n", base.join("repo/.git/worktrees/w").display()),
        )
        .unwrap();
        fs::write(base.join("repo/.git/worktrees/w/commondir"), "../..\n").unwrap();
        for name in ["repo/.git/objects", "repo/.git/refs"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        for folder in ["repo/.git", "repo/.git/worktrees/w"] {
            fs::write(base.join(folder).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        }
        fs::write(base.join("repo/.git/config"), "[core]\nbare = false\n").unwrap();
        assert_eq!(check(&base.join("repo/sub/deep")), Ok(Some(base.join("repo"))));
        assert_eq!(check(&base.join("tree")), Ok(Some(base.join("tree"))));
        fs::write(base.join("repo/.git/worktrees/w/config.worktree"), "[core]\nfsmonitor = evil\n").unwrap();
        assert_eq!(check(&base.join("repo/sub/deep")), Ok(Some(base.join("repo"))));
        assert!(check(&base.join("tree")).is_err());
        fs::write(base.join("repo/.git/config"), "[filter \"x\"]\nclean = evil\n").unwrap();
        assert!(check(&base.join("repo/sub/deep")).is_err());
        assert!(check(&base.join("tree")).is_err());
        fs::create_dir_all(base.join("bare/objects")).unwrap();
        fs::create_dir_all(base.join("bare/refs")).unwrap();
        fs::write(base.join("bare/HEAD"), "").unwrap();
        assert!(check(&base.join("bare/objects")).is_err());
    }

    /// Git passes these by and finds what is above.
    #[test]
    fn a_repository_that_is_not_whole_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        let git = base.join("sub/.git");
        let refused = |what: &str| assert!(check(&base.join("sub")).is_err(), "{what}");
        fs::create_dir_all(&git).unwrap();
        refused("an empty folder");
        fs::create_dir(git.join("objects")).unwrap();
        fs::create_dir(git.join("refs")).unwrap();
        refused("no HEAD");
        fs::write(git.join("HEAD"), "nothing").unwrap();
        refused("an odd HEAD");
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(check(&base.join("sub")), Ok(Some(base.join("sub"))));
        fs::remove_dir(git.join("refs")).unwrap();
        refused("no refs");
        fs::remove_dir_all(&git).unwrap();
        fs::write(&git, "gitdir: ../elsewhere \n").unwrap();
        refused("a path with a blank");
        fs::write(&git, "gitdir: ../elsewhere\n").unwrap();
        refused("a path to nothing");
        fs::remove_file(&git).unwrap();
        std::os::unix::fs::symlink("nowhere", &git).unwrap();
        refused("a link to nothing");
    }
}
