//! Messages in, in wire order.
//!
//! tower-lsp's own transport runs handlers through a queue in which edits overtake each other and, with enough requests
//! pending, cancellations are never read. So its router is called from here: notifications are applied before the
//! next message is read; a request runs up to its first wait, so that what it changes is changed in order, and goes on
//! as its own task. A panic fails the request it happened in and nothing else.

use std::{
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use futures_util::FutureExt;
use serde_json::{Value, value::RawValue};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::Service;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};

use crate::{
    configuration,
    convert::SessionId,
    documents, language,
    message::{BadMessage, Incoming},
    outbound::Owner,
    server::Server,
    settings_watch, uri,
};

/// How many requests may be without their answer read by the client; beyond it, reading pauses. High enough for a
/// client that writes thousands before it reads.
const MAX_UNANSWERED: usize = 16_384;

pub(crate) struct Ingress<S> {
    service: S,
    server: Server,
    phase: Phase,
    slots: Arc<Semaphore>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Starting,
    Running,
    ShutDown,
}

impl<S> Ingress<S>
where
    S: Service<Request, Response = Option<Response>>,
    S::Future: Send + 'static,
{
    pub(crate) fn new(service: S, server: Server) -> Self {
        let slots = Arc::new(Semaphore::new(MAX_UNANSWERED));
        Self { service, server, phase: Phase::Starting, slots }
    }

    /// Takes one message; breaks on `exit`. Waits only if the client leaves too many answers unread.
    pub(crate) async fn receive(&mut self, incoming: Incoming<'_>) -> ControlFlow<()> {
        match incoming {
            Incoming::Response { id, outcome } => self.server.outbound().answered(&id, outcome),
            Incoming::Notification { method, .. } if method == "exit" => return ControlFlow::Break(()),
            Incoming::Notification { method, params } => {
                let applied = catch_unwind(AssertUnwindSafe(|| self.notification(&method, params)));
                if applied.is_err() {
                    tracing::error!(%method, "a notification's handler panicked");
                }
            }
            Incoming::Request { id, method, params } => {
                let slot = self.slot().await;
                self.request(id, &method, params, slot);
            }
        }
        ControlFlow::Continue(())
    }

    /// Answers what is no message.
    pub(crate) async fn refuse(&mut self, bad: BadMessage) {
        let BadMessage { id, code, message } = bad;
        tracing::warn!(%id, %code, message, "a message that cannot be read");
        let slot = self.slot().await;
        let error = Error { code, message: message.into(), data: None };
        self.server.outbound().respond(Response::from_error(id, error), slot);
    }

    /// Resolves when every request is answered and the client has read the answers.
    pub(crate) async fn all_answered(&self) {
        let all = u32::try_from(MAX_UNANSWERED).unwrap_or(u32::MAX);
        drop(self.slots.acquire_many(all).await);
    }

    pub(crate) fn shutdown_received(&self) -> bool {
        self.phase == Phase::ShutDown
    }

    fn notification(&mut self, method: &str, params: Option<&RawValue>) {
        // What the end of the server waits for is shown, and can be stopped.
        if self.phase == Phase::ShutDown && method == "window/workDoneProgress/cancel" {
            self.cancel_progress(params);
        }
        if self.phase != Phase::Running {
            return;
        }
        let applied = documents::apply(method, params, self.server.documents(), self.server.workspace());
        settings_watch::observe(&self.server, method, params);
        language::observe(&self.server, method, params);
        if applied {
            return;
        }
        match method {
            "initialized" => {
                configuration::begin(&self.server);
                settings_watch::begin(&self.server);
                self.server.language().begin();
            }
            "workspace/didChangeConfiguration" => configuration::changed(&self.server, params),
            "window/workDoneProgress/cancel" => self.cancel_progress(params),
            "$/cancelRequest" => {
                let params = params.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
                let request = Request::build("$/cancelRequest").params(params.unwrap_or_default()).finish();
                // The request's own future resolves; this one is done at once and has nothing to say.
                drop(self.service.call(request).now_or_never());
            }
            // Observed above.
            "workspace/didChangeWatchedFiles" => {}
            _ => tracing::debug!(method, "a notification that is not used"),
        }
    }

    fn cancel_progress(&self, params: Option<&RawValue>) {
        let params: Value = params.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let agent = self.server.agent();
        let stopped =
            match params.get("token").and_then(|token| self.server.outbound().owner_of_progress(token)) {
                Some(Owner::Session(session)) => match SessionId::parse(&session) {
                    Some(session) => agent.cancel(&session),
                    None => return,
                },
                Some(Owner::Job(job)) => agent.stop_task(&job),
                None => return,
            };
        if let Err(error) = stopped {
            tracing::debug!(%error, "something shown as progress that could not be stopped");
        }
    }

    fn request(
        &mut self,
        id: Id,
        method: &str,
        params: Option<&RawValue>,
        slot: Option<OwnedSemaphorePermit>,
    ) {
        let outbound = self.server.outbound().clone();
        let refused = match self.phase {
            Phase::Starting if method != "initialize" => {
                Some((protocol::ErrorCode::NOT_INITIALIZED.code.into(), "the server is not initialized"))
            }
            Phase::ShutDown => Some((ErrorCode::InvalidRequest, "the server is shutting down")),
            Phase::Starting | Phase::Running => None,
        };
        if let Some((code, message)) = refused {
            let error = Error { code, message: message.into(), data: None };
            return outbound.respond(Response::from_error(id, error), slot);
        }
        let request = match build(&id, method, params) {
            Ok(request) => request,
            Err(error) => return outbound.respond(Response::from_error(id, error), slot),
        };
        if method == "shutdown" {
            self.phase = Phase::ShutDown;
        }
        // Until the answer is queued, no update of a turn that the request started may be.
        let hold = outbound.hold_updates();
        let running = match catch_unwind(AssertUnwindSafe(|| self.service.call(request))) {
            Ok(running) => running,
            Err(panic) => return outbound.respond(respond::<S::Error>(id, method, Err(panic)), slot),
        };
        let mut running = Box::pin(AssertUnwindSafe(running).catch_unwind());
        match (&mut running).now_or_never() {
            Some(done) => {
                let response = respond(id, method, done);
                if method == "initialize" && response.is_ok() {
                    self.phase = Phase::Running;
                }
                outbound.respond(response, slot);
                drop(hold);
            }
            None => {
                drop(hold);
                let method = method.to_owned();
                tokio::spawn(async move { outbound.respond(respond(id, &method, running.await), slot) });
            }
        }
    }

    async fn slot(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(&self.slots).acquire_owned().await.ok()
    }
}

fn build(id: &Id, method: &str, params: Option<&RawValue>) -> Result<Request, Error> {
    let request = Request::build(method.to_owned()).id(id.clone());
    let params = match params {
        Some(raw) => Some(serde_json::from_str::<Value>(raw.get()).map_err(|error| Error {
            code: ErrorCode::InvalidRequest,
            message: format!("the params cannot be read: {error}").into(),
            data: None,
        })?),
        // tower-lsp refuses absent params where ours may all be optional.
        None if method.starts_with("reverie/") => Some(Value::Null),
        None => None,
    };
    Ok(match params {
        Some(mut params) => {
            if method == "initialize" {
                escape_uris(&mut params);
            }
            if let Some(Value::String(text)) = params.pointer_mut("/textDocument/uri") {
                *text = uri::strict(text);
            }
            request.params(params).finish()
        }
        None => request.finish(),
    })
}

/// A folder whose URI a strict parser refuses must not keep the server from starting.
fn escape_uris(params: &mut Value) {
    let escape = |place: Option<&mut Value>| {
        if let Some(Value::String(text)) = place {
            *text = uri::strict(text);
        }
    };
    escape(params.get_mut("rootUri"));
    for folder in params.get_mut("workspaceFolders").and_then(Value::as_array_mut).into_iter().flatten() {
        escape(folder.get_mut("uri"));
    }
}

/// Every request gets exactly one answer, also where the router has none: after a panic, or to an unknown `$/` method.
fn respond<E>(id: Id, method: &str, done: std::thread::Result<Result<Option<Response>, E>>) -> Response {
    match done {
        Ok(Ok(Some(response))) => response,
        Ok(Ok(None)) => {
            let message = format!("there is no method `{method}`").into();
            Response::from_error(id, Error { code: ErrorCode::MethodNotFound, message, data: None })
        }
        Ok(Err(_exited)) => Response::from_error(id, Error::invalid_request()),
        Err(_panic) => {
            tracing::error!(method, "a handler panicked");
            Response::from_error(id, Error::internal_error())
        }
    }
}

#[cfg(test)]
mod tests;
