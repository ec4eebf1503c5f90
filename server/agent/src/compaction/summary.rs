//! Asking for a summary: a fork of the conversation, asked once more where it left something out, and with less of the
//! conversation where that is too long for it.

use std::{ops::Range, sync::Arc};

use context::compact::{self, Scope, Summary};
use conversation::{Message, RequestMessage, StopReason};
use model::{ModelError, QuerySource};

use super::{Job, Refusal};
use crate::{
    event::NoticeLevel,
    fork::{Ended, Fork, ForkError, NoTools},
    query_loop,
};

/// What a summary may be long.
const SUMMARY_TOKENS: u64 = 20_000;

/// How often the oldest rounds are left out of a request that is too long.
const MOST_DROPS: u32 = 3;

/// A summary is text; whoever calls tools instead is told so, once.
const ROUNDS: u32 = 2;

pub(super) struct Made {
    pub(super) text: String,
    pub(super) score: f64,
}

/// A summary of these messages of the thread.
pub(super) async fn ask(
    job: &Job<'_>,
    thread: &[Arc<Message>],
    part: Range<usize>,
    scope: Scope,
    instructions: Option<&str>,
) -> Result<Made, Refusal> {
    // What follows is summarised in sight of what stays before it; what precedes, without what comes after.
    let sent = thread.get(..part.end).unwrap_or(thread);
    let mut messages = query_loop::messages(job.session, job.opening, sent);
    compact::without_media(&mut messages);
    let directive = match scope {
        Scope::From => compact::directive_from(instructions, thread.get(part.start)),
        Scope::Whole | Scope::UpTo => compact::directive(instructions, scope),
    };
    let first = fork(job, &mut messages, directive.clone()).await?;
    let first_read = Summary::parse(&first.text);
    if first.stop != StopReason::MaxTokens
        && let Ok(summary) = &first_read
        && summary.is_good()
    {
        return Ok(Made { text: summary.text().to_owned(), score: summary.score() });
    }
    let missing = match &first_read {
        _ if first.stop == StopReason::MaxTokens => compact::Shortfall::CutOff,
        Ok(summary) => compact::Shortfall::Missing(summary.missing()),
        Err(_) => compact::Shortfall::NoSummary,
    };
    job.session.notice(job.turn, NoticeLevel::Info, format!("the summary is asked for once more: {missing}"));
    let again = format!("{directive}\n\n{}", compact::retry_directive(&missing));
    let second = fork(job, &mut messages, again).await?;
    let best = Summary::parse(&second.text)
        .into_iter()
        .chain(first_read)
        .max_by(|one, other| one.score().total_cmp(&other.score()));
    let Some(summary) = best else {
        return Err(Refusal::Failed("the model did not write a summary, twice".to_owned()));
    };
    if !summary.is_good() {
        let text = format!(
            "the summary lacks {}; the transcript has everything, and uncompact takes it back until the next request",
            summary.missing().join(", ")
        );
        job.session.notice(job.turn, NoticeLevel::Warning, text);
    }
    Ok(Made { text: summary.text().to_owned(), score: summary.score() })
}

/// `messages` lose their oldest rounds where they are too long.
async fn fork(
    job: &Job<'_>,
    messages: &mut Vec<RequestMessage>,
    directive: String,
) -> Result<Ended, Refusal> {
    let mut drops = 0;
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
        let shorter = compact::without_oldest(messages, over_by).filter(|_| drops < MOST_DROPS);
        let Some(shorter) = shorter else {
            return Err(Refusal::Failed(format!(
                "the conversation is too long to be summarised, even without its oldest part ({error}); rewind to an \
                 earlier message, or start a new session"
            )));
        };
        drops += 1;
        let text =
            "the conversation is too long to be summarised whole: its oldest part is left out of the summary";
        job.session.notice(job.turn, NoticeLevel::Warning, text);
        *messages = shorter;
    }
}
