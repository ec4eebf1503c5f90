//! Writing a whole new text: through the editor where the document is open, else atomically to disk.
//!
//! Whoever writes says what the change is founded on ([`Basis`]); if that no longer holds nothing is written. An
//! editor's word that an edit was applied is not trusted: the text has to arrive here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ropey::Rope;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::buffers::{Likeness, likeness};
use crate::editor::{EditRefused, Editor, Encoding};
use crate::edits::{hunks, text_edits};
use crate::error::{ReadError, WriteError};
use crate::fingerprint::Fingerprint;
use crate::format::{self, Charset};
use crate::read;
use crate::workspace::{Workspace, buffer_unchanged_since};

mod disk;

/// How long the editor may take to answer an edit; it may have to ask its user.
const APPLY_LIMIT: Duration = Duration::from_secs(30);
/// How long after the editor's answer the changed text may take to arrive; Neovim holds changes back a little.
const ARRIVAL_LIMIT: Duration = Duration::from_secs(2);
/// How long a save may take; formatters run in it.
const SAVE_LIMIT: Duration = Duration::from_secs(10);
/// How long after a save the notice of it may take to arrive.
const SAVED_NOTICE_LIMIT: Duration = Duration::from_secs(1);

/// What a write is founded on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// That there is no such file.
    NewFile,
    /// That the text is still the one that was read.
    Unchanged(Fingerprint),
}

/// How a write reached its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The file was closed and is written.
    Disk,
    /// The document was open without unsaved changes, is edited and saved.
    EditorSaved,
    /// The document is edited but not saved: it had unsaved changes before, or the editor cannot save for us.
    EditorUnsaved,
}

/// A write that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub route: Route,
    /// Of the new text; the basis of the next write.
    pub fingerprint: Fingerprint,
}

impl Workspace {
    /// Makes the text at `path` read as `new_text` in the smallest way. Line ends, byte order mark, character set
    /// and mode stay; lines that do not change keep their bytes. `label` names the edit in the editor's undo list.
    ///
    /// A closed file is written exactly at `path`, which must be a real one: a symbolic link in it is refused. So what
    /// is written is what was judged before, whatever happened to the folders since.
    pub async fn write(
        &self,
        path: &Path,
        new_text: &str,
        basis: Basis,
        label: &str,
    ) -> Result<Written, WriteError> {
        // The editor may know the file by a link.
        self.forget_real_paths();
        if let Some(document) = self.open_path(path) {
            return self.write_open(document, new_text, basis, label).await;
        }
        let closed = {
            let (workspace, path) = (self.clone(), path.to_owned());
            move || workspace.open_path(&path).is_none()
        };
        let written = {
            let (path, new_text, basis) = (path.to_owned(), new_text.to_owned(), basis.clone());
            blocking(move || match basis {
                Basis::NewFile => disk::create(&path, &new_text, closed),
                Basis::Unchanged(seen) => disk::replace(&path, &new_text, &seen, closed),
            })
            .await?
        };
        match written {
            disk::Outcome::Written(fingerprint) => Ok(Written { route: Route::Disk, fingerprint }),
            // The user opened it while we were at it: from now on the buffer is the truth.
            disk::Outcome::Opened => {
                let document = self.open_path(path).ok_or(WriteError::Changed)?;
                self.write_open(document, new_text, basis, label).await
            }
        }
    }

    async fn write_open(
        &self,
        path: PathBuf,
        new_text: &str,
        basis: Basis,
        label: &str,
    ) -> Result<Written, WriteError> {
        let snapshot = self.snapshot(&path).ok_or(WriteError::Changed)?;
        let prepared = {
            let (path, snapshot, new_text) = (path.clone(), snapshot.clone(), new_text.to_owned());
            blocking(move || prepare(&path, &snapshot, &new_text, &basis)).await?
        };
        let Prepared { edits, clean, view } = prepared;
        if edits.is_empty() {
            let route = if clean { Route::EditorSaved } else { Route::EditorUnsaved };
            return Ok(Written { route, fingerprint: Fingerprint::of_buffer(&view) });
        }
        let arrival = self.state().documents.await_text(&path, snapshot.version, view.clone());
        let arrival = arrival.ok_or(WriteError::Changed)?;
        let answer =
            timeout(APPLY_LIMIT, snapshot.editor.apply_edit(&path, snapshot.version, edits, label)).await;
        let arrival = self.confirm(&path, &view, snapshot.version, answer.ok(), arrival).await?;
        let saved = clean && self.save(&path, &snapshot, &view).await;
        let route = if saved { Route::EditorSaved } else { Route::EditorUnsaved };
        Ok(Written { route, fingerprint: arrival })
    }

    fn snapshot(&self, path: &Path) -> Option<Snapshot> {
        let state = self.state();
        let document = state.documents.get(path)?;
        Some(Snapshot {
            rope: document.rope.clone(),
            version: document.version,
            dirty: document.dirty,
            editor: Arc::clone(&state.editor),
            encoding: state.encoding,
        })
    }

    /// Waits for the text. What arrived counts, whatever the editor said.
    async fn confirm(
        &self,
        path: &Path,
        view: &str,
        version: i32,
        answer: Option<Result<(), EditRefused>>,
        mut arrival: oneshot::Receiver<Fingerprint>,
    ) -> Result<Fingerprint, WriteError> {
        let closed = match arrival.try_recv() {
            Ok(arrival) => return Ok(arrival),
            Err(error) => error == oneshot::error::TryRecvError::Closed,
        };
        match answer {
            Some(Ok(())) => {}
            Some(Err(EditRefused::Stale)) => return Err(WriteError::Changed),
            Some(Err(refused @ EditRefused::Refused(_))) => {
                return Err(WriteError::Refused(refused.to_string()));
            }
            None => {
                let words = "the editor did not answer in time; read the file again to see whether it applied the edit";
                return Err(WriteError::Refused(words.to_owned()));
            }
        }
        if closed {
            return Err(WriteError::Changed);
        }
        if let Ok(Ok(arrival)) = timeout(ARRIVAL_LIMIT, arrival).await {
            return Ok(arrival);
        }
        let snapshot = self.snapshot(path);
        let untouched = snapshot.as_ref().is_some_and(|snapshot| snapshot.version == version);
        let now = snapshot.map(|snapshot| likeness(&snapshot.rope, view));
        if now == Some(Likeness::ButForFinalNewline) {
            return Err(WriteError::Refused("the editor keeps the final newline as it is".to_owned()));
        }
        if untouched {
            return Err(WriteError::Refused(
                "the editor said that it applied the edit, but did not".to_owned(),
            ));
        }
        Err(WriteError::Changed)
    }

    /// Has the editor save the document if it is still as we left it. Whether it did.
    async fn save(&self, path: &Path, snapshot: &Snapshot, view: &str) -> bool {
        // The text tells, not the version: an editor may count on without changing anything.
        let (notice, version) = {
            let state = self.state();
            match state.documents.get(path) {
                Some(document) if likeness(&document.rope, view) != Likeness::Different => {
                    (Arc::clone(&document.saved), document.version)
                }
                _ => return false,
            }
        };
        let mut notice = std::pin::pin!(notice.notified());
        notice.as_mut().enable();
        match timeout(SAVE_LIMIT, snapshot.editor.save(path)).await {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => return false,
            Ok(Err(error)) => {
                tracing::debug!(path = %path.display(), %error, "not saved");
                return false;
            }
            Err(_) => {
                tracing::debug!(path = %path.display(), "the editor did not answer to the save in time");
                return false;
            }
        }
        self.state().documents.mark_saved(path, version);
        // Normally the file is there with the answer; the notice is what tells it for sure.
        let text = self.document_text(path);
        let on_disk = {
            let path = path.to_owned();
            blocking(move || Ok(text.map(|text| compare_with_disk(&path, &format::view_of_buffer(&text)))))
                .await
        };
        if on_disk != Ok(Some(OnDisk::Same)) && timeout(SAVED_NOTICE_LIMIT, notice).await.is_err() {
            tracing::debug!(path = %path.display(), "the editor sent no notice of the save");
        }
        true
    }
}

/// A document at one moment.
#[derive(Clone)]
struct Snapshot {
    rope: Rope,
    version: i32,
    dirty: bool,
    editor: Arc<dyn Editor>,
    encoding: Encoding,
}

struct Prepared {
    edits: Vec<crate::editor::TextEdit>,
    /// Without unsaved changes of the user.
    clean: bool,
    /// How the document is to read.
    view: String,
}

fn prepare(path: &Path, snapshot: &Snapshot, new_text: &str, basis: &Basis) -> Result<Prepared, WriteError> {
    let text = snapshot.rope.to_string();
    let (mark, raw) = format::split_mark(&text);
    let old_view = format::view(raw);
    let on_disk = compare_with_disk(path, &old_view);
    match basis {
        Basis::NewFile if !old_view.is_empty() || on_disk != OnDisk::Missing => {
            return Err(WriteError::Exists);
        }
        Basis::Unchanged(seen) if !buffer_unchanged_since(path, &old_view, seen) => {
            return Err(WriteError::Changed);
        }
        Basis::NewFile | Basis::Unchanged(_) => {}
    }
    let new_view = format::view(if mark { format::split_mark(new_text).1 } else { new_text });
    let offset = text.len() - raw.len();
    let edits = text_edits(&snapshot.rope, offset, hunks(raw, &new_view), snapshot.encoding);
    // The file tells better than our flag: an editor may open a document with unsaved changes from its last run,
    // or have undone what made it dirty.
    let clean = match on_disk {
        OnDisk::Same => true,
        OnDisk::Different => false,
        // What has no file yet was never saved, if there is anything to save.
        OnDisk::Missing => old_view.is_empty(),
        OnDisk::Unknown => !snapshot.dirty,
    };
    Ok(Prepared { edits, clean, view: new_view.into_owned() })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnDisk {
    Same,
    Different,
    Missing,
    /// Not readable as text, or in a character set the editor may know better.
    Unknown,
}

fn compare_with_disk(path: &Path, view: &str) -> OnDisk {
    match read::whole(path) {
        Ok(file) if file.view() == view => OnDisk::Same,
        Ok(file) if file.format.charset == Charset::Utf8 || !is_same_in_ascii(&file.view(), view) => {
            OnDisk::Different
        }
        Err(ReadError::NotFound) => OnDisk::Missing,
        Ok(_) | Err(_) => OnDisk::Unknown,
    }
}

/// Whether two texts can be the same in different character sets: those that we cannot read write ASCII as it is.
fn is_same_in_ascii(one: &str, other: &str) -> bool {
    let ascii = |text: &str| text.chars().filter(char::is_ascii).collect::<String>();
    ascii(one) == ascii(other)
}

/// Runs file work where waiting for a disk holds nobody up. Once begun it is finished, even if nobody waits any more.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WriteError> + Send + 'static,
) -> Result<T, WriteError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(WriteError::Io(format!("the write broke off: {error}"))),
    }
}

#[cfg(test)]
mod tests;
