use expect_test::{Expect, expect};

use super::*;

fn check(questions: &[&str], expected: Expect) {
    let shown: Vec<String> = questions
        .iter()
        .map(|question| {
            let intent = match understand(question) {
                Intent::Search { terms } => {
                    let stems: Vec<String> = terms.into_iter().map(|term| term.stem).collect();
                    format!("Search {stems:?}")
                }
                other => format!("{other:?}"),
            };
            format!("{question}\n  → {intent}\n")
        })
        .collect();
    expected.assert_eq(&shown.concat());
}

#[test]
fn things_to_remember() {
    check(
        &[
            "remember that we deploy on Fridays",
            "Please remember: the staging host is blue",
            "Always run clippy before committing",
            "never use unwrap",
            "I am a data scientist",
            "I'm looking for the parser",
            "I prefer short answers",
            "we decided to use jiff for time",
            "# tests never sleep",
            "remember when we changed the parser?",
            "Never mind",
        ],
        expect![[r#"
            remember that we deploy on Fridays
              → Remember { statement: "we deploy on Fridays" }
            Please remember: the staging host is blue
              → Remember { statement: "the staging host is blue" }
            Always run clippy before committing
              → Remember { statement: "Always run clippy before committing" }
            never use unwrap
              → Remember { statement: "never use unwrap" }
            I am a data scientist
              → Remember { statement: "I am a data scientist" }
            I'm looking for the parser
              → Search ["pars"]
            I prefer short answers
              → Remember { statement: "I prefer short answers" }
            we decided to use jiff for time
              → Remember { statement: "we decided to use jiff for time" }
            # tests never sleep
              → Remember { statement: "tests never sleep" }
            remember when we changed the parser?
              → Search ["chang", "pars"]
            Never mind
              → Help
        "#]],
    );
}

#[test]
fn questions() {
    check(
        &[
            "What is this project?",
            "what does this repo do?",
            "Give me an overview of the codebase",
            "How do I build and test it?",
            "how do I run the tests?",
            "Where is the retry policy implemented?",
            "How does this project handle retries?",
            "What is in `Cargo.toml`?",
            "what do you remember about me?",
            "do you remember the staging host?",
            "hello!",
            "",
        ],
        expect![[r#"
            What is this project?
              → About
            what does this repo do?
              → About
            Give me an overview of the codebase
              → About
            How do I build and test it?
              → HowTo { topic: "test" }
            how do I run the tests?
              → HowTo { topic: "test" }
            Where is the retry policy implemented?
              → Search ["retr", "polic"]
            How does this project handle retries?
              → Search ["retr"]
            What is in `Cargo.toml`?
              → Search ["cargo.toml"]
            what do you remember about me?
              → Recall
            do you remember the staging host?
              → Search ["stag", "host"]
            hello!
              → Help

              → Help
        "#]],
    );
}

#[test]
fn commands() {
    check(
        &[
            "read README.md",
            "show me src/lib.rs:10-20",
            "show lines 5-9 of src/main.rs",
            "show me where sessions are stored",
            "list files",
            "list files in server",
            "list all *.rs files",
            "list server/cli",
            "run cargo test -p settings",
            "run `sleep 5` in the background",
            "run the tests",
            "$ ls -la",
            "stop bash_1",
            "show output of bash_1",
            "edit src/a.rs: replace \"foo\" with \"bar\"",
            "replace all 'x' with 'y' and \"a b\" with \"c\" in notes.txt",
            "create notes.txt with \"hello\"",
            "write docs/a.md:\n# Title\n",
            "todo: read the code; write the test",
            "ask me which database to use",
        ],
        expect![[r##"
            read README.md
              → Read { path: "README.md", lines: None }
            show me src/lib.rs:10-20
              → Read { path: "src/lib.rs", lines: Some((10, 20)) }
            show lines 5-9 of src/main.rs
              → Read { path: "src/main.rs", lines: Some((5, 9)) }
            show me where sessions are stored
              → Search ["session", "stor"]
            list files
              → List { pattern: "*" }
            list files in server
              → List { pattern: "server/*" }
            list all *.rs files
              → List { pattern: "**/*.rs" }
            list server/cli
              → List { pattern: "server/cli/**/*" }
            run cargo test -p settings
              → Run { command: "cargo test -p settings", background: false }
            run `sleep 5` in the background
              → Run { command: "sleep 5", background: true }
            run the tests
              → HowTo { topic: "test" }
            $ ls -la
              → Run { command: "ls -la", background: false }
            stop bash_1
              → StopJob { job: "bash_1" }
            show output of bash_1
              → JobOutput { job: "bash_1" }
            edit src/a.rs: replace "foo" with "bar"
              → Replace { path: "src/a.rs", changes: [("foo", "bar")], everywhere: false }
            replace all 'x' with 'y' and "a b" with "c" in notes.txt
              → Replace { path: "notes.txt", changes: [("x", "y"), ("a b", "c")], everywhere: true }
            create notes.txt with "hello"
              → Create { path: "notes.txt", content: "hello\n" }
            write docs/a.md:
            # Title

              → Create { path: "docs/a.md", content: "# Title\n" }
            todo: read the code; write the test
              → Todo { items: ["read the code", "write the test"] }
            ask me which database to use
              → AskBack { question: "which database to use" }
        "##]],
    );
}
