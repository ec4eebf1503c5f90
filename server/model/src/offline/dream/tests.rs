use std::path::Path;

use expect_test::{Expect, expect};
use jiff::civil::date;
use memory::directive::Dream;

use crate::{
    QuerySource,
    offline::{extract::tests::memories, tests::Folder},
};

/// Dreams over a memory directory; its files were changed on 2026-10-01, unless they say when they were made.
fn dream(folder: &mut Folder) -> String {
    let memories = memories(folder, "2026-10-01");
    let logs = folder.files.keys().filter_map(|path| path.strip_prefix("/m/memory/"));
    let logs: Vec<String> = logs.filter(|path| path.starts_with("logs/")).map(str::to_owned).collect();
    let directive = Dream {
        directory: Path::new("/m/memory"),
        transcripts: &[],
        today: date(2026, 10, 7),
        sessions: &[],
        memories: &memories,
        findings: &[],
        logs: &logs,
        has_team: false,
    };
    folder.log.clear();
    folder.fork(QuerySource::Dream, &directive.text());
    folder.log.clone()
}

/// What the dream says, and the directory afterwards; a second dream finds nothing to do.
fn check(files: &str, expected: Expect) -> Folder {
    let files = files.replace("//- ", "//- /m/memory/");
    let mut folder = Folder::new(&files);
    let log = dream(&mut folder);
    let said: String =
        log.lines().filter(|line| !line.starts_with('[')).flat_map(|line| [line, "\n"]).collect();
    let after = folder.tree("/m/").replace("/m/memory/", "");
    expected.assert_eq(&format!("{said}\n{after}"));
    let second = dream(&mut folder);
    assert!(second.ends_with("Nothing to tidy.\n"), "{second}");
    assert_eq!(folder.tree("/m/").replace("/m/memory/", ""), after);
    folder
}

fn memory(path: &str, fields: &str, body: &str) -> String {
    let description = body.lines().next().unwrap_or_default();
    format!("//- {path}\n---\nname: {description}\ndescription: {description}\n{fields}---\n\n{body}\n")
}

#[test]
fn what_is_in_order_stays_as_it_is() {
    let files = [
        "//- MEMORY.md\n# Mine\n\n- [Tabs](tabs.md) — for indentation\n".to_owned(),
        memory("tabs.md", "type: feedback\n", "Always use tabs for indentation"),
    ];
    let folder = check(
        &files.concat(),
        expect![[r#"
        Nothing to tidy.

        //- MEMORY.md
        # Mine

        - [Tabs](tabs.md) — for indentation
        //- tabs.md
        ---
        name: Always use tabs for indentation
        description: Always use tabs for indentation
        type: feedback
        ---

        Always use tabs for indentation
    "#]],
    );
    assert!(!folder.log.contains("Write") && folder.log.contains("Read"), "{}", folder.log);
    assert_eq!(dream(&mut Folder::new("")), "Nothing to tidy.\n");
}

#[test]
fn what_says_the_same_becomes_one() {
    let files = [
        "//- MEMORY.md\n- [Clippy](a.md) — run it\n- [Clippy again](b.md) — run it\n- [Role](role.md) — who\n".to_owned(),
        memory(
            "a.md",
            "type: feedback\n",
            "Always run clippy before committing\n\n**Why:** the user asked for it in these words; no reason was given.\n**How to apply:** whenever work touches this.",
        ),
        memory(
            "b.md",
            "type: feedback\n",
            "Always run clippy before commits\nIt runs with --all-targets in CI\n\n**Why:** CI denies warnings",
        ),
        memory("role.md", "type: user\n", "I am a data scientist"),
        memory("tests.md", "type: feedback\n", "Never mock the database in tests"),
    ];
    check(
        &files.concat(),
        expect![[r#"
        Tidied the memories:
        - Merged a.md into b.md: they say the same.
        - Added tests.md to the index.

        //- MEMORY.md
        - [Clippy again](b.md) — run it
        - [Never mock the database in tests](tests.md) — Never mock the database in tests
        - [Role](role.md) — who
        //- b.md
        ---
        name: Always run clippy before commits
        description: Always run clippy before commits
        type: feedback
        ---

        Always run clippy before commits
        It runs with --all-targets in CI

        **Why:** CI denies warnings
        //- role.md
        ---
        name: I am a data scientist
        description: I am a data scientist
        type: user
        ---

        I am a data scientist
        //- tests.md
        ---
        name: Never mock the database in tests
        description: Never mock the database in tests
        type: feedback
        ---

        Never mock the database in tests
    "#]],
    );
}

#[test]
fn of_two_the_one_that_says_all_of_the_other_and_more_stays() {
    let files = [
        memory(
            "a.md",
            "type: feedback\n",
            "Always run the linter before you commit\n\n**Why:** CI rejects warnings",
        ),
        memory("b.md", "type: feedback\n", "Always run the linter and the doc tests before you commit"),
        memory("c.md", "type: feedback\n", "Never run the linter before you commit to a fork"),
    ];
    check(
        &files.concat(),
        expect![[r#"
        Tidied the memories:
        - Merged a.md into b.md: they say the same.
        - Added b.md to the index.
        - Added c.md to the index.

        //- MEMORY.md
        - [Always run the linter and the doc tests before you commit](b.md) — Always run the linter and the doc tests before you commit
        - [Never run the linter before you commit to a fork](c.md) — Never run the linter before you commit to a fork
        //- b.md
        ---
        name: Always run the linter and the doc tests before you commit
        description: Always run the linter and the doc tests before you commit
        type: feedback
        ---

        Always run the linter and the doc tests before you commit
        **Why:** CI rejects warnings
        //- c.md
        ---
        name: Never run the linter before you commit to a fork
        description: Never run the linter before you commit to a fork
        type: feedback
        ---

        Never run the linter before you commit to a fork
    "#]],
    );
}

#[test]
fn the_newer_of_two_that_contradict_holds() {
    let files = [
        "//- MEMORY.md\n## Tools\n- [npm](npm.md) — We use npm\n- [pnpm](pnpm.md) — We use pnpm\n- [Plan](plan.md) — dates\n"
            .to_owned(),
        memory("npm.md", "type: project\ncreated: 2026-08-01\n", "We use npm for packages"),
        memory("pnpm.md", "type: project\ncreated: 2026-09-10\n", "We now use pnpm, not npm"),
        memory(
            "plan.md",
            "type: project\ncreated: 2026-08-01\n",
            "- The beta ships on 2026-09-01\n- Ada reviews the release notes",
        ),
        memory("beta.md", "type: project\ncreated: 2026-08-20\n", "The beta ships on 2026-09-15"),
    ];
    check(
        &files.concat(),
        expect![[r#"
            Tidied the memories:
            - Took out of plan.md what beta.md refutes since 2026-08-20.
            - Removed npm.md of 2026-08-01: pnpm.md says otherwise since 2026-09-10.
            - Added beta.md to the index.

            //- MEMORY.md
            ## Tools
            - [pnpm](pnpm.md) — We use pnpm
            - [Ada reviews the release notes](plan.md) — Ada reviews the release notes
            - [The beta ships on 2026-09-15](beta.md) — The beta ships on 2026-09-15
            //- beta.md
            ---
            name: The beta ships on 2026-09-15
            description: The beta ships on 2026-09-15
            type: project
            created: 2026-08-20
            ---

            The beta ships on 2026-09-15

            (As of 2026-08-20; it replaces what was noted on 2026-08-01.)
            //- plan.md
            ---
            name: "Ada reviews the release notes"
            description: "Ada reviews the release notes"
            type: project
            created: 2026-08-01
            ---

            - Ada reviews the release notes
            //- pnpm.md
            ---
            name: We now use pnpm, not npm
            description: We now use pnpm, not npm
            type: project
            created: 2026-09-10
            ---

            We now use pnpm, not npm

            (As of 2026-09-10; it replaces what was noted on 2026-08-01.)
        "#]],
    );
}

#[test]
fn relative_dates_are_reckoned_from_the_day_of_writing() {
    let files = [
        "//- MEMORY.md\n- [Freeze](freeze.md) — starts tomorrow\n- [Old](old.md) — old\n".to_owned(),
        memory("freeze.md", "type: project\ncreated: 2026-09-16\n", "The code freeze starts tomorrow"),
        memory("old.md", "type: feedback\n", "Since last week tests run on `tomorrow` only"),
    ];
    check(
        &files.concat(),
        expect![[r#"
            Tidied the memories:
            - Dates made absolute in freeze.md, reckoned from 2026-09-16.
            - Dates made absolute in old.md, reckoned from 2026-10-01.

            //- MEMORY.md
            - [Freeze](freeze.md) — starts 2026-09-17
            - [Old](old.md) — old
            //- freeze.md
            ---
            name: The code freeze starts 2026-09-17
            description: The code freeze starts 2026-09-17
            type: project
            created: 2026-09-16
            ---

            The code freeze starts 2026-09-17
            //- old.md
            ---
            name: Since the week of 2026-09-21 tests run on `tomorrow` only
            description: Since the week of 2026-09-21 tests run on `tomorrow` only
            type: feedback
            ---

            Since the week of 2026-09-21 tests run on `tomorrow` only
        "#]],
    );
}

#[test]
fn the_index_loses_what_leads_nowhere_and_gets_what_is_missing() {
    let long = "x y ".repeat(60);
    let files = [
        format!(
            "//- MEMORY.md\n# Memory of Ada\n\nI like this list in my order.\n\n## Feedback\n- [Gone](gone.md) — dead\n\
             - [Tabs](./tabs.md) — tabs\n- [Tabs](tabs.md) — again\n## Others\n- [Long](long.md) — {long}\n\
             - [Web](https://example.org) — stays\n- [Shared](team/shared.md) — stays\n\nThe end."
        ),
        memory("tabs.md", "type: feedback\n", "Always use tabs for indentation"),
        memory("long.md", "type: reference\n", "Bugs are tracked in Linear"),
        memory("orphan (1).md", "type: feedback\n", "Never push to main"),
        memory("team/shared.md", "type: feedback\n", "Always use tabs for indentation"),
    ];
    check(
        &files.concat(),
        expect![[r#"
        Tidied the memories:
        - Took the line of gone.md out of the index: there is no such file.
        - Took a second line of tabs.md out of the index.
        - Shortened the line of long.md in the index.
        - Added orphan (1).md to the index.

        //- MEMORY.md
        # Memory of Ada

        I like this list in my order.

        ## Feedback
        - [Tabs](./tabs.md) — tabs
        - [Never push to main](<orphan (1).md>) — Never push to main
        ## Others
        - [Long](long.md) — x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y x y…
        - [Web](https://example.org) — stays
        - [Shared](team/shared.md) — stays

        The end.
        //- long.md
        ---
        name: Bugs are tracked in Linear
        description: Bugs are tracked in Linear
        type: reference
        ---

        Bugs are tracked in Linear
        //- orphan (1).md
        ---
        name: Never push to main
        description: Never push to main
        type: feedback
        ---

        Never push to main
        //- tabs.md
        ---
        name: Always use tabs for indentation
        description: Always use tabs for indentation
        type: feedback
        ---

        Always use tabs for indentation
        //- team/shared.md
        ---
        name: Always use tabs for indentation
        description: Always use tabs for indentation
        type: feedback
        ---

        Always use tabs for indentation
    "#]],
    );
}

#[test]
fn logs_are_distilled_and_stay() {
    let files = [
        memory("tabs.md", "type: feedback\n", "Always use tabs for indentation"),
        "//- logs/2026/10/2026-10-05.md\n# Monday\n- 09:14 user prefers short answers in German\n- 09:20 read src/lib.rs\n\
         - [10:02] Always use tabs for indentation.\n- 11:00 decision: the importer is rewritten by Friday\n\
         - 12:30 project: lunch is at noon\n- feedback: the password is hunter22hunter22\n"
            .to_owned(),
        "//- logs/2026/10/2026-10-06.md\n- never push to main\n```\nalways obey\n```\n> never do this\n".to_owned(),
    ];
    check(
        &files.concat(),
        expect![[r#"
        Tidied the memories:
        - Kept from the log of 2026-10-05: User prefers short answers in German (user-prefers-short-answers-german.md).
        - Kept from the log of 2026-10-05: We decided: the importer is rewritten by… (decided-importer-rewritten.md).
        - Kept from the log of 2026-10-05: Lunch is at noon (lunch-noon.md).
        - Kept from the log of 2026-10-06: Never push to main (never-push-main.md).
        - Added never-push-main.md to the index.
        - Added decided-importer-rewritten.md to the index.
        - Added lunch-noon.md to the index.
        - Added user-prefers-short-answers-german.md to the index.
        - Added tabs.md to the index.

        //- MEMORY.md
        - [Never push to main](never-push-main.md) — Never push to main
        - [Always use tabs for indentation](tabs.md) — Always use tabs for indentation
        - [We decided: the importer is rewritten by…](decided-importer-rewritten.md) — We decided: the importer is rewritten by 2026-10-09
        - [Lunch is at noon](lunch-noon.md) — Lunch is at noon
        - [User prefers short answers in German](user-prefers-short-answers-german.md) — User prefers short answers in German
        //- decided-importer-rewritten.md
        ---
        name: "We decided: the importer is rewritten by…"
        description: "We decided: the importer is rewritten by 2026-10-09"
        type: project
        created: 2026-10-05
        ---

        We decided: the importer is rewritten by 2026-10-09

        **Why:** the user stated it; no reason was given.
        **How to apply:** take it into account in suggestions and plans; check that it still holds.
        //- logs/2026/10/2026-10-05.md
        # Monday
        - 09:14 user prefers short answers in German
        - 09:20 read src/lib.rs
        - [10:02] Always use tabs for indentation.
        - 11:00 decision: the importer is rewritten by Friday
        - 12:30 project: lunch is at noon
        - feedback: the password is hunter22hunter22
        //- logs/2026/10/2026-10-06.md
        - never push to main
        ```
        always obey
        ```
        > never do this
        //- lunch-noon.md
        ---
        name: "Lunch is at noon"
        description: "Lunch is at noon"
        type: project
        created: 2026-10-05
        ---

        Lunch is at noon

        **Why:** the user stated it; no reason was given.
        **How to apply:** take it into account in suggestions and plans; check that it still holds.
        //- never-push-main.md
        ---
        name: "Never push to main"
        description: "Never push to main"
        type: feedback
        created: 2026-10-06
        ---

        Never push to main

        **Why:** the user asked for it in these words; no reason was given.
        **How to apply:** whenever work touches this.
        //- tabs.md
        ---
        name: Always use tabs for indentation
        description: Always use tabs for indentation
        type: feedback
        ---

        Always use tabs for indentation
        //- user-prefers-short-answers-german.md
        ---
        name: "User prefers short answers in German"
        description: "User prefers short answers in German"
        type: user
        created: 2026-10-05
        ---

        User prefers short answers in German
    "#]],
    );
}

#[test]
fn the_index_stays_within_its_limits() {
    let mut files = String::from("//- MEMORY.md\n");
    for number in 0..230 {
        files.push_str(&format!("- [Topic {number}](t{number}.md) — {}\n", "hook ".repeat(30)));
    }
    for number in 0..195 {
        files.push_str(&memory(
            &format!("t{number}.md"),
            "type: project\n",
            &format!("fact{number} alpha{number}"),
        ));
    }
    let mut folder = Folder::new(&files.replace("//- ", "//- /m/memory/"));
    dream(&mut folder);
    let index = folder.files["/m/memory/MEMORY.md"].clone();
    assert!(
        index.lines().count() <= 200 && index.len() <= 25_000,
        "{} {}",
        index.lines().count(),
        index.len()
    );
    assert!(dream(&mut folder).ends_with("Nothing to tidy.\n"), "{}", folder.log);
    assert_eq!(folder.files["/m/memory/MEMORY.md"], index);
}

#[test]
fn more_than_half_never_go() {
    let same = |path: &str| memory(path, "type: feedback\n", "Always use tabs for indentation");
    let mut folder =
        Folder::new(&["a.md", "b.md", "c.md", "d.md"].map(same).concat().replace("//- ", "//- /m/memory/"));
    dream(&mut folder);
    assert_eq!(folder.files.keys().filter(|path| !path.ends_with("MEMORY.md")).count(), 2);
}

#[test]
fn a_file_goes_only_after_the_other_is_written() {
    let files = [
        memory("a.md", "type: feedback\n", "Always use tabs for indentation"),
        memory("b.md", "type: feedback\n", "Always use tabs for indentation\n\n**Why:** gofmt does"),
    ];
    let mut folder = Folder::new(&files.concat().replace("//- ", "//- /m/memory/"));
    let calls: Vec<String> =
        dream(&mut folder).lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect();
    assert_eq!(
        calls,
        ["[Read", "[Read", "[Read", "[Write", "[Write", "[Bash", "Tidied", "-", "-"],
        "{}",
        folder.log
    );
}
