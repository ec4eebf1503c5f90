//! What there is to look at: the Markdown files of the directory, read once; and what cannot be read, by name only.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use markdown::hidden;
use workspace::{Beneath, Found, FoundKind};

use super::{Finding, LintContext, code};
use crate::{index, scan::is_plain};

/// Folders in which there are no memories.
const CLOSED: [&str; 2] = [".history", ".git"];
/// "A daily log" is not a memory: it has no frontmatter, no line in the index, and may say "today".
const LOGS: &str = "logs/";
const MOST_FILES: usize = 10_000;
/// What is larger is not read.
const LARGEST: u64 = 1 << 20;
/// Nor is more than this in all.
const LARGEST_SUM: usize = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Index,
    Memory,
    Log,
}

/// A file of the directory.
#[derive(Clone, Debug)]
pub struct Document {
    pub path: PathBuf,
    /// To the memory directory, with `/`.
    pub relative: String,
    pub text: String,
    pub role: Role,
    /// Where lines begin.
    lines: Vec<usize>,
}

impl Document {
    /// `relative`: to the memory directory, with `/`.
    pub fn new(path: PathBuf, relative: String, text: String) -> Self {
        let role = if index::is_index(&relative) {
            Role::Index
        } else if relative.starts_with(LOGS) {
            Role::Log
        } else {
            Role::Memory
        };
        let lines = [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { path, relative, text, role, lines }
    }

    /// The number of the line, from 1, in which a byte is.
    pub fn line_at(&self, offset: usize) -> usize {
        self.lines.partition_point(|begin| *begin <= offset)
    }

    /// The whole line with its end, in bytes; from 1.
    pub fn line_range(&self, line: usize) -> std::ops::Range<usize> {
        let begin = |line: usize| self.lines.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len());
        begin(line)..begin(line + 1)
    }

    /// The folder it is in, with a `/` at its end; empty for the directory itself.
    pub fn folder(&self) -> &str {
        self.relative.rfind('/').and_then(|at| self.relative.get(..=at)).unwrap_or_default()
    }
}

/// Whether the file is a copy of what the team's server had, or of what some sync tool could not merge.
pub fn is_conflict_copy(name: &str) -> bool {
    let name = name.to_lowercase();
    name.contains(".conflict") || name.contains("sync-conflict") || name.contains("conflicted copy")
}

pub(super) fn read(dir: &Path, context: &LintContext<'_>) -> io::Result<(Vec<Document>, Vec<Finding>)> {
    let beneath = Beneath::open(dir)?;
    let wanted = |name: &OsStr, kind| {
        let bytes = name.as_bytes();
        let is_markdown = bytes.to_ascii_lowercase().ends_with(b".md");
        // A link may stand for a folder of memories.
        is_markdown || kind == FoundKind::Symlink && !bytes.starts_with(b".")
    };
    let mut documents = Vec::new();
    let mut findings = Vec::new();
    let mut sum = 0;
    for found in beneath.walk(&CLOSED, &wanted, MOST_FILES)? {
        if found.path.file_name().is_some_and(|name| is_conflict_copy(&name.to_string_lossy())) {
            continue;
        }
        let path = dir.join(&found.path);
        let finding =
            |code, message| Finding { path: path.clone(), line: 1, range: 0..0, code, message, fix: None };
        let relative = match objection(&found) {
            Ok(relative) => relative,
            Err((code, message)) => {
                findings.push(finding(code, message));
                continue;
            }
        };
        if sum > LARGEST_SUM {
            let words =
                format!("the memories have more than {} MB; from here on none was read", LARGEST_SUM >> 20);
            findings.push(finding(code::TOO_LARGE, words));
            break;
        }
        if let Some(text) = context.buffer.and_then(|buffer| buffer(&path)) {
            documents.push(Document::new(path, relative, text));
            continue;
        }
        match text_of(&beneath, &path) {
            Ok(Some(text)) => {
                sum += text.len();
                documents.push(Document::new(path, relative, text));
            }
            // Gone since it was listed.
            Ok(None) => {}
            Err((code, message)) => findings.push(finding(code, message)),
        }
    }
    Ok((documents, findings))
}

/// The path of a file that may be read, or why this is none.
fn objection(found: &Found) -> Result<String, (&'static str, String)> {
    let Some(path) = found.path.to_str() else {
        let words = format!("the name {:?} is not UTF-8, so no index can link to it: rename it", found.path);
        return Err((code::UNUSABLE_NAME, words));
    };
    if !is_plain(path) || !hidden::find(path).is_empty() {
        let words = format!("the name {path:?} has characters that nobody sees, or < or >: rename it");
        return Err((code::UNUSABLE_NAME, words));
    }
    match found.kind {
        FoundKind::Symlink => {
            Err((code::NOT_A_FILE, format!("{path} is a symbolic link, which is not followed")))
        }
        FoundKind::Special => {
            Err((code::NOT_A_FILE, format!("{path} is a pipe, a socket or a device, which is not opened")))
        }
        FoundKind::File if found.stamp.len > LARGEST => Err(too_large()),
        FoundKind::File => Ok(path.to_owned()),
    }
}

fn text_of(beneath: &Beneath, path: &Path) -> Result<Option<String>, (&'static str, String)> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::FileTooLarge => too_large(),
        _ => (code::UNREADABLE, format!("it cannot be read: {error}")),
    };
    let place =
        beneath.locate(path).map_err(|error| (code::UNREADABLE, format!("it cannot be read: {error}")))?;
    let Some((bytes, _)) = beneath.look_at(&place, LARGEST).map_err(unreadable)? else { return Ok(None) };
    let not_text = |_| (code::NOT_TEXT, "it is not UTF-8 text, so it is never recalled".to_owned());
    String::from_utf8(bytes).map(Some).map_err(not_text)
}

fn too_large() -> (&'static str, String) {
    (code::TOO_LARGE, format!("it is larger than {} KB, which is no memory, and not read", LARGEST >> 10))
}
