//! Diagnostics that the client asks for: `textDocument/diagnostic`.

use std::{
    hash::{DefaultHasher, Hash, Hasher as _},
    sync::Arc,
};

use language::Role;
use ls_types::{
    Diagnostic, DocumentDiagnosticParams, DocumentDiagnosticReport, DocumentDiagnosticReportResult,
    FullDocumentDiagnosticReport, RelatedFullDocumentDiagnosticReport,
    RelatedUnchangedDocumentDiagnosticReport, UnchangedDocumentDiagnosticReport,
};
use tower_lsp::jsonrpc;

use super::{For, Language, Opened, View, convert};

impl Language {
    pub(crate) async fn diagnostic(
        self: &Arc<Self>,
        params: DocumentDiagnosticParams,
    ) -> jsonrpc::Result<DocumentDiagnosticReportResult> {
        let found = self.answer(
            "textDocument/diagnostic",
            params.text_document.uri.as_str(),
            For::Both,
            |inline| inline.diagnostics,
            |_, view, opened| Some(diagnostics(view, opened)),
        );
        let items = found.await?.unwrap_or_default();
        let result_id = fingerprint(&items);
        let report = match params.previous_result_id {
            Some(previous) if previous == result_id => {
                DocumentDiagnosticReport::Unchanged(RelatedUnchangedDocumentDiagnosticReport {
                    related_documents: None,
                    unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport { result_id },
                })
            }
            _ => DocumentDiagnosticReport::Full(RelatedFullDocumentDiagnosticReport {
                related_documents: None,
                full_document_diagnostic_report: FullDocumentDiagnosticReport {
                    result_id: Some(result_id),
                    items,
                },
            }),
        };
        Ok(DocumentDiagnosticReportResult::Report(report))
    }
}

pub(super) fn diagnostics(view: &View, opened: &Opened) -> Vec<Diagnostic> {
    let (page, facts) = (opened.page(), view.facts());
    let found = match opened.role {
        Role::Source => language::missing(&page, &facts),
        _ => language::diagnostics(&page, &facts),
    };
    found.iter().map(|one| convert::diagnostic(&opened.measured, one)).collect()
}

/// What tells one answer from another.
fn fingerprint(items: &[Diagnostic]) -> String {
    let mut hasher = DefaultHasher::new();
    for item in items {
        let Diagnostic { range, message, .. } = item;
        (range.start.line, range.start.character, range.end.line, range.end.character).hash(&mut hasher);
        message.hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}
