use expect_test::{Expect, expect};

use super::*;
use crate::testing::Bench;

fn check(path: &str, text: &str, expected: Expect) {
    let bench = Bench::new(&format!("//- {path}\n"));
    let shown = bench.with(path, text, |page, _| {
        let mut shown = String::new();
        symbols(page).iter().for_each(|symbol| print(symbol, 0, &mut shown));
        for fold in folds(page) {
            shown.push_str(&format!("{}–{}\n", fold.start, fold.end));
        }
        shown
    });
    expected.assert_eq(&shown);
}

fn print(symbol: &Symbol, depth: usize, shown: &mut String) {
    let detail = symbol.detail.as_deref().unwrap_or_default();
    shown.push_str(&format!("{}{:?} {} {detail}\n", "  ".repeat(depth), symbol.kind, symbol.name));
    assert!(symbol.range.start <= symbol.name_range.start && symbol.name_range.end <= symbol.range.end);
    symbol.children.iter().for_each(|child| print(child, depth + 1, shown));
}

#[test]
fn an_index_consists_of_its_headings_and_entries() {
    check(
        "memory/MEMORY.md",
        "# Memory\n\n## Work\n- [A](a.md) — first\n- [B](b.md)\n## Life\n- [C](c.md)\n",
        expect![[r#"
            Heading Memory 
              Heading Work 
                Entry A first
                Entry B 
              Heading Life 
                Entry C 
            0–6
            2–4
            5–6
        "#]],
    );
}

#[test]
fn fields_are_folded_and_code_has_no_headings() {
    check(
        "memory/n.md",
        "---\r\nname: n\r\ntype: user\r\n---\r\n# A\r\n```\r\n# no heading\r\n```\r\n<!-- b\r\nc -->\r\n#not one\r\n",
        expect![[r#"
            Field name n
            Field type user
            Heading A 
            0–3
            4–10
            5–7
            8–9
        "#]],
    );
}
