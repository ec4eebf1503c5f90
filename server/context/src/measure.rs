//! Texts measured and cut with the count of tokens that the caller brings along.

use conversation::{Block, Body, Flags, Message};
use jiff::Timestamp;
use uuid::Uuid;

/// How many tokens a message is. It must look at the message it is given: what is sent of a message and the
/// message itself have the same uuid.
pub type Tokens<'a> = &'a dyn Fn(&Message) -> u64;

pub(crate) fn tokens_of_text(text: &str, tokens: Tokens<'_>) -> u64 {
    tokens_of_block(Block::text(text), tokens)
}

pub(crate) fn tokens_of_block(block: Block, tokens: Tokens<'_>) -> u64 {
    tokens(&Message {
        uuid: Uuid::nil(),
        parent: None,
        timestamp: Timestamp::UNIX_EPOCH,
        flags: Flags { meta: true, ..Flags::default() },
        body: Body::User { content: vec![block] },
    })
}

/// Less of a text than this says nothing.
const SMALLEST_HEAD: u64 = 100;

/// As much of a text as there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fitting<'a> {
    Whole(&'a str),
    Head(&'a str),
    /// Too little room for anything of it.
    Nothing,
}

pub(crate) fn fitting<'a>(text: &'a str, room: u64, tokens: Tokens<'_>) -> Fitting<'a> {
    match head_within(text, room, tokens) {
        None => Fitting::Whole(text),
        Some(head) if room >= SMALLEST_HEAD && !head.trim().is_empty() => Fitting::Head(head),
        Some(_) => Fitting::Nothing,
    }
}

/// The beginning of the text that has at most this many tokens, in whole lines where there is more than one.
/// `None`: all of it has.
fn head_within<'a>(text: &'a str, limit: u64, tokens: Tokens<'_>) -> Option<&'a str> {
    let mut head = text;
    let mut count = tokens_of_text(head, tokens);
    if count <= limit {
        return None;
    }
    while count > limit && !head.is_empty() {
        // A little less than in proportion, so that it ends soon whatever the text is made of.
        let share = limit as f64 / count as f64 * 0.98;
        let length = head.floor_char_boundary((head.len() as f64 * share) as usize);
        head = at_line_end(head, length);
        count = tokens_of_text(head, tokens);
    }
    Some(head)
}

/// At most the first `length` bytes, up to the end of a line; inside of a line only if there is no end.
pub(crate) fn at_line_end(text: &str, length: usize) -> &str {
    let head = text.get(..text.floor_char_boundary(length)).unwrap_or(text);
    if head.len() == text.len() {
        return text;
    }
    head.rfind('\n').and_then(|end| head.get(..end)).filter(|lines| !lines.is_empty()).unwrap_or(head)
}

/// The beginning of what the message says, on one line and in quotation marks.
pub(crate) fn excerpt(message: &Message) -> Option<String> {
    let (Body::User { content } | Body::Assistant { content, .. }) = &message.body else { return None };
    let text = content.iter().find_map(|block| match block {
        Block::Text { text } if !text.trim().is_empty() => Some(text),
        _ => None,
    })?;
    let words: Vec<&str> = text.split_whitespace().take(20).collect();
    let line = words.join(" ");
    let shown = line.get(..line.floor_char_boundary(160)).unwrap_or_default();
    Some(format!("“{shown}”"))
}

/// `3 files`, `1 file`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::bytes;

    #[test]
    fn a_text_that_fits_is_not_cut() {
        assert_eq!(head_within("four", 4, &bytes), None);
    }

    #[test]
    fn a_long_text_is_cut_at_a_line() {
        assert_eq!(head_within("first\nsecond\nthird", 14, &bytes), Some("first\nsecond"));
        assert_eq!(head_within("first\nsecond\nthird", 0, &bytes), Some(""));
    }

    #[test]
    fn a_single_line_is_cut_between_characters() {
        assert_eq!(head_within("äöüß", 5, &bytes), Some("äö"));
    }
}
