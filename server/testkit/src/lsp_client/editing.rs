//! What a user does with documents: open, type, undo, close.

use std::path::Path;

use serde_json::json;

use super::{
    LspClient,
    answers::did_change,
    document::{Document, Encoding, range_json, uri},
};

impl LspClient {
    pub fn encoding(&self) -> Encoding {
        self.state().encoding
    }

    /// Opens a file that is on disk as it is there.
    pub fn open(&self, path: &Path) {
        let text = std::fs::read_to_string(path).expect("a test's file can be read");
        self.open_with(path, &text, Some(text.clone()));
    }

    /// Opens a document with this text; `saved` is what the disk holds.
    pub fn open_with(&self, path: &Path, text: &str, saved: Option<String>) {
        let document =
            Document { path: path.to_owned(), version: 1, text: text.to_owned(), saved, undo: Vec::new() };
        self.state().documents.insert(uri(path), document);
        let item = json!({ "uri": uri(path), "languageId": "plaintext", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": item }));
    }

    /// Replaces a range of bytes in an open document, as the user's typing would.
    pub fn edit(&self, path: &Path, start: usize, end: usize, new_text: &str) {
        let mut state = self.state();
        let encoding = state.encoding;
        let document = state.documents.get_mut(&uri(path)).expect("the document is open");
        let range = range_json(&document.text, start, end, encoding);
        document.push_undo();
        document.text.replace_range(start..end, new_text);
        document.version += 1;
        let version = document.version;
        // Sent under the lock: the order on the wire is the order of the versions.
        self.send(&did_change(&uri(path), version, &[json!({ "range": range, "text": new_text })]));
    }

    /// Takes the last change back, whoever made it.
    pub fn undo(&self, path: &Path) {
        let mut state = self.state();
        let document = state.documents.get_mut(&uri(path)).expect("the document is open");
        document.text = document.undo.pop().expect("there is something to undo");
        document.version += 1;
        let (version, text) = (document.version, document.text.clone());
        self.send(&did_change(&uri(path), version, &[json!({ "text": text })]));
    }

    pub fn close(&self, path: &Path) {
        self.state().documents.remove(&uri(path));
        self.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri(path) } }));
    }

    pub fn document(&self, path: &Path) -> Document {
        self.state().documents.get(&uri(path)).expect("the document is open").clone()
    }
}
