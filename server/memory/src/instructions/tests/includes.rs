//! What an include brings in, and what it does not.

use super::*;

#[test]
fn included_files_follow_the_one_that_includes_them() {
    let tree = Tree::of(
        "//- w/CLAUDE.md\nroot @docs/a.md @~/u.md\n@missing.md @someone @types/node\n//- w/docs/a.md\na @b.md @../c.txt\n\
         //- w/docs/b.md\nb\n//- w/c.txt\nc\n//- home/u.md\nu\n//- w/CLAUDE.local.md\nlocal @docs/b.md\n\
         //- home/.claude/CLAUDE.md\nuser @../u.md @/nowhere.md\n",
    );
    let instructions = tree.load();
    expect_test::expect![[r#"
        home/.claude/CLAUDE.md user session_start: user @../u.md @/nowhere.md
        home/u.md user include < home/.claude/CLAUDE.md: u
        w/CLAUDE.md project session_start: root @docs/a.md @~/u.md
        w/docs/a.md project include < w/CLAUDE.md: a @b.md @../c.txt
        w/docs/b.md project include < w/docs/a.md: b
        w/c.txt project include < w/docs/a.md: c
        w/CLAUDE.local.md local session_start: local @docs/b.md
    "#]]
    .assert_eq(&tree.pieces(&instructions));
    assert_eq!(tree.problems(&instructions), "", "what is missing is nobody's include");
    assert_eq!(instructions.outside, Vec::<PathBuf>::new(), "what is in force is not asked for");
}

#[test]
fn five_includes_deep_is_the_deepest() {
    let mut files = "//- w/CLAUDE.md\n@1.md\n".to_owned();
    for depth in 1..=8 {
        files.push_str(&format!("//- w/{depth}.md\nlevel {depth}\n@{}.md\n", depth + 1));
    }
    let tree = Tree::of(&files);
    let instructions = tree.load();
    assert_eq!(tree.names(&instructions), ["w/CLAUDE.md", "w/1.md", "w/2.md", "w/3.md", "w/4.md", "w/5.md"]);
    assert_eq!(
        tree.problems(&instructions),
        "w/5.md:1 includes `@6.md`, which would be more than 5 includes deep and is left out\n"
    );
}

#[test]
fn cycles_end_and_each_file_counts_once() {
    for (files, expected) in [
        ("//- w/CLAUDE.md\n@CLAUDE.md\n", &["w/CLAUDE.md"][..]),
        ("//- w/CLAUDE.md\n@a.md\n//- w/a.md\n@CLAUDE.md @a.md\n", &["w/CLAUDE.md", "w/a.md"]),
        (
            "//- w/CLAUDE.md\n@a.md @./a.md @d/../a.md\n//- w/a.md\na\n//- w/d/x\nx\n",
            &["w/CLAUDE.md", "w/a.md"],
        ),
        (
            "//- w/CLAUDE.md\n@a.md\n//- w/a.md\n@b.md\n//- w/b.md\n@c.md\n//- w/c.md\n@a.md @CLAUDE.md\n",
            &["w/CLAUDE.md", "w/a.md", "w/b.md", "w/c.md"],
        ),
        (
            "//- w/CLAUDE.md\n@.claude/rules/r.md\n//- w/.claude/rules/r.md\n@../../CLAUDE.md\n",
            &["w/CLAUDE.md", "w/.claude/rules/r.md"],
        ),
    ] {
        let tree = Tree::of(files);
        let instructions = tree.load();
        assert_eq!(tree.names(&instructions), expected, "{files}");
        assert_eq!(tree.problems(&instructions), "", "{files}");
    }
    let linked = Tree::of("//- w/CLAUDE.md\n@loop/a.md @self/self/a.md\n//- w/a.md\na\n");
    linked.link("w/self", ".");
    linked.link("w/loop", "loop");
    assert_eq!(linked.names(&linked.load()), ["w/CLAUDE.md", "w/a.md"]);
}

#[test]
fn only_text_is_included() {
    let tree = Tree::of("//- w/CLAUDE.md\n@logo.png @fake.md @latin.md @code.rs @Makefile @UPPER.MD @src\n");
    tree.write("w/logo.png", "text, in truth");
    tree.write("w/fake.md", b"\x7fELF\0\0");
    tree.write("w/latin.md", b"gr\xfc\xdfe");
    tree.write("w/code.rs", "#[x] // @Makefile\n");
    tree.write("w/Makefile", "all:\n");
    tree.write("w/UPPER.MD", "upper");
    tree.write("w/src/x", "x");
    let instructions = tree.load();
    assert_eq!(tree.names(&instructions), ["w/CLAUDE.md", "w/code.rs", "w/Makefile", "w/UPPER.MD"]);
    expect_test::expect![[r#"
        w/CLAUDE.md:0 includes `@logo.png`, which is not of a kind that is read as text
        w/CLAUDE.md:0 includes `@fake.md`, which is not text
        w/CLAUDE.md:0 includes `@latin.md`, which is not UTF-8 text
    "#]]
    .assert_eq(&tree.problems(&instructions));
}

#[test]
fn what_is_outside_is_read_when_the_user_allows_it_and_only_then() {
    let tree = Tree::of(
        "//- w/CLAUDE.md\nroot\n@../out/a.md @~/b.md @inside\n//- out/a.md\na @c.md\n//- out/c.md\nc\n//- home/b.md\nb\n",
    );
    tree.link("w/inside", tree.path("out/c.md"));
    tree.link("w/CLAUDE.local.md", tree.path("home/b.md"));
    let out = |name| tree.path(name);
    let refused = tree.load();
    assert_eq!(tree.names(&refused), ["w/CLAUDE.md"]);
    assert_eq!(refused.outside, [out("out/a.md"), out("home/b.md"), out("out/c.md")]);
    expect_test::expect![[r#"
        w/CLAUDE.md:1 includes `@../out/a.md`, which is outside the workspace and left out until you allow it
        w/CLAUDE.md:1 includes `@~/b.md`, which is outside the workspace and left out until you allow it
        w/CLAUDE.md:1 includes `@inside`, which is outside the workspace and left out until you allow it
        w/CLAUDE.local.md is outside the workspace and left out until you allow it
    "#]]
    .assert_eq(&tree.problems(&refused));

    let (some, _) = tree.load_in("w", &|path| path == tree.path("out/a.md"));
    assert_eq!(
        tree.names(&some),
        ["w/CLAUDE.md", "out/a.md"],
        "what an allowed file includes asks by itself"
    );
    assert_eq!(some.outside, [out("out/c.md"), out("home/b.md")]);
    let (all, _) = tree.load_in("w", &|_| true);
    assert_eq!(tree.names(&all), ["w/CLAUDE.md", "out/a.md", "out/c.md", "home/b.md"]);
    assert_eq!(all.outside, Vec::<PathBuf>::new());
}

#[test]
fn the_workspace_is_the_checkout_and_not_the_whole_home() {
    let tree = Tree::of(
        "//- w/sub/CLAUDE.md\n@../docs/a.md\n//- w/docs/a.md\na\n//- home/.git/HEAD\nref: x\n//- home/.ssh/config\nsecret\n\
         //- home/downloads/CLAUDE.md\n@~/.ssh/config @x.md\n//- home/downloads/x.md\nx\n",
    );
    assert_eq!(tree.names(&tree.load_in("w/sub", &|_| false).0), ["w/sub/CLAUDE.md", "w/docs/a.md"]);
    let (instructions, _) = tree.load_in("home/downloads", &|_| false);
    assert_eq!(tree.names(&instructions), ["home/downloads/CLAUDE.md", "home/downloads/x.md"]);
    assert_eq!(instructions.outside, [tree.path("home/.ssh/config")]);
}

#[test]
fn rules_may_be_linked_and_ask_where_they_lead_outside() {
    let tree = Tree::of(
        "//- shared/rules/a.md\na @b.md\n//- shared/rules/b.md\nb\n//- shared/one.md\none\n//- w/inside/i.md\ni\n",
    );
    tree.link("w/.claude/rules/linked", tree.path("shared/rules"));
    tree.link("w/.claude/rules/one.md", tree.path("shared/one.md"));
    tree.link("w/.claude/rules/inside", "../../inside");
    tree.link("w/.claude/rules/inside-again", "../../inside");
    tree.link("w/.claude/rules/loop", ".");
    let refused = tree.load();
    assert_eq!(refused.pieces.len(), 1, "{}", tree.pieces(&refused));
    assert_eq!(refused.outside, [tree.path("shared/rules"), tree.path("shared/one.md")]);

    let (allowed, _) = tree.load_in("w", &|path| path.starts_with(tree.path("shared/rules")));
    let names = tree.names(&allowed);
    assert_eq!(names[1..], ["w/.claude/rules/linked/a.md", "shared/rules/b.md"]);
    assert_eq!(allowed.outside, [tree.path("shared/one.md")]);

    // The user's own rules often are links into a checkout of theirs.
    let user = Tree::of("//- dotfiles/rules/a.md\na\n//- dotfiles/CLAUDE.md\nu\n");
    user.link("home/.claude/rules", user.path("dotfiles/rules"));
    user.link("home/.claude/CLAUDE.md", user.path("dotfiles/CLAUDE.md"));
    assert_eq!(user.names(&user.load()), ["home/.claude/CLAUDE.md", "home/.claude/rules/a.md"]);
}
