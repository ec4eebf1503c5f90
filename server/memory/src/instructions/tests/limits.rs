//! How much is read at most, and how long it takes.

use std::time::{Duration, Instant};

use super::*;

#[test]
fn a_large_file_is_cut_and_says_so() {
    let tree = Tree::of("//- w/CLAUDE.local.md\nlocal\n");
    for (text, kept) in [
        ("ä line\n".repeat(300_000), 1 << 20),
        ("ä".repeat(1 << 20), 1 << 20),
        (format!("x{}", "ä".repeat(1 << 20)), (1 << 20) - 1),
    ] {
        tree.write("w/CLAUDE.md", &text);
        let instructions = tree.load();
        assert_eq!(tree.names(&instructions), ["w/CLAUDE.md", "w/CLAUDE.local.md"]);
        let piece = &instructions.pieces[0];
        assert!(text.starts_with(&piece.text));
        assert!(piece.text.len() <= kept && piece.text.len() > kept - 16, "{}", piece.text.len());
        assert!(tree.problems(&instructions).contains("is larger than 1 MB; the rest is cut off"));
    }
}

#[test]
fn all_together_has_limits_too() {
    let many: String = (0..300).map(|number| format!("//- w/.claude/rules/{number:03}.md\nrule\n")).collect();
    let tree = Tree::of(&many);
    let instructions = tree.load();
    assert_eq!(instructions.pieces.len(), 200);
    expect_test::expect![[r#"
        w/.claude/rules/200.md is left out, with all after it: 200 files and 2 MB are the most
    "#]]
    .assert_eq(&tree.problems(&instructions));

    let tree = Tree::of("");
    for number in 0..5 {
        tree.write(&format!("w/.claude/rules/{number}.md"), "a long line\n".repeat(75_000));
    }
    assert_eq!(tree.load().pieces.len(), 2);

    let names: String = (0..30_000).map(|number| format!("@n{number} ")).collect();
    let tree = Tree::of(&format!("//- w/CLAUDE.md\n{names}\n//- w/CLAUDE.local.md\nlocal\n"));
    let begin = Instant::now();
    let instructions = tree.load();
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    assert_eq!(instructions.pieces.len(), 2);
    assert!(tree.problems(&instructions).contains("includes more than is looked for"));
}

#[test]
fn no_text_takes_long_to_read() {
    let size = 1 << 18;
    for unit in [
        "`a` @b ",
        "<!-- @a --> @b ",
        "@",
        "@a",
        "@a\\ ",
        "@a",
        "[",
        "](",
        "*a_",
        "<",
        "<!--",
        "`",
        "~~~\n",
        "> ",
        "- ",
        "![",
        "[a](<",
        "а b\u{200b}\n",
        "<!-- -->\n",
        "<div><!--\n\n",
        "# x\n",
    ] {
        let text: String = unit.repeat(size / unit.len());
        let begin = Instant::now();
        super::document::Document::of(&text, true);
        assert!(begin.elapsed() < Duration::from_secs(10), "{unit:?}: {:?}", begin.elapsed());
    }
}

#[test]
fn a_typical_tree_takes_milliseconds() {
    let mut files = "//- home/.claude/CLAUDE.md\nuser\n//- w/CLAUDE.md\nproject\n@docs/a.md @docs/b.md\n//- w/docs/a.md\na\n//- w/docs/b.md\nb\n".to_owned();
    for number in 0..20 {
        files.push_str(&format!(
            "//- w/.claude/rules/{number}.md\n---\npaths: 'src/{number}/**'\n---\nrule\n"
        ));
    }
    let tree = Tree::of(&files);
    let fastest = |run: &mut dyn FnMut()| {
        let times = (0..10).map(|_| {
            let begin = Instant::now();
            run();
            begin.elapsed()
        });
        times.min().unwrap()
    };
    let (_, loaded) = tree.load_in("w", &|_| false);
    let load = fastest(&mut || drop(tree.load()));
    let touch = fastest(&mut || drop(tree.touch("w/src/x/y.rs", &mut loaded.clone())));
    println!("load {load:?}, touch {touch:?}");
    // Without optimisation, on a busy machine.
    assert!(load < Duration::from_millis(50) && touch < Duration::from_millis(50), "{load:?} {touch:?}");
}
