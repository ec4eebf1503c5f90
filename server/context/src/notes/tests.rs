use std::path::PathBuf;

use expect_test::{Expect, expect};

use super::*;
use crate::sample::bytes;

const PATH: &str = "/p/s/session-memory/summary.md";

fn asked(prompt: &str, notes: &str) -> String {
    directive(TEMPLATE, Some(prompt), notes, &PathBuf::from(PATH), &bytes)
}

/// The template with this in a section.
fn with(section: &str, text: &str) -> String {
    let mut notes = String::new();
    let mut below = false;
    for line in TEMPLATE.lines() {
        notes.push_str(&format!("{line}\n"));
        if std::mem::replace(&mut below, line == format!("# {section}")) {
            notes.push_str(&format!("{text}\n"));
        }
    }
    notes
}

#[track_caller]
fn refused(after: &str, expected: Expect) {
    expected.assert_eq(&check(TEMPLATE, TEMPLATE, after).expect_err("a violation"));
}

#[test]
fn the_template_has_ten_sections_with_a_description_each_and_says_nothing() {
    let names: Vec<String> = protected(TEMPLATE)
        .iter()
        .map(|section| {
            assert!(section.description.is_some(), "{}", section.heading);
            section.name().to_owned()
        })
        .collect();
    let expected = [
        "Session Title",
        "Current State",
        "Task specification",
        "Files and Functions",
        "Workflow",
        "Errors & Corrections",
        "Codebase and System Documentation",
        "Learnings",
        "Key results",
        "Worklog",
    ];
    assert_eq!(names, expected);
    assert!(session_compact::is_bare(TEMPLATE));
}

#[test]
fn the_directive_shows_the_notes_and_where_they_are() {
    let few = |_: &conversation::Message| 1;
    let text = directive(TEMPLATE, None, TEMPLATE, &PathBuf::from(PATH), &few);
    assert_eq!(text.lines().next(), Some(fork::NOTES));
    assert!(
        text.contains(&format!("<session-notes path=\"{PATH}\">\n{}\n</session-notes>", TEMPLATE.trim_end()))
    );
    assert!(text.contains(PATH) && !text.contains("{{"), "{text}");
    assert!(text.ends_with("must say how things stand at the end of the conversation above."), "{text}");
}

#[test]
fn variables_are_put_in_once_and_literally() {
    let notes = "see {{notesPath}} and {{currentNotes}}";
    let text = asked("{{currentNotes}} | {{notesPath}} | {{other}} | {{ notesPath }} | {{notesPath", notes);
    expect![[r#"
        <reverie-fork kind="session_memory">
        see {{notesPath}} and {{currentNotes}} | /p/s/session-memory/summary.md | {{other}} | {{ notesPath }} | {{notesPath

        Whatever else changes, "Current State" must say how things stand at the end of the conversation above."#]]
    .assert_eq(&text);
}

#[test]
fn a_prompt_that_forgets_the_notes_is_given_them() {
    let text = directive("# Mine\n", Some("Keep it short."), "# Mine\nso", &PathBuf::from(PATH), &bytes);
    expect![[r#"
        <reverie-fork kind="session_memory">
        Keep it short.

        The notes in /p/s/session-memory/summary.md are:

        # Mine
        so"#]]
    .assert_eq(&text);
}

#[test]
fn what_is_too_long_is_named_with_its_size() {
    let long = with("Worklog", &"x".repeat(2_001));
    let text = asked("{{currentNotes}}", &long);
    let flags =
        |text: &str| text.split_once("too long. ").map(|(_, flags)| flags.to_owned()).unwrap_or_default();
    expect![[r#"
        Make these shorter with your edits:
        - the section "Worklog": about 2063 tokens, of 2000 at most"#]]
    .assert_eq(&flags(&text));
    let longer = with("Learnings", &"y\n".repeat(6_000));
    expect![[r#"
        Make these shorter with your edits:
        - the section "Learnings": about 12100 tokens, of 2000 at most
        - the file as a whole: about 13010 tokens, of 12000 at most; "Current State" and what went wrong are the last to go"#]]
    .assert_eq(&flags(&asked("{{currentNotes}}", &longer)));
    assert_eq!(flags(&asked("{{currentNotes}}", TEMPLATE)), "");
}

#[test]
fn what_stands_below_the_descriptions_may_change() {
    let full = with("Current State", "half done\n## Details\n# not a heading of the template");
    assert_eq!(check(TEMPLATE, TEMPLATE, &full), Ok(()));
    assert_eq!(check(TEMPLATE, &full, &with("Worklog", "began")), Ok(()));
    assert_eq!(check(TEMPLATE, TEMPLATE, &TEMPLATE.replace('\n', "\r\n")), Ok(()));
}

#[test]
fn a_heading_or_its_description_cannot_be_changed_moved_or_doubled() {
    refused(
        &TEMPLATE.replace("# Workflow", "# Way of working"),
        expect![[
            r##"the edit was refused, and nothing was changed: the heading "# Workflow" with the line "_The commands that are used, in their order, and how to read what they print_" right below it must stay as it is, in its place. Repeat the edit so that it changes only what stands below them."##
        ]],
    );
    let doubled = format!("{TEMPLATE}\n# Worklog\nmore\n");
    refused(
        &doubled,
        expect![[
            r##"the edit was refused, and nothing was changed: "# Worklog" would stand there twice. Write below the one that is there."##
        ]],
    );
    let description = "_Step by step what was done, a short line for each_";
    for after in [
        TEMPLATE.replace(description, "_The log_"),
        TEMPLATE.replace(description, ""),
        TEMPLATE.replace(description, &format!("text\n{description}")),
        TEMPLATE.replace("# Worklog", "## Worklog"),
        String::new(),
    ] {
        assert!(check(TEMPLATE, TEMPLATE, &after).is_err(), "{after}");
    }
    let (first, second) = ("# Session Title", "# Current State");
    let swapped = TEMPLATE.replace(first, "%").replace(second, first).replace('%', second);
    assert!(check(TEMPLATE, TEMPLATE, &swapped).is_err());
}

#[test]
fn what_the_user_took_out_need_not_come_back() {
    let (worklog, rest) = (TEMPLATE.find("# Worklog").unwrap(), TEMPLATE.find("# Workflow").unwrap());
    let before = &TEMPLATE[..worklog];
    assert_eq!(check(TEMPLATE, before, &before.replace("_\n\n# Learnings", "_\nx\n\n# Learnings")), Ok(()));
    assert!(check(TEMPLATE, before, &TEMPLATE[..rest]).is_err());
}

#[test]
fn a_template_of_the_users_own_protects_its_own_headings() {
    let template = "# Goal\n*Why we are here*\n\n## Steps\n\n# Open\n";
    let notes = "# Goal\n*Why we are here*\nspeed\n\n## Steps\n1. measure\n\n# Open\n";
    assert_eq!(check(template, template, notes), Ok(()));
    assert!(check(template, notes, &notes.replace("## Steps\n", "")).is_err());
    assert!(check(template, notes, &notes.replace("*Why we are here*\n", "")).is_err());
    assert_eq!(check("no headings", "a", "b"), Ok(()));
}

#[test]
fn the_title_is_the_first_line_of_the_first_section() {
    let titled = |text: &str| title(&with("Session Title", text));
    assert_eq!(titled("Faster parser for the engine"), Some("Faster parser for the engine".to_owned()));
    assert_eq!(titled("\n- **Faster\tparser** \nmore"), Some("Faster parser".to_owned()));
    assert_eq!(titled("\u{1b}[31mred"), Some("[31mred".to_owned()));
    assert_eq!(titled(&"wörd ".repeat(40)).map(|title| title.chars().count()), Some(79));
    assert_eq!(
        [title(TEMPLATE), title(""), titled("  \n`` ``"), title("# T\n\n# U\ntext")],
        [None, None, None, None]
    );
}
