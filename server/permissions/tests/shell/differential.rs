//! The words that were judged are the words that bash would have passed on.
//!
//! Thousands of mutants of accepted lines are judged. Every one that is accepted is run twice in a real bash, as it
//! was written and as the script that was made of it, with every listed program replaced by one that only notes its
//! words and where its descriptors lead. The notes must be the same, but for the words that the judgement adds. In the
//! locale C.UTF-8: the judgement looks up patterns as bash does there, and a script has none left to look up.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
};

use expect_test::expect;
use permissions::shell::{Programs, Trusted};

use crate::{
    fixture::{Fixture, corpus, fixture},
    mutants::{MORE_LINES, Random, mutant},
};

const MUTANTS: usize = 50_000;

/// Where the judged scripts look for their programs; nothing is there, bash's functions stand in for them.
const FOLDER: &str = "/recorded";

const PROGRAMS: &[&str] = &[
    "ls", "find", "grep", "cat", "stat", "wc", "head", "tail", "rg", "sort", "uniq", "cut", "tr", "diff",
    "file", "du", "pwd", "echo", "date", "tree", "jq", "git",
];

/// What the judgement adds, as bash writes it. The script's words without these must be the line's.
const ADDED: &[&str] = &[
    "--no-config",
    "-L",
    "--no-pager --no-optional-locks -c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.pager=cat -c core.sshCommand=false -c core.gitProxy= -c protocol.allow=never -c credential.helper= -c safe.bareRepository=explicit -c diff.autoRefreshIndex=false -c diff.submodule=short -c log.showSignature=false -c log.diffMerges=separate -c gpg.program=false -c gpg.openpgp.program=false -c gpg.ssh.program=false -c gpg.x509.program=false -c status.submoduleSummary=false -c format.pretty=medium",
    "--no-ext-diff --no-textconv --ignore-submodules=dirty",
    "--ignore-submodules=dirty",
    "--no-textconv",
];

#[test]
fn bash_finds_the_words_that_were_judged() {
    let wanted = std::env::var("REVERIE_MUTANTS").ok().and_then(|text| text.parse().ok()).unwrap_or(MUTANTS);
    let fixture = fixture();
    let rows = corpus();
    let mut lines: Vec<&str> =
        rows.iter().filter(|row| row.label == "allow").map(|row| row.command.as_str()).collect();
    lines.extend(MORE_LINES);
    for line in &lines {
        let judged = fixture.judge(line, Programs::All);
        assert!(judged.is_ok(), "{line:?}: {judged:?}");
    }
    let (accepted, judged) = accepted_mutants(&fixture, &lines, wanted);
    let originals: Vec<&str> = accepted.iter().map(|(line, _)| line.as_str()).collect();
    let scripts: Vec<&str> = accepted.iter().map(|(_, script)| script.as_str()).collect();
    let (expected, found) = thread::scope(|scope| {
        let expected = scope.spawn(|| notes(&fixture, &originals));
        let found = scope.spawn(|| notes(&fixture, &scripts));
        (expected.join().unwrap(), found.join().unwrap())
    });
    let mut differences = Vec::new();
    let mut programs = 0;
    for (index, (line, script)) in accepted.iter().enumerate() {
        let (expected, found) = (&expected[index], without_added(&found[index]));
        programs += expected.len();
        if *expected != found {
            differences.push(format!("{line:?}\n  {script}\n  bash: {expected:?}\n  ours: {found:?}"));
        }
    }
    println!(
        "{judged} mutants judged, {} accepted and run twice, {programs} programs compared",
        accepted.len()
    );
    assert!(accepted.len() * 20 > judged, "only {} of {judged} were accepted", accepted.len());
    assert!(
        differences.is_empty(),
        "{} differences\n{}",
        differences.len(),
        differences[..differences.len().min(20)].join("\n")
    );
}

#[test]
fn the_notes_tell_lines_apart() {
    let fixture = fixture();
    let lines = [
        "ls a b",
        "ls 'a b'",
        "ls a '' b",
        "ls 'a\nb'",
        "ls *.md",
        "ls '*.md'",
        "ls | cat",
        "ls; cat",
        "cat && ls",
        "cat || ls",
        "ls 2>&1",
        "ls >/dev/null",
        "ls 2>/dev/null",
        "ls < README.md",
        "ls 2>&1 >/dev/null",
        "ls >/dev/null 2>&1",
        "ls < missing",
        "ls $",
        "ls \"$HOME\"",
        "ls;",
        "/usr/bin/ls -l",
        "ls -l",
    ];
    let notes: Vec<String> = notes(&fixture, &lines).iter().map(|notes| notes.join(" / ") + "\n").collect();
    let home = fixture.home.display().to_string();
    expect![[r#"
        ls a b;
        ls a\ b;
        ls a '' b;
        ls $'a\nb';
        ls --include=x.md -x.md MEMORY.md README.md a\'b.md file\ with\ spaces.md notes.md é.md;
        ls \*.md;
        cat; 0moved / ls;
        cat; / ls;
        cat;
        cat; / ls;
        ls; 2out 2=1
        ls; 1null
        ls; 2null
        ls; 0moved
        ls; 1null 2out
        ls; 1null 2null 2=1

        ls \$;
        ls HOME;
        ls;
        ls -l;
        ls -l;
    "#]]
    .assert_eq(&notes.concat().replace(&home, "HOME"));
}

/// Over names in which much is special, in folders and behind links.
#[test]
fn patterns_become_what_bash_makes_of_them() {
    let fixture = fixture();
    let odd = fixture.cwd.join("odd");
    for name in [
        "a", "b", "ab", "aB", "Ab", "a b", "a*b", "a?b", "[a]", "a-b", "a.b", "_", "é", "éa", "こ", "😀",
        "e\u{301}", "a'b", "a\\b", "a\nb", "~", "$a", "!a", "0", "9", "z", "Z", ".a", "..b", "sub/a",
        "sub/b.a", "sub/.c", "Sub/a", "other/z",
    ] {
        let path = odd.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    std::os::unix::fs::symlink("sub", odd.join("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", odd.join("gone")).unwrap();
    const PIECES: &[&str] = &[
        "*", "*", "?", "?", "**", "[a-c]", "[!a]", "[^A-Z]", "[a-]", "[-a]", "[a-c-e]", "[!-a]", "[z-a]",
        "[.a]", "[_0-9]", "[--z]", "a", "b", "B", ".", "/", "/", "-", "é", "e", "'*'", "\\?", "\"[a]\"",
        "sub", "..", "z", "_", "\\\\", "' '",
    ];
    let mut random = Random::seeded(3);
    let mut accepted = BTreeSet::new();
    for _ in 0..6_000 {
        let count = 1 + random.below(5);
        let pattern: String = (0..count).map(|_| PIECES[random.below(PIECES.len())]).collect();
        let line = format!("ls odd/{pattern}");
        if let Ok(judged) = fixture.judge_with(&line, Programs::All, Trusted::Folder(FOLDER.into())) {
            accepted.insert((line, judged.script));
        }
    }
    let originals: Vec<&str> = accepted.iter().map(|(line, _)| line.as_str()).collect();
    let scripts: Vec<&str> = accepted.iter().map(|(_, script)| script.as_str()).collect();
    let (expected, found) = (notes(&fixture, &originals), notes(&fixture, &scripts));
    println!("{} patterns compared", originals.len());
    assert!(originals.len() > 2_000, "{}", originals.len());
    for (index, line) in originals.iter().enumerate() {
        assert_eq!(expected[index], found[index], "{line}");
    }
}

/// Each with its script; each line once.
fn accepted_mutants(fixture: &Fixture, lines: &[&str], wanted: usize) -> (Vec<(String, String)>, usize) {
    let workers = 2;
    let parts: Vec<BTreeSet<(String, String)>> = thread::scope(|scope| {
        let judging = |seed| {
            scope.spawn(move || {
                let mut random = Random::seeded(seed);
                let mut accepted = BTreeSet::new();
                for _ in 0..wanted / workers {
                    let line = mutant(lines, &mut random);
                    let judged = fixture.judge_with(&line, Programs::All, Trusted::Folder(FOLDER.into()));
                    if let Ok(judged) = judged {
                        accepted.insert((line, judged.script));
                    }
                }
                accepted
            })
        };
        let threads: Vec<_> = (1..=workers as u64).map(judging).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let accepted: BTreeSet<(String, String)> = parts.into_iter().flatten().collect();
    (accepted.into_iter().collect(), wanted / workers * workers)
}

/// What each line ran: a note for each program, sorted, because the stages of a pipeline run side by side.
fn notes(fixture: &Fixture, lines: &[&str]) -> Vec<Vec<String>> {
    let work = tempfile::tempdir().unwrap();
    let path = |name: &str| work.path().join(name);
    let mut input = String::new();
    for line in lines {
        write!(input, "{line}\0").unwrap();
    }
    fs::write(path("lines"), input).unwrap();
    fs::write(path("run.bash"), runner()).unwrap();
    fs::write(path("stdin"), "").unwrap();
    let status = Command::new("bash")
        .args(["--noprofile", "--norc"])
        .arg(path("run.bash"))
        .arg(work.path())
        .current_dir(&fixture.cwd)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &fixture.home)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    read_notes(&path("notes"), lines.len())
}

fn read_notes(file: &Path, count: usize) -> Vec<Vec<String>> {
    let text = fs::read_to_string(file).unwrap();
    let mut notes: Vec<Vec<String>> = Vec::with_capacity(count);
    let mut current = Vec::new();
    for line in text.lines() {
        if line == "end" {
            current.sort();
            notes.push(std::mem::take(&mut current));
        } else {
            current.push(line.to_owned());
        }
    }
    assert_eq!(notes.len(), count);
    notes
}

/// A note is one line, written at once: the program, its words as `%q` writes them, and the descriptors. A program's
/// exit code is that of the length of its name, so that `&&` and `||` are both taken.
fn runner() -> String {
    let mut script = String::from(
        r#"PATH=/nowhere
exec 9>>"$1/notes" 7<"$1/lines" 5<"$1/stdin" 6>"$1/stdout" 8>"$1/stderr"
note() {
    local words= ends=
    (( $# > 1 )) && printf -v words ' %q' "${@:2}"
    [[ /dev/fd/0 -ef /dev/fd/5 ]] || ends+=' 0moved'
    [[ /dev/fd/1 -ef /dev/null ]] && ends+=' 1null'
    [[ /dev/fd/2 -ef /dev/null ]] && ends+=' 2null'
    [[ /dev/fd/1 -ef /dev/fd/8 ]] && ends+=' 1err'
    [[ /dev/fd/2 -ef /dev/fd/6 ]] && ends+=' 2out'
    [[ /dev/fd/2 -ef /dev/fd/1 ]] && ends+=' 2=1'
    printf '%s\n' "$1$words;$ends" >&9
    return $(( ${#1} % 2 ))
}
"#,
    );
    for program in PROGRAMS {
        for name in [
            (*program).to_owned(),
            format!("/bin/{program}"),
            format!("/usr/bin/{program}"),
            format!("{FOLDER}/{program}"),
        ] {
            writeln!(script, "function {name} {{ note {program} \"$@\"; }}").unwrap();
        }
    }
    // No line is alone in a subshell, which would take most of the time: an accepted one changes nothing here either.
    script.push_str(
        r#"while IFS= read -r -d '' line <&7; do
    eval "$line" <&5 >&6 2>&8
    printf 'end\n' >&9
done
exit 0
"#,
    );
    script
}

fn without_added(notes: &[String]) -> Vec<String> {
    let strip = |note: &String| {
        let program = note.split([' ', ';']).next().unwrap_or_default();
        let mut note = note.clone();
        if matches!(program, "git" | "rg" | "pwd") {
            let is_of = |added: &&&str| (**added == "-L") == (program == "pwd");
            for added in ADDED.iter().filter(is_of) {
                note = note.replacen(&format!(" {added}"), "", 1);
            }
        }
        note
    };
    let mut notes: Vec<String> = notes.iter().map(strip).collect();
    notes.sort();
    notes
}
