//! Spans of old messages for which a summary stands: staged while there is still room, written by a side agent,
//! and used when there is not. A projection with a log: the history keeps everything.

use std::{ops::Range, sync::Arc};

use conversation::Message;
use uuid::Uuid;

use crate::{
    event::{Change, Entry, Event, layer},
    fork,
    measure::{Tokens, counted, excerpt, tokens_of_text},
    projection::{Projection, Span},
    rounds,
};

/// Spans are staged from here on, in percent of the effective window.
const STAGE_AT: u64 = 90;
/// And used from here on.
pub(crate) const COMMIT_AT: u64 = 95;
/// As many are staged as bring the conversation below this.
const STAGE_DOWN_TO: u64 = 80;
const SPAN_TOKENS: u64 = 20_000;
const FEWEST_ROUNDS: usize = 2;
/// The last rounds are what is being worked on.
const UNTOUCHED_ROUNDS: usize = 3;
/// What a summary is expected to take.
const SUMMARY_TOKENS: u64 = 1_000;

/// What the side agent that summarises a span is asked, behind the conversation that the span is a part of.
pub fn directive(span: &[Arc<Message>]) -> String {
    let said: Vec<String> = span.iter().filter_map(|message| excerpt(message)).collect();
    let quote = |text: Option<&String>| text.map_or("(a tool call)", String::as_str).to_owned();
    include_str!("collapse/directive.md")
        .replace("{{marker}}", fork::COLLAPSE)
        .replace("{{count}}", &span.len().to_string())
        .replace("{{first}}", &quote(said.first()))
        .replace("{{last}}", &quote(said.last()))
        .trim_end()
        .to_owned()
}

/// Every span that has a summary leaves the request.
pub fn commit(projection: &Projection, thread: &[Arc<Message>], tokens: Tokens<'_>) -> Vec<Change> {
    let summarised = projection.staged().iter().filter_map(|span| Some((span, span.summary.as_ref()?)));
    summarised.filter_map(|(span, summary)| collapsed(span, summary, projection, thread, tokens)).collect()
}

/// What is sent instead of the span.
fn summary_text(summary: &str, first: Uuid, messages: usize) -> String {
    format!(
        "<collapsed-messages id=\"{first}\">\n\
         Here stood {}. A summary stands for them:\n\n\
         {}\n\n\
         The messages themselves are in the session's history: the user can expand them in the chat. Read files \
         again rather than rely on what a summary says about their text.\n\
         </collapsed-messages>",
        counted(messages, "message"),
        summary.trim(),
    )
}

/// Spans of the oldest rounds, as many as it takes; none while there is room.
pub(crate) fn stage(
    thread: &[Arc<Message>],
    projection: &Projection,
    used: u64,
    effective: u64,
    tokens: Tokens<'_>,
) -> Vec<Change> {
    if used < effective * STAGE_AT / 100 {
        return Vec::new();
    }
    let staged: Vec<Range<usize>> =
        projection.staged().iter().filter_map(|span| range_of(span, thread)).collect();
    let size =
        |range: &Range<usize>| size_of(thread.get(range.clone()).unwrap_or_default(), projection, tokens);
    let mut left = used;
    for range in &staged {
        left = left.saturating_sub(size(range).saturating_sub(SUMMARY_TOKENS));
    }
    let mut changes = Vec::new();
    for span in spans(thread, projection, &staged, &size) {
        if left < effective * STAGE_DOWN_TO / 100 {
            break;
        }
        left = left.saturating_sub(size(&span).saturating_sub(SUMMARY_TOKENS));
        if let Some([first, .., last]) = thread.get(span) {
            changes.push(Change { event: Event::Staged { first: first.uuid, last: last.uuid }, entry: None });
        }
    }
    changes
}

/// The staged spans that somebody has to write a summary of.
pub(crate) fn waiting(projection: &Projection, thread: &[Arc<Message>]) -> Vec<Span> {
    let is_sent = |span: &Span| {
        let messages = range_of(span, thread).and_then(|range| thread.get(range)).unwrap_or_default();
        messages.iter().any(|message| !projection.is_left_out(message.uuid))
    };
    projection.staged().iter().filter(|span| span.summary.is_none() && is_sent(span)).cloned().collect()
}

/// The rounds that may be collapsed, in spans, oldest first.
fn spans(
    thread: &[Arc<Message>],
    projection: &Projection,
    staged: &[Range<usize>],
    size: &dyn Fn(&Range<usize>) -> u64,
) -> Vec<Range<usize>> {
    let rounds = rounds::rounds(thread);
    let prompt = thread.iter().rposition(|message| rounds::is_prompt(message) && !message.flags.meta);
    let may_go = |round: &Range<usize>| {
        let messages = thread.get(round.clone()).unwrap_or_default();
        let is_free =
            |message: &Arc<Message>| !message.flags.compact_summary && !projection.is_left_out(message.uuid);
        prompt.is_none_or(|prompt| !round.contains(&prompt))
            && messages.iter().all(is_free)
            && !staged.iter().any(|span| span.contains(&round.start))
    };
    let mut spans = Vec::new();
    let (mut open, mut count, mut tokens): (Option<Range<usize>>, usize, u64) = (None, 0, 0);
    for round in rounds.iter().take(rounds.len().saturating_sub(UNTOUCHED_ROUNDS)) {
        let adds = size(round);
        let is_full = count >= FEWEST_ROUNDS && tokens + adds > SPAN_TOKENS;
        if is_full || !may_go(round) {
            spans.extend(open.take().filter(|_| count >= FEWEST_ROUNDS));
            (count, tokens) = (0, 0);
        }
        if may_go(round) {
            open = Some(open.map_or(round.start, |span| span.start)..round.end);
            (count, tokens) = (count + 1, tokens + adds);
        }
    }
    spans.extend(open.filter(|_| count >= FEWEST_ROUNDS));
    spans
}

fn collapsed(
    span: &Span,
    summary: &str,
    projection: &Projection,
    thread: &[Arc<Message>],
    tokens: Tokens<'_>,
) -> Option<Change> {
    let messages = thread.get(range_of(span, thread)?)?;
    let summary = summary_text(summary, span.first, messages.len());
    let freed = size_of(messages, projection, tokens).saturating_sub(tokens_of_text(&summary, tokens));
    let entry = Entry {
        layer: layer::COLLAPSE.to_owned(),
        detail: format!("a summary stands for {}", counted(messages.len(), "message")),
        messages: messages.len() as u64,
        tokens_freed: freed,
        cache_kept: false,
        original: Some(span.first.to_string()),
    };
    let messages = messages.iter().map(|message| message.uuid).collect();
    let event = Event::Collapsed { first: span.first, last: span.last, messages, summary };
    Some(Change { event, entry: Some(entry) })
}

fn range_of(span: &Span, thread: &[Arc<Message>]) -> Option<Range<usize>> {
    let place = |uuid: Uuid| thread.iter().position(|message| message.uuid == uuid);
    let range = place(span.first)?..place(span.last)? + 1;
    (!range.is_empty()).then_some(range)
}

/// As it is sent now.
fn size_of(messages: &[Arc<Message>], projection: &Projection, tokens: Tokens<'_>) -> u64 {
    let sent = messages.iter().filter(|message| !projection.is_left_out(message.uuid));
    sent.map(|message| projection.tokens_of(message, tokens)).sum()
}

#[cfg(test)]
mod tests;
