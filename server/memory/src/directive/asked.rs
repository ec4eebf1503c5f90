//! A directive read back: what the embedded model, which goes by rules, needs to know of it.

use jiff::civil::Date;

use super::{DREAM, EXTRACT, FINDINGS, LOGS, MEMORIES};
use crate::{Kind, dates::find_date};

/// What a directive says, besides what to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Without a slash at its end.
    pub directory: String,
    pub today: Option<Date>,
    /// How many of the last messages are to be looked at.
    pub messages: usize,
    pub memories: Vec<Known>,
    /// Whether there are memories that are not listed.
    pub is_partial: bool,
    pub logs: Vec<String>,
    pub has_findings: bool,
}

/// A line of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Relative to the directory.
    pub path: String,
    pub kind: Option<Kind>,
    pub date: Option<Date>,
    pub description: String,
}

impl Asked {
    /// `None`: the text is no directive of these.
    pub fn of(text: &str) -> Option<Self> {
        let first = text.lines().next()?;
        if first != EXTRACT && first != DREAM {
            return None;
        }
        let mut asked = Self::default();
        let mut inside: Option<&str> = None;
        for line in text.lines().skip(1) {
            match (inside, tag(line)) {
                (None, Some((tag, true))) => inside = Some(tag),
                (Some(open), Some((tag, false))) if open == tag => inside = None,
                (Some(open), _) => asked.read_item(open, line),
                (None, _) => asked.read_line(line),
            }
        }
        Some(asked)
    }

    fn read_line(&mut self, line: &str) {
        if let Some(directory) = line.strip_prefix("Memory directory: ") {
            self.directory = directory.trim_end_matches('/').to_owned();
        } else if let Some(today) = line.strip_prefix("Today: ") {
            self.today = find_date(today);
        } else if let Some(rest) = line.strip_prefix("Look at the last ") {
            let count = rest.split(' ').next().and_then(|count| count.parse().ok());
            self.messages = count.unwrap_or_default();
        }
    }

    fn read_item(&mut self, list: &str, line: &str) {
        match (list, line.strip_prefix("- ")) {
            (MEMORIES, Some(item)) => self.memories.extend(Known::of(item)),
            (MEMORIES, None) => self.is_partial = true,
            (LOGS, Some(log)) => self.logs.push(log.to_owned()),
            (FINDINGS, Some(_)) => self.has_findings = true,
            _ => {}
        }
    }
}

impl Known {
    /// `[type] file (date): description`, as `recall::manifest_line` writes it.
    fn of(item: &str) -> Option<Self> {
        let kind = |rest: &str| Kind::parse(rest.split_once(']')?.0);
        let kind = item.strip_prefix('[').and_then(kind);
        let rest = kind.and_then(|_| item.split_once("] ")).map_or(item, |(_, rest)| rest);
        // A name may have parentheses; a date in them, followed by a colon, ends it.
        let (end, date) = rest.match_indices(" (").find_map(|(at, open)| {
            let inside = rest.get(at + open.len()..)?;
            let (date, _) = inside.split_once("): ").or_else(|| inside.split_once("):"))?;
            Some((at, find_date(date).filter(|_| date.len() == 10)?))
        })?;
        let path = rest.get(..end)?.to_owned();
        let description = rest.get(end..)?.split_once("):")?.1.trim().to_owned();
        Some(Self { path, kind, date: Some(date), description })
    }
}

/// A line that opens (`true`) or closes a list.
fn tag(line: &str) -> Option<(&str, bool)> {
    let inside = line.strip_prefix('<')?.strip_suffix('>')?;
    let (tag, opens) = inside.strip_prefix('/').map_or((inside, true), |tag| (tag, false));
    tag.bytes().all(|byte| byte.is_ascii_lowercase()).then_some((tag, opens))
}
