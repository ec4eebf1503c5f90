//! `Read`: the lines of a file, numbered, as the editor has them.

use std::path::Path;

use conversation::ResultContent;
use futures_util::future::BoxFuture;
use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use workspace::{Lines, ReadError};

use crate::{
    diff::push_numbered,
    read_state::Seen,
    schema,
    tool::{Display, Tool, ToolContext, ToolFailure, ToolOutput, blocking},
};

/// Reads a text file and returns its lines with their numbers, as `cat -n` does: the number, a tab, the line.
/// It sees the file as the editor does, unsaved changes included.
/// Reads up to 2000 lines from the start; use `offset` and `limit` for other parts of long files.
/// Read a file before you edit or overwrite it. It reads no folders (use Glob) and no binary files.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Absolute, or relative to the working folder.
    file_path: String,
    /// The first line to read, from 1.
    offset: Option<usize>,
    /// How many lines to read.
    limit: Option<usize>,
}

pub struct Read;

const NAME: &str = "Read";
const DEFAULT_LINES: usize = 2_000;
const MAX_LINE_CHARS: usize = 2_000;
/// About 25,000 tokens.
const MAX_OUTPUT_BYTES: usize = 100_000;
/// Long lines are cut, so more is read than shown; still bounded.
const MAX_READ_BYTES: usize = 4 * 1024 * 1024;

impl Tool for Read {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> String {
        schema::description::<Input>()
    }

    fn input_schema(&self) -> Value {
        schema::input_schema::<Input>()
    }

    fn access(&self, input: &Value, context: &ToolContext) -> Result<Access, ToolFailure> {
        let input: Input = schema::parse(NAME, input)?;
        Ok(Access::Read { path: context.resolve("file_path", &input.file_path)? })
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        Box::pin(blocking(move || read(&schema::parse(NAME, &input)?, &context)))
    }
}

fn read(input: &Input, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
    let path = context.resolve("file_path", &input.file_path)?;
    let first_line = input.offset.unwrap_or(1).max(1);
    let limit = input.limit.unwrap_or(DEFAULT_LINES);
    if limit == 0 {
        return Err(ToolFailure("limit must be at least 1".to_owned()));
    }
    let lines = context
        .workspace
        .read_lines(&path, first_line, limit, MAX_READ_BYTES)
        .map_err(|error| failure(&path, context, &error))?;
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
