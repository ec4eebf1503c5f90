//! What a file consists of: headings, entries, fields; and what of it can be folded away.

use std::ops::Range;

use markdown::prose::Inert;
use memory::index;

use crate::{Page, Role};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    Heading,
    Entry,
    Field,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub detail: Option<String>,
    pub kind: SymbolKind,
    /// All that belongs to it.
    pub range: Range<usize>,
    /// What it is called, inside of that.
    pub name_range: Range<usize>,
    pub children: Vec<Symbol>,
}

/// Lines, from 0, of which all but the first can be hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    pub start: usize,
    pub end: usize,
    pub is_comment: bool,
}

pub fn symbols(page: &Page<'_>) -> Vec<Symbol> {
    if page.is_too_long() || !page.role.is_ours() || page.role == Role::Settings {
        return Vec::new();
    }
    let fields = page.fields().into_iter().map(|field| Symbol {
        name: field.key.to_owned(),
        detail: Some(field.value.chars().take(80).collect()),
        kind: SymbolKind::Field,
        range: field.key_range.start..field.value_range.end.max(field.key_range.end),
        name_range: field.key_range,
        children: Vec::new(),
    });
    let mut symbols: Vec<Symbol> = fields.collect();
    let entries = if page.role == Role::Index { entries(page) } else { Vec::new() };
    let mut leaves = entries.into_iter().peekable();
    let mut open: Vec<(usize, Symbol)> = Vec::new();
    for heading in headings(page) {
        while let Some(leaf) = leaves.next_if(|leaf| leaf.range.start < heading.range.start) {
            place(leaf, &mut open, &mut symbols);
        }
        close(heading.level, &mut open, &mut symbols);
        let symbol = Symbol {
            name: heading.title,
            detail: None,
            kind: SymbolKind::Heading,
            range: heading.range.start..heading.section_end,
            name_range: heading.range,
            children: Vec::new(),
        };
        open.push((heading.level, symbol));
    }
    for leaf in leaves {
        place(leaf, &mut open, &mut symbols);
    }
    close(0, &mut open, &mut symbols);
    symbols
}

pub fn folds(page: &Page<'_>) -> Vec<Fold> {
    if page.is_too_long() || !page.role.is_ours() || page.role == Role::Settings {
        return Vec::new();
    }
    let starts: Vec<usize> =
        [0].into_iter().chain(page.text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let line_of = |offset: usize| starts.partition_point(|start| *start <= offset).saturating_sub(1);
    let mut folds = Vec::new();
    let mut add = |range: Range<usize>, is_comment: bool| {
        let text = page.text.get(range.clone()).unwrap_or_default();
        let end = range.start + text.trim_end().len();
        let (start, end) = (line_of(range.start), line_of(end.max(range.start + 1) - 1));
        if end > start {
            folds.push(Fold { start, end, is_comment });
        }
    };
    let body = page.front().map_or(0, |front| {
        let after = page.text.get(front.end..).unwrap_or_default();
        let end = front.end + after.find('\n').map_or(after.len(), |at| at + 1);
        add(0..end, false);
        end
    });
    for heading in headings(page) {
        add(heading.range.start..heading.section_end, false);
    }
    let inert = Inert::of(page.text.get(body..).unwrap_or_default());
    inert.code.into_iter().for_each(|range| add(body + range.start..body + range.end, false));
    inert.comments.into_iter().for_each(|range| add(body + range.start..body + range.end, true));
    folds.sort_by_key(|fold| (fold.start, fold.end));
    folds.dedup();
    folds
}

struct Heading {
    level: usize,
    title: String,
    range: Range<usize>,
    section_end: usize,
}

/// `# Title` outside of code and comments, and below the frontmatter.
fn headings(page: &Page<'_>) -> Vec<Heading> {
    let body = page.front().map_or(0, |front| front.end);
    let text = page.text.get(body..).unwrap_or_default();
    let inert = Inert::of(text);
    let mut headings: Vec<Heading> = Vec::new();
    // Those whose section has not ended, outer ones first.
    let mut open: Vec<usize> = Vec::new();
    let levels =
        |headings: &[Heading], number: usize| headings.get(number).map_or(0, |heading| heading.level);
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let line = whole.trim_end();
        let level = line.len() - line.trim_start_matches('#').len();
        let title = line.get(level..).unwrap_or_default();
        let is_heading = (1..=6).contains(&level) && title.starts_with([' ', '\t']);
        if is_heading && !inert.has_code_at(at) && !inert.has_comment_at(at) {
            while let Some(earlier) = open.pop_if(|number| levels(&headings, *number) >= level) {
                if let Some(earlier) = headings.get_mut(earlier) {
                    earlier.section_end = body + at;
                }
            }
            open.push(headings.len());
            headings.push(Heading {
                level,
                title: Some(title.trim().trim_end_matches('#').trim_end())
                    .filter(|title| !title.is_empty())
                    .unwrap_or(line)
                    .to_owned(),
                range: body + at..body + at + line.len(),
                section_end: page.text.len(),
            });
        }
        at += whole.len();
    }
    headings
}

fn entries(page: &Page<'_>) -> Vec<Symbol> {
    let entries = index::entries(page.text).into_iter().map(|entry| Symbol {
        name: [entry.title, entry.target, "-"]
            .into_iter()
            .find(|name| !name.trim().is_empty())
            .unwrap_or_default()
            .to_owned(),
        detail: Some(entry.hook.to_owned()).filter(|hook| !hook.is_empty()),
        kind: SymbolKind::Entry,
        range: page.line_at(entry.target_range.start),
        name_range: entry.target_range,
        children: Vec::new(),
    });
    entries.collect()
}

fn place(symbol: Symbol, open: &mut [(usize, Symbol)], symbols: &mut Vec<Symbol>) {
    match open.last_mut() {
        Some((_, parent)) => parent.children.push(symbol),
        None => symbols.push(symbol),
    }
}

/// Ends the sections that a heading of this level ends.
fn close(level: usize, open: &mut Vec<(usize, Symbol)>, symbols: &mut Vec<Symbol>) {
    while open.last().is_some_and(|(other, _)| *other >= level.max(1)) {
        let Some((_, closed)) = open.pop() else { return };
        place(closed, open, symbols);
    }
}

#[cfg(test)]
mod tests;
