//! `Glob`: finds files by name.

use std::path::PathBuf;

use conversation::ResultContent;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkState};
use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    search::{self, Above, Find, Finds, Hidden, Scope, Stop, Totals},
    shell::text::with_commas,
    tool::{Display, ToolContext, ToolFailure, ToolOutput},
    typed::Typed,
};

const MAX_FILES: usize = 100;

pub struct Glob;

/// Finds files by name, the last changed first, at most 100. Respects .gitignore; hidden files only if the
/// pattern spells out their dot. Paths are returned relative to the working folder, as the other tools take
/// them.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// For example `**/*.rs` or `src/*.{ts,tsx}`. `*` stays within one folder, `**` crosses any number.
    pattern: String,
    /// The folder to search; the working folder if not given.
    path: Option<String>,
}

/// What a call means: where to start, and what to match below.
struct Query {
    base: PathBuf,
    pattern: String,
}

impl Typed for Glob {
    const NAME: &'static str = "Glob";
    type Input = Input;

    fn access(input: &Input, context: &ToolContext) -> Result<Access, ToolFailure> {
        Ok(Access::Read { path: parse(input, context)?.base })
    }

    async fn run(input: Input, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
        let query = parse(&input, &context)?;
        let search_context = context.clone();
        search::on_own_thread(&context, move |stop| run(&query, &search_context, stop)).await
    }
}

fn parse(input: &Input, context: &ToolContext) -> Result<Query, ToolFailure> {
    let pattern = input.pattern.trim();
    if pattern.is_empty() {
        return Err(ToolFailure("the pattern is empty; `**/*` matches every file".to_owned()));
    }
    let folder = match input.path.as_deref() {
        None | Some("") => context.cwd.clone(),
        Some(path) => context.resolve("path", path)?,
    };
    // The plain beginning of a pattern says where to look; what is not below it need not be walked.
    let (prefix, rest) = search::split_literal_prefix(pattern);
    let base = match prefix {
        "" => folder,
        prefix => context.resolve("pattern", &folder.join(prefix).to_string_lossy())?,
    };
    // A pattern that ends with a folder means what is in it.
    let pattern = if rest.is_empty() || rest.ends_with('/') { format!("{rest}**") } else { rest.to_owned() };
    Ok(Query { base, pattern })
}

fn run(query: &Query, context: &ToolContext, stop: &Stop) -> Result<ToolOutput, ToolFailure> {
    let matcher = compile(&query.pattern)?;
    match std::fs::metadata(&query.base) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => {
            return Err(ToolFailure(format!("not a folder: {}", search::shown(&query.base, &context.cwd))));
        }
        Err(error) => return Err(search::cannot_search(&query.base, &error, context)),
    }
    let finds = find(query, &matcher, context, stop);
    let (files, totals) = finds.take();
    Ok(answer(&files, totals, query, context, stop))
}

/// A set of one: unlike a single glob, a set knows shortcuts for the usual patterns.
fn compile(pattern: &str) -> Result<GlobSet, ToolFailure> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).empty_alternates(true).build();
    glob.and_then(|glob| GlobSetBuilder::new().add(glob).build())
        .map_err(|error| ToolFailure(format!("the pattern is not valid: {}", error.kind())))
}

fn find(query: &Query, matcher: &GlobSet, context: &ToolContext, stop: &Stop) -> Finds {
    let finds = Finds::keeping(MAX_FILES);
    let above = Above::new(&query.base);
    let unsaved = search::unsaved_below(&query.base, &context.workspace);
    let may_read = search::may_read_below(&query.base, context);
    let scope = Scope {
        base: query.base.clone(),
        hidden: Hidden::asked_by(&query.pattern),
        types: None,
        max_depth: search::depth(&query.pattern),
    };
    scope.walk(|| {
        Box::new(|entry| {
            if stop.looking() {
                return WalkState::Quit;
            }
            match entry {
                Ok(entry) => {
                    if matcher.is_match(above.below(entry.path())) && is_file(&entry) {
                        if !may_read(entry.path()) {
                            finds.add_withheld();
                        } else if unsaved.contains_key(entry.path()) {
                            finds.add(Find::in_buffer(entry.path(), 1));
                        } else {
                            finds.add(Find::on_disk(entry.path(), 1));
                        }
                    }
                }
                Err(error) => finds.add_error(error.io_error()),
            }
            WalkState::Continue
        })
    });
    for path in unsaved.keys().filter(|path| !path.exists()) {
        if matcher.is_match(above.below(path)) {
            if may_read(path) {
                finds.add(Find::in_buffer(path, 1));
            } else {
                finds.add_withheld();
            }
        }
    }
    finds
}

/// Links to files count, links to folders do not.
fn is_file(entry: &DirEntry) -> bool {
    match entry.file_type() {
        Some(kind) if kind.is_symlink() => entry.path().is_file(),
        Some(kind) => kind.is_file(),
        None => false,
    }
}

fn answer(files: &[Find], totals: Totals, query: &Query, context: &ToolContext, stop: &Stop) -> ToolOutput {
    let mut lines: Vec<String> = files.iter().map(|file| search::shown(&file.path, &context.cwd)).collect();
    if files.is_empty() {
        lines.push("No files match.".to_owned());
        if !query.pattern.contains('/') && !query.pattern.contains("**") {
            let deep = &query.pattern;
            lines.push(format!(
                "[`{deep}` looks in one folder only; `**/{deep}` looks in those below it too]"
            ));
        }
    }
    if totals.files > files.len() as u64 {
        let all = with_commas(totals.files);
        lines.push(format!("[{} of {all} files, the last changed first; narrow the pattern]", files.len()));
    }
    lines.extend(search::notes(totals, stop));
    ToolOutput {
        content: ResultContent::Text(lines.join("\n")),
        display: Display::Files { paths: files.iter().map(|file| file.path.clone()).collect() },
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        time::{Duration, SystemTime},
    };

    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::Bench;

    /// Each file is a second older than the one before.
    fn tree(names: &[&str]) -> Bench {
        let bench = Bench::new();
        let newest = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        for (age, name) in names.iter().enumerate() {
            bench.put(name, "");
            let file = File::options().append(true).open(bench.path(name)).unwrap();
            file.set_modified(newest - Duration::from_secs(age as u64)).unwrap();
        }
        bench
    }

    async fn list(bench: &Bench, input: Value) -> String {
        bench.run(&Glob, input).await.text()
    }

    const NAMES: [&str; 6] = ["b.rs", "src/a.rs", "src/deep/c.rs", "src/d.ts", "e.tsx", ".hid/f.rs"];

    #[tokio::test]
    async fn files_come_newest_first() {
        let bench = tree(&NAMES);
        bench.run(&Glob, json!({"pattern": "**/*.rs"})).await.check(expect![[r#"
            b.rs
            src/a.rs
            src/deep/c.rs
            === shown as Files { paths: ["CWD/b.rs", "CWD/src/a.rs", "CWD/src/deep/c.rs"] }"#]]);
    }

    #[tokio::test]
    async fn patterns_mean_what_they_do_elsewhere() {
        let bench = tree(&NAMES);
        let check = async |pattern: &str, expected: Expect| {
            expected.assert_eq(&list(&bench, json!({ "pattern": pattern })).await);
        };
        check("*.rs", expect!["b.rs"]).await;
        check("./*.rs", expect!["b.rs"]).await;
        check("src/*", expect!["src/a.rs\nsrc/d.ts"]).await;
        check("src/", expect!["src/a.rs\nsrc/deep/c.rs\nsrc/d.ts"]).await;
        check("**/*.{ts,tsx}", expect!["src/d.ts\ne.tsx"]).await;
        check("src/**/c.rs", expect!["src/deep/c.rs"]).await;
        check("*/[a-c].rs", expect!["src/a.rs"]).await;
        check(".hid/*", expect![".hid/f.rs"]).await;
        check("**/.hid/**", expect![".hid/f.rs"]).await;
        check("{src,.hid}/*.rs", expect!["src/a.rs\n.hid/f.rs"]).await;
        check("src/../*.tsx", expect!["e.tsx"]).await;
        check(
            "c.rs",
            expect![[r#"
            No files match.
            [`c.rs` looks in one folder only; `**/c.rs` looks in those below it too]"#]],
        )
        .await;
    }

    #[tokio::test]
    async fn the_folder_may_be_given_either_way() {
        let bench = tree(&NAMES);
        assert_eq!(list(&bench, json!({"pattern": "*.rs", "path": "src"})).await, "src/a.rs");
        let absolute = format!("{}/src/**/*.rs", bench.context.cwd.display());
        assert_eq!(list(&bench, json!({ "pattern": absolute })).await, "src/a.rs\nsrc/deep/c.rs");
        let other = Bench::new();
        let found = list(&other, json!({ "pattern": absolute, "path": "" })).await;
        assert_eq!(found, format!("{0}/src/a.rs\n{0}/src/deep/c.rs", bench.context.cwd.display()));
        let access = other.access(&Glob, &json!({ "pattern": absolute }));
        assert_eq!(access, Ok(Access::Read { path: bench.path("src") }));
    }

    #[tokio::test]
    async fn ignored_files_and_git_are_left_out() {
        let bench = tree(&["a.o", "b.c", "out/c.c", ".git/d.c", "sub/.gitignore", "sub/e.c"]);
        bench.put(".gitignore", "*.o\nout/\n");
        bench.put("sub/.gitignore", "e.c\n");
        assert_eq!(list(&bench, json!({"pattern": "**/*.[oc]"})).await, "b.c");
        assert_eq!(list(&bench, json!({"pattern": "{**/*.c,.git/*}"})).await, "b.c");
        assert_eq!(list(&bench, json!({"pattern": "out/*"})).await, "out/c.c");
    }

    #[tokio::test]
    async fn new_documents_of_the_editor_are_found() {
        let bench = tree(&["a.rs"]);
        bench.context.workspace.open_document(&bench.path("new/b.rs"), "rust", 1, "fn b() {}");
        assert_eq!(list(&bench, json!({"pattern": "**/*.rs"})).await, "new/b.rs\na.rs");
    }

    #[tokio::test]
    async fn more_than_a_hundred_files_are_counted() {
        let names: Vec<String> = (0..130).map(|number| format!("f{number:03}")).collect();
        let bench = tree(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let text = list(&bench, json!({"pattern": "*"})).await;
        assert!(text.starts_with("f000\nf001\n"), "{text}");
        assert!(
            text.ends_with("f099\n[100 of 130 files, the last changed first; narrow the pattern]"),
            "{text}"
        );
    }

    #[tokio::test]
    async fn names_that_may_not_be_read_are_counted_only() {
        let bench = tree(&["a.txt", "secrets/b.txt", "secrets/deep/c.txt"]).hiding("secrets");
        let check = async |input: Value, expected: Expect| bench.run(&Glob, input).await.check(expected);
        check(
            json!({"pattern": "**/*.txt"}),
            expect![[r#"
            a.txt
            [left out by permission rules: 2 files]
            === shown as Files { paths: ["CWD/a.txt"] }"#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_folder_asked_about_by_name_is_shown_but_for_what_is_denied() {
        let bench = tree(&["a.txt", "secrets/b.txt", "secrets/deep/c.txt", "secrets/denied/d.txt"])
            .hiding("secrets")
            .denying("secrets/denied");
        bench.run(&Glob, json!({"pattern": "secrets/**/*.txt"})).await.check(expect![[r#"
            secrets/b.txt
            secrets/deep/c.txt
            [left out by permission rules: 1 file]
            === shown as Files { paths: ["CWD/secrets/b.txt", "CWD/secrets/deep/c.txt"] }"#]]);
        // Permissions look through links, and so was the question about what it leads to.
        std::os::unix::fs::symlink(bench.path("secrets/deep"), bench.path("link")).unwrap();
        assert_eq!(list(&bench, json!({"pattern": "link/*"})).await, "link/c.txt");
    }

    #[tokio::test]
    async fn bad_calls_are_told_what_is_wrong() {
        let bench = tree(&["a"]);
        let check = async |input: Value, expected: Expect| bench.run(&Glob, input).await.check(expected);
        check(json!({"pattern": " "}), expect!["FAILED: the pattern is empty; `**/*` matches every file"])
            .await;
        check(json!({"pattern": "x/*"}), expect!["FAILED: CWD/x does not exist; the working folder is CWD"])
            .await;
        check(json!({"pattern": "*", "path": "a"}), expect!["FAILED: not a folder: a"]).await;
        check(json!({"pattern": "{a"}), expect![[
            r#"FAILED: the pattern is not valid: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"#
        ]])
        .await;
    }
}
