//! The notes that a session keeps about itself: the form they have, what a fork of the conversation is asked
//! about them, what its edits may not touch, and when it is time for the next ones. Reading and writing them
//! is the caller's; what compaction makes of them is `session_compact`'s.

mod progress;

use std::path::Path;

pub use progress::Progress;

use crate::{
    fork,
    measure::{Tokens, tokens_of_text},
    session_compact::{self, NOTES_TOKENS, SECTION_TOKENS},
};

/// What the notes are before anything is written into them, unless the user has a form of their own.
pub const TEMPLATE: &str = include_str!("notes/template.md");

/// The section that every update has to refresh, where the template has it.
const CURRENT_STATE: &str = "Current State";

/// As long as a title in the list of sessions.
const TITLE_CHARS: usize = 80;

const CURRENT_NOTES: &str = "{{currentNotes}}";
const NOTES_PATH: &str = "{{notesPath}}";

/// What a fork of the conversation is asked. `custom_prompt` takes the place of our own words.
pub fn directive(
    template: &str,
    custom_prompt: Option<&str>,
    notes: &str,
    path: &Path,
    tokens: Tokens<'_>,
) -> String {
    let prompt = custom_prompt.unwrap_or(include_str!("notes/prompt.md")).trim();
    let notes = notes.trim_end();
    let mut text = format!("{}\n{}", fork::NOTES, filled(prompt, notes, &path.display().to_string()));
    // Nobody can edit what they do not see.
    if !prompt.contains(CURRENT_NOTES) {
        text.push_str(&format!("\n\nThe notes in {} are:\n\n{notes}", path.display()));
    }
    if protected(template).iter().any(|section| section.name() == CURRENT_STATE) {
        text.push_str(&format!(
            "\n\nWhatever else changes, \"{CURRENT_STATE}\" must say how things stand at the end of the \
             conversation above."
        ));
    }
    let long = over_limits(notes, tokens);
    if !long.is_empty() {
        text.push_str(&format!(
            "\n\nThe notes have grown too long. Make these shorter with your edits:\n{}",
            long.join("\n")
        ));
    }
    text
}

/// Whether an edit leaves alone what holds the notes together; `Err` in words for whoever made it. What was
/// not there before, because the user took it out, nobody has to bring back.
pub fn check(template: &str, before: &str, after: &str) -> Result<(), String> {
    let lines =
        |text: &'_ str| -> Vec<String> { text.lines().map(|line| line.trim_end().to_owned()).collect() };
    let (before, after) = (lines(before), lines(after));
    let (mut before_from, mut after_from) = (0, 0);
    for section in protected(template) {
        let Some(stood) = section.place(&before, before_from) else { continue };
        before_from = stood + 1;
        let Some(stands) = section.place(&after, after_from) else { return Err(section.violated()) };
        after_from = stands + 1;
        let count = |lines: &[String]| lines.iter().filter(|line| *line == section.heading).count();
        if count(&after) > count(&before) {
            return Err(format!(
                "the edit was refused, and nothing was changed: \"{}\" would stand there twice. Write below \
                 the one that is there.",
                section.heading
            ));
        }
    }
    Ok(())
}

/// What stands in the first section, for the list of sessions.
pub fn title(notes: &str) -> Option<String> {
    let first = *session_compact::sections(notes).first()?;
    let line = first.lines().map(str::trim).find(|line| !session_compact::is_bare(line))?;
    let plain: String = line.chars().filter(|it| !matches!(it, '*' | '`')).collect();
    let words = plain.split(|it: char| it.is_whitespace() || it.is_control()).filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join(" ");
    let marks = ['_', '"', '“', '”', '-', ' '];
    let title: String = joined.trim_matches(marks).chars().take(TITLE_CHARS).collect();
    let title = title.trim_end();
    (!title.is_empty()).then(|| title.to_owned())
}

/// A heading of the template, and the line in italics right below it.
struct Protected<'a> {
    heading: &'a str,
    description: Option<&'a str>,
}

impl Protected<'_> {
    fn name(&self) -> &str {
        self.heading.trim_start_matches('#').trim()
    }

    /// Where it stands, from a line on.
    fn place(&self, lines: &[String], from: usize) -> Option<usize> {
        let is_here = |at: &usize| {
            lines.get(*at).is_some_and(|line| line == self.heading)
                && self.description.is_none_or(|it| lines.get(at + 1).is_some_and(|line| line == it))
        };
        (from..lines.len()).find(is_here)
    }

    fn violated(&self) -> String {
        let below =
            self.description.map(|it| format!(" with the line \"{it}\" right below it")).unwrap_or_default();
        format!(
            "the edit was refused, and nothing was changed: the heading \"{}\"{below} must stay as it is, in \
             its place. Repeat the edit so that it changes only what stands below them.",
            self.heading
        )
    }
}

fn protected(template: &str) -> Vec<Protected<'_>> {
    let lines: Vec<&str> = template.lines().map(str::trim_end).collect();
    let is_heading = |line: &str| line.trim_start_matches('#').starts_with(' ') && line.starts_with('#');
    let is_description =
        |line: &&str| !line.is_empty() && !line.starts_with('#') && session_compact::is_bare(line);
    let headings = lines.iter().enumerate().filter(|(_, line)| is_heading(line));
    headings
        .map(|(at, heading)| Protected {
            heading,
            description: lines.get(at + 1).copied().filter(is_description),
        })
        .collect()
}

/// The prompt with its two variables, in one pass: what is put in is not looked at again.
fn filled(prompt: &str, notes: &str, path: &str) -> String {
    let mut text = String::new();
    let mut rest = prompt;
    loop {
        let next = [(CURRENT_NOTES, notes), (NOTES_PATH, path)]
            .into_iter()
            .filter_map(|(name, value)| Some((rest.find(name)?, name, value)))
            .min_by_key(|(at, _, _)| *at);
        let Some((at, name, value)) = next else { break };
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        text.push_str(value);
        rest = from.strip_prefix(name).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

/// A line for each thing that is too long, with its size.
fn over_limits(notes: &str, tokens: Tokens<'_>) -> Vec<String> {
    let mut long = Vec::new();
    for section in session_compact::sections(notes) {
        let size = tokens_of_text(section, tokens);
        if size > SECTION_TOKENS {
            let name = section.lines().next().unwrap_or_default().trim_start_matches('#').trim();
            long.push(format!("- the section \"{name}\": about {size} tokens, of {SECTION_TOKENS} at most"));
        }
    }
    let size = tokens_of_text(notes, tokens);
    if size > NOTES_TOKENS {
        long.push(format!(
            "- the file as a whole: about {size} tokens, of {NOTES_TOKENS} at most; \"{CURRENT_STATE}\" and \
             what went wrong are the last to go"
        ));
    }
    long
}

#[cfg(test)]
mod tests;
