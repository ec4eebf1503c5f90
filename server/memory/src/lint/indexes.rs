//! Indexes and what they name: dead links, orphans, limits.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::{Document, Edit, Finding, Fix, Role, code};
use crate::{Topic, index};

/// Lines of one index that are named for one thing.
const MOST: usize = 200;
/// Characters of a target that are shown.
const SHOWN: usize = 100;
const TEAM: &str = "team/";

/// What the indexes link to, and what there is to link to.
#[derive(Clone, Debug, Default)]
pub struct Linked {
    files: HashSet<String>,
    linked: HashSet<String>,
    /// The texts of the indexes, by their paths.
    texts: HashMap<String, String>,
}

impl Linked {
    pub fn of(documents: &[Document]) -> Self {
        Self::of_all(documents.iter())
    }

    pub fn of_all<'d>(documents: impl Iterator<Item = &'d Document>) -> Self {
        let mut known = Self::default();
        for document in documents {
            known.files.insert(document.relative.clone());
            if document.role == Role::Index {
                let targets = index::entries(&document.text).into_iter();
                known.linked.extend(targets.filter_map(|entry| target_of(document, entry.target)));
                known.texts.insert(document.relative.clone(), document.text.clone());
            }
        }
        known
    }
}

pub(super) fn lint(dir: &Path, document: &Document, known: &Linked, findings: &mut Vec<Finding>) {
    lengths(document, findings);
    let mut dead = 0;
    for entry in index::entries(&document.text) {
        let Some(target) = target_of(document, entry.target) else { continue };
        let exists = known.files.contains(&target) || dir.join(&target).symlink_metadata().is_ok();
        if !exists && dead < MOST {
            dead += 1;
            let line = entry.line + 1;
            let shown: String = entry.target.chars().take(SHOWN).collect();
            let message = format!("there is no {shown}, which this entry links to");
            let fix = document.fix("Remove the line", document.line_range(line), "");
            findings.push(Finding {
                fix,
                ..document.finding_at(entry.target_range.clone(), code::DEAD_LINK, message)
            });
        }
    }
}

pub(super) fn lint_orphan(dir: &Path, memory: &Document, known: &Linked, findings: &mut Vec<Finding>) {
    if !known.linked.contains(&memory.relative) {
        let fix = Some(added_line(dir, known, memory));
        let message = "no index links to this memory, so that only recall may find it";
        findings.push(Finding { fix, ..memory.finding(1, code::ORPHAN, message) });
    }
}

/// A path relative to the memory directory, or an absolute one; `None` for what is no file.
pub fn target_of(index: &Document, written: &str) -> Option<String> {
    let target = written.split('#').next().unwrap_or_default().replace("%20", " ");
    if target.is_empty() || target.contains("://") || target.starts_with("mailto:") || target.starts_with('~')
    {
        return None;
    }
    if target.starts_with('/') {
        return Some(target);
    }
    let mut names: Vec<&str> = Vec::new();
    for name in index.folder().split('/').chain(target.split('/')) {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

fn lengths(index: &Document, findings: &mut Vec<Finding>) {
    let lines = index.text.lines().count();
    if lines > index::LINES || index.text.len() > index::BYTES {
        let by_bytes = index.line_at(index.text.floor_char_boundary(index::BYTES));
        let first = if index.text.len() > index::BYTES { by_bytes } else { usize::MAX };
        let message = format!(
            "the index has {lines} lines and {} bytes; only {} lines and {} bytes are loaded: move details into the \
             memories, merge them, drop what no longer holds",
            index.text.len(),
            index::LINES,
            index::BYTES
        );
        findings.push(index.finding(first.min(index::LINES + 1).min(lines), code::INDEX_TOO_LONG, message));
    }
    let long =
        index.text.lines().enumerate().filter(|(_, line)| line.chars().nth(index::LONG_LINE).is_some());
    for (line, _) in long.take(MOST) {
        let message = format!(
            "the line has more than {} characters: an entry needs {} at most, the rest belongs in the memory",
            index::LONG_LINE,
            index::LINE_CHARS
        );
        findings.push(index.finding(line + 1, code::LONG_LINE, message));
    }
}

fn added_line(dir: &Path, known: &Linked, memory: &Document) -> Fix {
    let folder = if memory.relative.starts_with(TEAM) { TEAM } else { "" };
    let name = format!("{folder}{}", index::NAME);
    let text = known.texts.get(&name).map_or("", String::as_str);
    let link = memory.relative.strip_prefix(folder).unwrap_or(&memory.relative);
    let with_line = index::with_entry(text, &line_for(memory, link));
    let replacement = with_line.get(text.len()..).unwrap_or_default().to_owned();
    let edit = Edit { path: dir.join(&name), range: text.len()..text.len(), replacement };
    Fix { title: format!("Add it to {name}"), edits: vec![edit] }
}

/// An entry for the memory, as the index has them.
pub fn line_for(memory: &Document, link: &str) -> String {
    let topic = Topic::parse(&memory.text);
    let stem = link.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map_or(link, |(stem, _)| stem);
    let title = topic.name.unwrap_or_else(|| stem.replace(['_', '-'], " ")).replace(['[', ']'], "");
    let entry = format!("- [{title}]({})", index::written_target(link));
    let Some(description) = topic.description else { return entry };
    let line = format!("{entry} — {description}");
    if line.chars().nth(index::LINE_CHARS).is_none() {
        return line;
    }
    let room = index::LINE_CHARS.saturating_sub(entry.chars().count() + 4);
    let shortened: String = description.chars().take(room).collect();
    if shortened.is_empty() { entry } else { format!("{entry} — {}…", shortened.trim_end()) }
}
