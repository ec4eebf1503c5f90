//! `Diagnostics`: what the editor's other language servers report.

use std::{future::Future, path::Path, time::Duration};

use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    host::{EditorDiagnostic, Severity},
    search,
    shell::text,
    tool::{Needs, ToolContext, ToolFailure, ToolOutput},
    typed::Typed,
};

/// Returns the errors and warnings that the editor shows, from compilers, linters and other language servers, for
/// one file or for all. They may lag behind an edit by some seconds.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Absolute, or relative to the working folder; all files if not given.
    file_path: Option<String>,
}

pub struct Diagnostics;

const MAX_SHOWN: usize = 200;
const MAX_MESSAGE_CHARS: usize = 1_000;

/// An editor that hangs must not hang the turn.
pub(crate) const EDITOR_PATIENCE: Duration = Duration::from_secs(15);

impl Typed for Diagnostics {
    const NAME: &'static str = "Diagnostics";
    const NEEDS: Needs = Needs::Diagnostics;
    type Input = Input;

    fn access(input: &Input, context: &ToolContext) -> Result<Access, ToolFailure> {
        let path = match &input.file_path {
            Some(path) => context.resolve("file_path", path)?,
            None => context.cwd.clone(),
        };
        Ok(Access::Read { path })
    }

    async fn run(input: Input, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
        let path = input.file_path.map(|path| context.resolve("file_path", &path)).transpose()?;
        let asked = context.host.diagnostics(path.clone());
        let found = answered(&context, "run the compiler or linter instead", asked).await?;
        // Whatever the editor tells: only what was asked for is told on, and nothing that is hidden.
        let wanted = |found: &EditorDiagnostic| match &path {
            Some(path) => is_same(&found.path, path),
            None => (context.may_read)(&found.path),
        };
        let shown = found.into_iter().filter(wanted);
        Ok(ToolOutput::text(list(shown.collect(), &context)))
    }
}

/// What the editor says, in time; `otherwise` is what to do if it says nothing.
pub(crate) async fn answered<T>(
    context: &ToolContext,
    otherwise: &str,
    asked: impl Future<Output = Option<T>>,
) -> Result<T, ToolFailure> {
    let in_time = tokio::time::timeout(EDITOR_PATIENCE, asked);
    match context.cancel.run_until_cancelled(in_time).await {
        None => Err(ToolFailure("cancelled before the editor answered".to_owned())),
        Some(Err(_)) => {
            let seconds = EDITOR_PATIENCE.as_secs();
            Err(ToolFailure(format!("the editor did not answer within {seconds} s; {otherwise}")))
        }
        Some(Ok(None)) => Err(ToolFailure(format!("no editor is connected that can tell; {otherwise}"))),
        Some(Ok(Some(answer))) => Ok(answer),
    }
}

/// Editors may name a file by its real path.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn list(mut found: Vec<EditorDiagnostic>, context: &ToolContext) -> String {
    if found.is_empty() {
        return "No diagnostics.".to_owned();
    }
    // What is cut off is what matters least.
    found.sort_by(|left, right| (left.severity, place(left)).cmp(&(right.severity, place(right))));
    found.dedup();
    let counts = counts(&found);
    let all = found.len();
    found.truncate(MAX_SHOWN);
    found.sort_by(|left, right| (place(left), left.severity).cmp(&(place(right), right.severity)));
    let mut lines: Vec<String> = found.iter().map(|diagnostic| line(diagnostic, context)).collect();
    let shown =
        if all > lines.len() { format!("; the {} gravest are shown", lines.len()) } else { String::new() };
    lines.push(format!("[{counts}{shown}]"));
    lines.join("\n")
}

fn place(diagnostic: &EditorDiagnostic) -> (&Path, usize, usize) {
    (&diagnostic.path, diagnostic.line, diagnostic.column)
}

/// `src/a.rs:3:5: error: mismatched types [rustc E0308]`; further lines of a message are indented.
fn line(diagnostic: &EditorDiagnostic, context: &ToolContext) -> String {
    let EditorDiagnostic { line, column, .. } = diagnostic;
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Information => "information",
        Severity::Hint => "hint",
    };
    let message = text::cut(diagnostic.message.trim(), MAX_MESSAGE_CHARS).replace('\n', "\n    ");
    let from: Vec<&str> =
        [&diagnostic.source, &diagnostic.code].into_iter().flatten().map(String::as_str).collect();
    let from = if from.is_empty() { String::new() } else { format!(" [{}]", from.join(" ")) };
    let name = search::shown(&diagnostic.path, &context.cwd);
    format!("{name}:{line}:{column}: {severity}: {message}{from}")
}

fn counts(found: &[EditorDiagnostic]) -> String {
    let kinds = [
        (Severity::Error, "error", "errors"),
        (Severity::Warning, "warning", "warnings"),
        (Severity::Information, "note", "notes"),
        (Severity::Hint, "hint", "hints"),
    ];
    let counted = kinds.iter().filter_map(|(severity, one, many)| {
        match found.iter().filter(|diagnostic| diagnostic.severity == *severity).count() {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {many}")),
        }
    });
    counted.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::{future::ready, path::PathBuf, sync::Arc};

    use expect_test::expect;
    use futures_util::future::BoxFuture;
    use serde_json::json;

    use super::*;
    use crate::{
        host::{AgentHost, EditorSymbol, PlanAnswer, SymbolQuery},
        testing::{Bench, User},
    };

    fn diagnostic(
        bench: &Bench,
        name: &str,
        line: usize,
        severity: Severity,
        message: &str,
    ) -> EditorDiagnostic {
        EditorDiagnostic {
            path: bench.path(name),
            line,
            column: 5,
            severity,
            message: message.to_owned(),
            source: None,
            code: None,
        }
    }

    #[tokio::test]
    async fn they_are_listed_by_place_and_counted() {
        let bench = Bench::new().hiding("hidden");
        let with_source = EditorDiagnostic {
            source: Some("rustc".to_owned()),
            code: Some("E0308".to_owned()),
            ..diagnostic(&bench, "b.rs", 3, Severity::Error, "mismatched types\nexpected u8\n")
        };
        let found = vec![
            with_source.clone(),
            diagnostic(&bench, "b.rs", 1, Severity::Hint, "unused"),
            with_source,
            diagnostic(&bench, "a.rs", 9, Severity::Warning, "odd"),
            diagnostic(&bench, "hidden/c.rs", 9, Severity::Error, "secret"),
            diagnostic(&bench, "x\ny.rs", 1, Severity::Warning, "a name with a line end"),
        ];
        let bench = bench.with_user(User::Editor { diagnostics: found, symbols: Vec::new() });
        bench.run(&Diagnostics, json!({})).await.check(expect![[r#"
            a.rs:9:5: warning: odd
            b.rs:1:5: hint: unused
            b.rs:3:5: error: mismatched types
                expected u8 [rustc E0308]
            x\ny.rs:1:5: warning: a name with a line end
            [1 error, 2 warnings, 1 hint]"#]]);
        bench.run(&Diagnostics, json!({"file_path": "a.rs"})).await.check(expect![[r#"
            a.rs:9:5: warning: odd
            [1 warning]"#]]);
        bench.run(&Diagnostics, json!({"file_path": "fine.rs"})).await.check(expect!["No diagnostics."]);
    }

    /// An editor that tells about everything, whatever it is asked.
    struct Talkative(Vec<EditorDiagnostic>);

    impl AgentHost for Talkative {
        fn ask_user(&self, _question: String, _options: Vec<String>) -> BoxFuture<'_, Option<String>> {
            Box::pin(ready(None))
        }

        fn ask_plan(&self, _plan: String) -> BoxFuture<'_, PlanAnswer> {
            Box::pin(ready(PlanAnswer::Nobody))
        }

        fn diagnostics(&self, _path: Option<PathBuf>) -> BoxFuture<'_, Option<Vec<EditorDiagnostic>>> {
            Box::pin(ready(Some(self.0.clone())))
        }

        fn symbols(&self, _query: SymbolQuery) -> BoxFuture<'_, Option<Vec<EditorSymbol>>> {
            Box::pin(ready(None))
        }

        fn skills(&self) -> Vec<skills::Skill> {
            Vec::new()
        }
    }

    #[tokio::test]
    async fn what_an_editor_tells_about_other_files_is_left_out() {
        let mut bench = Bench::new().with_file("a.rs", "").hiding("hidden");
        std::os::unix::fs::symlink(bench.path("a.rs"), bench.path("link.rs")).unwrap();
        bench.context.host = Arc::new(Talkative(vec![
            diagnostic(&bench, "a.rs", 1, Severity::Error, "wanted"),
            diagnostic(&bench, "b.rs", 1, Severity::Error, "of another file"),
            diagnostic(&bench, "hidden/c.rs", 1, Severity::Error, "secret"),
        ]));
        for name in ["a.rs", "link.rs"] {
            bench.run(&Diagnostics, json!({"file_path": name})).await.check(expect![[r#"
                a.rs:1:5: error: wanted
                [1 error]"#]]);
        }
        bench.run(&Diagnostics, json!({"file_path": "c.rs"})).await.check(expect!["No diagnostics."]);
    }

    #[tokio::test]
    async fn of_too_many_the_gravest_are_shown() {
        let bench = Bench::new();
        let mut found: Vec<_> =
            (1..=300).map(|line| diagnostic(&bench, "a.rs", line, Severity::Warning, "odd")).collect();
        found.push(diagnostic(&bench, "z.rs", 1, Severity::Error, "wrong"));
        let bench = bench.with_user(User::Editor { diagnostics: found, symbols: Vec::new() });
        let text = bench.run(&Diagnostics, json!({})).await.text();
        assert_eq!(text.lines().count(), MAX_SHOWN + 1);
        assert!(
            text.ends_with("z.rs:1:5: error: wrong\n[1 error, 300 warnings; the 200 gravest are shown]"),
            "{text}"
        );
    }

    #[tokio::test]
    async fn without_an_editor_the_model_is_told() {
        Bench::new().run(&Diagnostics, json!({})).await.check(expect![
            "FAILED: no editor is connected that can tell; run the compiler or linter instead"
        ]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_editor_that_hangs_does_not_hang_the_call() {
        let bench = Bench::new().never_answering();
        bench.run(&Diagnostics, json!({})).await.check(expect![
            "FAILED: the editor did not answer within 15 s; run the compiler or linter instead"
        ]);
        bench.context.cancel.cancel();
        bench
            .run(&Diagnostics, json!({}))
            .await
            .check(expect!["FAILED: cancelled before the editor answered"]);
    }
}
