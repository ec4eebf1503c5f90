//! Summaries by rules: what a fork of the conversation is asked for when it has to become shorter.
//!
//! Here: how such a request is known, and the nine sections. What happened is read by `story`, what an earlier summary
//! says by `earlier`; a part of the conversation is told by `span`.

mod earlier;
mod sections;
mod span;
mod story;
mod told;
mod words;

use conversation::{Block, RequestMessage, Role};

use self::story::Story;
pub(super) use self::{
    told::{Told, told},
    words::fitted,
};
use crate::{QuerySource, Request};

/// The line that marks the directive for a summary of the whole conversation.
pub const SUMMARY_TAG: &str = "<reverie-fork kind=\"compact\">";
/// The same for a part of it.
pub const COLLAPSE_TAG: &str = "<reverie-fork kind=\"collapse\">";

/// `None` where no summary is asked for.
pub(super) fn answer(request: &Request) -> Option<String> {
    let (kind, directive) = asked_for(request)?;
    Some(match kind {
        Kind::Whole => {
            let story = Story::of(&request.messages, directive);
            let analysis = format!("Messages read, in their order: {}.", request.messages.len());
            let sections = sections::render(&story);
            format!("<analysis>\n{analysis}\n</analysis>\n\n<summary>\n{sections}\n</summary>")
        }
        Kind::Span => span::render(&request.messages, directive),
    })
}

/// Whether a text of the user's side was not typed, but stands for messages that are no longer sent.
pub(super) fn stands_in(text: &str) -> bool {
    const MARKS: [&str; 3] =
        ["<conversation-summary>", "<collapsed-messages", "[Left out here to make room:"];
    MARKS.iter().any(|mark| text.starts_with(mark))
}

/// What the user asked for last, as far as the summary says.
pub(super) fn last_request(text: &str) -> Option<String> {
    let items = earlier::read(text)?.items(5);
    items.last().map(|item| item.trim_start_matches(['-', ' ']).trim().to_owned())
}

enum Kind {
    Whole,
    Span,
}

/// Known by the tag, or by the source where the directive has none; then it is the last text.
fn asked_for(request: &Request) -> Option<(Kind, &str)> {
    let last: &RequestMessage = request.messages.last().filter(|message| message.role == Role::User)?;
    let mut texts = last.content.iter().rev().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let directive = texts.clone().find(|text| is_directive(text)).or_else(|| texts.next())?;
    match request.source {
        _ if has_line(directive, SUMMARY_TAG) => Some((Kind::Whole, directive)),
        _ if has_line(directive, COLLAPSE_TAG) => Some((Kind::Span, directive)),
        QuerySource::Compact => Some((Kind::Whole, directive)),
        QuerySource::Collapse => Some((Kind::Span, directive)),
        _ => None,
    }
}

/// Talk about a tag, in the middle of a line, asks for nothing.
fn is_directive(text: &str) -> bool {
    has_line(text, SUMMARY_TAG) || has_line(text, COLLAPSE_TAG)
}

fn has_line(text: &str, tag: &str) -> bool {
    text.lines().any(|line| line.starts_with(tag))
}

#[cfg(test)]
mod tests;
