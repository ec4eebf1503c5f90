//! `Grep`: searches the contents of files with ripgrep's own engine.
//!
//! Two passes: all files are searched for which match and how often (`scan.rs`), then the lines to show are
//! taken from the newest of them (`lines.rs`). So memory is bounded by what is shown, not by what matches.

mod engine;
mod filter;
mod lines;
mod scan;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use conversation::ResultContent;
use ignore::types::{Types, TypesBuilder};
use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use self::{filter::NameFilter, lines::Context};
use crate::{
    search::{self, Find, Hidden, Scope, Stop, Totals},
    shell::text::with_commas,
    tool::{Display, ToolContext, ToolFailure, ToolOutput},
    typed::Typed,
};

/// Lines, or files where files are listed.
const DEFAULT_LIMIT: usize = 250;

/// All of an answer, whatever the limit.
const MAX_CHARS: usize = 30_000;

/// More context is what Read is for.
const MAX_CONTEXT: usize = 200;

/// More files than fit into [`MAX_CHARS`].
const MAX_FILES_KEPT: usize = 10_000;

pub struct Grep;

/// Searches file contents with a regular expression (ripgrep's syntax; escape braces to find them). Files are
/// listed with the last changed first. Sees unsaved editor buffers; respects .gitignore; skips binary files, and
/// hidden ones unless path or glob spells out their dot. Paths are relative to the working folder.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    pattern: String,
    /// File or folder to search; the working folder if not given.
    path: Option<String>,
    /// Only files whose name matches, for example `*.ts`, `src/**/*.{rs,toml}` or `!*.lock`.
    glob: Option<String>,
    /// Only files of this type, for example rust, js, py, go.
    r#type: Option<String>,
    /// files_with_matches lists files (the default), content shows the lines, count counts them.
    output_mode: Option<OutputMode>,
    /// Ignore case.
    #[serde(rename = "-i")]
    ignore_case: Option<bool>,
    /// Line numbers with content; on unless false.
    #[serde(rename = "-n")]
    line_numbers: Option<bool>,
    /// Lines to show after each match.
    #[serde(rename = "-A")]
    after: Option<usize>,
    /// Lines to show before each match.
    #[serde(rename = "-B")]
    before: Option<usize>,
    /// Lines to show around each match.
    #[serde(rename = "-C")]
    around: Option<usize>,
    /// At most this many lines or files; 250 if not given, 0 for no limit.
    head_limit: Option<usize>,
    /// Let a match span lines; `.` then matches line ends too.
    multiline: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutputMode {
    FilesWithMatches,
    Content,
    Count,
}

/// What a call means.
struct Query {
    base: PathBuf,
    pattern: String,
    filter: NameFilter,
    types: Option<Types>,
    mode: OutputMode,
    ignore_case: bool,
    multiline: bool,
    context: Context,
    limit: usize,
}

impl Typed for Grep {
    const NAME: &'static str = "Grep";
    type Input = Input;

    fn access(input: &Input, context: &ToolContext) -> Result<Access, ToolFailure> {
        Ok(Access::Read { path: base(input, context)? })
    }

    async fn run(input: Input, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
        let query = parse(input, &context)?;
        let search_context = context.clone();
        search::on_own_thread(&context, move |stop| run(&query, &search_context, stop)).await
    }
}

fn base(input: &Input, context: &ToolContext) -> Result<PathBuf, ToolFailure> {
    match input.path.as_deref() {
        None | Some("") => Ok(context.cwd.clone()),
        Some(path) => context.resolve("path", path),
    }
}

fn parse(input: Input, context: &ToolContext) -> Result<Query, ToolFailure> {
    if input.pattern.is_empty() {
        return Err(ToolFailure("the pattern is empty".to_owned()));
    }
    let base = base(&input, context)?;
    let around = input.around.unwrap_or(0);
    Ok(Query {
        filter: NameFilter::parse(input.glob.as_deref().unwrap_or(""), &base, &context.cwd)?,
        types: input.r#type.as_deref().filter(|name| !name.is_empty()).map(file_type).transpose()?,
        mode: input.output_mode.unwrap_or(OutputMode::FilesWithMatches),
        ignore_case: input.ignore_case.unwrap_or(false),
        multiline: input.multiline.unwrap_or(false),
        context: Context {
            before: input.before.unwrap_or(around).min(MAX_CONTEXT),
            after: input.after.unwrap_or(around).min(MAX_CONTEXT),
            numbers: input.line_numbers.unwrap_or(true),
        },
        limit: match input.head_limit {
            None => DEFAULT_LIMIT,
            Some(0) => usize::MAX,
            Some(limit) => limit,
        },
        pattern: input.pattern,
        base,
    })
}

fn file_type(name: &str) -> Result<Types, ToolFailure> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    builder.select(name);
    builder.build().map_err(|_| {
        ToolFailure(format!("no file type is called {name:?}; use glob instead, for example `*.{name}`"))
    })
}

fn run(query: &Query, context: &ToolContext, stop: &Stop) -> Result<ToolOutput, ToolFailure> {
    let matcher = engine::matcher(query)?;
    let metadata = std::fs::metadata(&query.base);
    let unsaved = search::unsaved_below(&query.base, &context.workspace);
    let may_read = search::may_read_below(&query.base, context);
    let scan = scan::Scan { query, matcher: &matcher, unsaved: &unsaved, may_read: &may_read, stop };
    let keep = query.limit.min(MAX_FILES_KEPT);
    let (found, binary) = match metadata {
        Ok(metadata) if metadata.is_dir() => {
            let hidden = if query.filter.asks_for_hidden() { Hidden::Include } else { Hidden::Skip };
            let scope =
                Scope { base: query.base.clone(), hidden, types: query.types.clone(), max_depth: None };
            (scan.folder(&scope, keep), false)
        }
        Ok(metadata) if metadata.is_file() => scan.file(),
        _ if unsaved.contains_key(&query.base) => scan.file(),
        Ok(_) => {
            let name = search::shown(&query.base, &context.cwd);
            return Err(ToolFailure(format!("{name} is neither a file nor a folder")));
        }
        Err(error) => return Err(search::cannot_search(&query.base, &error, context)),
    };
    let (files, totals) = found.take();
    let mut output = match query.mode {
        OutputMode::FilesWithMatches => list(&files, totals, context),
        OutputMode::Count => count(&files, totals, context),
        OutputMode::Content => {
            let shown = lines::collect(query, &matcher, &files, &unsaved, &context.cwd, stop);
            content(shown, totals)
        }
    };
    let mut notes = search::notes(totals, stop);
    if binary {
        notes.push("[it is a binary file, which is not searched]".to_owned());
    }
    if files.is_empty() {
        output.text = "No matches found.".to_owned();
    }
    for note in notes {
        output.text.push_str(&format!("\n{note}"));
    }
    let display = match query.mode {
        OutputMode::FilesWithMatches => Display::Files { paths: output.files },
        OutputMode::Content | OutputMode::Count => Display::Text { text: output.text.clone() },
    };
    Ok(ToolOutput { content: ResultContent::Text(output.text), display })
}

struct Output {
    text: String,
    files: Vec<PathBuf>,
}

fn list(files: &[Find], totals: Totals, context: &ToolContext) -> Output {
    let (mut text, shown) = rows(files, |file| search::shown(&file.path, &context.cwd));
    if totals.files > shown.len() as u64 {
        let all = with_commas(totals.files);
        text.push_str(&format!("\n[{} of {all} files, the last changed first]", shown.len()));
    }
    Output { text, files: shown }
}

fn count(files: &[Find], totals: Totals, context: &ToolContext) -> Output {
    let row = |file: &Find| format!("{}:{}", search::shown(&file.path, &context.cwd), file.matches);
    let (mut text, shown) = rows(files, row);
    let (matches, all) = (with_commas(totals.matches), with_commas(totals.files));
    let part =
        if totals.files > shown.len() as u64 { format!("; {} shown", shown.len()) } else { String::new() };
    text.push_str(&format!("\n[{matches} matching lines in {all} files{part}]"));
    Output { text, files: shown }
}

fn content(shown: lines::Shown, totals: Totals) -> Output {
    let mut text = shown.text;
    if shown.matches < totals.matches {
        let all = with_commas(totals.matches);
        let (part, files) = (with_commas(shown.matches), with_commas(totals.files));
        text.push_str(&format!(
            "\n\n[{part} of {all} matching lines in {files} files; narrow the search or raise head_limit]"
        ));
    }
    Output { text, files: Vec::new() }
}

/// One line for each file, as many as fit.
fn rows(files: &[Find], row: impl Fn(&Find) -> String) -> (String, Vec<PathBuf>) {
    let mut text = String::new();
    let mut shown = Vec::new();
    for file in files {
        let row = row(file);
        if text.len() + row.len() >= MAX_CHARS {
            break;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&row);
        shown.push(file.path.clone());
    }
    (text, shown)
}
