//! Turns as LSP's work-done progress: begin, the tool at work, end.
//!
//! Fed with the updates in the order in which they go out, so that the two never tell different stories.

use std::collections::HashMap;

use protocol::Update;
use serde_json::{Value, json};

const TITLE: &str = "Reverie";

#[derive(Default)]
pub(super) struct TurnProgress {
    turns: HashMap<String, Turn>,
}

struct Turn {
    session: String,
    token: Value,
    stage: Stage,
}

enum Stage {
    /// The client has not accepted the token yet; `tool` and `ended` are what it missed so far.
    Offered {
        tool: Option<String>,
        ended: bool,
    },
    Begun,
}

impl TurnProgress {
    /// Params of the `$/progress` that begins a turn under the client's token.
    pub(super) fn begin(&mut self, session: &str, turn: &str, token: Value) -> Value {
        let begin = begin(&token, None);
        self.insert(session, turn, token, Stage::Begun);
        begin
    }

    /// The token to offer to the client.
    pub(super) fn offer(&mut self, session: &str, turn: &str) -> Value {
        let token = Value::String(format!("reverie/turn/{turn}"));
        self.insert(session, turn, token.clone(), Stage::Offered { tool: None, ended: false });
        token
    }

    /// What to send once the client has accepted or refused the offered token.
    pub(super) fn answered(&mut self, turn: &str, accepted: bool) -> Vec<Value> {
        let Some(state) = self.turns.get_mut(turn) else { return Vec::new() };
        let Stage::Offered { tool, ended } = &state.stage else { return Vec::new() };
        let mut notifications = Vec::new();
        if accepted {
            notifications.push(begin(&state.token, tool.as_deref()));
        }
        if accepted && *ended {
            notifications.push(progress(&state.token, json!({ "kind": "end" })));
        }
        if *ended || !accepted {
            self.turns.remove(turn);
        } else {
            state.stage = Stage::Begun;
        }
        notifications
    }

    /// What an update of the turn means for its progress.
    pub(super) fn observe(&mut self, turn: &str, update: &Update) -> Option<Value> {
        let state = self.turns.get_mut(turn)?;
        match (update, &mut state.stage) {
            (Update::ToolStart { tool, .. }, Stage::Begun) => {
                Some(progress(&state.token, json!({ "kind": "report", "message": tool })))
            }
            (Update::ToolStart { tool, .. }, Stage::Offered { tool: missed, .. }) => {
                *missed = Some(tool.clone());
                None
            }
            (Update::TurnEnd { .. }, _) => self.end(turn),
            _ => None,
        }
    }

    pub(super) fn end(&mut self, turn: &str) -> Option<Value> {
        match self.turns.get_mut(turn)? {
            Turn { stage: Stage::Offered { ended, .. }, .. } => {
                *ended = true;
                None
            }
            Turn { token, stage: Stage::Begun, .. } => {
                let end = progress(token, json!({ "kind": "end" }));
                self.turns.remove(turn);
                Some(end)
            }
        }
    }

    pub(super) fn session_of(&self, token: &Value) -> Option<String> {
        self.turns.values().find(|turn| turn.token == *token).map(|turn| turn.session.clone())
    }

    fn insert(&mut self, session: &str, turn: &str, token: Value, stage: Stage) {
        self.turns.insert(turn.to_owned(), Turn { session: session.to_owned(), token, stage });
    }
}

fn begin(token: &Value, message: Option<&str>) -> Value {
    let mut value = json!({ "kind": "begin", "title": TITLE, "cancellable": true });
    if let (Some(message), Some(object)) = (message, value.as_object_mut()) {
        object.insert("message".to_owned(), message.into());
    }
    progress(token, value)
}

fn progress(token: &Value, value: Value) -> Value {
    json!({ "token": token, "value": value })
}
