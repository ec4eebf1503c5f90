use expect_test::expect;

use super::*;
use crate::{Change, Knowledge, testing::Bench};

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

#[test]
fn a_change_is_told_in_words_and_in_a_hover_as_markdown() {
    let mut bench = Bench::new("//- memory/MEMORY.md\n- [n](n.md)\n//- memory/n.md\n---\nname: n\n---\n");
    let change = Change {
        id: "1".to_owned(),
        path: "n.md".to_owned(),
        at: jiff::Timestamp::now(),
        by: By::User,
        why: "you merged a_b.md into n.md".to_owned(),
        session: None,
        message: None,
        group: None,
        before: None,
        after: None,
    };
    let documents = bench.knowledge.documents().map(|known| known.document.clone()).collect();
    let directory = bench.knowledge.directory().to_owned();
    bench.knowledge = Knowledge::of(directory, documents, vec![change], &bench.files, None);
    let text = bench.text("memory/n.md");
    let titles = bench.with("memory/n.md", &text, lenses).into_iter().map(|lens| lens.title);
    assert_eq!(
        titles.collect::<Vec<_>>(),
        ["never recalled", "undo last change (today by user: you merged a_b.md into n.md)"]
    );
    let shown = bench.with("memory/n.md", &text, |page, facts| hover::hover(page, facts, 0)).unwrap().text;
    assert!(shown.ends_with("Last change: today by user: you merged a\\_b.md into n.md"), "{shown}");
}
