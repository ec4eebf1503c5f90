//! From ranges of bytes to LSP's types.

use std::{path::Path, str::FromStr as _};

use ls_types::{
    Command, Diagnostic, DiagnosticSeverity, Location, MarkupContent, MarkupKind, NumberOrString, Position,
    Range, Uri,
};
use serde_json::Value;
use workspace::Measured;

use super::Language;
use crate::uri;

pub(super) fn position(place: workspace::Position) -> Position {
    Position { line: place.line, character: place.character }
}

pub(super) fn range(measured: &Measured, bytes: &std::ops::Range<usize>) -> Range {
    let range = measured.range(bytes);
    Range { start: position(range.start), end: position(range.end) }
}

pub(super) fn offset(measured: &Measured, place: Position) -> usize {
    measured.offset(workspace::Position { line: place.line, character: place.character })
}

pub(super) fn bytes(measured: &Measured, range: Range) -> std::ops::Range<usize> {
    let (start, end) = (offset(measured, range.start), offset(measured, range.end));
    start.min(end)..start.max(end)
}

pub(super) fn markdown(value: String) -> MarkupContent {
    MarkupContent { kind: MarkupKind::Markdown, value }
}

pub(super) fn command(title: impl Into<String>, command: &str, argument: Value) -> Command {
    Command { title: title.into(), command: command.to_owned(), arguments: Some(vec![argument]) }
}

/// Words that lead nowhere: a lens is nothing to an editor without a command.
pub(super) fn words(title: impl Into<String>) -> Command {
    Command { title: title.into(), command: String::new(), arguments: None }
}

pub(super) fn diagnostic(measured: &Measured, found: &language::Diagnostic) -> Diagnostic {
    Diagnostic {
        range: range(measured, &found.range),
        severity: Some(match found.severity {
            language::Severity::Error => DiagnosticSeverity::ERROR,
            language::Severity::Warning => DiagnosticSeverity::WARNING,
            language::Severity::Information => DiagnosticSeverity::INFORMATION,
            language::Severity::Hint => DiagnosticSeverity::HINT,
        }),
        code: Some(NumberOrString::String(found.code.to_owned())),
        source: Some("reverie".to_owned()),
        message: found.message.clone(),
        ..Diagnostic::default()
    }
}

impl Language {
    /// As the client wrote it, of a document that is open.
    pub(super) fn uri(&self, path: &Path) -> Option<Uri> {
        Uri::from_str(&uri::strict(&self.frontend.documents.uri(path))).ok()
    }

    pub(super) fn location(&self, path: &Path, bytes: &std::ops::Range<usize>) -> Option<Location> {
        let range = self.measured(path).map(|measured| range(&measured, bytes)).unwrap_or_default();
        Some(Location { uri: self.uri(path)?, range })
    }
}
