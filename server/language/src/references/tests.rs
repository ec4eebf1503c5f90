use expect_test::expect;

use super::*;
use crate::testing::Bench;

#[test]
fn rules_in_folders_nested_instructions_and_written_blanks_count() {
    let bench = Bench::new(
        "//- memory/MEMORY.md\n- [P](the%20plan.md)\n//- memory/the plan.md\nx\n//- docs/d.md\n//- CLAUDE.md\n@docs/d.md\n//- server/deep/CLAUDE.md\n@../../docs/d.md\n//- .claude/rules/deep/r.md\n@../../../docs/d.md\n",
    );
    let mut shown = String::new();
    for (path, offset) in [("memory/the plan.md", 0), ("CLAUDE.md", 3)] {
        let text = bench.text(path);
        for spot in bench.with(path, &text, |page, facts| references(page, facts, offset, &|_| None)) {
            shown.push_str(&format!("{}\n", spot.path.display()));
        }
    }
    expect![[r#"
        memory/MEMORY.md
        .claude/rules/deep/r.md
        CLAUDE.md
        server/deep/CLAUDE.md
    "#]]
    .assert_eq(&bench.shown(&shown));
}

#[test]
fn who_speaks_of_a_file_is_found() {
    let bench = Bench::new(
        "//- memory/MEMORY.md\n- [A](a.md)\n//- memory/b.md\nsee [a](a.md), [it][a]\n\n[a]: a.md\n//- memory/a.md\nx\n//- docs/d.md\n//- CLAUDE.md\n@docs/d.md, [it](docs/d.md)\n//- .claude/rules/r.md\n@../../docs/d.md\n",
    );
    let mut shown = String::new();
    for (path, offset) in [("memory/a.md", 0), ("CLAUDE.md", 3)] {
        let text = bench.text(path);
        let found = bench.with(path, &text, |page, facts| references(page, facts, offset, &|_| None));
        for spot in found {
            let text = fs::read_to_string(&spot.path).unwrap();
            shown.push_str(&format!("{} {:?}\n", spot.path.display(), &text[spot.range]));
        }
    }
    expect![[r#"
        memory/MEMORY.md "a.md"
        memory/b.md "a.md"
        memory/b.md "[it][a]"
        memory/b.md "a.md"
        .claude/rules/r.md "@../../docs/d.md"
        CLAUDE.md "@docs/d.md"
        CLAUDE.md "[it](docs/d.md)"
    "#]]
    .assert_eq(&bench.shown(&shown));
}
