//! Another name for a memory: for its file, with all links to it; or for what it is called, in the file and the indexes.

use std::{
    ops::Range,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use memory::{
    index,
    lint::{Document, Edit, Fix, indexes},
};

use crate::{Facts, Page, Role, links, links::touches};

/// All that belongs to one renaming.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renaming {
    pub edits: Vec<Edit>,
    /// After the edits.
    pub file: Option<(PathBuf, PathBuf)>,
}

/// What is renamed, and where that stands.
struct Subject {
    what: What,
    /// The path of the memory.
    relative: String,
    range: Range<usize>,
    /// What it is called now.
    name: String,
    /// Where the user is; of that, only the folder counts.
    document: Document,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// The file of a memory, by a link to it.
    File,
    /// What a memory is called.
    Name,
}

/// What would be renamed at an offset: where it stands, and what it is called now.
pub fn prepare(page: &Page<'_>, facts: &Facts<'_>, offset: usize) -> Option<(Range<usize>, String)> {
    subject(page, facts, offset).map(|subject| (subject.range, subject.name))
}

/// An error is words for the user.
pub fn rename(page: &Page<'_>, facts: &Facts<'_>, offset: usize, new: &str) -> Result<Renaming, String> {
    let subject = subject(page, facts, offset);
    let Some(Subject { what, relative, document, .. }) = subject else {
        return Err("there is no name of a memory here: try a link or `name:`".to_owned());
    };
    let new = new.trim();
    if new.is_empty() || new.contains(|character: char| character.is_control()) {
        return Err("a memory needs a name of one line".to_owned());
    }
    if what == What::Name {
        return Ok(called(&relative, facts, new));
    }
    let target = file_name(&document, &relative, new)?;
    let directory = facts.knowledge.directory();
    let (old, new) = (directory.join(&relative), directory.join(&target));
    if new.symlink_metadata().is_ok() && !is_same_but_for_case(&old, &new) {
        return Err(format!("there is a {target} already"));
    }
    Ok(Renaming { edits: moved(facts, &old, &new), file: Some((old, new)) })
}

/// The edits that follow when somebody moves a memory's file, or a folder of them: of all that links there, and of links
/// in what moves, which lead from another place then.
pub fn moved(facts: &Facts<'_>, old: &Path, new: &Path) -> Vec<Edit> {
    let (Some(old), Some(new)) = (facts.places.memory_path(old), facts.places.memory_path(new)) else {
        return Vec::new();
    };
    let moves = |relative: &str| carried(relative, &old, &new);
    let name = old.rsplit('/').next().unwrap_or(&old);
    let encoded = name.replace(' ', "%20");
    // Most memories link to nothing. What is escaped reads otherwise.
    let may_change = |document: &Document| {
        let has = |piece: &str| document.text.contains(piece);
        has(name) || has(&encoded) || has("\\") || moves(&document.relative).is_some()
    };
    let documents = facts.knowledge.documents().map(|known| &known.document);
    documents.filter(|it| may_change(it)).flat_map(|it| relinked(facts, it, &moves)).collect()
}

/// One file that has both names, on a disk that does not tell cases apart.
fn is_same_but_for_case(old: &Path, new: &Path) -> bool {
    let id = |path: &Path| path.symlink_metadata().map(|it| (it.dev(), it.ino())).ok();
    let lower = |path: &Path| path.to_string_lossy().to_lowercase();
    lower(old) == lower(new) && id(old) == id(new)
}

/// A document as it is and as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    pub path: PathBuf,
    pub before: String,
    pub after: String,
}

/// The same once the file or folder has been moved: what still links to where it was, with its links mended.
pub fn followed(facts: &Facts<'_>, old: &Path, new: &Path) -> Vec<Rewritten> {
    let (Some(from), Some(to)) = (facts.places.memory_path(old), facts.places.memory_path(new)) else {
        return Vec::new();
    };
    let mut before = facts.knowledge.clone();
    for known in facts.knowledge.documents() {
        let document = &known.document;
        if let Some(was) = carried(&document.relative, &to, &from) {
            before = before.replaced(&document.relative, None, facts.files);
            before = before.replaced(&was, Some(document.text.clone()), facts.files);
        }
    }
    let edits = moved(&Facts { knowledge: &before, ..*facts }, old, new);
    let mut paths: Vec<PathBuf> = edits.iter().map(|edit| edit.path.clone()).collect();
    paths.dedup();
    let fix = Fix { title: String::new(), edits };
    let rewritten = paths.into_iter().filter_map(|path| {
        let relative = facts.places.memory_path(&path)?;
        let text = before.document(&relative)?.document.text.clone();
        let after = fix.applied(&path, &text);
        let path = carried(&relative, &from, &to).map_or(path, |now| facts.knowledge.directory().join(now));
        Some(Rewritten { path, before: text, after })
    });
    rewritten.collect()
}

/// Where a path is after a move of it, or of a folder above it.
fn carried(relative: &str, old: &str, new: &str) -> Option<String> {
    match relative.strip_prefix(old)? {
        "" => Some(new.to_owned()),
        rest => rest.starts_with('/').then(|| format!("{new}{rest}")),
    }
}

fn subject(page: &Page<'_>, facts: &Facts<'_>, offset: usize) -> Option<Subject> {
    if page.is_too_long() {
        return None;
    }
    let own = facts.places.memory_path(page.path)?;
    let document = Document::new(page.path.to_owned(), own.clone(), String::new());
    if page.role == Role::Memory
        && let Some(field) = page.fields().into_iter().find(|field| {
            field.key == "name" && touches(&field.value_range, offset) && !field.value.is_empty()
        })
    {
        let (range, name) = (field.value_range, field.value.to_owned());
        return Some(Subject { what: What::Name, relative: own, range, name, document });
    }
    if let Some(link) = links::all(page, facts).into_iter().find(|link| touches(&link.range, offset)) {
        let relative = linked(facts, &document, &link)?;
        facts.knowledge.document(&relative).filter(|known| known.is_memory())?;
        let (range, name) = (link.range, link.written);
        return Some(Subject { what: What::File, relative, range, name, document });
    }
    let entries = index::entries(page.text).into_iter().filter(|_| page.role == Role::Index);
    let mut titles = entries.map(|entry| (title_range(page.text, &entry), entry));
    let (range, entry) = titles.find(|(title, _)| touches(title, offset))?;
    let relative = indexes::target_of(&document, entry.target)?;
    facts.knowledge.document(&relative).filter(|known| known.is_memory())?;
    let name = entry.title.to_owned();
    Some(Subject { what: What::Name, relative, range, name, document })
}

/// The file of the memory directory that a link of a document leads to: from where the document is, or from the top.
fn linked(facts: &Facts<'_>, document: &Document, link: &links::Link) -> Option<String> {
    let from_here = indexes::target_of(document, &link.written).filter(|path| !path.starts_with('/'));
    let ways = [from_here, facts.places.memory_path(&link.target)];
    let knowledge = facts.knowledge;
    let is_there = |path: &String| {
        knowledge.document(path).is_some() || knowledge.directory().join(path).symlink_metadata().is_ok()
    };
    ways.into_iter().flatten().find(is_there)
}

fn title_range(text: &str, entry: &index::Entry<'_>) -> Range<usize> {
    let start = entry.title.as_ptr().addr().saturating_sub(text.as_ptr().addr());
    start..start + entry.title.len()
}

/// A plain name, in the folder where the file is; or a path from the document in which it is written.
fn file_name(document: &Document, old: &str, new: &str) -> Result<String, String> {
    let folder = old.rfind('/').and_then(|at| old.get(..=at)).unwrap_or_default();
    let new = new.trim_start_matches("./");
    let name = if new.to_lowercase().ends_with(".md") { new.to_owned() } else { format!("{new}.md") };
    let path = match name.contains('/') {
        true => indexes::target_of(document, &name).unwrap_or_default(),
        false => format!("{folder}{name}"),
    };
    let is_plain = |part: &str| !part.is_empty() && !part.starts_with('.') && part.len() < 200;
    if !path.split('/').all(is_plain) || path.contains(['<', '>', '\\', '#']) || index::is_index(&path) {
        return Err(format!("{name} cannot be the name of a memory's file"));
    }
    Ok(path)
}

/// The name in the frontmatter, and the titles of its entries.
fn called(relative: &str, facts: &Facts<'_>, new: &str) -> Renaming {
    let mut edits = Vec::new();
    for known in facts.knowledge.documents() {
        let document = &known.document;
        if document.relative == relative {
            let page = Page { path: &document.path, text: &document.text, role: Role::Memory };
            let field = page.fields().into_iter().find(|field| field.key == "name");
            edits.extend(field.map(|field| Edit {
                path: document.path.clone(),
                range: field.value_range.clone(),
                replacement: quoted_as(page.text, &field.value_range, new),
            }));
        } else if index::is_index(&document.relative) {
            let entries = index::entries(&document.text).into_iter();
            let of_it = entries
                .filter(|entry| indexes::target_of(document, entry.target).as_deref() == Some(relative));
            edits.extend(of_it.map(|entry| Edit {
                path: document.path.clone(),
                range: title_range(&document.text, &entry),
                replacement: new.replace(['[', ']'], ""),
            }));
        }
    }
    Renaming { edits, file: None }
}

/// As YAML wants it between the marks that are there; between none, marks are added where it needs them.
fn quoted_as(text: &str, range: &Range<usize>, new: &str) -> String {
    let before = text.get(..range.start).and_then(|before| before.chars().next_back());
    match before {
        Some('"') => new.replace('\\', "\\\\").replace('"', "\\\""),
        Some('\'') => new.replace('\'', "''"),
        _ if new
            .contains([':', '#', '"', '\'', '[', ']', '{', '}', '&', '*', '!', '|', '>', '%', '@', '`']) =>
        {
            format!("\"{}\"", new.replace('\\', "\\\\").replace('"', "\\\""))
        }
        _ => new.to_owned(),
    }
}

/// The links of a document that lead elsewhere after a move, as they would be written then.
fn relinked(facts: &Facts<'_>, document: &Document, moves: &dyn Fn(&str) -> Option<String>) -> Vec<Edit> {
    let Some(role) = facts.places.role(&document.path) else { return Vec::new() };
    let here = moves(&document.relative).unwrap_or_else(|| document.relative.clone());
    let folder = here.rfind('/').and_then(|at| here.get(..=at)).unwrap_or_default();
    let page = Page { path: &document.path, text: &document.text, role };
    let mut edits: Vec<Edit> = Vec::new();
    for link in links::all(&page, facts) {
        let Some(old) = linked(facts, document, &link) else { continue };
        let new = moves(&old);
        if new.is_none() && folder == document.folder() {
            continue;
        }
        // A whole path leads there from everywhere.
        let path = match (link.written.starts_with('/'), &new) {
            (true, None) => continue,
            (true, Some(new)) => facts.knowledge.directory().join(new).to_string_lossy().into_owned(),
            (false, _) => index::path_from(folder, new.as_deref().unwrap_or(&old)),
        };
        let Some((range, replacement)) = rewritten(&document.text, &link, path) else { continue };
        // Several links by one reference are written once.
        if !edits.iter().any(|edit| edit.range == range) {
            edits.push(Edit { path: document.path.clone(), range, replacement });
        }
    }
    edits
}

/// Where the path of a link stands, without a place in the file, and what to write there.
fn rewritten(text: &str, link: &links::Link, path: String) -> Option<(Range<usize>, String)> {
    let shown = text.get(link.written_range.clone())?;
    // Nobody knows where in the link it is written.
    if shown.starts_with('[') || path == link.written {
        return None;
    }
    let anchor = shown.find('#');
    let (at, len) = match shown.find(&link.written) {
        Some(at) => (at, link.written.len()),
        None => (0, anchor.unwrap_or(shown.len())),
    };
    let range = link.written_range.start + at..link.written_range.start + at + len;
    let stands_alone = text.get(..range.start)?.trim_end_matches(' ').ends_with(['<', '`']);
    let replacement = match path.contains([' ', '(', ')']) && !stands_alone {
        true if anchor.is_some() => path.replace(' ', "%20"),
        true => format!("<{path}>"),
        false => path,
    };
    Some((range, replacement))
}

#[cfg(test)]
mod tests;
