//! What can be done at a place. What edits a text goes to the editor; what deletes or merges goes through a command, so
//! that the history has it.

use std::{path::Path, sync::Arc};

use language::{Action, Deed, Role};
use ls_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionResponse, Diagnostic,
    NumberOrString, Range,
};
use serde_json::json;
use tower_lsp::jsonrpc;

use super::{For, Language, convert};
use crate::convert::path_text;

impl Language {
    pub(crate) async fn code_action(
        self: &Arc<Self>,
        params: CodeActionParams,
    ) -> jsonrpc::Result<Option<CodeActionResponse>> {
        let (range, context) = (params.range, params.context);
        let uri = params.text_document.uri;
        let about = uri.clone();
        self.answer(
            "textDocument/codeAction",
            uri.as_str(),
            For::Both,
            |inline| inline.actions,
            move |language, view, opened| {
                let view = match opened.role {
                    Role::Memory => language.with_indexes_as_they_are(view),
                    _ => view.clone(),
                };
                let bytes = convert::bytes(&opened.measured, range);
                let (page, facts) = (opened.page(), view.facts());
                let actions = match opened.role {
                    Role::Source => {
                        let outline = language.outline(opened);
                        language::source_actions(&page, &facts, outline.as_deref(), bytes)
                    }
                    _ => language::actions(&page, &facts, bytes),
                };
                let made_for =
                    |path: &Path| if path == opened.path { Some(&*opened.text) } else { view.text(path) };
                let actions = actions.into_iter().filter_map(|action| {
                    let diagnostics = fitting(&action, &context.diagnostics, range);
                    let action = language.action(action, &made_for, about.as_str(), range)?;
                    let diagnostics = (!diagnostics.is_empty()).then_some(diagnostics);
                    Some(CodeActionOrCommand::CodeAction(CodeAction { diagnostics, ..action }))
                });
                let wanted = |action: &CodeActionOrCommand| match (&context.only, action) {
                    (Some(only), CodeActionOrCommand::CodeAction(action)) => only.iter().any(|wanted| {
                        let kind = action.kind.as_ref().map_or("", CodeActionKind::as_str);
                        kind == wanted.as_str() || kind.starts_with(&format!("{}.", wanted.as_str()))
                    }),
                    _ => true,
                };
                Some(actions.filter(wanted).collect())
            },
        )
        .await
    }

    /// `None`: what it would edit has changed meanwhile.
    fn action<'t>(
        &self,
        action: Action,
        made_for: &dyn Fn(&Path) -> Option<&'t str>,
        uri: &str,
        range: Range,
    ) -> Option<CodeAction> {
        let kind = match action.code {
            Some(_) => CodeActionKind::QUICKFIX,
            None => CodeActionKind::REFACTOR,
        };
        let path = |path: &Path| path_text(path);
        let title = action.title;
        let (edit, command) = match action.deed {
            Deed::Edit(edits) => (Some(self.edit(edits, made_for).ok()?), None),
            Deed::Delete(gone) => (
                None,
                Some(convert::command(&title, "reverie.memory.delete", json!({ "path": path(&gone) }))),
            ),
            Deed::Merge { path: from, into } => {
                let argument = json!({ "path": path(&from), "into": path(&into) });
                (None, Some(convert::command(&title, "reverie.memory.merge", argument)))
            }
            Deed::Open(paths) => {
                let paths: Vec<String> = paths.iter().map(|one| path(one)).collect();
                (None, Some(convert::command(&title, "reverie.memory.open", json!({ "paths": paths }))))
            }
            Deed::Remember => {
                let argument = json!({ "uri": uri, "range": range });
                (None, Some(convert::command(&title, "reverie.memory.remember", argument)))
            }
        };
        Some(CodeAction {
            title,
            kind: Some(kind),
            edit,
            command,
            is_preferred: action.is_preferred.then_some(true),
            ..CodeAction::default()
        })
    }
}

/// The diagnostics of the client that an action mends.
fn fitting(action: &Action, shown: &[Diagnostic], range: Range) -> Vec<Diagnostic> {
    let Some(code) = action.code else { return Vec::new() };
    let is_it = |diagnostic: &&Diagnostic| {
        let same = diagnostic.code == Some(NumberOrString::String(code.to_owned()));
        same && diagnostic.range.start.line <= range.end.line && diagnostic.range.end.line >= range.start.line
    };
    shown.iter().filter(is_it).cloned().collect()
}
