//! One file's text, taken apart: what goes to the model, what it includes, what there is to say about it. No files.

use std::borrow::Cow;

use markdown::{
    frontmatter,
    hidden::{self, Class},
    prose::{self, Inert},
};

use super::{
    LONG,
    include::{self, Include},
};

/// Lines with hidden characters that are named one by one.
const MOST_LINES: usize = 20;
const MOST_HEADINGS: usize = 3;
const LONGEST_HEADING: usize = 60;

#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) globs: Vec<String>,
    pub(super) text: String,
    /// Lines are the file's.
    pub(super) includes: Vec<Include>,
    /// With the line each is about.
    pub(super) findings: Vec<(Option<usize>, String)>,
}

impl Document {
    /// Of a file that is not prose nothing is left out: what would be a comment or an include there is code.
    pub(super) fn of(raw: &str, is_prose: bool) -> Self {
        let raw = raw.strip_prefix('\u{feff}').unwrap_or(raw);
        let raw = match raw.contains('\r') {
            true => Cow::Owned(raw.replace("\r\n", "\n").replace('\r', "\n")),
            false => Cow::Borrowed(raw),
        };
        let raw = &*raw;
        let mut document = Self::default();
        document.find_hidden(raw);
        if !is_prose {
            document.finish(raw);
            return document;
        }
        let front = frontmatter::parse(raw);
        if let Some(problem) = front.problem {
            document.findings.push((Some(0), problem));
        }
        document.globs = front.fields.list("paths");
        let before = raw.len() - front.body.len();
        let first_line = raw.get(..before).unwrap_or_default().matches('\n').count();
        document.includes = include::find(front.body);
        for include in &mut document.includes {
            include.line += first_line;
        }
        document.finish(&prose::without_comments(front.body));
        document
    }

    fn finish(&mut self, text: &str) {
        let characters = text.chars().count();
        if characters > LONG {
            self.findings.push((None, too_long(text, characters)));
        }
        self.text = hidden::shown(text.trim_matches('\n')).into_owned();
    }

    fn find_hidden(&mut self, raw: &str) {
        let mut lines: Vec<(usize, Class)> = Vec::new();
        for hidden in hidden::find(raw) {
            if lines.last().is_none_or(|(line, _)| *line != hidden.line) {
                lines.push((hidden.line, hidden.class));
            }
        }
        for (line, class) in lines.iter().take(MOST_LINES) {
            let what = match class {
                Class::MixedAlphabets => "",
                _ => ", which the model is shown as such",
            };
            self.findings.push((Some(*line), format!("has {}{what}", class.words())));
        }
        if let Some((line, _)) = lines.get(MOST_LINES) {
            self.findings.push((Some(*line), "has more hidden characters from here on".to_owned()));
        }
    }
}

fn too_long(text: &str, characters: usize) -> String {
    let sections = largest_sections(text);
    let hint = if sections.is_empty() {
        "split it into files that are loaded only where they matter".to_owned()
    } else {
        format!("the most would be saved by moving out {}", sections.join(", "))
    };
    format!(
        "is {characters} characters long, more than {LONG}, and goes along with every request; {hint} \
         (rules with `paths:` in `.claude/rules`, CLAUDE.md files in subfolders)"
    )
}

/// Headings with the most below them up to the next heading, in the order of their size.
fn largest_sections(text: &str) -> Vec<String> {
    let inert = Inert::of(text);
    let mut sections: Vec<(&str, usize)> = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let title = line.trim_start_matches('#');
        let is_heading = line.starts_with('#') && title.starts_with(' ') && !inert.has_code_at(offset);
        let length = line.chars().count();
        match sections.last_mut() {
            _ if is_heading => sections.push((title.trim(), length)),
            Some((_, size)) => *size += length,
            None => {}
        }
        offset += line.len();
    }
    sections.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    let shown = |title: &str| shortened(title, LONGEST_HEADING);
    let largest = sections.iter().take(MOST_HEADINGS);
    largest.map(|(title, size)| format!("\"{}\" ({size} characters)", shown(title))).collect()
}

/// Safe to print: on one line, with what is hidden spelled out.
pub(super) fn shortened(text: &str, longest: usize) -> String {
    let text = frontmatter::one_line(&hidden::shown(text));
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
