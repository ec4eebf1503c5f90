//! A part of the conversation in a few sentences.

use std::collections::HashSet;

use conversation::{Block, RequestMessage};

use super::{
    story::{Deed, Outcome, Story},
    words::line,
};

pub(super) fn render(messages: &[RequestMessage], directive: &str) -> String {
    let story = Story::of(part(messages, directive), directive);
    let done = |deed: &&Deed<'_>| matches!(deed.outcome, Outcome::Done);
    let path = |deed: &Deed<'_>| Some(line(deed.path()?, 200));
    let is_read = |deed: &&Deed<'_>| deed.tool == "Read";
    let command = |deed: &Deed<'_>| Some(format!("`{}`", line(deed.input.get("command")?.as_str()?, 100)));
    let failed = |deed: &Deed<'_>| match &deed.outcome {
        Outcome::Failed(why) => Some(format!("{} ({})", deed.told(), line(why, 120))),
        Outcome::Open | Outcome::Done => None,
    };
    let answer = story.turns.iter().rev().map(|turn| turn.answer).find(|answer| !answer.is_empty());
    let sentences = [
        sentence("Before that:", story.earlier.iter().map(|earlier| line(&earlier.told(), 600))),
        sentence("The user asked:", story.requests().map(|request| format!("“{}”", line(request, 160)))),
        sentence("Files that were read:", story.deeds().filter(done).filter(is_read).filter_map(path)),
        sentence(
            "Files that were changed:",
            story.deeds().filter(done).filter(|deed| !is_read(deed)).filter_map(path),
        ),
        sentence("Commands that were run:", story.deeds().filter_map(command)),
        sentence("What failed:", story.deeds().filter_map(failed)),
        sentence("The last answer was:", answer.map(|answer| format!("“{}”", line(answer, 400))).into_iter()),
    ];
    let sentences: Vec<String> = sentences.into_iter().flatten().collect();
    if sentences.is_empty() {
        return "Nothing was asked or done in this part.".to_owned();
    }
    sentences.join(" ")
}

/// The items, each once, as one sentence; `None` if there are none.
fn sentence(before: &str, items: impl Iterator<Item = String>) -> Option<String> {
    const SHOWN: usize = 8;
    let mut seen = HashSet::new();
    let items: Vec<String> = items.filter(|item| seen.insert(item.clone())).collect();
    let shown = items.get(..items.len().min(SHOWN)).filter(|shown| !shown.is_empty())?.join(", ");
    Some(match items.len().saturating_sub(SHOWN) {
        0 if shown.trim_end_matches('”').ends_with('.') => format!("{before} {shown}"),
        0 => format!("{before} {shown}."),
        more => format!("{before} {shown} and {more} more."),
    })
}

/// The messages from the first to the last that the directive quotes in “…”; all, if it quotes none that is there.
fn part<'a>(messages: &'a [RequestMessage], directive: &str) -> &'a [RequestMessage] {
    let mut quotes =
        directive.split('“').skip(1).filter_map(|rest| rest.split_once('”')).map(|(quote, _)| quote.trim());
    let Some(first) = quotes.next() else { return messages };
    let last = quotes.last().unwrap_or(first);
    let begins = |message: &RequestMessage, quote: &str| {
        message.content.iter().any(|block| match block {
            Block::Text { text } => {
                text != directive && line(text, quote.len()).trim_end_matches('…') == quote
            }
            _ => false,
        })
    };
    let Some(start) = messages.iter().position(|message| begins(message, first)) else { return messages };
    let end = messages.iter().skip(start).position(|message| begins(message, last));
    let end = end.map_or(messages.len(), |length| start + length + 1);
    messages.get(start..end).unwrap_or(messages)
}
