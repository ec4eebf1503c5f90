//! The second pass: the matching lines of the files to show, with what is around them.

use std::{collections::HashMap, io, path::Path, path::PathBuf};

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use super::{
    MAX_CHARS, Query,
    engine::{open, searcher},
};
use crate::search::{self, Find, Stop};

/// Of a longer line the part around the match is shown.
const MAX_LINE_CHARS: usize = 500;

/// How much of a long line is shown before the match.
const LEAD_CHARS: usize = 100;

/// What is shown around and before the lines.
#[derive(Clone, Copy)]
pub(super) struct Context {
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) numbers: bool,
}

pub(super) struct Shown {
    pub(super) text: String,
    /// How many of the shown lines (or, across lines, places) match.
    pub(super) matches: u64,
}

pub(super) fn collect(
    query: &Query,
    matcher: &RegexMatcher,
    files: &[Find],
    unsaved: &HashMap<PathBuf, String>,
    cwd: &Path,
    stop: &Stop,
) -> Shown {
    let mut searcher = searcher(query, matcher, Some(query.context));
    let mut page = Page {
        matcher,
        numbers: query.context.numbers,
        lines_left: query.limit,
        text: String::new(),
        matches: 0,
    };
    for file in files {
        if page.is_full() {
            break;
        }
        let before = page.text.len();
        if before > 0 {
            page.text.push('\n');
        }
        page.text.push_str(&search::shown(&file.path, cwd));
        page.text.push('\n');
        let heading_end = page.text.len();
        let result = match unsaved.get(&file.path) {
            Some(text) => searcher.search_slice(matcher, text.as_bytes(), &mut page),
            None => open(&file.path, Stop::everything, stop)
                .and_then(|file| searcher.search_reader(matcher, file, &mut page)),
        };
        if let Err(error) = result {
            tracing::debug!(%error, "a file that matched cannot be read again");
        }
        // It changed since the first pass and has no match any more.
        if page.text.len() == heading_end {
            page.text.truncate(before);
        }
    }
    Shown { text: page.text.trim_end().to_owned(), matches: page.matches }
}

/// The text so far and the room that is left.
struct Page<'a> {
    matcher: &'a RegexMatcher,
    numbers: bool,
    lines_left: usize,
    text: String,
    matches: u64,
}

impl Page<'_> {
    fn is_full(&self) -> bool {
        self.lines_left == 0 || self.text.len() >= MAX_CHARS
    }

    fn line(&mut self, number: Option<u64>, mark: char, line: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let (true, Some(number)) = (self.numbers, number) {
            self.text.push_str(&format!("{number}{mark}"));
        }
        self.text.push_str(&self.short(line, mark == ':'));
        self.text.push('\n');
        self.lines_left = self.lines_left.saturating_sub(1);
    }

    fn short(&self, line: &[u8], matched: bool) -> String {
        let text = String::from_utf8_lossy(line);
        if text.len() <= MAX_LINE_CHARS || text.chars().count() <= MAX_LINE_CHARS {
            return text.into_owned();
        }
        let found = if matched { self.matcher.find(line).ok().flatten() } else { None };
        let match_start = found.map_or(0, |found| {
            String::from_utf8_lossy(line.get(..found.start()).unwrap_or_default()).chars().count()
        });
        let skipped = match match_start {
            near if near + LEAD_CHARS < MAX_LINE_CHARS => 0,
            far => far - LEAD_CHARS,
        };
        let part: String = text.chars().skip(skipped).take(MAX_LINE_CHARS).collect();
        let before = if skipped > 0 { "[...] " } else { "" };
        let after = if skipped + MAX_LINE_CHARS < text.chars().count() { " [...]" } else { "" };
        format!("{before}{part}{after}")
    }
}

impl Sink for Page<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.is_full() {
            return Ok(false);
        }
        self.matches += 1;
        for (index, line) in found.lines().enumerate() {
            if self.is_full() {
                return Ok(false);
            }
            self.line(found.line_number().map(|number| number + index as u64), ':', line);
        }
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.is_full() {
            return Ok(false);
        }
        self.line(context.line_number(), '-', context.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, io::Error> {
        if !self.is_full() {
            self.text.push_str("--\n");
        }
        Ok(!self.is_full())
    }
}
