//! Everything that goes out: one queue, one writer.
//!
//! Whoever has something to say pushes it here and goes on; only the writer waits for the client. What is pushed
//! keeps its order; a session's updates may be merged while they wait, never reordered (see `queue`). So a slow
//! client slows nothing but itself.

mod progress;
mod queue;

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use protocol::Update;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::{Notify, OwnedSemaphorePermit, oneshot},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Response};

pub(crate) use progress::Owner;
use queue::{Queue, Step};

/// How long the client may take to accept a progress token; nothing needs to be shown as progress.
const OFFER_LIMIT: Duration = Duration::from_secs(10);

#[derive(Clone, Default)]
pub(crate) struct Outbound(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    wake: Notify,
    broken: CancellationToken,
}

/// What the client answered to a request of ours.
pub(crate) type Answer = Result<Value, Error>;

impl Outbound {
    /// Tells what a session did. The first update after a pause goes out at once.
    pub(crate) fn update(&self, session: &str, turn: Option<String>, update: Update) {
        let wake = self.queue().push_update(session, turn, update);
        if wake {
            self.0.wake.notify_one();
        }
    }

    /// Answers a request. `slot` is given back when the answer has been written.
    pub(crate) fn respond(&self, response: Response, slot: Option<OwnedSemaphorePermit>) {
        self.queue().push_response(response, slot);
        self.0.wake.notify_one();
    }

    /// Tells the client something that is no session's.
    pub(crate) fn notify(&self, method: &'static str, params: Value) {
        self.queue().push_notification(method, params);
        self.0.wake.notify_one();
    }

    /// The same for something of which only the newest counts: it takes the place of what the client has not read yet.
    /// `key` names in the params what it is about.
    pub(crate) fn notify_latest(&self, method: &'static str, key: &str, params: Value) {
        self.queue().push_latest(method, key, params);
        self.0.wake.notify_one();
    }

    /// Asks the client, after everything that `session` (or, without one, any session) has told so far, and so after
    /// the answer that holds it back. Dropping the future withdraws the question: if it was not sent yet, it never is; else the client is told to drop it.
    pub(crate) fn request(
        &self,
        session: Option<&str>,
        method: &'static str,
        params: &impl Serialize,
    ) -> Asked {
        let (sender, receiver) = oneshot::channel();
        let params = serde_json::to_value(params).unwrap_or_default();
        let id = self.queue().push_request(session, method, params, sender, Instant::now());
        self.0.wake.notify_one();
        Asked { id, receiver, outbound: self.clone() }
    }

    /// The client's answer to the request `id`.
    pub(crate) fn answered(&self, id: &Id, outcome: Result<&RawValue, Error>) {
        let Id::Number(number) = id else {
            tracing::warn!(%id, "an answer to a question that was never asked");
            return;
        };
        let Some(sender) = self.queue().take_waiting(*number) else {
            tracing::debug!(number, "an answer that nobody waits for");
            return;
        };
        let outcome = outcome.and_then(|raw| {
            serde_json::from_str(raw.get()).map_err(|error| Error {
                code: ErrorCode::ParseError,
                message: error.to_string().into(),
                data: None,
            })
        });
        // Whoever asked may have gone meanwhile; then the answer is not needed.
        drop(sender.send(outcome));
    }

    /// Keeps updates back while it lives, so that the answer to a prompt precedes the updates of its turn.
    pub(crate) fn hold_updates(&self) -> Hold {
        self.queue().hold();
        Hold(self.clone())
    }

    /// Shows a turn as work in progress, under the client's own token.
    pub(crate) fn begin_progress(&self, session: &str, turn: &str, token: Value) {
        self.queue().begin_progress(session, turn, token);
        self.0.wake.notify_one();
    }

    /// What a session has told so far goes out before an answer that follows on it.
    pub(crate) fn flush_updates(&self, session: &str) {
        self.queue().flush_now(session, Instant::now());
        self.0.wake.notify_one();
    }

    /// The same for all sessions.
    pub(crate) fn flush_all_updates(&self) {
        self.queue().flush_all_now(Instant::now());
        self.0.wake.notify_one();
    }

    /// What is shown as progress, and is no turn, is at this now.
    pub(crate) fn report_progress(&self, job: &str, message: &str) {
        self.queue().report_progress(job, message);
        self.0.wake.notify_one();
    }

    /// What was shown as progress, and is no turn, has ended.
    pub(crate) fn end_progress(&self, job: &str, message: Option<String>) {
        self.queue().end_progress(job, message);
        self.0.wake.notify_one();
    }

    /// Shows a turn as work in progress, under a token that the client is asked to accept first. Silence is a no.
    pub(crate) fn offer_turn(&self, session: &str, turn: &str) {
        let token = self.queue().offer_turn(session, turn);
        self.offer(turn, &token);
    }

    /// The same for a job of the agent's own.
    pub(crate) fn offer_job(&self, job: &str, title: &str) {
        let token = self.queue().offer_job(job, title);
        self.offer(job, &token);
    }

    fn offer(&self, id: &str, token: &Value) {
        let asked =
            self.request(None, "window/workDoneProgress/create", &serde_json::json!({ "token": token }));
        let (outbound, id) = (self.clone(), id.to_owned());
        tokio::spawn(async move {
            let accepted = matches!(tokio::time::timeout(OFFER_LIMIT, asked).await, Ok(Ok(_)));
            outbound.queue().progress_answered(&id, accepted);
            outbound.0.wake.notify_one();
        });
    }

    /// What the client shows under `token`.
    pub(crate) fn owner_of_progress(&self, token: &Value) -> Option<Owner> {
        self.queue().owner_of_progress(token)
    }

    /// Lets the writer finish what is queued and end. Open questions are answered with an error.
    pub(crate) fn close(&self) {
        self.queue().close(Instant::now());
        self.0.wake.notify_one();
    }

    /// Resolves when the client can no longer be written to.
    pub(crate) async fn broken(&self) {
        self.0.broken.cancelled().await;
    }

    /// The writer. Runs until `close`, or until the output fails.
    pub(crate) async fn write_to(self, mut output: impl AsyncWrite + Unpin) {
        const KEPT_CAPACITY: usize = 1024 * 1024;
        let mut batch = Vec::new();
        let mut slots = Vec::new();
        loop {
            let step = self.queue().take(Instant::now(), &mut batch, &mut slots);
            match step {
                Step::Write => {
                    let written = async {
                        output.write_all(&batch).await?;
                        output.flush().await
                    };
                    if let Err(error) = written.await {
                        tracing::warn!(%error, "the client cannot be written to");
                        self.queue().close(Instant::now());
                        self.0.broken.cancel();
                        return;
                    }
                    batch.clear();
                    batch.shrink_to(KEPT_CAPACITY);
                    slots.clear();
                }
                Step::WaitUntil(due) => {
                    tokio::select! {
                        () = self.0.wake.notified() => {}
                        () = tokio::time::sleep_until(due) => {}
                    }
                }
                Step::Wait => self.0.wake.notified().await,
                Step::Closed => {
                    if let Err(error) = output.shutdown().await {
                        tracing::debug!(%error, "the output did not close cleanly");
                    }
                    return;
                }
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Every change to the queue is complete before anything in it can panic.
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Outbound::hold_updates`].
pub(crate) struct Hold(Outbound);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.queue().release(Instant::now());
        self.0.0.wake.notify_one();
    }
}

/// A question under way; resolves to the client's answer.
pub(crate) struct Asked {
    id: i64,
    receiver: oneshot::Receiver<Answer>,
    outbound: Outbound,
}

impl Future for Asked {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        Pin::new(&mut self.receiver).poll(context).map(|received| {
            received.unwrap_or_else(|_closed| {
                let message = "the connection ended before the answer".into();
                Err(Error { code: ErrorCode::RequestCancelled, message, data: None })
            })
        })
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if self.outbound.queue().withdraw(self.id) {
            self.outbound.0.wake.notify_one();
        }
    }
}

#[cfg(test)]
mod tests;
