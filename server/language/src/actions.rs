//! What can be done about what is wrong, and with a memory as a whole.

use std::{ops::Range, path::PathBuf};

use memory::{
    dates, index,
    lint::{Edit, Fix, code},
    mentions::{self, Mention, Place},
};

use crate::{Diagnostic, Facts, Page, Role, findings, links::touches, references};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    pub title: String,
    /// The finding that it mends.
    pub code: Option<&'static str>,
    pub deed: Deed,
    /// What most would choose.
    pub is_preferred: bool,
}

/// What an action does. Only the first is for the editor; the others go through the agent, with a line in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    Edit(Vec<Edit>),
    Delete(PathBuf),
    /// What one says that the other does not is added to it, and the one goes.
    Merge {
        path: PathBuf,
        into: PathBuf,
    },
    Open(Vec<PathBuf>),
    /// Of a place in a source file.
    Remember,
}

/// For what is at a place, first what mends something there.
pub fn actions(page: &Page<'_>, facts: &Facts<'_>, range: Range<usize>) -> Vec<Action> {
    if page.is_too_long() {
        return Vec::new();
    }
    let mut actions = Vec::new();
    for finding in findings::diagnostics(page, facts) {
        let is_here = touches(&finding.range, range.start)
            || touches(&finding.range, range.end)
            || touches(&range, finding.range.start)
            || page.line_at(finding.range.start) == page.line_at(range.start);
        if is_here {
            mend(page, facts, finding, &mut actions);
        }
    }
    if page.role == Role::Memory {
        let deed = Deed::Delete(page.path.to_owned());
        actions.push(Action {
            title: "Delete this memory".to_owned(),
            code: None,
            deed,
            is_preferred: false,
        });
    }
    actions
}

fn mend(page: &Page<'_>, facts: &Facts<'_>, finding: Diagnostic, actions: &mut Vec<Action>) {
    let Diagnostic { range, code: of, fix, .. } = finding;
    let mut edit = |title: String, range: Range<usize>, replacement: String, is_preferred| {
        let edits = vec![Edit { path: page.path.to_owned(), range, replacement }];
        actions.push(Action { title, code: Some(of), deed: Deed::Edit(edits), is_preferred });
    };
    match of {
        code::DEAD_LINK if page.role == Role::Index => {
            for (title, target) in other_targets(page, facts, &range) {
                edit(title, range.clone(), target, true);
            }
        }
        code::DEAD_LINK if page.role.is_instructions() => {
            edit("Remove the include".to_owned(), without(page, &range), String::new(), true);
        }
        code::STALE_REFERENCE => {
            let found = mentions::find(page.text);
            let mention = found.iter().find(|mention| mention.range == range && !mention.is_by_reference());
            if let Some(mention) = mention {
                actions.extend(for_stale(page, facts, mention, &found));
            }
        }
        code::RELATIVE_DATE => {
            let written = written_on(page, facts, range.start);
            if let Some(date) = dates::instead_of(page.text, range.clone(), written) {
                edit(format!("Write {date}"), range, date, true);
            }
        }
        code::LONG_LINE => {
            let line = page.line_at(range.start);
            if let Some(shorter) = page.text.get(line.clone()).and_then(shortened) {
                edit("Shorten the entry".to_owned(), line, shorter, true);
            }
        }
        code::NO_FRONTMATTER if page.role == Role::Memory => {
            let name = page.path.file_stem().unwrap_or_default().to_string_lossy().replace(['-', '_'], " ");
            let newline = if page.text.contains("\r\n") { "\r\n" } else { "\n" };
            let mark = if page.text.starts_with('\u{feff}') { 3 } else { 0 };
            let lines = [
                "---".to_owned(),
                format!("name: {name}"),
                "description: ".to_owned(),
                "type: project".to_owned(),
            ];
            let front = format!("{}{newline}---{newline}{newline}", lines.join(newline));
            edit("Add frontmatter".to_owned(), mark..mark, front, true);
        }
        code::DUPLICATE => {
            let relative = facts.places.memory_path(page.path).unwrap_or_default();
            if let Some(duplicate) = facts.knowledge.others().duplicates.get(&relative) {
                let into = facts.knowledge.directory().join(&duplicate.of);
                let deed = Deed::Merge { path: page.path.to_owned(), into };
                let title = format!("Merge this into {}", duplicate.of);
                actions.push(Action { title, code: Some(of), deed, is_preferred: true });
            }
        }
        _ => {}
    }
    if let Some(Fix { title, edits }) = fix {
        let is_preferred = of != code::DEAD_LINK;
        actions.push(Action { title, code: Some(of), deed: Deed::Edit(edits), is_preferred });
    }
}

/// Files that the entry may mean: of the same name in another folder, or of the same title.
fn other_targets(page: &Page<'_>, facts: &Facts<'_>, range: &Range<usize>) -> Vec<(String, String)> {
    let Some(entry) = index::entries(page.text).into_iter().find(|entry| entry.target_range == *range) else {
        return Vec::new();
    };
    let folder = facts.places.memory_path(page.path).unwrap_or_default();
    let folder = folder.rfind('/').and_then(|at| folder.get(..=at)).unwrap_or_default().to_owned();
    let name = entry.target.rsplit('/').next().unwrap_or(entry.target);
    let fitting = facts.knowledge.documents().filter(|known| {
        let file = known.document.relative.rsplit('/').next().unwrap_or_default();
        known.is_memory() && (file == name || known.name == entry.title)
    });
    let targets = fitting.filter_map(|known| {
        let target = known.document.relative.strip_prefix(&folder)?;
        Some((format!("Link to {target}"), index::written_target(target)))
    });
    targets.take(3).collect()
}

/// "The quick fix updates or removes the reference."
fn for_stale(page: &Page<'_>, facts: &Facts<'_>, mention: &Mention, all: &[Mention]) -> Vec<Action> {
    let edit =
        |range: Range<usize>, replacement: String| Edit { path: page.path.to_owned(), range, replacement };
    let action = |title: String, edits: Vec<Edit>, is_preferred| Action {
        title,
        code: Some(code::STALE_REFERENCE),
        deed: Deed::Edit(edits),
        is_preferred,
    };
    let mut ways = Vec::new();
    if let Some(path) = mention.file(facts.files).map(|named| named.path) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let renamed = facts.files.renamed(path).map(|new| (format!("It is {new} now"), new, true));
        // Of the same name, and perhaps another.
        let alike = || {
            let new = facts.files.only_one_named(name)?;
            Some((format!("Point to {new}"), new, false))
        };
        let written = page.text.get(mention.name_range.clone()).unwrap_or_default();
        if let Some(((title, new, is_preferred), at)) = renamed.or_else(alike).zip(written.find(path)) {
            let start = mention.name_range.start + at;
            ways.push(action(title, vec![edit(start..start + path.len(), new)], is_preferred));
        }
    }
    let gone = |mention: &Mention| format!("{} (gone, {})", words(page, mention), facts.today);
    let uses: Vec<&Mention> = all
        .iter()
        .filter(|other| other.is_by_reference() && other.name_range == mention.name_range)
        .collect();
    let (without_it, with_words) = match uses.is_empty() {
        true => (
            vec![edit(without(page, &mention.range), String::new())],
            vec![edit(mention.range.clone(), gone(mention))],
        ),
        // Of a definition: what refers to it stays, as words.
        false => {
            let rewritten = |how: &dyn Fn(&Mention) -> String| {
                let mut edits: Vec<Edit> =
                    uses.iter().map(|mention| edit(mention.range.clone(), how(mention))).collect();
                edits.push(edit(without(page, &mention.range), String::new()));
                edits
            };
            (rewritten(&|mention| words(page, mention)), rewritten(&gone))
        }
    };
    let is_preferred = ways.is_empty();
    ways.push(action("Remove the reference".to_owned(), without_it, is_preferred));
    ways.push(action("Say that it is gone".to_owned(), with_words, false));
    ways
}

/// What is left to read of a mention that leads nowhere.
fn words(page: &Page<'_>, mention: &Mention) -> String {
    let whole = page.text.get(mention.range.clone()).unwrap_or_default();
    let inside = whole.strip_prefix('[').filter(|_| mention.place == Place::Link);
    let inside = inside.and_then(|rest| match mention.is_by_reference() {
        true => rest.rsplit_once("][").or_else(|| rest.rsplit_once(']')),
        false => rest.rsplit_once("]("),
    });
    let inside = inside.map(|(words, _)| words).filter(|words| !words.is_empty());
    inside.unwrap_or(&mention.name).to_owned()
}

/// The piece with a blank beside it; the whole line, where nothing else would be left on it.
fn without(page: &Page<'_>, range: &Range<usize>) -> Range<usize> {
    let line = page.line_at(range.start);
    let before = page.text.get(line.start..range.start).unwrap_or_default();
    let after = page.text.get(range.end..line.end.max(range.end)).unwrap_or_default();
    let says_something = |text: &str| text.chars().any(char::is_alphanumeric);
    if !says_something(before) && !says_something(after) {
        let rest = page.text.get(line.end..).unwrap_or_default();
        return line.start..line.end + rest.find('\n').map_or(rest.len(), |at| at + 1);
    }
    let blank_before = before.ends_with(' ') && !after.starts_with(|next: char| next.is_alphanumeric());
    range.start - usize::from(blank_before)..range.end
}

/// The day that the words at a place were written, as far as anybody knows. What is not saved is written now.
fn written_on(page: &Page<'_>, facts: &Facts<'_>, at: usize) -> jiff::civil::Date {
    let line = page.text.get(page.line_at(at)).unwrap_or_default();
    let is_saved = references::read(page.path).is_some_and(|text| text.lines().any(|saved| saved == line));
    if !is_saved {
        return facts.today;
    }
    let created = page.fields().into_iter().find(|field| field.key == "created");
    let created = created.and_then(|field| dates::find_date(field.value));
    let relative = facts.places.memory_path(page.path);
    let saved = || {
        let memory = (facts.memory)(&relative?)?;
        Some(memory.modified.to_zoned(jiff::tz::TimeZone::UTC).date())
    };
    created.or_else(saved).unwrap_or(facts.today)
}

/// An entry with as much of its hook as it may have.
fn shortened(line: &str) -> Option<String> {
    let entry = index::entries(line).into_iter().next()?;
    let hook_at =
        line.len() - line.trim_end().strip_suffix(entry.hook).map_or(0, |head| line.len() - head.len());
    let head = line.get(..hook_at)?;
    let room = index::LINE_CHARS.checked_sub(head.chars().count() + 1)?;
    let kept: String = entry.hook.chars().take(room).collect();
    let cut = kept.rfind(' ').filter(|_| entry.hook.len() > kept.len()).and_then(|at| kept.get(..at));
    Some(format!("{head}{}…", cut.unwrap_or(&kept).trim_end()))
}

#[cfg(test)]
mod tests;
