use expect_test::{Expect, expect};

use super::*;

fn check(text: &str, expected: Expect) {
    expected.assert_debug_eq(&parse(text));
}

#[test]
fn yaml_and_a_body() {
    check(
        "---\nname: review\ndescription: >\n  Looks at\n  changes\nallowed-tools: [Read, 'Bash(git diff:*)']\nmodel: 5\nempty:\n---\n# Body\n",
        expect![[r##"
            Document {
                fields: Fields(
                    [
                        (
                            "name",
                            Text(
                                "review",
                            ),
                        ),
                        (
                            "description",
                            Text(
                                "Looks at changes\n",
                            ),
                        ),
                        (
                            "allowed-tools",
                            List(
                                [
                                    "Read",
                                    "Bash(git diff:*)",
                                ],
                            ),
                        ),
                        (
                            "model",
                            Text(
                                "5",
                            ),
                        ),
                    ],
                ),
                body: "# Body\n",
                problem: None,
            }
        "##]],
    );
}

fn lines(front: &str) -> Vec<(String, Option<String>)> {
    let text = format!("---\n{front}\n---\nbody");
    let document = parse(&text);
    assert_eq!(document.body, "body");
    ["name", "description", "paths", "allowed-tools"]
        .into_iter()
        .map(|key| (key.to_owned(), document.fields.line(key)))
        .filter(|(_, value)| value.is_some())
        .collect()
}

#[test]
fn what_yaml_refuses_is_read_by_lines() {
    let refused =
        "name: x\ndescription: Use when: the user asks\npaths: *.rs\n\tindented: with a tab\nname: y";
    assert!(from_yaml(refused).is_none());
    expect![[r#"
        [
            (
                "name",
                Some(
                    "y",
                ),
            ),
            (
                "description",
                Some(
                    "Use when: the user asks",
                ),
            ),
            (
                "paths",
                Some(
                    "*.rs indented: with a tab",
                ),
            ),
        ]
    "#]]
    .assert_debug_eq(&lines(refused));
}

#[test]
fn lists_and_blocks_are_read_by_lines_too() {
    let refused = "description: |\n  one: two: three\n  four\nallowed-tools:\n- Read\n- \"Bash(git:*)\"\n# note\npaths: *.rs\n'odd key' : 1";
    assert!(from_yaml(refused).is_none());
    expect![[r#"
        [
            (
                "description",
                Some(
                    "one: two: three four",
                ),
            ),
            (
                "paths",
                Some(
                    "*.rs",
                ),
            ),
            (
                "allowed-tools",
                Some(
                    "Read, Bash(git:*)",
                ),
            ),
        ]
    "#]]
    .assert_debug_eq(&lines(refused));
}

#[test]
fn windows_line_ends() {
    let document = parse("---\r\nname: a\r\ndescription: b: c\r\n---\r\nbody\r\n");
    assert_eq!(document.fields.line("description").as_deref(), Some("b: c"));
    assert_eq!(document.body, "body\r\n");
}

#[test]
fn a_break_in_the_text_is_not_a_frontmatter() {
    for text in ["", "---", "---\nno end", "text\n---\nname: x\n---\n", "--- \nname: x\n--\n"] {
        assert_eq!(parse(text), Document { body: text, ..Document::default() });
    }
}

#[test]
fn a_huge_frontmatter_is_not_read() {
    let text = format!("---\nname: {}\n---\nbody", "x".repeat(LARGEST));
    let document = parse(&text);
    assert_eq!(document.body, "body");
    assert!(document.problem.is_some() && document.fields == Fields::default());
}

#[test]
fn bombs_are_refused_quickly() {
    let anchors = "a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\n\
                   d: &d [*c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e]\ndescription: x";
    let deep = format!("a: {}\ndescription: x", "[".repeat(10_000));
    for front in [anchors, deep.as_str()] {
        assert_eq!(lines(front), [("description".to_owned(), Some("x".to_owned()))]);
    }
}

#[test]
fn hidden_characters_do_not_reach_the_model() {
    let text = "a\u{200b}b\u{202e}c\u{e0041}\u{e0042} d\u{7}\n e";
    assert_eq!(one_line(text), "abc d e");
}
