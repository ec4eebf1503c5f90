//! ripgrep's engine, set up as ripgrep sets it up for a tree, with bounds on what it may use.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use super::{Query, lines::Context};
use crate::{search::Stop, tool::ToolFailure};

/// Far more than any pattern a person would write; one that needs more is told so instead of taking seconds.
const MAX_PROGRAM_BYTES: usize = 10 * 1024 * 1024;
const MAX_CACHE_BYTES: usize = 32 * 1024 * 1024;

/// The longest line (or, across lines, file) that is searched. A thread needs at most this much.
const MAX_HEAP: usize = 32 * 1024 * 1024;

pub(super) fn matcher(query: &Query) -> Result<RegexMatcher, ToolFailure> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(query.ignore_case)
        .size_limit(MAX_PROGRAM_BYTES)
        .dfa_size_limit(MAX_CACHE_BYTES);
    if query.multiline {
        builder.dot_matches_new_line(true);
    } else if query.pattern.contains('$') {
        // The end of a line is also before `\r\n`; only patterns that ask for it pay for it.
        builder.crlf(true);
    } else {
        // Knowing that no match has a line end in it is what makes the search fast.
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&query.pattern).map_err(|error| {
        let error = error.to_string();
        let hint = if !query.multiline && query.pattern.contains("\\n") {
            "; to match across lines set multiline"
        } else if error.contains("size limit") {
            ""
        } else {
            "; escape what is meant literally with a backslash"
        };
        ToolFailure(format!("the pattern is not valid: {}{hint}", error.trim_end()))
    })
}

/// A searcher like ripgrep's for a tree: no memory maps, binary files left at their first NUL.
pub(super) fn searcher(query: &Query, matcher: &RegexMatcher, context: Option<Context>) -> Searcher {
    let mut builder = SearcherBuilder::new();
    if let Some(terminator) = matcher.line_terminator() {
        builder.line_terminator(terminator);
    }
    builder
        .multi_line(query.multiline)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_HEAP))
        .line_number(context.is_some())
        .before_context(context.map_or(0, |context| context.before))
        .after_context(context.map_or(0, |context| context.after));
    builder.build()
}

/// Opens a file for a search that may be told to stop inside it.
pub(super) fn open<'a>(
    path: &Path,
    ends: fn(&Stop) -> bool,
    stop: &'a Stop,
) -> io::Result<Interruptible<'a>> {
    Ok(Interruptible { file: File::open(path)?, ends, stop })
}

/// A file that seems to end where the search was told to stop.
pub(super) struct Interruptible<'a> {
    file: File,
    ends: fn(&Stop) -> bool,
    stop: &'a Stop,
}

impl Read for Interruptible<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.ends)(self.stop) {
            return Ok(0);
        }
        self.file.read(buffer)
    }
}
