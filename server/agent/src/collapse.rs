//! Collapsing, where it is switched on: spans of old rounds are summarised by a side agent while the conversation goes
//! on, and take the place of the span in what is sent once the window is nearly full.

use std::sync::Arc;

use context::{Event, collapse, projection::Span};
use model::QuerySource;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::{
    fork::{Fork, ForkError, NoTools},
    query_loop,
    session::Session,
    turn::Turn,
};

/// What a span's summary may be long.
const SUMMARY_TOKENS: u64 = 2_000;
const ROUNDS: u32 = 2;

/// Summaries that are being made.
pub(crate) type Summaries = JoinSet<Option<(Uuid, Uuid, String)>>;

/// Has the staged spans summarised, beside the turn.
pub(crate) fn begin(turn: &mut Turn) {
    if !turn.settings.features(&turn.session.shared.environment).collapse {
        return;
    }
    take_finished(turn);
    let staged = turn.session.state().window.projection.staged().to_vec();
    for Span { first, last, .. } in staged.into_iter().filter(|span| span.summary.is_none()) {
        if turn.collapsing.insert((first, last)) {
            let (session, opening, cancel) =
                (Arc::clone(&turn.session), turn.opening.clone(), turn.cancel.child_token());
            turn.summaries.spawn(async move {
                session.shared.faults.reach("collapse");
                let thread = session.state().thread.clone();
                let end = thread.iter().position(|message| message.uuid == last)? + 1;
                let begin = thread.iter().position(|message| message.uuid == first)?;
                let messages = query_loop::messages(&session, &opening, thread.get(..end)?);
                let fork = Fork {
                    session: &session,
                    opening: &opening,
                    messages,
                    directive: collapse::directive(thread.get(begin..end)?),
                    tools: &NoTools,
                    rounds: ROUNDS,
                    max_tokens: SUMMARY_TOKENS,
                    source: QuerySource::Collapse,
                    spent: None,
                    cancel: &cancel,
                };
                match fork.run().await {
                    Ok(ended) if !ended.text.trim().is_empty() => Some((first, last, ended.text)),
                    Ok(_) | Err(ForkError::Cancelled) => None,
                    Err(error) => {
                        tracing::warn!(session = %session.id, %error, "a span could not be summarised");
                        None
                    }
                }
            });
        }
    }
    take_finished(turn);
}

/// The window is nearly full: waits for the summaries and puts them in place.
pub(crate) async fn commit(turn: &mut Turn) -> bool {
    begin(turn);
    loop {
        let cancel = turn.cancel.clone();
        let finished = match cancel.run_until_cancelled(turn.summaries.join_next()).await {
            Some(Some(finished)) => finished,
            Some(None) | None => break,
        };
        note(&turn.session, &mut turn.collapsing, finished.ok().flatten());
    }
    // Takes the lock for itself.
    let tokens = crate::meter::of_message(&turn.session, &turn.opening.spec);
    let changes = {
        let state = turn.session.state();
        collapse::commit(&state.window.projection, &state.thread, &tokens)
    };
    let some = !changes.is_empty();
    for change in changes {
        turn.session.decide(Some(&turn.id), change.event, change.entry);
    }
    some
}

/// A request was too long: everything that is staged goes in at once.
pub(crate) async fn drain(turn: &mut Turn) -> bool {
    let staged = !turn.session.state().window.projection.staged().is_empty();
    staged && commit(turn).await
}

fn take_finished(turn: &mut Turn) {
    while let Some(finished) = turn.summaries.try_join_next() {
        note(&turn.session, &mut turn.collapsing, finished.ok().flatten());
    }
}

fn note(
    session: &Session,
    collapsing: &mut std::collections::HashSet<(Uuid, Uuid)>,
    summary: Option<(Uuid, Uuid, String)>,
) {
    let Some((first, last, summary)) = summary else {
        // Tried again with the next request.
        collapsing.clear();
        return;
    };
    session.decide(None, Event::Summarised { first, last, summary }, None);
}
