//! Who speaks of a file: which index, which memory, which instructions.

use std::{
    fs,
    path::{Path, PathBuf},
};

use memory::lint::Document;

use crate::{Facts, Page, Role, Spot, links};

/// Of one name, and in one folder of rules.
const MOST_FILES: usize = 1_000;
const INSTRUCTIONS: [&str; 3] = ["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"];

/// Larger instructions are not read for it.
const LARGEST: u64 = 1 << 20;

/// Of what is under the pointer, or of the file itself. `open` gives the text of a file as the editor has it.
pub fn references(
    page: &Page<'_>,
    facts: &Facts<'_>,
    offset: usize,
    open: &dyn Fn(&Path) -> Option<String>,
) -> Vec<Spot> {
    let at = links::all(page, facts).into_iter().find(|link| links::touches(&link.range, offset));
    let target = at.map_or_else(|| page.path.to_owned(), |link| link.target);
    let name = file_name(&target);
    let names = [name.to_owned(), name.replace(' ', "%20")];
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
            Some(role @ (Role::Index | Role::Memory)) if names.iter().any(|name| text.contains(name)) => {
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
        files.extend(INSTRUCTIONS.map(|name| folder.join(name)));
        files.push(folder.join(".claude/CLAUDE.md"));
        for rules in [folder.join("rules"), folder.join(".claude/rules")] {
            files.extend(markdown_below(rules));
        }
    }
    // In the folders of the workspace, too: they are in force for what is below.
    files.extend(INSTRUCTIONS.iter().flat_map(|name| facts.files.named(name, MOST_FILES)));
    files.sort();
    files.dedup();
    files
}

fn markdown_below(folder: PathBuf) -> Vec<PathBuf> {
    let (mut files, mut left, mut seen) = (Vec::new(), vec![folder], 0);
    while let Some(folder) = left.pop().filter(|_| seen < MOST_FILES) {
        for entry in folder.read_dir().into_iter().flatten().flatten().take(MOST_FILES) {
            seen += 1;
            let path = entry.path();
            // Links are not followed: `file_type` is the link's own.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => left.push(path),
                _ if path.extension().is_some_and(|ending| ending == "md") => files.push(path),
                _ => {}
            }
        }
    }
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

pub(crate) fn read(path: &Path) -> Option<String> {
    let metadata = path.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() <= LARGEST)?;
    let bytes = fs::read(path).ok().filter(|bytes| bytes.len() as u64 <= metadata.len().max(LARGEST))?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
