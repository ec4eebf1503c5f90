//! Something in a layer that was not taken as it is written, why, and where exactly it stands.

use std::{fmt, ops::Range, path::PathBuf};

/// How the message ends of a file that cannot be read any more and could be before.
pub(crate) const KEPT: &str = "; what it said before stays in force";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// A file, `editor` or `command line`.
    pub source: String,
    /// The file, where there is one to open.
    pub file: Option<PathBuf>,
    /// Dotted; empty when it is about the whole layer.
    pub key: String,
    /// Counted from 1, for people.
    pub line: Option<usize>,
    /// Counted from 0, for editors.
    pub place: Option<Place>,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The whole layer is not taken.
    Error,
    /// A value is not taken, or not as one might think.
    Warning,
    /// Probably a slip of the pen; nothing is left out.
    Hint,
}

/// A stretch of one line, as the Language Server Protocol counts: lines and columns from 0, the end not included.
/// Columns come in both units, since the two sides of a connection agree on one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: u32,
    /// In UTF-16 units.
    pub start: u32,
    pub end: u32,
    /// In bytes of UTF-8.
    pub start_byte: u32,
    pub end_byte: u32,
}

impl Diagnostic {
    /// Whether something that restricts the agent may be lost by it: a file as a whole, or rules that deny or wall in.
    pub fn may_loosen(&self) -> bool {
        let restricts =
            ["permissions.deny", "permissions.ask", "sandbox"].iter().any(|key| self.key.starts_with(key));
        match self.severity {
            Severity::Error => self.file.is_some() && !self.message.ends_with(KEPT),
            Severity::Warning => restricts,
            Severity::Hint => false,
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl Place {
    /// Where this range of bytes of the text stands; what goes over several lines is told by its first.
    /// A byte order mark is no column: editors do not show one.
    pub(crate) fn of(text: &str, range: &Range<usize>) -> Self {
        let mut line = 0;
        let mut line_start = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let bytes = text.as_bytes();
        for (at, byte) in bytes.iter().enumerate().take(range.start) {
            // A carriage return ends a line by itself, unless it begins the longer line end.
            if *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')) {
                line += 1;
                line_start = at + 1;
            }
        }
        let rest = text.get(line_start..).unwrap_or_default();
        let line_end = line_start + rest.find(['\n', '\r']).unwrap_or(rest.len());
        let start = range.start.clamp(line_start, line_end);
        let end = range.end.clamp(start, line_end);
        let units = |to: usize| {
            text.get(line_start..to).unwrap_or_default().encode_utf16().count().try_into().unwrap_or(u32::MAX)
        };
        let column = |to: usize| u32::try_from(to - line_start).unwrap_or(u32::MAX);
        Self { line, start: units(start), end: units(end), start_byte: column(start), end_byte: column(end) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, wanted: &str, expected: (u32, u32, u32, u32, u32)) {
        let start = text.find(wanted).unwrap();
        let place = Place::of(text, &(start..start + wanted.len()));
        let Place { line, start, end, start_byte, end_byte } = place;
        assert_eq!((line, start, end, start_byte, end_byte), expected, "{text:?}");
    }

    #[test]
    fn columns_are_counted_in_both_units() {
        check("{\n  \"ü\": /* 🦀 */ 5}", "5", (1, 16, 17, 19, 20));
    }

    #[test]
    fn every_line_end_counts_once() {
        check("{\r\n\"a\":\r1,\n5}", "5", (3, 0, 1, 0, 1));
    }

    #[test]
    fn a_byte_order_mark_is_no_column() {
        check("\u{feff}{\"a\": 5}", "5", (0, 6, 7, 6, 7));
    }

    #[test]
    fn what_goes_over_lines_is_told_by_its_first() {
        check("{\"a\": [\n5]}", "[\n5]", (0, 6, 7, 6, 7));
    }
}
