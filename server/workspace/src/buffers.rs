//! The documents that are open in the editor, as ropes.
//!
//! Owns what the client told us about them, in the order it told us. Knows nothing of the disk; `dirty` is "changed
//! since it was opened or saved". Whoever waits for a text to arrive registers it here and is told the moment it
//! does, even if further changes follow at once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ropey::Rope;
use tokio::sync::{Notify, oneshot};

use crate::editor::{Encoding, Range};
use crate::error::DocumentError;
use crate::fingerprint::Fingerprint;
use crate::format;
use crate::position::char_range;

/// One change of a document as the client tells it; without a range it is the whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentChange {
    pub range: Option<Range>,
    pub text: String,
}

/// An open document, as listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentInfo {
    pub path: PathBuf,
    pub language: String,
    pub version: i32,
    /// Changed since it was opened or saved.
    pub dirty: bool,
    pub bytes: usize,
}

pub(crate) struct Document {
    pub(crate) language: String,
    pub(crate) version: i32,
    pub(crate) rope: Rope,
    pub(crate) dirty: bool,
    /// The path without symbolic links; found out when it is first needed.
    pub(crate) real_path: Option<PathBuf>,
    /// Told at every save.
    pub(crate) saved: Arc<Notify>,
    awaited: Vec<Awaited>,
}
struct Awaited {
    view: String,
    /// The final newline is all that is to change, so it has to.
    only_newline: bool,
    arrived: oneshot::Sender<Fingerprint>,
}

#[derive(Default)]
pub(crate) struct Documents(HashMap<PathBuf, Document>);

impl Documents {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, path: &Path) -> Option<&Document> {
        self.0.get(path)
    }

    pub(crate) fn get_mut(&mut self, path: &Path) -> Option<&mut Document> {
        self.0.get_mut(path)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&PathBuf, &mut Document)> {
        self.0.iter_mut()
    }

    /// All open documents, by path.
    pub(crate) fn list(&self) -> Vec<DocumentInfo> {
        let mut list: Vec<DocumentInfo> = self
            .0
            .iter()
            .map(|(path, document)| DocumentInfo {
                path: path.clone(),
                language: document.language.clone(),
                version: document.version,
                dirty: document.dirty,
                bytes: document.rope.len_bytes(),
            })
            .collect();
        list.sort_unstable_by(|one, two| one.path.cmp(&two.path));
        list
    }

    pub(crate) fn open(&mut self, path: &Path, language: &str, version: i32, text: &str) {
        let document = Document {
            language: language.to_owned(),
            version,
            rope: Rope::from_str(text),
            dirty: false,
            real_path: None,
            saved: Arc::default(),
            awaited: Vec::new(),
        };
        if self.0.insert(path.to_owned(), document).is_some() {
            tracing::warn!(path = %path.display(), "document opened twice");
        }
    }

    pub(crate) fn change(
        &mut self,
        path: &Path,
        version: i32,
        changes: &[ContentChange],
        encoding: Encoding,
    ) -> Result<(), DocumentError> {
        let Some(document) = self.0.get_mut(path) else {
            return Err(DocumentError::NotOpen(path.to_owned()));
        };
        if version < document.version {
            // Applied all the same: the client's changes make sense only in the order it sent them.
            tracing::warn!(path = %path.display(), from = document.version, to = version, "version went backwards");
        }
        document.version = version;
        for change in changes {
            document.apply(change, encoding);
        }
        document.dirty |= !changes.is_empty();
        document.tell_who_awaits();
        Ok(())
    }

    /// Takes note of a save; `text` is what the client says it saved.
    pub(crate) fn save(&mut self, path: &Path, text: Option<&str>) {
        let Some(document) = self.0.get_mut(path) else {
            // Some editors tell of saves of what they have never opened for us: their own settings.
            tracing::debug!(path = %path.display(), "a document was saved that is not open");
            return;
        };
        if let Some(text) = text.filter(|text| document.rope != **text) {
            tracing::warn!(path = %path.display(), "the saved text is not the one of the changes; taken over");
            document.rope = Rope::from_str(text);
            document.tell_who_awaits();
        }
        document.dirty = false;
        document.saved.notify_waiters();
    }

    pub(crate) fn close(&mut self, path: &Path) {
        if self.0.remove(path).is_none() {
            tracing::debug!(path = %path.display(), "a document was closed that is not open");
        }
    }

    /// Moves a document, or all below a folder. One that is open at the new path already is the newer truth.
    pub(crate) fn rename(&mut self, old: &Path, new: &Path) {
        let moved: Vec<PathBuf> = self.0.keys().filter(|path| path.starts_with(old)).cloned().collect();
        for path in moved {
            let Some(mut document) = self.0.remove(&path) else { continue };
            document.real_path = None;
            let target = match path.strip_prefix(old) {
                Ok(rest) if rest.as_os_str().is_empty() => new.to_owned(),
                Ok(rest) => new.join(rest),
                Err(_) => continue,
            };
            self.0.entry(target).or_insert(document);
        }
    }

    /// Resolves when the document reads as `view` after a change from `version` on; `None` if it is no longer at
    /// `version`. Dropped without an answer when the document is closed.
    pub(crate) fn await_text(
        &mut self,
        path: &Path,
        version: i32,
        view: String,
    ) -> Option<oneshot::Receiver<Fingerprint>> {
        let document = self.0.get_mut(path).filter(|document| document.version == version)?;
        let (arrived, receiver) = oneshot::channel();
        document.awaited.retain(|awaited| !awaited.arrived.is_closed());
        let only_newline = likeness(&document.rope, &view) == Likeness::ButForFinalNewline;
        document.awaited.push(Awaited { view, only_newline, arrived });
        Some(receiver)
    }

    /// The client has saved what it had at `version`.
    pub(crate) fn mark_saved(&mut self, path: &Path, version: i32) {
        if let Some(document) = self.0.get_mut(path).filter(|document| document.version == version) {
            document.dirty = false;
        }
    }
}

impl Document {
    fn apply(&mut self, change: &ContentChange, encoding: Encoding) {
        let Some(range) = change.range else {
            self.rope = Rope::from_str(&change.text);
            return;
        };
        let chars = char_range(&self.rope, range, encoding);
        // The offsets come from the rope itself, so neither can fail.
        let at = chars.start;
        if !chars.is_empty() && self.rope.try_remove(chars).is_err() {
            tracing::error!(?range, "range outside of its own rope");
        }
        if !change.text.is_empty() && self.rope.try_insert(at, &change.text).is_err() {
            tracing::error!(?range, "offset outside of its own rope");
        }
    }

    fn tell_who_awaits(&mut self) {
        if self.awaited.is_empty() {
            return;
        }
        let (arrived, still): (Vec<Awaited>, Vec<Awaited>) = std::mem::take(&mut self.awaited)
            .into_iter()
            .filter(|awaited| !awaited.arrived.is_closed())
            .partition(|awaited| match likeness(&self.rope, &awaited.view) {
                Likeness::Same => true,
                Likeness::ButForFinalNewline => !awaited.only_newline,
                Likeness::Different => false,
            });
        self.awaited = still;
        for awaited in arrived {
            let text = self.rope.to_string();
            let fingerprint = Fingerprint::of_buffer(&format::view_of_buffer(&text));
            if awaited.arrived.send(fingerprint).is_err() {
                tracing::debug!("nobody waits for the text any more");
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Likeness {
    Same,
    /// Neovim has its own mind about final newlines.
    ButForFinalNewline,
    Different,
}

/// How near the text of a rope is to `view`. Which line ends and mark it has is the editor's business.
pub(crate) fn likeness(rope: &Rope, view: &str) -> Likeness {
    let mark = usize::from(rope.get_char(0) == Some('\u{feff}'));
    let Some(text) = rope.get_slice(mark..) else { return Likeness::Different };
    let mut expected = view.as_bytes().iter();
    let mut surplus = 0;
    let mut after_cr = false;
    for byte in text.bytes() {
        let completes_end = byte == b'\n' && after_cr;
        after_cr = byte == b'\r';
        if completes_end {
            continue;
        }
        let unified = if after_cr { b'\n' } else { byte };
        match expected.next() {
            Some(wanted) if *wanted == unified => {}
            None if unified == b'\n' && surplus == 0 => surplus = 1,
            Some(_) | None => return Likeness::Different,
        }
    }
    match (surplus, expected.as_slice()) {
        (0, []) => Likeness::Same,
        (1, []) | (0, [b'\n']) => Likeness::ButForFinalNewline,
        _ => Likeness::Different,
    }
}

#[cfg(test)]
mod tests;
