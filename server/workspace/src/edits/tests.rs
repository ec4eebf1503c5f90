use expect_test::expect;

use super::*;
use crate::format::view;
use crate::testing::Random;

/// Shows what `raw` becomes and by which hunks.
#[track_caller]
fn check(raw: &str, new: &str, expected: expect_test::Expect) {
    let hunks = hunks(raw, new);
    let shown: Vec<String> =
        hunks.iter().map(|hunk| format!("{:?} → {:?}", &raw[hunk.old.clone()], hunk.new)).collect();
    expected.assert_eq(&format!("{:?}\n{}", apply(raw, &hunks), shown.join("\n")));
}

#[test]
fn only_the_changed_lines_are_in_the_hunks() {
    check(
        "a\nb\nc\nd\ne\n",
        "a\nB\nc\nd\nE\n",
        expect![[r#"
        "a\nB\nc\nd\nE\n"
        "b\n" → "B\n"
        "e\n" → "E\n""#]],
    );
}

#[test]
fn new_lines_get_the_usual_end_and_changed_ones_keep_theirs() {
    check(
        "a\r\nb\nc\r\n",
        "a\nB\nc\nd\n",
        expect![[r#"
        "a\r\nB\nc\r\nd\r\n"
        "b\n" → "B\n"
        "" → "d\r\n""#]],
    );
    check(
        "a\rb\r",
        "a\nx\ny\nb\n",
        expect![[r#"
        "a\rx\ry\rb\r"
        "" → "x\ry\r""#]],
    );
}

#[test]
fn the_final_newline_is_as_the_new_text_has_it() {
    check(
        "a\r\nb",
        "a\nb\n",
        expect![[r#"
        "a\r\nb\r\n"
        "" → "\r\n""#]],
    );
    check(
        "a\r\nb\r\n",
        "a\nb",
        expect![[r#"
        "a\r\nb"
        "\r\n" → """#]],
    );
    check(
        "a\nb",
        "a\nb\nc",
        expect![[r#"
        "a\nb\nc"
        "" → "\nc""#]],
    );
    check(
        "a\nb\nc",
        "a\nb",
        expect![[r#"
        "a\nb"
        "\nc" → """#]],
    );
}

#[test]
fn empty_texts_have_no_special_rule() {
    check(
        "",
        "a\n",
        expect![[r#"
        "a\n"
        "" → "a\n""#]],
    );
    check(
        "a\n",
        "",
        expect![[r#"
        ""
        "a\n" → """#]],
    );
    check(
        "",
        "",
        expect![[r#"
        ""
    "#]],
    );
}

/// A raw text whose lines are all different, so that it is known which line is which after a change.
fn distinct_lines(random: &mut Random, count: usize) -> String {
    let mut raw: String = (0..count)
        .map(|number| {
            format!("{number} {}{}", random.pick(&["", "ä", "x y", "😀"]), random.pick(&["\n", "\r\n", "\r"]))
        })
        .collect();
    if random.below(3) == 0 {
        raw.truncate(raw.trim_end_matches(['\r', '\n']).len());
    }
    raw
}

#[test]
fn bytes_outside_the_changed_lines_never_change() {
    let mut random = Random::new(27);
    for _ in 0..20_000 {
        let count = random.below(12) + 1;
        let raw = distinct_lines(&mut random, count);
        let old: Vec<&str> = lines(&raw).iter().map(|line| &raw[line.bytes.clone()]).collect();
        let start = random.below(old.len() + 1);
        let end = start + random.below(old.len() - start + 1);
        let changed: String = (0..random.below(4)).map(|number| format!("new {number}\n")).collect();
        let (before, after) = (old[..start].concat(), old[end..].concat());
        if !before.is_empty() && !before.ends_with(['\n', '\r']) && !changed.is_empty() {
            continue;
        }
        let new = format!("{}{changed}{}", view(&before), view(&after));
        let result = apply(&raw, &hunks(&raw, &new));
        assert_eq!(view(&result), new, "{raw:?}");
        assert!(result.starts_with(&before), "{raw:?} {new:?} {result:?}");
        // The lines after the change keep their bytes; a change at the very end has none.
        assert!(result.ends_with(&after), "{raw:?} {new:?} {result:?}");
    }
}

#[test]
fn any_text_becomes_any_other() {
    let mut random = Random::new(3);
    for _ in 0..20_000 {
        let (raw, new) = (random.text(20), random.text(20));
        let new = view(&new).into_owned();
        let hunks = hunks(&raw, &new);
        assert_eq!(view(&apply(&raw, &hunks)), new, "{raw:?}");
        assert!(hunks.is_sorted_by(|one, two| one.old.end < two.old.start), "{hunks:?}");
    }
}

#[test]
fn two_large_texts_with_nothing_in_common_end_in_time() {
    let old: String = (0..200_000).map(|number| format!("{number}\n")).collect();
    let new: String = (0..200_000).map(|number| format!("{}\n", number * 7 + 3)).collect();
    assert_eq!(apply(&old, &hunks(&old, &new)), new);
}

#[test]
fn edits_are_in_the_encoding_of_the_editor() {
    let raw = "\u{feff}😀\r\nend";
    let rope = Rope::from_str(raw);
    let body = &raw[3..];
    let show = |encoding| {
        let edits = text_edits(&rope, 3, hunks(body, "😀\nend\n"), encoding);
        edits
            .iter()
            .map(|edit| format!("{:?} {:?}", edit.range, edit.new_text))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let expected = expect![[
        r#"Range { start: Position { line: 1, character: 3 }, end: Position { line: 1, character: 3 } } "\r\n""#
    ]];
    expected.assert_eq(&show(Encoding::Utf16));
    let edits = text_edits(&rope, 3, hunks(body, "x\nend"), Encoding::Utf8);
    expect![[r#"
        [
            TextEdit {
                range: Range {
                    start: Position {
                        line: 0,
                        character: 3,
                    },
                    end: Position {
                        line: 1,
                        character: 0,
                    },
                },
                new_text: "x\r\n",
            },
        ]
    "#]]
    .assert_debug_eq(&edits);
}

#[test]
fn the_line_end_behind_a_change_is_not_part_of_it() {
    let changed = |raw: &str, view: &str| apply(raw, &hunks(raw, view));
    let mixed = "one\r\ntwo\nthree\r\nfour\nfive\r\n";
    assert_eq!(changed(mixed, "one\ntwo\nthree\nF1\nF2\nfive\n"), "one\r\ntwo\nthree\r\nF1\nF2\nfive\r\n");
    assert_eq!(changed(mixed, "one\ntwo\nX\nfive\n"), "one\r\ntwo\nX\nfive\r\n");
    assert_eq!(changed("x\ra\rb\n", "x\nQ\n"), "x\rQ\n");
}
