//! The tool calls of one response, run in their order: neighbours that change nothing together, writers alone.

use std::{collections::HashMap, sync::Arc};

use conversation::{Block, Body, Flags, ResultContent};
use serde_json::Value;
use tokio::{sync::Semaphore, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    tool_call::{self, Outcome},
    turn::{Turn, TurnHandle},
};

/// How many calls of a batch run at the same time.
const PARALLEL_CALLS: usize = 10;

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub id: String,
    pub name: String,
    /// Or why the call cannot be run, in words for the model.
    pub input: Result<Value, String>,
}

pub(crate) struct ToolRound {
    handle: TurnHandle,
    /// Ends the calls of this round alone, when the response they came from is void.
    cancel: CancellationToken,
    permits: Arc<Semaphore>,
    started: HashMap<String, JoinHandle<Outcome>>,
    /// A writer was offered: what follows has to wait for it.
    writer_seen: bool,
}

impl ToolRound {
    pub fn new(turn: &Turn) -> Self {
        Self {
            handle: turn.handle(),
            cancel: turn.cancel.child_token(),
            permits: Arc::new(Semaphore::new(PARALLEL_CALLS)),
            started: HashMap::new(),
            writer_seen: false,
        }
    }

    /// A call whose input has just become whole: starts it if nothing has to come before it and nobody has to be asked.
    pub fn offer(&mut self, call: Call) {
        if self.writer_seen || !tool_call::is_read_only(&self.handle, &call) {
            self.writer_seen = true;
            return;
        }
        if tool_call::runs_unasked(&self.handle, &call) {
            self.start(call);
        }
    }

    /// Runs what has not run yet and appends every result, in the order of the calls.
    pub async fn finish(mut self, calls: Vec<Call>) {
        let mut calls = calls.into_iter().peekable();
        while let Some(call) = calls.next() {
            let mut batch = vec![call];
            if batch.iter().all(|call| tool_call::is_read_only(&self.handle, call)) {
                while let Some(next) = calls.next_if(|call| tool_call::is_read_only(&self.handle, call)) {
                    batch.push(next);
                }
            }
            self.run_batch(batch).await;
        }
    }

    /// Ends the started calls and forgets their results.
    pub async fn abandon(mut self, why: &str) {
        self.cancel.cancel();
        for (id, task) in self.started.drain() {
            if task.await.is_err() {
                tracing::error!(tool_use = id, why, "a tool call panicked while it was abandoned");
            }
        }
    }

    async fn run_batch(&mut self, batch: Vec<Call>) {
        let ids: Vec<String> = batch.iter().map(|call| call.id.clone()).collect();
        for call in batch {
            if !self.started.contains_key(&call.id) {
                self.start(call);
            }
        }
        let mut results = Vec::with_capacity(ids.len());
        for id in ids {
            let Some(task) = self.started.remove(&id) else { continue };
            let outcome = task.await.unwrap_or_else(|error| Outcome::internal_error(&error));
            results.push((id, outcome));
        }
        for (id, outcome) in results {
            let content = match outcome.content {
                ResultContent::Text(text) if text.is_empty() => {
                    ResultContent::Text("(the tool ran and returned nothing)".to_owned())
                }
                content => content,
            };
            let block = Block::ToolResult { tool_use_id: id, content, is_error: !outcome.ok };
            self.handle.session.append(Body::User { content: vec![block] }, Flags::default());
        }
    }

    fn start(&mut self, call: Call) {
        let (handle, cancel, permits) = (self.handle.clone(), self.cancel.clone(), Arc::clone(&self.permits));
        let id = call.id.clone();
        let task = tokio::spawn(async move {
            let permit = permits.acquire_owned().await;
            let outcome = tool_call::run(&handle, call, cancel).await;
            drop(permit);
            outcome
        });
        self.started.insert(id, task);
    }
}
