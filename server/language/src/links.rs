//! What leads elsewhere: entries of the index, links, includes, files that are named.

use std::{
    ops::Range,
    path::{Component, Path, PathBuf},
};

use memory::{
    index, instructions,
    lint::{Document, indexes},
    mentions,
};

use crate::{Facts, Page, Role, Spot};

/// A piece of a text that leads to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub range: Range<usize>,
    pub target: PathBuf,
    /// From 0.
    pub line: Option<u32>,
    /// The path as it is written.
    pub written: String,
    /// Where it is written, with all that belongs to it: of a link by reference, in its definition.
    pub written_range: Range<usize>,
}

/// Links to files that are there, in the order of the text.
pub fn links(page: &Page<'_>, facts: &Facts<'_>) -> Vec<Link> {
    all(page, facts).into_iter().filter(|link| link.target.exists()).collect()
}

/// Where the thing at an offset is.
pub fn definition(page: &Page<'_>, facts: &Facts<'_>, offset: usize) -> Option<(Spot, Option<u32>)> {
    let link = all(page, facts).into_iter().find(|link| touches(&link.range, offset))?;
    link.target.exists().then_some((Spot { path: link.target, range: 0..0 }, link.line))
}

/// Links, whether or not there is a file at their end.
pub(crate) fn all(page: &Page<'_>, facts: &Facts<'_>) -> Vec<Link> {
    if page.is_too_long() {
        return Vec::new();
    }
    let mut links = match page.role {
        Role::Index => {
            let mut links = of_index(page, facts);
            links.extend(of_prose(page));
            links
        }
        Role::Memory => of_memory(page, facts),
        Role::Instructions | Role::Rule => {
            let mut links = includes(page, facts);
            links.extend(of_prose(page));
            links
        }
        Role::Skill | Role::Command => of_prose(page),
        Role::Settings | Role::Source => Vec::new(),
    };
    for link in &mut links {
        link.target = without_dots(&link.target);
    }
    links.sort_by_key(|link| (link.range.start, link.range.end));
    links.dedup_by(|next, one| next.range.start < one.range.end);
    links
}

pub(crate) fn touches(range: &Range<usize>, offset: usize) -> bool {
    range.start <= offset && offset <= range.end
}

fn of_index(page: &Page<'_>, facts: &Facts<'_>) -> Vec<Link> {
    let Some(relative) = facts.places.memory_path(page.path) else { return Vec::new() };
    // Only its folder is asked for.
    let document = Document::new(page.path.to_owned(), relative, String::new());
    let entries = index::entries(page.text).into_iter();
    let links = entries.filter_map(|entry| {
        let target = indexes::target_of(&document, entry.target)?;
        Some(Link {
            range: entry.target_range.clone(),
            target: facts.knowledge.directory().join(target),
            line: None,
            written: entry.target.split('#').next().unwrap_or_default().replace("%20", " "),
            written_range: entry.target_range,
        })
    });
    links.collect()
}

fn of_memory(page: &Page<'_>, facts: &Facts<'_>) -> Vec<Link> {
    let folder = page.path.parent().unwrap_or(page.path);
    let found = mentions::find(page.text).into_iter().filter_map(|mention| {
        let named = mention.file(facts.files);
        let path = named.map_or_else(|| mention.name.split('#').next().unwrap_or_default(), |it| it.path);
        let is_link = mention.place == mentions::Place::Link && !path.is_empty() && !path.contains(':');
        if named.is_none() && !is_link {
            return None;
        }
        let beside = [folder.join(path), facts.knowledge.directory().join(path)];
        let beside = beside.into_iter().find(|path| path.exists());
        let target = beside.or_else(|| facts.files.find(path)).unwrap_or_else(|| folder.join(path));
        let line = named.and_then(|named| named.line).map(|line| line.saturating_sub(1));
        let written_range = mention.name_range.clone();
        let range = if mention.is_by_reference() { mention.range.clone() } else { written_range.clone() };
        Some(Link { range, target, line, written: path.to_owned(), written_range })
    });
    found.collect()
}

fn includes(page: &Page<'_>, facts: &Facts<'_>) -> Vec<Link> {
    let found = instructions::includes(page.path, page.text, facts.home).into_iter();
    found
        .map(|include| Link {
            range: include.range.clone(),
            target: include.path,
            line: None,
            written: include.target,
            written_range: include.range,
        })
        .collect()
}

/// Links to files beside the text.
fn of_prose(page: &Page<'_>) -> Vec<Link> {
    let folder = page.path.parent().unwrap_or(page.path);
    let links = markdown::links::find(page.text).into_iter().filter_map(|link| {
        let written = link.target.split('#').next().unwrap_or_default().replace("%20", " ");
        let is_file = !written.is_empty() && !written.contains(':');
        // In an index the words of a link are a title, which is a thing of its own.
        let is_within =
            link.range.start <= link.target_range.start && link.target_range.end <= link.range.end;
        let only_target = page.role == Role::Index && is_within;
        let range = if only_target { link.target_range.clone() } else { link.range };
        let target = folder.join(&written);
        is_file.then_some(Link { range, target, line: None, written, written_range: link.target_range })
    });
    links.collect()
}

/// As editors do it: `..` takes back the folder that is written before it. So one file has one name.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests;
