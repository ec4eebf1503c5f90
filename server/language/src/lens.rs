//! Lines above a place: how often a memory was recalled, what was changed last and how to take it back, what is gone.

use std::{ops::Range, path::PathBuf};

use memory::{history::By, lint::code, mentions};

use crate::{Facts, Page, Role, ages, ago, findings, hover};

/// For so long a change that somebody else made is news.
const NEWS_SECONDS: i64 = 10 * 60;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lens {
    pub range: Range<usize>,
    pub title: String,
    pub leads_to: LeadsTo,
}

/// What a click does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeadsTo {
    Nothing,
    /// The history of this memory.
    History(PathBuf),
    /// Takes back a change.
    Undo(String),
}

pub fn lenses(page: &Page<'_>, facts: &Facts<'_>) -> Vec<Lens> {
    if page.is_too_long() || !matches!(page.role, Role::Memory | Role::Index) {
        return Vec::new();
    }
    let Some(relative) = facts.places.memory_path(page.path) else { return Vec::new() };
    let first = page.line_at(0);
    let mut lenses = Vec::new();
    if page.role == Role::Memory
        && let Some(memory) = (facts.memory)(&relative)
    {
        let counts = memory.counts;
        let title = match counts.last {
            Some(last) => format!("recalled {}×, last {}", counts.recalled, ago(last, facts.now)),
            None => "never recalled".to_owned(),
        };
        let leads_to = LeadsTo::History(page.path.to_owned());
        lenses.push(Lens { range: first.clone(), title, leads_to });
    }
    if let Some(change) = facts.knowledge.last_change(&relative) {
        let is_news = change.by != By::User && ages::seconds(change.at, facts.now) < NEWS_SECONDS;
        let title = match is_news {
            true => format!("just changed by {} — undo", actor(change.by)),
            false => format!("undo last change ({})", hover::changed(change, facts)),
        };
        lenses.push(Lens { range: first, title, leads_to: LeadsTo::Undo(change.id.clone()) });
    }
    let mut stale = findings::diagnostics(page, facts);
    stale.retain(|finding| finding.code == code::STALE_REFERENCE);
    let named = if stale.is_empty() { Vec::new() } else { mentions::find(page.text) };
    for finding in stale {
        let Some(named) = named.iter().find(|mention| mention.range == finding.range) else { continue };
        let name = named.file(facts.files).map_or(&*named.name, |file| file.path);
        let title = format!("stale: {name} is gone");
        lenses.push(Lens { range: finding.range, title, leads_to: LeadsTo::Nothing });
    }
    lenses
}

fn actor(by: By) -> &'static str {
    match by {
        By::Model => "the model",
        By::Extraction => "what was learnt from a session",
        By::Dream => "a dream",
        By::User => "you",
        By::Team => "the team",
    }
}

#[cfg(test)]
mod tests;
