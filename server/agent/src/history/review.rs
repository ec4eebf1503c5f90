//! Looking through what the agent changed: file by file, hunk by hunk, each kept or taken back.
//!
//! A file is compared with what it was before the agent first touched it. Keeping a hunk moves that on; taking it back
//! edits the file, in the editor where it is open there. Both are written to the transcript, so that a resumed session
//! goes on where the user was, and a rewind goes over what was taken back.
//!
//! Only texts are looked through; of what else was changed a rewind takes care. Memories have a history of their own.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use checkpoints::{Blob, Change, Entry, Reviewed, State, unreviewed};
use conversation::SessionId;
use workspace::{Basis, Fingerprint, LineChange, ReadError, line_changes, splice_lines};

use super::{History, anchor, lock, written};
use crate::{agent::Agent, session::Session, types::AgentError};

/// Names the edit in the editor's undo list.
const LABEL: &str = "Reverie: take back";

/// A file that the agent changed and the user has not looked through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: PathBuf,
    pub kind: ChangeKind,
    /// Lines.
    pub added: usize,
    pub removed: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Created,
    Modified,
    Deleted,
}

/// Both sides of a change.
#[derive(Clone, Debug)]
pub struct ChangedText {
    /// `None`: the file did not exist.
    pub before: Option<String>,
    /// `None`: the file does not exist any more.
    pub after: Option<String>,
    pub hunks: Vec<ChangedHunk>,
    /// Of `after`.
    seen: Option<Fingerprint>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedHunk {
    /// Names the lines of both sides and where they are: it fits no other state of the file.
    pub id: String,
    pub before: Range<usize>,
    pub after: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    TakeBack,
}

impl Agent {
    /// Reads and compares files.
    pub fn changes(&self, id: &SessionId) -> Result<Vec<ChangedFile>, AgentError> {
        let session = self.session(id)?;
        Ok(session.history.changed_files(&session))
    }

    /// Likewise.
    pub fn change(&self, id: &SessionId, path: &Path) -> Result<ChangedText, AgentError> {
        self.session(id)?.history.changed_text(path)
    }

    /// Keeps or takes back a hunk of a file, a file, or all files.
    pub async fn review(
        &self,
        id: &SessionId,
        path: Option<&Path>,
        hunk: Option<&str>,
        verdict: Verdict,
    ) -> Result<(), AgentError> {
        let session = self.session(id)?;
        if path.is_none() && hunk.is_some() {
            return Err(AgentError::Invalid("a hunk is of a file: name it".to_owned()));
        }
        // What one answer leaves is what the next is about.
        let _alone = session.history.reviewing.lock().await;
        let paths = match path {
            Some(path) => vec![path.to_owned()],
            None => {
                let listing = Arc::clone(&session);
                let listed =
                    tokio::task::spawn_blocking(move || listing.history.changed_files(&listing)).await;
                let files = listed.map_err(|_| unreadable())?;
                files.into_iter().map(|file| file.path).collect()
            }
        };
        let mut refused = Vec::new();
        for path in paths {
            if let Err(error) = session.history.review(&session, &path, hunk, verdict).await {
                refused.push(error);
            }
        }
        // What could be done is done; of several refusals the first says enough.
        refused.into_iter().next().map_or(Ok(()), Err)
    }
}

impl History {
    fn changed_files(&self, session: &Session) -> Vec<ChangedFile> {
        let pending = unreviewed(&lock(&self.entries));
        let is_memory =
            |path: &Path| session.memory_dir.as_ref().is_some_and(|memory| path.starts_with(memory));
        let files = pending.into_iter().filter(|(path, _)| !is_memory(path)).filter_map(|(path, before)| {
            let text = self.compare(&path, before.as_ref()).ok()?;
            let kind = match (&text.before, &text.after) {
                (None, None) => return None,
                (None, Some(_)) => ChangeKind::Created,
                (Some(_), None) => ChangeKind::Deleted,
                (Some(before), Some(after)) if before == after => return None,
                (Some(_), Some(_)) => ChangeKind::Modified,
            };
            let added = text.hunks.iter().map(|hunk| hunk.after.len()).sum();
            let removed = text.hunks.iter().map(|hunk| hunk.before.len()).sum();
            Some(ChangedFile { path, kind, added, removed })
        });
        files.collect()
    }

    fn changed_text(&self, path: &Path) -> Result<ChangedText, AgentError> {
        let pending = unreviewed(&lock(&self.entries));
        let Some(before) = pending.get(path) else {
            let words = format!("there is nothing to look through in {}", path.display());
            return Err(AgentError::Invalid(words));
        };
        self.compare(path, before.as_ref()).map_err(AgentError::Unavailable)
    }

    fn compare(&self, path: &Path, before: Option<&State>) -> Result<ChangedText, String> {
        let before = before
            .map(|state| {
                let bytes = self.store.content(state).map_err(|error| error.to_string())?;
                workspace::text_of(bytes).map_err(|error| error.to_string())
            })
            .transpose()?;
        let present = match self.workspace.read(path) {
            Ok(file) => Some((file.text, file.fingerprint)),
            Err(ReadError::NotFound) => None,
            Err(error) => return Err(error.to_string()),
        };
        let (after, seen) = present.unzip();
        let (old, new) = (before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
        let hunks = line_changes(old, new).into_iter().map(|change| hunk(change, old, new)).collect();
        Ok(ChangedText { before, after, hunks, seen })
    }

    async fn review(
        &self,
        session: &Arc<Session>,
        path: &Path,
        hunk: Option<&str>,
        verdict: Verdict,
    ) -> Result<(), AgentError> {
        let (reading, read) = (Arc::clone(session), path.to_owned());
        let looked = tokio::task::spawn_blocking(move || reading.history.changed_text(&read)).await;
        let text = looked.map_err(|_| unreadable())??;
        let hunk = match hunk {
            None => None,
            Some(id) => Some(text.hunks.iter().find(|hunk| hunk.id == id).cloned().ok_or_else(|| {
                let words = format!("{} has changed since it was shown; look at it again", path.display());
                AgentError::Invalid(words)
            })?),
        };
        // The last hunk of a file is the file.
        let hunk = hunk.filter(|_| text.hunks.len() > 1);
        let outcome = match (verdict, hunk) {
            (Verdict::Keep, None) => Ok(Entry { reviewed: vec![done(path)], ..Entry::default() }),
            (Verdict::Keep, Some(hunk)) => self.keep_hunk(path, &text, &hunk).await,
            (Verdict::TakeBack, None) => self.take_back(session, path, &text).await,
            (Verdict::TakeBack, Some(hunk)) => {
                let (before, after) = (text.before.clone().unwrap_or_default(), text.after.clone());
                let wanted =
                    splice_lines(after.as_deref().unwrap_or_default(), hunk.after, &before, hunk.before);
                self.edit(path, &text, &wanted).await
            }
        };
        let entry = outcome.map_err(|why| AgentError::Unavailable(format!("{}: {why}", path.display())))?;
        self.record(session, Entry { message: anchor(session), ..entry });
        Ok(())
    }

    async fn keep_hunk(&self, path: &Path, text: &ChangedText, hunk: &ChangedHunk) -> Result<Entry, String> {
        let before = text.before.as_deref().unwrap_or_default();
        let after = text.after.as_deref().unwrap_or_default();
        let rest = splice_lines(before, hunk.before.clone(), after, hunk.after.clone());
        let rest = Some(self.put(&rest).await?);
        Ok(Entry { reviewed: vec![Reviewed { path: path.to_owned(), rest }], ..Entry::default() })
    }

    /// The whole file as it was.
    async fn take_back(
        &self,
        session: &Arc<Session>,
        path: &Path,
        text: &ChangedText,
    ) -> Result<Entry, String> {
        let mut entry = match (&text.before, &text.after) {
            (Some(before), Some(_)) => self.edit(path, text, before).await?,
            _ => self.restore_existence(session, path).await?,
        };
        entry.reviewed.push(done(path));
        Ok(entry)
    }

    async fn edit(&self, path: &Path, text: &ChangedText, wanted: &str) -> Result<Entry, String> {
        let Some(seen) = &text.seen else {
            return Err("it does not exist any more".to_owned());
        };
        let (store, looked_at) = (Arc::clone(&self.store), path.to_owned());
        let before = tokio::task::spawn_blocking(move || store.before_write(&looked_at));
        let before = before.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let buffer = self.workspace.document_text(path);
        self.workspace
            .write(path, wanted, Basis::Unchanged(seen.clone()), LABEL)
            .await
            .map_err(|error| error.to_string())?;
        let (store, workspace) = (Arc::clone(&self.store), self.workspace.clone());
        let observed = tokio::task::spawn_blocking(move || written(&store, &workspace, before, buffer));
        Ok(observed.await.map_err(|error| error.to_string())?.into_entry(""))
    }

    /// Makes a file that was deleted, or deletes one that was made.
    async fn restore_existence(&self, session: &Arc<Session>, path: &Path) -> Result<Entry, String> {
        let unsaved = self.workspace.documents().into_iter().any(|open| open.path == path && open.dirty);
        if unsaved {
            return Err("it has unsaved changes; save it or discard them first".to_owned());
        }
        let change = {
            let entries = lock(&self.entries);
            let before = unreviewed(&entries).remove(path).flatten();
            let mut changes = entries.iter().rev().flat_map(|entry| entry.changes.iter().rev());
            let after = changes.find(|change| change.path == path).and_then(|change| change.after.clone());
            Change { path: path.to_owned(), before, after }
        };
        let (store, message) = (Arc::clone(&self.store), anchor(session));
        let restored = tokio::task::spawn_blocking(move || {
            let plan = store.plan(&[Entry { changes: vec![change], ..Entry::default() }]);
            if let Some(conflict) = plan.conflicts.first() {
                return Err(format!("it was {} the agent left it; delete it yourself", conflict.why));
            }
            store.restore(&plan, message).map_err(|error| error.to_string())
        });
        let (restored, entry) = restored.await.map_err(|error| error.to_string())??;
        match restored.failures.into_iter().next() {
            Some(failure) => Err(failure.why),
            None => Ok(entry),
        }
    }

    /// Files that were brought back to an earlier state are nothing to look through.
    pub(super) fn look_no_more(&self, session: &Session, paths: &[PathBuf]) {
        if !paths.is_empty() {
            let reviewed = paths.iter().map(|path| done(path)).collect();
            self.record(session, Entry { message: anchor(session), reviewed, ..Entry::default() });
        }
    }
}

fn done(path: &Path) -> Reviewed {
    Reviewed { path: path.to_owned(), rest: None }
}

fn hunk(change: LineChange, before: &str, after: &str) -> ChangedHunk {
    let LineChange { before: old, after: new } = change;
    let lines = |text: &str, range: &Range<usize>| -> String {
        text.split_inclusive('\n').skip(range.start).take(range.len()).collect()
    };
    let named = format!("{old:?} {new:?}\0{}\0{}", lines(before, &old), lines(after, &new));
    let id = Blob::of(named.as_bytes()).to_string().chars().take(16).collect();
    ChangedHunk { id, before: old, after: new }
}

fn unreadable() -> AgentError {
    AgentError::Unavailable("the files could not be looked at".to_owned())
}
