//! The workspace itself: which documents are open, who the editor is, and reading through both.
//!
//! One lock guards it all and is never held across an await or a system call.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ropey::Rope;

use crate::buffers::{ContentChange, DocumentInfo, Documents};
use crate::editor::{Editor, Encoding, NoEditor};
use crate::error::{DocumentError, ReadError};
use crate::fingerprint::Fingerprint;
use crate::format;
use crate::position::Measured;
use crate::read::{self, FileText, Lines, Wanted};

/// The workspace of one server; cheap to clone, every clone is the same one.
#[derive(Clone)]
pub struct Workspace {
    state: Arc<Mutex<State>>,
}

pub(crate) struct State {
    roots: Vec<PathBuf>,
    pub(crate) editor: Arc<dyn Editor>,
    pub(crate) encoding: Encoding,
    pub(crate) documents: Documents,
}

impl Workspace {
    /// A workspace without an editor; positions are in UTF-16 until one is attached.
    pub fn new(roots: Vec<PathBuf>) -> Self {
        let state = State {
            roots,
            editor: Arc::new(NoEditor),
            encoding: Encoding::Utf16,
            documents: Documents::default(),
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    pub fn attach_editor(&self, editor: Arc<dyn Editor>, encoding: Encoding) {
        let mut state = self.state();
        state.editor = editor;
        state.encoding = encoding;
    }

    pub fn encoding(&self) -> Encoding {
        self.state().encoding
    }

    pub fn roots(&self) -> Vec<PathBuf> {
        self.state().roots.clone()
    }

    pub fn set_roots(&self, roots: Vec<PathBuf>) {
        self.state().roots = roots;
    }

    pub fn open_document(&self, path: &Path, language: &str, version: i32, text: &str) {
        self.state().documents.open(path, language, version, text);
    }

    /// Applies the changes of one notification, in order. Positions outside the text are clamped to it.
    pub fn change_document(
        &self,
        path: &Path,
        version: i32,
        changes: &[ContentChange],
    ) -> Result<(), DocumentError> {
        let mut state = self.state();
        let encoding = state.encoding;
        state.documents.change(path, version, changes, encoding)
    }

    /// Takes note that the client saved the document; `text` where it says what it saved.
    pub fn save_document(&self, path: &Path, text: Option<&str>) {
        self.state().documents.save(path, text);
    }

    pub fn close_document(&self, path: &Path) {
        self.state().documents.close(path);
    }

    /// Moves an open document, or all that are open below a folder.
    pub fn rename_document(&self, old: &Path, new: &Path) {
        self.state().documents.rename(old, new);
    }

    /// The open documents, by path.
    pub fn documents(&self) -> Vec<DocumentInfo> {
        self.state().documents.list()
    }

    /// The text of an open document exactly as the client has it.
    pub fn document_text(&self, path: &Path) -> Option<String> {
        self.rope(path).map(|rope| rope.to_string())
    }

    /// Likewise, with its version and the places in it.
    pub fn measured(&self, path: &Path) -> Option<(Measured, i32)> {
        let path = self.open_path(path)?;
        let state = self.state();
        let document = state.documents.get(&path)?;
        Some((Measured::of_rope(document.rope.clone(), state.encoding), document.version))
    }

    /// The whole text of an open document or a file.
    pub fn read(&self, path: &Path) -> Result<FileText, ReadError> {
        if let Some(text) = self.document_text(path) {
            let text = format::view_of_buffer(&text).into_owned();
            return Ok(FileText { fingerprint: Fingerprint::of_buffer(&text), text, from_buffer: true });
        }
        let file = read::whole(path)?;
        let text = if file.raw.contains('\r') { file.view().into_owned() } else { file.raw };
        Ok(FileText { text, fingerprint: file.fingerprint, from_buffer: false })
    }

    /// Up to `max_lines` lines from `first_line` (from 1) on, at most `max_bytes` bytes of them. Files of any size.
    pub fn read_lines(
        &self,
        path: &Path,
        first_line: usize,
        max_lines: usize,
        max_bytes: usize,
    ) -> Result<Lines, ReadError> {
        let wanted = Wanted { first_line, max_lines, max_bytes };
        match self.document_text(path) {
            Some(text) => {
                let view = format::view_of_buffer(&text);
                Ok(read::lines_of_text(&view, wanted, Fingerprint::of_buffer(&view)))
            }
            None => read::lines_of_file(path, wanted),
        }
    }

    /// What a file or buffer is like now; a file is not read for it, so it has no hash.
    pub fn fingerprint(&self, path: &Path) -> Result<Fingerprint, ReadError> {
        match self.document_text(path) {
            Some(text) => Ok(Fingerprint::of_buffer(&format::view_of_buffer(&text))),
            None => read::fingerprint(path),
        }
    }

    /// Whether the text is still the one that was seen. A file is compared by content where the content was seen:
    /// times are too coarse to tell two quick changes apart, and `touch` is no change.
    pub fn unchanged_since(&self, path: &Path, seen: &Fingerprint) -> Result<bool, ReadError> {
        if let Some(text) = self.document_text(path) {
            return Ok(buffer_unchanged_since(path, &format::view_of_buffer(&text), seen));
        }
        if seen.hash.is_none() {
            return Ok(read::fingerprint(path)?.same_state(seen));
        }
        match read::whole(path) {
            Ok(file) => Ok(file.fingerprint.hash == seen.hash),
            // It was text of a reasonable size when it was seen.
            Err(ReadError::TooLarge { .. } | ReadError::Binary(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere must not take the documents of all sessions along.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The path under which the editor has the file at `path` open: the same, or one that leads to the same file.
    pub(crate) fn open_path(&self, path: &Path) -> Option<PathBuf> {
        let unresolved: Vec<PathBuf> = {
            let mut state = self.state();
            if state.documents.is_empty() {
                return None;
            }
            if state.documents.get(path).is_some() {
                return Some(path.to_owned());
            }
            let unresolved = state.documents.iter_mut().filter(|(_, document)| document.real_path.is_none());
            unresolved.map(|(path, _)| path.clone()).collect()
        };
        let resolved: Vec<PathBuf> = unresolved.iter().map(|path| real_path(path)).collect();
        let wanted = real_path(path);
        let mut state = self.state();
        for (path, real_path) in unresolved.iter().zip(resolved) {
            if let Some(document) = state.documents.get_mut(path) {
                document.real_path = Some(real_path);
            }
        }
        let found =
            state.documents.iter_mut().find(|(_, document)| document.real_path.as_ref() == Some(&wanted));
        found.map(|(path, _)| path.clone())
    }

    /// Links may lead elsewhere than when the documents were looked up last.
    pub(crate) fn forget_real_paths(&self) {
        for (_, document) in self.state().documents.iter_mut() {
            document.real_path = None;
        }
    }

    fn rope(&self, path: &Path) -> Option<Rope> {
        let path = self.open_path(path)?;
        self.state().documents.get(&path).map(|document| document.rope.clone())
    }
}

/// Whether a buffer that reads as `view` is what was seen.
pub(crate) fn buffer_unchanged_since(path: &Path, view: &str, seen: &Fingerprint) -> bool {
    if let Some(hash) = seen.hash {
        return Fingerprint::of_buffer(view).hash == Some(hash);
    }
    // Only a part of the file was read, before it was opened: it must still be that file, and the buffer equal to it.
    read::whole(path).is_ok_and(|file| file.fingerprint.same_state(seen) && file.view() == view)
}

/// The path without symbolic links, as far as it exists.
fn real_path(path: &Path) -> PathBuf {
    let real = path.ancestors().find_map(|existing| {
        let real = existing.canonicalize().ok()?;
        // Joined with nothing it would end with a slash.
        let rest = path.strip_prefix(existing).ok().filter(|rest| !rest.as_os_str().is_empty());
        Some(rest.map_or_else(|| real.clone(), |rest| real.join(rest)))
    });
    real.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests;
