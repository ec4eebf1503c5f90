//! Grep over small trees, as a model calls it.

use std::{
    fs::{self, File},
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::Path,
    time::{Duration, SystemTime},
};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::Grep;
use crate::testing::{Bench, Saves};

/// A tree from one string with `//- path` headings; each file is a second older than the one before.
fn tree(files: &str) -> Bench {
    let bench = Bench::new();
    let newest = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    for (age, file) in files.split("//- ").skip(1).enumerate() {
        let (name, text) = file.split_once('\n').unwrap();
        bench.put(name, text);
        set_age(&bench.path(name), newest - Duration::from_secs(age as u64));
    }
    bench
}

fn set_age(path: &Path, modified: SystemTime) {
    File::options().append(true).open(path).unwrap().set_modified(modified).unwrap();
}

async fn check(bench: &Bench, input: Value, expected: Expect) {
    bench.run(&Grep, input).await.check(expected);
}

const SMALL: &str = "\
//- b.rs
fn one() {}
fn two() {}
//- a.rs
let x = one();
//- docs/notes.md
One more
nothing
one last
";

#[tokio::test]
async fn files_are_listed_newest_first() {
    let bench = tree(SMALL);
    check(
        &bench,
        json!({"pattern": "one"}),
        expect![[r#"
        b.rs
        a.rs
        docs/notes.md
        === shown as Files { paths: ["CWD/b.rs", "CWD/a.rs", "CWD/docs/notes.md"] }"#]],
    )
    .await;
    check(
        &bench,
        json!({"pattern": "absent"}),
        expect![[r#"
        No matches found.
        === shown as Files { paths: [] }"#]],
    )
    .await;
}

#[tokio::test]
async fn files_of_the_same_time_are_sorted_by_name() {
    let bench = tree(SMALL);
    for name in ["a.rs", "b.rs", "docs/notes.md"] {
        set_age(&bench.path(name), SystemTime::UNIX_EPOCH);
    }
    assert_eq!(bench.run(&Grep, json!({"pattern": "one"})).await.text(), "a.rs\nb.rs\ndocs/notes.md");
}

#[tokio::test]
async fn lines_are_shown_by_file() {
    let bench = tree(SMALL);
    check(
        &bench,
        json!({"pattern": "one", "output_mode": "content", "-i": true}),
        expect![[r#"
        b.rs
        1:fn one() {}

        a.rs
        1:let x = one();

        docs/notes.md
        1:One more
        3:one last"#]],
    )
    .await;
    check(
        &bench,
        json!({"pattern": "^fn", "output_mode": "content", "-n": false}),
        expect![[r#"
        b.rs
        fn one() {}
        fn two() {}"#]],
    )
    .await;
    check(&bench, json!({"pattern": "^absent", "output_mode": "content"}), expect!["No matches found."])
        .await;
}

#[tokio::test]
async fn lines_are_counted() {
    let bench = tree(SMALL);
    check(
        &bench,
        json!({"pattern": "one", "output_mode": "count", "-i": true}),
        expect![[r#"
        b.rs:1
        a.rs:1
        docs/notes.md:2
        [4 matching lines in 3 files]"#]],
    )
    .await;
}

#[tokio::test]
async fn context_lines_are_marked_and_groups_parted() {
    let bench = tree("//- a\n1\n2\n3 x\n4\n5\n6\n7\n8 x\n9 x\n");
    check(
        &bench,
        json!({"pattern": "x", "output_mode": "content", "-A": 1, "-B": 2}),
        expect![[r#"
        a
        1-1
        2-2
        3:3 x
        4-4
        --
        6-6
        7-7
        8:8 x
        9:9 x"#]],
    )
    .await;
    check(
        &bench,
        json!({"pattern": "3", "output_mode": "content", "-C": 1}),
        expect![[r#"
        a
        2-2
        3:3 x
        4-4"#]],
    )
    .await;
}

#[tokio::test]
async fn a_match_may_span_lines_when_asked() {
    let bench = tree("//- a\nstruct A {\n    b: u8,\n}\nstruct C;\n");
    let input = json!({"pattern": r"struct A \{.*?\}", "output_mode": "content", "multiline": true});
    check(
        &bench,
        input,
        expect![[r#"
        a
        1:struct A {
        2:    b: u8,
        3:}"#]],
    )
    .await;
    check(&bench, json!({"pattern": r"\{\n", "output_mode": "content"}), expect![[r#"
        FAILED: the pattern is not valid: the literal "\n" is not allowed in a regex; to match across lines set multiline"#]])
    .await;
}

#[tokio::test]
async fn ignored_hidden_and_binary_files_are_left_out() {
    let bench = tree(
        "\
//- .gitignore
*.log
/target/
//- src/a.rs
needle
//- src/.hidden.rs
needle
//- .github/ci.yml
needle
//- x.log
needle
//- target/out.rs
needle
//- .git/config
needle
",
    );
    bench.put("binary", b"needle\0needle");
    let list = async |input| bench.run(&Grep, input).await.text();
    assert_eq!(list(json!({"pattern": "needle"})).await, "src/a.rs");
    // What is asked for by name is searched.
    assert_eq!(list(json!({"pattern": "needle", "path": "target"})).await, "target/out.rs");
    assert_eq!(list(json!({"pattern": "needle", "path": "x.log"})).await, "x.log");
    assert_eq!(list(json!({"pattern": "needle", "path": ".github"})).await, ".github/ci.yml");
    assert_eq!(list(json!({"pattern": "needle", "glob": ".github/**"})).await, ".github/ci.yml");
    assert_eq!(list(json!({"pattern": "needle", "glob": ".*"})).await, "src/.hidden.rs");
    assert_eq!(list(json!({"pattern": "needle", "glob": "*.log"})).await, "No matches found.");
    assert_eq!(
        list(json!({"pattern": "needle", "path": "binary"})).await,
        "No matches found.\n[it is a binary file, which is not searched]"
    );
}

#[tokio::test]
async fn types_and_globs_narrow_the_search() {
    let bench = tree("//- a.rs\nx\n//- b.py\nx\n//- sub/c.rs\nx\n//- sub/d.toml\nx\n");
    let list = async |input| bench.run(&Grep, input).await.text();
    assert_eq!(list(json!({"pattern": "x", "type": "rust"})).await, "a.rs\nsub/c.rs");
    assert_eq!(list(json!({"pattern": "x", "glob": "*.{py,toml}"})).await, "b.py\nsub/d.toml");
    assert_eq!(list(json!({"pattern": "x", "glob": "sub/*", "type": "rust"})).await, "sub/c.rs");
    assert_eq!(list(json!({"pattern": "x", "path": "sub", "glob": "!*.rs"})).await, "sub/d.toml");
    check(
        &bench,
        json!({"pattern": "x", "type": "tsx"}),
        expect![[r#"FAILED: no file type is called "tsx"; use glob instead, for example `*.tsx`"#]],
    )
    .await;
}

#[tokio::test]
async fn unsaved_buffers_are_searched_instead_of_the_disk() {
    let bench = tree("//- a.txt\nold text\n//- b.txt\nold text\n");
    bench.open("b.txt", "new text\n", Saves::No);
    let list = async |input| bench.run(&Grep, input).await.text();
    assert_eq!(list(json!({"pattern": "old"})).await, "a.txt");
    assert_eq!(list(json!({"pattern": "text"})).await, "b.txt\na.txt");
    assert_eq!(list(json!({"pattern": "new", "output_mode": "content"})).await, "b.txt\n1:new text");
    assert_eq!(list(json!({"pattern": "new", "path": "b.txt"})).await, "b.txt");
    bench.context.workspace.open_document(&bench.path("fresh.txt"), "text", 1, "brand new\n");
    assert_eq!(list(json!({"pattern": "brand"})).await, "fresh.txt");
    assert_eq!(list(json!({"pattern": "brand", "path": "fresh.txt"})).await, "fresh.txt");
    assert_eq!(list(json!({"pattern": "brand", "glob": "*.rs"})).await, "No matches found.");
}

#[tokio::test]
async fn names_that_are_not_text_are_escaped() {
    let bench = Bench::new();
    for name in [&b"new\nline"[..], b"not\xffutf8", "sp ace ä".as_bytes()] {
        let path = bench.context.cwd.join(std::ffi::OsStr::from_bytes(name));
        fs::write(&path, "needle\n").unwrap();
        set_age(&path, SystemTime::UNIX_EPOCH);
    }
    let input = json!({"pattern": "needle", "output_mode": "count"});
    check(
        &bench,
        input,
        expect![[r#"
        new\nline:1
        not\xffutf8:1
        sp ace ä:1
        [3 matching lines in 3 files]"#]],
    )
    .await;
}

#[tokio::test]
async fn limits_cut_and_tell() {
    let mut files = String::new();
    for number in 0..30 {
        files.push_str(&format!("//- f{number:02}\n{}", "match\n".repeat(10)));
    }
    let bench = tree(&files);
    let run = async |input| bench.run(&Grep, input).await.text();
    let listed = run(json!({"pattern": "match", "head_limit": 2})).await;
    assert_eq!(listed, "f00\nf01\n[2 of 30 files, the last changed first]");
    let content = run(json!({"pattern": "match", "output_mode": "content", "head_limit": 3})).await;
    assert_eq!(
        content,
        "f00\n1:match\n2:match\n3:match\n\n[3 of 300 matching lines in 30 files; narrow the search or raise head_limit]"
    );
    let by_default = run(json!({"pattern": "match", "output_mode": "content"})).await;
    assert_eq!(by_default.matches(":match").count(), 250);
    let unlimited = run(json!({"pattern": "match", "output_mode": "content", "head_limit": 0})).await;
    assert_eq!(unlimited.matches(":match").count(), 300);
    let counted = run(json!({"pattern": "match", "output_mode": "count", "head_limit": 1})).await;
    assert_eq!(counted, "f00:10\n[300 matching lines in 30 files; 1 shown]");
}

#[tokio::test]
async fn long_lines_show_the_match_and_long_answers_end() {
    let long = format!("{}NEEDLE{}", "a".repeat(10_000), "b".repeat(10_000));
    let bench =
        tree(&format!("//- long\n{long}\n//- many\n{}", format!("{}\n", "NEEDLE ".repeat(70)).repeat(200)));
    let run = async |input| bench.run(&Grep, input).await.text();
    let shown = run(json!({"pattern": "NEEDLE", "path": "long", "output_mode": "content"})).await;
    assert_eq!(shown, format!("long\n1:[...] {}NEEDLE{} [...]", "a".repeat(100), "b".repeat(394)));
    let many = run(json!({"pattern": "NEEDLE", "output_mode": "content", "head_limit": 0})).await;
    assert!((30_000..31_500).contains(&many.len()), "{}", many.len());
    assert!(many.ends_with("of 201 matching lines in 2 files; narrow the search or raise head_limit]"));
}

#[tokio::test]
async fn windows_files_match_at_the_end_of_their_lines() {
    let bench = tree("//- a\none;\r\ntwo\r\n");
    assert_eq!(
        bench.run(&Grep, json!({"pattern": ";$", "output_mode": "content"})).await.text(),
        "a\n1:one;"
    );
}

#[tokio::test]
async fn utf16_files_are_searched() {
    let bench = Bench::new();
    let bytes: Vec<u8> = "\u{feff}first\nnäedle\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    bench.put("a", bytes);
    assert_eq!(
        bench.run(&Grep, json!({"pattern": "näedle", "output_mode": "content"})).await.text(),
        "a\n2:näedle"
    );
}

#[tokio::test]
async fn bad_calls_are_told_what_is_wrong() {
    let bench = tree(SMALL);
    check(&bench, json!({"pattern": ""}), expect!["FAILED: the pattern is empty"]).await;
    check(
        &bench,
        json!({"pattern": "x", "path": "nowhere"}),
        expect!["FAILED: CWD/nowhere does not exist; the working folder is CWD"],
    )
    .await;
    check(
        &bench,
        json!({"pattern": "x", "path": "/dev/null"}),
        expect!["FAILED: /dev/null is neither a file nor a folder"],
    )
    .await;
    check(&bench, json!({"pattern": "a{"}), expect![[r#"
        FAILED: the pattern is not valid: regex parse error:
            (?:a{)
                 ^
        error: repetition quantifier expects a valid decimal; escape what is meant literally with a backslash"#]])
    .await;
    check(
        &bench,
        json!({"pattern": "x", "glob": "[z-a]"}),
        expect!["FAILED: the glob **/[z-a] is not valid: invalid range; 'z' > 'a'"],
    )
    .await;
    check(
        &bench,
        json!({"pattern": "(\\w{1000}){1000}"}),
        expect!["FAILED: the pattern is not valid: compiled regex exceeds size limit of 10485760"],
    )
    .await;
    check(&bench, json!({"pattern": "x", "output_mode": "lines"}), expect![[
        r#"FAILED: the input of Grep is not valid: output_mode must be one of "files_with_matches", "content", "count", but is "lines""#
    ]])
    .await;
}

#[tokio::test]
async fn links_are_not_followed_unless_named_and_pipes_do_not_hang() {
    let bench = tree("//- real/a\nneedle\n");
    std::os::unix::fs::symlink(".", bench.path("real/loop")).unwrap();
    std::os::unix::fs::symlink("real", bench.path("link")).unwrap();
    std::os::unix::fs::symlink("real/a", bench.path("file-link")).unwrap();
    let fifo = rustix::fs::Mode::from(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, bench.path("pipe"), rustix::fs::FileType::Fifo, fifo, 0).unwrap();
    let list = async |input| bench.run(&Grep, input).await.text();
    assert_eq!(list(json!({"pattern": "needle"})).await, "real/a");
    assert_eq!(list(json!({"pattern": "needle", "path": "link"})).await, "link/a");
    assert_eq!(list(json!({"pattern": "needle", "path": "file-link"})).await, "file-link");
}

/// A walk that opened one of them would never return, and the answer would be a failure.
#[tokio::test]
async fn pipes_in_place_of_ignore_files_do_not_hang() {
    let pipe = |bench: &Bench, name: &str| {
        let path = bench.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mode = rustix::fs::Mode::from(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    };
    let files = "//- a.c\nneedle\n//- sub/b.c\nneedle\n//- sub/deep/c.c\nneedle\n//- other/.gitignore\nd.c\n//- other/d.c\nneedle\n";
    let list = async |bench: &Bench, input| {
        let text = bench.run(&Grep, input).await.text();
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines.join(" ")
    };
    for name in [".gitignore", ".ignore", ".git/info/exclude"] {
        let bench = tree(files);
        pipe(&bench, name);
        let all = "a.c other/d.c sub/b.c sub/deep/c.c";
        assert_eq!(list(&bench, json!({"pattern": "needle"})).await, all, "{name}");
        // Also above the folder that is searched.
        let below = "sub/b.c sub/deep/c.c";
        assert_eq!(list(&bench, json!({"pattern": "needle", "path": "sub"})).await, below, "{name}");

        // What the others ignore still is.
        let bench = tree(files);
        pipe(&bench, &format!("sub/{name}"));
        let shown = "a.c sub/b.c sub/deep/c.c";
        assert_eq!(list(&bench, json!({"pattern": "needle"})).await, shown, "{name}");
        let text = bench.run(&crate::glob::Glob, json!({"pattern": "*/*.c"})).await.text();
        assert_eq!(text, "sub/b.c", "{name}");
    }
}

#[tokio::test]
async fn a_line_too_long_to_hold_is_skipped_and_counted() {
    let bench = tree("//- a\nneedle\n");
    let huge = File::create(bench.path("huge")).unwrap();
    // Not a hole: that would be NULs, and a binary file.
    let block = vec![b'x'; 1 << 20];
    for _ in 0..40 {
        std::io::Write::write_all(&mut &huge, &block).unwrap();
    }
    assert_eq!(
        bench.run(&Grep, json!({"pattern": "needle"})).await.text(),
        "a\n[skipped, too long to search: 1 files]"
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_counted_and_not_fatal() {
    let bench = tree("//- a\nneedle\n//- closed/b\nneedle\n");
    fs::set_permissions(bench.path("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    let text = bench.run(&Grep, json!({"pattern": "needle"})).await.text();
    let as_root = fs::read_dir(bench.path("closed")).is_ok();
    fs::set_permissions(bench.path("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    let expected = if as_root { "a\nclosed/b" } else { "a\n[could not be read: 1 files or folders]" };
    assert_eq!(text, expected);
}

#[tokio::test]
async fn a_cancelled_search_ends_at_once() {
    let bench = tree(SMALL);
    bench.context.cancel.cancel();
    check(&bench, json!({"pattern": "one"}), expect!["FAILED: the search was cancelled"]).await;
}

#[tokio::test]
async fn what_may_not_be_read_is_neither_shown_nor_searched() {
    let bench = tree("//- a.txt\ntoken=1\n//- secrets/b.txt\ntoken=2\n//- secrets/c.txt\nnothing\n")
        .hiding("secrets");
    check(
        &bench,
        json!({"pattern": "token", "output_mode": "content", "glob": "**/*.txt"}),
        expect![[r#"
            a.txt
            1:token=1
            [left out by permission rules: 2 files]"#]],
    )
    .await;
    check(
        &bench,
        json!({"pattern": "token=2", "output_mode": "count"}),
        expect![[r#"
        No matches found.
        [left out by permission rules: 2 files]"#]],
    )
    .await;
    // The same whatever is asked: the number must not tell what is in them.
    check(
        &bench,
        json!({"pattern": "token=3", "glob": "secrets/**"}),
        expect![[r#"
        No matches found.
        [left out by permission rules: 2 files]
        === shown as Files { paths: [] }"#]],
    )
    .await;

    bench.put("secrets/d.txt", "saved\n");
    bench.open("secrets/d.txt", "token=4\n", Saves::No);
    let unsaved = bench.run(&Grep, json!({"pattern": "token=4"})).await;
    unsaved.check(expect![[r#"
        No matches found.
        [left out by permission rules: 3 files]
        === shown as Files { paths: [] }"#]]);
}

#[tokio::test]
async fn a_file_that_was_named_was_decided_about_before() {
    let bench = tree("//- secrets/b.txt\ntoken=2\n").hiding("secrets");
    let input = json!({"pattern": "token", "path": "secrets/b.txt", "output_mode": "content"});
    check(
        &bench,
        input,
        expect![[r#"
        secrets/b.txt
        1:token=2"#]],
    )
    .await;
}

#[tokio::test]
async fn a_folder_asked_about_by_name_is_searched_but_for_what_is_denied() {
    let bench = tree("//- secrets/b.txt\ntoken=2\n//- secrets/denied/c.txt\ntoken=3\n")
        .hiding("secrets")
        .denying("secrets/denied");
    check(
        &bench,
        json!({"pattern": "token", "path": "secrets", "output_mode": "content"}),
        expect![[r#"
        secrets/b.txt
        1:token=2
        [left out by permission rules: 1 file]"#]],
    )
    .await;
}
