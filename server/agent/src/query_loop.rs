//! One turn, round by round: request → response → tools → again, until the model calls no tool.

use std::{borrow::Cow, sync::Arc};

use conversation::{
    Block, Body, Flags, Message, RequestMessage, Role, SYNTHETIC_MODEL, StopReason, request_messages,
};
use model::{Field, ModelError, QuerySource, Request};
use settings::Settings;

use crate::{
    attachments,
    background::notes,
    event::{NoticeLevel, TurnEnd, TurnStop},
    recall, room,
    session::{Opening, Session},
    spend,
    stream::{self, Failure, Response},
    turn::{Turn, error_code},
};

/// An answer cut off by the output limit is continued this often.
const CONTINUATIONS: u32 = 3;

/// What a response may be long; the model's own limit where that is lower.
const OUTPUT_TOKENS: u64 = 32_000;

pub(crate) async fn run(turn: &mut Turn) -> TurnEnd {
    loop {
        if turn.cancel.is_cancelled() {
            return turn.end(TurnStop::Cancelled);
        }
        if turn.rounds > 0 {
            turn.refresh();
        }
        attachments::join_queued(turn).await;
        turn.recall().await;
        if let Some(end) = over_limit(turn) {
            return end;
        }
        if let Err(end) = room::make_room(turn).await {
            return end;
        }
        turn.rounds += 1;
        // From here on the provider knows the conversation as it is.
        turn.session.state().window.undo = None;
        let (response, tools) = match stream::respond(turn, next_request).await {
            Ok(answered) => answered,
            Err(Failure::Cancelled { blocks }) => {
                record_interrupted(turn, blocks);
                return turn.end(TurnStop::Cancelled);
            }
            Err(Failure::Model(ModelError::Unsupported { field, message }))
                if !turn.session.state().window.refused.contains(&field) =>
            {
                stop_using(turn, field, &message);
                continue;
            }
            Err(Failure::Model(error)) if is_too_large(&error) => match room::react(turn, &error).await {
                Ok(true) => continue,
                Ok(false) => return refused_by_provider(turn, &error),
                Err(end) => return end,
            },
            Err(Failure::Model(error)) => return refused_by_provider(turn, &error),
        };
        record(turn, &response);
        turn.account(&response);
        let calls = response.calls.len();
        if calls > 0 {
            tools.finish(response.calls).await;
            if turn.cancel.is_cancelled() {
                attachments::tell_interrupted(turn);
                return turn.end(TurnStop::Cancelled);
            }
            notes::after_response(turn, calls);
            turn.continuations = 0;
            // The turn has come further: what is too long now is another request.
            turn.reacted = false;
            continue;
        }
        notes::after_response(turn, calls);
        recall::count_citations(&turn.session, &response.text());
        match response.stop_reason {
            StopReason::MaxTokens if turn.continuations < CONTINUATIONS => {
                turn.continuations += 1;
                turn.session.append_meta(include_str!("prompts/continue.md").trim_end());
            }
            StopReason::MaxTokens => {
                turn.notice(
                    NoticeLevel::Warning,
                    "the answer was cut off by the output limit; say \"go on\" for more",
                );
                return turn.end(TurnStop::EndTurn);
            }
            StopReason::PauseTurn => {}
            StopReason::Refusal => return turn.end(TurnStop::Refused),
            StopReason::Other(reason) if reason == "model_context_window_exceeded" => {
                let message = "the answer no longer fits the model's window".to_owned();
                let error = ModelError::TooLong { message, over_by: None };
                match room::react(turn, &error).await {
                    Ok(true) => {}
                    Ok(false) => return refused_by_provider(turn, &error),
                    Err(end) => return end,
                }
            }
            _ => return turn.end(TurnStop::EndTurn),
        }
    }
}

pub(crate) fn next_request(turn: &Turn) -> Request {
    request(&turn.session, &turn.opening, &turn.settings)
}

/// The next request: the opening, then the thread. Nothing here depends on anything but the session's state.
pub(crate) fn request(session: &Session, opening: &Opening, settings: &Settings) -> Request {
    let Opening { rendered, spec, .. } = opening;
    // Only the handles are taken under the lock; the copying is long.
    let thread: Vec<Arc<Message>> = session.state().thread.clone();
    Request {
        model: spec.name.clone(),
        system: Arc::clone(&rendered.system),
        tools: Arc::clone(&rendered.tools),
        messages: messages(session, opening, &thread),
        max_tokens: spec.max_output_tokens.min(OUTPUT_TOKENS),
        output_schema: None,
        source: QuerySource::Main,
        shared: None,
        context_edits: room::context_edits(session, opening, settings),
    }
}

/// A part of the thread from its beginning on, as requests carry it.
pub(crate) fn messages(session: &Session, opening: &Opening, thread: &[Arc<Message>]) -> Vec<RequestMessage> {
    let projection = session.state().window.projection.clone();
    let view = projection.view(thread);
    let view: Vec<Cow<'_, Message>> =
        view.into_iter().map(|message| without_foreign_thoughts(message, &opening.spec.name)).collect();
    let mut messages = request_messages(view.iter().map(|message| &**message));
    let context = opening.rendered.context.iter().cloned();
    match messages.first_mut() {
        Some(first) if first.role == Role::User => {
            first.content.splice(0..0, context);
        }
        _ => messages.insert(0, RequestMessage { role: Role::User, content: context.collect() }),
    }
    messages
}

/// Thoughts are bound to the model that had them; another, after a fallback or a switch, refuses them.
fn without_foreign_thoughts<'a>(message: Cow<'a, Message>, model: &str) -> Cow<'a, Message> {
    let thought = |block: &Block| matches!(block, Block::Thinking { .. } | Block::RedactedThinking { .. });
    let Body::Assistant { model: by, content, .. } = &message.body else { return message };
    // A response names its model in full (`claude-x-20260101`), a request often without the date and with a window.
    let model = model.strip_suffix("[1m]").unwrap_or(model);
    let own = by.starts_with(model) || model.starts_with(by.as_str());
    if own || !content.iter().any(thought) {
        return message;
    }
    let mut stripped = message.into_owned();
    if let Body::Assistant { content, .. } = &mut stripped.body {
        content.retain(|block| !thought(block));
    }
    Cow::Owned(stripped)
}

fn over_limit(turn: &Turn) -> Option<TurnEnd> {
    let limit = turn.settings.max_rounds;
    if turn.rounds >= limit {
        turn.notice(
            NoticeLevel::Warning,
            format!("stopped after {limit} rounds (setting maxRounds); prompt again to go on"),
        );
        return Some(turn.end(TurnStop::MaxRounds));
    }
    let turn_cost = turn.session.state().turn_cost_usd;
    if let Some(limit) = turn.settings.budgets.turn_usd
        && turn_cost >= limit
    {
        let text = format!(
            "stopped: this turn has cost ${turn_cost:.2} of its budget of ${limit:.2} (setting budgets.turnUsd)"
        );
        turn.notice(NoticeLevel::Warning, text);
        return Some(turn.end(TurnStop::Budget));
    }
    if let Some(limit) = turn.settings.budgets.day_usd {
        let spent = turn.session.shared.spend.on(spend::today());
        if spent >= limit {
            let text = format!(
                "stopped: today's sessions have cost ${spent:.2} of ${limit:.2} (setting budgets.dayUsd)"
            );
            turn.notice(NoticeLevel::Warning, text);
            return Some(turn.end(TurnStop::Budget));
        }
    }
    let session_cost = turn.session.state().cost.cost_usd();
    if let Some(limit) = turn.settings.max_cost
        && session_cost >= limit
    {
        let text =
            format!("stopped: this session has cost ${session_cost:.2} of ${limit:.2} (setting maxCost)");
        turn.notice(NoticeLevel::Warning, text);
        return Some(turn.end(TurnStop::Budget));
    }
    None
}

fn record(turn: &Turn, response: &Response) {
    if response.blocks.is_empty() {
        return;
    }
    let body = Body::Assistant {
        id: Some(response.id.clone()),
        model: response.model.clone(),
        content: response.blocks.clone(),
        stop_reason: Some(response.stop_reason.clone()),
        usage: Some(response.usage),
    };
    turn.session.append(body, Flags::default());
}

/// Keeps what the user has seen of a stopped answer, and tells the model that it was stopped.
fn record_interrupted(turn: &Turn, blocks: Vec<Block>) {
    if !blocks.is_empty() {
        let body = Body::Assistant {
            id: None,
            model: SYNTHETIC_MODEL.to_owned(),
            content: blocks,
            stop_reason: None,
            usage: None,
        };
        turn.session.append(body, Flags::default());
    }
    attachments::tell_interrupted(turn);
}

fn is_too_large(error: &ModelError) -> bool {
    matches!(error, ModelError::TooLong { .. } | ModelError::MediaTooLarge { .. })
}

/// "A 400 that names the field turns it off for the session and the request is repeated without."
fn stop_using(turn: &Turn, field: Field, message: &str) {
    tracing::warn!(session = %turn.session.id, ?field, message, "the provider refuses a field");
    turn.session.state().window.refused.push(field);
    let detail = format!("the provider does not take {field}; this session goes on without");
    turn.session.remark(Some(&turn.id), "provider", detail, true);
}

fn refused_by_provider(turn: &Turn, error: &ModelError) -> TurnEnd {
    let message = match error {
        ModelError::TooLong { message, .. } => {
            format!(
                "the conversation no longer fits the model's window, and could not be made shorter; rewind to an earlier \
                 message, or start a new session ({message})"
            )
        }
        error => error.to_string(),
    };
    turn.fail(error_code(error), message)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn thoughts_go_back_to_their_own_model_alone() {
        let thought = Block::Thinking { thinking: "hm".to_owned(), signature: "s".to_owned() };
        let message = Message {
            uuid: Uuid::nil(),
            parent: None,
            timestamp: Timestamp::UNIX_EPOCH,
            flags: Flags::default(),
            body: Body::Assistant {
                id: None,
                model: "claude-x-20260101".to_owned(),
                content: vec![thought, Block::text("so")],
                stop_reason: None,
                usage: None,
            },
        };
        let blocks = |model| match &without_foreign_thoughts(Cow::Borrowed(&message), model).body {
            Body::Assistant { content, .. } => content.len(),
            other => panic!("{other:?}"),
        };
        assert_eq!([blocks("claude-x"), blocks("claude-x-20260101"), blocks("claude-x[1m]")], [2, 2, 2]);
        assert_eq!([blocks("claude-y"), blocks("gpt")], [1, 1]);
    }
}
