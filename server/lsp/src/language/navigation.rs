//! From one file to another: definition, links, references.

use std::sync::Arc;

use ls_types::{
    DocumentLink, DocumentLinkParams, GotoDefinitionParams, GotoDefinitionResponse, Location, Position,
    Range, ReferenceParams,
};
use tower_lsp::jsonrpc;

use super::{For, Language, convert};

impl Language {
    pub(crate) async fn definition(
        self: &Arc<Self>,
        params: GotoDefinitionParams,
    ) -> jsonrpc::Result<Option<GotoDefinitionResponse>> {
        let place = params.text_document_position_params;
        let at = place.position;
        self.answer(
            "textDocument/definition",
            place.text_document.uri.as_str(),
            For::Ours,
            |inline| inline.navigation,
            move |language, view, opened| {
                let offset = convert::offset(&opened.measured, at);
                let (spot, line) = language::definition(&opened.page(), &view.facts(), offset)?;
                let start = Position { line: line.unwrap_or_default(), character: 0 };
                let location =
                    Location { uri: language.uri(&spot.path)?, range: Range { start, end: start } };
                Some(GotoDefinitionResponse::Scalar(location))
            },
        )
        .await
    }

    pub(crate) async fn document_link(
        self: &Arc<Self>,
        params: DocumentLinkParams,
    ) -> jsonrpc::Result<Option<Vec<DocumentLink>>> {
        self.answer(
            "textDocument/documentLink",
            params.text_document.uri.as_str(),
            For::Ours,
            |inline| inline.navigation,
            |language, view, opened| {
                let links = language::links(&opened.page(), &view.facts()).into_iter();
                let links = links.filter_map(|link| {
                    Some(DocumentLink {
                        range: convert::range(&opened.measured, &link.range),
                        target: Some(language.uri(&link.target)?),
                        tooltip: None,
                        data: None,
                    })
                });
                Some(links.collect())
            },
        )
        .await
    }

    pub(crate) async fn references(
        self: &Arc<Self>,
        params: ReferenceParams,
    ) -> jsonrpc::Result<Option<Vec<Location>>> {
        let place = params.text_document_position;
        let at = place.position;
        self.answer(
            "textDocument/references",
            place.text_document.uri.as_str(),
            For::Ours,
            |inline| inline.navigation,
            move |language, view, opened| {
                let offset = convert::offset(&opened.measured, at);
                let open = |path: &std::path::Path| language.workspace.document_text(path);
                let found = language::references(&opened.page(), &view.facts(), offset, &open).into_iter();
                Some(found.filter_map(|spot| language.location(&spot.path, &spot.range)).collect())
            },
        )
        .await
    }
}
