use expect_test::{Expect, expect};

use super::*;
use crate::testing::Bench;

fn check(files: &str, path: &str, expected: Expect) {
    let bench = Bench::new(files);
    let (text, at) = bench.cursor(path);
    let shown = bench.with(path, &text, |page, facts| {
        hover(page, facts, at)
            .map_or("nothing".to_owned(), |found| format!("{:?}\n{}", &text[found.range], found.text))
    });
    expected.assert_eq(&bench.shown(&shown));
}

const DEPLOYS: &str =
    "//- memory/deploys.md\n---\nname: Deploys\ndescription: On Fridays only\ntype: project\n---\nx\n";

#[test]
fn an_entry_says_what_its_memory_is() {
    let index = format!("{DEPLOYS}//- memory/MEMORY.md\n- [Dep$0loys](deploys.md) — Fridays\n");
    check(
        &index,
        "memory/MEMORY.md",
        expect![[r#"
            "- [Deploys](deploys.md) — Fridays"
            **Deploys**

            On Fridays only

            project, saved today; never recalled"#]],
    );
}

#[test]
fn fields_and_types_say_what_they_mean() {
    let memory = |front: &str| format!("//- memory/n.md\n---\n{front}\n---\nx\n");
    check(
        &memory("descr$0iption: x"),
        "memory/n.md",
        expect![[r#"
        "description"
        One line that says when this matters: what recall goes by."#]],
    );
    check(
        &memory("type: feed$0back"),
        "memory/n.md",
        expect![[r#"
        "feedback"
        `feedback`: how the user wants the work done: corrections and confirmations"#]],
    );
    check(&memory("type: ban$0ana"), "memory/n.md", expect!["nothing"]);
}

#[test]
fn an_include_says_whether_it_is_there() {
    check(
        "//- docs/a.md\nabc\n//- CLAUDE.md\n@docs/a.md @do$0cs/b.md\n",
        "CLAUDE.md",
        expect![[r#"
        "@docs/b.md"
        `docs/b.md` is not there (`docs/b.md`)"#]],
    );
    check(
        "//- docs/a.md\nabc\n//- CLAUDE.md\n@docs/$0a.md\n",
        "CLAUDE.md",
        expect![[r#"
        "@docs/a.md"
        `docs/a.md`: 4 bytes"#]],
    );
}

#[test]
fn a_setting_says_what_it_does() {
    check(
        "//- .claude/settings.json\n{ \"inline\": { \"le$0ns\": true } }\n",
        ".claude/settings.json",
        expect![[r#"
            "lens"
            Lines above the place that a memory speaks of.

            Default: `true`"#]],
    );
}
