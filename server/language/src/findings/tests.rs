use expect_test::{Expect, expect};

use super::*;
use crate::testing::Bench;

fn check(files: &str, path: &str, expected: Expect) {
    let bench = Bench::new(files);
    let text = bench.text(path);
    let shown = bench.with(path, &text, |page, facts| {
        let found = diagnostics(page, facts);
        let lines = found.iter().map(|one| {
            let what: String = text[one.range.clone()].chars().take(40).collect();
            format!("{:?} {what:?} {}: {}\n", one.severity, one.code, one.message)
        });
        lines.collect::<String>()
    });
    expected.assert_eq(&bench.shown(&shown));
}

#[test]
fn a_memory_shows_what_is_wrong_at_its_place() {
    check(
        "//- memory/MEMORY.md\n- [N](n.md)\n//- src/main.rs\n//- memory/n.md\n---\nname: n\ntype: project\n---\n\nÜber `src/auth.rs` yesterday, see `src/main.rs`.\r\n",
        "memory/n.md",
        expect![[r#"
            Warning "---" no-description: there is no description: one line that says when this matters is what recall goes by
            Information "yesterday" relative-date: "yesterday" means another day whenever it is read: write the date
            Warning "`src/auth.rs`" stale-reference: there is no src/auth.rs in the workspace: check it, or say when it was
        "#]],
    );
}

#[test]
fn an_index_shows_links_that_lead_nowhere() {
    check(
        "//- memory/MEMORY.md\n- [A](a.md) — there\n- [B](b.md) — gone\n- [half](\n//- memory/a.md\n---\nname: a\ndescription: d\n---\nx\n",
        "memory/MEMORY.md",
        expect![[r#"
            Warning "b.md" dead-link: there is no b.md, which this entry links to
        "#]],
    );
}

#[test]
fn instructions_show_includes_that_lead_nowhere_and_names_are_left_alone() {
    check(
        "//- docs/a.md\n//- CLAUDE.md\nSee @docs/a.md and @docs/gone.md, ask @ada.\n`@code.md`\n",
        "CLAUDE.md",
        expect![[r#"
            Warning "@docs/gone.md" dead-link: there is no docs/gone.md, which this would include
        "#]],
    );
}

#[test]
fn packages_are_no_files_that_are_missing() {
    check(
        "//- docs/a.md\n//- CLAUDE.md\nWe use @tanstack/react-query in @acme/backend; see @docs/gone, @./x, @~/y, @gone/z.md.\n",
        "CLAUDE.md",
        expect![[r#"
            Warning "@docs/gone" dead-link: there is no docs/gone, which this would include
            Warning "@./x" dead-link: there is no ./x, which this would include
            Warning "@~/y" dead-link: there is no ~/y, which this would include
            Warning "@gone/z.md" dead-link: there is no gone/z.md, which this would include
        "#]],
    );
}

#[test]
fn instructions_show_secrets() {
    check(
        "//- CLAUDE.md\nfirst\napi_key = \"ghp_9rT2mQ7xW4bK8nL3vJ6hD1sF5gP0zYcAuEiO\"\n",
        "CLAUDE.md",
        expect![[r#"
            Error "api_key = \"ghp_9rT2mQ7xW4bK8nL3vJ6hD1sF5" secret: this looks like a secret (rule github-pat): instructions are plain text that every session reads; say where the secret is kept instead
        "#]],
    );
}

#[test]
fn a_skill_needs_a_description() {
    check(
        "//- .claude/skills/s/SKILL.md\n---\nname: s\n---\nx\n",
        ".claude/skills/s/SKILL.md",
        expect![[r#"
            Warning "---" no-description: there is no description: it tells the model when to use the skill
        "#]],
    );
    check(
        "//- .claude/skills/s/SKILL.md\n---\ndescription:\n  over two\n  lines\n---\nx\n",
        ".claude/skills/s/SKILL.md",
        expect![""],
    );
}

#[test]
fn a_file_of_five_megabytes_is_not_looked_at() {
    let bench = Bench::new("//- memory/n.md\n");
    let text = "- [A](a.md) `src/x.rs` @x\n".repeat(5 * 1024 * 1024 / 26);
    let found = bench.with("memory/n.md", &text, diagnostics);
    assert_eq!(found.iter().map(|one| one.code).collect::<Vec<_>>(), ["too-large"]);
}
