//! What no text should have, whatever it is for: characters that nobody sees, and secrets; and how long instructions
//! may be.

use std::path::Path;

use markdown::hidden::{self, Class};

use super::{Document, Edit, Finding, Fix, LintContext, code};
use crate::secrets;

/// "Over 40,000 characters: loaded, with a warning diagnostic and a hint what to split."
const LONGEST_INSTRUCTIONS: usize = 40_000;

pub(super) fn lint(document: &Document, context: &LintContext<'_>, findings: &mut Vec<Finding>) {
    hidden_characters(&document.path, &document.text, findings);
    let Some(secrets) = context.secrets else { return };
    for (rule, line) in secrets(&document.text) {
        findings.push(secret(document, &rule, line, "a memory is"));
    }
}

fn secret(document: &Document, rule: &str, line: usize, what: &str) -> Finding {
    let message = format!(
        "this looks like a secret (rule {rule}): {what} plain text that every session reads; say where the secret is \
         kept instead"
    );
    document.finding(line.max(1), code::SECRET, message)
}

/// The findings of a CLAUDE.md, a rule, a skill or what they include.
pub fn lint_instructions(path: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    hidden_characters(path, text, &mut findings);
    let document = Document::new(path.to_owned(), String::new(), text.to_owned());
    for (rule, line) in secrets::by_line(text) {
        findings.push(secret(&document, &rule, line, "instructions are"));
    }
    if let Some((limit, _)) = text.char_indices().nth(LONGEST_INSTRUCTIONS) {
        let line = text.get(..limit).unwrap_or_default().matches('\n').count() + 1;
        let split = match longest_section(text) {
            Some(heading) => format!("the longest section is {heading:?}"),
            None => "it has no sections".to_owned(),
        };
        let message = format!(
            "the file has {} characters, for which every request pays; more than {LONGEST_INSTRUCTIONS} are too many: \
             {split}; move what concerns some files only into .claude/rules/*.md with `paths:`",
            text.chars().count()
        );
        let (path, code) = (path.to_owned(), code::LONG_INSTRUCTIONS);
        let start = text.get(..limit).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        let end =
            text.get(limit..).and_then(|rest| rest.find(['\r', '\n'])).map_or(text.len(), |at| limit + at);
        findings.push(Finding { path, line, range: start..end, code, message, fix: None });
    }
    findings.sort_by_key(|finding| finding.line);
    findings
}

fn hidden_characters(path: &Path, text: &str, findings: &mut Vec<Finding>) {
    for found in hidden::find(text) {
        let range = found.offset..found.offset + found.length;
        let piece = text.get(range.clone()).unwrap_or_default();
        let (mut message, mut fix) = (format!("there is {}", found.class.words()), None);
        if found.class == Class::MixedAlphabets {
            let word: String = piece.chars().take(60).collect();
            message.push_str(&format!(": {word:?} is not what it looks like"));
        } else {
            let replacement = if found.class == Class::LineSeparator { "\n" } else { "" }.to_owned();
            let edits = vec![Edit { path: path.to_owned(), range: range.clone(), replacement }];
            fix = Some(Fix { title: "Remove what nobody sees".to_owned(), edits });
            let codes: Vec<String> =
                piece.chars().take(4).map(|character| format!("U+{:04X}", u32::from(character))).collect();
            let more = if piece.chars().nth(4).is_some() { " …" } else { "" };
            message.push_str(&format!(" ({}{more})", codes.join(" ")));
        }
        let (path, line, code) = (path.to_owned(), found.line + 1, code::HIDDEN_CHARACTERS);
        findings.push(Finding { path, line, range, code, message, fix });
    }
}

fn longest_section(text: &str) -> Option<String> {
    let mut longest: Option<(usize, &str)> = None;
    let mut current: Option<(usize, &str)> = None;
    for line in text.lines().chain(["#"]) {
        if line.starts_with('#') {
            longest = longest.max(current);
            current = Some((0, line.trim_start_matches('#').trim()));
        } else if let Some((len, _)) = &mut current {
            *len += line.len();
        }
    }
    longest.map(|(_, heading)| heading.chars().take(80).collect())
}
