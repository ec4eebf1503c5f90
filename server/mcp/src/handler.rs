//! Our side of a connection: who we are, and what a server may tell us while we ask nothing.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken,
        ProtocolVersion,
    },
    service::NotificationContext,
};
use tokio::sync::Notify;

use crate::{Progress, text};

#[derive(Clone, Default)]
pub(crate) struct Handler {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    listeners: Mutex<HashMap<ProgressToken, Progress>>,
    tools_changed: Notify,
}

impl Handler {
    /// Waits until the server says that its tools have changed.
    pub(crate) async fn tools_changed(&self) {
        self.shared.tools_changed.notified().await;
    }

    /// Progress of the call is heard until the result is dropped.
    pub(crate) fn listen(&self, token: &ProgressToken, progress: Progress) -> Listening {
        self.shared.listeners.lock().unwrap_or_else(PoisonError::into_inner).insert(token.clone(), progress);
        Listening { shared: Arc::clone(&self.shared), token: token.clone() }
    }
}

pub(crate) struct Listening {
    shared: Arc<Shared>,
    token: ProgressToken,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.shared.listeners.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.token);
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let name = Implementation::new("reverie", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), name)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let listeners = self.shared.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(progress) = listeners.get(&params.progress_token).map(Arc::clone) else { return };
        drop(listeners);
        let share = match params.total {
            Some(total) => format!("{} of {total}", params.progress),
            None => params.progress.to_string(),
        };
        let message = params.message.map(|message| text::one_line(&message, 500)).unwrap_or_default();
        progress(if message.is_empty() { share } else { format!("{share}: {message}") });
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.shared.tools_changed.notify_one();
    }
}
