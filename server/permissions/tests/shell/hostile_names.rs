//! Files whose names are options, and folders that are called something else: what a pattern becomes is in the script.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use permissions::shell::judge;

#[test]
fn no_name_of_a_file_becomes_an_option() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    fs::create_dir(base.join("sub")).unwrap();
    for name in ["-R", "a.txt", ".k.md", "--files0-from=.k.md", "m.c", "-fs0x1.c", "-", "+1f"] {
        fs::write(base.join(name), "x\n").unwrap();
    }
    for command in [
        "grep -h . *R sub",
        "grep -e -- *R sub",
        "wc *.md",
        "tail *.c",
        "tail ./sub *.c",
        "tail +*",
        "stat *",
        "ls *R",
        "echo *R",
        "head ?R",
        "sort [!a]*.c",
        "cat *",
        "cat -- *",
        "wc -- ?",
    ] {
        assert!(judge(command, &base).is_err(), "{command}");
    }
    for command in ["grep -h . -- *R sub", "wc ./*.md", "tail -- *.c", "cat *.c", "tail m*.c"] {
        assert!(judge(command, &base).is_ok(), "{command}: {:?}", judge(command, &base));
    }
}

/// What comes after the judgement is not what was judged.
#[test]
fn a_file_that_comes_later_is_not_matched() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    fs::write(base.join("a.txt"), "text\n").unwrap();
    let judged = judge("cat *.txt; cat *.missing", &base).unwrap();
    assert_eq!(judged.reads, [base.join("*.missing"), base.join("a.txt")]);
    for name in ["b.txt", "b.missing"] {
        fs::write(base.join(name), "later\n").unwrap();
    }
    assert_eq!(run(&judged.script, &base), "text\n");
}

#[test]
fn the_folder_keeps_the_name_it_was_reached_by() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    fs::create_dir(base.join("real")).unwrap();
    symlink("real", base.join("link")).unwrap();
    let link = base.join("link");
    let judged = judge("pwd", &link).unwrap();
    assert_eq!(run(&judged.script, &link), format!("{}\n", link.display()));
}

/// Here `p/cwd` is the folder of the test; for the command it would be the one with the link to the file.
#[test]
#[cfg(target_os = "linux")]
fn nothing_is_read_through_what_differs_from_process_to_process() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    symlink("/proc/self", base.join("p")).unwrap();
    symlink("p/cwd", base.join("here")).unwrap();
    symlink("/dev/fd", base.join("fd")).unwrap();
    symlink("/etc/shadow", base.join("s")).unwrap();
    symlink("README.md", base.join("plain")).unwrap();
    fs::write(base.join("README.md"), "").unwrap();
    for command in [
        "cat p/cwd/s",
        "cat p/cwd/README.md",
        "cat here/s",
        "cat here/*",
        "cat p/cwd/[s]",
        "cat < p/cwd/s",
        "cat p/../self/cwd/s",
        "cat p/root/etc/hostname",
        "head fd/3",
        "grep -r x p/cwd/.",
        "grep -f p/cwd/s README.md",
        "find p/cwd/ -name s",
        "find . -newer here/s",
        "ls here/",
        "stat here/s",
        "rg x here",
        "diff here/s README.md",
        "git diff -- here/s",
        "git log -L1,5:here/s",
        "git log -pL1,5:here/s",
        "date -r here/s",
        "jq -n --rawfile a here/s '$a'",
    ] {
        assert!(judge(command, &base).is_err(), "{command}");
    }
    assert!(judge("ls", &base.join("here")).is_err());
    assert!(judge("cat plain", &base).is_ok());
}

fn run(script: &str, folder: &Path) -> String {
    let output = Command::new("bash")
        .args(["--noprofile", "--norc", "-c", script])
        .current_dir(folder)
        .env("PWD", folder)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}
