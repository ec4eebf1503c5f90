//! Whatever lies in the directory, lint comes to an end, soon.

use std::time::{Duration, Instant};

use super::*;

/// Far more than it takes, in a test build on a busy machine; what is not linear takes minutes.
const LIMIT: Duration = Duration::from_secs(60);

fn lint_in_time(dir: &Path) -> Vec<Finding> {
    let secrets = |_: &str| Vec::new();
    let context = LintContext { roots: vec![dir.to_owned()], secrets: Some(&secrets), buffer: None };
    let begin = Instant::now();
    let findings = lint(dir, &context).unwrap();
    assert!(begin.elapsed() < LIMIT, "{:?}", begin.elapsed());
    findings
}

#[test]
fn texts_made_to_hurt_do_not() {
    const SIZE: usize = (1 << 20) - 100;
    let fill = |piece: &str| piece.repeat(SIZE / piece.len());
    let bomb =
        "a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c]\ndescription: *d\n";
    for (name, text) in [
        ("one line", fill("x")),
        ("brackets", fill("[")),
        ("links", fill("[a](b")),
        ("ticks", fill("`a ``b ")),
        ("spans", fill("`a/b.rs` ")),
        ("quotes", fill("> ")),
        ("stars", fill("*a **b ")),
        ("entries", fill("- [a](b.md)\n")),
        ("days", fill("on Thursday ")),
        ("signs", fill("下周")),
        ("hidden", fill("\u{200b}x")),
        ("zeros", fill("\0")),
        ("newlines", fill("\n")),
        ("comments", fill("<!-- ")),
    ] {
        let dir = directory("");
        fs::write(dir.path().join("MEMORY.md"), &text).unwrap();
        fs::write(dir.path().join("a.md"), format!("{FRONT}{}", text.get(..SIZE / 2).unwrap_or(&text)))
            .unwrap();
        fs::write(dir.path().join("b.md"), format!("---\n{bomb}---\n")).unwrap();
        let findings = lint_in_time(dir.path());
        assert!(!findings.is_empty(), "{name}");
    }
}

#[test]
fn lines_of_ten_megabytes_are_not_read() {
    let dir = directory("");
    fs::write(dir.path().join("a.md"), "x".repeat(10 << 20)).unwrap();
    let findings = lint_in_time(dir.path());
    assert_eq!(findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), [code::TOO_LARGE]);
    let long = "y".repeat(10 << 20);
    assert_eq!(lint_instructions(Path::new("/w/CLAUDE.md"), &long).len(), 1);
}

#[test]
fn a_thousand_look_alikes_are_compared_in_time() {
    let dir = directory("");
    let words: Vec<String> = (0..300).map(|word| format!("word{word}")).collect();
    for number in 0..1_000 {
        // Half of the words are common to all.
        let own: Vec<String> = (0..150).map(|word| format!("own{}", word * (number + 1))).collect();
        let text = format!("{FRONT}{} {}\n", words[..150].join(" "), own.join(" "));
        fs::write(dir.path().join(format!("{number}.md")), text).unwrap();
    }
    let same = format!("{FRONT}{}\n", words.join(" "));
    fs::write(dir.path().join("y.md"), &same).unwrap();
    fs::write(dir.path().join("z.md"), same.replace("word7 ", "word ")).unwrap();
    let findings = lint_in_time(dir.path());
    let duplicates: Vec<&Finding> =
        findings.iter().filter(|finding| finding.code == code::DUPLICATE).collect();
    assert_eq!(duplicates.len(), 1);
    assert!(duplicates[0].path.ends_with("z.md"));
}

#[test]
fn folders_in_folders_and_many_files_have_an_end() {
    let dir = directory("");
    let mut deep = dir.path().to_owned();
    for _ in 0..200 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("x.md"), "x").unwrap();
    for number in 0..300 {
        std::os::unix::fs::symlink(".", dir.path().join(format!("l{number}"))).unwrap();
    }
    let findings = lint_in_time(dir.path());
    assert!(findings.iter().all(|finding| finding.code == code::NOT_A_FILE));
    assert_eq!(findings.len(), 300);
}
