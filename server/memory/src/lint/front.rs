//! The frontmatter of a memory: what recall and the index go by.

use markdown::frontmatter;

use super::{Document, Finding, code};
use crate::topic::FRONTMATTER_LINES;
use crate::{Kind, Topic};

pub(super) fn lint(memory: &Document, findings: &mut Vec<Finding>) {
    let topic = Topic::parse(&memory.text);
    if !topic.has_frontmatter {
        let begins = memory.text.trim_start_matches('\u{feff}').lines().next();
        findings.push(if begins.is_some_and(|line| line.trim_end() == "---") {
            let message =
                format!("the frontmatter does not end within {FRONTMATTER_LINES} lines and is not read");
            memory.finding(1, code::BROKEN_FRONTMATTER, message)
        } else {
            let message = "there is no frontmatter: name, description and type are what recall goes by";
            memory.finding(1, code::NO_FRONTMATTER, message)
        });
        return;
    }
    if let Some(problem) = topic.problem {
        findings.push(memory.finding(1, code::BROKEN_FRONTMATTER, format!("the file {problem}")));
        return;
    }
    let front = memory.text.get(..memory.text.len() - topic.body.len()).unwrap_or_default();
    if topic.description.is_none() {
        findings.push(match line_of(front, "description") {
            Some(line) => memory.finding(line, code::EMPTY_DESCRIPTION, "the description is empty"),
            None => memory.finding(
                1,
                code::NO_DESCRIPTION,
                "there is no description: one line that says when this matters is what recall goes by",
            ),
        });
    }
    let fields = frontmatter::parse(front.trim_start_matches('\u{feff}')).fields;
    if let Some(kind) = fields.line("type").filter(|kind| Kind::parse(kind).is_none()) {
        let shown: String = kind.chars().take(40).collect();
        let known = Kind::ALL.map(Kind::as_str).join(", ");
        let message = format!("the type {shown:?} is none of {known} and counts as none");
        findings.push(memory.finding(line_of(front, "type").unwrap_or(1), code::UNKNOWN_TYPE, message));
    }
}

/// The line, from 1, at which a key stands.
fn line_of(front: &str, key: &str) -> Option<usize> {
    let is_it = |line: &str| {
        line.split_once(':')
            .is_some_and(|(name, _)| name.trim().trim_matches(['"', '\'']).eq_ignore_ascii_case(key))
    };
    front.lines().position(is_it).map(|line| line + 1)
}
