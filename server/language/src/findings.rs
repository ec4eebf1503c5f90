//! What is wrong in a file that is written for the agent: the findings of lint, each at its place.

use std::ops::Range;

use memory::{
    lint::{self, Document, Finding, Fix, LintContext, code},
    secrets,
};

use crate::{Facts, Page, Role, page::LONGEST};

/// Of one file; nobody mends more at once.
const MOST: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
    Information,
    Hint,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub range: Range<usize>,
    pub severity: Severity,
    /// One of [`memory::lint::code`].
    pub code: &'static str,
    pub message: String,
    pub fix: Option<Fix>,
}

/// In the order of the text.
pub fn diagnostics(page: &Page<'_>, facts: &Facts<'_>) -> Vec<Diagnostic> {
    if page.is_too_long() {
        let message = format!("the file is larger than {} KB, and is not looked at", LONGEST >> 10);
        let (severity, code) = (Severity::Information, code::TOO_LARGE);
        return vec![Diagnostic { range: 0..0, severity, code, message, fix: None }];
    }
    let findings = match page.role {
        Role::Index | Role::Memory => of_memory(page, facts),
        Role::Instructions | Role::Rule => of_instructions(page, facts),
        Role::Skill | Role::Command => of_skill(page),
        // Theirs are told by whoever loads them.
        Role::Settings | Role::Source => Vec::new(),
    };
    let shown = findings.into_iter().take(MOST).map(|finding| Diagnostic {
        range: inside(page.text, finding.range),
        severity: severity(finding.code),
        code: finding.code,
        message: finding.message,
        fix: finding.fix,
    });
    shown.collect()
}

fn severity(of: &str) -> Severity {
    match of {
        code::SECRET => Severity::Error,
        code::ORPHAN | code::NO_FRONTMATTER | code::RELATIVE_DATE | code::LONG_LINE => Severity::Information,
        _ => Severity::Warning,
    }
}

fn of_memory(page: &Page<'_>, facts: &Facts<'_>) -> Vec<Finding> {
    let Some(relative) = facts.places.memory_path(page.path) else { return Vec::new() };
    let document = Document::new(page.path.to_owned(), relative, page.text.to_owned());
    let context =
        LintContext { secrets: Some(&secrets::by_line), buffer: Some(facts.open), ..LintContext::default() };
    let knowledge = facts.knowledge;
    lint::lint_document(knowledge.directory(), &document, knowledge.others(), facts.files, &context)
}

fn of_instructions(page: &Page<'_>, facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = lint::lint_instructions(page.path, page.text);
    for include in memory::instructions::includes(page.path, page.text, facts.home) {
        if looks_like_a_file(page, &include.target) && !include.path.exists() {
            let message = format!("there is no {}, which this would include", include.target);
            findings.push(at(page, include.range, code::DEAD_LINK, message));
            // More are not shown, and each asks the disk.
            if findings.len() >= MOST {
                break;
            }
        }
    }
    findings.sort_by_key(|finding| finding.range.start);
    findings
}

/// "Missing files are ignored": what does not look like a file is a name, `@ada`, or a package, `@acme/backend`.
fn looks_like_a_file(page: &Page<'_>, target: &str) -> bool {
    if ["./", "../", "~/", "/"].iter().any(|start| target.starts_with(start))
        || memory::instructions::has_text_ending(target)
    {
        return true;
    }
    let folder = page.path.parent().unwrap_or(page.path);
    target.split_once('/').is_some_and(|(first, _)| folder.join(first).is_dir())
}

fn of_skill(page: &Page<'_>) -> Vec<Finding> {
    let mut findings = lint::lint_instructions(page.path, page.text);
    findings.retain(|finding| finding.code != code::LONG_INSTRUCTIONS);
    if page.role != Role::Skill {
        return findings;
    }
    let fields = page.fields();
    let first = page.line_at(0);
    if page.front().is_none() {
        let message =
            "there is no frontmatter: name and description are what the model chooses by".to_owned();
        findings.push(at(page, first, code::NO_FRONTMATTER, message));
        return findings;
    }
    match fields.iter().find(|field| field.key.eq_ignore_ascii_case("description")) {
        None => {
            let message = "there is no description: it tells the model when to use the skill".to_owned();
            findings.push(at(page, first, code::NO_DESCRIPTION, message));
        }
        Some(field) if field.value.is_empty() => {
            let continues = page
                .text
                .get(field.value_range.end..)
                .and_then(|rest| rest.split('\n').nth(1))
                .is_some_and(|next| next.starts_with([' ', '\t']));
            if !continues {
                let message = "the description is empty".to_owned();
                findings.push(at(page, field.key_range.clone(), code::EMPTY_DESCRIPTION, message));
            }
        }
        Some(_) => {}
    }
    findings
}

fn at(page: &Page<'_>, range: Range<usize>, code: &'static str, message: String) -> Finding {
    let line = page.text.get(..range.start).unwrap_or_default().matches('\n').count() + 1;
    Finding { path: page.path.to_owned(), line, range, code, message, fix: None }
}

/// Whatever a rule says, an editor is told a piece of the text.
pub(crate) fn inside(text: &str, range: Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(range.start);
    start..text.floor_char_boundary(range.end).max(start)
}

#[cfg(test)]
mod tests;
