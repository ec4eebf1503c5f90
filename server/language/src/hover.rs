//! What the thing under the pointer is: a memory, a field, an include, a setting.

use std::ops::Range;

use memory::{Kind, history::Change};

use crate::{
    Facts, Page, Role, ago,
    links::{self, touches},
    settings_file,
};

/// Characters of a text that are shown.
const SHOWN: usize = 200;

/// In Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    pub range: Range<usize>,
    pub text: String,
}

/// What keys of a frontmatter mean.
pub(crate) const MEMORY_FIELDS: &[(&str, &str)] = &[
    ("name", "What the memory is called; the index and lists show it."),
    ("description", "One line that says when this matters: what recall goes by."),
    ("type", "`user`, `feedback`, `project` or `reference`."),
    ("created", "The day it was learnt."),
    ("source", "The session and the message that taught it."),
    ("confidence", "How sure the agent was."),
];
pub(crate) const RULE_FIELDS: &[(&str, &str)] =
    &[("paths", "Globs: the rule is in force once the agent touches a file that matches.")];
pub(crate) const SKILL_FIELDS: &[(&str, &str)] = &[
    ("name", "What the skill is called; `/name` starts it. The folder's name, if absent."),
    ("description", "When to use it: the model chooses by this line."),
    ("argument-hint", "What may follow the name, shown while it is typed."),
    ("disable-model-invocation", "`true`: only you may start it."),
    ("allowed-tools", "The tools that it needs. Permissions are asked for as ever."),
];

pub(crate) fn fields_of(role: Role) -> &'static [(&'static str, &'static str)] {
    match role {
        Role::Memory => MEMORY_FIELDS,
        Role::Rule => RULE_FIELDS,
        Role::Skill | Role::Command => SKILL_FIELDS,
        Role::Index | Role::Instructions | Role::Settings | Role::Source => &[],
    }
}

pub(crate) fn kind_words(kind: Kind) -> &'static str {
    match kind {
        Kind::User => "who the user is: role, goals, knowledge, preferences",
        Kind::Feedback => "how the user wants the work done: corrections and confirmations",
        Kind::Project => "who does what, why, until when",
        Kind::Reference => "where things live in other systems",
    }
}

pub fn hover(page: &Page<'_>, facts: &Facts<'_>, offset: usize) -> Option<Hover> {
    if page.is_too_long() || page.role == Role::Source {
        return None;
    }
    if page.role == Role::Settings {
        return settings_file::hover(page, offset);
    }
    of_link(page, facts, offset)
        .or_else(|| of_field(page, offset))
        .or_else(|| of_entry(page, facts, offset))
        .or_else(|| of_page(page, facts, offset))
}

/// What is at the other end.
fn of_link(page: &Page<'_>, facts: &Facts<'_>, offset: usize) -> Option<Hover> {
    let link = links::all(page, facts).into_iter().find(|link| touches(&link.range, offset))?;
    let relative = facts.places.memory_path(&link.target);
    let memory = relative.and_then(|relative| about_memory(&relative, facts));
    let shown = link.target.display();
    let text = match (memory, link.target.metadata()) {
        (Some(memory), _) => memory,
        (None, Ok(metadata)) if metadata.is_dir() => format!("`{shown}`: a folder"),
        (None, Ok(metadata)) => format!("`{shown}`: {} bytes", metadata.len()),
        (None, Err(_)) => format!("`{}` is not there (`{shown}`)", link.written),
    };
    Some(Hover { range: link.range, text })
}

fn of_field(page: &Page<'_>, offset: usize) -> Option<Hover> {
    let field = page.fields().into_iter().find(|field| {
        touches(&field.key_range, offset) || touches(&field.value_range, offset) && field.key == "type"
    })?;
    if touches(&field.value_range, offset) {
        let kind = Kind::parse(field.value)?;
        return Some(Hover {
            range: field.value_range,
            text: format!("`{}`: {}", kind.as_str(), kind_words(kind)),
        });
    }
    let key = field.key.to_lowercase();
    let (_, words) = fields_of(page.role).iter().find(|(name, _)| *name == key)?;
    Some(Hover { range: field.key_range, text: (*words).to_owned() })
}

/// Anywhere on the line of an entry.
fn of_entry(page: &Page<'_>, facts: &Facts<'_>, offset: usize) -> Option<Hover> {
    if page.role != Role::Index {
        return None;
    }
    let line = page.line_at(offset);
    let link = links::all(page, facts).into_iter().find(|link| line.contains(&link.range.start))?;
    let relative = facts.places.memory_path(&link.target)?;
    Some(Hover { range: line, text: about_memory(&relative, facts)? })
}

/// On the first line: what the file is.
fn of_page(page: &Page<'_>, facts: &Facts<'_>, offset: usize) -> Option<Hover> {
    let first = page.line_at(0);
    if !touches(&first, offset) {
        return None;
    }
    let text = match page.role {
        Role::Memory => about_memory(&facts.places.memory_path(page.path)?, facts)?,
        Role::Index => {
            let memories = facts.knowledge.documents().filter(|known| known.is_memory()).count();
            format!("The index of what is remembered: {memories} memories. The agent reads it with every session.")
        }
        Role::Instructions => {
            "Instructions: the agent reads them with every session of a folder below. `@path` includes a file.".to_owned()
        }
        Role::Rule => "A rule: instructions, for all files or for those that `paths:` names.".to_owned(),
        Role::Skill => "A skill: the model reads its description, and the rest when it uses it.".to_owned(),
        Role::Command => "A command: `/` and the file's name start it.".to_owned(),
        Role::Settings | Role::Source => return None,
    };
    Some(Hover { range: first, text })
}

/// "What it is, when last recalled, by which session."
fn about_memory(relative: &str, facts: &Facts<'_>) -> Option<String> {
    let known = facts.knowledge.document(relative)?;
    if !known.is_memory() {
        return Some(format!("`{relative}`"));
    }
    let mut text = format!("**{}**", plain(&known.name));
    if let Some(description) = &known.description {
        text.push_str(&format!("\n\n{}", plain(description)));
    }
    if let Some(memory) = (facts.memory)(relative) {
        let kind = memory.kind.map_or("no type", Kind::as_str);
        text.push_str(&format!("\n\n{kind}, saved {}", ago(memory.modified, facts.now)));
        let counts = &memory.counts;
        match counts.last {
            Some(last) => {
                let session =
                    counts.session.as_deref().map_or(String::new(), |id| format!(" by session `{id}`"));
                let (times, when) = (counts.recalled, ago(last, facts.now));
                text.push_str(&format!("; recalled {times}×, last {when}{session}"));
            }
            None => text.push_str("; never recalled"),
        }
    }
    if let Some(change) = facts.knowledge.last_change(relative) {
        text.push_str(&format!("\n\nLast change: {}", plain(&changed(change, facts))));
    }
    Some(text)
}

/// In words, not in Markdown.
pub(crate) fn changed(change: &Change, facts: &Facts<'_>) -> String {
    let why = markdown::frontmatter::one_line(&change.why);
    format!("{} by {}: {why}", ago(change.at, facts.now), change.by.as_str())
}

/// Words of a memory as words, not as Markdown of ours: a name must not draw a link or an image.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in markdown::frontmatter::one_line(text).chars() {
        if matches!(character, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '!' | '#' | '|' | '&') {
            plain.push('\\');
        }
        plain.push(character);
    }
    plain
}

/// A memory's own words, set off as such; what nobody sees is spelled out, and no image is loaded for it.
pub(crate) fn quoted(text: &str, most: usize) -> String {
    let shown = markdown::hidden::shown(text);
    let end = shown.char_indices().nth(most).map_or(shown.len(), |(end, _)| end);
    let mut quoted = String::new();
    for line in shown.get(..end).unwrap_or_default().lines() {
        quoted.push_str("> ");
        quoted.push_str(&line.replace("![", "!\\[").replace('<', "\\<"));
        quoted.push('\n');
    }
    if end < shown.len() {
        quoted.push_str("> …\n");
    }
    quoted.trim_end().to_owned()
}

/// The beginning of a text, for lists.
pub(crate) fn beginning(text: &str) -> String {
    quoted(text, SHOWN)
}

#[cfg(test)]
mod tests;
