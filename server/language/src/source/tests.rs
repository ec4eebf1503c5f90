use expect_test::{Expect, expect};

use super::*;
use crate::testing::Bench;

const AUTH: &str = "use std::io;\n\npub struct Session;\n\nimpl Session {\n    pub fn login(&self) {}\n}\n\nfn other() { Session.login(); }\n";

fn check(memories: &str, path: &str, source: &str, expected: Expect) {
    let bench = Bench::new(&format!("//- {path}\n{source}{memories}"));
    let text = bench.text(path);
    let shown = bench.with(path, &text, |page, facts| {
        let marked = marks(page, facts, None).into_iter().map(|mark| {
            let line = text[..mark.range.start].matches('\n').count();
            let names: Vec<&str> = mark.memories.iter().map(|marked| marked.known.name.as_str()).collect();
            format!("{line} {:?} {}\n", &text[mark.range], names.join(", "))
        });
        let gone = missing(page, facts).into_iter().map(|one| format!("! {}\n", one.message));
        marked.chain(gone).collect::<String>()
    });
    expected.assert_eq(&shown);
}

#[test]
fn memories_are_shown_where_they_speak_of_the_code() {
    check(
        "//- memory/file.md\n---\nname: File\n---\nSee `src/auth.rs`.\n//- memory/line.md\n---\nname: Line\n---\nSee `src/auth.rs:3`.\n//- memory/symbol.md\n---\nname: Symbol\n---\nNever call `Session::login` twice.\n//- memory/none.md\n---\nname: None\n---\n`Thing::login` and `io()`\n",
        "src/auth.rs",
        AUTH,
        expect![[r#"
            0 "use std::io;" File
            2 "pub struct Session;" Line
            5 "login" Symbol
        "#]],
    );
}

#[test]
fn what_a_memory_says_of_a_file_and_is_not_there_is_told() {
    check(
        "//- memory/a.md\n---\nname: A\n---\n`logout()` of `src/auth.rs` and `src/auth.rs:99`\n\n`elsewhere()`\n",
        "src/auth.rs",
        AUTH,
        expect![[r#"
            0 "use std::io;" A
            ! the memory "A" speaks of logout, which is not in this file any more
            ! the memory "A" speaks of line 99, which is not in this file any more
        "#]],
    );
}

#[test]
fn a_symbol_is_missing_only_if_no_file_of_its_line_has_it() {
    let memory = "//- memory/a.md\n`src/b.rs`\n\n`logout()` of `src/auth.rs` went to `src/b.rs`\n";
    check(
        &format!("{memory}//- src/b.rs\nfn logout() {{}}\n"),
        "src/auth.rs",
        AUTH,
        expect![[r#"
        0 "use std::io;" a
    "#]],
    );
    check(
        &format!("{memory}//- src/b.rs\n\n"),
        "src/auth.rs",
        AUTH,
        expect![[r#"
            0 "use std::io;" a
            ! the memory "a" speaks of logout, which is not in this file any more
        "#]],
    );
}

#[test]
fn a_path_means_the_file_at_the_root_and_only_else_another_that_ends_so() {
    let memory = "//- memory/a.md\n`src/auth.rs`\n";
    check(&format!("{memory}//- src/auth.rs\n\n"), "crate/src/auth.rs", AUTH, expect![""]);
    check(&format!("{memory}//- other/src/auth.rs\n\n"), "crate/src/auth.rs", AUTH, expect![""]);
    check(
        memory,
        "crate/src/auth.rs",
        AUTH,
        expect![[r#"
        0 "use std::io;" a
    "#]],
    );
}

#[test]
fn a_bare_name_means_the_only_file_that_has_it() {
    check(
        "//- memory/a.md\n`auth.rs`\n",
        "src/auth.rs",
        AUTH,
        expect![[r#"
        0 "use std::io;" a
    "#]],
    );
    check("//- memory/a.md\n`auth.rs`\n//- lib/auth.rs\n", "src/auth.rs", AUTH, expect![""]);
}

#[test]
fn the_outline_says_better_where_a_symbol_is() {
    let bench = Bench::new("//- a.zig\nconst login = 1;\n//- memory/m.md\n`login()`\n");
    let text = bench.text("a.zig");
    let outline = [Outline { name: "login".to_owned(), range: 6..11 }];
    let found = bench.with("a.zig", &text, |page, facts| marks(page, facts, Some(&outline)));
    assert_eq!(found[0].range, 6..11);
    // What can be done is offered where the hint is.
    let offered =
        |outline| bench.with("a.zig", &text, |page, facts| source_actions(page, facts, outline, 7..7).len());
    let other = [Outline { name: "other".to_owned(), range: 0..5 }];
    assert_eq!((offered(Some(&outline[..])), offered(Some(&other[..]))), (2, 1));
}

#[test]
fn an_outline_without_symbols_is_none() {
    let bench = Bench::new("//- a.rs\nfn login() {}\n//- memory/m.md\n`login()`\n");
    let text = bench.text("a.rs");
    let found = bench.with("a.rs", &text, |page, facts| marks(page, facts, Some(&[])));
    assert_eq!(found[0].range, 3..8);
}

#[test]
fn the_text_of_a_memory_is_shown_as_text() {
    let bench = Bench::new(
        "//- src/a.rs\n\n//- memory/m.md\n---\nname: \"[x](y) <b>\"\n---\n`src/a.rs` ![i](http://x.example/i.png) <script>\n",
    );
    let text = bench.text("src/a.rs");
    let shown = bench.with("src/a.rs", &text, |page, facts| described(&marks(page, facts, None)[0], facts));
    expect![[r#"
        ◆ **\[x\](y) \<b\>** — saved today

        > `src/a.rs` !\[i](http://x.example/i.png) \<script>

        `memory/m.md`"#]]
    .assert_eq(&bench.shown(&shown));
}
