//! `@path` in the prose of a file: what counts as one, what it names, and which files may be named.

use std::{
    collections::HashSet,
    ops::Range,
    path::{Path, PathBuf},
};

use markdown::prose::Inert;

/// Longer than any path the kernel takes.
const LONGEST: usize = 4096;
/// Ends a sentence, closes a bracket or an emphasis; not a path.
const TRAILING: &str = ".,;:!?)]}>\"'*_`|…”’";
/// Where no blanks are written, these end a path as a blank does.
const ENDING: &str = "。，、；：！？（）【】「」『』《》";
const OPENING: &str = "([{<（【「《";

/// Read as text, each under its own name; names without an extension too (`LICENSE`, `Makefile`, `.env`).
#[rustfmt::skip]
const TEXT: &[&str] = &[
    "md", "markdown", "mdx", "mdc", "txt", "text", "rst", "adoc", "asciidoc", "org", "tex", "log", "diff", "patch",
    "json", "jsonc", "json5", "jsonl", "yaml", "yml", "toml", "xml", "csv", "tsv", "ini", "cfg", "conf", "config",
    "env", "properties", "lock", "editorconfig", "gitignore",
    "html", "htm", "css", "scss", "sass", "less", "vue", "svelte", "astro",
    "js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "py", "pyi", "rb", "erb", "php", "pl", "pm", "lua", "r",
    "rs", "go", "java", "kt", "kts", "scala", "groovy", "gradle", "clj", "cljs", "c", "h", "cc", "cpp", "cxx", "hpp",
    "hh", "cs", "fs", "swift", "m", "mm", "dart", "zig", "nim", "v", "hs", "ml", "mli", "ex", "exs", "erl", "elm",
    "jl", "el", "vim", "sh", "bash", "zsh", "fish", "ps1", "bat", "cmd", "sql", "graphql", "gql", "proto", "thrift",
    "tf", "hcl", "nix", "cmake", "mk", "make", "dockerfile", "sol", "asm", "s",
];
/// In these `@` and comments mean what they mean in Markdown; elsewhere `@` is a decorator or an at-rule.
const PROSE: &[&str] = &["md", "markdown", "mdx", "mdc", "txt", "text"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Include {
    /// In the body, from 0.
    pub(super) line: usize,
    /// As it is written, without what follows a `#`.
    pub(super) target: String,
    /// With its `@`, in bytes of the body.
    pub(super) range: Range<usize>,
}

/// The includes of a body without frontmatter, in its order, each target once.
pub(super) fn find(body: &str) -> Vec<Include> {
    let mut found: Vec<Include> = Vec::new();
    if !body.contains('@') {
        return found;
    }
    let inert = Inert::of(body);
    let mut targets = HashSet::new();
    let (mut line, mut counted, mut end) = (0, 0, 0);
    for (at, _) in body.match_indices('@') {
        let (before, rest) = (body.get(..at).unwrap_or_default(), body.get(at + 1..).unwrap_or_default());
        // An address and a package's scope have something in front of it.
        let begins = before
            .chars()
            .next_back()
            .is_none_or(|previous| previous.is_whitespace() || OPENING.contains(previous));
        // What was read as a part of a path is not read again, or a text of nothing else would take for ever.
        if !begins || at < end || inert.has_code_at(at) || inert.has_comment_at(at) {
            continue;
        }
        let (written, length) = path(rest);
        end = at + length;
        if let Some(target) = target(&written)
            && targets.insert(target.to_owned())
        {
            line += body.get(counted..at).unwrap_or_default().matches('\n').count();
            counted = at;
            let written = if rest.starts_with(target) { target.len() } else { length };
            found.push(Include { line, target: target.to_owned(), range: at..at + 1 + written });
        }
    }
    found
}

/// What the text begins with up to a blank that is not escaped, and how much of the text that is.
fn path(text: &str) -> (String, usize) {
    let mut path = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' if characters.next_if(|(_, next)| *next == ' ').is_some() => path.push(' '),
            '<' if text.get(at..).is_some_and(|rest| rest.starts_with("<!--")) => return (path, at),
            character if character.is_whitespace() || ENDING.contains(character) => return (path, at),
            _ if path.len() > LONGEST => return (String::new(), at),
            character => path.push(character),
        }
    }
    (path, text.len())
}

/// A path without what belongs to the sentence and without a heading's name, if it can be one.
fn target(path: &str) -> Option<&str> {
    let path = path.trim_end_matches(|last| TRAILING.contains(last));
    let path = path.split_once('#').map_or(path, |(path, _)| path);
    let begins = |first: char| first.is_alphanumeric() || matches!(first, '.' | '_' | '-' | '~' | '/');
    path.starts_with(begins).then_some(path)
}

/// Where a target is: `~/` in the home, else relative to the file that includes it.
pub(super) fn resolve(target: &str, including: &Path, home: &Path) -> PathBuf {
    match target.strip_prefix("~/") {
        Some(rest) => home.join(rest.trim_start_matches('/')),
        None => including.parent().unwrap_or(including).join(target),
    }
}

pub(super) fn is_text(path: &Path) -> bool {
    path.extension().is_none() || has_text_ending(path)
}

pub(super) fn has_text_ending(path: &Path) -> bool {
    extension(path).is_some_and(|extension| TEXT.contains(&&*extension))
}

pub(super) fn is_prose(path: &Path) -> bool {
    extension(path).is_none_or(|extension| PROSE.contains(&&*extension))
}

fn extension(path: &Path) -> Option<String> {
    path.extension().map(|extension| extension.to_string_lossy().to_lowercase())
}
