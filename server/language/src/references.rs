//! Who speaks of a file: which index, which memory, which instructions.

use std::{
    fs,
    path::{Path, PathBuf},
};

use memory::lint::Document;

use crate::{Facts, Page, Role, Spot, links};

/// Larger instructions are not read for it.
const LARGEST: u64 = 1 << 20;

pub type Reference = Spot;

/// Of what is under the pointer, or of the file itself. `open` gives the text of a file as the editor has it.
pub fn references(
    page: &Page<'_>,
    facts: &Facts<'_>,
    offset: usize,
    open: &dyn Fn(&Path) -> Option<String>,
) -> Vec<Reference> {
    let at = links::all(page, facts).into_iter().find(|link| links::touches(&link.range, offset));
    let target = at.map_or_else(|| page.path.to_owned(), |link| link.target);
    let mut found = Vec::new();
    let mut look = |path: &Path, text: &str, role: Role| {
        let page = Page { path, text, role };
        let to_it = links::all(&page, facts).into_iter().filter(|link| same(&link.target, &target));
        found.extend(to_it.map(|link| Spot { path: path.to_owned(), range: link.range }));
    };
    for known in facts.knowledge.documents() {
        let Document { path, text, .. } = &known.document;
        // Most memories link to nothing; the index links to all.
        match facts.places.role(path) {
            Some(role @ (Role::Index | Role::Memory)) if text.contains(file_name(&target)) => {
                look(path, text, role);
            }
            _ => {}
        }
    }
    for path in instruction_files(facts) {
        let Some(text) = open(&path).or_else(|| read(&path)) else { continue };
        look(&path, &text, facts.places.role(&path).unwrap_or(Role::Instructions));
    }
    found
}

/// The instructions of the workspace's folders and of the user.
fn instruction_files(facts: &Facts<'_>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let homes = [facts.places.config_home.clone(), facts.places.managed.clone()];
    let folders =
        facts.places.roots.iter().flat_map(|root| root.ancestors().map(Path::to_owned)).chain(homes);
    for folder in folders {
        for name in ["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude/CLAUDE.md"] {
            files.push(folder.join(name));
        }
        for rules in [folder.join("rules"), folder.join(".claude/rules")] {
            let rules = rules.read_dir().into_iter().flatten().flatten().take(1_000);
            files.extend(
                rules.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "md")),
            );
        }
    }
    files.sort();
    files.dedup();
    files
}

fn same(one: &Path, other: &Path) -> bool {
    one == other
        || one.file_name() == other.file_name()
            && fs::canonicalize(one).ok().is_some_and(|one| fs::canonicalize(other).ok() == Some(one))
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn read(path: &Path) -> Option<String> {
    let metadata = path.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() <= LARGEST)?;
    let bytes = fs::read(path).ok().filter(|bytes| bytes.len() as u64 <= metadata.len().max(LARGEST))?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
