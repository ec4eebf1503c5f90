//! Whatever a text is, every feature answers, and every place it names is in the text, on the boundary of a character.

use std::{ops::Range, path::Path};

use jiff::Timestamp;
use language::{Deed, Facts, Files, Knowledge, Page, Places, Role};
use memory::lint::Document;
use proptest::prelude::*;

/// Pieces of what people write, and of what nobody should.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("---\n".to_owned()),
        Just("---\r\n".to_owned()),
        Just("name: ".to_owned()),
        Just("type: project\n".to_owned()),
        Just("description: \"open\n".to_owned()),
        Just("- [A](a.md) — hook\n".to_owned()),
        Just("- [half](".to_owned()),
        Just("* [B](<b c.md>)".to_owned()),
        Just("](".to_owned()),
        Just("[x][a] [a] [a][]".to_owned()),
        Just("\n\n[a]: <n.md> 't'\n".to_owned()),
        Just("\n> [a]: a\\.md#b".to_owned()),
        Just("[a](a\\_b.md \"".to_owned()),
        Just("`src/auth.rs:12`".to_owned()),
        Just("`Session::login`".to_owned()),
        Just("`login()`".to_owned()),
        Just("fn login(".to_owned()),
        Just("`login()` in `src/auth.rs`".to_owned()),
        Just("[x](src/gone.rs)".to_owned()),
        Just("@docs/a.md ".to_owned()),
        Just("@".to_owned()),
        Just("yesterday ".to_owned()),
        Just("```\n".to_owned()),
        Just("<!-- ".to_owned()),
        Just("# Title\n".to_owned()),
        Just("{ \"inline\": { \"le".to_owned()),
        Just("\"a\": [1, {\"b\": \"".to_owned()),
        Just("\r\n".to_owned()),
        Just("\r".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("😀".to_owned()),
        Just("ü\u{301}".to_owned()),
        Just("\u{202e}\u{200b}".to_owned()),
        Just("\u{2028}".to_owned()),
        Just("\0".to_owned()),
        any::<char>().prop_map(String::from),
        "[ -~]{0,20}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..40).prop_map(|pieces| pieces.concat())
}

const ROLES: [(&str, Role); 8] = [
    ("/m/MEMORY.md", Role::Index),
    ("/m/n.md", Role::Memory),
    ("/w/CLAUDE.md", Role::Instructions),
    ("/w/.claude/rules/r.md", Role::Rule),
    ("/w/.claude/skills/s/SKILL.md", Role::Skill),
    ("/w/.claude/commands/c.md", Role::Command),
    ("/w/.claude/settings.json", Role::Settings),
    ("/w/src/auth.rs", Role::Source),
];

fn everything(path: &str, role: Role, text: &str, other: &str, offset: usize, end: usize) {
    let files = Files::new(vec!["/w".into()]);
    let document = |relative: &str, text: &str| {
        Document::new(Path::new("/m").join(relative), relative.to_owned(), text.to_owned())
    };
    let documents = vec![document("MEMORY.md", other), document("a.md", other), document("n.md", text)];
    let before = Knowledge::of("/m".into(), documents, Vec::new(), &files, None);
    let knowledge = before.replaced("a.md", Some(text.to_owned()), &files).replaced("gone.md", None, &files);
    let places = Places {
        memory: Some("/m".into()),
        config_home: "/home/.claude".into(),
        managed: "/etc/claude-code".into(),
        roots: vec!["/w".into()],
    };
    let facts = Facts {
        knowledge: &knowledge,
        places: &places,
        files: &files,
        memory: &|_| None,
        open: &|_| None,
        home: Path::new("/home"),
        now: Timestamp::UNIX_EPOCH,
        today: jiff::civil::date(2026, 3, 20),
    };
    let page = Page { path: Path::new(path), text, role };
    let inside = |range: &Range<usize>, what: &str| {
        assert!(text.get(range.clone()).is_some(), "{what} at {range:?} of {} bytes", text.len());
    };
    for found in language::diagnostics(&page, &facts).iter().chain(&language::missing(&page, &facts)) {
        inside(&found.range, found.code);
    }
    for at in [offset, end] {
        if let Some(found) = language::hover(&page, &facts, at) {
            inside(&found.range, "hover");
        }
        language::complete(&page, &facts, at).iter().for_each(|item| inside(&item.range, "completion"));
        if let Some((range, _)) = language::prepare(&page, &facts, at) {
            inside(&range, "prepare");
        }
        for edit in language::rename(&page, &facts, at, "new name").map(|it| it.edits).unwrap_or_default() {
            let of = knowledge.documents().find(|known| known.document.path == edit.path);
            assert!(of.is_some_and(|of| of.document.text.get(edit.range.clone()).is_some()), "{edit:?}");
        }
        for edit in language::moved(&facts, Path::new("/m/a.md"), Path::new("/m/team/b c.md")) {
            let of = knowledge.documents().find(|known| known.document.path == edit.path);
            assert!(of.is_some_and(|of| of.document.text.get(edit.range.clone()).is_some()), "{edit:?}");
        }
        language::definition(&page, &facts, at);
        language::references(&page, &facts, at, &|_| None);
        language::setting_at(&page, at);
        language::symbol_at(text, at);
    }
    let range = offset.min(end)..offset.max(end);
    for action in language::actions(&page, &facts, range.clone()) {
        if let Deed::Edit(edits) = action.deed {
            edits
                .iter()
                .filter(|edit| edit.path == page.path)
                .for_each(|edit| inside(&edit.range, &action.title));
        }
    }
    language::links(&page, &facts).iter().for_each(|link| inside(&link.range, "link"));
    language::lenses(&page, &facts).iter().for_each(|lens| inside(&lens.range, "lens"));
    let lines = text.split('\n').count();
    language::folds(&page).iter().for_each(|fold| assert!(fold.start < fold.end && fold.end < lines));
    let mut symbols = language::symbols(&page);
    while let Some(symbol) = symbols.pop() {
        inside(&symbol.range, "symbol");
        inside(&symbol.name_range, "name");
        assert!(!symbol.name.is_empty());
        assert!(symbol.range.start <= symbol.name_range.start && symbol.name_range.end <= symbol.range.end);
        symbols.extend(symbol.children);
    }
    if role == Role::Source {
        for mark in language::marks(&page, &facts, None) {
            inside(&mark.range, "mark");
            language::described(&mark, &facts);
        }
        language::source_actions(&page, &facts, None, range);
    }
    if let Some(formatted) = language::format(&page) {
        assert_eq!(language::format(&Page { text: &formatted, ..page }), None, "{formatted:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_feature_answers_for_every_text(text in text(), other in text(), offset in 0_usize..2_000, end in 0_usize..2_000) {
        for (path, role) in ROLES {
            everything(path, role, &text, &other, offset, end);
        }
    }

    #[test]
    fn every_prefix_of_what_people_write_has_its_places(cut in 0_usize..400) {
        let whole = "\u{feff}---\r\nname: \"ü😀\"\r\ntype: project\r\n---\r\n\r\n# Über 😀\r\nSee [a](a.md), `src/auth.rs:12` and `Session::login` yesterday.\r\n- [A](<a b.md>) — ü\r\n@docs/a.md\r\n```\r\ncode\r\n";
        let text = &whole[..whole.floor_char_boundary(cut)];
        for (path, role) in ROLES {
            everything(path, role, text, whole, text.len(), text.len() / 2);
        }
    }
}

/// What is in proportion to the length may take its time in a debug build; what grows with its square does not end.
#[test]
fn long_texts_made_to_hurt_take_no_time() {
    let units = [
        "# a\n",
        "- [A](a.md)\n",
        "`a.rs` ",
        "@a/b ",
        "[](",
        "](",
        "[a]: a.md\n",
        "[x][a] ",
        "---\n",
        "\"",
        "{\"a\":",
        "<!--",
        "\r",
        "😀",
        "name: x\n",
        "> ",
        "`login()` ",
        "yesterday ",
    ];
    for unit in units {
        let text = unit.repeat(((1 << 15) - 8) / unit.len());
        for (path, role) in ROLES {
            let started = std::time::Instant::now();
            everything(path, role, &text, "", text.len() / 2, text.len());
            let took = started.elapsed();
            assert!(took.as_secs() < 20, "{unit:?} as {role:?} took {took:?}");
        }
    }
}
