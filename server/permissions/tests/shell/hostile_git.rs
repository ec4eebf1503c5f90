//! A repository that wants something run, and commands that were judged before it said so.
//!
//! Such a configuration is refused when it is there; here it comes after the judgement, so that only what the script
//! adds stands between the repository and its programs.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use permissions::shell::judge;

/// Keys that name a program, for commands that look.
const KEYS: &[(&str, &str)] = &[
    ("core.fsmonitor", "EVIL"),
    ("core.hooksPath", "hooks"),
    ("core.pager", "EVIL"),
    ("pager.log", "EVIL"),
    ("core.editor", "EVIL"),
    ("core.sshCommand", "EVIL"),
    ("core.askPass", "EVIL"),
    ("core.alternateRefsCommand", "EVIL"),
    ("diff.external", "EVIL"),
    ("diff.evil.command", "EVIL"),
    ("diff.evil.textconv", "EVIL"),
    ("diff.tool", "EVIL"),
    ("gpg.program", "EVIL"),
    ("gpg.ssh.program", "EVIL"),
    ("gpg.x509.program", "EVIL"),
    ("gpg.openpgp.program", "EVIL"),
    ("log.diffMerges", "remerge"),
    ("log.showSignature", "true"),
    ("format.pretty", "%G? %h"),
    ("status.submoduleSummary", "true"),
    ("credential.helper", "!EVIL"),
    ("alias.log", "!EVIL"),
    ("alias.status", "!EVIL"),
    ("interactive.diffFilter", "EVIL"),
    ("uploadpack.packObjectsHook", "EVIL"),
    ("sequence.editor", "EVIL"),
    ("trailer.x.command", "EVIL"),
    ("web.browser", "EVIL"),
];

const COMMANDS: &[&str] = &[
    "git status",
    "git status -s",
    "git diff",
    "git diff --stat HEAD",
    "git diff --cached",
    "git log -p",
    "git log -3 --stat",
    "git log",
    "git log -m -p --diff-merges=on",
    "git log --format='%h %s%+b'",
    "git show HEAD",
    "git show HEAD:file.txt",
    "git blame file.txt",
    "git ls-files -m -o",
    "git rev-parse HEAD",
];

#[test]
fn nothing_that_the_repository_names_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let repository = base.join("repository");
    fs::create_dir_all(&repository).unwrap();
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(&repository)
            .env("HOME", &base)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    git(&["init", "-q"]);
    git(&["config", "user.email", "a@b.c"]);
    git(&["config", "user.name", "a"]);
    fs::write(repository.join("file.txt"), "one\n").unwrap();
    fs::write(repository.join(".gitattributes"), "* diff=evil\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    fs::write(repository.join("file.txt"), "two\n").unwrap();
    git(&["commit", "-qam", "two"]);
    fs::write(repository.join("file.txt"), "three\n").unwrap();

    let scripts: Vec<String> = COMMANDS
        .iter()
        .map(|command| {
            judge(command, &repository).unwrap_or_else(|reason| panic!("{command}: {reason}")).script
        })
        .collect();

    let evil = base.join("evil");
    let canary = base.join("canary");
    fs::write(&evil, format!("#!/bin/sh\necho \"$0 $*\" >> {}\n", canary.display())).unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&evil).status().unwrap().success());
    fs::create_dir_all(repository.join("hooks")).unwrap();
    for hook in ["post-index-change", "post-checkout", "pre-commit"] {
        fs::copy(&evil, repository.join("hooks").join(hook)).unwrap();
        fs::copy(&evil, repository.join(".git/hooks").join(hook)).unwrap();
    }
    for (key, value) in KEYS {
        git(&["config", key, &value.replace("EVIL", &evil.display().to_string())]);
    }
    for command in COMMANDS {
        assert!(judge(command, &repository).is_err(), "{command}");
    }

    // The same commands without what the script adds: the repository can do what it says.
    run("git diff", &repository, &base);
    assert!(canary.exists(), "the repository is not hostile enough");
    fs::remove_file(&canary).unwrap();

    for (command, script) in COMMANDS.iter().zip(&scripts) {
        let output = run(script, &repository, &base);
        let ran = fs::read_to_string(&canary).unwrap_or_default();
        assert_eq!(ran, "", "{command}");
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A repository that git finds, and another that one could take it for.
#[test]
fn the_repository_that_was_looked_at_is_the_one_that_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let git = |folder: &Path, arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.email=a@b.c", "-c", "user.name=a"]).args(arguments).current_dir(folder);
        let output = command.env("HOME", &base).env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let (evil, good) = (base.join("evil"), base.join("good"));
    for repository in [&evil, &good] {
        fs::create_dir_all(repository.join("sub/deep")).unwrap();
        git(repository, &["init", "-q"]);
        fs::write(repository.join("sub/file.txt"), "one\n").unwrap();
        git(repository, &["add", "."]);
        git(repository, &["commit", "-qm", "one"]);
        fs::write(repository.join("sub/file.txt"), "two\n").unwrap();
    }
    git(&good, &["worktree", "add", "-q", "../tree"]);
    git(&evil, &["config", "core.fsmonitor", "evil"]);

    // An empty folder, which git passes by on its way to the one above.
    fs::create_dir(evil.join("sub/.git")).unwrap();
    assert!(judge("git status", &evil.join("sub")).is_err());
    // A folder in one repository that is called as if it were in another.
    symlink(evil.join("sub/deep"), good.join("sub/link")).unwrap();
    assert!(judge("git status", &good.join("sub/link")).is_err());
    fs::write(good.join("sub/deep/.git"), "gitdir: ../../../evil/.git\n").unwrap();
    assert!(judge("git status", &good.join("sub/deep")).is_err());
    fs::remove_file(good.join("sub/deep/.git")).unwrap();

    // Git itself goes no higher, should the repository be gone when it runs.
    let inner = evil.join("inner");
    fs::create_dir(&inner).unwrap();
    git(&inner, &["init", "-q"]);
    let script = judge("git status", &inner).unwrap().script;
    assert!(run(&script, &inner, &base).status.success());
    fs::remove_dir_all(inner.join(".git")).unwrap();
    assert!(!run(&script, &inner, &base).status.success());

    // Elsewhere, all is as without the judgement.
    fs::remove_file(good.join("sub/link")).unwrap();
    fs::write(base.join("tree/sub/file.txt"), "three\n").unwrap();
    for repository in [&good, &base.join("tree")] {
        for folder in [repository.clone(), repository.join("sub")] {
            for command in [
                "git status -s",
                "git diff -- file.txt",
                "git log --format=%s -- file.txt",
                "git ls-files",
                "git rev-parse --show-prefix --show-toplevel --git-dir",
            ] {
                let judged = judge(command, &folder).unwrap_or_else(|reason| panic!("{command}: {reason}"));
                let (plain, judged) = (run(command, &folder, &base), run(&judged.script, &folder, &base));
                assert!(plain.status.success() && judged.status.success(), "{command}");
                assert_eq!(
                    String::from_utf8_lossy(&plain.stdout),
                    String::from_utf8_lossy(&judged.stdout),
                    "{command} in {}",
                    folder.display()
                );
            }
        }
    }
}

/// Two paths of which one is outside are walked through by `git diff`, and so are any where there is no repository.
#[test]
fn a_diff_stays_in_its_repository() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    for name in ["a", "b", "repository/.git/objects", "repository/.git/refs", "repository/src"] {
        fs::create_dir_all(base.join(name)).unwrap();
    }
    let repository = base.join("repository");
    fs::write(repository.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    symlink(base.join("a"), repository.join("link")).unwrap();
    let absolute = format!("git diff {} HEAD", repository.join("src").display());
    for command in ["git diff", "git diff HEAD~1..HEAD -- src", "git diff ../repository/src", &absolute] {
        assert!(judge(command, &repository).is_ok(), "{command}: {:?}", judge(command, &repository));
        assert!(judge(command, &base).is_err(), "{command}");
    }
    assert!(judge("git diff .. HEAD", &repository.join("src")).is_ok());
    for command in ["git diff ../a ../b", "git diff -- ../a src", "git diff .. .", "git diff link src"] {
        assert!(judge(command, &repository).is_err(), "{command}");
    }
    assert!(judge("git diff ../.. .", &repository.join("src")).is_err());
    assert!(judge("git diff a b", &base).is_err());
}

/// The configuration that is looked at must be the one that git reads.
#[test]
#[cfg(target_os = "linux")]
fn a_repository_that_every_process_sees_differently_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    for (name, text) in [("gitfile", "gitdir: /proc/self/cwd/.elsewhere\n"), ("plain", "gitdir: ../git\n")] {
        fs::create_dir_all(base.join(name)).unwrap();
        fs::write(base.join(name).join(".git"), text).unwrap();
    }
    for name in ["git/objects", "git/refs", "linked"] {
        fs::create_dir_all(base.join(name)).unwrap();
    }
    fs::write(base.join("git/HEAD"), "ref: refs/heads/main\n").unwrap();
    symlink("/proc/self/cwd/.elsewhere", base.join("linked/.git")).unwrap();
    assert!(judge("git status", &base.join("plain")).is_ok());
    for name in ["gitfile", "linked"] {
        let reason = judge("git status", &base.join(name)).unwrap_err();
        assert!(reason.contains("leads elsewhere for every process"), "{reason}");
    }
    symlink("/proc/self/cwd/config", base.join("git/config")).unwrap();
    assert!(judge("git status", &base.join("plain")).is_err());
}

/// A real submodule says in its configuration where its files are.
#[test]
fn a_submodule_is_judged_like_its_repository() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let git = |folder: &Path, arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.email=a@b.c", "-c", "user.name=a", "-c", "protocol.file.allow=always"]);
        let output = command.args(arguments).current_dir(folder).env("HOME", &base).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    for name in ["inner", "outer"] {
        fs::create_dir(base.join(name)).unwrap();
        git(&base.join(name), &["init", "-q"]);
        fs::write(base.join(name).join("file.txt"), "one\n").unwrap();
        git(&base.join(name), &["add", "."]);
        git(&base.join(name), &["commit", "-qm", "one"]);
    }
    git(&base.join("outer"), &["submodule", "--quiet", "add", "../inner", "sub"]);
    let sub = base.join("outer/sub");
    for (command, expected) in [
        ("git log --format=%s", "one".to_owned()),
        ("git rev-parse --show-toplevel", sub.display().to_string()),
        ("git rev-parse --show-superproject-working-tree", base.join("outer").display().to_string()),
    ] {
        let judged = judge(command, &sub).unwrap_or_else(|reason| panic!("{command}: {reason}"));
        let output = run(&judged.script, &sub, &base);
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{command}");
    }
    git(&sub, &["config", "core.worktree", "/"]);
    assert!(judge("git status", &sub).is_err());
}

fn run(script: &str, repository: &Path, home: &Path) -> std::process::Output {
    Command::new("bash")
        .args(["--noprofile", "--norc", "-c", script])
        .current_dir(repository)
        .env("HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap()
}
