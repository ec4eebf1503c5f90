//! Compaction with the session's notes: they are written already, so it costs no request. The notes stand for what
//! they cover, and the end of the conversation stays as it is.

use std::{path::Path, sync::Arc};

use conversation::{Block, Body, Message};
use uuid::Uuid;

use crate::{
    compact::{self, Continue},
    measure::{Fitting, Tokens, counted, fitting, tokens_of_text},
    rounds,
};

/// What stays at least.
const TAIL_TOKENS: u64 = 10_000;
const TAIL_MESSAGES: usize = 5;
/// Where going further back for it ends.
const LARGEST_EXTENSION: u64 = 40_000;
pub(crate) const SECTION_TOKENS: u64 = 2_000;
pub(crate) const NOTES_TOKENS: u64 = 12_000;

/// The notes as they are on the disk.
#[derive(Clone, Copy, Debug)]
pub struct Notes<'a> {
    pub text: &'a str,
    pub path: &'a Path,
    /// The last message they cover, if it is known.
    pub upto: Option<Uuid>,
    /// The session was resumed: nobody knows what they cover, and the end of the conversation decides alone.
    pub resumed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// From here on the thread stays.
    pub keep_from: usize,
    /// The notes, cut to size.
    pub summary: String,
    pub tokens_after: u64,
}

/// The next layer has to do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotUsable {
    #[error("nothing has been written into the session's notes yet")]
    Bare,
    #[error("it is not known how much of the conversation the notes cover")]
    UnknownBoundary,
    #[error("everything that could be left out is too recent")]
    NothingToRemove,
    #[error("notes and recent messages together have {tokens} tokens, and {threshold} are too many")]
    TooLarge { tokens: u64, threshold: u64 },
}

/// `prefix_tokens`: of what stands in front of every conversation.
pub fn plan(
    notes: Notes<'_>,
    thread: &[Arc<Message>],
    threshold: u64,
    prefix_tokens: u64,
    tokens: Tokens<'_>,
) -> Result<Plan, NotUsable> {
    if is_bare(notes.text) {
        return Err(NotUsable::Bare);
    }
    let covered = notes.upto.and_then(|upto| thread.iter().position(|message| message.uuid == upto));
    let boundary = match covered {
        Some(last_covered) => last_covered + 1,
        None if notes.resumed => thread.len(),
        None => return Err(NotUsable::UnknownBoundary),
    };
    let keep_from = keep_from(thread, boundary, tokens).ok_or(NotUsable::NothingToRemove)?;
    let summary = within_limits(notes, tokens);
    let kept = thread.iter().skip(keep_from).map(|message| tokens(message)).sum::<u64>();
    let tokens_after = prefix_tokens + tokens_of_text(&summary, tokens) + kept;
    match tokens_after < threshold {
        true => Ok(Plan { keep_from, summary, tokens_after }),
        false => Err(NotUsable::TooLarge { tokens: tokens_after, threshold }),
    }
}

/// The user message that stands for what was removed.
pub fn summary_text(plan: &Plan, transcript: &Path, then: Continue) -> String {
    let what = "The earlier part of this conversation was replaced by the notes that were taken during it, to make \
                room. The latest messages follow behind them.";
    compact::framed(what, &plan.summary, transcript, then)
}

/// Nothing but headings, descriptions in italics and blank lines.
pub(crate) fn is_bare(notes: &str) -> bool {
    notes.lines().map(str::trim).all(|line| {
        let is_wrapped = |mark: char| line.len() > 1 && line.starts_with(mark) && line.ends_with(mark);
        let is_bold = line.starts_with("**") || line.starts_with("__");
        line.is_empty() || line.starts_with('#') || (!is_bold && (is_wrapped('_') || is_wrapped('*')))
    })
}

/// The boundary, moved back until enough stays and nothing is split; never into what an earlier compaction left,
/// which would be summarised twice. `None`: nothing would be left out.
fn keep_from(thread: &[Arc<Message>], boundary: usize, tokens: Tokens<'_>) -> Option<usize> {
    let cuts: Vec<usize> = rounds::cuts(thread).into_iter().chain([thread.len()]).collect();
    let summary = thread.iter().position(|message| message.flags.compact_summary);
    let beginning = summary.and_then(|summary| cuts.iter().copied().find(|cut| *cut > summary)).unwrap_or(0);
    let size = |from: usize, to: usize| {
        let messages = thread.get(from..to).unwrap_or_default();
        let words = messages.iter().filter(|message| has_text(message)).count();
        (messages.iter().map(|message| tokens(message)).sum::<u64>(), words)
    };
    let mut earlier = cuts.iter().rev().copied().skip_while(|cut| *cut > boundary);
    let mut start = earlier.next()?;
    let (mut kept, mut words) = size(start, thread.len());
    for cut in earlier.take_while(|cut| *cut >= beginning) {
        let (more, more_words) = size(cut, start);
        let is_enough = kept >= TAIL_TOKENS && words >= TAIL_MESSAGES;
        // Something stays in any case: the last round may be what the work is at.
        let is_too_much = kept + more > LARGEST_EXTENSION && start < thread.len();
        if is_enough || is_too_much {
            break;
        }
        (start, kept, words) = (cut, kept + more, words + more_words);
    }
    (start > beginning).then_some(start)
}

fn has_text(message: &Message) -> bool {
    let (Body::User { content } | Body::Assistant { content, .. }) = &message.body else { return false };
    content.iter().any(|block| matches!(block, Block::Text { text } if !text.trim().is_empty()))
}

/// The notes with each section cut to its limit, and all of them to theirs.
fn within_limits(notes: Notes<'_>, tokens: Tokens<'_>) -> String {
    let mut left = NOTES_TOKENS;
    let (mut shown, mut is_cut) = (String::new(), false);
    let sections = sections(notes.text);
    for (at, section) in sections.iter().enumerate() {
        let (taken, end) = match fitting(section, SECTION_TOKENS.min(left), tokens) {
            Fitting::Whole(section) => (section, "\n\n"),
            Fitting::Head(head) => (head, "\n[cut here]\n\n"),
            Fitting::Nothing => {
                shown.push_str(&format!("[{} left out]", counted(sections.len() - at, "section")));
                is_cut = true;
                break;
            }
        };
        left = left.saturating_sub(tokens_of_text(taken, tokens));
        shown.push_str(taken.trim_end());
        shown.push_str(end);
        is_cut |= taken.len() < section.len();
    }
    let mut shown = shown.trim_end().to_owned();
    if is_cut {
        shown.push_str(&format!("\n\nThe notes are longer; all of them are in {}", notes.path.display()));
    }
    shown
}

/// From one top heading to the next.
pub(crate) fn sections(notes: &str) -> Vec<&str> {
    let mut sections = Vec::new();
    let mut rest = notes.trim_end();
    while let Some(at) = rest.find("\n# ") {
        let (section, next) = rest.split_at(at + 1);
        sections.push(section);
        rest = next;
    }
    sections.push(rest);
    sections.retain(|section| !section.trim().is_empty());
    sections
}

#[cfg(test)]
mod tests;
