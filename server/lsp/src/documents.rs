//! Text synchronisation: what the client opens, changes, saves, closes and renames, and which folders it has open.
//!
//! Applied in place and in wire order by `ingress`; nothing here waits. Params are read leniently by own types, since a
//! URI that a strict parser refuses must not cost the user's text. Documents that are no files (`untitled:`, notebook
//! cells) are left out: the file tools could not reach them.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::Deserialize;
use serde_json::value::RawValue;
use workspace::{ContentChange, Position, Range, Workspace};

use crate::uri;

/// What the client calls its open documents.
#[derive(Default)]
pub(crate) struct OpenDocuments(Mutex<HashMap<PathBuf, OpenDocument>>);

struct OpenDocument {
    /// Exactly as the client wrote it: some clients compare URIs as text.
    uri: String,
    version: i32,
}

impl OpenDocuments {
    pub(crate) fn uri(&self, path: &Path) -> String {
        self.lock().get(path).map_or_else(|| uri::from_path(path), |document| document.uri.clone())
    }

    pub(crate) fn version(&self, path: &Path) -> Option<i32> {
        self.lock().get(path).map(|document| document.version)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, OpenDocument>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Applies a notification about documents or folders; `false` if `method` is about something else.
pub(crate) fn apply(
    method: &str,
    params: Option<&RawValue>,
    open: &OpenDocuments,
    workspace: &Workspace,
) -> bool {
    let params = params.map_or("null", RawValue::get);
    let outcome = match method {
        "textDocument/didOpen" => read(params).map(|params| did_open(params, open, workspace)),
        "textDocument/didChange" => read(params).map(|params| did_change(params, open, workspace)),
        "textDocument/didSave" => read(params).map(|params| did_save(&params, workspace)),
        "textDocument/didClose" => read(params).map(|params| did_close(&params, open, workspace)),
        "workspace/didRenameFiles" => read(params).map(|params| did_rename(&params, open, workspace)),
        "workspace/didChangeWorkspaceFolders" => {
            read(params).map(|params| did_change_folders(params, workspace))
        }
        _ => return false,
    };
    if let Err(error) = outcome {
        tracing::warn!(method, %error, "a notification that cannot be read");
    }
    true
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DidOpen {
    text_document: OpenedDocument,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenedDocument {
    uri: String,
    #[serde(default)]
    language_id: String,
    #[serde(default)]
    version: i32,
    text: String,
}

fn did_open(params: DidOpen, open: &OpenDocuments, workspace: &Workspace) {
    let OpenedDocument { uri, language_id, version, text } = params.text_document;
    let Some(path) = uri::to_path(&uri) else { return };
    workspace.open_document(&path, &language_id, version, &text);
    open.lock().insert(path, OpenDocument { uri, version });
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DidChange {
    text_document: VersionedDocument,
    content_changes: Vec<Change>,
}

#[derive(Deserialize)]
struct VersionedDocument {
    uri: String,
    version: Option<i32>,
}

#[derive(Deserialize)]
struct Change {
    range: Option<protocol::Range>,
    text: String,
}

fn did_change(params: DidChange, open: &OpenDocuments, workspace: &Workspace) {
    let Some(path) = uri::to_path(&params.text_document.uri) else { return };
    let changes: Vec<ContentChange> = params
        .content_changes
        .into_iter()
        .map(|change| ContentChange { range: change.range.map(to_range), text: change.text })
        .collect();
    let mut open = open.lock();
    let known = open.get_mut(&path);
    let version = params
        .text_document
        .version
        .unwrap_or_else(|| known.as_ref().map_or(0, |document| document.version.saturating_add(1)));
    if let Err(error) = workspace.change_document(&path, version, &changes) {
        tracing::warn!(path = %path.display(), %error, "a change that does not fit its document");
    }
    if let Some(document) = known {
        document.version = version;
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DidSave {
    text_document: Document,
    text: Option<String>,
}

#[derive(Deserialize)]
struct Document {
    uri: String,
}

fn did_save(params: &DidSave, workspace: &Workspace) {
    if let Some(path) = uri::to_path(&params.text_document.uri) {
        workspace.save_document(&path, params.text.as_deref());
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DidClose {
    text_document: Document,
}

fn did_close(params: &DidClose, open: &OpenDocuments, workspace: &Workspace) {
    if let Some(path) = uri::to_path(&params.text_document.uri) {
        workspace.close_document(&path);
        open.lock().remove(&path);
    }
}

#[derive(Deserialize)]
struct DidRename {
    files: Vec<RenamedFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RenamedFile {
    old_uri: String,
    new_uri: String,
}

/// A folder takes the documents below it along. A client that also closes the old document and opens the new one comes
/// to the same end in either order.
fn did_rename(params: &DidRename, open: &OpenDocuments, workspace: &Workspace) {
    for file in &params.files {
        let (Some(old), Some(new)) = (uri::to_path(&file.old_uri), uri::to_path(&file.new_uri)) else {
            continue;
        };
        workspace.rename_document(&old, &new);
        let mut open = open.lock();
        let moved: Vec<PathBuf> = open.keys().filter(|path| path.starts_with(&old)).cloned().collect();
        for path in moved {
            let Some(OpenDocument { version, .. }) = open.remove(&path) else { continue };
            let (path, uri) = match path.strip_prefix(&old) {
                Ok(below) if !below.as_os_str().is_empty() => {
                    let path = new.join(below);
                    let uri = uri::from_path(&path);
                    (path, uri)
                }
                _ => (new.clone(), file.new_uri.clone()),
            };
            open.entry(path).or_insert(OpenDocument { uri, version });
        }
    }
}

#[derive(Deserialize)]
struct DidChangeFolders {
    event: FoldersEvent,
}

#[derive(Deserialize)]
struct FoldersEvent {
    #[serde(default)]
    added: Vec<Document>,
    #[serde(default)]
    removed: Vec<Document>,
}

fn did_change_folders(params: DidChangeFolders, workspace: &Workspace) {
    let paths = |folders: Vec<Document>| -> Vec<PathBuf> {
        folders.iter().filter_map(|folder| uri::to_path(&folder.uri)).collect()
    };
    let removed = paths(params.event.removed);
    let mut roots = workspace.roots();
    roots.retain(|root| !removed.contains(root));
    for added in paths(params.event.added) {
        if !roots.contains(&added) {
            roots.push(added);
        }
    }
    workspace.set_roots(roots);
}

pub(crate) fn to_range(range: protocol::Range) -> Range {
    let position = |place: protocol::Position| Position { line: place.line, character: place.character };
    Range { start: position(range.start), end: position(range.end) }
}

fn read<'a, T: Deserialize<'a>>(params: &'a str) -> serde_json::Result<T> {
    serde_json::from_str(params)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn apply_all(notifications: &[(&str, Value)]) -> (Workspace, OpenDocuments) {
        let workspace = Workspace::new(vec![PathBuf::from("/a")]);
        let open = OpenDocuments::default();
        for (method, params) in notifications {
            let params = serde_json::value::to_raw_value(params).unwrap();
            assert!(apply(method, Some(&params), &open, &workspace), "{method}");
        }
        (workspace, open)
    }

    fn opened(uri: &str, text: &str) -> (&'static str, Value) {
        let document = json!({ "uri": uri, "languageId": "rust", "version": 1, "text": text });
        ("textDocument/didOpen", json!({ "textDocument": document }))
    }

    #[test]
    fn changes_reach_the_document_under_any_spelling_of_its_uri() {
        let change = json!({
            "textDocument": { "uri": "file:///a/b c.rs", "version": 2 },
            "contentChanges": [{
                "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 3 } },
                "rangeLength": 3,
                "text": "two"
            }]
        });
        let (workspace, open) =
            apply_all(&[opened("file:///a/b%20c.rs", "one\n"), ("textDocument/didChange", change)]);
        let path = Path::new("/a/b c.rs");
        assert_eq!(workspace.document_text(path).as_deref(), Some("two\n"));
        assert_eq!(open.uri(path), "file:///a/b%20c.rs");
        assert_eq!(open.version(path), Some(2));
    }

    #[test]
    fn documents_that_are_no_files_stay_out() {
        let (workspace, _) = apply_all(&[opened("untitled:Untitled-1", "x")]);
        assert!(workspace.documents().is_empty());
    }

    #[test]
    fn a_renamed_document_is_known_by_its_new_name() {
        let rename = json!({ "files": [
            { "oldUri": "file:///a/x", "newUri": "file:///a/y" },
            { "oldUri": "file:///a/old", "newUri": "file:///a/new" }
        ]});
        let (workspace, open) = apply_all(&[
            opened("file:///a/x", "x"),
            opened("file:///a/old/z", "z"),
            ("workspace/didRenameFiles", rename),
        ]);
        assert_eq!(open.version(Path::new("/a/new/z")), Some(1));
        assert_eq!(workspace.document_text(Path::new("/a/y")).as_deref(), Some("x"));
        assert_eq!(open.uri(Path::new("/a/y")), "file:///a/y");
        assert_eq!(open.version(Path::new("/a/x")), None);
    }

    #[test]
    fn folders_come_and_go() {
        let event = json!({ "event": {
            "added": [{ "uri": "file:///b", "name": "b" }, { "uri": "untitled:x", "name": "x" }],
            "removed": [{ "uri": "file:///a", "name": "a" }]
        }});
        let (workspace, _) = apply_all(&[("workspace/didChangeWorkspaceFolders", event)]);
        assert_eq!(workspace.roots(), [PathBuf::from("/b")]);
    }

    #[test]
    fn a_notification_that_cannot_be_read_changes_nothing() {
        let (workspace, _) = apply_all(&[
            opened("file:///a/x", "x"),
            ("textDocument/didChange", json!({ "textDocument": 5 })),
            ("textDocument/didClose", json!(null)),
        ]);
        assert_eq!(workspace.document_text(Path::new("/a/x")).as_deref(), Some("x"));
    }
}
