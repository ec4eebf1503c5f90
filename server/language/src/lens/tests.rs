use expect_test::expect;

use super::*;
use crate::testing::Bench;

#[test]
fn a_memory_says_how_often_it_was_recalled_and_what_is_gone() {
    let bench = Bench::new(
        "//- memory/MEMORY.md\n- [n](n.md)\n//- memory/n.md\n---\nname: n\ndescription: d\n---\n`src/auth.rs:3`, [it](src/gone.rs)\n",
    );
    let text = bench.text("memory/n.md");
    let lenses = bench.with("memory/n.md", &text, lenses);
    let shown: String =
        lenses.iter().map(|lens| format!("{:?} {}\n", &text[lens.range.clone()], lens.title)).collect();
    expect![[r#"
        "---" never recalled
        "`src/auth.rs:3`" stale: src/auth.rs is gone
        "[it](src/gone.rs)" stale: src/gone.rs is gone
    "#]]
    .assert_eq(&shown);
}
