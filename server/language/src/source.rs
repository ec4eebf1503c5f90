//! In a source file: where memories speak of it, or of something in it.
//!
//! A memory that names the file is shown at its first line, one that names a line there, one that names a symbol where
//! the symbol is defined: by the editor's outline, or by a word that stands behind `fn`, `class` and their like. A name
//! without such a place is shown only where the memory names the file too.

mod outlined;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use memory::mentions;

pub use self::outlined::Outline;
use crate::{
    Action, Deed, Diagnostic, Facts, Known, Page, Severity, ago,
    knowledge::{Mentioned, What},
};

/// Of a longer text only the first line is looked at.
pub(crate) const LONGEST: usize = 1 << 19;
/// Characters of a memory that are shown at once.
const SHOWN: usize = 1_200;
const SUMMARY: usize = 160;
const MOST_SHOWN: usize = 5;

/// What makes a word behind it a definition, in the languages that are written most.
const DEFINES: &[&str] = &[
    "fn",
    "struct",
    "enum",
    "trait",
    "impl",
    "mod",
    "type",
    "const",
    "static",
    "macro_rules",
    "union",
    "def",
    "class",
    "func",
    "function",
    "interface",
    "namespace",
    "let",
    "var",
    "val",
    "fun",
    "object",
    "record",
    "module",
    "defmodule",
    "defp",
    "sub",
    "proc",
    "local",
    "void",
    "int",
    "bool",
    "string",
    "double",
    "float",
    "char",
    "auto",
    "public",
    "private",
    "protected",
    "export",
    "async",
];

/// A line of a source file of which memories speak.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The name, or the first line.
    pub range: Range<usize>,
    pub memories: Vec<Marked>,
}

/// One memory at a place.
#[derive(Clone, Debug)]
pub struct Marked {
    pub known: Arc<Known>,
    /// What it names there.
    pub name: String,
}

/// The places of which memories speak, in the order of the text, one a line.
pub fn marks(page: &Page<'_>, facts: &Facts<'_>, outline: Option<&[Outline]>) -> Vec<Mark> {
    let mut found: BTreeMap<usize, Mark> = BTreeMap::new();
    let mut add = |range: Range<usize>, mentioned: &Mentioned| {
        let line = page.line_at(range.start).start;
        let mark = found.entry(line).or_insert_with(|| Mark { range, memories: Vec::new() });
        if !mark.memories.iter().any(|marked| Arc::ptr_eq(&marked.known, &mentioned.known)) {
            let name = mentioned.name().to_owned();
            mark.memories.push(Marked { known: Arc::clone(&mentioned.known), name });
        }
    };
    let of_file = speaking_of(page, facts);
    for mentioned in &of_file {
        let line = match mentioned.spoken().map(|spoken| spoken.what) {
            Some(What::File(Some(line))) if page.text.len() <= LONGEST => line_range(page, line),
            _ => None,
        };
        add(line.unwrap_or_else(|| page.line_at(0)), mentioned);
    }
    if page.text.len() <= LONGEST && facts.knowledge.names_symbols() {
        let names_this_file =
            |known: &Arc<Known>| of_file.iter().any(|mentioned| Arc::ptr_eq(&mentioned.known, known));
        for (mentioned, range) in symbols(page, facts, outline, &names_this_file) {
            add(range, mentioned);
        }
    }
    found.into_values().collect()
}

/// The memories at a mark, for people: the text of each and its age.
pub fn described(mark: &Mark, facts: &Facts<'_>) -> String {
    words_of(mark, facts, SHOWN)
}

/// Likewise, the beginnings: where there are many marks at once.
pub fn summarized(mark: &Mark, facts: &Facts<'_>) -> String {
    words_of(mark, facts, SUMMARY)
}

fn words_of(mark: &Mark, facts: &Facts<'_>, most: usize) -> String {
    let mut words = String::new();
    for marked in mark.memories.iter().take(MOST_SHOWN) {
        let known = &marked.known;
        let memory = (facts.memory)(&known.document.relative);
        let age =
            memory.map_or(String::new(), |memory| format!(" — saved {}", ago(memory.modified, facts.now)));
        let uri = known.document.path.to_string_lossy();
        let name = crate::hover::plain(&known.name);
        words.push_str(&format!("◆ **{name}**{age}\n\n"));
        words.push_str(&crate::hover::quoted(known.body(), most));
        words.push_str(&format!("\n\n`{uri}`\n\n"));
    }
    if mark.memories.len() > MOST_SHOWN {
        words.push_str(&format!("… and {} more\n", mark.memories.len() - MOST_SHOWN));
    }
    words.trim_end().to_owned()
}

/// What memories say of this file that does not hold any more: a line beyond its end, a symbol that is not in it.
pub fn missing(page: &Page<'_>, facts: &Facts<'_>) -> Vec<Diagnostic> {
    if page.text.len() > LONGEST {
        return Vec::new();
    }
    let speaking = speaking_of(page, facts);
    let lines = page.text.split_inclusive('\n').count();
    let mut found: Vec<Diagnostic> = Vec::new();
    for mentioned in speaking {
        let known = &mentioned.known;
        let Some(spoken) = mentioned.spoken() else { continue };
        let mut gone = Vec::new();
        if let What::File(Some(line)) = spoken.what
            && line as usize > lines
        {
            gone.push(format!("line {line}"));
        }
        let said_of_this = known.said.iter().filter(|said| said.file == spoken.name);
        let missing = said_of_this.filter(|said| {
            let elsewhere = said.others.iter().map(String::as_str);
            !mentions::has_word(page.text, said.word()) && said.is_in_none(elsewhere, facts.files, facts.open)
        });
        gone.extend(missing.map(|said| said.symbol.clone()));
        for name in gone {
            let message =
                format!("the memory {:?} speaks of {name}, which is not in this file any more", known.name);
            if !found.iter().any(|other| other.message == message) {
                let (severity, code) = (Severity::Information, memory::lint::code::STALE_REFERENCE);
                found.push(Diagnostic { range: page.line_at(0), severity, code, message, fix: None });
            }
        }
    }
    found
}

/// What can be done at a place of a source file.
pub fn source_actions(
    page: &Page<'_>,
    facts: &Facts<'_>,
    outline: Option<&[Outline]>,
    range: Range<usize>,
) -> Vec<Action> {
    let mut actions = Vec::new();
    if facts.places.memory.is_some() {
        let deed = Deed::Remember;
        let title = "Remember something about this".to_owned();
        actions.push(Action { title, code: None, deed, is_preferred: false });
    }
    let here = page.line_at(range.start);
    for mark in marks(page, facts, outline)
        .iter()
        .filter(|mark| mark.range.start >= here.start && mark.range.start <= here.end)
    {
        for marked in mark.memories.iter().take(MOST_SHOWN) {
            let title = format!("Open the memory “{}”", marked.known.name);
            let deed = Deed::Open(vec![marked.known.document.path.clone()]);
            actions.push(Action { title, code: None, deed, is_preferred: false });
        }
    }
    actions
}

/// The name at an offset, if it is defined there.
pub fn symbol_at(text: &str, offset: usize) -> Option<&str> {
    let line = Page { path: std::path::Path::new(""), text, role: crate::Role::Source }.line_at(offset);
    let mut previous = "";
    for (at, word) in words(text.get(line.clone())?) {
        let at = line.start + at;
        if at <= offset && offset <= at + word.len() && DEFINES.contains(&previous) {
            return Some(word);
        }
        previous = word;
    }
    None
}

/// The memories that name this file.
fn speaking_of<'k>(page: &Page<'_>, facts: &Facts<'k>) -> Vec<&'k Mentioned> {
    let Some(path) = facts.places.workspace_path(page.path) else { return Vec::new() };
    let name = path.rsplit('/').next().unwrap_or(path);
    let means_this = |mentioned: &&Mentioned| {
        let named = mentioned.name();
        // As a whole, or as the only one whose path ends so.
        named == path || facts.files.find(named).as_deref() == Some(page.path)
    };
    facts.knowledge.speaking_of_file(name).iter().filter(means_this).collect()
}

fn symbols<'k>(
    page: &Page<'_>,
    facts: &Facts<'k>,
    outline: Option<&[Outline]>,
    names_this_file: &dyn Fn(&Arc<Known>) -> bool,
) -> Vec<(&'k Mentioned, Range<usize>)> {
    let mut found: Vec<(&'k Mentioned, Range<usize>)> = Vec::new();
    let all: HashSet<&str> = words(page.text).map(|(_, word)| word).collect();
    // An editor that cannot outline the language says that there is nothing in it.
    if let Some(outline) = outline.filter(|outline| !outline.is_empty()) {
        for symbol in outline {
            let of_symbol = facts.knowledge.speaking_of_symbol(&symbol.name);
            let fitting = of_symbol.iter().filter(|mentioned| has_parts(&all, mentioned.name()));
            found.extend(fitting.map(|mentioned| (mentioned, symbol.range.clone())));
        }
        return found;
    }
    // Where each name that counts is first, and where it is first defined.
    let mut seen: HashMap<&str, (Range<usize>, Option<Range<usize>>)> = HashMap::new();
    let mut previous = "";
    for (at, word) in words(page.text) {
        if !facts.knowledge.speaking_of_symbol(word).is_empty() {
            let range = at..at + word.len();
            let (_, definition) = seen.entry(word).or_insert_with(|| (range.clone(), None));
            if definition.is_none() && DEFINES.contains(&previous) {
                *definition = Some(range);
            }
        }
        previous = word;
    }
    for (word, (first, definition)) in seen {
        for mentioned in facts.knowledge.speaking_of_symbol(word) {
            let range = match &definition {
                Some(definition) => definition,
                None if names_this_file(&mentioned.known) => &first,
                None => continue,
            };
            if has_parts(&all, mentioned.name()) {
                found.push((mentioned, range.clone()));
            }
        }
    }
    found.sort_by(|one, other| {
        (one.1.start, &one.0.known.document.relative).cmp(&(other.1.start, &other.0.known.document.relative))
    });
    found
}

/// Of `Thing::frob`, whether the text also has `Thing`.
fn has_parts(all: &HashSet<&str>, symbol: &str) -> bool {
    let mut parts: Vec<&str> = symbol.split([':', '.']).filter(|part| !part.is_empty()).collect();
    parts.pop();
    // What stands before them is often the file or the crate: one that is there is enough.
    parts.is_empty() || parts.iter().any(|part| all.contains(part))
}

/// Names as code has them, with where they begin.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let start = at + rest.find(is_part)?;
        let word = text.get(start..)?;
        let end = start + word.find(|character: char| !is_part(character)).unwrap_or(word.len());
        at = end;
        Some((start, text.get(start..end)?))
    })
}

/// A line, from 1, without its end and indentation; `None` beyond the text.
fn line_range(page: &Page<'_>, line: u32) -> Option<Range<usize>> {
    let mut at = 0;
    for (number, whole) in page.text.split_inclusive('\n').enumerate() {
        if number + 1 == line as usize {
            let start = at + whole.len() - whole.trim_start().len();
            return Some(
                start.min(at + whole.len())..(at + whole.trim_end().len()).max(start.min(at + whole.len())),
            );
        }
        at += whole.len();
    }
    None
}

#[cfg(test)]
mod tests;
