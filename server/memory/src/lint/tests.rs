use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use expect_test::{Expect, expect};
use tempfile::TempDir;

use super::*;

mod hostile;
mod words;

/// Frontmatter that is as it should be.
const FRONT: &str = "---\nname: Note\ndescription: D\ntype: project\n---\n";

/// A directory from one text: `//- path` begins a file, and `FRONT` in it is good frontmatter.
fn directory(files: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for file in files.split("//- ").skip(1) {
        let (path, text) = file.split_once('\n').unwrap();
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.replace("FRONT\n", FRONT)).unwrap();
    }
    dir
}

fn shown(dir: &Path, findings: &[Finding]) -> String {
    let mut shown = String::new();
    for finding in findings {
        let path = finding.path.strip_prefix(dir).unwrap();
        let fix = finding.fix.as_ref().map_or(String::new(), |fix| format!(" [{}]", fix.title));
        shown.push_str(&format!(
            "{}:{} {}: {}{fix}\n",
            path.display(),
            finding.line,
            finding.code,
            finding.message
        ));
    }
    shown
}

fn check_in(files: &str, context: &LintContext<'_>, expected: Expect) {
    let dir = directory(files);
    expected.assert_eq(&shown(dir.path(), &lint(dir.path(), context).unwrap()));
}

fn check(files: &str, expected: Expect) {
    check_in(files, &LintContext::default(), expected);
}

/// The findings of one memory that is otherwise good.
fn check_body(body: &str, context: &LintContext<'_>, expected: Expect) {
    check_in(&format!("//- MEMORY.md\n- [N](n.md)\n//- n.md\nFRONT\n{body}"), context, expected);
}

#[test]
fn a_directory_as_it_should_be_has_no_findings() {
    check(
        "//- MEMORY.md\n# Memory\n\n- [N](n.md) — D\n- [T](<team/the plan.md>) — D\n- [Site](https://example.com)\n\
         //- n.md\nFRONT\n\nText.\n//- team/the plan.md\nFRONT\nOther text.\n\
         //- logs/2026/01/2026-01-01.md\nDone today.\n//- .history/dreams/x.md\nx\n//- n.conflict-1.md\nx\n",
        expect![""],
    );
    check("", expect![""]);
}

#[test]
fn entries_without_files_and_files_without_entries() {
    check(
        "//- MEMORY.md\n- [Gone](gone.md) — x\n- [N](./n.md#part)\n- [Up](../../nowhere.md)\n- [In](team/a.md)\n\
         //- n.md\nFRONT\n//- team/a.md\nFRONT\n//- team/MEMORY.md\n- [B](b.md)\n- [N](../n.md)\n\
         //- team/lost.md\nFRONT\n//- sub/alone.md\nFRONT\n",
        expect![[r#"
            MEMORY.md:1 dead-link: there is no gone.md, which this entry links to [Remove the line]
            MEMORY.md:3 dead-link: there is no ../../nowhere.md, which this entry links to [Remove the line]
            sub/alone.md:1 orphan: no index links to this memory, so that only recall may find it [Add it to MEMORY.md]
            team/MEMORY.md:1 dead-link: there is no b.md, which this entry links to [Remove the line]
            team/lost.md:1 orphan: no index links to this memory, so that only recall may find it [Add it to team/MEMORY.md]
        "#]],
    );
}

#[test]
fn fixes_mend_what_they_are_for() {
    let dir = directory(
        "//- MEMORY.md\n- [Gone](gone.md) — x\r\n- [N](n.md)\r\n\
         //- n.md\nFRONT\n\u{200b}a\u{2028}b\n//- team/the (2) plan.md\nFRONT\n//- lost_one.md\nno frontmatter\n",
    );
    let mut rounds = 0;
    while let Some((finding, fix)) = lint(dir.path(), &LintContext::default())
        .unwrap()
        .into_iter()
        .find_map(|finding| finding.fix.clone().map(|fix| (finding, fix)))
    {
        for edit in &fix.edits {
            let text = fs::read_to_string(&edit.path).unwrap_or_default();
            fs::write(&edit.path, fix.applied(&edit.path, &text)).unwrap();
        }
        rounds += 1;
        assert!(rounds < 10, "{finding:?}");
    }
    let read = |path: &str| fs::read_to_string(dir.path().join(path)).unwrap();
    assert_eq!(read("MEMORY.md"), "- [N](n.md)\r\n- [lost one](lost_one.md)\r\n");
    assert_eq!(read("team/MEMORY.md"), "- [Note](<the (2) plan.md>) — D\n");
    assert_eq!(read("n.md"), format!("{FRONT}a\nb\n"));
}

#[test]
fn an_added_line_is_as_long_as_a_line_should_be() {
    let description = "long ".repeat(100);
    let dir = directory(&format!("//- a.md\n---\nname: A [b](c)\ndescription: {description}\n---\n"));
    let findings = lint(dir.path(), &LintContext::default()).unwrap();
    let line = &findings[0].fix.as_ref().unwrap().edits[0].replacement;
    assert!(line.starts_with("- [A b(c)](a.md) — long long"), "{line}");
    assert!(line.trim_end().ends_with('…') && line.trim_end().chars().count() <= 150, "{line}");
    assert_eq!(crate::index::entries(line)[0].target, "a.md");
}

#[test]
fn indexes_have_limits() {
    let lines = "x\n".repeat(201);
    check(
        &format!("//- MEMORY.md\n{lines}"),
        expect![[r#"
        MEMORY.md:201 index-too-long: the index has 201 lines and 402 bytes; only 200 lines and 25000 bytes are loaded: move details into the memories, merge them, drop what no longer holds
    "#]],
    );
    let bytes = format!("{}\n", "y".repeat(199)).repeat(126);
    check(
        &format!("//- MEMORY.md\n{bytes}"),
        expect![[r#"
        MEMORY.md:126 index-too-long: the index has 126 lines and 25200 bytes; only 200 lines and 25000 bytes are loaded: move details into the memories, merge them, drop what no longer holds
    "#]],
    );
    let (at, beyond) = ("é".repeat(200), "é".repeat(201));
    check(
        &format!("//- MEMORY.md\n{at}\n{beyond}\n"),
        expect![[r#"
        MEMORY.md:2 long-line: the line has more than 200 characters: an entry needs 150 at most, the rest belongs in the memory
    "#]],
    );
}

#[test]
fn frontmatter_says_what_a_memory_is() {
    let long = format!("---\nname: x\n{}---\n", "k: v\n".repeat(30));
    let large = format!("---\ndescription: x\nk: {}\n---\n", "v".repeat(20_000));
    check(
        &format!(
            "//- MEMORY.md\n- [a](a.md)\n- [b](b.md)\n- [c](c.md)\n- [d](d.md)\n- [e](e.md)\n- [f](f.md)\n- [g](g.md)\n\
             //- a.md\njust text\n//- b.md\n---\nname: x\ntype: user\n---\n\
             //- c.md\n\u{feff}---\nname: x\ndescription:\ntype: banana\n---\n\
             //- d.md\n---\nname: [\ndescription: \"open\n---\n//- e.md\n{long}//- f.md\n{large}//- g.md\n"
        ),
        expect![[r#"
            a.md:1 no-frontmatter: there is no frontmatter: name, description and type are what recall goes by
            b.md:1 no-description: there is no description: one line that says when this matters is what recall goes by
            c.md:3 empty-description: the description is empty
            c.md:4 unknown-type: the type "banana" is none of user, feedback, project, reference and counts as none
            e.md:1 broken-frontmatter: the frontmatter does not end within 30 lines and is not read
            f.md:1 broken-frontmatter: the file has a frontmatter of more than 16 KB, which is not read
            g.md:1 no-frontmatter: there is no frontmatter: name, description and type are what recall goes by
        "#]],
    );
}

#[test]
fn what_cannot_be_read_is_named_and_not_opened() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let dir = directory("//- MEMORY.md\n- [l](link.md)\n//- latin.md\ncaf\u{0}\n");
    let at = |name: &str| dir.path().join(name);
    fs::write(at("latin.md"), b"caf\xe9").unwrap();
    std::os::unix::fs::symlink("/dev/zero", at("link.md")).unwrap();
    std::os::unix::fs::symlink("..", at("loop")).unwrap();
    mknodat(CWD, at("pipe.md"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    fs::write(at("bad\nname.md"), "").unwrap();
    fs::write(at("hid\u{202e}den.md"), "").unwrap();
    fs::write(dir.path().join(std::ffi::OsStr::from_bytes(b"b\xff.md")), "").unwrap();
    fs::File::create(at("huge.md")).unwrap().set_len(1 << 40).unwrap();
    let findings = lint(dir.path(), &LintContext::default()).unwrap();
    let shown: Vec<String> =
        findings.iter().map(|finding| format!("{}: {}\n", finding.code, finding.message)).collect();
    expect![[r#"
        unusable-name: the name "bad\nname.md" has characters that nobody sees, or < or >: rename it
        unusable-name: the name "b\xFF.md" is not UTF-8, so no index can link to it: rename it
        unusable-name: the name "hid\u{202e}den.md" has characters that nobody sees, or < or >: rename it
        too-large: it is larger than 1024 KB, which is no memory, and not read
        not-text: it is not UTF-8 text, so it is never recalled
        not-a-file: link.md is a symbolic link, which is not followed
        not-a-file: loop is a symbolic link, which is not followed
        not-a-file: pipe.md is a pipe, a socket or a device, which is not opened
    "#]]
    .assert_eq(&shown.concat());
}

#[test]
fn an_open_buffer_counts_instead_of_the_file() {
    let dir = directory("//- MEMORY.md\n- [a](a.md)\n//- a.md\nFRONT\n");
    let buffer = |path: &Path| path.ends_with("MEMORY.md").then(|| "- [b](b.md)\n".to_owned());
    let context = LintContext { buffer: Some(&buffer), ..LintContext::default() };
    expect![[r#"
        MEMORY.md:1 dead-link: there is no b.md, which this entry links to [Remove the line]
        a.md:1 orphan: no index links to this memory, so that only recall may find it [Add it to MEMORY.md]
    "#]]
    .assert_eq(&shown(dir.path(), &lint(dir.path(), &context).unwrap()));
}

#[test]
fn secrets_are_named_by_their_rule_only() {
    let secrets = |text: &str| {
        let lines = text.lines().enumerate().filter(|(_, line)| line.contains("sk-"));
        lines.map(|(line, _)| ("model-key".to_owned(), line + 1)).collect()
    };
    let context = LintContext { secrets: Some(&secrets), ..LintContext::default() };
    check_body(
        "The key is sk-123.\n",
        &context,
        expect![[r#"
        n.md:6 secret: this looks like a secret (rule model-key): a memory is plain text that every session reads; say where the secret is kept instead
    "#]],
    );
}

#[test]
fn a_directory_that_is_none_is_an_error() {
    assert!(lint(Path::new("/nonexistent"), &LintContext::default()).is_err());
}
