//! `Read`: the lines of a file, numbered, as the editor has them; images, PDF documents and notebooks as such.

mod notebook;

use std::{fs::OpenOptions, io::Read as _, os::unix::fs::OpenOptionsExt as _, path::Path};

use conversation::{Block, ResultContent};
use permissions::Access;
use rustix::fs::OFlags;
use schemars::JsonSchema;
use serde::Deserialize;
use workspace::{Lines, ReadError, Workspace};

use crate::{
    diff::push_numbered,
    media::{self, Media, Unusable},
    read_state::Seen,
    tool::{Display, ToolContext, ToolFailure, ToolOutput, blocking},
    typed::Typed,
};

/// Reads a file and returns its lines with their numbers, as `cat -n` does: the number, a tab, the line. It sees
/// the file as the editor does, unsaved changes included. Reads up to 2000 lines from the start; use `offset` and
/// `limit` for other parts of long files. Images and PDF documents are shown as such, notebooks as their cells (with
/// `offset` as the JSON that Edit changes). Read a file before you edit or overwrite it. It reads no folders (use
/// Glob) and no other binary files.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Absolute, or relative to the working folder.
    file_path: String,
    /// The first line to read, from 1.
    offset: Option<usize>,
    /// How many lines to read.
    limit: Option<usize>,
}

pub struct Read;

const DEFAULT_LINES: usize = 2_000;
const MAX_LINE_CHARS: usize = 2_000;
/// About 25,000 tokens.
const MAX_OUTPUT_BYTES: usize = 100_000;
/// Long lines are cut, so more is read than shown; still bounded.
const MAX_READ_BYTES: usize = 4 * 1024 * 1024;

/// A file that is more than lines of text, as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownFile {
    /// `PNG image, 640 × 480 pixels, 12 KB`.
    pub words: String,
    pub blocks: Vec<Block>,
}

/// An image, a document or a notebook, for whoever shows a file without a call. `None`: read it as text. `Err` says
/// why it cannot be shown, in words that follow its name.
pub fn show_file(path: &Path, workspace: &Workspace) -> Option<Result<ShownFile, String>> {
    let open = workspace.document_text(path).is_some();
    match if open { None } else { read_media(path) } {
        Some(Ok(media)) => return Some(Ok(ShownFile { words: media.words, blocks: vec![media.block] })),
        Some(Err(Unusable::Refused(words))) => return Some(Err(words)),
        Some(Err(Unusable::Damaged(words))) => {
            let lines = workspace.read_lines(path, 1, DEFAULT_LINES, MAX_READ_BYTES);
            return matches!(lines, Err(ReadError::Binary(_))).then_some(Err(words));
        }
        None => {}
    }
    if !is_notebook(path) {
        return None;
    }
    let notebook = notebook::show(&workspace.read(path).ok()?.text).ok()?;
    let words = format!("notebook, {}", counted(notebook.cells));
    Some(Ok(ShownFile { words, blocks: notebook.blocks }))
}

impl Typed for Read {
    const NAME: &'static str = "Read";
    type Input = Input;

    fn access(input: &Input, context: &ToolContext) -> Result<Access, ToolFailure> {
        Ok(Access::Read { path: context.resolve("file_path", &input.file_path)? })
    }

    async fn run(input: Input, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
        blocking(move || read(&input, &context)).await
    }
}

fn read(input: &Input, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
    let path = context.resolve("file_path", &input.file_path)?;
    let first_line = input.offset.unwrap_or(1).max(1);
    let limit = input.limit.unwrap_or(DEFAULT_LINES);
    if limit == 0 {
        return Err(ToolFailure("limit must be at least 1".to_owned()));
    }
    // What is open in the editor as text is read as text.
    let open = context.workspace.document_text(&path).is_some();
    let media = if open { None } else { read_media(&path) };
    let damaged = match media {
        None => None,
        Some(Ok(shown)) => return Ok(seen(&context.shown(&path), shown)),
        Some(Err(Unusable::Refused(words))) => {
            return Err(ToolFailure(format!("{} {words}", context.shown(&path))));
        }
        Some(Err(Unusable::Damaged(words))) => Some(words),
    };
    if is_notebook(&path) && input.offset.is_none() && input.limit.is_none() {
        return read_notebook(&path, context);
    }
    let lines = context.workspace.read_lines(&path, first_line, limit, MAX_READ_BYTES);
    let lines = lines.map_err(|error| match (&error, damaged) {
        (ReadError::Binary(_), Some(words)) => ToolFailure(format!("{} {words}", context.shown(&path))),
        _ => failure(&path, context, &error),
    })?;
    if lines.line_count == 0 {
        return nothing_there(&path, context, first_line, &lines);
    }

    let numbered = number(&lines);
    let last_line = first_line + numbered.count - 1;
    let seen = Seen {
        fingerprint: lines.fingerprint.clone(),
        lines: (first_line, last_line),
        to_end: !numbered.more,
        cut: numbered.cut > 0,
    };
    context.reads.saw(&path, seen);

    let mut text = numbered.text;
    for note in notes(&path, context, &lines, (first_line, last_line), numbered.cut, numbered.more) {
        text.push_str(&format!("({note})\n"));
    }
    let shown = format!("{}: lines {first_line} to {last_line}", context.shown(&path));
    Ok(ToolOutput { content: ResultContent::Text(text), display: Display::Text { text: shown } })
}

/// The file as an image or a document, if it begins like one.
fn read_media(path: &Path) -> Option<Result<media::Shown, Unusable>> {
    // Never waits: a FIFO without a writer would hang the reader.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let metadata = file.metadata().ok().filter(|metadata| metadata.is_file())?;
    let mut bytes = Vec::new();
    file.by_ref().take(Media::SIGNATURE as u64).read_to_end(&mut bytes).ok()?;
    let media = Media::of(&bytes)?;
    if metadata.len() > media.max_bytes() as u64 {
        return Some(Err(Unusable::Refused(media.too_large(metadata.len()))));
    }
    file.take(media.max_bytes() as u64 + 1).read_to_end(&mut bytes).ok()?;
    Some(media.show(&bytes))
}

fn seen(name: &str, shown: media::Shown) -> ToolOutput {
    let words = format!("{name}: {}", shown.words);
    ToolOutput {
        content: ResultContent::Blocks(vec![Block::text(words.clone()), shown.block]),
        display: Display::Text { text: words },
    }
}

pub(crate) fn is_notebook(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
}

/// The cells do not count as read: Edit and Write change the JSON, and that was not shown.
fn read_notebook(path: &Path, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
    let name = context.shown(path);
    let file = context.workspace.read(path).map_err(|error| failure(path, context, &error))?;
    let notebook = notebook::show(&file.text).map_err(|why| {
        ToolFailure(format!("{name} is no notebook that can be shown: {why}; read it as text with offset 1"))
    })?;
    let content = match <[Block; 1]>::try_from(notebook.blocks) {
        Ok([Block::Text { text }]) => ResultContent::Text(text),
        Ok(other) => ResultContent::Blocks(other.into()),
        Err(several) if several.is_empty() => ResultContent::Text(format!("({name} has no cells)")),
        Err(several) => ResultContent::Blocks(several),
    };
    let text = format!("{name}: {}", counted(notebook.cells));
    Ok(ToolOutput { content, display: Display::Text { text } })
}

fn counted(cells: usize) -> String {
    if cells == 1 { "1 cell".to_owned() } else { format!("{cells} cells") }
}

struct Numbered {
    text: String,
    count: usize,
    /// How many lines were too long to be shown whole.
    cut: usize,
    /// Whether the file goes on after them.
    more: bool,
}

fn number(lines: &Lines) -> Numbered {
    let mut numbered = Numbered { text: String::new(), count: 0, cut: 0, more: lines.more };
    for (index, line) in lines.text.lines().enumerate() {
        // One line always fits: it is cut itself.
        if index > 0 && numbered.text.len() + line.len().min(MAX_LINE_CHARS) > MAX_OUTPUT_BYTES {
            numbered.more = true;
            break;
        }
        numbered.count += 1;
        match line.char_indices().nth(MAX_LINE_CHARS) {
            None => push_numbered(&mut numbered.text, lines.first_line + index, line),
            Some((at, _)) => {
                numbered.cut += 1;
                let kept = line.get(..at).unwrap_or_default();
                push_numbered(&mut numbered.text, lines.first_line + index, &format!("{kept}… [line cut]"));
            }
        }
    }
    numbered
}

fn notes(
    path: &Path,
    context: &ToolContext,
    lines: &Lines,
    (first, last): (usize, usize),
    cut: usize,
    more: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    if more {
        let total = lines.total_lines.map(|total| format!(" of {total}")).unwrap_or_default();
        notes.push(format!(
            "lines {first} to {last}{total}; the file goes on, read it with offset {}",
            last + 1
        ));
    }
    if cut > 0 {
        let lines = if cut == 1 { "1 long line was" } else { &format!("{cut} long lines were") };
        notes.push(format!("{lines} cut at {MAX_LINE_CHARS} characters"));
    }
    if context.workspace.documents().iter().any(|document| document.dirty && document.path == path) {
        notes.push("unsaved changes in the editor are included".to_owned());
    }
    notes
}

fn nothing_there(
    path: &Path,
    context: &ToolContext,
    first_line: usize,
    lines: &Lines,
) -> Result<ToolOutput, ToolFailure> {
    if first_line == 1 {
        context.reads.wrote(path, lines.fingerprint.clone(), 0);
        return Ok(ToolOutput::text(format!("({} exists but is empty)", context.shown(path))));
    }
    Err(ToolFailure(match lines.total_lines {
        Some(total) => {
            format!("{} has only {total} lines; there is no line {first_line}", context.shown(path))
        }
        None => format!("{} has no line {first_line}", context.shown(path)),
    }))
}

/// Why the file cannot be read, and what to do instead.
pub(crate) fn failure(path: &Path, context: &ToolContext, error: &ReadError) -> ToolFailure {
    let name = context.shown(path);
    ToolFailure(match error {
        ReadError::NotFound => match similar_names(path, context) {
            names if names.is_empty() => {
                format!("{name} does not exist; the working folder is {}", context.cwd.display())
            }
            names => format!("{name} does not exist; did you mean {}?", names.join(" or ")),
        },
        ReadError::Directory => format!("{name} is a folder; list it with Glob (path: {name}, pattern: *)"),
        other => format!("{name} cannot be read: {other}"),
    })
}

/// Files beside it with the same name but for case or extension.
fn similar_names(path: &Path, context: &ToolContext) -> Vec<String> {
    let (Some(folder), Some(stem)) = (path.parent(), path.file_stem()) else { return Vec::new() };
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let beside = entries.take(2_000).flatten().map(|entry| entry.path());
    let mut names: Vec<String> = beside
        .filter(|other| other.file_stem().is_some_and(|other| other.eq_ignore_ascii_case(stem)))
        .map(|other| context.shown(&other))
        .collect();
    names.sort();
    names.truncate(3);
    names
}

#[cfg(test)]
mod tests;
