//! Long work as LSP's work-done progress: begin, what it is at, end.
//!
//! Turns are fed with their updates in the order in which they go out, so that the two never tell different stories;
//! the agent's own work says itself what it is at.

use std::collections::HashMap;

use protocol::Update;
use serde_json::{Value, json};

const TITLE: &str = "Reverie";

/// Whom a cancel of the progress stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// What is done for a session: a turn, a compaction.
    Session(String),
    /// A job of the agent's own.
    Job(String),
}

#[derive(Default)]
pub(super) struct Progress {
    /// By the id of the turn or job.
    works: HashMap<String, Work>,
}

struct Work {
    owner: Owner,
    title: String,
    token: Value,
    stage: Stage,
}

enum Stage {
    /// The client has not accepted the token yet; this is what it missed so far.
    Offered {
        message: Option<String>,
        ended: Option<Ended>,
    },
    Begun,
}

/// With or without a last word.
struct Ended(Option<String>);

impl Progress {
    /// Params of the `$/progress` that begins a turn under the client's token.
    pub(super) fn begin(&mut self, session: &str, turn: &str, token: Value) -> Value {
        let owner = Owner::Session(session.to_owned());
        let work = Work { owner, title: TITLE.to_owned(), token, stage: Stage::Begun };
        let begin = work.begin(None);
        self.works.insert(turn.to_owned(), work);
        begin
    }

    /// The token to offer to the client for a turn.
    pub(super) fn offer_turn(&mut self, session: &str, turn: &str) -> Value {
        let token = format!("reverie/turn/{turn}");
        self.offer(turn, Owner::Session(session.to_owned()), TITLE, token)
    }

    /// The token to offer to the client for a job of the agent's own.
    pub(super) fn offer_job(&mut self, job: &str, title: &str) -> Value {
        self.offer(job, Owner::Job(job.to_owned()), title, format!("reverie/job/{job}"))
    }

    /// What to send once the client has accepted or refused the offered token.
    pub(super) fn answered(&mut self, id: &str, accepted: bool) -> Vec<Value> {
        let Some(work) = self.works.get_mut(id) else { return Vec::new() };
        let Stage::Offered { message, ended } = &mut work.stage else { return Vec::new() };
        let (message, ended) = (message.take(), ended.take());
        let is_over = ended.is_some() || !accepted;
        let mut notifications = Vec::new();
        if accepted {
            notifications.push(work.begin(message.as_deref()));
            notifications.extend(ended.map(|Ended(last)| work.told("end", last.as_deref())));
        }
        work.stage = Stage::Begun;
        if is_over {
            self.works.remove(id);
        }
        notifications
    }

    /// What an update of a turn means for its progress.
    pub(super) fn observe(&mut self, turn: &str, update: &Update) -> Option<Value> {
        match update {
            Update::ToolStart { tool, .. } => self.report(turn, tool),
            Update::TurnEnd { .. } => self.end(turn, None),
            _ => None,
        }
    }

    pub(super) fn report(&mut self, id: &str, message: &str) -> Option<Value> {
        let work = self.works.get_mut(id)?;
        match &mut work.stage {
            Stage::Begun => Some(work.told("report", Some(message))),
            Stage::Offered { message: missed, .. } => {
                *missed = Some(message.to_owned());
                None
            }
        }
    }

    pub(super) fn end(&mut self, id: &str, message: Option<String>) -> Option<Value> {
        let work = self.works.get_mut(id)?;
        if let Stage::Offered { ended, .. } = &mut work.stage {
            *ended = Some(Ended(message));
            return None;
        }
        self.works.remove(id).map(|work| work.told("end", message.as_deref()))
    }

    pub(super) fn owner_of(&self, token: &Value) -> Option<Owner> {
        self.works.values().find(|work| work.token == *token).map(|work| work.owner.clone())
    }

    fn offer(&mut self, id: &str, owner: Owner, title: &str, token: String) -> Value {
        let token = Value::String(token);
        let stage = Stage::Offered { message: None, ended: None };
        let work = Work { owner, title: title.to_owned(), token: token.clone(), stage };
        self.works.insert(id.to_owned(), work);
        token
    }
}

impl Work {
    fn begin(&self, message: Option<&str>) -> Value {
        let value = json!({ "kind": "begin", "title": self.title, "cancellable": true });
        self.params(value, message)
    }

    fn told(&self, kind: &str, message: Option<&str>) -> Value {
        self.params(json!({ "kind": kind }), message)
    }

    fn params(&self, mut value: Value, message: Option<&str>) -> Value {
        if let (Some(message), Some(object)) = (message, value.as_object_mut()) {
            object.insert("message".to_owned(), message.into());
        }
        json!({ "token": self.token, "value": value })
    }
}
