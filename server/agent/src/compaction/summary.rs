//! Asking for a summary: a fork of the conversation, asked once more where it left something out, and with less of the
//! conversation where that is too long for it.

use std::{ops::Range, sync::Arc};

use context::compact::{self, Scope, Section, Summary};
use conversation::{Message, RequestMessage, StopReason};
use model::{ModelError, QuerySource};

use super::{Job, Part, Refusal};
use crate::{
    event::NoticeLevel,
    fork::{Ended, Fork, ForkError, NoTools},
    query_loop,
};

/// What a summary may be long.
const SUMMARY_TOKENS: u64 = 20_000;

/// How often the oldest rounds are left out of a request that is too long.
pub(super) const MOST_DROPS: u32 = 3;

/// A summary is text; whoever calls tools instead is told so, once.
const ROUNDS: u32 = 2;

/// A summary of these messages of the thread. At most so often the oldest rounds are left out.
pub(super) async fn ask(
    job: &Job<'_>,
    thread: &[Arc<Message>],
    part: Range<usize>,
    which: Part,
    instructions: Option<&str>,
    most_drops: u32,
) -> Result<Summary, Refusal> {
    // What follows is summarised in sight of what stays before it; what precedes, without what comes after.
    let sent = thread.get(..part.end).unwrap_or(thread);
    let mut messages = query_loop::messages(job.session, job.opening, sent);
    compact::without_media(&mut messages);
    let scope = match (which, thread.get(part.start)) {
        (Part::From, Some(first)) => Scope::From(first),
        _ if part.end < thread.len() => Scope::UpTo,
        _ => Scope::Whole,
    };
    let directive = compact::directive(instructions, scope);
    let mut drops_left = most_drops;
    let first = fork(job, &mut messages, directive.clone(), &mut drops_left).await?;
    let first_read = Summary::parse(&first.text);
    let is_cut = first.stop == StopReason::MaxTokens;
    if let Ok(summary) = &first_read
        && summary.is_good()
        && !is_cut
    {
        return Ok(summary.clone());
    }
    let missing = match &first_read {
        Ok(summary) => summary.missing(),
        Err(_) => Section::ALL.to_vec(),
    };
    let why = match (is_cut, missing.len()) {
        (true, _) => "it was cut off by the output limit".to_owned(),
        (false, lacking) => format!("{lacking} of its nine sections are missing"),
    };
    job.session.notice(job.turn, NoticeLevel::Info, format!("the summary is asked for once more: {why}"));
    let again = format!("{directive}\n\n{}", compact::retry_directive(&missing));
    let second = fork(job, &mut messages, again, &mut drops_left).await?;
    // Of two that are alike the later one counts: the first may have been cut off.
    let read = [first_read, Summary::parse(&second.text)].into_iter().flatten();
    let best = read.max_by(|one, other| one.score().total_cmp(&other.score()));
    let Some(summary) = best else {
        return Err(Refusal::Failed("the model did not write a summary, twice".to_owned()));
    };
    if !summary.is_good() {
        let lacking: Vec<&str> = summary.missing().into_iter().map(Section::title).collect();
        let text = format!("the summary lacks: {}. The transcript has everything", lacking.join(", "));
        job.session.notice(job.turn, NoticeLevel::Warning, text);
    }
    Ok(summary)
}

/// `messages` lose their oldest rounds where they are too long.
async fn fork(
    job: &Job<'_>,
    messages: &mut Vec<RequestMessage>,
    directive: String,
    drops_left: &mut u32,
) -> Result<Ended, Refusal> {
    loop {
        let fork = Fork {
            session: job.session,
            opening: job.opening,
            messages: messages.clone(),
            directive: directive.clone(),
            tools: &NoTools,
            rounds: ROUNDS,
            max_tokens: SUMMARY_TOKENS,
            source: QuerySource::Compact,
            spent: None,
            cancel: job.cancel,
        };
        let error = match fork.run().await {
            Ok(ended) => return Ok(ended),
            Err(ForkError::Cancelled) => return Err(Refusal::Cancelled),
            Err(error) => error,
        };
        let over_by = match &error {
            ForkError::Model(ModelError::TooLong { over_by, .. }) => *over_by,
            error => return Err(Refusal::Failed(error.to_string())),
        };
        let shorter = compact::without_oldest(messages, over_by).filter(|_| *drops_left > 0);
        let Some(shorter) = shorter else {
            return Err(Refusal::TooLong(format!(
                "it is too long to be summarised, even without its oldest part ({error}); rewind to an earlier message, \
                 or start a new session"
            )));
        };
        *drops_left -= 1;
        let text =
            "the conversation is too long to be summarised whole: its oldest part is left out of the summary";
        job.session.notice(job.turn, NoticeLevel::Warning, text);
        *messages = shorter;
    }
}
