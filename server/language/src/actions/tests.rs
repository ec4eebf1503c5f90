use expect_test::{Expect, expect};

use super::*;
use crate::testing::Bench;

/// The actions at the cursor, each with what the text is after it.
fn check(files: &str, path: &str, expected: Expect) {
    let bench = Bench::new(files);
    let (text, at) = bench.cursor(path);
    let shown = bench.with(path, &text, |page, facts| {
        let found = actions(page, facts, at..at).into_iter().map(|action| match action.deed {
            Deed::Edit(edits) => {
                let fix = Fix { title: String::new(), edits };
                let edited = &fix.edits[0].path;
                let before = if *edited == page.path {
                    text.clone()
                } else {
                    std::fs::read_to_string(edited).unwrap_or_default()
                };
                let after = fix.applied(edited, &before);
                let line = after.lines().find(|line| !before.lines().any(|other| other == *line));
                format!("{}: {:?}\n", action.title, line.unwrap_or("(a line less)"))
            }
            deed => format!("{}: {deed:?}\n", action.title),
        });
        found.collect::<String>()
    });
    expected.assert_eq(&bench.shown(&shown));
}

const FRONT: &str = "---\nname: Note\ndescription: d\ntype: project\ncreated: 2026-03-10\n---\n\n";

#[test]
fn a_reference_to_what_has_moved_or_gone_is_mended() {
    let memory = |body: &str| {
        format!("//- memory/MEMORY.md\n- [n](n.md)\n//- memory/n.md\n{FRONT}{body}\n//- src/deep/auth.rs\n")
    };
    check(
        &memory("Look into `src/au$0th.rs:3` first."),
        "memory/n.md",
        expect![[r#"
        Point to src/deep/auth.rs: "Look into `src/deep/auth.rs:3` first."
        Remove the reference: "Look into first."
        Say that it is gone: "Look into src/auth.rs:3 (gone, 2026-03-20) first."
        Delete this memory: Delete("memory/n.md")
    "#]],
    );
    check(
        &memory("- `src/go$0ne.rs`\n- more"),
        "memory/n.md",
        expect![[r#"
        Remove the reference: "(a line less)"
        Say that it is gone: "- src/gone.rs (gone, 2026-03-20)"
        Delete this memory: Delete("memory/n.md")
    "#]],
    );
    check(
        &memory("As in [the code](src/go$0ne.rs), do."),
        "memory/n.md",
        expect![[r#"
        Remove the reference: "As in, do."
        Say that it is gone: "As in the code (gone, 2026-03-20), do."
        Delete this memory: Delete("memory/n.md")
    "#]],
    );
}

#[test]
fn a_symbol_that_is_gone_is_let_go() {
    check(
        &format!(
            "//- memory/MEMORY.md\n- [n](n.md)\n//- memory/n.md\n{FRONT}Call `lo$0gin()` in `src/auth.rs` once.\n//- src/auth.rs\n\n"
        ),
        "memory/n.md",
        expect![[r#"
            Remove the reference: "Call in `src/auth.rs` once."
            Say that it is gone: "Call login() (gone, 2026-03-20) in `src/auth.rs` once."
            Delete this memory: Delete("memory/n.md")
        "#]],
    );
}

#[test]
fn only_what_somebody_renamed_is_followed_without_a_question() {
    let bench = Bench::new(&format!(
        "//- memory/n.md\n{FRONT}`src/auth.rs`\n//- src/deep/auth.rs\n\n//- src/login.rs\n\n"
    ));
    let text = bench.text("memory/n.md");
    let at = text.find("src/").unwrap();
    let first = || {
        let found = bench.with("memory/n.md", &text, |page, facts| actions(page, facts, at..at));
        found.iter().find(|action| action.code == Some(code::STALE_REFERENCE)).cloned().unwrap()
    };
    assert_eq!((first().title.as_str(), first().is_preferred), ("Point to src/deep/auth.rs", false));
    bench.files.rename(&bench.path("src/auth.rs"), &bench.path("src/login.rs"));
    assert_eq!((first().title.as_str(), first().is_preferred), ("It is src/login.rs now", true));
}

#[test]
fn a_link_by_reference_is_mended_where_it_is_defined() {
    let memory = |body: &str| {
        format!("//- memory/MEMORY.md\n- [n](n.md)\n//- memory/n.md\n{FRONT}{body}\n//- src/deep/auth.rs\n")
    };
    check(
        &memory("See [the code][c].\n\n[c]: src/au$0th.rs#x"),
        "memory/n.md",
        expect![[r#"
            Point to src/deep/auth.rs: "[c]: src/deep/auth.rs#x"
            Remove the reference: "See the code."
            Say that it is gone: "See the code (gone, 2026-03-20)."
            Delete this memory: Delete("memory/n.md")
        "#]],
    );
    check(
        &memory("Nobody refers to it.\n\n[c]: src/go$0ne.rs"),
        "memory/n.md",
        expect![[r#"
            Remove the reference: "(a line less)"
            Say that it is gone: "src/gone.rs (gone, 2026-03-20)"
            Delete this memory: Delete("memory/n.md")
        "#]],
    );
}

#[test]
fn an_include_that_leads_nowhere_is_removed() {
    check(
        "//- CLAUDE.md\nSee @./go$0ne.md for more.\n",
        "CLAUDE.md",
        expect![[r#"
            Remove the include: "See for more."
        "#]],
    );
}

#[test]
fn a_date_that_is_typed_now_is_of_today_whenever_the_memory_was_begun() {
    let bench = Bench::new(&format!("//- memory/n.md\n{FRONT}The freeze began yesterday.\n"));
    let typed =
        format!("{FRONT}The freeze began yesterday.\nIt ended yesterday, and by next week all is done.\n");
    let dates = bench.with("memory/n.md", &typed, |page, facts| {
        let all = actions(page, facts, 0..0);
        assert!(all.iter().all(|action| action.code != Some(code::RELATIVE_DATE)));
        let lines = ["The freeze", "It ended"].map(|line| typed.find(line).unwrap());
        let actions = lines.into_iter().flat_map(|at| actions(page, facts, at..at));
        let titles = actions.map(|action| action.title).filter(|title| title.starts_with("Write"));
        titles.collect::<Vec<_>>()
    });
    assert_eq!(dates, ["Write 2026-03-09", "Write 2026-03-19", "Write the week of 2026-03-23"]);
}

#[test]
fn a_date_is_made_absolute_by_the_day_it_was_written() {
    check(
        &format!(
            "//- memory/MEMORY.md\n- [n](n.md)\n//- memory/n.md\n{FRONT}The freeze began yes$0terday.\n"
        ),
        "memory/n.md",
        expect![[r#"
            Write 2026-03-09: "The freeze began 2026-03-09."
            Delete this memory: Delete("memory/n.md")
        "#]],
    );
}

#[test]
fn a_memory_without_an_entry_gets_one_and_one_without_frontmatter_too() {
    check(
        "//- memory/MEMORY.md\n- [x](x.md)\n//- memory/my-note.md\nw$0ords\n",
        "memory/my-note.md",
        expect![[r#"
            Add frontmatter: "---"
            Add it to MEMORY.md: "- [my note](my-note.md)"
            Delete this memory: Delete("memory/my-note.md")
        "#]],
    );
}

#[test]
fn a_dead_link_is_led_to_the_memory_that_is_meant() {
    check(
        &format!("//- memory/MEMORY.md\n- [Note](ol$0d.md) — hook\n//- memory/new.md\n{FRONT}x\n"),
        "memory/MEMORY.md",
        expect![[r#"
            Link to new.md: "- [Note](new.md) — hook"
            Remove the line: "(a line less)"
        "#]],
    );
}

#[test]
fn a_long_entry_is_shortened_to_a_word() {
    let hook = "words that go on ".repeat(14);
    check(
        &format!("//- memory/MEMORY.md\n- [n](n.md) —$0 {hook}\n//- memory/n.md\n{FRONT}x\n"),
        "memory/MEMORY.md",
        expect![[r#"
            Shorten the entry: "- [n](n.md) — words that go on words that go on words that go on words that go on words that go on words that go on words that go on words that go…"
        "#]],
    );
}

#[test]
fn what_says_the_same_twice_is_merged() {
    check(
        &format!(
            "//- memory/MEMORY.md\n- [a](a.md)\n- [b](b.md)\n//- memory/a.md\n{FRONT}The same words.\n//- memory/b.md\n{FRONT}The $0same words.\n"
        ),
        "memory/b.md",
        expect![[r#"
            Merge this into a.md: Merge { path: "memory/b.md", into: "memory/a.md" }
            Delete this memory: Delete("memory/b.md")
        "#]],
    );
}
