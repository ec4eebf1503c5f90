//! The `reverie/*` requests: parse, call, convert.
//!
//! What changes a session does so before its first wait and is called in wire order, so that a cancel sent after a
//! prompt finds the turn. What only reads hands its work to a thread that may block. None runs a turn or waits for the
//! client.

mod change;
mod context;
mod dream;
mod history;
mod info;
pub(crate) mod memory;
mod place;
mod session;
mod task;
mod trust;

use std::panic::AssertUnwindSafe;

use agent::AgentError;
use futures_util::{FutureExt, future::BoxFuture};
use protocol::{ClientRequest, ErrorCode, Request, SessionErrorData, method};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tower_lsp::jsonrpc::{self, Error};

use crate::{convert::SessionId, server::Server};

/// What `workspace/executeCommand` offers: each is the request of the same name, its params the only argument.
pub(crate) const COMMANDS: &[(&str, ClientRequest)] = &[
    ("reverie.session.new", ClientRequest::SessionNew),
    ("reverie.session.list", ClientRequest::SessionList),
    ("reverie.session.resume", ClientRequest::SessionResume),
    ("reverie.session.prompt", ClientRequest::SessionPrompt),
    ("reverie.session.cancel", ClientRequest::SessionCancel),
    ("reverie.changes.list", ClientRequest::ChangesList),
    ("reverie.changes.read", ClientRequest::ChangesRead),
    ("reverie.changes.resolve", ClientRequest::ChangesResolve),
    ("reverie.session.fork", ClientRequest::SessionFork),
    ("reverie.session.rewind", ClientRequest::SessionRewind),
    ("reverie.session.export", ClientRequest::SessionExport),
    ("reverie.session.search", ClientRequest::SessionSearch),
    ("reverie.session.configure", ClientRequest::SessionConfigure),
    ("reverie.commands.list", ClientRequest::CommandsList),
    ("reverie.trust.get", ClientRequest::TrustGet),
    ("reverie.trust.set", ClientRequest::TrustSet),
    ("reverie.memory.list", ClientRequest::MemoryList),
    ("reverie.memory.delete", ClientRequest::MemoryDelete),
    ("reverie.memory.merge", ClientRequest::MemoryMerge),
    ("reverie.memory.remember", ClientRequest::MemoryRemember),
    ("reverie.memory.open", ClientRequest::MemoryOpen),
    ("reverie.memory.search", ClientRequest::MemorySearch),
    ("reverie.memory.history", ClientRequest::MemoryHistory),
    ("reverie.memory.undo", ClientRequest::MemoryUndo),
    ("reverie.memory.lint", ClientRequest::MemoryLint),
    ("reverie.instructions.reload", ClientRequest::InstructionsReload),
    ("reverie.tasks.list", ClientRequest::TasksList),
    ("reverie.tasks.stop", ClientRequest::TasksStop),
    ("reverie.dream.start", ClientRequest::DreamStart),
    ("reverie.dream.stop", ClientRequest::DreamStop),
    ("reverie.dream.status", ClientRequest::DreamStatus),
    ("reverie.dream.report", ClientRequest::DreamReport),
    ("reverie.doctor", ClientRequest::Doctor),
    ("reverie.context.report", ClientRequest::ContextReport),
    ("reverie.context.original", ClientRequest::ContextOriginal),
    ("reverie.session.compact", ClientRequest::SessionCompact),
    ("reverie.session.uncompact", ClientRequest::SessionUncompact),
];

/// Answers a request. A panic in a handler fails its request and nothing else.
pub(crate) fn dispatch(
    server: Server,
    request: ClientRequest,
    params: Value,
) -> BoxFuture<'static, jsonrpc::Result<Value>> {
    let answer = async move {
        server.faults().reach(request.name());
        match request {
            ClientRequest::SessionNew => {
                call::<method::SessionNew, _>(params, |p| session::new(server, p)).await
            }
            ClientRequest::SessionList => {
                call::<method::SessionList, _>(params, |p| session::list(server, p)).await
            }
            ClientRequest::SessionResume => {
                call::<method::SessionResume, _>(params, |p| session::resume(server, p)).await
            }
            ClientRequest::SessionEarlier => {
                call::<method::SessionEarlier, _>(params, |p| session::earlier(server, p)).await
            }
            ClientRequest::SessionPrompt => {
                call::<method::SessionPrompt, _>(params, |p| session::prompt(server, p)).await
            }
            ClientRequest::SessionCancel => {
                call::<method::SessionCancel, _>(params, |p| session::cancel(server, p)).await
            }
            ClientRequest::SessionDelete => {
                call::<method::SessionDelete, _>(params, |p| session::delete(server, p)).await
            }
            ClientRequest::SessionRename => {
                call::<method::SessionRename, _>(params, |p| session::rename(server, p)).await
            }
            ClientRequest::SessionFork => {
                call::<method::SessionFork, _>(params, |p| history::fork(server, p)).await
            }
            ClientRequest::SessionRewind => {
                call::<method::SessionRewind, _>(params, |p| history::rewind(server, p)).await
            }
            ClientRequest::ChangesList => {
                call::<method::ChangesList, _>(params, |p| change::list(server, p)).await
            }
            ClientRequest::ChangesRead => {
                call::<method::ChangesRead, _>(params, |p| change::read(server, p)).await
            }
            ClientRequest::ChangesResolve => {
                call::<method::ChangesResolve, _>(params, |p| change::resolve(server, p)).await
            }
            ClientRequest::SessionExport => {
                call::<method::SessionExport, _>(params, |p| history::export(server, p)).await
            }
            ClientRequest::SessionSearch => {
                call::<method::SessionSearch, _>(params, |p| history::search(server, p)).await
            }
            ClientRequest::SessionConfigure => {
                call::<method::SessionConfigure, _>(params, |p| session::configure(server, p)).await
            }
            ClientRequest::CommandsList => {
                call::<method::CommandsList, _>(params, |p| info::commands(server, p)).await
            }
            ClientRequest::TrustGet => call::<method::TrustGet, _>(params, |p| trust::get(server, p)).await,
            ClientRequest::TrustSet => call::<method::TrustSet, _>(params, |p| trust::set(server, p)).await,
            ClientRequest::MemoryList => {
                call::<method::MemoryList, _>(params, |p| memory::list(server, p)).await
            }
            ClientRequest::MemoryRead => {
                call::<method::MemoryRead, _>(params, |p| memory::read(server, p)).await
            }
            ClientRequest::MemoryWrite => {
                call::<method::MemoryWrite, _>(params, |p| memory::write(server, p)).await
            }
            ClientRequest::MemoryDelete => {
                call::<method::MemoryDelete, _>(params, |p| memory::delete(server, p)).await
            }
            ClientRequest::MemorySearch => {
                call::<method::MemorySearch, _>(params, |p| memory::search(server, p)).await
            }
            ClientRequest::MemoryExplain => {
                call::<method::MemoryExplain, _>(params, |p| memory::explain(server, p)).await
            }
            ClientRequest::MemoryHistory => {
                call::<method::MemoryHistory, _>(params, |p| memory::history(server, p)).await
            }
            ClientRequest::MemoryUndo => {
                call::<method::MemoryUndo, _>(params, |p| memory::undo(server, p)).await
            }
            ClientRequest::MemoryLint => {
                call::<method::MemoryLint, _>(params, |p| memory::lint(server, p)).await
            }
            ClientRequest::MemoryMerge => {
                call::<method::MemoryMerge, _>(params, |p| place::merge(server, p)).await
            }
            ClientRequest::MemoryRemember => {
                call::<method::MemoryRemember, _>(params, |p| place::remember(server, p)).await
            }
            ClientRequest::MemoryOpen => {
                call::<method::MemoryOpen, _>(params, |p| place::open(server, p)).await
            }
            ClientRequest::InstructionsReload => {
                call::<method::InstructionsReload, _>(params, |p| memory::reload(server, p)).await
            }
            ClientRequest::TasksList => call::<method::TasksList, _>(params, |p| task::list(server, p)).await,
            ClientRequest::TasksStop => call::<method::TasksStop, _>(params, |p| task::stop(server, p)).await,
            ClientRequest::DreamStart => {
                call::<method::DreamStart, _>(params, |p| dream::start(server, p)).await
            }
            ClientRequest::DreamStop => {
                call::<method::DreamStop, _>(params, |p| dream::stop(server, p)).await
            }
            ClientRequest::DreamStatus => {
                call::<method::DreamStatus, _>(params, |p| dream::status(server, p)).await
            }
            ClientRequest::DreamReport => {
                call::<method::DreamReport, _>(params, |p| dream::report(server, p)).await
            }
            ClientRequest::ContextReport => {
                call::<method::ContextReport, _>(params, |p| context::report(server, p)).await
            }
            ClientRequest::ContextOriginal => {
                call::<method::ContextOriginal, _>(params, |p| context::original(server, p)).await
            }
            ClientRequest::ContextLayout => {
                call::<method::ContextLayout, _>(params, |p| context::layout(server, p)).await
            }
            ClientRequest::SessionCompact => {
                call::<method::SessionCompact, _>(params, |p| context::compact(server, p)).await
            }
            ClientRequest::SessionUncompact => {
                call::<method::SessionUncompact, _>(params, |p| context::uncompact(server, p)).await
            }
            ClientRequest::ModelsList => {
                call::<method::ModelsList, _>(params, |p| info::models(server, p)).await
            }
            ClientRequest::SettingsGet => {
                call::<method::SettingsGet, _>(params, |p| info::settings(server, p)).await
            }
            ClientRequest::Doctor => call::<method::Doctor, _>(params, |p| info::doctor(server, p)).await,
        }
    };
    Box::pin(async move {
        AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(|_panic| {
            tracing::error!(method = request.name(), "a handler panicked");
            Err(Error::internal_error())
        })
    })
}

async fn call<R, F>(params: Value, handler: impl FnOnce(R::Params) -> F) -> jsonrpc::Result<Value>
where
    R: Request,
    F: Future<Output = jsonrpc::Result<R::Result>>,
{
    let result = handler(parse(params)?).await?;
    serde_json::to_value(result).map_err(|error| {
        tracing::error!(method = R::NAME, %error, "a result that cannot be written as JSON");
        Error::internal_error()
    })
}

/// Absent params are an object without fields. Serde says what is wrong but not where; the field whose value alone
/// brings about the same complaint is where.
fn parse<P: DeserializeOwned>(params: Value) -> jsonrpc::Result<P> {
    let params = if params.is_null() { Value::Object(Map::new()) } else { params };
    let problem = match P::deserialize(&params) {
        Ok(params) => return Ok(params),
        Err(error) => error.to_string(),
    };
    let culprit = params.as_object().and_then(|fields| {
        fields.iter().find(|(name, value)| {
            let alone = Value::Object(Map::from_iter([((*name).clone(), (*value).clone())]));
            P::deserialize(alone).is_err_and(|error| error.to_string() == problem)
        })
    });
    Err(Error::invalid_params(match culprit {
        Some((name, _)) if !problem.starts_with("missing field") => format!("{name}: {problem}"),
        _ => problem,
    }))
}

/// Runs what may touch the disk where that holds nobody up.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AgentError> + Send + 'static,
) -> jsonrpc::Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome.map_err(error),
        Err(panic) => {
            tracing::error!(%panic, "a handler panicked");
            Err(Error::internal_error())
        }
    }
}

/// A session id becomes a file name, so whatever is not one names no session.
fn session_id(text: &str) -> jsonrpc::Result<SessionId> {
    SessionId::parse(text).ok_or_else(|| error(AgentError::UnknownSession(text.to_owned())))
}

fn error(agent_error: AgentError) -> Error {
    let message = agent_error.to_string().into();
    match agent_error {
        AgentError::UnknownSession(session_id) => Error {
            code: ErrorCode::UNKNOWN_SESSION.code.into(),
            message,
            data: serde_json::to_value(SessionErrorData { session_id }).ok(),
        },
        AgentError::Invalid(_) => Error { code: ErrorCode::INVALID_PARAMS.code.into(), message, data: None },
        AgentError::Unavailable(_) => Error { code: ErrorCode::UNAVAILABLE.code.into(), message, data: None },
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use protocol::{ListSessionsParams, PromptSessionParams};
    use serde_json::json;

    use super::*;

    fn check<P: DeserializeOwned + std::fmt::Debug>(params: Value, expected: Expect) {
        expected.assert_eq(&parse::<P>(params).unwrap_err().message);
    }

    #[test]
    fn a_wrong_param_is_named() {
        check::<PromptSessionParams>(json!({}), expect!["missing field `sessionId`"]);
        check::<PromptSessionParams>(
            json!({ "sessionId": 5, "prompt": [] }),
            expect!["sessionId: invalid type: integer `5`, expected a string"],
        );
        check::<PromptSessionParams>(
            json!({ "sessionId": "x", "prompt": [{ "type": "song" }] }),
            expect!["prompt: unknown variant `song`, expected one of `text`, `mention`, `image`"],
        );
        check::<PromptSessionParams>(
            json!({ "sessionId": "x", "prompt": [{ "type": "text" }] }),
            expect!["missing field `text`"],
        );
        check::<ListSessionsParams>(
            json!({ "limit": -1 }),
            expect!["limit: invalid value: integer `-1`, expected u32"],
        );
        check::<ListSessionsParams>(json!([1]), expect!["invalid type: integer `1`, expected a string"]);
    }

    #[test]
    fn absent_params_are_an_empty_object() {
        assert_eq!(parse::<ListSessionsParams>(Value::Null).unwrap(), ListSessionsParams::default());
    }

    #[test]
    fn commands_are_named_after_their_requests() {
        for (command, request) in COMMANDS {
            assert_eq!(command.replace('.', "/"), request.name());
        }
    }
}
