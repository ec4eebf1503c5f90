//! Finds credentials in text before it is shared: which rule, on which line, never the credential.
//!
//! One pass finds the rules' keys; a rule's expression is compiled and run only where one of its keys
//! stands, so that ordinary text costs little more than that pass. What the rules look for is data:
//! `secrets/rules.txt`.

mod assignment;
mod looks;
mod rule;
mod table;
mod words;

#[cfg(test)]
mod tests;

use std::ops::Range;

use assignment::Reader;
use rule::{Edge, Rule, Shape};
use table::{Table, table};

/// A credential in the text. It says where and of which kind; the text itself must not travel any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Stable, such as `github-pat`.
    pub rule: &'static str,
    /// From 1.
    pub line: usize,
}

/// Rules that know no service, the better name first. A line has a finding of one of them only if no other
/// rule has one there.
const GENERIC: &[&str] = &[
    "password-assignment",
    "bearer-token",
    "basic-auth-header",
    "url-password",
    "generic-api-key",
    "generic-key",
];

/// All credentials in `text`, by line, each rule at most once a line.
pub fn scan(text: &str) -> Vec<Finding> {
    let Some(table) = table() else { return Vec::new() };
    let text = text.as_bytes();
    let mut findings = Scan::new(text, table).run();
    let rank = |finding: &Finding| {
        GENERIC.iter().position(|rule| *rule == finding.rule).map_or(0, |place| place + 1)
    };
    findings.sort_unstable_by_key(|finding| (finding.line, rank(finding), finding.rule));
    findings.dedup_by(|next, kept| next.line == kept.line && (rank(next) > 0 || next.rule == kept.rule));
    findings
}

/// The same as rules and lines, for [`crate::lint`].
pub fn by_line(text: &str) -> Vec<(String, usize)> {
    scan(text).into_iter().map(|finding| (finding.rule.to_owned(), finding.line)).collect()
}

/// Id and description of every rule.
pub fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    table().into_iter().flat_map(|table| table.rules.iter().map(|rule| (rule.id, rule.description)))
}

struct Scan<'a> {
    text: &'a [u8],
    table: &'static Table,
    line: Line,
    findings: Vec<Finding>,
    /// For each rule, up to where its finding on the current line answers for all that follows.
    settled: Vec<usize>,
    /// For each rule that searches around its keys: where, merged, so that no byte is searched twice.
    windows: Vec<Vec<Range<usize>>>,
}

impl<'a> Scan<'a> {
    fn new(text: &'a [u8], table: &'static Table) -> Scan<'a> {
        Scan {
            text,
            table,
            line: Line::first(text),
            findings: Vec::new(),
            settled: vec![0; table.rules.len()],
            windows: vec![Vec::new(); table.rules.len()],
        }
    }

    fn run(mut self) -> Vec<Finding> {
        let table = self.table;
        let mut reader = Reader::new(self.text);
        for key in table.keys.find_overlapping_iter(self.text) {
            let place = key.start()..key.end();
            let mut assigned = None;
            for &index in table.users(key.pattern()) {
                if self.settled.get(index).is_some_and(|settled| place.start < *settled) {
                    continue;
                }
                let Some(rule) = table.rules.get(index) else { continue };
                match rule.shape {
                    Shape::Token | Shape::Whole => {
                        if rule.matches_at(self.text, place.start) {
                            self.found(index, rule, place.start);
                        }
                    }
                    Shape::Value if rule.edge == Edge::Part && !rule.edge.is_free(self.text, place.start) => {
                    }
                    Shape::Value => {
                        let assigned = assigned.get_or_insert_with(|| reader.assigned(place.clone()));
                        if let Some(assigned) = assigned
                            && rule.matches_value(assigned)
                        {
                            self.found(index, rule, assigned.at);
                        }
                    }
                    Shape::Search { before, after } => {
                        let window =
                            place.start.saturating_sub(before)..(place.end + after).min(self.text.len());
                        if let Some(windows) = self.windows.get_mut(index) {
                            merge(windows, window);
                        }
                    }
                }
            }
        }
        self.search_windows();
        self.findings
    }

    fn search_windows(&mut self) {
        for (index, windows) in std::mem::take(&mut self.windows).into_iter().enumerate() {
            let Some(rule) = self.table.rules.get(index) else { continue };
            for window in windows {
                for at in rule.matches_within(self.text, window) {
                    if self.settled.get(index).is_none_or(|settled| at >= *settled) {
                        self.found(index, rule, at);
                    }
                }
            }
        }
    }

    fn found(&mut self, index: usize, rule: &Rule, at: usize) {
        if at < self.line.start {
            self.line = Line::first(self.text);
        }
        while at >= self.line.end && self.line.end < self.text.len() {
            self.line = self.line.next(self.text);
        }
        if let Some(settled) = self.settled.get_mut(index) {
            *settled = self.line.end;
        }
        self.findings.push(Finding { rule: rule.id, line: self.line.number });
    }
}

/// A line and its newline.
struct Line {
    number: usize,
    start: usize,
    end: usize,
}

impl Line {
    fn first(text: &[u8]) -> Line {
        Line { number: 1, start: 0, end: end_of_line(text, 0) }
    }

    fn next(&self, text: &[u8]) -> Line {
        Line { number: self.number + 1, start: self.end, end: end_of_line(text, self.end) }
    }
}

/// Behind the next newline.
fn end_of_line(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    rest.iter().position(|byte| *byte == b'\n').map_or(text.len(), |length| from + length + 1)
}

/// Keys come in the order of their ends, so only the last window can touch the new one.
fn merge(windows: &mut Vec<Range<usize>>, window: Range<usize>) {
    match windows.last_mut() {
        Some(last) if window.start <= last.end => {
            last.end = last.end.max(window.end);
            last.start = last.start.min(window.start);
        }
        Some(_) | None => windows.push(window),
    }
}
