//! What comes into force when the agent touches a file.

use super::*;

fn rule(base: &str, globs: &[&str]) -> Rule {
    Rule {
        path: PathBuf::from("/w/.claude/rules/r.md"),
        source: Source::Project,
        base: PathBuf::from(base),
        globs: globs.iter().map(|glob| (*glob).to_owned()).collect(),
    }
}

#[test]
fn globs_are_relative_to_their_base_and_stars_stay_in_a_folder() {
    for (globs, path, expected) in [
        (&["*.rs"][..], "/w/a.rs", true),
        (&["*.rs"], "/w/src/a.rs", false),
        (&["**/*.rs"], "/w/a.rs", true),
        (&["**/*.rs"], "/w/src/deep/a.rs", true),
        (&["src/**"], "/w/src/a/b.rs", true),
        (&["src/**/*"], "/w/src/b.rs", true),
        (&["src/*"], "/w/src/a/b.rs", false),
        (&["src"], "/w/src/a/b.rs", true),
        (&["src/"], "/w/src/a.rs", true),
        (&["src/*/"], "/w/src/a/b/c.rs", true),
        (&["src"], "/w/srcs/a.rs", false),
        (&["/src/*.rs", "./lib/*.rs"], "/w/lib/a.rs", true),
        (&["src/**/*.{ts,tsx}"], "/w/src/a/b.tsx", true),
        (&["src/[ab].rs"], "/w/src/b.rs", true),
        (&["**/*.rs", "!**/tests/**"], "/w/src/a.rs", true),
        (&["**/*.rs", "!**/tests/**"], "/w/src/tests/a.rs", false),
        (&["**/*.rs", "!**/tests/**", "src/tests/a.rs"], "/w/src/tests/a.rs", true),
        (&["!docs"], "/w/src/a.rs", true),
        (&["!docs"], "/w/docs/a.md", false),
        (&["src/[", "a.rs"], "/w/a.rs", true),
        (&["src/["], "/w/src/[", false),
        (&["**"], "/elsewhere/a.rs", false),
        (&["a,b.rs"], "/w/a,b.rs", true),
    ] {
        assert_eq!(rule("/w", globs).matches(Path::new(path)), expected, "{globs:?} {path}");
    }
}

#[test]
fn paths_are_read_as_people_write_them() {
    for (front, expected) in [
        ("paths: src/**/*.ts", &["src/**/*.ts"][..]),
        ("paths: *.rs", &["*.rs"]),
        ("paths: \"**/*.{ts,tsx}\"", &["**/*.{ts,tsx}"]),
        ("paths: a/*.rs, b/**", &["a/*.rs", "b/**"]),
        ("paths:\n  - a/*.rs\n  - \"!b/**\"", &["a/*.rs", "!b/**"]),
        ("paths: [a, 'b c']", &["a", "b c"]),
    ] {
        let tree = Tree::of("");
        tree.write("w/.claude/rules/r.md", format!("---\n{front}\n---\nrule\n"));
        let instructions = tree.load();
        assert_eq!(tree.names(&instructions), Vec::<String>::new(), "{front}");
        assert_eq!(instructions.waiting[0].globs, expected, "{front}");
        assert_eq!(instructions.waiting[0].base, tree.path("w"));
    }
    for front in ["paths:", "paths: []", "paths: '**'", "paths: '**/*'", "name: x"] {
        let tree = Tree::of("");
        tree.write("w/.claude/rules/r.md", format!("---\n{front}\n---\nrule\n"));
        assert_eq!(tree.names(&tree.load()), ["w/.claude/rules/r.md"], "{front}");
    }
    let broken = Tree::of("//- w/.claude/rules/r.md\n---\npaths: ['src/[']\n---\nrule\n");
    let instructions = broken.load();
    assert!(broken.problems(&instructions).contains("has `src/[` in `paths`, which matches nothing"));
}

#[test]
fn rules_with_paths_wait_for_a_matching_file() {
    let tree = Tree::of(
        "//- w/.claude/rules/rust.md\n---\npaths: '**/*.rs'\n---\nrust, see @more.md\n//- w/.claude/rules/more.md\n---\npaths: none\n---\nmore\n\
         //- home/.claude/rules/ts.md\n---\npaths: 'web/**'\n---\nts\n//- etc/rules/md.md\n---\npaths: docs\n---\nmd\n",
    );
    let (instructions, mut loaded) = tree.load_in("w", &|_| false);
    assert_eq!(tree.names(&instructions), Vec::<String>::new());
    assert_eq!(instructions.waiting.len(), 4);
    assert_eq!(loaded.waiting(), instructions.waiting);

    assert_eq!(tree.pieces(&tree.touch("w/README.md", &mut loaded)), "");
    assert_eq!(
        tree.pieces(&tree.touch("w/src/new.rs", &mut loaded)),
        "w/.claude/rules/rust.md project path_glob_match: rust, see @more.md\n\
         w/.claude/rules/more.md project include < w/.claude/rules/rust.md: more\n"
    );
    assert_eq!(tree.pieces(&tree.touch("w/src/other.rs", &mut loaded)), "");
    assert_eq!(tree.names(&tree.touch("w/docs/a.md", &mut loaded)), ["etc/rules/md.md"]);

    // A resume goes on where the session was.
    let record = serde_json::to_string(&loaded).unwrap();
    let mut resumed: Loaded = serde_json::from_str(&record).unwrap();
    assert_eq!(resumed, loaded);
    assert_eq!(tree.names(&tree.touch("w/web/a.ts", &mut resumed)), ["home/.claude/rules/ts.md"]);
    assert_eq!(tree.names(&tree.touch("w/web/a.ts", &mut resumed)), Vec::<String>::new());
    assert_eq!(serde_json::from_str::<Loaded>("{}").unwrap(), Loaded::default());
}

#[test]
fn files_below_the_folder_load_when_something_under_them_is_touched() {
    let tree = Tree::of(
        "//- w/CLAUDE.md\nroot\n//- w/a/CLAUDE.md\na @inc.md\n//- w/a/inc.md\ninc\n//- w/a/b/AGENTS.md\nab\n\
         //- w/a/.claude/rules/all.md\nall\n//- w/a/.claude/rules/c.md\n---\npaths: b/*.c\n---\nc\n\
         //- w/a/.claude/rules/h.md\n---\npaths: '**/*.h'\n---\nh\n//- w/a/CLAUDE.local.md\nlocal\n//- w/z/CLAUDE.md\nz\n",
    );
    let (_, mut loaded) = tree.load_in("w", &|_| false);
    let first = tree.touch("w/a/b/new.c", &mut loaded);
    expect_test::expect![[r#"
        w/a/CLAUDE.md project nested_traversal: a @inc.md
        w/a/inc.md project include < w/a/CLAUDE.md: inc
        w/a/.claude/rules/all.md project nested_traversal: all
        w/a/.claude/rules/c.md project path_glob_match: c
        w/a/CLAUDE.local.md local nested_traversal: local
        w/a/b/AGENTS.md project nested_traversal: ab
    "#]]
    .assert_eq(&tree.pieces(&first));
    assert_eq!(first.waiting.len(), 1);
    let stamped: Vec<String> = first.files.iter().map(|(path, _)| tree.name(path)).collect();
    assert!(stamped.contains(&"w/a/.claude/rules".to_owned()) && stamped.contains(&"w/a/inc.md".to_owned()));
    assert!(first.files.iter().all(|(_, stamp)| *stamp != Stamp::Missing), "{stamped:?}");

    let again = tree.touch("w/a/b/new.c", &mut loaded);
    assert_eq!(again, Instructions::default());
    assert_eq!(tree.names(&tree.touch("w/a/x.h", &mut loaded)), ["w/a/.claude/rules/h.md"]);
    assert_eq!(tree.names(&tree.touch("w/z", &mut loaded)), ["w/z/CLAUDE.md"]);
    tree.write("w/a/b/CLAUDE.md", "later");
    assert_eq!(tree.names(&tree.touch("w/a/b/x", &mut loaded)), ["w/a/b/CLAUDE.md"]);
}

#[test]
fn what_is_forgotten_comes_back_with_the_next_touch() {
    let tree = Tree::of(
        "//- w/a/CLAUDE.md\na\n//- w/.claude/rules/c.md\n---\npaths: '**/*.c'\n---\nc, see @h.md\n\
         //- w/.claude/rules/h.md\n---\npaths: '**/*.h'\n---\nh\n",
    );
    let (_, mut loaded) = tree.load_in("w", &|_| false);
    let expected = ["w/.claude/rules/c.md", "w/.claude/rules/h.md", "w/a/CLAUDE.md"];
    for _ in 0..2 {
        assert_eq!(tree.names(&tree.touch("w/a/x.c", &mut loaded)), expected);
        assert_eq!(tree.names(&tree.touch("w/a/x.c", &mut loaded)), Vec::<String>::new());
        expected.iter().for_each(|path| loaded.forget(&tree.path(path)));
    }
    assert_eq!(tree.names(&tree.touch("w/x.h", &mut loaded)), ["w/.claude/rules/h.md"], "each by itself");
}

#[test]
fn only_what_leads_to_the_file_inside_the_checkout_counts() {
    let tree = Tree::of(
        "//- w/one/CLAUDE.md\none\n//- w/two/CLAUDE.md\ntwo\n//- w/two/src/CLAUDE.md\nsrc\n//- outside/CLAUDE.md\nout\n",
    );
    let (_, mut loaded) = tree.load_in("w/one", &|_| false);
    let folder = tree.path("w/one");
    let sources = Sources { environment: &tree.environment, folder: &folder, may_leave: &|_| false };
    let mut touch = |path: &Path| tree.names(&touched(&sources, path, &mut loaded));
    assert_eq!(touch(&tree.path("outside/x.rs")), Vec::<String>::new());
    assert_eq!(touch(Path::new("relative/to/the/folder.rs")), Vec::<String>::new());
    assert_eq!(touch(&tree.path("w/one/../../outside/x")), Vec::<String>::new());
    assert_eq!(touch(Path::new("/")), Vec::<String>::new());
    tree.link("w/one/linked", tree.path("outside"));
    assert_eq!(touch(&tree.path("w/one/linked/x.rs")), Vec::<String>::new());
    assert_eq!(touch(Path::new("../two/src/x.rs")), ["w/two/CLAUDE.md", "w/two/src/CLAUDE.md"]);
}

#[test]
fn what_was_told_once_is_not_told_again() {
    let tree = Tree::of("//- outside.md\nsecret\n//- w/a/b.md\nx\n");
    tree.link("w/a/CLAUDE.md", tree.path("outside.md"));
    let (_, mut loaded) = tree.load_in("w", &|_| false);
    let first = tree.touch("w/a/x.rs", &mut loaded);
    assert_eq!(first.outside, [tree.path("outside.md")]);
    assert_eq!(first.problems.len(), 1);
    assert_eq!(tree.touch("w/a/x.rs", &mut loaded), Instructions::default());

    // Once it is allowed, it loads.
    let folder = tree.path("w");
    let sources = Sources { environment: &tree.environment, folder: &folder, may_leave: &|_| true };
    let allowed = touched(&sources, Path::new("a/x.rs"), &mut loaded);
    assert_eq!(tree.names(&allowed), ["w/a/CLAUDE.md"]);
}

#[test]
fn a_record_can_be_written_whatever_files_are_called() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let tree = Tree::of("");
    let odd = tree.path("w/.claude/rules").join(OsStr::from_bytes(b"\xff.md"));
    fs::create_dir_all(odd.parent().unwrap()).unwrap();
    fs::write(&odd, "---\npaths: x\n---\nrule\n").unwrap();
    fs::write(odd.with_file_name("two\nlines.md"), "rule").unwrap();
    let (instructions, loaded) = tree.load_in("w", &|_| false);
    assert_eq!((instructions.pieces.len(), instructions.waiting.len()), (1, 1));
    assert!(!instructions.pieces[0].label().contains('\n'));
    assert!(serde_json::to_string(&loaded).is_ok());
}
