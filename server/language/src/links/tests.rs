use expect_test::{Expect, expect};

use super::*;
use crate::testing::Bench;

fn check(files: &str, path: &str, expected: Expect) {
    let bench = Bench::new(files);
    let text = bench.text(path);
    let shown = bench.with(path, &text, |page, facts| {
        let found = links(page, facts).into_iter();
        found
            .map(|link| format!("{:?} → {} {:?}\n", &text[link.range], link.target.display(), link.line))
            .collect::<String>()
    });
    expected.assert_eq(&bench.shown(&shown));
}

#[test]
fn what_is_named_and_there_can_be_gone_to() {
    check(
        "//- src/auth.rs\n//- memory/a.md\nx\n//- memory/n.md\n---\nname: n\n---\nSee [a](a.md), `src/auth.rs:12`, `auth.rs`, `src/gone.rs` and [site](https://x.example/a.md).\n",
        "memory/n.md",
        expect![[r#"
            "a.md" → memory/a.md None
            "src/auth.rs:12" → src/auth.rs Some(11)
            "auth.rs" → src/auth.rs None
        "#]],
    );
    check(
        "//- memory/team/b c.md\nx\n//- memory/MEMORY.md\n- [B](<team/b c.md>) — b\n- [X](x.md\n",
        "memory/MEMORY.md",
        expect![[r#"
            "team/b c.md" → memory/team/b c.md None
        "#]],
    );
    check(
        "//- docs/a.md\nx\n//- CLAUDE.md\n@docs/a.md, and [b](docs/a.md#h)\n",
        "CLAUDE.md",
        expect![[r#"
            "@docs/a.md" → docs/a.md None
            "[b](docs/a.md#h)" → docs/a.md None
        "#]],
    );
}

#[test]
fn links_by_reference_lead_there_from_both_of_their_ends() {
    check(
        "//- memory/a.md\nx\n//- memory/MEMORY.md\n- [A][a] — see [b](a.md)\n\n[a]: a.md\n",
        "memory/MEMORY.md",
        expect![[r#"
            "[A][a]" → memory/a.md None
            "a.md" → memory/a.md None
            "a.md" → memory/a.md None
        "#]],
    );
    check(
        "//- src/auth.rs\n//- memory/n.md\n---\nname: n\n---\nSee [the code][c].\n\n[c]: <src/auth.rs> 'ü'\n",
        "memory/n.md",
        expect![[r#"
            "[the code][c]" → src/auth.rs None
            "src/auth.rs" → src/auth.rs None
        "#]],
    );
    check(
        "//- docs/a.md\nx\n//- CLAUDE.md\nSee [it].\n\n[it]: docs/a.md\n",
        "CLAUDE.md",
        expect![[r#"
            "[it]" → docs/a.md None
            "[it]: docs/a.md" → docs/a.md None
        "#]],
    );
}

#[test]
fn the_definition_is_at_the_other_end() {
    let bench = Bench::new("//- memory/a.md\nx\n//- memory/MEMORY.md\n- [A](a.$0md)\n");
    let (text, at) = bench.cursor("memory/MEMORY.md");
    let found = bench.with("memory/MEMORY.md", &text, |page, facts| definition(page, facts, at));
    assert_eq!(found.unwrap().0.path, bench.path("memory/a.md"));
}
