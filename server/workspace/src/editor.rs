//! What we ask of an editor, and the coordinates we ask it in.

use std::path::Path;

use futures_util::future::BoxFuture;
use thiserror::Error;

/// What `Position::character` counts; negotiated at `initialize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    pub range: Range,
    pub new_text: String,
}

/// The editor's side of an open document. Implemented by `lsp`; [`NoEditor`] where there is none.
pub trait Editor: Send + Sync {
    /// Applies `edits` to the open document at `path` if it is still at `version`. An answer of success is not
    /// proof: some editors say so for stale edits too, so the caller compares the text afterwards.
    fn apply_edit(
        &self,
        path: &Path,
        version: i32,
        edits: Vec<TextEdit>,
        label: &str,
    ) -> BoxFuture<'_, Result<(), EditRefused>>;

    /// Asks the editor to save the document. `Ok(false)` where the editor cannot.
    fn save(&self, path: &Path) -> BoxFuture<'_, Result<bool, EditRefused>>;
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EditRefused {
    /// The document changed meanwhile: read it again and retry.
    #[error("the document changed while the edit was under way")]
    Stale,
    /// The editor said no, or went away; its words.
    #[error("the editor refused the edit: {0}")]
    Refused(String),
}

/// Stands in where no editor is attached; it has no open documents, so nothing is ever asked of it.
pub struct NoEditor;

impl Editor for NoEditor {
    fn apply_edit(
        &self,
        _path: &Path,
        _version: i32,
        _edits: Vec<TextEdit>,
        _label: &str,
    ) -> BoxFuture<'_, Result<(), EditRefused>> {
        Box::pin(async { Err(EditRefused::Refused("no editor is attached".to_owned())) })
    }

    fn save(&self, _path: &Path) -> BoxFuture<'_, Result<bool, EditRefused>> {
        Box::pin(async { Ok(false) })
    }
}
