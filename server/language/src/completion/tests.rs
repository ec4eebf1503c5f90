use expect_test::{Expect, expect};

use super::*;
use crate::testing::Bench;

fn check(files: &str, path: &str, expected: Expect) {
    let bench = Bench::new(files);
    let (text, at) = bench.cursor(path);
    let shown = bench.with(path, &text, |page, facts| {
        let items = complete(page, facts, at).into_iter().take(6);
        items
            .map(|item| format!("{} ({:?} → {:?})\n", item.label, &text[item.range], item.text))
            .collect::<String>()
    });
    expected.assert_eq(&shown);
}

#[test]
fn frontmatter_offers_what_is_missing() {
    check(
        "//- memory/n.md\n---\nname: x\n$0\n---\n",
        "memory/n.md",
        expect![[r#"
        description ("" → "description: ")
        type ("" → "type: ")
        created ("" → "created: ")
        source ("" → "source: ")
        confidence ("" → "confidence: ")
    "#]],
    );
    check(
        "//- memory/n.md\n---\ntype: p$0",
        "memory/n.md",
        expect![[r#"
        user ("p" → "user")
        feedback ("p" → "feedback")
        project ("p" → "project")
        reference ("p" → "reference")
    "#]],
    );
    check(
        "//- .claude/rules/r.md\n---\n$0\n---\n",
        ".claude/rules/r.md",
        expect![[r#"
        paths ("" → "paths: ")
    "#]],
    );
    check("//- memory/n.md\n---\nname: x\n---\n$0", "memory/n.md", expect![""]);
}

#[test]
fn a_link_offers_memories_first_those_that_the_index_lacks() {
    check(
        "//- memory/a.md\nx\n//- memory/the plan.md\nx\n//- memory/MEMORY.md\n- [A](a.md)\n- [B](th$0\n",
        "memory/MEMORY.md",
        expect![[r#"
            the plan.md ("th" → "<the plan.md>")
            a.md ("th" → "a.md")
        "#]],
    );
}

#[test]
fn an_include_offers_files() {
    check(
        "//- docs/b.md\n//- docs/a.md\n//- docs/deep/c.md\n//- CLAUDE.md\nsee @docs/$0\n",
        "CLAUDE.md",
        expect![[r#"
        a.md ("" → "a.md")
        b.md ("" → "b.md")
        deep ("" → "deep/")
    "#]],
    );
    check("//- docs/b.md\n//- CLAUDE.md\nmail ada@doc$0\n", "CLAUDE.md", expect![""]);
}

#[test]
fn settings_offer_keys_and_values() {
    check(
        "//- .claude/settings.json\n{ \"inline\": { \"$0\" } }\n",
        ".claude/settings.json",
        expect![[r#"
            lens ("" → "lens")
            hints ("" → "hints")
            hover ("" → "hover")
            diagnostics ("" → "diagnostics")
            completion ("" → "completion")
            navigation ("" → "navigation")
        "#]],
    );
    check(
        "//- .claude/settings.json\n{ \"inline\": { \"lens\": $0",
        ".claude/settings.json",
        expect![[r#"
        true ("" → "true")
        false ("" → "false")
    "#]],
    );
    check(
        "//- .claude/settings.json\n{ \"permissions\": { \"defaultMode\": \"$0\" } }",
        ".claude/settings.json",
        expect![[r#"
            plan ("" → "plan")
            default ("" → "default")
            acceptEdits ("" → "acceptEdits")
            bypassPermissions ("" → "bypassPermissions")
        "#]],
    );
}
