//! One layer: who wrote it, what it says, and how to point at a piece of it.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::Files;
use crate::{
    Diagnostic, Place, Severity,
    diagnostic::KEPT,
    file::read_text,
    json::{self, Document},
};

/// Decides what the layer may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// The user or the administrator.
    Owner,
    /// Whoever can put a file into the repository.
    Project,
    /// The user for this folder; but a hostile checkout can contain such a file too.
    Local,
    /// The user, or `.vscode/settings.json` of the repository: an editor does not say which.
    Editor,
}

#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) author: Author,
    pub(crate) source: String,
    pub(crate) file: Option<PathBuf>,
    pub(crate) document: Document,
}

impl Layer {
    pub(crate) fn empty(path: &Path, author: Author) -> Self {
        let source = path.to_string_lossy().into_owned();
        Self { author, source, file: Some(path.to_path_buf()), document: Document::default() }
    }

    pub(super) fn given(
        value: Value,
        source: &str,
        author: Author,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let mut layer = Self { author, source: source.to_owned(), file: None, document: Document::default() };
        match value {
            Value::Object(root) => {
                layer.document.root = root;
                return Some(layer);
            }
            Value::Null => {}
            _ => diagnostics.push(layer.error("expected an object".to_owned())),
        }
        None
    }

    /// The document that is open in the editor, else the file, else what the file said when it could last be read.
    pub(super) fn read(
        path: &Path,
        author: Author,
        files: &Files,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let mut layer = Self::empty(path, author);
        let opened = files.open.and_then(|open| open(path));
        // A document that is not saved yet is not in force, so nothing of it is kept and nothing stands in for it.
        let cache = files.cache.filter(|_| opened.is_none());
        let kept = || cache.and_then(|cache| cache.get(path));
        let text = match opened.map_or_else(|| read_text(path), |text| Ok(Some(text))) {
            Ok(Some(text)) => text,
            Ok(None) => {
                if let Some(cache) = cache {
                    cache.forget(path);
                }
                return None;
            }
            Err(message) => return layer.with_kept(kept(), None, message, diagnostics),
        };
        // Whoever writes a file without care empties it first.
        if text.trim().is_empty()
            && let Some(kept) = kept().filter(|kept| !kept.trim().is_empty())
        {
            let message = "is empty; write {} if that is meant".to_owned();
            return layer.with_kept(Some(kept), Some(0..0), message, diagnostics);
        }
        match json::parse(&text) {
            Ok(document) => {
                if let Some(cache) = cache {
                    cache.keep(path, &text);
                }
                layer.document = document;
                diagnostics.extend(layer.duplicates());
                Some(layer)
            }
            Err(error) => {
                layer.document.text = text;
                let message = format!("not valid JSON: {}", error.message);
                layer.with_kept(kept(), Some(error.place), message, diagnostics)
            }
        }
    }

    fn with_kept(
        mut self,
        kept: Option<String>,
        place: Option<Range<usize>>,
        mut message: String,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let kept = kept.and_then(|text| json::parse(&text).ok());
        message.push_str(match kept {
            Some(_) => KEPT,
            None => "; none of its rules is in force, so every command asks until it is mended",
        });
        let place = place.map(|range| Place::of(&self.document.text, &range));
        diagnostics.push(Diagnostic { severity: Severity::Error, ..self.at(place, "", message) });
        // What is said about the old text has no place in the new one.
        self.document.root = kept?.root;
        self.document.text = String::new();
        Some(self)
    }

    /// About the layer as a whole.
    pub(crate) fn error(&self, message: String) -> Diagnostic {
        Diagnostic { severity: Severity::Error, ..self.at(None, "", message) }
    }

    /// About the value of a key; `permissions.allow[1]` points at an entry of a list.
    pub(crate) fn diagnostic(&self, key: &str, message: String) -> Diagnostic {
        let Document { text, places, .. } = &self.document;
        let place = places.value(key, text).map(|range| Place::of(text, &range));
        self.at(place, without_index(key), message)
    }

    /// About the key itself.
    pub(crate) fn at_key(&self, key: &str, severity: Severity, message: String) -> Diagnostic {
        let Document { text, places, .. } = &self.document;
        let place = places.key(key).map(|range| Place::of(text, &range));
        Diagnostic { severity, ..self.at(place, key, message) }
    }

    fn duplicates(&self) -> Vec<Diagnostic> {
        let Document { text, places, .. } = &self.document;
        let message = "is here twice; this one counts, the one before it is not taken";
        let found = places.duplicates.iter();
        found.map(|(key, range)| self.at(Some(Place::of(text, range)), key, message.to_owned())).collect()
    }

    fn at(&self, place: Option<Place>, key: &str, message: String) -> Diagnostic {
        Diagnostic {
            severity: Severity::Warning,
            source: self.source.clone(),
            file: self.file.clone(),
            key: key.to_owned(),
            line: place.and_then(|place| usize::try_from(place.line).ok()).map(|line| line + 1),
            place,
            message,
        }
    }
}

fn without_index(key: &str) -> &str {
    match key.strip_suffix(']').and_then(|key| key.rsplit_once('[')) {
        Some((list, index)) if index.bytes().all(|byte| byte.is_ascii_digit()) => list,
        _ => key,
    }
}
