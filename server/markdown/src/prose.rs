//! What of a Markdown text is prose: not code, not comments.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};

/// Byte ranges in the order of the text; they do not overlap.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Inert {
    /// Code spans, fenced and indented blocks.
    pub code: Vec<Range<usize>>,
    /// `<!-- … -->`
    pub comments: Vec<Range<usize>>,
}

impl Inert {
    pub fn of(text: &str) -> Self {
        let mut inert = Self::default();
        for (event, range) in Parser::new(text).into_offset_iter() {
            match event {
                Event::Code(_) | Event::Start(Tag::CodeBlock(_)) => inert.code.push(range),
                Event::InlineHtml(_) | Event::Start(Tag::HtmlBlock) => inert.add_comments(text, range),
                _ => {}
            }
        }
        inert
    }

    pub fn has_code_at(&self, offset: usize) -> bool {
        holds(&self.code, offset)
    }

    pub fn has_comment_at(&self, offset: usize) -> bool {
        holds(&self.comments, offset)
    }

    /// A comment ends where it is closed, also where Markdown ends the block before that: `<!-- a --> <!--` is a block
    /// of one line, and what follows is a comment to everybody else.
    fn add_comments(&mut self, text: &str, within: Range<usize>) {
        let mut at = self.comments.last().map_or(within.start, |last| within.start.max(last.end));
        while let Some(begin) = text.get(at..within.end).and_then(|rest| rest.find("<!--")) {
            let begin = at + begin;
            // Looked for in vain once, it is not looked for again.
            let is_open = self.comments.last().is_some_and(|last| !text.get(..last.end).is_some_and(closed));
            let close = text.get(begin..).filter(|_| !is_open).and_then(|rest| rest.find("-->"));
            let end = close.map_or(within.end, |close| begin + close + 3);
            self.comments.push(begin..end);
            at = end;
        }
    }
}

fn closed(text: &str) -> bool {
    text.ends_with("-->")
}

/// A text may have as many ranges as it has places to ask about, so not all of them are looked at.
fn holds(ranges: &[Range<usize>], offset: usize) -> bool {
    let after = ranges.partition_point(|range| range.start <= offset);
    after.checked_sub(1).and_then(|last| ranges.get(last)).is_some_and(|range| range.contains(&offset))
}

/// The text without its comments; a line that held nothing else goes too.
pub fn without_comments(text: &str) -> String {
    if !text.contains("<!--") {
        return text.to_owned();
    }
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for comment in Inert::of(text).comments {
        let begin = comment.start;
        kept.push_str(text.get(at..begin).unwrap_or_default());
        at = comment.end;
        let line_begins = kept.is_empty() || kept.ends_with('\n');
        let rest = text.get(at..).unwrap_or_default();
        if line_begins && let Some(next) = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')) {
            at = text.len() - next.len();
        }
    }
    kept.push_str(text.get(at..).unwrap_or_default());
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_not_prose() {
        let text = "see `@a` and\n\n```\n@b\n```\n\n    @c\n\n@d\n";
        let inert = Inert::of(text);
        let prose: Vec<&str> = text
            .match_indices('@')
            .filter(|(at, _)| !inert.has_code_at(*at))
            .map(|(at, _)| &text[at..at + 2])
            .collect();
        assert_eq!(prose, ["@d"]);
        let comment = Inert::of("a <!-- @b --> @c");
        assert!(comment.has_comment_at(7) && !comment.has_comment_at(14) && !comment.has_comment_at(0));
    }

    #[test]
    fn comments_are_dropped_and_code_that_shows_one_is_not() {
        assert_eq!(without_comments("a <!-- x --> b\n<!-- y\nz -->\nc\n"), "a  b\nc\n");
        assert_eq!(without_comments("`<!-- x -->` b"), "`<!-- x -->` b");
        assert_eq!(without_comments("```\n<!-- x -->\n```\n"), "```\n<!-- x -->\n```\n");
        assert_eq!(without_comments("a\n\n<!-- open"), "a\n\n");
        assert_eq!(without_comments("<!-- x --> <!--\ny <!-- z\n-->\nb"), " \nb");
    }
}
