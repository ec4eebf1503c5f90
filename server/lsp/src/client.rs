//! What the client at the other end can do, read once at `initialize`.

use ls_types::{InitializeParams, PositionEncodingKind};
use serde::Deserialize;
use workspace::Encoding;

use crate::language::Offered;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub reverie: protocol::ClientCapabilities,
    /// Was written for this server: it shows what `reverie/*` notifications tell.
    pub knows_reverie: bool,
    pub encoding: Encoding,
    /// Answers `workspace/applyEdit`.
    pub applies_edits: bool,
    /// Takes edits with the version they were made for.
    pub versioned_edits: bool,
    pub work_done_progress: bool,
    /// Answers `window/showDocument`.
    pub shows_documents: bool,
    /// Answers `workspace/configuration`.
    pub configuration: bool,
    pub registers_configuration: bool,
    /// Shows `textDocument/publishDiagnostics`.
    pub shows_diagnostics: bool,
    pub language: Offered,
}

impl Client {
    pub(crate) fn of(params: &InitializeParams) -> Self {
        let capabilities = &params.capabilities;
        let workspace = capabilities.workspace.clone().unwrap_or_default();
        let announced =
            capabilities.experimental.as_ref().and_then(|experimental| experimental.get("reverie"));
        let reverie = announced
            .and_then(|reverie| protocol::ClientCapabilities::deserialize(reverie).ok())
            .unwrap_or_default();
        let utf8_offered = capabilities
            .general
            .as_ref()
            .and_then(|general| general.position_encodings.as_ref())
            .is_some_and(|offered| offered.contains(&PositionEncodingKind::UTF8));
        let window = capabilities.window.clone().unwrap_or_default();
        Self {
            reverie,
            knows_reverie: announced.is_some_and(|reverie| reverie.is_object()),
            encoding: if utf8_offered { Encoding::Utf8 } else { Encoding::Utf16 },
            applies_edits: workspace.apply_edit.unwrap_or(false),
            versioned_edits: workspace.workspace_edit.and_then(|edit| edit.document_changes).unwrap_or(false),
            work_done_progress: window.work_done_progress.unwrap_or(false),
            shows_documents: window.show_document.is_some_and(|shown| shown.support),
            configuration: workspace.configuration.unwrap_or(false),
            registers_configuration: workspace
                .did_change_configuration
                .and_then(|configuration| configuration.dynamic_registration)
                .unwrap_or(false),
            shows_diagnostics: capabilities
                .text_document
                .as_ref()
                .is_some_and(|text_document| text_document.publish_diagnostics.is_some()),
            language: Offered::of(params),
        }
    }
}
