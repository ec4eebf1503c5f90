//! What a file consists of and says: hover, completion, symbols, folding, formatting.

use std::sync::Arc;

use language::{ItemKind, Role};
use ls_types::{
    CompletionItem, CompletionItemKind, CompletionParams, CompletionResponse, CompletionTextEdit,
    DocumentFormattingParams, DocumentSymbol, DocumentSymbolParams, DocumentSymbolResponse, Documentation,
    FoldingRange, FoldingRangeKind, FoldingRangeParams, Hover, HoverContents, HoverParams, Position, Range,
    SymbolKind, TextEdit,
};
use tower_lsp::jsonrpc;
use workspace::Measured;

use super::{For, Language, convert};

impl Language {
    pub(crate) async fn hover(self: &Arc<Self>, params: HoverParams) -> jsonrpc::Result<Option<Hover>> {
        let place = params.text_document_position_params;
        let at = place.position;
        self.answer(
            "textDocument/hover",
            place.text_document.uri.as_str(),
            For::Both,
            |inline| inline.hover,
            move |language, view, opened| {
                let offset = convert::offset(&opened.measured, at);
                let (bytes, text) = match opened.role {
                    Role::Source => language.hover_in_source(view, opened, offset)?,
                    Role::Settings => {
                        let found = language::hover(&opened.page(), &view.facts(), offset)?;
                        let in_force = language.setting_in_force(opened, offset).unwrap_or_default();
                        (found.range, format!("{}{in_force}", found.text))
                    }
                    _ => {
                        let found = language::hover(&opened.page(), &view.facts(), offset)?;
                        (found.range, found.text)
                    }
                };
                Some(Hover {
                    contents: HoverContents::Markup(convert::markdown(text)),
                    range: Some(convert::range(&opened.measured, &bytes)),
                })
            },
        )
        .await
    }

    /// The value that counts, and which file it is from.
    fn setting_in_force(&self, opened: &super::Opened, offset: usize) -> Option<String> {
        let key = language::setting_at(&opened.page(), offset)?;
        let values = self.agent.settings().into_iter();
        let shown: Vec<String> = values
            .filter(|value| value.key == key || value.key.starts_with(&format!("{key}.")))
            .take(8)
            .map(|value| format!("\n- `{}` = `{}` ({})", value.key, value.value, value.source))
            .collect();
        (!shown.is_empty()).then(|| format!("\n\nIn force:\n{}", shown.concat()))
    }

    pub(crate) async fn completion(
        self: &Arc<Self>,
        params: CompletionParams,
    ) -> jsonrpc::Result<Option<CompletionResponse>> {
        let place = params.text_document_position;
        let at = place.position;
        self.answer(
            "textDocument/completion",
            place.text_document.uri.as_str(),
            For::Ours,
            |inline| inline.completion,
            move |_, view, opened| {
                let offset = convert::offset(&opened.measured, at);
                let items = language::complete(&opened.page(), &view.facts(), offset);
                let items = items.into_iter().enumerate().map(|(number, item)| CompletionItem {
                    kind: Some(match item.kind {
                        ItemKind::Key => CompletionItemKind::PROPERTY,
                        ItemKind::Value => CompletionItemKind::VALUE,
                        ItemKind::File => CompletionItemKind::FILE,
                    }),
                    detail: item.detail,
                    documentation: item
                        .documentation
                        .map(|text| Documentation::MarkupContent(convert::markdown(text))),
                    // Ours is an order of its own: what the index lacks comes first.
                    sort_text: Some(format!("{number:04}")),
                    filter_text: Some(item.text.clone()),
                    text_edit: Some(CompletionTextEdit::Edit(TextEdit {
                        range: convert::range(&opened.measured, &item.range),
                        new_text: item.text,
                    })),
                    label: item.label,
                    ..CompletionItem::default()
                });
                Some(CompletionResponse::Array(items.collect()))
            },
        )
        .await
    }

    pub(crate) async fn document_symbol(
        self: &Arc<Self>,
        params: DocumentSymbolParams,
    ) -> jsonrpc::Result<Option<DocumentSymbolResponse>> {
        self.answer(
            "textDocument/documentSymbol",
            params.text_document.uri.as_str(),
            For::Ours,
            |inline| inline.navigation,
            |_, _, opened| {
                let symbols = language::symbols(&opened.page());
                let symbols = symbols.into_iter().map(|found| symbol(&opened.measured, found));
                Some(DocumentSymbolResponse::Nested(symbols.collect()))
            },
        )
        .await
    }

    pub(crate) async fn folding_range(
        self: &Arc<Self>,
        params: FoldingRangeParams,
    ) -> jsonrpc::Result<Option<Vec<FoldingRange>>> {
        self.answer(
            "textDocument/foldingRange",
            params.text_document.uri.as_str(),
            For::Ours,
            |inline| inline.navigation,
            |_, _, opened| {
                let folds = language::folds(&opened.page()).into_iter().map(|fold| FoldingRange {
                    start_line: u32::try_from(fold.start).unwrap_or(u32::MAX),
                    end_line: u32::try_from(fold.end).unwrap_or(u32::MAX),
                    kind: fold.is_comment.then_some(FoldingRangeKind::Comment),
                    ..FoldingRange::default()
                });
                Some(folds.collect())
            },
        )
        .await
    }

    pub(crate) async fn formatting(
        self: &Arc<Self>,
        params: DocumentFormattingParams,
    ) -> jsonrpc::Result<Option<Vec<TextEdit>>> {
        self.answer(
            "textDocument/formatting",
            params.text_document.uri.as_str(),
            For::Ours,
            |inline| inline.actions,
            |_, _, opened| {
                let new_text = language::format(&opened.page())?;
                let end = convert::position(opened.measured.end());
                let range = Range { start: Position::default(), end };
                Some(vec![TextEdit { range, new_text }])
            },
        )
        .await
    }
}

#[expect(deprecated, reason = "the field has no other way to be left out")]
fn symbol(measured: &Measured, found: language::Symbol) -> DocumentSymbol {
    let children: Vec<_> = found.children.into_iter().map(|child| symbol(measured, child)).collect();
    DocumentSymbol {
        name: found.name,
        detail: found.detail,
        kind: match found.kind {
            language::SymbolKind::Heading => SymbolKind::STRING,
            language::SymbolKind::Entry => SymbolKind::FILE,
            language::SymbolKind::Field => SymbolKind::PROPERTY,
        },
        tags: None,
        deprecated: None,
        range: convert::range(measured, &found.range),
        selection_range: convert::range(measured, &found.name_range),
        children: (!children.is_empty()).then_some(children),
    }
}
