//! Keeps the conversation inside the window, before each request and after one that was too long: the stages of
//! `context::prepare`, and what they need done.

use std::sync::Arc;

use context::{
    CacheEdits, Clear, Event, Gate, Prepared, Situation, Switches, budget::Compaction, compact::Continue,
    event::Trigger, prepare,
};
use conversation::{Block, Body, Message};
use jiff::{SignedDuration, Timestamp};
use model::{ClearToolUses, ContextEdits, Field, Keep, ModelError};
use settings::{Features, Settings};

use crate::{
    collapse,
    compaction::{self, Compact, Job, Mode, Refusal},
    event::{NoticeLevel, TurnEnd, TurnStop},
    loops, meter, query_loop,
    results::ResultFiles,
    session::{Opening, Session},
    turn::Turn,
};

/// Results of old calls are cleared in the provider's cache above so many, down to so many.
const CACHE_EDITS: CacheEdits = CacheEdits { over: 30, keep: 10 };

/// After it no cache has anything.
const PAUSE: SignedDuration = SignedDuration::from_hours(1);

/// "Results of one user message together over 200,000 chars."
const MESSAGE_CHARS: usize = 200_000;

/// Makes room for the next request, or ends the turn with what the user can do.
pub(crate) async fn make_room(turn: &mut Turn) -> Result<(), TurnEnd> {
    note_pause(turn);
    let (mut gate, used) = run_stages(turn);
    turn.session.state().window.refills.round();
    if matches!(gate, Gate::CollapseNow { .. }) {
        // Where no span could be summarised, compaction has to do it after all.
        gate = match collapse::commit(turn).await || turn.compaction() == Compaction::Manual {
            true => Gate::Open,
            false => Gate::Compact,
        };
    }
    if gate == Gate::Compact {
        loops::guard(turn)?;
        compact_itself(turn, Trigger::Auto).await?;
    } else if used <= blocking_limit(turn) {
        collapse::begin(turn);
        return Ok(());
    } else if could_fit(turn) && too_large(turn).await.is_some() {
        // The provider would only say so too.
        turn.reacted = true;
        loops::guard(turn)?;
        compact_itself(turn, Trigger::Reactive).await?;
    }
    collapse::begin(turn);
    refuse_what_cannot_fit(turn).await
}

/// Once there was a pause, it stays so: what is left out then must not come back.
fn note_pause(turn: &Turn) {
    let mut state = turn.session.state();
    let is_response = |message: &&Arc<Message>| matches!(message.body, Body::Assistant { .. });
    let last = state.thread.iter().rev().find(is_response).map(|message| message.timestamp);
    let idle = last.map(|last| Timestamp::now().duration_since(last));
    state.window.is_cold |= idle.is_some_and(|idle| idle > PAUSE);
}

/// The stages in their order; what they decided is written down and shown. How large the next request is after them.
fn run_stages(turn: &Turn) -> (Gate, u64) {
    let session = &turn.session;
    let (thread, projection) = {
        let state = session.state();
        (state.thread.clone(), state.window.projection.clone())
    };
    let budget = meter::budget(session, &turn.settings, &turn.opening.spec);
    let features = turn.settings.features(&session.shared.environment);
    let switches = switches(turn, &features, budget.autocompact_threshold());
    let Prepared { changes, gate, used } = prepare(
        &Situation {
            thread: &thread,
            projection: &projection,
            used: turn.opening.size(session, &thread),
            effective: budget.effective_window(),
            threshold: budget.autocompact_threshold(),
            switches: &switches,
            now: Timestamp::now(),
            tokens: &meter::of_message(session, &turn.opening.spec),
        },
        &mut ResultFiles { session },
    );
    for change in changes {
        let cleared = match &change.event {
            Event::Cleared { results } | Event::CacheEdits { deleted: results } => results.len(),
            _ => 0,
        };
        session.decide(Some(&turn.id), change.event, change.entry);
        if cleared > 0 {
            tell_where_it_is(session, cleared);
        }
    }
    (gate, used)
}

/// The model is told where the full text of what it no longer sees still is.
fn tell_where_it_is(session: &Session, results: usize) {
    let what =
        if results == 1 { "An old tool result".to_owned() } else { format!("{results} old tool results") };
    let verb = if results == 1 { "was" } else { "were" };
    let text = format!(
        "{what} in this conversation {verb} cleared to make room. Files can be read again, commands run \
         again; the results as they were are in {}, by the ids of the calls.",
        session.transcript.path().display()
    );
    session.attach("cleared", context::fragment::reminder(&text, text.len() * 2));
}

fn switches(turn: &Turn, features: &Features, threshold: u64) -> Switches {
    let state = turn.session.state();
    let supports = turn.opening.provider.supports(&turn.opening.spec.name);
    let refused = &state.window.refused;
    Switches {
        storage: features.tool_result_storage,
        message_limit: MESSAGE_CHARS,
        snip: features.snip.then_some(threshold),
        clear: features.microcompact_time.map(|time| Clear {
            after: std::time::Duration::from_secs(60 * u64::from(time.gap_minutes)),
            keep: time.keep_recent as usize,
        }),
        cache_edits: (features.cache_edits && supports.cache_edits && !refused.contains(&Field::CacheEdits))
            .then_some(CACHE_EDITS),
        collapse: features.collapse,
        auto_compact: meter::compaction(&state.window, &turn.session, &turn.settings)
            == Compaction::Automatic,
    }
}

/// What the provider is asked to leave out by itself: only where it could come to that, since everything is compacted
/// before in most windows.
pub(crate) fn context_edits(session: &Session, opening: &Opening, settings: &Settings) -> ContextEdits {
    let features = settings.features(&session.shared.environment);
    let supports = opening.provider.supports(&opening.spec.name);
    let state = session.state();
    let refused = |field| state.window.refused.contains(&field);
    let pinned = state.window.projection.cache_edits();
    let cache_deletions = match supports.cache_edits && !refused(Field::CacheEdits) {
        true => pinned.iter().map(|result| result.tool_use_id.clone()).collect(),
        false => Vec::new(),
    };
    let budget = meter::budget(session, settings, &opening.spec);
    let is_automatic = meter::compaction(&state.window, session, settings) == Compaction::Automatic;
    let clear = ClearToolUses::default();
    let reaches = budget.effective_window() > clear.trigger
        && !(is_automatic && budget.autocompact_threshold() <= clear.trigger);
    let manages = features.server_context_management
        && supports.context_management
        && reaches
        && !refused(Field::ContextManagement);
    let thinks = state.thread.iter().any(|message| {
        matches!(&message.body, Body::Assistant { content, .. }
            if content.iter().any(|block| matches!(block, Block::Thinking { .. })))
    });
    // After a pause the cache is cold, and old thoughts go for good.
    let keep = if state.window.is_cold { Keep::Turns(1) } else { Keep::All };
    ContextEdits {
        clear_tool_uses: manages.then_some(clear),
        clear_thinking: (manages && thinks && !refused(Field::ClearThinking)).then_some(keep),
        cache_deletions,
    }
}

/// Compacts by itself. Failing is not the end: the request may still fit.
async fn compact_itself(turn: &mut Turn, trigger: Trigger) -> Result<(), TurnEnd> {
    let session = Arc::clone(&turn.session);
    if compaction::unanswered(&session.state().thread) == 0 {
        return Ok(());
    }
    let (id, cancel) = (turn.id.clone(), turn.cancel.clone());
    let opening = turn.opening.clone();
    let settings = turn.settings.clone();
    let job = Job {
        session: &session,
        turn: Some(&id),
        opening: &opening,
        settings: &settings,
        trigger,
        then: Continue::AtOnce,
        cancel: &cancel,
    };
    session.notice(Some(&id), NoticeLevel::Info, "the conversation is being compacted");
    match job.run(Compact { mode: Mode::Auto, ..Compact::default() }).await {
        Ok((_, opening)) => {
            turn.opening = opening;
            session.state().window.refills.compacted();
            Ok(())
        }
        Err(Refusal::Cancelled) => Err(turn.end(TurnStop::Cancelled)),
        Err(refusal) => {
            compaction::count_failure(&session, Some(&id), &refusal.to_string());
            Ok(())
        }
    }
}

/// Whether a compaction that nobody has tried yet could make the next request fit: what was not answered yet stays.
fn could_fit(turn: &Turn) -> bool {
    let features = turn.settings.features(&turn.session.shared.environment);
    if turn.reacted || !features.reactive_compaction {
        return false;
    }
    let thread = turn.session.state().thread.clone();
    let said_before = compaction::unanswered(&thread);
    let tokens = meter::of_message(&turn.session, &turn.opening.spec);
    let stays: u64 = thread.iter().skip(said_before).map(|message| tokens(message)).sum();
    said_before > 0 && meter::prefix_tokens(&turn.session, &turn.opening) + stays <= blocking_limit(turn)
}

fn blocking_limit(turn: &Turn) -> u64 {
    meter::budget(&turn.session, &turn.settings, &turn.opening.spec).blocking_limit()
}

/// How large the next request would be, if that is too much.
async fn too_large(turn: &Turn) -> Option<u64> {
    let limit = blocking_limit(turn);
    let mut used = turn.opening.used(&turn.session);
    // No estimate is wrong by half.
    if used > limit && used < limit + limit / 2 {
        used = counted(turn).await.unwrap_or(used);
    }
    Some(used).filter(|used| *used > limit)
}

/// "Beyond window − 3,000 a prompt that no layer can shrink is refused with what to do."
async fn refuse_what_cannot_fit(turn: &Turn) -> Result<(), TurnEnd> {
    let Some(used) = too_large(turn).await else { return Ok(()) };
    let limit = blocking_limit(turn);
    let thread = turn.session.state().thread.clone();
    let said_before = compaction::unanswered(&thread);
    let before = thread.get(..said_before).unwrap_or_default();
    let is_prompt = before.len() < thread.len() && turn.opening.size(&turn.session, before) <= limit;
    let what = if is_prompt {
        "the prompt does not fit into the window, and was not taken; make it shorter, name a file instead of pasting it, \
         or make room with /compact"
    } else {
        "the conversation fills the window; /compact makes room, rewinding to an earlier message does too, or start a \
         new session"
    };
    turn.notice(NoticeLevel::Error, format!("{what} ({used} of {limit} usable tokens)"));
    if is_prompt {
        // It would fill the window for the next one too.
        let thread = turn.session.state().thread.clone();
        turn.session.rewind_to(&thread, said_before);
    }
    Err(turn.end(TurnStop::Blocked))
}

/// A decision hangs on the number: whoever knows is asked, and where nobody does and nothing was learnt yet, it is counted.
async fn counted(turn: &Turn) -> Option<u64> {
    let request = query_loop::next_request(turn);
    if let Some(counted) = turn.opening.provider.count(&request).await {
        return Some(counted);
    }
    if turn.session.state().window.calibration.knows(&turn.opening.spec.id()) {
        return None;
    }
    let mut text: String = request.system.iter().map(|block| block.text.as_str()).collect();
    text.push_str(&serde_json::to_string(&*request.tools).unwrap_or_default());
    text.push_str(&serde_json::to_string(&request.messages).unwrap_or_default());
    tokio::task::spawn_blocking(move || context::tokenizer::count(&text)).await.ok()
}

/// The provider says that a request is too long: once, what can be done about it is done. `false`: nothing can.
pub(crate) async fn react(turn: &mut Turn, error: &ModelError) -> Result<bool, TurnEnd> {
    // A key that is refused, or a server that is gone, does not become better by a shorter conversation.
    if !matches!(error, ModelError::TooLong { .. } | ModelError::MediaTooLarge { .. }) {
        return Ok(false);
    }
    let features = turn.settings.features(&turn.session.shared.environment);
    if collapse::drain(turn).await {
        return Ok(true);
    }
    if turn.reacted || !features.reactive_compaction {
        return Ok(false);
    }
    turn.reacted = true;
    if matches!(error, ModelError::MediaTooLarge { .. }) && drop_large_media(turn) {
        return Ok(true);
    }
    loops::guard(turn)?;
    let before = turn.session.state().tip;
    compact_itself(turn, Trigger::Reactive).await?;
    Ok(turn.session.state().tip != before)
}

/// Images and documents that the provider does not take go out of what is sent.
fn drop_large_media(turn: &Turn) -> bool {
    let thread = turn.session.state().thread.clone();
    let projection = turn.session.state().window.projection.clone();
    let tokens = meter::of_message(&turn.session, &turn.opening.spec);
    let Some(change) = context::reactive::drop_media(&projection.view(&thread), &tokens) else {
        return false;
    };
    turn.session.decide(Some(&turn.id), change.event, change.entry);
    true
}
