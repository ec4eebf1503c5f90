//! What may come next: keys and values of a frontmatter, links to memories, includes, keys of settings.

use std::{collections::HashSet, ops::Range};

use memory::{Kind, index};

use crate::{Facts, Known, Page, Role, hover, settings_file};

const MOST: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    Key,
    Value,
    File,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub label: String,
    pub kind: ItemKind,
    pub detail: Option<String>,
    /// In Markdown.
    pub documentation: Option<String>,
    /// What is typed already, and goes.
    pub range: Range<usize>,
    pub text: String,
}

pub fn complete(page: &Page<'_>, facts: &Facts<'_>, offset: usize) -> Vec<Item> {
    if page.is_too_long() {
        return Vec::new();
    }
    let offset = page.text.floor_char_boundary(offset);
    let mut items = match page.role {
        Role::Settings => settings_file::complete(page, offset),
        Role::Source => Vec::new(),
        _ => in_markdown(page, facts, offset),
    };
    items.truncate(MOST);
    items
}

fn in_markdown(page: &Page<'_>, facts: &Facts<'_>, offset: usize) -> Vec<Item> {
    if let Some(items) = in_front(page, offset) {
        return items;
    }
    let line = page.line_at(offset);
    let typed = page.text.get(line.start..offset).unwrap_or_default();
    if let Some(start) = typed.rfind("](") {
        let target = typed.get(start + 2..).unwrap_or_default();
        if matches!(page.role, Role::Index | Role::Memory) && !target.contains(')') {
            return memories(page, facts, line.start + start + 2..offset);
        }
    }
    if page.role.is_instructions()
        && let Some(start) = typed.rfind('@')
    {
        let before = typed.get(..start).and_then(|before| before.chars().next_back());
        let target = typed.get(start + 1..).unwrap_or_default();
        if before.is_none_or(char::is_whitespace) && !target.contains(char::is_whitespace) {
            return includes(page, facts, target, line.start + start + 1..offset);
        }
    }
    Vec::new()
}

/// `None` outside of the frontmatter. One that is not closed yet is being written.
fn in_front(page: &Page<'_>, offset: usize) -> Option<Vec<Item>> {
    if !page.role.has_frontmatter() {
        return None;
    }
    let mark = if page.text.starts_with('\u{feff}') { 3 } else { 0 };
    let front = page.front().or_else(|| {
        let opening = page.text.get(mark..)?.split_inclusive('\n').next()?;
        (opening.trim_end() == "---").then(|| mark + opening.len()..page.text.len())
    })?;
    if offset < front.start || offset > front.end {
        return None;
    }
    let line = page.line_at(offset);
    let typed = page.text.get(line.start..offset)?;
    if let Some((key, value)) = typed.split_once(':') {
        let start = offset - value.trim_start().len();
        return Some(values(page.role, key.trim(), start..offset));
    }
    if typed.starts_with([' ', '\t', '-']) {
        return Some(Vec::new());
    }
    let has = |key: &str| page.fields().iter().any(|field| field.key.eq_ignore_ascii_case(key));
    let keys = hover::fields_of(page.role).iter().filter(|(key, _)| *key == typed || !has(key));
    let items = keys.map(|(key, words)| Item {
        label: (*key).to_owned(),
        kind: ItemKind::Key,
        detail: None,
        documentation: Some((*words).to_owned()),
        range: line.start..offset,
        text: format!("{key}: "),
    });
    Some(items.collect())
}

fn values(role: Role, key: &str, range: Range<usize>) -> Vec<Item> {
    let item = |label: &str, words: Option<&str>| Item {
        label: label.to_owned(),
        kind: ItemKind::Value,
        detail: words.map(str::to_owned),
        documentation: None,
        range: range.clone(),
        text: label.to_owned(),
    };
    match (role, key.to_lowercase().as_str()) {
        (Role::Memory, "type") => {
            Kind::ALL.into_iter().map(|kind| item(kind.as_str(), Some(hover::kind_words(kind)))).collect()
        }
        (Role::Skill | Role::Command, "disable-model-invocation") => {
            ["true", "false"].into_iter().map(|value| item(value, None)).collect()
        }
        _ => Vec::new(),
    }
}

fn memories(page: &Page<'_>, facts: &Facts<'_>, range: Range<usize>) -> Vec<Item> {
    let own = facts.places.memory_path(page.path).unwrap_or_default();
    let folder = own.rfind('/').and_then(|at| own.get(..=at)).unwrap_or_default();
    let listed: HashSet<String> = match page.role {
        Role::Index => {
            index::entries(page.text).iter().map(|entry| index::plain_target(entry.target)).collect()
        }
        _ => HashSet::new(),
    };
    let memories = facts.knowledge.documents().filter(|known| known.is_memory());
    let mut found: Vec<(bool, &str, &Known)> = memories
        .filter(|known| known.document.relative != own)
        .filter_map(|known| {
            let target = known.document.relative.strip_prefix(folder)?;
            Some((listed.contains(target), target, &**known))
        })
        .collect();
    // What the index has not, comes first.
    found.sort_by_key(|(is_listed, target, _)| (*is_listed, *target));
    let items = found.into_iter().take(MOST).map(|(_, target, known)| Item {
        label: target.to_owned(),
        kind: ItemKind::File,
        detail: Some(known.name.clone()),
        documentation: Some(hover::beginning(known.body())),
        range: range.clone(),
        text: index::written_target(target),
    });
    items.collect()
}

/// Of an include: files beside the text, or below the folder that was typed.
fn includes(page: &Page<'_>, facts: &Facts<'_>, target: &str, range: Range<usize>) -> Vec<Item> {
    let (folder, typed) = target.rsplit_once('/').map_or(("", target), |(folder, typed)| (folder, typed));
    let base = match target.strip_prefix("~/") {
        Some(_) => facts.home.join(folder.trim_start_matches('~').trim_start_matches('/')),
        None if target.starts_with('/') => std::path::PathBuf::from(format!("{folder}/")),
        None => page.path.parent().unwrap_or(page.path).join(folder),
    };
    let start = range.end - typed.len();
    let entries = base.read_dir().into_iter().flatten().flatten().take(MOST * 10);
    let mut items: Vec<Item> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_folder = entry.file_type().ok()?.is_dir();
            let is_hidden = name.starts_with('.') && !typed.starts_with('.');
            if is_hidden || !name.starts_with(typed) || name.contains(char::is_control) {
                return None;
            }
            let text = name.replace(' ', "\\ ");
            let text = if is_folder { format!("{text}/") } else { text };
            let (kind, detail, documentation) = (ItemKind::File, None, None);
            Some(Item { label: name, kind, detail, documentation, range: start..range.end, text })
        })
        .collect();
    items.sort_by(|one, other| one.label.cmp(&other.label));
    items
}

#[cfg(test)]
mod tests;
