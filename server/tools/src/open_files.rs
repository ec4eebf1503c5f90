//! `OpenFiles`: what the user has open in the editor.

use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    search,
    tool::{Display, Needs, ToolContext, ToolFailure, ToolOutput},
    typed::Typed,
};

/// Lists the files that are open in the user's editor, and which have unsaved changes.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {}

pub struct OpenFiles;

const MAX_SHOWN: usize = 200;

impl Typed for OpenFiles {
    const NAME: &'static str = "OpenFiles";
    const NEEDS: Needs = Needs::OpenDocuments;
    type Input = Input;

    fn access(_input: &Input, context: &ToolContext) -> Result<Access, ToolFailure> {
        Ok(Access::Read { path: context.cwd.clone() })
    }

    async fn run(_input: Input, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
        let mut documents = context.workspace.documents();
        documents.retain(|document| (context.may_read)(&document.path));
        documents.sort_by(|left, right| left.path.cmp(&right.path));
        let all = documents.len();
        documents.truncate(MAX_SHOWN);
        let mut lines: Vec<String> = documents
            .iter()
            .map(|document| {
                let unsaved = if document.dirty { ", unsaved changes" } else { "" };
                let name = search::shown(&document.path, &context.cwd);
                format!("{name} ({}{unsaved})", document.language)
            })
            .collect();
        if all == 0 {
            lines.push("No files are open in an editor.".to_owned());
        }
        if all > documents.len() {
            lines.push(format!("[{} of {all}]", documents.len()));
        }
        Ok(ToolOutput {
            content: conversation::ResultContent::Text(lines.join("\n")),
            display: Display::Files { paths: documents.into_iter().map(|document| document.path).collect() },
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;
    use crate::testing::{Bench, Saves};

    #[tokio::test]
    async fn open_files_are_listed_with_what_is_unsaved() {
        let bench =
            Bench::new().with_file("b.txt", "b").with_file("a.txt", "a").with_file("hidden/c.txt", "c");
        bench.run(&OpenFiles, json!({})).await.check(expect![[r#"
            No files are open in an editor.
            === shown as Files { paths: [] }"#]]);
        let bench = bench.hiding("hidden");
        bench.open("b.txt", "b", Saves::No);
        bench.open("a.txt", "changed", Saves::No);
        bench.open("hidden/c.txt", "c", Saves::No);
        bench.run(&OpenFiles, json!({})).await.check(expect![[r#"
            a.txt (text, unsaved changes)
            b.txt (text)
            === shown as Files { paths: ["CWD/a.txt", "CWD/b.txt"] }"#]]);
    }
}
