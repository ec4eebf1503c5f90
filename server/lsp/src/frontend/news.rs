//! What the agent did by itself, told quietly: a line in the session where the client was made for it, else a message
//! with "View" and "Undo". Nobody waits for an answer.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use agent::{Agent, UndoTarget};
use protocol::{NoticeLevel, Update};
use serde_json::json;

use super::{EditorFrontend, INFO, chosen_title};
use crate::{outbound::Outbound, uri};

const VIEW: &str = "View";
const UNDO: &str = "Undo";

/// A message that nobody has answered by then is withdrawn.
const ANSWER_LIMIT: Duration = Duration::from_secs(600);

/// What news needs of the agent: the word of its settings, and the way back.
#[derive(Default)]
pub(crate) struct News {
    agent: OnceLock<Weak<Agent>>,
}

impl News {
    /// The agent is made with this frontend, so it comes to know the agent later.
    pub(crate) fn of(&self, agent: Weak<Agent>) {
        if self.agent.set(agent).is_err() {
            tracing::debug!("the frontend has an agent already");
        }
    }
}

impl EditorFrontend {
    pub(super) fn tell_news(&self, news: agent::News) {
        // Such a client hears of it through `reverie/memory/event` and `reverie/dream/progress`.
        if news.undo.is_some() && self.client_is(|client| client.reverie.memory_view) {
            return;
        }
        if self.client_is(|client| client.knows_reverie) {
            if let Some(session) = news.session {
                let update = Update::Notice { level: NoticeLevel::Info, text: news.text };
                self.outbound.update(session.as_str(), None, update);
            }
            return;
        }
        let Some(agent) = self.news.agent.get().and_then(Weak::upgrade) else { return };
        let view = news.view.filter(|_| self.client_is(|client| client.shows_documents));
        let message = Message { text: news.text, view, undo: news.undo };
        tokio::spawn(message.show(self.outbound.clone(), agent));
    }
}

struct Message {
    text: String,
    view: Option<PathBuf>,
    undo: Option<String>,
}

impl Message {
    async fn show(self, outbound: Outbound, agent: Arc<Agent>) {
        let asks = Arc::clone(&agent);
        let is_quiet = tokio::task::spawn_blocking(move || asks.is_quiet()).await.unwrap_or(false);
        if is_quiet {
            return outbound.notify("window/logMessage", json!({ "type": INFO, "message": self.text }));
        }
        let actions = [self.view.is_some().then_some(VIEW), self.undo.is_some().then_some(UNDO)];
        let actions: Vec<_> = actions.into_iter().flatten().map(|title| json!({ "title": title })).collect();
        let params = json!({ "type": INFO, "message": self.text, "actions": actions });
        let asked = outbound.request(None, "window/showMessageRequest", &params);
        // Whoever is not there must not keep the agent from ending.
        let agent = Arc::downgrade(&agent);
        let chosen = tokio::time::timeout(ANSWER_LIMIT, chosen_title(asked)).await.ok().flatten();
        match (chosen.as_deref(), self.view, self.undo) {
            (Some(VIEW), Some(path), _) => {
                let params = json!({ "uri": uri::from_path(&path), "takeFocus": true });
                if let Err(error) = outbound.request(None, "window/showDocument", &params).await {
                    tracing::warn!(%error, "the client did not show the document");
                }
            }
            (Some(UNDO), _, Some(group)) => {
                let Some(agent) = agent.upgrade() else { return };
                take_back(outbound, agent, group).await;
            }
            _ => {}
        }
    }
}

async fn take_back(outbound: Outbound, agent: Arc<Agent>, group: String) {
    let undone = tokio::task::spawn_blocking(move || agent.memory_undo(UndoTarget::Group(group))).await;
    let message = match undone {
        Ok(Ok(undone)) => match undone.kept.as_slice() {
            [] => return,
            kept => {
                let kept: Vec<String> =
                    kept.iter().map(|(path, why)| format!("{}: {why}", path.display())).collect();
                format!("Left alone: {}", kept.join("; "))
            }
        },
        Ok(Err(error)) => format!("It could not be taken back: {error}"),
        Err(panic) => {
            tracing::error!(%panic, "taking back a change panicked");
            return;
        }
    };
    outbound.notify("window/showMessage", json!({ "type": INFO, "message": message }));
}
