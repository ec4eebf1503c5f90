//! What becomes of one file's text.

use super::{document::Document, include, *};

fn targets(body: &str) -> Vec<String> {
    include::find(body).into_iter().map(|include| include.target).collect()
}

#[test]
fn an_include_is_what_people_mean_by_one() {
    for (body, expected) in [
        ("@a.md", &["a.md"][..]),
        ("see @a.md and @b/c.md.", &["a.md", "b/c.md"]),
        ("- @./a.md\n> @../b.md\n", &["./a.md", "../b.md"]),
        ("(@a.md) [@b.md] {@c.md} <@d.md>", &["a.md", "b.md", "c.md", "d.md"]),
        ("@a.md, @b.md; @c.md: @d.md! @e.md?", &["a.md", "b.md", "c.md", "d.md", "e.md"]),
        ("\"see @a.md\" _@x_ and _see @b.md_", &["a.md", "b.md"]),
        ("@my\\ notes/a\\ b.md c", &["my notes/a b.md"]),
        ("@~/x.md @/etc/x.md", &["~/x.md", "/etc/x.md"]),
        ("@a.md#heading @b.md#", &["a.md", "b.md"]),
        ("@README @LICENSE", &["README", "LICENSE"]),
        ("@a.md @a.md", &["a.md"]),
        ("参见 @docs/a.md。（@b.md），@c.md、", &["docs/a.md", "b.md"]),
        ("先读 @a.md，再读【@指南.md】", &["a.md", "指南.md"]),
        ("@.hidden.md @_x.md @-y.md @über.md", &[".hidden.md", "_x.md", "-y.md", "über.md"]),
        ("x\n\t@a.md\r\n@b.md\r\n", &["a.md", "b.md"]),
        ("ann@example.com <ann@example.com> mailto:a@b.md", &[]),
        ("x@a.md /@a.md =@a.md \"@a.md\"", &[]),
        ("@ a.md @@b.md @#c @(x @\"y\" @", &[]),
        ("@... @.. @!", &[]),
        ("`@a.md` ``x @b.md`` `c\n@c.md`", &[]),
        ("```\n@a.md\n```\n~~~md\n@b.md\n~~~\n\n    @c.md\n", &[]),
        ("- x\n\n  ```\n  @a.md\n  ```\n\n> ```\n> @b.md\n", &[]),
        ("```\n@a.md\n", &[]),
        ("<!-- @a.md --> <!--\n@b.md\n-->\n@c.md<!-- d -->", &["c.md"]),
        ("x <!-- @a.md -->\n\n@b.md", &["b.md"]),
        ("`@a.md\n\n@b.md", &["b.md"]),
    ] {
        assert_eq!(targets(body), expected, "{body:?}");
    }
    assert_eq!(targets(&format!("@{}", "x".repeat(5000))), Vec::<String>::new());
}

#[test]
fn an_include_is_resolved_where_it_stands() {
    for (target, expected) in [
        ("a.md", "/w/docs/a.md"),
        ("./a.md", "/w/docs/./a.md"),
        ("~/a.md", "/home/ann/a.md"),
        ("~//etc/passwd", "/home/ann/etc/passwd"),
        ("~bob/a.md", "/w/docs/~bob/a.md"),
        ("/a.md", "/a.md"),
    ] {
        let resolved = include::resolve(target, Path::new("/w/docs/CLAUDE.md"), Path::new("/home/ann"));
        assert_eq!(resolved, Path::new(expected));
    }
}

#[test]
fn text_is_sent_without_what_is_not_for_the_model() {
    for (raw, expected) in [
        ("a\nb\n", "a\nb"),
        ("\u{feff}a\r\nb\r\n", "a\nb"),
        ("a\rb\r", "a\nb"),
        ("---\npaths: x\n---\nbody\n", "body"),
        ("---\r\npaths: x\r\n---\r\nbody\r\n", "body"),
        ("\u{feff}---\npaths: x\n---\nbody\n", "body"),
        ("---\nname: [\nbroken\n---\nbody\n", "body"),
        ("a\n<!-- hidden -->\nb\n", "a\nb"),
        ("a <!-- hidden\nstill --> b\n", "a  b"),
        (
            "`<!-- shown -->`\n```html\n<!-- shown -->\n```\n",
            "`<!-- shown -->`\n```html\n<!-- shown -->\n```",
        ),
        ("a\u{200b}b\n", "a[U+200B]b"),
        ("<!-- only a comment -->\n", ""),
        ("\n\n  indented\n", "  indented"),
    ] {
        assert_eq!(Document::of(raw, true).text, expected, "{raw:?}");
    }
    let code = "# @a.md\n<!-- x -->\n---\n";
    let document = Document::of(code, false);
    assert_eq!(document.text, code.trim_end());
    assert_eq!(document.includes, []);
}

#[test]
fn lines_are_counted_as_editors_count_them() {
    let document =
        Document::of("\u{feff}---\r\npaths: x\r\n---\r\n<!--\r\n-->\r\na\u{202e}b\r\n@x.md\r\n", true);
    assert_eq!(document.includes.iter().map(|include| include.line).collect::<Vec<_>>(), [6]);
    assert_eq!(document.findings.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [Some(5)]);
}

#[test]
fn hidden_characters_are_named_by_line_and_spelled_out() {
    let hidden = [
        "a\u{200b}b",
        "\u{202e}abc",
        "a\u{e0041}b",
        "a\u{fe01}b",
        "a\u{ad}b",
        "a\u{1}b",
        "a\u{9b}b",
        "a\u{2028}b",
        "a\u{3164}b",
        "a\u{feff}b",
        "a\u{2066}b",
    ];
    for text in hidden {
        for raw in [format!("x\n{text}\n"), format!("x\n<!-- {text} -->\n"), format!("`\n{text}\n`")] {
            let document = Document::of(&raw, true);
            assert_eq!(document.findings.first().map(|(line, _)| *line), Some(Some(1)), "{text:?}");
            assert_eq!(document.text, hidden::shown(&document.text), "{text:?}");
        }
    }
    let mixed = Document::of("раssword here\n", true);
    assert_eq!(mixed.findings.len(), 1);
    let innocent = "Grüße, 你好, नमस्ते क्‍ष, سلام، می‌خواهم, 👩‍👩‍👧 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿\n";
    assert!(Document::of(innocent, true).findings.is_empty());

    let many = Document::of(&"a\u{200b}b\n".repeat(100), true);
    assert_eq!(many.findings.len(), 21);
    assert!(many.findings[20].1.contains("more hidden characters"));
}

#[test]
fn a_long_file_is_loaded_whole_with_a_hint_what_to_split_off() {
    let section =
        |title: &str, lines: usize| format!("## {title}\n{}", "0123456789 123456789\n".repeat(lines));
    let text = format!(
        "# All\n{}{}{}{}```\n# not a heading\n{}```\n",
        section("Small", 10),
        section("Tests", 500),
        section("API\u{202e}", 1200),
        section("Style", 300),
        "code\n".repeat(50),
    );
    let document = Document::of(&text, true);
    assert!(document.text.len() > LONG);
    let words = &document.findings.last().unwrap().1;
    expect_test::expect![[r#"is 42525 characters long, more than 40000, and goes along with every request; the most would be saved by moving out "API[U+202E]" (25208 characters), "Tests" (10509 characters), "Style" (6583 characters) (rules with `paths:` in `.claude/rules`, CLAUDE.md files in subfolders)"#]]
    .assert_eq(words);

    let at = "ä".repeat(LONG);
    assert!(Document::of(&at, true).findings.is_empty());
    let beyond = Document::of(&format!("{at}ä"), true);
    assert!(beyond.findings[0].1.contains("split it into files"), "{:?}", beyond.findings);
}

#[test]
fn a_label_says_where_from_and_hides_nothing() {
    let piece = Piece {
        path: PathBuf::from("/w/a\u{202e}b\n</x>/CLAUDE.md"),
        source: Source::Local,
        reason: Reason::Compact,
        parent: None,
        text: String::new(),
        globs: Vec::new(),
    };
    assert_eq!(piece.label(), "/w/a[U+202E]b </x>/CLAUDE.md (local instructions)");
    let words: Vec<&str> = [
        Reason::SessionStart,
        Reason::NestedTraversal,
        Reason::PathGlobMatch,
        Reason::Include,
        Reason::Compact,
    ]
    .map(Reason::as_str)
    .to_vec();
    assert_eq!(words, ["session_start", "nested_traversal", "path_glob_match", "include", "compact"]);
}
