//! The tool calls of one response, run in their order: neighbours that change nothing together, writers alone.

use std::{collections::HashMap, sync::Arc, time::Instant};

use context::result_store;
use conversation::{Block, Body, Flags, ResultContent};
use serde_json::Value;
use tokio::{sync::Semaphore, task::JoinHandle};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    repeats::WORTH_IT,
    results,
    tool_call::{self, Kind, Outcome},
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
    /// Ends the calls of this round alone, when the response they came from is void; a panic of the turn ends them too.
    cancel: DropGuard,
    /// Fires when the response is recorded: only then may results follow it, and be shown.
    recorded: CancellationToken,
    permits: Arc<Semaphore>,
    started: HashMap<String, JoinHandle<()>>,
    /// By the call's id.
    kinds: HashMap<String, Kind>,
    /// A writer was offered: what follows has to wait for it.
    writer_seen: bool,
}

impl ToolRound {
    pub fn new(turn: &Turn) -> Self {
        Self {
            handle: turn.handle(),
            cancel: turn.cancel.child_token().drop_guard(),
            recorded: CancellationToken::new(),
            permits: Arc::new(Semaphore::new(PARALLEL_CALLS)),
            started: HashMap::new(),
            kinds: HashMap::new(),
            writer_seen: false,
        }
    }

    /// A call whose input has just become whole: starts it if nothing has to come before it and nobody has to be asked.
    pub fn offer(&mut self, call: Call) {
        match self.kind(&call) {
            _ if self.writer_seen => {}
            Kind::Writes => self.writer_seen = true,
            Kind::ReadsUnasked => self.start(call),
            Kind::Reads => {}
        }
    }

    fn kind(&mut self, call: &Call) -> Kind {
        if let Some(known) = self.kinds.get(&call.id) {
            return *known;
        }
        let kind = tool_call::kind(&self.handle, call);
        self.kinds.insert(call.id.clone(), kind);
        kind
    }

    /// Runs what has not run yet. Each result is recorded as it comes, then shown; a request puts them in the order
    /// of the calls. The response must be in the thread.
    pub async fn finish(mut self, calls: Vec<Call>) {
        self.recorded.cancel();
        let mut calls = calls.into_iter().peekable();
        while let Some(call) = calls.next() {
            let alone = self.kind(&call) == Kind::Writes;
            let mut batch = vec![call];
            while !alone && let Some(next) = calls.next_if(|call| self.kind(call) != Kind::Writes) {
                batch.push(next);
            }
            self.run_batch(batch).await;
        }
    }

    /// Ends the started calls; their results go nowhere.
    pub async fn abandon(mut self) {
        self.cancel.token().cancel();
        for (id, task) in self.started.drain() {
            if let Err(error) = task.await {
                tracing::error!(tool_use = id, %error, "a tool call panicked while it was abandoned");
            }
        }
    }

    async fn run_batch(&mut self, batch: Vec<Call>) {
        let names: Vec<(String, String)> =
            batch.iter().map(|call| (call.id.clone(), call.name.clone())).collect();
        for call in batch {
            if !self.started.contains_key(&call.id) {
                self.start(call);
            }
        }
        for (id, name) in names {
            if let Some(task) = self.started.remove(&id)
                && let Err(error) = task.await
            {
                let outcome =
                    record(&self.handle, (&id, &name), Subject::Other, Outcome::internal_error(&error));
                tool_call::show_end(&self.handle, &id, &name, &outcome);
            }
        }
    }

    fn start(&mut self, call: Call) {
        let (handle, cancel, permits) =
            (self.handle.clone(), self.cancel.token().clone(), Arc::clone(&self.permits));
        let recorded = self.recorded.clone();
        let (key, id, name) = (call.id.clone(), call.id.clone(), call.name.clone());
        let subject = Subject::of(&call);
        let task = tokio::spawn(async move {
            let permit = permits.acquire_owned().await;
            let mut outcome = tool_call::run(&handle, call, cancel.clone()).await;
            drop(permit);
            tokio::select! {
                biased;
                () = recorded.cancelled() => outcome = record(&handle, (&id, &name), subject, outcome),
                () = cancel.cancelled() => outcome = Outcome::discarded(),
            }
            tool_call::show_end(&handle, &id, &name, &outcome);
        });
        self.started.insert(key, task);
    }
}

/// What a call is about, where its result means more than its words.
enum Subject {
    /// The input of a Read.
    File(String),
    /// The name of a skill.
    Skill(String),
    Other,
}

impl Subject {
    fn of(call: &Call) -> Self {
        let Ok(input) = &call.input else { return Self::Other };
        match (call.name.as_str(), input.get("name").and_then(Value::as_str)) {
            ("Read", _) => Self::File(input.to_string()),
            ("Skill", Some(name)) => Self::Skill(name.trim().trim_start_matches('/').to_owned()),
            _ => Self::Other,
        }
    }
}

/// Appends the result to the thread; what is shown of it comes after.
fn record(handle: &TurnHandle, (id, name): (&str, &str), subject: Subject, mut outcome: Outcome) -> Outcome {
    let session = &handle.session;
    let mut content = match std::mem::take(&mut outcome.content) {
        ResultContent::Text(text) if text.is_empty() => {
            ResultContent::Text(result_store::PLACEHOLDER.to_owned())
        }
        content => results::shelved(handle, name, id, content),
    };
    let now = Instant::now();
    let mut shown = None;
    if let (true, Subject::File(input), ResultContent::Text(text)) = (outcome.ok, &subject, &mut content)
        && text.len() >= WORTH_IT
    {
        let find = |uuid| session.in_sight(uuid);
        match session.repeats.instead_of(text, input, find, now) {
            Some(words) => *text = words,
            None => shown = Some(input.clone()),
        }
    }
    if let (true, Subject::Skill(skill), ResultContent::Text(text)) = (outcome.ok, &subject, &content) {
        session.uses_skill(skill, text);
    }
    let block = Block::ToolResult { tool_use_id: id.to_owned(), content, is_error: !outcome.ok };
    let message = session.append(Body::User { content: vec![block] }, Flags::default());
    if let Some(input) = shown {
        session.repeats.shown(input, message.uuid, now);
    }
    outcome
}
