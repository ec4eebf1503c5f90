//! A fork: the conversation as it stands, and one thing to do with it. Summaries are made by forks, and so is whatever
//! works in the background.
//!
//! It sends the parent's system prompt, tools and messages byte for byte, so that all of it comes from the cache, and
//! adds only its directive. The tools stay the parent's for the same reason; what a fork may not call is denied when it
//! calls it, in words it can act on. It has its own denials and its own account; it compacts nothing, recalls nothing
//! and forks nothing.

use std::sync::{Arc, Mutex, PoisonError};

use conversation::{Block, RequestMessage, ResultContent, Role, StopReason, Usage};
use futures_util::future::BoxFuture;
use model::{ContextEdits, ModelError, QuerySource, Request, retry::Backoff};
use tokio_util::sync::CancellationToken;

use crate::{
    event::AgentEvent,
    session::{Opening, Session},
    stream,
    tool_round::Call,
};

/// What a fork may call.
pub(crate) trait ForkTools: Send + Sync {
    /// The result, or why there is none.
    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<ResultContent, String>>;

    /// A response came and its calls are answered. Whoever wants no further round says why.
    fn round<'a>(&'a self, _said: &'a str, _calls: usize) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Whether what was asked for is done by now: then nobody needs to hear that from the model, for another request.
    fn is_done(&self) -> bool {
        false
    }
}

/// A fork that only has to say something.
pub(crate) struct NoTools;

impl ForkTools for NoTools {
    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<ResultContent, String>> {
        let words = format!("{} cannot be called here; answer with the text that was asked for", call.name);
        Box::pin(std::future::ready(Err(words)))
    }
}

pub(crate) struct Fork<'a> {
    pub session: &'a Arc<Session>,
    /// The parent's, as rendered.
    pub opening: &'a Opening,
    /// The parent's, as they would be sent.
    pub messages: Vec<RequestMessage>,
    /// Its first line says what it is: see `context::fork`.
    pub directive: String,
    pub tools: &'a dyn ForkTools,
    /// Requests it may make.
    pub rounds: u32,
    pub max_tokens: u64,
    pub source: QuerySource,
    /// Adds up what it used, whatever becomes of it.
    pub spent: Option<&'a Mutex<Spent>>,
    /// Linked to the parent's.
    pub cancel: &'a CancellationToken,
}

/// What a fork has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub usage: Usage,
    pub cost_usd: f64,
}

/// How a fork came to its end.
#[derive(Debug)]
pub(crate) struct Ended {
    /// What it said last.
    pub text: String,
    /// Why the last response ended.
    pub stop: StopReason,
    /// It would have gone on, but its rounds were over.
    pub is_cut: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ForkError {
    /// The parent was stopped, or the fork itself.
    #[error("it was cancelled")]
    Cancelled,
    /// Whoever gives it its tools wants no more of it.
    #[error("{0}")]
    Stopped(String),
    #[error("a fork cannot be forked")]
    Nested,
    #[error("{0}")]
    Model(ModelError),
}

impl Fork<'_> {
    pub async fn run(mut self) -> Result<Ended, ForkError> {
        // A summary is needed whatever the user has typed.
        let is_summary = matches!(self.source, QuerySource::Compact | QuerySource::Collapse);
        if !is_summary && context::fork::is_forked(&self.messages) {
            return Err(ForkError::Nested);
        }
        let directive = Block::text(std::mem::take(&mut self.directive));
        say(&mut self.messages, vec![directive]);
        let mut round = 1;
        loop {
            let response = self.ask().await?;
            let said = response.text();
            let calls = response.calls;
            if calls.is_empty() {
                self.tools.round(&said, 0).await.map_err(ForkError::Stopped)?;
                return Ok(Ended { text: said, stop: response.stop_reason, is_cut: false });
            }
            self.messages.push(RequestMessage { role: Role::Assistant, content: response.blocks });
            let mut results = Vec::with_capacity(calls.len());
            for call in &calls {
                results.push(self.answer(call).await?);
            }
            say(&mut self.messages, results);
            self.tools.round(&said, calls.len()).await.map_err(ForkError::Stopped)?;
            let is_cut = round >= self.rounds;
            if is_cut || self.tools.is_done() {
                return Ok(Ended { text: said, stop: response.stop_reason, is_cut });
            }
            round += 1;
        }
    }

    async fn answer(&self, call: &Call) -> Result<Block, ForkError> {
        let called = match &call.input {
            Ok(_) => {
                self.cancel.run_until_cancelled(self.tools.call(call)).await.ok_or(ForkError::Cancelled)?
            }
            Err(why) => Err(why.clone()),
        };
        let is_error = called.is_err();
        let content = called.unwrap_or_else(ResultContent::Text);
        Ok(Block::ToolResult { tool_use_id: call.id.clone(), content, is_error })
    }

    /// One response, with its retries; what it used is booked to the fork's own account.
    async fn ask(&self) -> Result<stream::Response, ForkError> {
        let mut backoff = Backoff::new(stream::seed());
        loop {
            let request = self.request();
            let asked = stream::whole(&*self.opening.provider, request);
            let outcome = self.cancel.run_until_cancelled(asked).await.ok_or(ForkError::Cancelled)?;
            let (spent, outcome) = match outcome {
                Ok(response) => (response.usage, Ok(response)),
                Err((error, spent)) => (spent, Err(error)),
            };
            self.session.book(&self.opening.spec, &self.source, spent, 0.0);
            if let Some(sum) = self.spent {
                let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
                sum.usage += spent;
                sum.cost_usd += self.opening.spec.cost_usd(&spent);
            }
            let error = match outcome {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            let Some(delay) = backoff.next_delay(&error) else { return Err(ForkError::Model(error)) };
            tracing::warn!(session = %self.session.id, source = self.source.as_str(), %error, "a fork's request is repeated");
            // Somebody waits for it.
            if self.source == QuerySource::Compact {
                let (attempt, reason) = (backoff.attempt(), error.to_string());
                self.session.emit(None, AgentEvent::Retry { attempt, delay, reason, discard: false });
            }
            let jobs = &self.session.shared.jobs;
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = self.cancel.cancelled() => return Err(ForkError::Cancelled),
                // Nobody waits at the end for a server that may come back.
                () = jobs.drained(), if self.source.is_by_itself() => return Err(ForkError::Model(error)),
            }
        }
    }

    fn request(&self) -> Request {
        let Opening { rendered, spec, .. } = self.opening;
        Request {
            model: spec.name.clone(),
            system: Arc::clone(&rendered.system),
            tools: Arc::clone(&rendered.tools),
            messages: self.messages.clone(),
            max_tokens: spec.max_output_tokens.min(self.max_tokens),
            output_schema: None,
            source: self.source.clone(),
            // The parent's last request ended before its last response, as every request's does.
            shared: None,
            context_edits: ContextEdits::default(),
        }
    }
}

/// Adds to the user's side.
fn say(messages: &mut Vec<RequestMessage>, blocks: Vec<Block>) {
    match messages.last_mut() {
        Some(last) if last.role == Role::User => last.content.extend(blocks),
        _ => messages.push(RequestMessage { role: Role::User, content: blocks }),
    }
}
