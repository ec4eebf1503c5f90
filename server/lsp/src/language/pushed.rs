//! Diagnostics for clients that do not ask for them: `textDocument/publishDiagnostics`, of open documents that are written
//! for the agent. The settings files have their own.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use language::Role;
use ls_types::Diagnostic;
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use super::{Language, pulled};

/// Nobody reads what is wrong with a word that is being typed.
const DEBOUNCE: Duration = Duration::from_millis(150);

#[derive(Default)]
pub(super) struct Pushed {
    changed: Arc<Notify>,
    running: OnceLock<AbortOnDropHandle<()>>,
    shown: Mutex<BTreeMap<PathBuf, Vec<Diagnostic>>>,
}

impl Language {
    /// After `initialized`, for a client that is to be told.
    pub(super) fn begin_pushing(self: &Arc<Self>) {
        let offered = self.offered();
        let tells = self.frontend.client.get().is_some_and(|client| client.shows_diagnostics);
        if !tells || offered.pulls_diagnostics {
            return;
        }
        self.start();
        self.pushed.running.get_or_init(|| {
            let (language, changed) = (Arc::downgrade(self), Arc::clone(&self.pushed.changed));
            AbortOnDropHandle::new(tokio::spawn(async move {
                loop {
                    changed.notified().await;
                    tokio::time::sleep(DEBOUNCE).await;
                    let Some(language) = language.upgrade() else { return };
                    if let Err(panic) = tokio::task::spawn_blocking(move || language.push()).await {
                        tracing::error!(%panic, "diagnostics of memories panicked");
                    }
                }
            }))
        });
    }

    /// Something changed that diagnostics may depend on.
    pub(super) fn push_soon(&self) {
        if self.pushed.running.get().is_some() {
            self.pushed.changed.notify_one();
        }
    }

    fn push(&self) {
        let places = self.places();
        let is_on = self.agent.inline().diagnostics;
        let documents = self.workspace.documents().into_iter().filter_map(|document| {
            let role = places.role(&document.path)?;
            (role.is_ours() && role != Role::Settings).then_some((document.path, role))
        });
        let documents: Vec<(PathBuf, Role)> = documents.filter(|_| is_on).collect();
        let mut now = BTreeMap::new();
        if !documents.is_empty() {
            let view = self.view(places);
            for (path, role) in documents {
                if let Some(opened) = self.open(path.clone(), role) {
                    now.insert(path, pulled::diagnostics(&view, &opened));
                }
            }
        }
        let mut shown = self.pushed.shown.lock().unwrap_or_else(PoisonError::into_inner);
        for path in shown.keys().filter(|path| !now.contains_key(*path)) {
            self.send(path, &[]);
        }
        for (path, diagnostics) in &now {
            if shown.get(path) != Some(diagnostics) {
                self.send(path, diagnostics);
            }
        }
        *shown = now;
    }

    fn send(&self, path: &std::path::Path, diagnostics: &[Diagnostic]) {
        let uri = self.frontend.documents.uri(path);
        let params = json!({ "uri": uri, "diagnostics": diagnostics });
        self.frontend.outbound.notify("textDocument/publishDiagnostics", params);
    }
}
