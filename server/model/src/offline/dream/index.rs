//! MEMORY.md anew: the user's lines and order, without what leads nowhere, with what is missing, within the limits.

use std::collections::{BTreeMap, HashSet};

use jiff::civil::Date;
use memory::{Kind, dates::absolute_lines, index};

/// A memory that the index should have.
pub(super) struct Listed<'a> {
    pub(super) path: &'a str,
    pub(super) kind: Option<Kind>,
    pub(super) date: Date,
    /// As it would be written.
    pub(super) line: String,
    /// What the index says of it is no longer right.
    pub(super) is_new: bool,
}

/// The new text and what changed. `merged`: files that went, and where what they said is now; `is_gone`: whether a file
/// that is named is not there.
pub(super) fn rebuilt(
    before: &str,
    memories: &[Listed<'_>],
    merged: &BTreeMap<String, String>,
    is_gone: &dyn Fn(&str) -> bool,
) -> (String, Vec<String>) {
    let by_path: BTreeMap<&str, &Listed<'_>> = memories.iter().map(|listed| (listed.path, listed)).collect();
    let entries = index::entries(before);
    let linked: HashSet<String> = entries.iter().filter_map(|entry| inside(entry.target)).collect();
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut notes = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    for (number, line) in before.lines().enumerate() {
        let entry = entries.iter().find(|entry| entry.line == number);
        let Some((entry, mut path)) = entry.and_then(|entry| Some((entry, inside(entry.target)?))) else {
            rows.push(Row { text: line.to_owned(), memory: None });
            continue;
        };
        let mut heir = None;
        if is_gone(&path) {
            heir = merged.get(&path).filter(|heir| !linked.contains(*heir));
            match heir {
                Some(heir) => heir.clone_into(&mut path),
                None if merged.contains_key(&path) => continue,
                None => {
                    notes.push(format!("Took the line of {path} out of the index: there is no such file."));
                    continue;
                }
            }
        }
        if !seen.insert(path.clone()) {
            notes.push(format!("Took a second line of {path} out of the index."));
            continue;
        }
        let memory = by_path.get(path.as_str()).copied();
        let text = match memory {
            Some(memory) if memory.is_new || heir.is_some() => memory.line.clone(),
            Some(memory) if matches!(memory.kind, Some(Kind::Feedback | Kind::Project)) => {
                absolute_lines(line, memory.date)
            }
            _ => line.to_owned(),
        };
        let text = if text.chars().nth(index::LONG_LINE).is_some() {
            notes.push(format!("Shortened the line of {path} in the index."));
            shortened(&text, entry.hook, index::LINE_CHARS)
        } else {
            text
        };
        rows.push(Row { text, memory });
    }
    add_missing(&mut rows, memories, &seen, &mut notes);
    fit(&mut rows, &mut notes);
    let mut text: String = rows.iter().flat_map(|row| [row.text.as_str(), "\n"]).collect();
    if text.lines().eq(before.lines()) {
        before.clone_into(&mut text);
    }
    (text, notes)
}

/// A target that is a file below the directory: its path there.
pub(super) fn inside(target: &str) -> Option<String> {
    let path = target.split('#').next()?.trim_start_matches("./").replace("%20", " ");
    let is_elsewhere = path.is_empty()
        || path.starts_with(['/', '~', '.'])
        || path.contains("://")
        || path.starts_with("mailto:")
        || path.split('/').any(|part| part == "..");
    (!is_elsewhere).then_some(path)
}

struct Row<'a> {
    text: String,
    memory: Option<&'a Listed<'a>>,
}

/// What no line names, below the last of its kind, newest first, as far as there is room.
fn add_missing<'a>(
    rows: &mut Vec<Row<'a>>,
    memories: &'a [Listed<'a>],
    seen: &HashSet<String>,
    notes: &mut Vec<String>,
) {
    let mut missing: Vec<&Listed<'_>> = memories.iter().filter(|it| !seen.contains(it.path)).collect();
    missing.sort_by(|one, other| other.date.cmp(&one.date).then_with(|| one.path.cmp(other.path)));
    let mut bytes: usize = rows.iter().map(|row| row.text.len() + 1).sum();
    for memory in missing {
        bytes += memory.line.len() + 1;
        if rows.len() >= index::LINES || bytes > index::BYTES {
            break;
        }
        let last = |is_like: &dyn Fn(&Listed<'_>) -> bool| {
            rows.iter().rposition(|row| row.memory.is_some_and(is_like)).map(|at| at + 1)
        };
        let at = last(&|other| other.kind == memory.kind).or_else(|| last(&|_| true)).unwrap_or(rows.len());
        rows.insert(at, Row { text: memory.line.clone(), memory: Some(memory) });
        notes.push(format!("Added {} to the index.", memory.path));
    }
}

/// Shorter hooks first; then blank lines go; then the lines of the oldest, whose files stay and can still be recalled.
fn fit(rows: &mut Vec<Row<'_>>, notes: &mut Vec<String>) {
    let bytes = |rows: &[Row<'_>]| rows.iter().map(|row| row.text.len() + 1).sum::<usize>();
    for most in [index::LINE_CHARS, 120, 90, 60] {
        if bytes(rows) <= index::BYTES {
            break;
        }
        for row in rows.iter_mut().filter(|row| row.memory.is_some()) {
            let hook =
                index::entries(&row.text).first().map(|entry| entry.hook.to_owned()).unwrap_or_default();
            if row.text.chars().nth(most).is_some() {
                row.text = shortened(&row.text, &hook, most);
            }
        }
        notes.push(format!("Shortened the lines of the index to {most} characters."));
    }
    if rows.len() > index::LINES {
        rows.retain(|row| !row.text.trim().is_empty());
    }
    while rows.len() > index::LINES || bytes(rows) > index::BYTES {
        let rank = |row: &Row<'_>| row.memory.map(|memory| (memory.kind != Some(Kind::Project), memory.date));
        let ranked = rows.iter().enumerate().filter_map(|(at, row)| Some((rank(row)?, at)));
        let Some((_, oldest)) = ranked.min() else { break };
        let row = rows.remove(oldest);
        notes.extend(
            row.memory.map(|memory| format!("No room in the index for {}; its file stays.", memory.path)),
        );
    }
}

/// The line with so much of its hook that it has `most` characters.
fn shortened(line: &str, hook: &str, most: usize) -> String {
    let Some(at) = line.rfind(hook).filter(|_| !hook.is_empty()) else { return line.to_owned() };
    let head = line.get(..at).unwrap_or_default();
    let room = most.saturating_sub(head.chars().count() + 1);
    let cut: String = hook.chars().take(room).collect();
    let cut = cut.rfind(' ').and_then(|end| cut.get(..end)).unwrap_or(&cut).trim_end();
    if cut.is_empty() {
        head.trim_end_matches([' ', '—', '–', '-', ':']).to_owned()
    } else {
        format!("{head}{cut}…")
    }
}
