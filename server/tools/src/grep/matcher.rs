//! The regular expression of a search, compiled as ripgrep compiles it.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use super::Query;
use crate::tool::ToolFailure;

/// Far more than any pattern a person would write; one that needs more is told so instead of taking seconds.
const MAX_PROGRAM_BYTES: usize = 10 * 1024 * 1024;
const MAX_CACHE_BYTES: usize = 32 * 1024 * 1024;

pub(super) fn build(query: &Query) -> Result<RegexMatcher, ToolFailure> {
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
