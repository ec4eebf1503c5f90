//! What Write, Edit and MultiEdit share: a file is changed only as the model last saw it.
//!
//! How the text reaches the disk or the editor is `workspace`'s.

use std::path::Path;

use conversation::ResultContent;
use workspace::{Basis, FileText, ReadError, Route, WriteError};

use crate::{
    diff, read,
    read_state::Seen,
    tool::{Display, ToolContext, ToolFailure, ToolOutput},
};

/// The present text; `None` where there is no file.
pub(crate) fn current(path: &Path, context: &ToolContext) -> Result<Option<FileText>, ToolFailure> {
    match context.workspace.read(path) {
        Ok(file) => Ok(Some(file)),
        Err(ReadError::NotFound) => Ok(None),
        Err(error) => Err(read::failure(path, context, &error)),
    }
}

/// Refuses what the model has not read, or not as it is now.
pub(crate) fn require_read(path: &Path, context: &ToolContext) -> Result<Seen, ToolFailure> {
    let name = context.shown(path);
    let Some(seen) = context.reads.get(path) else {
        let how = if read::is_notebook(path) { " as JSON, with offset 1," } else { "" };
        return Err(ToolFailure(format!("{name} has not been read yet; read it{how} before changing it")));
    };
    match context.workspace.unchanged_since(path, &seen.fingerprint) {
        Ok(true) => Ok(seen),
        Ok(false) => Err(modified(&name)),
        Err(error) => Err(read::failure(path, context, &error)),
    }
}

/// Likewise what it has not read to the end: to replace a file is to delete what is in it.
pub(crate) fn require_whole(path: &Path, context: &ToolContext) -> Result<(), ToolFailure> {
    let seen = require_read(path, context)?;
    if seen.is_whole() {
        return Ok(());
    }
    let name = context.shown(path);
    Err(ToolFailure(match seen.lines {
        (1, _) if seen.to_end => {
            format!("{name} has lines too long to be shown whole, so not all of it was read; use Edit")
        }
        (first, last) => format!(
            "{name} cannot be replaced: only lines {first} to {last} of it were read; read the rest or use Edit"
        ),
    }))
}

/// What the model is shown of a file after its change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shows {
    /// It wrote the whole text itself.
    Nothing,
    ChangedLines,
}

/// Puts `new_text` in place of `old` (of nothing, for a new file) and tells what happened; `said` comes first.
pub(crate) async fn write(
    path: &Path,
    context: &ToolContext,
    old: Option<FileText>,
    new_text: &str,
    said: &str,
    shows: Shows,
) -> Result<ToolOutput, ToolFailure> {
    let name = context.shown(path);
    if context.cancel.is_cancelled() {
        return Err(ToolFailure(format!("cancelled; {name} was not changed")));
    }
    let (old_text, basis) = match old {
        Some(file) => (file.text, Basis::Unchanged(file.fingerprint)),
        None => (String::new(), Basis::NewFile),
    };
    let Some(target) = &context.target else {
        return Err(ToolFailure(format!("{name} was not changed: a link in its path leads nowhere")));
    };
    let written = context.workspace.write(target, new_text, basis, &format!("Reverie: {name}")).await;
    let written = written.map_err(|error| match error {
        WriteError::Changed => modified(&name),
        WriteError::Exists => {
            ToolFailure(format!("{name} was created meanwhile by someone else; read it before changing it"))
        }
        other => ToolFailure(format!("{name} was not changed: {other}")),
    })?;
    let line_count = new_text.lines().count();
    match shows {
        Shows::ChangedLines if !old_text.is_empty() => {
            context.reads.edited(path, written.fingerprint, (old_text.lines().count(), line_count));
        }
        Shows::Nothing | Shows::ChangedLines => context.reads.wrote(path, written.fingerprint, line_count),
    }

    let mut text = said.to_owned();
    if written.route == Route::EditorUnsaved {
        text.push_str(" The change is in the editor and not saved to disk yet.");
    }
    if shows == Shows::ChangedLines {
        text.push_str(" It now reads:\n");
        text.push_str(&diff::changed_lines(&old_text, new_text));
    }
    let diff = diff::unified(&name, &old_text, new_text);
    Ok(ToolOutput {
        content: ResultContent::Text(text),
        display: Display::Diff { path: path.to_owned(), diff },
    })
}

/// `1 line`, `2 lines`.
pub(crate) fn lines(count: usize) -> String {
    if count == 1 { "1 line".to_owned() } else { format!("{count} lines") }
}

fn modified(name: &str) -> ToolFailure {
    ToolFailure(format!("{name} has been modified since it was read; read it again"))
}
