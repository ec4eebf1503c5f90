//! A text that somebody looks at, and what there is to know about it.

use std::{ops::Range, path::Path};

use jiff::{Timestamp, civil::Date};
use memory::{Memory, mentions::Files};

use crate::{Knowledge, Places, Role};

/// A longer text is nothing that was written for the agent; no feature looks into it.
pub(crate) const LONGEST: usize = 1 << 18;

/// The text of a file as the editor has it, saved or not.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    pub path: &'a Path,
    pub text: &'a str,
    pub role: Role,
}

/// What the text itself does not say.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    pub knowledge: &'a Knowledge,
    pub places: &'a Places,
    pub files: &'a Files,
    /// What is counted of a memory, by its path below the directory.
    pub memory: &'a dyn Fn(&str) -> Option<Memory>,
    /// The text of another file, if it is open.
    pub open: &'a dyn Fn(&Path) -> Option<String>,
    pub home: &'a Path,
    pub now: Timestamp,
    pub today: Date,
}

/// A place in some file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    pub path: std::path::PathBuf,
    pub range: Range<usize>,
}

impl<'a> Page<'a> {
    pub(crate) fn is_too_long(&self) -> bool {
        self.text.len() > LONGEST
    }

    /// The line in which an offset is, without its end.
    pub(crate) fn line_at(&self, offset: usize) -> Range<usize> {
        let offset = self.text.floor_char_boundary(offset);
        let before = self.text.get(..offset).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let rest = self.text.get(offset..).unwrap_or_default();
        let end = offset + rest.find('\n').unwrap_or(rest.len());
        let line = self.text.get(start..end).unwrap_or_default();
        start..start + line.strip_suffix('\r').unwrap_or(line).len()
    }

    /// The lines between the fences at the top; `None` where there are none, or the closing one is missing.
    pub(crate) fn front(&self) -> Option<Range<usize>> {
        if !self.role.has_frontmatter() {
            return None;
        }
        let mark = if self.text.starts_with('\u{feff}') { 3 } else { 0 };
        let mut lines = self.text.get(mark..)?.split_inclusive('\n');
        let opening = lines.next().filter(|line| line.trim_end() == "---")?;
        let start = mark + opening.len();
        let mut end = start;
        for line in lines {
            if line.trim_end() == "---" {
                return Some(start..end);
            }
            end += line.len();
        }
        None
    }

    /// The keys of the frontmatter with their values, as they stand.
    pub(crate) fn fields(&self) -> Vec<Field<'a>> {
        let Some(front) = self.front() else { return Vec::new() };
        let mut at = front.start;
        let mut fields = Vec::new();
        for line in self.text.get(front).unwrap_or_default().split_inclusive('\n') {
            fields.extend(Field::of(line, at));
            at += line.len();
        }
        fields
    }
}

/// `key: value` at the start of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    pub key: &'a str,
    pub key_range: Range<usize>,
    /// Without quotes.
    pub value: &'a str,
    pub value_range: Range<usize>,
}

impl<'a> Field<'a> {
    fn of(line: &'a str, at: usize) -> Option<Self> {
        let (key, rest) = line.split_once(':')?;
        let is_name = |character: char| character.is_alphanumeric() || matches!(character, '-' | '_');
        if key.is_empty() || !key.chars().all(is_name) {
            return None;
        }
        let value = rest.trim();
        let mut start =
            at + key.len() + 1 + (rest.len() - rest.trim_start().len()).min(rest.trim_end().len());
        let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
        let bare = quoted('"').or_else(|| quoted('\''));
        if bare.is_some() {
            start += 1;
        }
        let value = bare.unwrap_or(value);
        let value_range = start..start + value.len();
        Some(Self { key, key_range: at..at + key.len(), value, value_range })
    }
}
