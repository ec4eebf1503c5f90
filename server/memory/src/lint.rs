//! What is wrong in a memory directory, and how to mend it: for diagnostics and code actions in editors, for the terminal,
//! and for the dream.
//!
//! Looks, never writes. Opens ordinary files of a sane size only; whatever lies in the directory, it comes to an end.

mod dates;
pub(crate) mod documents;
mod duplicates;
mod front;
pub mod indexes;
mod references;
mod texts;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::documents::is_conflict_copy;
pub use self::documents::{Document, Role};
pub use self::duplicates::Duplicate;
pub use self::texts::lint_instructions;
use crate::mentions::Files;

/// The kinds of findings, as editors show them and settings name them.
pub mod code {
    /// An entry of the index whose file is missing.
    pub const DEAD_LINK: &str = "dead-link";
    /// A memory that no index links to.
    pub const ORPHAN: &str = "orphan";
    pub const INDEX_TOO_LONG: &str = "index-too-long";
    pub const LONG_LINE: &str = "long-line";
    pub const NO_FRONTMATTER: &str = "no-frontmatter";
    pub const BROKEN_FRONTMATTER: &str = "broken-frontmatter";
    pub const NO_DESCRIPTION: &str = "no-description";
    pub const EMPTY_DESCRIPTION: &str = "empty-description";
    pub const UNKNOWN_TYPE: &str = "unknown-type";
    pub const DUPLICATE: &str = "duplicate";
    pub const STALE_REFERENCE: &str = "stale-reference";
    pub const RELATIVE_DATE: &str = "relative-date";
    pub const SECRET: &str = "secret";
    pub const HIDDEN_CHARACTERS: &str = "hidden-characters";
    pub const UNUSABLE_NAME: &str = "unusable-name";
    /// A link, a pipe, a device.
    pub const NOT_A_FILE: &str = "not-a-file";
    /// Not UTF-8.
    pub const NOT_TEXT: &str = "not-text";
    pub const TOO_LARGE: &str = "too-large";
    pub const UNREADABLE: &str = "unreadable";
    /// A CLAUDE.md that should be split.
    pub const LONG_INSTRUCTIONS: &str = "long-instructions";
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Absolute.
    pub path: PathBuf,
    /// From 1.
    pub line: usize,
    /// What is wrong, in bytes of the text; the line, where it is the line as a whole.
    pub range: Range<usize>,
    /// One of [`code`].
    pub code: &'static str,
    /// For people; never quotes a secret.
    pub message: String,
    pub fix: Option<Fix>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    pub title: String,
    /// For the texts as they were looked at; those of one file do not overlap.
    pub edits: Vec<Edit>,
}

/// A piece of a file and what comes in its place. A file that does not exist is an empty one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub path: PathBuf,
    /// In bytes.
    pub range: Range<usize>,
    pub replacement: String,
}

/// The rules that found a secret in a text, with the lines, from 1.
pub type Secrets<'a> = &'a dyn Fn(&str) -> Vec<(String, usize)>;
/// The text of a file that is open in an editor, which is looked at instead of the disk.
pub type Buffer<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// What the directory itself does not know. Rules that need what is missing here find nothing.
#[derive(Clone, Default)]
pub struct LintContext<'a> {
    /// The workspace folders, in which the files that memories name should be.
    pub roots: Vec<PathBuf>,
    pub secrets: Option<Secrets<'a>>,
    pub buffer: Option<Buffer<'a>>,
}

impl fmt::Debug for LintContext<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LintContext").field("roots", &self.roots).finish_non_exhaustive()
    }
}

/// All findings, by path and line. An error only if the directory itself cannot be looked at.
pub fn lint(dir: &Path, context: &LintContext<'_>) -> io::Result<Vec<Finding>> {
    let dir = std::path::absolute(dir)?;
    let (documents, mut findings) = documents::read(&dir, context)?;
    let others = Others::of(&documents);
    let files = Files::new(context.roots.clone());
    for document in &documents {
        findings.extend(lint_document(&dir, document, &others, &files, context));
    }
    findings
        .sort_by(|one, other| (&one.path, one.line, one.code).cmp(&(&other.path, other.line, other.code)));
    Ok(findings)
}

/// Every document of the directory, read once; what cannot be read is left out.
pub fn read(dir: &Path, context: &LintContext<'_>) -> io::Result<Vec<Document>> {
    documents::read(&std::path::absolute(dir)?, context).map(|(documents, _)| documents)
}

/// What the findings of one document need to know of the others.
#[derive(Clone, Debug, Default)]
pub struct Others {
    pub indexes: indexes::Linked,
    /// From a memory to another that says the same, and how alike they are.
    pub duplicates: Arc<HashMap<String, Duplicate>>,
}

impl Others {
    pub fn of(documents: &[Document]) -> Self {
        Self { indexes: indexes::Linked::of(documents), duplicates: Arc::new(duplicates::find(documents)) }
    }
}

/// The findings of one document, which need not be on disk as it is here, in the order of the text.
pub fn lint_document(
    dir: &Path,
    document: &Document,
    others: &Others,
    files: &Files,
    context: &LintContext<'_>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    texts::lint(document, context, &mut findings);
    match document.role {
        Role::Index => indexes::lint(dir, document, &others.indexes, &mut findings),
        Role::Log => {}
        Role::Memory => {
            indexes::lint_orphan(dir, document, &others.indexes, &mut findings);
            if let Some(duplicate) = others.duplicates.get(&document.relative) {
                findings.push(duplicate.finding(document));
            }
            front::lint(document, &mut findings);
            dates::lint(document, &mut findings);
            references::lint(dir, document, files, context, &mut findings);
        }
    }
    findings.sort_by(|one, other| (one.line, one.code).cmp(&(other.line, other.code)));
    findings
}

impl Fix {
    /// The new text of one of the files.
    pub fn applied(&self, path: &Path, text: &str) -> String {
        let mut edits: Vec<&Edit> = self.edits.iter().filter(|edit| edit.path == path).collect();
        edits.sort_by_key(|edit| edit.range.start);
        let mut new = String::with_capacity(text.len());
        let mut at = 0;
        for edit in edits {
            new.push_str(text.get(at..edit.range.start).unwrap_or_default());
            new.push_str(&edit.replacement);
            at = edit.range.end;
        }
        new.push_str(text.get(at..).unwrap_or_default());
        new
    }
}

impl Document {
    /// About a line, from 1, as a whole.
    fn finding(&self, line: usize, code: &'static str, message: impl Into<String>) -> Finding {
        let whole = self.line_range(line);
        let text = self.text.get(whole.clone()).unwrap_or_default();
        let start = whole.start + text.len() - text.trim_start().len();
        let range = start..start.max(whole.start + text.trim_end().len());
        Finding { path: self.path.clone(), line, range, code, message: message.into(), fix: None }
    }

    fn finding_at(&self, range: Range<usize>, code: &'static str, message: impl Into<String>) -> Finding {
        let line = self.line_at(range.start);
        Finding { path: self.path.clone(), line, range, code, message: message.into(), fix: None }
    }

    fn fix(&self, title: &str, range: Range<usize>, replacement: impl Into<String>) -> Option<Fix> {
        let edit = Edit { path: self.path.clone(), range, replacement: replacement.into() };
        Some(Fix { title: title.to_owned(), edits: vec![edit] })
    }
}

#[cfg(test)]
mod tests;
