//! What memories say: dates, references, hidden characters, the same twice.

use super::*;

/// The words in a project memory that are found to be relative dates.
fn dates_in(body: &str) -> Vec<String> {
    let dir = directory(&format!("//- MEMORY.md\n- [N](n.md)\n//- n.md\nFRONT\n{body}"));
    let findings = lint(dir.path(), &LintContext::default()).unwrap();
    let dates = findings.iter().filter(|finding| finding.code == code::RELATIVE_DATE);
    dates.map(|finding| finding.message.split('"').nth(1).unwrap().to_owned()).collect()
}

#[test]
fn relative_dates_are_found_in_several_languages() {
    for (text, expected) in [
        ("It broke yesterday.", "yesterday"),
        ("Tomorrow, we ship", "Tomorrow"),
        ("The freeze ends next week", "next week"),
        ("hired last month", "last month"),
        ("merge on Thursday", "on Thursday"),
        ("due next Friday!", "next Friday"),
        ("started 3 weeks ago", "3 weeks ago"),
        ("said today: never mock", "today"),
        ("Gestern entschieden", "Gestern"),
        ("Release nächste Woche", "nächste Woche"),
        ("bis Freitag fertig", "bis Freitag"),
        ("vor zwei Wochen", "vor zwei Wochen"),
        ("morgen wird ausgeliefert", "morgen"),
        ("昨天决定不用", "昨天"),
        ("下周四发布", "下周"),
        ("周五之前合并", "周五"),
        ("上个月开始", "上个月"),
        ("来週リリース", "来週"),
    ] {
        assert_eq!(dates_in(text), [expected], "{text}");
    }
}

#[test]
fn what_is_no_relative_date_is_left_alone() {
    for text in [
        "run `date -d yesterday`",
        "```\nlast month\n```",
        "    next week\n",
        "see notes/today.md and tomorrow.txt",
        "the flag last-month, the field next_week",
        "never deploy on Fridays, or every Thursday",
        "yesterday (2026-03-04) it broke",
        "on Thursday, March 5, 2026",
        "today's standards",
        "a yesterdayish feeling",
        "每周四开会",
        "基本周期是三",
        "Montags und am Montagmorgen",
        "Guten Morgen",
    ] {
        assert_eq!(dates_in(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn dates_are_for_memories_that_age() {
    for (kind, count) in [("user", 0), ("reference", 0), ("feedback", 1), ("project", 1), ("other", 0)] {
        let text = format!("//- n.md\n---\ndescription: moved yesterday\ntype: {kind}\n---\n");
        let dir = directory(&text);
        let findings = lint(dir.path(), &LintContext::default()).unwrap();
        assert_eq!(findings.iter().filter(|it| it.code == code::RELATIVE_DATE).count(), count, "{kind}");
    }
}

#[test]
fn references_to_what_is_gone_are_found() {
    let workspace = directory(
        "//- src/main.rs\n//- src/deep/er/module.py\n//- docs/guide.md\n//- Cargo.toml\n//- node_modules/x/index.js\n",
    );
    let root = workspace.path().to_owned();
    let inside = format!("`{}/src/gone.rs`", root.display());
    let context = LintContext { roots: vec![root], ..LintContext::default() };
    let good = "`src/main.rs:12`, `./src/main.rs#L3`, `er/module.py`, `module.py`, `docs/`, [guide](docs/guide.md), `n.md`, \
                [self](n.md), [index](MEMORY.md)\n\n\
                `cargo test src/gone.rs`, `https://x.org/gone.rs`, `src/*.rs`, `origin/main`, `and/or`, `@scope/pkg.js`, \
                `~/gone.rs`, `/etc/gone.rs`, `<file>.rs`, `Node.js`, `settings.json`, `../other/gone.rs`, `$HOME/gone.rs`, \
                `application/json`, `-x/y.rs`, `stdio.h`, `discord.js`, `src/deep/er/module`, `target/release/x`, [site](https://x.org/gone.md), [mail](mailto:a@b.rs)\n\n\
                ```\nsrc/gone.rs\n`src/gone.rs`\n```\n\n`frob()`, `Thing::frob`, `unknown()`, `plain`, `a b()`\n";
    check_body(good, &context, expect![""]);
    let bad = format!(
        "`src/gone.rs:4`\n[it](docs/gone.md)\n`src/gone`, `elsewhere/gone.yaml`\n[other](gone.md)\n\
         {inside}\n`src/gone.rs:4` again\n"
    );
    check_body(
        &bad,
        &context,
        expect![[r#"
        n.md:6 stale-reference: there is no src/gone.rs in the workspace: check it, or say when it was
        n.md:7 stale-reference: there is no docs/gone.md in the workspace: check it, or say when it was
        n.md:8 stale-reference: there is no src/gone in the workspace: check it, or say when it was
        n.md:8 stale-reference: there is no elsewhere/gone.yaml in the workspace: check it, or say when it was
        n.md:9 stale-reference: there is no gone.md in the workspace: check it, or say when it was
        n.md:10 stale-reference: there is no src/gone.rs in the workspace: check it, or say when it was
    "#]],
    );
    check_body(&bad, &LintContext::default(), expect![""]);
}

#[test]
fn a_symbol_that_its_file_has_not_is_found() {
    let workspace = directory("//- src/auth.rs\nfn login() {}\n//- src/other.rs\nfn moved() {}\n");
    let unsaved = |path: &Path| path.ends_with("src/other.rs").then(|| "fn typed() {}".to_owned());
    let context = LintContext {
        roots: vec![workspace.path().to_owned()],
        buffer: Some(&unsaved),
        ..LintContext::default()
    };
    let good = "`login()` in `src/auth.rs`\n`typed()` of `src/other.rs`\n`login()` in `src/other.rs`, then `src/auth.rs`\n\
                Never call `unwrap()` in `src/auth.rs`\n`logout()`\n";
    check_body(good, &context, expect![""]);
    check_body(
        "About `Session::logout` in `src/auth.rs`.\n`x()` in `src/gone.rs`\n",
        &context,
        expect![[r#"
            n.md:6 stale-reference: there is no Session::logout in src/auth.rs: check it, or say when it was
            n.md:7 stale-reference: there is no src/gone.rs in the workspace: check it, or say when it was
        "#]],
    );
}

#[test]
fn hidden_characters_are_found_in_memories_and_instructions() {
    check_body(
        "a\u{200b}\u{200b}b\nc\u{202e}d\n\u{e0041}\u{e0042}\nр\u{430}yload pаypal\n",
        &LintContext::default(),
        expect![[r#"
            n.md:6 hidden-characters: there is a zero-width character (U+200B U+200B) [Remove what nobody sees]
            n.md:7 hidden-characters: there is a character that turns the direction of text (U+202E) [Remove what nobody sees]
            n.md:8 hidden-characters: there is an invisible tag character (U+E0041 U+E0042) [Remove what nobody sees]
            n.md:9 hidden-characters: there is a word of letters from two alphabets that look alike: "раyload" is not what it looks like
            n.md:9 hidden-characters: there is a word of letters from two alphabets that look alike: "pаypal" is not what it looks like
        "#]],
    );
    let path = Path::new("/w/CLAUDE.md");
    let findings = lint_instructions(path, "\u{feff}fine\nx\u{2066}y\n");
    expect![[r#"
        [
            Finding {
                path: "/w/CLAUDE.md",
                line: 2,
                range: 9..12,
                code: "hidden-characters",
                message: "there is a character that turns the direction of text (U+2066)",
                fix: Some(
                    Fix {
                        title: "Remove what nobody sees",
                        edits: [
                            Edit {
                                path: "/w/CLAUDE.md",
                                range: 9..12,
                                replacement: "",
                            },
                        ],
                    },
                ),
            },
        ]
    "#]]
    .assert_debug_eq(&findings);
}

#[test]
fn instructions_may_be_long_and_not_longer() {
    let path = Path::new("/w/CLAUDE.md");
    let text = format!("# Short\nx\n## Long part\n{}\n# Last\ny\n", "ü\n".repeat(30_000));
    assert_eq!(lint_instructions(path, &"ü".repeat(40_000)), []);
    let findings = lint_instructions(path, &text);
    expect![[r#"
        [
            Finding {
                path: "/w/CLAUDE.md",
                line: 19992,
                range: 59987..59989,
                code: "long-instructions",
                message: "the file has 60033 characters, for which every request pays; more than 40000 are too many: the longest section is \"Long part\"; move what concerns some files only into .claude/rules/*.md with `paths:`",
                fix: None,
            },
        ]
    "#]].assert_debug_eq(&findings);
    assert_eq!(lint_instructions(path, &"ü".repeat(40_001)).len(), 1);
}

#[test]
fn the_same_twice_is_found_once() {
    let body: Vec<String> = (0..60).map(|number| format!("word{number}")).collect();
    let other = body.join(" ").replace("word30", "changed");
    let half: Vec<String> = (30..90).map(|number| format!("word{number}")).collect();
    let (body, half) = (body.join(" "), half.join(" "));
    check(
        &format!(
            "//- MEMORY.md\n- [a](a.md)\n- [b](b.md)\n- [c](c.md)\n- [d](d.md)\n- [e](e.md)\n- [f](f.md)\n- [g](g.md)\n- [h](h.md)\n\
             //- a.md\nFRONT\n{body}\n//- b.md\nFRONT\n\n{}!\n//- c.md\nFRONT\n{other}\n//- d.md\nFRONT\n{half}\n\
             //- e.md\nFRONT\nShort one.\n//- f.md\nFRONT\nshort, one\n//- g.md\nFRONT\nShort two.\n//- h.md\nFRONT\n",
            body.to_uppercase()
        ),
        expect![[r#"
            b.md:7 duplicate: this says the same as a.md: merge them
            c.md:6 duplicate: this says nearly the same as a.md: merge them
            f.md:6 duplicate: this says the same as e.md: merge them
        "#]],
    );
    check(
        "//- MEMORY.md\n- [a](a.md)\n- [b](b.md)\n//- a.md\nFRONT\n我们决定不再使用旧的数据库因为它太慢了而且没有人维护\n\
         //- b.md\nFRONT\n我们决定不再使用旧的数据库，因为它太慢了，而且没有人维护。\n",
        expect![[r#"
            b.md:6 duplicate: this says the same as a.md: merge them
        "#]],
    );
}
