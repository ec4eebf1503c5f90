//! Which of the things that were told are not known yet, and how the memories look with them.

use std::collections::BTreeSet;

use memory::{
    compose::{Draft, index_line},
    directive::{Asked, Known},
};

use super::super::{
    fork::Task,
    gist::{Gist, Relation},
    page::Page,
};

/// Files that one extraction looks at.
const MOST_READ: usize = 8;
/// What others share is changed by them.
const TEAM: &str = "team/";

/// What was told, and the memories that may say the same or otherwise.
pub(super) struct News {
    told: Vec<(Draft, Vec<String>)>,
}

/// A file that is written.
pub(super) struct Change {
    /// Relative to the directory.
    pub(super) path: String,
    pub(super) content: String,
    /// Its line in the index, if that has to be a new one.
    pub(super) line: Option<String>,
}

impl News {
    pub(super) fn among(drafts: Vec<Draft>, asked: &Asked) -> Self {
        let described: Vec<(&Known, Gist)> =
            asked.memories.iter().map(|known| (known, Gist::of(&described(known)))).collect();
        let mut told = Vec::new();
        for draft in drafts {
            let gist = Gist::of(&draft.statement);
            let is_known = |known: &Known| Gist::of(&known.description).is_as_written(&gist);
            if asked.memories.iter().any(is_known) {
                continue;
            }
            let concerned = described.iter().filter(|(known, about)| {
                known.path == draft.file_name
                    || gist.concerns(about)
                    || gist.relation(&Gist::of(&known.description)) != Relation::Other
            });
            let concerned = concerned.map(|(known, _)| known.path.clone()).take(MOST_READ).collect();
            told.push((draft, concerned));
        }
        Self { told }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// Relative paths, each once.
    pub(super) fn to_read(&self) -> BTreeSet<String> {
        self.told.iter().flat_map(|(_, paths)| paths).take(MOST_READ).cloned().collect()
    }

    /// With what is in the files that were read.
    pub(super) fn changes(&self, task: &Task<'_>) -> Vec<Change> {
        let origin = task.asked.today.map(|today| format!("created: {today}\n")).unwrap_or_default();
        let mut changes: Vec<Change> = Vec::new();
        for (draft, paths) in &self.told {
            let pages: Vec<(&String, Page)> =
                paths.iter().filter_map(|path| Some((path, Page::of(&task.text(path)?)))).collect();
            let gist = Gist::of(&draft.statement);
            let related = |relation: Relation| {
                pages.iter().find_map(|(path, page)| {
                    let claim = page.claims.iter().find(|claim| claim.gist.relation(&gist) == relation)?;
                    Some((*path, page, claim.line))
                })
            };
            let is_said = |page: &Page| page.claims.iter().any(|claim| gist.is_within(&claim.gist));
            if related(Relation::Same).is_some() || pages.iter().any(|(_, page)| is_said(page)) {
                continue;
            }
            let refuted = related(Relation::Contradictory).filter(|(path, ..)| !path.starts_with(TEAM));
            let change = match refuted {
                Some((path, page, line)) => mended(draft, path, page, line, &origin),
                None => added(draft, &pages, &changes, task, &origin),
            };
            changes.retain(|earlier| earlier.path != change.path);
            changes.push(change);
        }
        changes
    }
}

/// The description and the name, which often says more.
fn described(known: &Known) -> String {
    let name = known.path.trim_end_matches(".md").replace(['-', '_', '/'], " ");
    format!("{} {name}", known.description)
}

/// The memory says now what the user says now.
fn mended(draft: &Draft, path: &str, page: &Page, line: usize, origin: &str) -> Change {
    let draft = Draft { file_name: path.to_owned(), ..draft.clone() };
    if page.claims.len() == 1 {
        let (content, line) = (draft.content(None, origin), Some(index_line(&draft)));
        return Change { path: path.to_owned(), content, line };
    }
    let mut lines = page.lines.clone();
    if let Some(old) = lines.get_mut(line) {
        let bullet = if old.trim_start().starts_with("- ") { "- " } else { "" };
        *old = format!("{bullet}{}", draft.statement);
    }
    Change { path: path.to_owned(), content: lines.join("\n") + "\n", line: None }
}

fn added(
    draft: &Draft,
    pages: &[(&String, Page)],
    changes: &[Change],
    task: &Task<'_>,
    origin: &str,
) -> Change {
    let is_taken = |name: &str| {
        task.asked.memories.iter().any(|known| known.path == name) || changes.iter().any(|it| it.path == name)
    };
    if let Some((path, page)) = pages.iter().find(|(path, _)| **path == draft.file_name)
        && !changes.iter().any(|change| change.path == **path)
    {
        let content = draft.content(Some(&page.text()), origin);
        return Change { path: draft.file_name.clone(), content, line: Some(index_line(draft)) };
    }
    let stem = draft.file_name.trim_end_matches(".md");
    let numbered = (2..100).map(|number| format!("{stem}-{number}.md"));
    let mut names = [draft.file_name.clone()].into_iter().chain(numbered);
    let file_name = names.find(|name| !is_taken(name)).unwrap_or_else(|| draft.file_name.clone());
    let draft = Draft { file_name: file_name.clone(), ..draft.clone() };
    Change { path: file_name, content: draft.content(None, origin), line: Some(index_line(&draft)) }
}
