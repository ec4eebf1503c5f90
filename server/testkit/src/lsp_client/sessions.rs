//! What a user does with the agent: sessions, prompts, turns.

use serde_json::{Value, json};

use super::{LspClient, Notification, Turn};

impl LspClient {
    /// A new session in the first workspace folder.
    pub async fn new_session(&self) -> String {
        self.new_session_with(json!({})).await
    }

    pub async fn new_session_with(&self, params: Value) -> String {
        let answer = self.request("reverie/session/new", params).await.expect("a session can be made");
        answer["sessionId"].as_str().expect("a session has an id").to_owned()
    }

    /// Prompts and waits for the turn's end.
    pub async fn turn(&self, session: &str, text: &str) -> Turn {
        let turn = self.prompt(session, text).await;
        self.turn_end(session, &turn).await
    }

    /// Prompts and returns the turn's id.
    pub async fn prompt(&self, session: &str, text: &str) -> String {
        let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
        let answer = self.request("reverie/session/prompt", params).await.expect("a prompt is accepted");
        answer["turnId"].as_str().expect("a turn has an id").to_owned()
    }

    /// Waits for the end of a turn and reads all updates of its session up to there.
    pub async fn turn_end(&self, session: &str, turn: &str) -> Turn {
        // A long session says a lot: nothing is looked at twice.
        let mut looked_at = 0;
        let updates = self
            .wait(&format!("the end of turn {turn}"), |state| {
                let is_end = |notification: &Notification| {
                    notification.kind() == "turnEnd" && notification.params["turnId"] == turn
                };
                let end = state.log.iter().skip(looked_at).position(is_end);
                let Some(end) = end.map(|end| looked_at + end) else {
                    looked_at = state.log.len();
                    return None;
                };
                let mut updates = Vec::new();
                for notification in &mut state.log[..=end] {
                    let of_session = notification.params["sessionId"] == session;
                    if notification.method == "reverie/session/update" && of_session && !notification.read {
                        notification.read = true;
                        updates.push(notification.params.clone());
                    }
                }
                Some(updates)
            })
            .await;
        Turn { id: turn.to_owned(), updates }
    }
}
