//! What waits to be written, and in which order: plain values, no clock, no I/O.
//!
//! Messages that are `ready` go out as they are. A session's updates wait in its lane for their turn: "coalesced to
//! at most ~60 a second per session without reordering". They get their `seq` when they leave the lane, so that
//! merging leaves no gap.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use protocol::{Notification, SessionUpdateParams, Update, method::SessionUpdate};
use serde::Serialize;
use serde_json::Value;
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    time::Instant,
};
use tower_lsp::jsonrpc::Response;

use super::{
    Answer,
    progress::{Owner, Progress},
};

/// The pause between two flushes of one session.
const INTERVAL: Duration = Duration::from_millis(16);
/// A batch is written once it is this large.
const BATCH: usize = 256 * 1024;
/// What is kept of the output of one running tool while the client does not read; its end carries the result.
const MAX_PROGRESS: usize = 1024 * 1024;

#[derive(Default)]
pub(super) struct Queue {
    ready: VecDeque<Outgoing>,
    lanes: HashMap<String, Lane>,
    progress: Progress,
    /// Who waits for the client's answer to which request.
    waiting: HashMap<i64, oneshot::Sender<Answer>>,
    last_request: i64,
    holds: usize,
    /// Those that follow updates which are held back.
    held: Vec<Question>,
    closing: bool,
}

#[derive(Default)]
struct Lane {
    next_seq: u64,
    pending: VecDeque<Pending>,
    last_flush: Option<Instant>,
    urgent: bool,
}

struct Pending {
    turn: Option<String>,
    update: Update,
}

struct Question {
    id: i64,
    session: Option<String>,
    method: &'static str,
    params: Value,
}

enum Outgoing {
    Response { response: Response, slot: Option<OwnedSemaphorePermit> },
    Request { id: i64, method: &'static str, params: Value },
    Notification { method: &'static str, params: Value },
    Update(SessionUpdateParams),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The batch holds something to write.
    Write,
    Wait,
    WaitUntil(Instant),
    Closed,
}

impl Queue {
    /// Whether the writer must look at the queue again.
    pub(super) fn push_update(&mut self, session: &str, turn: Option<String>, update: Update) -> bool {
        if self.closing {
            return false;
        }
        // Not `entry`: it would want an owned key for every delta.
        if !self.lanes.contains_key(session) {
            self.lanes.insert(session.to_owned(), Lane::default());
        }
        let Some(lane) = self.lanes.get_mut(session) else { return false };
        let urgent = matches!(update, Update::TurnEnd { .. });
        let wake = lane.pending.is_empty() || urgent;
        lane.urgent |= urgent;
        lane.push(Pending { turn, update });
        wake
    }

    pub(super) fn push_response(&mut self, response: Response, slot: Option<OwnedSemaphorePermit>) {
        self.push(Outgoing::Response { response, slot });
    }

    pub(super) fn push_notification(&mut self, method: &'static str, params: Value) {
        self.push(Outgoing::Notification { method, params });
    }

    /// In place of what still waits to be told of the same thing, which `key` names in the params.
    pub(super) fn push_latest(&mut self, method: &'static str, key: &str, params: Value) {
        let about = params.get(key).cloned();
        self.ready.retain(|waiting| match waiting {
            Outgoing::Notification { method: earlier, params } => {
                *earlier != method || params.get(key) != about.as_ref()
            }
            _ => true,
        });
        self.push(Outgoing::Notification { method, params });
    }

    pub(super) fn push_request(
        &mut self,
        session: Option<&str>,
        method: &'static str,
        params: Value,
        sender: oneshot::Sender<Answer>,
        now: Instant,
    ) -> i64 {
        self.last_request += 1;
        let id = self.last_request;
        if self.closing {
            return id;
        }
        self.waiting.insert(id, sender);
        let question = Question { id, session: session.map(str::to_owned), method, params };
        if self.holds > 0 {
            self.held.push(question);
        } else {
            self.ask(question, now);
        }
        id
    }

    pub(super) fn take_waiting(&mut self, id: i64) -> Option<oneshot::Sender<Answer>> {
        self.waiting.remove(&id)
    }

    /// Takes a question back: one that waits is never sent, of one that was sent the client hears that it is over.
    /// Says whether there is something new to write.
    pub(super) fn withdraw(&mut self, id: i64) -> bool {
        if self.waiting.remove(&id).is_none() || self.closing {
            return false;
        }
        let waits =
            |outgoing: &Outgoing| matches!(outgoing, Outgoing::Request { id: queued, .. } if *queued == id);
        if self.ready.iter().any(waits) || self.held.iter().any(|held| held.id == id) {
            return false;
        }
        self.push(Outgoing::Notification {
            method: "$/cancelRequest",
            params: serde_json::json!({ "id": id }),
        });
        true
    }

    pub(super) fn hold(&mut self) {
        self.holds += 1;
    }

    pub(super) fn release(&mut self, now: Instant) {
        self.holds = self.holds.saturating_sub(1);
        if self.holds > 0 {
            return;
        }
        for question in std::mem::take(&mut self.held) {
            if self.waiting.contains_key(&question.id) {
                self.ask(question, now);
            }
        }
    }

    pub(super) fn begin_progress(&mut self, session: &str, turn: &str, token: Value) {
        let params = self.progress.begin(session, turn, token);
        self.push(Outgoing::Notification { method: "$/progress", params });
    }

    /// What it is at.
    pub(super) fn report_progress(&mut self, id: &str, message: &str) {
        if let Some(params) = self.progress.report(id, message) {
            self.push(Outgoing::Notification { method: "$/progress", params });
        }
    }

    pub(super) fn end_progress(&mut self, id: &str, message: Option<String>) {
        if let Some(params) = self.progress.end(id, message) {
            self.push(Outgoing::Notification { method: "$/progress", params });
        }
    }

    pub(super) fn offer_turn(&mut self, session: &str, turn: &str) -> Value {
        self.progress.offer_turn(session, turn)
    }

    pub(super) fn offer_job(&mut self, job: &str, title: &str) -> Value {
        self.progress.offer_job(job, title)
    }

    pub(super) fn progress_answered(&mut self, id: &str, accepted: bool) {
        for params in self.progress.answered(id, accepted) {
            self.push(Outgoing::Notification { method: "$/progress", params });
        }
    }

    pub(super) fn owner_of_progress(&self, token: &Value) -> Option<Owner> {
        self.progress.owner_of(token)
    }

    pub(super) fn close(&mut self, now: Instant) {
        self.flush_where(now, |_lane| true);
        self.closing = true;
        self.waiting.clear();
    }

    /// Appends what is due to `batch`; the slots of the answers in it to `slots`.
    pub(super) fn take(
        &mut self,
        now: Instant,
        batch: &mut Vec<u8>,
        slots: &mut Vec<OwnedSemaphorePermit>,
    ) -> Step {
        if self.holds == 0 {
            self.flush_where(now, |lane| lane.is_due(now));
        }
        while batch.len() < BATCH
            && let Some(outgoing) = self.ready.pop_front()
        {
            self.encode(outgoing, batch, slots);
        }
        if !batch.is_empty() {
            return Step::Write;
        }
        if self.closing {
            return Step::Closed;
        }
        if self.holds > 0 {
            return Step::Wait;
        }
        let due = self.lanes.values().filter(|lane| !lane.pending.is_empty()).map(|lane| lane.due(now)).min();
        due.map_or(Step::Wait, Step::WaitUntil)
    }

    fn push(&mut self, outgoing: Outgoing) {
        if !self.closing {
            self.ready.push_back(outgoing);
        }
    }

    fn ask(&mut self, question: Question, now: Instant) {
        let Question { id, session, method, params } = question;
        match session {
            Some(session) => self.flush(&session, now),
            None => self.flush_where(now, |_lane| true),
        }
        self.push(Outgoing::Request { id, method, params });
    }

    /// What a session has to say goes out before whatever is pushed next, unless it is held back.
    pub(super) fn flush_now(&mut self, session: &str, now: Instant) {
        if self.holds == 0 {
            self.flush(session, now);
        }
    }

    pub(super) fn flush_all_now(&mut self, now: Instant) {
        if self.holds == 0 {
            self.flush_where(now, |_lane| true);
        }
    }

    fn flush_where(&mut self, now: Instant, condition: impl Fn(&Lane) -> bool) {
        let sessions: Vec<String> = self
            .lanes
            .iter()
            .filter(|(_, lane)| condition(lane))
            .map(|(session, _)| session.clone())
            .collect();
        for session in sessions {
            self.flush(&session, now);
        }
    }

    fn flush(&mut self, session: &str, now: Instant) {
        let Some(lane) = self.lanes.get_mut(session).filter(|lane| !lane.pending.is_empty()) else { return };
        lane.last_flush = Some(now);
        lane.urgent = false;
        for Pending { turn, update } in lane.pending.drain(..) {
            let progress = turn.as_deref().and_then(|turn| self.progress.observe(turn, &update));
            let seq = lane.next_seq;
            lane.next_seq += 1;
            self.ready.push_back(Outgoing::Update(SessionUpdateParams {
                session_id: session.to_owned(),
                turn_id: turn,
                seq,
                update,
            }));
            if let Some(params) = progress {
                self.ready.push_back(Outgoing::Notification { method: "$/progress", params });
            }
        }
    }

    fn encode(&self, outgoing: Outgoing, batch: &mut Vec<u8>, slots: &mut Vec<OwnedSemaphorePermit>) {
        match outgoing {
            Outgoing::Response { response, slot } => {
                push_frame(batch, &response);
                slots.extend(slot);
            }
            // Nobody waits for the answer any more: the question was withdrawn before it was sent.
            Outgoing::Request { id, .. } if !self.waiting.contains_key(&id) => {}
            Outgoing::Request { id, method, params } => {
                push_frame(batch, &Call { jsonrpc: "2.0", id: Some(id), method, params: params_of(&params) });
            }
            Outgoing::Notification { method, params } => {
                push_frame(batch, &Call { jsonrpc: "2.0", id: None, method, params: params_of(&params) });
            }
            Outgoing::Update(params) => {
                push_frame(
                    batch,
                    &Call { jsonrpc: "2.0", id: None, method: SessionUpdate::NAME, params: Some(&params) },
                );
            }
        }
    }
}

impl Lane {
    fn is_due(&self, now: Instant) -> bool {
        !self.pending.is_empty() && (self.urgent || self.due(now) <= now)
    }

    fn due(&self, now: Instant) -> Instant {
        self.last_flush.map_or(now, |last| last + INTERVAL)
    }

    fn push(&mut self, next: Pending) {
        let Pending { turn, mut update } = next;
        for earlier in self.pending.iter_mut().rev() {
            if earlier.turn != turn {
                break;
            }
            match merge(&mut earlier.update, update) {
                Merge::Done => return,
                Merge::LookFurther(back) => update = back,
                Merge::No(back) => {
                    update = back;
                    break;
                }
            }
        }
        self.pending.push_back(Pending { turn, update });
    }
}

enum Merge {
    Done,
    /// Not these two, but the one before may do: each tool's output is a stream of its own.
    LookFurther(Update),
    No(Update),
}

fn merge(earlier: &mut Update, next: Update) -> Merge {
    match (earlier, next) {
        (Update::TextDelta { text }, Update::TextDelta { text: more })
        | (Update::ThinkingDelta { text }, Update::ThinkingDelta { text: more }) => {
            text.push_str(&more);
            Merge::Done
        }
        (
            Update::ToolProgress { tool_use_id, text },
            Update::ToolProgress { tool_use_id: same, text: more },
        ) => {
            if *tool_use_id != same {
                return Merge::LookFurther(Update::ToolProgress { tool_use_id: same, text: more });
            }
            text.push_str(&more);
            if text.len() > MAX_PROGRESS {
                let cut = text.ceil_char_boundary(text.len() - MAX_PROGRESS / 2);
                text.drain(..cut);
            }
            Merge::Done
        }
        (_, next) => Merge::No(next),
    }
}

#[derive(Serialize)]
struct Call<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a P>,
}

fn push_frame(batch: &mut Vec<u8>, message: &impl Serialize) {
    match serde_json::to_vec(message) {
        Ok(body) => {
            batch.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            batch.extend_from_slice(&body);
        }
        Err(error) => tracing::error!(%error, "a message cannot be written as JSON"),
    }
}

/// `null` is nothing that JSON-RPC knows as params.
fn params_of(params: &Value) -> Option<&Value> {
    (!params.is_null()).then_some(params)
}
