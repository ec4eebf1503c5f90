//! Files and symbols that memories name and the workspace no longer has.
//!
//! Only what is surely meant: a path in backticks or in a link, with a folder that exists or an ending that code has; a
//! symbol that is written as one, where somebody knows the symbols. What might be something else is left alone: a
//! finding that is wrong costs more than one that is missing.

mod files;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use markdown::prose::{self, Inert};

use self::files::Files;
use super::{Document, Finding, LintContext, code};
use crate::Topic;

/// In one memory.
const MOST: usize = 50;
/// Beyond this, nobody has written it by hand.
const LONGEST: usize = 256 << 10;
/// Longer than any path or symbol that someone would name.
const LONGEST_NAME: usize = 300;

/// Endings that make a bare name a file of the workspace.
const CODE: &str = "rs ts tsx js jsx mjs cjs py pyi go java kt kts c h cc cpp hpp cs rb php swift lua sh sql scala hs ml \
                    ex exs erl clj dart zig vue svelte proto tf nix";
/// Endings that make a path of one, with a folder before it.
const OTHER: &str = "md toml yaml yml json xml html css scss less txt cfg ini lock gradle env csv graphql";
/// Names of things that look like files.
const NO_FILES: [&str; 14] = [
    "node.js",
    "vue.js",
    "next.js",
    "nuxt.js",
    "react.js",
    "express.js",
    "three.js",
    "d3.js",
    "ember.js",
    "backbone.js",
    "chart.js",
    "nest.js",
    "alpine.js",
    "p5.js",
];

/// Where a name stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Code,
    /// Whatever a link names is meant to be there.
    Link,
}

pub(super) struct Lint<'a> {
    dir: &'a Path,
    context: &'a LintContext<'a>,
    files: Files<'a>,
}

impl<'a> Lint<'a> {
    pub(super) fn new(dir: &'a Path, context: &'a LintContext<'a>) -> Self {
        Self { dir, context, files: Files::new(&context.roots) }
    }

    pub(super) fn lint(&mut self, memory: &Document, findings: &mut Vec<Finding>) {
        if self.context.roots.is_empty() && self.context.symbol_exists.is_none() {
            return;
        }
        let text = memory.text.get(..memory.text.floor_char_boundary(LONGEST)).unwrap_or_default();
        let body = Topic::parse(text).body;
        let begin = text.len() - body.len();
        let mut seen: HashSet<&str> = HashSet::new();
        let mut stale: Vec<(usize, String)> = Vec::new();
        for range in &Inert::of(body).code {
            let Some(name) = body.get(range.clone()).and_then(code_span) else { continue };
            if !seen.insert(name) || stale.len() >= MOST {
                continue;
            }
            let words = self.missing_file(memory, name, Place::Code).or_else(|| self.missing_symbol(name));
            stale.extend(words.map(|words| (begin + range.start, words)));
        }
        for link in prose::links(body) {
            if stale.len() < MOST
                && let Some(words) = self.missing_file(memory, &link.target.replace("%20", " "), Place::Link)
            {
                stale.push((begin + link.range.start, words));
            }
        }
        for (at, words) in stale {
            findings.push(memory.finding(memory.line_at(at), code::STALE_REFERENCE, words));
        }
    }

    fn missing_file(&mut self, memory: &Document, name: &str, place: Place) -> Option<String> {
        let path = workspace_path(name, &self.context.roots)?;
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending).to_lowercase();
        let is_in = |endings: &str| !ending.is_empty() && endings.split_whitespace().any(|it| it == ending);
        let is_path = is_in(CODE)
            || is_in(OTHER) && (place == Place::Link || !folder.is_empty())
            || !folder.is_empty() && self.files.has_folder(path);
        if !is_path || NO_FILES.contains(&file.to_lowercase().as_str()) {
            return None;
        }
        // A memory may name another, from where it is or from the top.
        let beside: [PathBuf; 2] = [self.dir.join(memory.folder()).join(path), self.dir.join(path)];
        if beside.iter().any(|path| path.symlink_metadata().is_ok()) || self.files.may_have(path) {
            return None;
        }
        Some(format!("there is no {path} in the workspace any more: check it, or say when it was"))
    }

    fn missing_symbol(&self, name: &str) -> Option<String> {
        let exists = self.context.symbol_exists?;
        let symbol = symbol(name)?;
        (exists(symbol) == Some(false))
            .then(|| format!("there is no {symbol} in the workspace any more: check it, or say when it was"))
    }
}

/// What stands in a code span of one line; `None` for blocks.
fn code_span(code: &str) -> Option<&str> {
    let inside = code.strip_prefix('`')?.trim_matches('`').trim();
    (!inside.is_empty() && inside.len() <= LONGEST_NAME && !inside.contains('\n')).then_some(inside)
}

/// The path, relative to a workspace folder, that a text means; `None` for what is no path, or one elsewhere.
fn workspace_path<'t>(text: &'t str, roots: &[PathBuf]) -> Option<&'t str> {
    if text.len() > LONGEST_NAME || text.contains("://") || roots.is_empty() {
        return None;
    }
    let text = text.split('#').next().unwrap_or_default();
    // `src/main.rs:12`, `src/main.rs:12-20`
    let without_line =
        text.split_once(':').filter(|(_, line)| line.starts_with(|first: char| first.is_ascii_digit()));
    let text = without_line.map_or(text, |(path, _)| path).trim_start_matches("./").trim_end_matches('/');
    let below_root = |root: &PathBuf| text.strip_prefix(root.to_str()?)?.strip_prefix('/');
    let text = if text.starts_with('/') { roots.iter().find_map(below_root)? } else { text };
    let is_plain =
        |character: char| character.is_alphanumeric() || matches!(character, '/' | '.' | '_' | '-' | '+');
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.starts_with('-');
    let begins = text.starts_with(|first: char| first.is_alphanumeric() || matches!(first, '.' | '_'));
    (begins && text.chars().all(is_plain) && text.split('/').all(is_name)).then_some(text)
}

/// `frob()`, `Thing::frob`, `thing.frob()`, without the parentheses.
fn symbol(text: &str) -> Option<&str> {
    let name = text.strip_suffix("()").unwrap_or(text);
    let is_symbol = name.len() < text.len() || name.contains("::");
    let is_word = |word: &str| {
        word.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && word.chars().all(|character| character.is_alphanumeric() || character == '_')
    };
    (is_symbol && name.split("::").flat_map(|part| part.split('.')).all(is_word)).then_some(name)
}
