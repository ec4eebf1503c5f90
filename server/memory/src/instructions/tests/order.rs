//! Which files are loaded from the start, and in which order.

use expect_test::expect;

use super::*;

#[test]
fn the_lowest_priority_comes_first() {
    let tree = Tree::of(
        "//- CLAUDE.md\nabove\n//- w/CLAUDE.md\nproject\n//- w/.claude/CLAUDE.md\ndot\n//- w/.claude/rules/b.md\nb\n\
         //- w/.claude/rules/a/z.md\naz\n//- w/.claude/rules/a.md\na\n//- w/CLAUDE.local.md\nlocal\n\
         //- w/.claude/rules/notes.txt\nno\n//- w/.claude/rules/.swap.md\nno\n\
         //- w/sub/CLAUDE.md\nsub\n//- w/sub/deeper/CLAUDE.md\nno\n\
         //- home/.claude/CLAUDE.md\nuser\n//- home/.claude/rules/x/y.md\nuser rule\n\
         //- etc/CLAUDE.md\nmanaged\n//- etc/rules/m/n.md\nmanaged rule\n//- etc/.claude/rules/o.md\nmanaged dot rule\n",
    );
    let (instructions, _) = tree.load_in("w/sub", &|_| false);
    expect![[r#"
        etc/CLAUDE.md managed session_start: managed
        etc/rules/m/n.md managed session_start: managed rule
        etc/.claude/rules/o.md managed session_start: managed dot rule
        home/.claude/CLAUDE.md user session_start: user
        home/.claude/rules/x/y.md user session_start: user rule
        CLAUDE.md project session_start: above
        w/CLAUDE.md project session_start: project
        w/.claude/CLAUDE.md project session_start: dot
        w/.claude/rules/a/z.md project session_start: az
        w/.claude/rules/a.md project session_start: a
        w/.claude/rules/b.md project session_start: b
        w/CLAUDE.local.md local session_start: local
        w/sub/CLAUDE.md project session_start: sub
    "#]]
    .assert_eq(&tree.pieces(&instructions));
    assert_eq!(tree.problems(&instructions), "");
    assert_eq!(tree.load_in("w/sub", &|_| false).0, instructions, "the same tree gives the same bytes");
}

#[test]
fn agents_md_stands_in_for_a_missing_claude_md() {
    for (files, expected) in [
        ("//- w/AGENTS.md\na\n", vec!["w/AGENTS.md"]),
        ("//- w/AGENTS.md\na\n//- w/CLAUDE.md\nc\n", vec!["w/CLAUDE.md"]),
        ("//- w/AGENTS.md\na\n//- w/.claude/CLAUDE.md\nc\n", vec!["w/.claude/CLAUDE.md"]),
        ("//- w/AGENTS.md\na\n//- w/CLAUDE.local.md\nc\n", vec!["w/AGENTS.md", "w/CLAUDE.local.md"]),
        ("//- AGENTS.md\na\n//- w/CLAUDE.md\nc\n", vec!["AGENTS.md", "w/CLAUDE.md"]),
        ("//- w/AGENTS.md\na\n//- w/CLAUDE.md/file\nc\n", vec!["w/AGENTS.md"]),
    ] {
        let tree = Tree::of(files);
        assert_eq!(tree.names(&tree.load()), expected, "{files}");
    }
}

#[test]
fn a_claude_md_that_links_to_agents_md_is_loaded_once() {
    let tree = Tree::of("//- w/AGENTS.md\na\n//- w/.claude/CLAUDE.md\nsee @../AGENTS.md\n");
    tree.link("w/CLAUDE.md", "AGENTS.md");
    assert_eq!(tree.names(&tree.load()), ["w/CLAUDE.md", "w/.claude/CLAUDE.md"]);
}

#[test]
fn in_the_home_folder_the_users_files_are_loaded_once_and_as_theirs() {
    let tree = Tree::of(
        "//- home/.claude/CLAUDE.md\nuser\n//- home/.claude/rules/r.md\nrule\n//- home/CLAUDE.md\nhome\n\
         //- home/.claude/rules/waits.md\n---\npaths: '*.rs'\n---\nwaits\n",
    );
    for folder in ["home", "home/.claude", "home/.claude/rules"] {
        let (instructions, loaded) = tree.load_in(folder, &|_| false);
        let expected = "home/.claude/CLAUDE.md user session_start: user\n\
                        home/.claude/rules/r.md user session_start: rule\nhome/CLAUDE.md project session_start: home\n";
        assert_eq!(tree.pieces(&instructions), expected, "{folder}");
        assert_eq!((instructions.waiting.len(), loaded.waiting().len()), (1, 1), "{folder}");
    }
    let moved = Tree::of("//- home/.claude/CLAUDE.md\nproject\n//- elsewhere/CLAUDE.md\nuser\n");
    let variable = ("CLAUDE_CONFIG_DIR".to_owned(), moved.path("elsewhere").to_string_lossy().into_owned());
    let environment = Environment::new(moved.path("home"), [variable]).with_managed(moved.path("etc"));
    let folder = moved.path("home");
    let sources = Sources { environment: &environment, folder: &folder, may_leave: &|_| false };
    let instructions = moved.own(load(&sources, Reason::Compact, &mut Loaded::default()));
    let expected =
        "elsewhere/CLAUDE.md user compact: user\nhome/.claude/CLAUDE.md project compact: project\n";
    assert_eq!(moved.pieces(&instructions), expected);
}

#[test]
fn a_nested_worktree_does_not_load_its_main_repositorys_project_files() {
    let tree = Tree::of(
        "//- CLAUDE.md\nabove\n//- w/CLAUDE.md\nmain\n//- w/.claude/rules/r.md\nrule\n//- w/CLAUDE.local.md\nlocal\n\
         //- w/trees/AGENTS.md\nmain too\n//- w/trees/CLAUDE.local.md\nlocal too\n\
         //- w/trees/x/CLAUDE.md\nbranch\n//- w/trees/x/src/CLAUDE.md\nbranch src\n\
         //- w/.git/worktrees/x/commondir\n../..\n//- w/.git/worktrees/x/HEAD\nref: refs/heads/x\n",
    );
    let git_dir = tree.path("w/.git/worktrees/x");
    tree.write("w/trees/x/.git", format!("gitdir: {}\n", git_dir.display()));
    tree.write("w/.git/worktrees/x/gitdir", format!("{}\n", tree.path("w/trees/x/.git").display()));
    let names = |folder| tree.names(&tree.load_in(folder, &|_| false).0);
    let local = ["w/CLAUDE.local.md", "w/trees/CLAUDE.local.md"];
    assert_eq!(names("w/trees/x"), ["CLAUDE.md", local[0], local[1], "w/trees/x/CLAUDE.md"]);
    assert_eq!(
        names("w/trees/x/src"),
        ["CLAUDE.md", local[0], local[1], "w/trees/x/CLAUDE.md", "w/trees/x/src/CLAUDE.md"]
    );

    // A repository of its own inside another is under the other's instructions, too.
    tree.write("w/trees/own/.git/HEAD", "ref: refs/heads/main\n");
    tree.write("w/trees/own/CLAUDE.md", "own");
    let expected =
        ["CLAUDE.md", "w/CLAUDE.md", "w/.claude/rules/r.md", local[0], "w/trees/AGENTS.md", local[1]];
    assert_eq!(names("w/trees/own"), [&expected[..], &["w/trees/own/CLAUDE.md"]].concat());
}

#[test]
fn changes_on_disk_are_noticed() {
    type Change = fn(&Tree);
    let cases: [(&str, Change, &str); 7] = [
        ("edited", |tree| tree.write("w/CLAUDE.md", "another text"), "w/CLAUDE.md"),
        ("new", |tree| tree.write("w/CLAUDE.local.md", "local"), "w/CLAUDE.local.md"),
        ("gone", |tree| fs::remove_file(tree.path("w/inc.md")).unwrap(), "w/inc.md"),
        ("include appears", |tree| tree.write("w/later.md", "x"), "w/later.md"),
        ("rule added", |tree| tree.write("w/.claude/rules/new.md", "x"), "w/.claude/rules"),
        ("waiting rule edited", |tree| tree.write("w/.claude/rules/r.md", "x"), "w/.claude/rules/r.md"),
        ("the user's", |tree| tree.write("home/.claude/CLAUDE.md", "x"), "home/.claude/CLAUDE.md"),
    ];
    for (what, change, expected) in cases {
        let tree = Tree::of(
            "//- w/CLAUDE.md\n@inc.md @later.md\n//- w/inc.md\ni\n//- w/.claude/rules/r.md\n---\npaths: x\n---\nr\n",
        );
        let files = tree.load().files;
        assert_eq!(changed(&files), Vec::<PathBuf>::new());
        tree.write("w/.claude/rules/.r.md.swp", "an editor's");
        tree.write("w/src/main.rs", "unrelated");
        assert_eq!(changed(&files), Vec::<PathBuf>::new(), "{what}");
        change(&tree);
        assert_eq!(changed(&files), [tree.path(expected)], "{what}");
    }
}
