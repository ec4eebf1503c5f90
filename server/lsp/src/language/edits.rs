//! Changes of several files at once, as the client can take them: renaming, and what follows when a file was renamed.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use language::{Edit, Renaming};
use ls_types::{
    CreateFile, CreateFileOptions, DocumentChangeOperation, DocumentChanges, OneOf,
    OptionalVersionedTextDocumentIdentifier, PrepareRenameResponse, RenameFile, RenameFilesParams,
    RenameParams, ResourceOp, TextDocumentEdit, TextDocumentPositionParams, TextEdit, WorkspaceEdit,
};
use tower_lsp::jsonrpc::{self, Error};
use workspace::Measured;

use super::{For, Language, View, convert};
use crate::uri;

impl Language {
    pub(crate) async fn prepare_rename(
        self: &Arc<Self>,
        params: TextDocumentPositionParams,
    ) -> jsonrpc::Result<Option<PrepareRenameResponse>> {
        let at = params.position;
        self.answer(
            "textDocument/prepareRename",
            params.text_document.uri.as_str(),
            For::Ours,
            |inline| inline.actions,
            move |_, view, opened| {
                let offset = convert::offset(&opened.measured, at);
                let (bytes, placeholder) = language::prepare(&opened.page(), &view.facts(), offset)?;
                let range = convert::range(&opened.measured, &bytes);
                Some(PrepareRenameResponse::RangeWithPlaceholder { range, placeholder })
            },
        )
        .await
    }

    pub(crate) async fn rename(
        self: &Arc<Self>,
        params: RenameParams,
    ) -> jsonrpc::Result<Option<WorkspaceEdit>> {
        let place = params.text_document_position;
        let (at, new) = (place.position, params.new_name);
        let renamed = self.answer(
            "textDocument/rename",
            place.text_document.uri.as_str(),
            For::Ours,
            |inline| inline.actions,
            move |language, view, opened| {
                let view = language.view_anew(view.places.clone());
                let offset = convert::offset(&opened.measured, at);
                let renaming = language::rename(&opened.page(), &view.facts(), offset, &new);
                Some(renaming.and_then(|renaming| language.renaming(renaming, &view)))
            },
        );
        renamed.await?.transpose().map_err(|words| Error {
            code: jsonrpc::ErrorCode::InvalidParams,
            message: words.into(),
            data: None,
        })
    }

    /// Links to memories that the user is about to move.
    pub(crate) async fn will_rename_files(
        self: &Arc<Self>,
        params: RenameFilesParams,
    ) -> jsonrpc::Result<Option<WorkspaceEdit>> {
        self.faults.reach("workspace/willRenameFiles");
        let language = Arc::clone(self);
        let edited = tokio::task::spawn_blocking(move || {
            let moves: Vec<(PathBuf, PathBuf)> = params
                .files
                .iter()
                .filter_map(|file| Some((uri::to_path(&file.old_uri)?, uri::to_path(&file.new_uri)?)))
                .collect();
            let places = language.places();
            let is_ours = moves.iter().any(|(old, _)| places.memory_path(old).is_some());
            if !is_ours || !language.agent.inline().actions {
                return None;
            }
            let view = language.view_anew(places);
            let edits: Vec<_> =
                moves.iter().flat_map(|(old, new)| language::moved(&view.facts(), old, new)).collect();
            if edits.is_empty() {
                return None;
            }
            let edit = language.edit(edits, &|path| view.text(path)).ok()?;
            language.foretell(&moves);
            Some(edit)
        });
        edited.await.map_err(|panic| {
            tracing::error!(%panic, "following a renamed memory panicked");
            Error::internal_error()
        })
    }

    fn renaming(&self, renaming: Renaming, view: &View) -> Result<WorkspaceEdit, String> {
        let Renaming { edits, file } = renaming;
        let made_for = |path: &Path| view.text(path);
        let Some((old, new)) = file else { return self.edit(edits, &made_for) };
        if !self.offered().renames_files {
            return Err(
                "the editor cannot rename files for a server; rename the file, and its entry follows"
                    .to_owned(),
            );
        }
        let mut operations: Vec<DocumentChangeOperation> =
            self.document_edits(edits, &made_for)?.into_iter().map(DocumentChangeOperation::Edit).collect();
        let uris = self.uri(&old).zip(self.uri(&new)).ok_or("the name cannot be written as a URI")?;
        operations.push(DocumentChangeOperation::Op(ResourceOp::Rename(RenameFile {
            old_uri: uris.0,
            new_uri: uris.1,
            options: None,
            annotation_id: None,
        })));
        self.foretell(&[(old, new)]);
        let document_changes = Some(DocumentChanges::Operations(operations));
        Ok(WorkspaceEdit { document_changes, ..WorkspaceEdit::default() })
    }

    /// As versioned edits where the client takes them. `made_for` gives the text of a file that its edits are meant for;
    /// one that is not there yet is empty. An error is words for the user.
    pub(super) fn edit<'t>(
        &self,
        edits: Vec<Edit>,
        made_for: &dyn Fn(&Path) -> Option<&'t str>,
    ) -> Result<WorkspaceEdit, String> {
        let is_missing = |path: &PathBuf| {
            made_for(path).is_none()
                && path.symlink_metadata().is_err()
                && self.workspace.measured(path).is_none()
        };
        let mut missing: Vec<PathBuf> =
            edits.iter().map(|edit| edit.path.clone()).filter(is_missing).collect();
        missing.dedup();
        let documents = self.document_edits(edits, made_for)?;
        if self.frontend.client.get().is_some_and(|client| client.versioned_edits) {
            let document_changes = Some(self.changes(documents, missing));
            return Ok(WorkspaceEdit { document_changes, ..WorkspaceEdit::default() });
        }
        let mut changes: HashMap<_, Vec<TextEdit>> = HashMap::new();
        for document in documents {
            let edits = document.edits.into_iter().filter_map(|edit| match edit {
                OneOf::Left(edit) => Some(edit),
                OneOf::Right(_) => None,
            });
            changes.entry(document.text_document.uri).or_default().extend(edits);
        }
        Ok(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() })
    }

    /// What is not there yet is made first, where the client can: an edit of it alone is one of nothing.
    fn changes(&self, documents: Vec<TextDocumentEdit>, missing: Vec<PathBuf>) -> DocumentChanges {
        if missing.is_empty() || !self.offered().creates_files {
            return DocumentChanges::Edits(documents);
        }
        let created = missing.iter().filter_map(|path| self.uri(path)).map(|uri| {
            let options = CreateFileOptions { overwrite: None, ignore_if_exists: Some(true) };
            let create = CreateFile { uri, options: Some(options), annotation_id: None };
            DocumentChangeOperation::Op(ResourceOp::Create(create))
        });
        let edited = documents.into_iter().map(DocumentChangeOperation::Edit);
        DocumentChanges::Operations(created.chain(edited).collect())
    }

    fn document_edits<'t>(
        &self,
        edits: Vec<Edit>,
        made_for: &dyn Fn(&Path) -> Option<&'t str>,
    ) -> Result<Vec<TextDocumentEdit>, String> {
        let mut by_file: BTreeMap<PathBuf, Vec<Edit>> = BTreeMap::new();
        for edit in edits {
            by_file.entry(edit.path.clone()).or_default().push(edit);
        }
        let mut documents = Vec::new();
        for (path, edits) in by_file {
            let text = made_for(&path).unwrap_or_default();
            let open = self.workspace.measured(&path);
            if open.as_ref().is_some_and(|(measured, _)| measured.text() != text) {
                return Err(format!("{} was changed meanwhile: try again", path.display()));
            }
            // An editor that opens the file does not count the mark of its encoding.
            let mark = if open.is_none() && text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
            let seen = || Measured::new(text.get(mark..).unwrap_or_default(), self.workspace.encoding());
            let (measured, version) =
                open.map_or_else(|| (seen(), None), |(measured, version)| (measured, Some(version)));
            let edits = edits.into_iter().map(|edit| {
                let bytes = edit.range.start.saturating_sub(mark)..edit.range.end.saturating_sub(mark);
                let range = convert::range(&measured, &bytes);
                OneOf::Left(TextEdit { range, new_text: edit.replacement })
            });
            let edits = edits.collect();
            let uri =
                self.uri(&path).ok_or_else(|| format!("{} cannot be written as a URI", path.display()))?;
            let text_document = OptionalVersionedTextDocumentIdentifier { uri, version };
            documents.push(TextDocumentEdit { text_document, edits });
        }
        Ok(documents)
    }
}
