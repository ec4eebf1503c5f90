//! The model driven to its answers over a folder in memory.

use std::{collections::BTreeMap, sync::Arc};

use conversation::{RequestMessage, Role};
use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::{ContextEdits, QuerySource, SystemBlock, ToolDefinition};

const TOOLS: [&str; 10] =
    ["Read", "Write", "Edit", "MultiEdit", "Grep", "Glob", "Bash", "BashOutput", "TodoWrite", "AskUser"];

/// Files as one text with `//- path` headers, and just enough of each tool.
pub(super) struct Folder {
    pub(super) files: BTreeMap<String, String>,
    pub(super) messages: Vec<RequestMessage>,
    pub(super) log: String,
    source: QuerySource,
    keeps_log: bool,
}

impl Folder {
    pub(super) fn new(files: &str) -> Self {
        let files = files.split("//- ").skip(1).filter_map(|file| file.split_once('\n'));
        Self {
            files: files.map(|(path, text)| (path.to_owned(), text.to_owned())).collect(),
            messages: Vec::new(),
            log: String::new(),
            source: QuerySource::Main,
            keeps_log: false,
        }
    }

    pub(super) fn request(&self) -> Request {
        let mut system =
            "You are an agent.\nWorking directory: /w\nMemory directory: /m/memory/\n".to_owned();
        if self.keeps_log {
            system.push_str("Daily log: /m/memory/logs/YYYY/MM/YYYY-MM-DD.md\n");
        }
        let tool = |name: &&str| ToolDefinition {
            name: (*name).to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
        };
        Request {
            model: "offline".to_owned(),
            system: Arc::new([SystemBlock { text: system, ends_static_part: false }]),
            tools: TOOLS.iter().map(tool).collect(),
            messages: self.messages.clone(),
            max_tokens: 8_000,
            output_schema: None,
            source: self.source.clone(),
            shared: None,
            context_edits: ContextEdits::default(),
        }
    }

    /// One turn: what was called, what came back, what was said.
    pub(super) fn ask(&mut self, question: &str) -> &mut Self {
        self.ask_with(question, &[])
    }

    /// A turn for which memories came to mind, each as it is shown: the lines behind `Memory (saved …): path:`.
    fn ask_with(&mut self, question: &str, memories: &[&str]) -> &mut Self {
        let mut content = vec![Block::text(question)];
        let reminder =
            |memory: &&str| Block::text(format!("<system-reminder>\n{memory}\n</system-reminder>"));
        content.extend(memories.iter().map(reminder));
        if self.messages.is_empty() {
            content.insert(0, Block::text("<system-reminder>\nDate: 2026-10-07\n</system-reminder>"));
        }
        self.log.push_str(&format!("> {question}\n"));
        self.messages.push(RequestMessage { role: Role::User, content });
        self.go_on()
    }

    /// A fork of the conversation: it works on the files, and the conversation stays as it is.
    pub(super) fn fork(&mut self, source: QuerySource, directive: &str) -> &mut Self {
        let messages = self.messages.clone();
        self.messages.push(RequestMessage { role: Role::User, content: vec![Block::text(directive)] });
        self.source = source;
        self.go_on();
        self.source = QuerySource::Main;
        self.messages = messages;
        self
    }

    /// What somebody said, without an answer being asked for.
    pub(super) fn say(&mut self, role: Role, text: &str) -> &mut Self {
        self.messages.push(RequestMessage { role, content: vec![Block::text(text)] });
        self
    }

    /// The files of a folder, as one text.
    pub(super) fn tree(&self, folder: &str) -> String {
        let files = self.files.iter().filter(|(path, _)| path.starts_with(folder));
        files.map(|(path, text)| format!("//- {path}\n{text}")).collect()
    }

    fn go_on(&mut self) -> &mut Self {
        for _ in 0..12 {
            let content = blocks(&respond(&self.request()));
            self.messages.push(RequestMessage { role: Role::Assistant, content: content.clone() });
            let mut results = Vec::new();
            for block in content {
                match block {
                    Block::Text { text } => self.log.push_str(&format!("{text}\n")),
                    Block::ToolUse { id, name, input } => {
                        self.log.push_str(&format!("[{name} {input}]\n"));
                        let (output, is_error) = match self.run(&name, &input) {
                            Ok(output) => (output, false),
                            Err(error) => (error, true),
                        };
                        let content = ResultContent::Text(output);
                        results.push(Block::ToolResult { tool_use_id: id, content, is_error });
                    }
                    other => panic!("{other:?}"),
                }
            }
            if results.is_empty() {
                return self;
            }
            self.messages.push(RequestMessage { role: Role::User, content: results });
        }
        panic!("never ended:\n{}", self.log);
    }

    pub(super) fn check(&self, expected: Expect) {
        expected.assert_eq(&self.log.replace(&format!("{}\n\n", answer::INTRODUCTION), "(introduction)\n"));
    }

    fn run(&mut self, tool: &str, input: &Value) -> Result<String, String> {
        let text = |field: &str| input.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number =
            |field: &str, default| input.get(field).and_then(Value::as_u64).unwrap_or(default) as usize;
        let path = text("file_path");
        match tool {
            "Read" => {
                let file = self.files.get(&path).ok_or("file does not exist")?;
                let lines =
                    file.lines().enumerate().skip(number("offset", 1) - 1).take(number("limit", 2_000));
                Ok(lines.map(|(at, line)| format!("{:6}→{line}\n", at + 1)).collect())
            }
            "Write" => {
                self.files.insert(path, text("content"));
                Ok("written".to_owned())
            }
            "Edit" => {
                let file = self.files.get_mut(&path).ok_or("file does not exist")?;
                if file.matches(&text("old_string")).count() != 1 {
                    return Err("old_string is not unique".to_owned());
                }
                *file = file.replace(&text("old_string"), &text("new_string"));
                Ok("edited".to_owned())
            }
            "Glob" => {
                let folder = input.get("path").and_then(Value::as_str).unwrap_or("/w");
                Ok(self
                    .below(folder)
                    .filter(|path| globs(&text("pattern"), path))
                    .map(|path| format!("{folder}/{path}\n"))
                    .collect())
            }
            "Grep" => {
                let folder = input.get("path").and_then(Value::as_str).unwrap_or("/w");
                let pattern = text("pattern");
                let mut found = String::new();
                for path in self.below(folder) {
                    let full = format!("{folder}/{path}");
                    for (at, line) in self.files[&full].lines().enumerate() {
                        if greps(&pattern, &line.to_lowercase()) {
                            found.push_str(&format!("{full}:{}:{line}\n", at + 1));
                        }
                    }
                }
                Ok(found)
            }
            "Bash" => {
                let command = text("command");
                let Some(paths) = command.strip_prefix("rm ") else {
                    return Err("the user denied this call".to_owned());
                };
                for path in paths.trim_start_matches("-- ").split(' ') {
                    self.files.remove(path.trim_matches('\'')).ok_or("no such file")?;
                }
                Ok(String::new())
            }
            _ => Ok("done".to_owned()),
        }
    }

    fn below(&self, folder: &str) -> impl Iterator<Item = &str> {
        let prefix = format!("{folder}/");
        self.files.keys().filter_map(move |path| path.strip_prefix(&prefix))
    }
}

fn globs(pattern: &str, path: &str) -> bool {
    let depth = path.matches('/').count();
    match pattern {
        "*" => depth == 0,
        "*/*" => depth == 1,
        _ => {
            let name = pattern.trim_start_matches("**/").trim_matches('*');
            path.contains(name)
        }
    }
}

/// Alternatives of literals, optionally two in a row or after a keyword: all that the model writes.
fn greps(pattern: &str, line: &str) -> bool {
    let (keyword, rest) = match pattern.strip_prefix(
        r"\b(fn|struct|enum|trait|type|const|static|mod|class|def|function|func|interface)\s+\w*",
    ) {
        Some(rest) => (["fn ", "struct ", "const "].iter().any(|word| line.contains(word)), rest),
        None => (true, pattern),
    };
    let rest = rest.trim_start_matches(['(', '^']).trim_end_matches(')');
    keyword
        && rest.split('|').any(|part| match part.split_once(".*") {
            Some((one, other)) => line.split_once(one).is_some_and(|(_, after)| after.contains(other)),
            None => line.contains(&part.replace('\\', "").to_lowercase()),
        })
}

fn blocks(events: &[Event]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut json = String::new();
    for event in events {
        match event {
            Event::BlockStarted { block, .. } => blocks.push(block.clone()),
            Event::BlockDelta { delta: Delta::Text(delta), .. } => match blocks.last_mut() {
                Some(Block::Text { text }) => text.push_str(delta),
                other => panic!("{other:?}"),
            },
            Event::BlockDelta { delta: Delta::InputJson(delta), .. } => json.push_str(delta),
            Event::BlockFinished { .. } => {
                if let Some(Block::ToolUse { input, .. }) = blocks.last_mut() {
                    *input = serde_json::from_str(&std::mem::take(&mut json)).unwrap();
                }
            }
            _ => {}
        }
    }
    blocks
}

const PROJECT: &str = r#"
//- /w/README.md
# Tern

[![badge](x)](y)
Tern is a small bird of a build tool.
It watches files.

It was made for fun.

## Testing

Run `cargo test`.
//- /w/Cargo.toml
[package]
name = "tern"
description = "a build tool"
//- /w/src/retry.rs
//! Waiting before trying again.
use std::time::Duration;

/// How long to wait, and how often.
pub struct RetryPolicy {
    pub attempts: u32,
}

impl RetryPolicy {
    pub fn next_delay(&self) -> Duration {
        Duration::ZERO
    }
}
//- /w/src/main.rs
mod retry;
use retry::RetryPolicy;

fn main() {
    let policy = RetryPolicy { attempts: 3 };
}
"#;

#[test]
fn questions_are_answered_by_quoting() {
    Folder::new(PROJECT).ask("Where is the retry policy?").check(expect![[r#"
        > Where is the retry policy?
        [Grep {"pattern":"(retr.*polic|polic.*retr)","output_mode":"content","-n":true,"-i":true,"head_limit":60}]
        [Grep {"pattern":"\\b(fn|struct|enum|trait|type|const|static|mod|class|def|function|func|interface)\\s+\\w*(retr|polic)","output_mode":"content","-n":true,"-i":true,"head_limit":100}]
        [Grep {"pattern":"(retr|polic)","output_mode":"content","-n":true,"-i":true,"head_limit":200}]
        [Grep {"pattern":"(retr|polic)","output_mode":"content","-n":true,"-i":true,"head_limit":60,"path":"/m/memory"}]
        [Read {"file_path":"/w/src/retry.rs","offset":1,"limit":30}]
        [Read {"file_path":"/w/src/main.rs","offset":1,"limit":30}]
        (introduction)
        Best matches for "retry", "policy" in the workspace:

        `src/retry.rs:4`
        ```rust
        /// How long to wait, and how often.
        pub struct RetryPolicy {
            pub attempts: u32,
        }

        impl RetryPolicy {
            pub fn next_delay(&self) -> Duration {
                Duration::ZERO
            }
        }
        ```

        `src/main.rs:5`
        ```rust
            let policy = RetryPolicy { attempts: 3 };
        }
        ```
    "#]]);
}

#[test]
fn names_are_found_as_they_are() {
    Folder::new(PROJECT).ask("what does `next_delay` return?").check(expect![[r#"
        > what does `next_delay` return?
        [Grep {"pattern":"next_delay","output_mode":"content","-n":true,"-i":true,"head_limit":60}]
        [Grep {"pattern":"\\b(fn|struct|enum|trait|type|const|static|mod|class|def|function|func|interface)\\s+\\w*next_delay","output_mode":"content","-n":true,"-i":true,"head_limit":100}]
        [Grep {"pattern":"return","output_mode":"content","-n":true,"-i":true,"head_limit":200}]
        [Grep {"pattern":"(next_delay|return)","output_mode":"content","-n":true,"-i":true,"head_limit":60,"path":"/m/memory"}]
        [Read {"file_path":"/w/src/retry.rs","offset":4,"limit":30}]
        (introduction)
        Best matches for "next_delay", "return" in the workspace:

        `src/retry.rs:10`
        ```rust
            pub fn next_delay(&self) -> Duration {
                Duration::ZERO
            }
        }
        ```
    "#]]);
}

#[test]
fn what_is_not_there_is_said_with_what_was_tried() {
    Folder::new(PROJECT).ask("How is OAuth configured?").check(expect![[r#"
        > How is OAuth configured?
        [Grep {"pattern":"OAuth","output_mode":"content","-n":true,"-i":true,"head_limit":60}]
        [Grep {"pattern":"\\b(fn|struct|enum|trait|type|const|static|mod|class|def|function|func|interface)\\s+\\w*OAuth","output_mode":"content","-n":true,"-i":true,"head_limit":100}]
        [Grep {"pattern":"configur","output_mode":"content","-n":true,"-i":true,"head_limit":200}]
        [Grep {"pattern":"(oauth|configur)","output_mode":"content","-n":true,"-i":true,"head_limit":60,"path":"/m/memory"}]
        [Glob {"pattern":"**/*oauth*"}]
        [Glob {"pattern":"**/*configur*"}]
        [Grep {"pattern":"(oaut|confi)","output_mode":"content","-n":true,"-i":true,"head_limit":100}]
        (introduction)
        I found nothing about "OAuth", "configured" in the workspace or in memory. I tried these patterns:
        - `OAuth`
        - `configur`
        - `(oauth|configur)`
        - `**/*oauth*`
        - `**/*configur*`
        - `(oaut|confi)`

        I find words, not meanings: the name of a function, a file or a setting works best.
    "#]]);
}

#[test]
fn a_repository_introduces_itself() {
    Folder::new(PROJECT).ask("What is this project?").ask("how do I test it?").check(expect![[r#"
        > What is this project?
        [Glob {"pattern":"*"}]
        [Glob {"pattern":"*/*"}]
        [Read {"file_path":"/w/README.md","limit":200}]
        [Read {"file_path":"/w/Cargo.toml","limit":200}]
        (introduction)
        `README.md:1`
        ```markdown
        # Tern

        …
        Tern is a small bird of a build tool.
        It watches files.

        It was made for fun.
        ```

        `Cargo.toml:2`
        ```toml
        name = "tern"
        description = "a build tool"
        ```

        Folders:
        - `src/`
        > how do I test it?
        [Glob {"pattern":"*"}]
        [Glob {"pattern":"*/*"}]
        [Read {"file_path":"/w/README.md","limit":200}]
        [Read {"file_path":"/w/Cargo.toml","limit":200}]
        `README.md:9`
        ```markdown
        ## Testing

        Run `cargo test`.
        ```

        There is a `Cargo.toml`, so: `cargo test`.
    "#]]);
}

#[test]
fn in_daily_log_mode_a_line_is_added_to_the_log_of_the_day() {
    let mut folder = Folder::new("");
    folder.keeps_log = true;
    folder
        .ask("Remember that the code freeze starts tomorrow because of the audit")
        .ask("always write tests first")
        .ask("always write tests first")
        .ask_with("we decided to ship on Fridays", &["Today is 2026-10-08."]);
    folder.log.push_str(&folder.tree("/m/"));
    folder.check(expect![[r#"
        > Remember that the code freeze starts tomorrow because of the audit
        [Read {"file_path":"/m/memory/logs/2026/10/2026-10-07.md"}]
        [Write {"file_path":"/m/memory/logs/2026/10/2026-10-07.md","content":"- project: The code freeze starts 2026-10-08 because of the audit\n"}]
        (introduction)
        Noted in the log of the day: The code freeze starts 2026-10-08 because of the audit

        `/m/memory/logs/2026/10/2026-10-07.md`
        > always write tests first
        [Read {"file_path":"/m/memory/logs/2026/10/2026-10-07.md"}]
        [Edit {"file_path":"/m/memory/logs/2026/10/2026-10-07.md","old_string":"- project: The code freeze starts 2026-10-08 because of the audit","new_string":"- project: The code freeze starts 2026-10-08 because of the audit\n- feedback: Always write tests first"}]
        Noted in the log of the day: Always write tests first

        `/m/memory/logs/2026/10/2026-10-07.md`
        > always write tests first
        [Read {"file_path":"/m/memory/logs/2026/10/2026-10-07.md"}]
        I already know that: it is in `/m/memory/logs/2026/10/2026-10-07.md`.
        > we decided to ship on Fridays
        [Read {"file_path":"/m/memory/logs/2026/10/2026-10-08.md"}]
        [Write {"file_path":"/m/memory/logs/2026/10/2026-10-08.md","content":"- project: We decided to ship on Fridays\n"}]
        Noted in the log of the day: We decided to ship on Fridays

        `/m/memory/logs/2026/10/2026-10-08.md`
        //- /m/memory/logs/2026/10/2026-10-07.md
        - project: The code freeze starts 2026-10-08 because of the audit
        - feedback: Always write tests first
        //- /m/memory/logs/2026/10/2026-10-08.md
        - project: We decided to ship on Fridays
    "#]]);
}

#[test]
fn what_is_told_is_remembered_and_recalled() {
    let mut folder = Folder::new(PROJECT);
    folder
        .ask("Remember that the code freeze starts tomorrow because of the audit")
        .ask("always write tests first")
        .ask("always write tests first")
        .ask("when does the code freeze start?")
        .ask("what do you remember?");
    for (path, text) in &folder.files {
        if path.starts_with("/m/") {
            folder.log.push_str(&format!("//- {path}\n{text}"));
        }
    }
    folder.check(expect![[r#"
        > Remember that the code freeze starts tomorrow because of the audit
        [Glob {"pattern":"**/*.md","path":"/m/memory"}]
        [Write {"file_path":"/m/memory/code-freeze-starts.md","content":"---\nname: \"The code freeze starts 2026-10-08\"\ndescription: \"The code freeze starts 2026-10-08 because of the audit\"\ntype: project\n---\n\nThe code freeze starts 2026-10-08 because of the audit\n\n**Why:** because of the audit\n**How to apply:** take it into account in suggestions and plans; check that it still holds.\n"}]
        [Write {"file_path":"/m/memory/MEMORY.md","content":"- [The code freeze starts 2026-10-08](code-freeze-starts.md) — The code freeze starts 2026-10-08 because of the audit\n"}]
        (introduction)
        Saved as a project memory: The code freeze starts 2026-10-08 because of the audit

        `/m/memory/code-freeze-starts.md`, listed in `MEMORY.md`.
        > always write tests first
        [Glob {"pattern":"**/*.md","path":"/m/memory"}]
        [Read {"file_path":"/m/memory/MEMORY.md"}]
        [Write {"file_path":"/m/memory/always-write-tests-first.md","content":"---\nname: \"Always write tests first\"\ndescription: \"Always write tests first\"\ntype: feedback\n---\n\nAlways write tests first\n\n**Why:** the user asked for it in these words; no reason was given.\n**How to apply:** whenever work touches this.\n"}]
        [Edit {"file_path":"/m/memory/MEMORY.md","old_string":"- [The code freeze starts 2026-10-08](code-freeze-starts.md) — The code freeze starts 2026-10-08 because of the audit","new_string":"- [The code freeze starts 2026-10-08](code-freeze-starts.md) — The code freeze starts 2026-10-08 because of the audit\n- [Always write tests first](always-write-tests-first.md) — Always write tests first"}]
        Saved as a feedback memory: Always write tests first

        `/m/memory/always-write-tests-first.md`, listed in `MEMORY.md`.
        > always write tests first
        [Glob {"pattern":"**/*.md","path":"/m/memory"}]
        [Read {"file_path":"/m/memory/MEMORY.md"}]
        [Read {"file_path":"/m/memory/always-write-tests-first.md"}]
        I already know that: it is in `/m/memory/always-write-tests-first.md`.
        > when does the code freeze start?
        [Grep {"pattern":"(freez.*start|start.*freez)","output_mode":"content","-n":true,"-i":true,"head_limit":60}]
        [Grep {"pattern":"\\b(fn|struct|enum|trait|type|const|static|mod|class|def|function|func|interface)\\s+\\w*(freez|start)","output_mode":"content","-n":true,"-i":true,"head_limit":100}]
        [Grep {"pattern":"(freez|start)","output_mode":"content","-n":true,"-i":true,"head_limit":200}]
        [Grep {"pattern":"(freez|start)","output_mode":"content","-n":true,"-i":true,"head_limit":60,"path":"/m/memory"}]
        [Read {"file_path":"/m/memory/code-freeze-starts.md","limit":60}]
        I remember:

        `/m/memory/code-freeze-starts.md:7`
        ```markdown
        The code freeze starts 2026-10-08 because of the audit

        **Why:** because of the audit
        **How to apply:** take it into account in suggestions and plans; check that it still holds.
        ```
        > what do you remember?
        [Grep {"pattern":"^description:","path":"/m/memory","glob":"*.md","output_mode":"content","-n":true,"head_limit":100}]
        I remember 2 things:
        - Always write tests first (`/m/memory/always-write-tests-first.md:3`)
        - The code freeze starts 2026-10-08 because of the audit (`/m/memory/code-freeze-starts.md:3`)
        //- /m/memory/MEMORY.md
        - [The code freeze starts 2026-10-08](code-freeze-starts.md) — The code freeze starts 2026-10-08 because of the audit
        - [Always write tests first](always-write-tests-first.md) — Always write tests first
        //- /m/memory/always-write-tests-first.md
        ---
        name: "Always write tests first"
        description: "Always write tests first"
        type: feedback
        ---

        Always write tests first

        **Why:** the user asked for it in these words; no reason was given.
        **How to apply:** whenever work touches this.
        //- /m/memory/code-freeze-starts.md
        ---
        name: "The code freeze starts 2026-10-08"
        description: "The code freeze starts 2026-10-08 because of the audit"
        type: project
        ---

        The code freeze starts 2026-10-08 because of the audit

        **Why:** because of the audit
        **How to apply:** take it into account in suggestions and plans; check that it still holds.
    "#]]);
}

#[test]
fn commands_use_the_tools() {
    Folder::new(PROJECT)
        .ask("read main.rs")
        .ask("edit README.md: replace \"for fun\" with \"for speed\"")
        .ask("run cargo test")
        .ask("list *.rs files")
        .ask("create notes.txt with \"hello\"")
        .ask("todo: read; write")
        .check(expect![[r#"
            > read main.rs
            [Read {"file_path":"/w/main.rs","offset":1,"limit":80}]
            [Glob {"pattern":"**/main.rs*"}]
            [Read {"file_path":"/w/src/main.rs","offset":1,"limit":80}]
            (introduction)
            `src/main.rs:1`
            ```rust
            mod retry;
            use retry::RetryPolicy;

            fn main() {
                let policy = RetryPolicy { attempts: 3 };
            }
            ```
            > edit README.md: replace "for fun" with "for speed"
            [Read {"file_path":"/w/README.md"}]
            [Edit {"old_string":"for fun","new_string":"for speed","file_path":"/w/README.md"}]
            Made the replacement in `README.md`.
            > run cargo test
            [Bash {"command":"cargo test","description":"Run cargo test"}]
            Bash of `cargo test` did not work: the user denied this call
            > list *.rs files
            [Glob {"pattern":"**/*.rs"}]
            2 files match `**/*.rs`:
            - `src/main.rs`
            - `src/retry.rs`
            > create notes.txt with "hello"
            [Write {"file_path":"/w/notes.txt","content":"hello\n"}]
            Wrote `notes.txt`, 6 bytes.
            > todo: read; write
            [TodoWrite {"todos":[{"content":"read","status":"pending","activeForm":"read"},{"content":"write","status":"pending","activeForm":"write"}]}]
            Noted:
            - [ ] read
            - [ ] write
        "#]]);
}

#[test]
fn the_introduction_comes_once() {
    let mut folder = Folder::new(PROJECT);
    folder.ask("hello").ask("hello");
    assert_eq!(folder.log.matches(answer::INTRODUCTION).count(), 1);
}

const DEPLOYS: &str =
    "---\nname: Deploys\ndescription: We deploy on Fridays\ntype: project\n---\n\nWe deploy on Fridays.\n";

#[test]
fn what_comes_to_mind_is_quoted_with_its_file() {
    let shown = format!("Memory (saved today): /m/memory/deploys.md:\n\n{DEPLOYS}");
    let old = "This memory is 47 days old and says what was true then.\n\nMemory: /m/memory/sub/freeze.md:\n\nThe freeze is in May.";
    Folder::new(PROJECT)
        .ask_with("when can I ship?", &[&shown])
        .ask_with("and when is the freeze?", &[old])
        .check(expect![[r#"
            > when can I ship?
            (introduction)
            I remember:

            `/m/memory/deploys.md:7`
            ```markdown
            We deploy on Fridays.
            ```
            > and when is the freeze?
            I remember:

            `/m/memory/sub/freeze.md:1`
            ```markdown
            The freeze is in May.
            ```
        "#]]);
}

#[test]
fn what_came_to_mind_before_is_not_the_answer_to_the_next_question() {
    let shown = format!("Memory (saved today): /m/memory/deploys.md:\n\n{DEPLOYS}");
    let mut folder = Folder::new(PROJECT);
    folder.ask_with("when can I ship?", &[&shown]).ask("where is the retry policy?");
    let (_, second) = folder.log.rsplit_once("> where").unwrap();
    assert!(second.contains("retry.rs") && !second.contains("Fridays"), "{second}");
}

#[test]
fn forgetting_removes_the_file_and_its_line() {
    let index = "- [Deploys](deploys.md) — Fridays\n- [Coffee](coffee.md) — Mondays\n";
    let files = format!(
        "//- /m/memory/MEMORY.md\n{index}//- /m/memory/deploys.md\n{DEPLOYS}//- /m/memory/coffee.md\nCoffee on Mondays.\n"
    );
    let mut folder = Folder::new(&files);
    folder.ask("forget that we deploy on Fridays").ask("forget about the unicorns");
    folder.check(expect![[r#"
        > forget that we deploy on Fridays
        [Grep {"pattern":"\\b(deplo|friday)","output_mode":"content","-n":true,"-i":true,"head_limit":100,"path":"/m/memory"}]
        [Read {"file_path":"/m/memory/MEMORY.md"}]
        [Bash {"command":"rm -- '/m/memory/deploys.md'","description":"Removes the memory's file"}]
        [Edit {"file_path":"/m/memory/MEMORY.md","old_string":"- [Deploys](deploys.md) — Fridays\n","new_string":""}]
        (introduction)
        Forgotten: `/m/memory/deploys.md` is gone, and its line in `MEMORY.md` too. Undo brings both back.
        > forget about the unicorns
        [Grep {"pattern":"\\bunicorn","output_mode":"content","-n":true,"-i":true,"head_limit":100,"path":"/m/memory"}]
        [Read {"file_path":"/m/memory/MEMORY.md"}]
        I remember nothing about "the unicorns", so there is nothing to forget.
    "#]]);
    let left: Vec<(&str, &str)> =
        folder.files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    assert_eq!(
        left,
        [
            ("/m/memory/MEMORY.md", "- [Coffee](coffee.md) — Mondays\n"),
            ("/m/memory/coffee.md", "Coffee on Mondays.\n")
        ]
    );
}

#[test]
fn every_kind_of_secret_is_refused() {
    let key = format!("{}_live_{}", "sk", "4eC39HqLyjWDarjtT1zdp7dcAbCdEf12");
    let mut folder = Folder::new("");
    folder.ask(&format!("remember that the payments use {key}"));
    assert!(folder.files.is_empty() && folder.log.contains("looks like a secret"), "{}", folder.log);
}

#[test]
fn secrets_are_not_kept() {
    Folder::new("").ask("remember my password is hunter2").check(expect![[r#"
        > remember my password is hunter2
        (introduction)
        That looks like a secret, and memories are plain files: I do not keep it. Tell me where it is stored instead.
    "#]]);
}

#[test]
fn without_tools_it_still_answers() {
    let mut request = Folder::new("").request();
    request.tools = Arc::new([]);
    request.messages =
        vec![RequestMessage { role: Role::User, content: vec![Block::text("where is main?")] }];
    let text = blocks(&respond(&request));
    assert_eq!(
        text,
        [Block::text(format!(
            "{}\n\nThat needs the tool Grep, which this session does not offer.",
            answer::INTRODUCTION
        ))]
    );
}

#[test]
fn failing_tools_end_the_turn() {
    let mut folder = Folder::new("");
    folder.ask("where is the parser?").ask("read nothing.rs").ask("what is this project?");
}

#[test]
fn odd_texts_break_nothing() {
    let long = "wörd ".repeat(20_000);
    let starts = [
        "",
        "run ",
        "list ",
        "remember ",
        "read ",
        "edit ",
        "create ",
        "todo:",
        "ask me ",
        "please ",
        "#",
        "in 9999 days ",
    ];
    let ends = [
        "İİİİİİİİİİİİ",
        "🦀`\"'“",
        "a.b:99999999999999999999-1",
        "((([[[**",
        "<system-reminder>",
        "\0\u{202e}",
        &long,
    ];
    for start in starts {
        for end in ends {
            Folder::new(PROJECT).ask(&format!("{start}{end}"));
        }
    }
}

#[test]
fn the_same_request_gives_the_same_bytes() {
    let mut folder = Folder::new(PROJECT);
    folder.ask("Where is the retry policy?");
    let request = folder.request();
    assert_eq!(respond(&request), respond(&request));
    let Some(Event::Started { id, usage, .. }) = respond(&request).into_iter().next() else { panic!() };
    assert!(id.starts_with("msg_"));
    assert!(usage.input_tokens > 100);
}

#[test]
fn text_streams_in_word_groups() {
    let mut folder = Folder::new("");
    folder.messages.push(RequestMessage { role: Role::User, content: vec![Block::text("hello")] });
    let stream = Offline::new().stream(folder.request()).now_or_never().unwrap().unwrap();
    let events: Vec<Event> = stream.map(Result::unwrap).collect::<Vec<_>>().now_or_never().unwrap();
    let deltas = events.iter().filter(|event| matches!(event, Event::BlockDelta { .. })).count();
    assert!(deltas > 10);
    assert!(matches!(events.last(), Some(Event::Finished { stop_reason: StopReason::EndTurn, .. })));
}
