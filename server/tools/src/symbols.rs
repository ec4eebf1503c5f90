//! `Symbols`: what a file or the workspace defines, as the editor's language servers know it.

use std::path::Path;

use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    diagnostics::answered,
    host::{EditorSymbol, SymbolQuery},
    search,
    tool::{Needs, ToolContext, ToolFailure, ToolOutput},
    typed::Typed,
};

/// Lists what code defines (functions, types, fields …) with its lines, from the editor's language servers: an
/// outline of one file, or a search by name in the whole workspace. Give at least one of the two.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Absolute, or relative to the working folder.
    file_path: Option<String>,
    /// A name or a part of one.
    query: Option<String>,
}

pub struct Symbols;

const MAX_SHOWN: usize = 200;

impl Typed for Symbols {
    const NAME: &'static str = "Symbols";
    const NEEDS: Needs = Needs::Symbols;
    type Input = Input;

    fn check(input: &Input) -> Result<(), ToolFailure> {
        if input.file_path.is_none() && wanted(input).is_empty() {
            return Err(ToolFailure("give a file_path, a query or both".to_owned()));
        }
        Ok(())
    }

    fn access(input: &Input, context: &ToolContext) -> Result<Access, ToolFailure> {
        let path = match &input.file_path {
            Some(path) => context.resolve("file_path", path)?,
            None => context.cwd.clone(),
        };
        Ok(Access::Read { path })
    }

    async fn run(input: Input, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
        let wanted = wanted(&input).to_owned();
        let path = input.file_path.map(|path| context.resolve("file_path", &path)).transpose()?;
        let query = match &path {
            Some(path) => SymbolQuery::File(path.clone()),
            None => SymbolQuery::Workspace(wanted.clone()),
        };
        let asked = context.host.symbols(query);
        let mut found = answered(&context, "search with Grep instead", asked).await?;
        match &path {
            Some(_) => {
                let wanted = wanted.to_lowercase();
                found.retain(|symbol| symbol.name.to_lowercase().contains(&wanted));
            }
            None => found.retain(|symbol| (context.may_read)(&symbol.path)),
        }
        Ok(ToolOutput::text(list(found, path.as_deref(), &context)))
    }
}

fn wanted(input: &Input) -> &str {
    input.query.as_deref().unwrap_or_default().trim()
}

fn list(mut found: Vec<EditorSymbol>, file: Option<&Path>, context: &ToolContext) -> String {
    if found.is_empty() {
        return "No symbols found.".to_owned();
    }
    found.sort_by(|left, right| {
        (&left.path, left.line, &left.name).cmp(&(&right.path, right.line, &right.name))
    });
    found.dedup();
    let rows = found.iter().take(MAX_SHOWN).map(|symbol| row(symbol, file, context));
    let mut lines: Vec<String> = rows.collect();
    if found.len() > lines.len() {
        lines.push(format!("[{} of {}; narrow the query]", lines.len(), found.len()));
    }
    lines.join("\n")
}

/// `12-30 function parse (in Parser)`, with the file's name in front unless it is the one that was asked for.
fn row(symbol: &EditorSymbol, file: Option<&Path>, context: &ToolContext) -> String {
    let EditorSymbol { name, kind, line, end_line, .. } = symbol;
    let place = if file == Some(symbol.path.as_path()) {
        String::new()
    } else {
        format!("{}:", search::shown(&symbol.path, &context.cwd))
    };
    let lines = if end_line > line { format!("{line}-{end_line}") } else { line.to_string() };
    let container = match symbol.container.as_deref() {
        None | Some("") => String::new(),
        Some(container) => format!(" (in {container})"),
    };
    format!("{place}{lines} {kind} {name}{container}").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;
    use crate::testing::{Bench, User};

    fn symbol(bench: &Bench, file: &str, name: &str, lines: (usize, usize)) -> EditorSymbol {
        EditorSymbol {
            name: name.to_owned(),
            kind: "function".to_owned(),
            path: bench.path(file),
            line: lines.0,
            end_line: lines.1,
            container: None,
        }
    }

    fn bench() -> Bench {
        let bench = Bench::new().hiding("hidden");
        let symbols = vec![
            symbol(&bench, "b.rs", "write", (20, 20)),
            EditorSymbol {
                container: Some("Parser".to_owned()),
                ..symbol(&bench, "b.rs", "parse_all", (3, 9))
            },
            symbol(&bench, "a.rs", "parse", (7, 8)),
            symbol(&bench, "hidden/c.rs", "parse_key", (1, 2)),
        ];
        bench.with_user(User::Editor { diagnostics: Vec::new(), symbols })
    }

    #[tokio::test]
    async fn a_file_has_an_outline_and_the_workspace_a_search() {
        let bench = bench();
        bench.run(&Symbols, json!({"file_path": "b.rs"})).await.check(expect![[r#"
            3-9 function parse_all (in Parser)
            20 function write"#]]);
        bench
            .run(&Symbols, json!({"file_path": "b.rs", "query": "WRI"}))
            .await
            .check(expect!["20 function write"]);
        bench.run(&Symbols, json!({"query": "parse"})).await.check(expect![[r#"
            a.rs:7-8 function parse
            b.rs:3-9 function parse_all (in Parser)"#]]);
        bench.run(&Symbols, json!({"query": "nothing"})).await.check(expect!["No symbols found."]);
    }

    #[tokio::test]
    async fn many_are_capped() {
        let bench = Bench::new();
        let symbols = (1..=250).map(|line| symbol(&bench, "a.rs", "f", (line, line))).collect();
        let bench = bench.with_user(User::Editor { diagnostics: Vec::new(), symbols });
        let text = bench.run(&Symbols, json!({"file_path": "a.rs"})).await.text();
        assert!(text.ends_with("200 function f\n[200 of 250; narrow the query]"), "{text}");
    }

    #[tokio::test]
    async fn what_cannot_be_answered_says_so() {
        let bench = Bench::new();
        bench
            .run(&Symbols, json!({"query": "x"}))
            .await
            .check(expect!["FAILED: no editor is connected that can tell; search with Grep instead"]);
        bench
            .run(&Symbols, json!({"query": " "}))
            .await
            .check(expect!["FAILED: give a file_path, a query or both"]);
    }
}
