use expect_test::{Expect, expect};
use memory::lint::Fix;

use super::*;
use crate::testing::Bench;

const FILES: &str = "//- memory/MEMORY.md\nM\n- [Deploys](deploys.md) — Fridays\n//- memory/other.md\nsee [it](deploys.md)\n//- memory/deploys.md\n---\nname: \"Deploys\"\n---\nx\n";

fn check(path: &str, at: &str, new: &str, expected: Expect) {
    let bench = Bench::new(FILES);
    let text = bench.text(path);
    let offset = text.find(at).unwrap() + 1;
    let shown = bench.with(path, &text, |page, facts| {
        let prepared = prepare(page, facts, offset).map(|(_, name)| name);
        let mut shown = format!("{prepared:?}\n");
        match rename(page, facts, offset, new) {
            Err(words) => shown.push_str(&words),
            Ok(Renaming { edits, file }) => {
                let mut paths: Vec<PathBuf> = edits.iter().map(|edit| edit.path.clone()).collect();
                paths.dedup();
                let fix = Fix { title: String::new(), edits };
                for path in paths {
                    let text = std::fs::read_to_string(&path).unwrap();
                    shown.push_str(&format!("{}: {:?}\n", path.display(), fix.applied(&path, &text)));
                }
                if let Some((old, new)) = file {
                    shown.push_str(&format!("{} → {}\n", old.display(), new.display()));
                }
            }
        }
        shown
    });
    expected.assert_eq(&bench.shown(&shown));
}

#[test]
fn the_file_is_renamed_together_with_all_links_to_it() {
    check(
        "memory/MEMORY.md",
        "deploys.md",
        "ship it",
        expect![[r#"
        Some("deploys.md")
        memory/MEMORY.md: "M\n- [Deploys](<ship it.md>) — Fridays\n"
        memory/other.md: "see [it](<ship it.md>)\n"
        memory/deploys.md → memory/ship it.md
    "#]],
    );
}

#[test]
fn what_it_is_called_is_renamed_in_the_file_and_in_the_index() {
    let expected = || {
        expect![[r#"
        Some("Deploys")
        memory/MEMORY.md: "M\n- [Ship \"it\"](deploys.md) — Fridays\n"
        memory/deploys.md: "---\nname: \"Ship \\\"it\\\"\"\n---\nx\n"
    "#]]
    };
    check("memory/deploys.md", "Deploys", "Ship \"it\"", expected());
    check("memory/MEMORY.md", "Deploys]", "Ship \"it\"", expected());
}

#[test]
fn a_name_that_is_taken_or_leads_elsewhere_is_refused() {
    check(
        "memory/MEMORY.md",
        "deploys.md",
        "other.md",
        expect![[r#"
        Some("deploys.md")
        there is a other.md already"#]],
    );
    check(
        "memory/MEMORY.md",
        "deploys.md",
        "../x",
        expect![[r#"
        Some("deploys.md")
        ../x.md cannot be the name of a memory's file"#]],
    );
    check(
        "memory/MEMORY.md",
        "M\n",
        "x",
        expect![[r#"
        None
        there is no name of a memory here: try a link or `name:`"#]],
    );
}

/// What the texts are after the move; those that stay are not shown.
fn check_move(files: &str, old: &str, new: &str, expected: Expect) {
    let bench = Bench::new(files);
    let edits =
        bench.with("memory/MEMORY.md", "", |_, facts| moved(facts, &bench.path(old), &bench.path(new)));
    let mut paths: Vec<PathBuf> = edits.iter().map(|edit| edit.path.clone()).collect();
    paths.dedup();
    let fix = Fix { title: String::new(), edits };
    let shown = paths.iter().map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        format!("{}: {:?}\n", path.display(), fix.applied(path, &text))
    });
    expected.assert_eq(&bench.shown(&shown.collect::<String>()));
}

#[test]
fn links_from_folders_and_to_places_in_a_file_follow_too() {
    check_move(
        "//- memory/MEMORY.md\n- [A](a.md) — see [again](a.md \"a.md\")\n//- memory/a.md\nx\n//- memory/team/n.md\n[a](../a.md#why), [b](../b.md) and `a.md`\n//- memory/b.md\n",
        "memory/a.md",
        "memory/b c.md",
        expect![[r##"
            memory/MEMORY.md: "- [A](<b c.md>) — see [again](<b c.md> \"a.md\")\n"
            memory/team/n.md: "[a](../b%20c.md#why), [b](../b.md) and `a.md`\n"
        "##]],
    );
}

#[test]
fn links_by_reference_follow_where_they_are_defined() {
    check_move(
        "//- memory/MEMORY.md\n- [A][one]\r\n\r\n[one]: <a.md> 'a.md'\r\n//- memory/a.md\nx\n//- memory/team/n.md\n---\nname: ü😀\n---\n[a], [it][A] and [it][a].\n\n[a]: ../a.md#why\n[unused]: ../a.md\n[b]: b.md\n",
        "memory/a.md",
        "memory/c d.md",
        expect![[r##"
            memory/MEMORY.md: "- [A][one]\r\n\r\n[one]: <c d.md> 'a.md'\r\n"
            memory/team/n.md: "---\nname: ü😀\n---\n[a], [it][A] and [it][a].\n\n[a]: ../c%20d.md#why\n[unused]: <../c d.md>\n[b]: b.md\n"
        "##]],
    );
}

#[test]
fn a_link_by_reference_is_a_way_to_rename() {
    let bench = Bench::new("//- memory/a.md\nx\n//- memory/team/n.md\nSee [it][a].\n\n[a]: ../a.md#why\n");
    let text = bench.text("memory/team/n.md");
    for at in ["it", "../a.md"] {
        let offset = text.find(at).unwrap();
        let shown = bench.with("memory/team/n.md", &text, |page, facts| {
            let (range, name) = prepare(page, facts, offset).unwrap();
            // As it stands in the link, or alone.
            let renaming = rename(page, facts, offset, if at == "it" { "b" } else { "../b.md" }).unwrap();
            (text[range].to_owned(), name, renaming.edits[0].replacement.clone(), renaming.file.unwrap())
        });
        let whole = if at == "it" { "[it][a]" } else { "../a.md#why" };
        assert_eq!((shown.0.as_str(), shown.1.as_str(), shown.2.as_str()), (whole, "../a.md", "../b.md"));
        assert_eq!(shown.3, (bench.path("memory/a.md"), bench.path("memory/b.md")));
    }
}

#[test]
fn what_moves_to_another_folder_still_leads_where_it_led() {
    check_move(
        "//- memory/MEMORY.md\n- [A](a.md)\n- [B](b.md)\n//- memory/a.md\n[b](b.md), [me](a.md#x), [code](src/auth.rs), `src/auth.rs`\n//- memory/b.md\n[a](a\\.md)\n",
        "memory/a.md",
        "memory/team/a.md",
        expect![[r##"
            memory/MEMORY.md: "- [A](team/a.md)\n- [B](b.md)\n"
            memory/a.md: "[b](../b.md), [me](a.md#x), [code](src/auth.rs), `src/auth.rs`\n"
            memory/b.md: "[a](team/a.md)\n"
        "##]],
    );
}

#[test]
fn a_folder_that_moves_takes_along_what_leads_into_it() {
    check_move(
        "//- memory/MEMORY.md\n- [A](old/a.md)\n//- memory/old/a.md\n[b](b.md) [c](../c.md)\n//- memory/old/b.md\nx\n//- memory/older.md\n[a](old/a.md)\n//- memory/c.md\n[o](older.md)\n",
        "memory/old",
        "memory/new",
        expect![[r##"
            memory/MEMORY.md: "- [A](new/a.md)\n"
            memory/older.md: "[a](new/a.md)\n"
        "##]],
    );
}

#[test]
fn a_name_may_become_another_case_of_itself() {
    let bench = Bench::new(FILES);
    let (old, new) = (bench.path("memory/deploys.md"), bench.path("memory/Deploys.md"));
    // As a disk has it that does not tell them apart.
    std::fs::hard_link(&old, &new).unwrap();
    let text = bench.text("memory/other.md");
    let at = text.find("deploys").unwrap();
    let renamed = bench.with("memory/other.md", &text, |page, facts| rename(page, facts, at, "Deploys.md"));
    assert_eq!(renamed.unwrap().file, Some((old, new)));
}

#[test]
fn a_whole_path_is_left_as_it_is_by_a_move_and_follows_one() {
    let bench = Bench::new("//- memory/b.md\nb\n//- memory/a.md\nx\n");
    let (b, outside) = (bench.path("memory/b.md"), bench.path("src/x.md"));
    std::fs::create_dir_all(outside.parent().unwrap()).unwrap();
    std::fs::write(&outside, "").unwrap();
    let text = format!("see [b]({}) and [x]({})\n", b.display(), outside.display());
    let mut bench = bench;
    bench.knowledge = bench.knowledge.replaced("a.md", Some(text.clone()), &bench.files);
    let edits = |old: &str, new: &str| {
        let (old, new) = (bench.path(old), bench.path(new));
        bench.with("memory/a.md", &text, |_, facts| moved(facts, &old, &new))
    };
    assert_eq!(edits("memory/a.md", "memory/deep/a.md"), []);
    let moved = edits("memory/b.md", "memory/deep/b.md");
    let expected = bench.path("memory/deep/b.md").display().to_string();
    assert_eq!(moved.iter().map(|edit| &edit.replacement).collect::<Vec<_>>(), [&expected]);
}

#[test]
fn what_was_moved_already_is_followed_with_its_own_links() {
    let bench = Bench::new(
        "//- memory/MEMORY.md\n- [D](old/d.md)\n//- memory/new/d.md\nsee [o](../o.md), [e](e.md)\n//- memory/new/e.md\ne\n//- memory/o.md\n[d](old/d.md)\n",
    );
    let (old, new) = (bench.path("memory/old"), bench.path("memory/new/"));
    let new = new.parent().unwrap().join("new");
    let text = bench.text("memory/o.md");
    let followed = bench.with("memory/o.md", &text, |_, facts| followed(facts, &old, &new));
    let shown: String =
        followed.iter().map(|it| format!("{}: {:?}\n", it.path.display(), it.after)).collect();
    expect![[r#"
        memory/MEMORY.md: "- [D](new/d.md)\n"
        memory/o.md: "[d](new/d.md)\n"
    "#]]
    .assert_eq(&bench.shown(&shown));
}
