use std::{
    cell::Cell,
    ffi::OsStr,
    os::unix::{ffi::OsStrExt, fs::symlink},
    time::{Duration, Instant},
};

use expect_test::{Expect, expect};
use tempfile::TempDir;

use super::*;

/// A home with a config home, and a repository in it with the session's folder one below its root.
struct Disk {
    root: TempDir,
}

impl Disk {
    fn new(files: &[(&str, &str)]) -> Self {
        let disk = Self { root: tempfile::tempdir().unwrap() };
        disk.write("repo/.git/HEAD", b"ref: refs/heads/main\n");
        disk.write("repo/app/main.rs", b"");
        for (path, text) in files {
            disk.write(path, text.as_bytes());
        }
        disk
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn discover(&self) -> Library {
        let environment = Environment::new(self.path("home"), []);
        discover(&environment, &self.path("repo/app"), true)
    }

    /// One line for each thing found.
    fn check(&self, expected: Expect) {
        let Library { skills, commands, problems } = self.discover();
        let skills = skills.iter().map(|skill| {
            let Skill { name, description, source, argument_hint, user_only, .. } = skill;
            format!("skill {name} {source:?}: {description} {argument_hint:?} {user_only}")
        });
        let commands = commands.iter().map(|command| {
            let Command { name, description, source, argument_hint, .. } = command;
            format!("/{name} {source:?}: {description} {argument_hint:?}")
        });
        let root = self.path("").display().to_string();
        let lines: Vec<String> = skills.chain(commands).chain(problems).collect();
        expected.assert_eq(&(lines.join("\n") + "\n").replace(&root, ""));
    }
}

#[test]
fn skills_and_commands_of_user_and_project() {
    Disk::new(&[
        (
            "home/.claude/skills/review/SKILL.md",
            "---\nname: review\ndescription: Look at\n  changes\nallowed-tools: Read, Grep\nmodel: opus\nargument-hint: \"[files]\"\n---\nDo it.",
        ),
        ("home/.claude/skills/review/notes.md", "not a skill"),
        ("home/.claude/skills/readme.md", "not a skill either"),
        ("repo/app/.claude/skills/deploy/SKILL.md", "---\ndescription: Use when: deploying\ndisable-model-invocation: true\n---\n"),
        ("repo/.claude/skills/Root Skill!/SKILL.md", "# What it does\n\nmore"),
        ("home/.claude/commands/hello.md", "Say hello"),
        ("repo/app/.claude/commands/git/commit.md", "---\nargument-hint: message\n---\n## Commit: $ARGUMENTS"),
        ("repo/app/.claude/commands/git/deep/er/x y.md", "x"),
        ("repo/app/.claude/commands/notes.txt", "no"),
    ])
    .check(expect![[r#"
        skill Root-Skill Project: What it does None false
        skill deploy Project: Use when: deploying None true
        skill review User: Look at changes Some("[files]") false
        /git:commit Project: Commit: $ARGUMENTS Some("message")
        /git:deep:er:x-y Project: x None
        /hello User: Say hello None
    "#]]);
}

#[test]
fn the_users_own_come_first_then_the_nearest() {
    let disk = Disk::new(&[
        ("home/.claude/skills/a/SKILL.md", "user"),
        ("repo/app/.claude/skills/a/SKILL.md", "app"),
        ("repo/app/.claude/skills/b/SKILL.md", "---\nname: c\n---\napp"),
        ("repo/.claude/skills/c/SKILL.md", "root"),
        ("home/.claude/commands/x.md", "user"),
        ("repo/.claude/commands/x.md", "root"),
    ]);
    disk.check(expect![[r#"
        skill a User: user None false
        skill c Project: app None false
        /x User: user None
        repo/app/.claude/skills/a/SKILL.md is left out: there is another skill called a
        repo/.claude/skills/c/SKILL.md is left out: there is another skill called c
        repo/.claude/commands/x.md is left out: there is another command called x
    "#]]);
}

#[test]
fn untrusted_entries_are_marked() {
    let disk = Disk::new(&[
        ("home/.claude/skills/own/SKILL.md", "own"),
        ("repo/app/.claude/skills/theirs/SKILL.md", "theirs"),
        ("repo/app/.claude/commands/theirs.md", "theirs"),
    ]);
    let environment = Environment::new(disk.path("home"), []);
    let library = discover(&environment, &disk.path("repo/app"), false);
    let skills: Vec<(&str, bool)> =
        library.skills.iter().map(|skill| (skill.name.as_str(), skill.untrusted)).collect();
    assert_eq!(skills, [("own", false), ("theirs", true)]);
    assert!(library.commands[0].untrusted);
}

#[test]
fn nothing_is_loaded_from_folders_that_trust_does_not_cover() {
    let disk = Disk::new(&[
        ("repo/app/.claude/skills/node_modules/SKILL.md", "smuggled"),
        ("repo/app/.claude/skills/.venv/SKILL.md", "smuggled"),
        ("repo/app/.claude/commands/node_modules/deploy.md", "smuggled"),
    ]);
    let environment = Environment::new(disk.path("home"), []);
    assert_eq!(discover(&environment, &disk.path("repo/app"), true), Library::default());
}

#[test]
fn nothing_is_looked_for_above_the_repository() {
    let disk = Disk::new(&[("outer/.claude/commands/x.md", "x"), ("outer/plain/file", "")]);
    let environment = Environment::new(disk.path("home"), []);
    assert_eq!(discover(&environment, &disk.path("outer/plain"), true), Library::default());
}

#[test]
fn in_the_home_folder_the_users_own_are_not_a_projects() {
    let disk = Disk::new(&[("home/.claude/skills/own/SKILL.md", "own")]);
    let environment = Environment::new(disk.path("home"), []);
    let library = discover(&environment, &disk.path("home"), false);
    assert_eq!(library.problems, [""; 0]);
    assert_eq!(library.skills[0].source, Source::User);
}

#[test]
fn strange_files_are_left_out_with_the_reason() {
    let disk = Disk::new(&[
        ("secret.md", "a secret"),
        ("repo/app/.claude/commands/fine.md", "fine"),
        ("repo/app/.claude/commands/empty.md", "---\nname: x\n---\n \n"),
        ("repo/app/.claude/skills/nothing/SKILL.md", ""),
        ("dotfiles/skills/mine/SKILL.md", "linked from the home"),
    ]);
    let commands = disk.path("repo/app/.claude/commands");
    symlink(disk.path("secret.md"), commands.join("link.md")).unwrap();
    symlink("fine.md", commands.join("inside.md")).unwrap();
    symlink("loop.md", commands.join("loop.md")).unwrap();
    symlink(disk.path(""), commands.join("folder")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        commands.join("pipe.md"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    disk.write("repo/app/.claude/commands/large.md", &vec![b'x'; 256 * 1024 + 1]);
    disk.write("repo/app/.claude/commands/latin.md", b"caf\xe9");
    disk.write("repo/app/.claude/commands/bom.md", b"\xef\xbb\xbf---\ndescription: bom\n---\nx");
    fs::write(commands.join(OsStr::from_bytes(b"na\xffme.md")), "odd name").unwrap();
    fs::create_dir(commands.join("folder.md")).unwrap();
    fs::create_dir_all(disk.path("home/.claude")).unwrap();
    symlink(disk.path("dotfiles/skills"), disk.path("home/.claude/skills")).unwrap();
    disk.check(expect![[r#"
        skill mine User: linked from the home None false
        /bom Project: bom None
        /fine Project: fine None
        /inside Project: fine None
        /na-me Project: odd name None
        repo/app/.claude/skills/nothing/SKILL.md has no description, so it is left out
        repo/app/.claude/commands/empty.md is empty, so it is left out
        repo/app/.claude/commands/large.md is larger than 256 KB
        repo/app/.claude/commands/latin.md is not UTF-8 text
        repo/app/.claude/commands/link.md is a link to a place outside its folder
        repo/app/.claude/commands/loop.md cannot be read: Too many levels of symbolic links (os error 40)
        repo/app/.claude/commands/pipe.md is not a regular file
    "#]]);
}

#[test]
fn a_folder_that_is_a_link_shows_nothing_of_its_target() {
    let disk = Disk::new(&[("private/diary.md", "dear diary"), ("repo/app/.claude/x", "")]);
    symlink(disk.path("private"), disk.path("repo/app/.claude/commands")).unwrap();
    disk.check(expect![[r#"
        repo/app/.claude/commands/diary.md is a link to a place outside its folder
    "#]]);
}

#[test]
fn bodies_are_read_when_they_are_used() {
    let disk = Disk::new(&[
        ("repo/app/.claude/skills/s/SKILL.md", "---\nname: s\n---\n\nold\n"),
        ("repo/app/.claude/commands/c.md", "---\ndescription: d\n---\nFix $1"),
    ]);
    let library = disk.discover();
    disk.write("repo/app/.claude/skills/s/SKILL.md", b"---\nname: s\n---\n\nnew\n");
    assert_eq!(library.skills[0].body().unwrap(), "new");
    assert_eq!(library.commands[0].expand("it").unwrap(), "Fix it");
    let path = disk.path("repo/app/.claude/skills/s/SKILL.md");
    fs::remove_file(&path).unwrap();
    disk.write("secret", b"secret");
    symlink(disk.path("secret"), &path).unwrap();
    assert_eq!(library.skills[0].body().unwrap_err().to_string(), "is a link to a place outside its folder");
}

#[test]
fn there_is_a_most_of_everything() {
    let disk = Disk::new(&[]);
    for number in 0..MOST + 20 {
        disk.write(&format!("home/.claude/commands/c{number:03}.md"), b"x");
        disk.write(&format!("home/.claude/skills/s{number:03}/SKILL.md"), b"x");
    }
    let library = disk.discover();
    assert_eq!((library.skills.len(), library.commands.len()), (MOST, MOST));
    assert_eq!(library.problems.len(), 2);
}

#[test]
fn files_that_stay_as_they_are_are_read_once() {
    let disk = Disk::new(&[
        ("repo/app/.claude/skills/s/SKILL.md", "one"),
        ("repo/app/.claude/commands/c.md", "one"),
    ]);
    let key = Key { home: disk.path("home/.claude"), folder: disk.path("repo/app"), trusted: true };
    let (known, times) = (Known::new(), Cell::new(0));
    let found = || {
        // When all files are old enough to be relied on.
        let later = SystemTime::now() + Duration::from_secs(10);
        let library: Library = known.get(later, key.clone(), |seen| {
            times.set(times.get() + 1);
            find(&key, seen)
        });
        format!("{library:?}")
    };
    let mut before = found();
    let write = |path: &str, text: &str| disk.write(path, text.as_bytes());
    let changes: [&dyn Fn(); 7] = [
        &|| write("repo/app/.claude/skills/s/SKILL.md", "two"),
        &|| write("repo/app/.claude/commands/c.md", "two"),
        &|| write("repo/app/.claude/commands/below/c.md", "new"),
        &|| write("repo/.claude/skills/above/SKILL.md", "new"),
        &|| write("home/.claude/commands/mine.md", "new"),
        &|| fs::create_dir(disk.path("repo/app/.claude/skills/later")).unwrap(),
        &|| write("repo/app/.claude/skills/later/SKILL.md", "new"),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        assert_eq!((found(), times.get()), (before, number + 1));
        change();
        before = found();
        assert_eq!(times.get(), number + 2, "change {number}");
    }
    assert!(before.contains("later"));
}

/// Not a benchmark: a guard against reading too much. The figure goes to the output.
#[test]
fn twenty_skills_are_found_quickly() {
    let disk = Disk::new(&[]);
    for number in 0..20 {
        let text = format!(
            "---\nname: s{number}\ndescription: Use when: number {number}\n---\n{}",
            "text\n".repeat(400)
        );
        disk.write(&format!("home/.claude/skills/s{number}/SKILL.md"), text.as_bytes());
    }
    let fastest = (0..10).map(|_| {
        let started = Instant::now();
        assert_eq!(disk.discover().skills.len(), 20);
        started.elapsed()
    });
    let fastest = fastest.min().unwrap();
    println!("20 skills in {fastest:?}");
    assert!(fastest.as_millis() < 100);
}
