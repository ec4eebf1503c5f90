//! Diagnostics for clients that do not ask for them: `textDocument/publishDiagnostics`, of open documents that are written
//! for the agent and of those that memories name. The settings files have their own.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use language::{Places, Role};
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
    wanted: Mutex<Wanted>,
    shown: Mutex<BTreeMap<PathBuf, Vec<Diagnostic>>>,
}

/// What is to be looked at.
#[derive(Default)]
struct Wanted {
    all: bool,
    files: BTreeSet<PathBuf>,
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

    pub(super) fn is_pushing(&self) -> bool {
        self.pushed.running.get().is_some()
    }

    /// Something changed that all diagnostics may depend on.
    pub(super) fn push_soon(&self) {
        self.want(|wanted| wanted.all = true);
    }

    /// The text of one file is another.
    pub(super) fn push_soon_of(&self, path: PathBuf) {
        self.want(|wanted| wanted.files.extend([path]));
    }

    fn want(&self, want: impl FnOnce(&mut Wanted)) {
        if self.is_pushing() {
            want(&mut self.pushed.wanted.lock().unwrap_or_else(PoisonError::into_inner));
            self.pushed.changed.notify_one();
        }
    }

    fn push(&self) {
        let Wanted { all, files } =
            std::mem::take(&mut *self.pushed.wanted.lock().unwrap_or_else(PoisonError::into_inner));
        let places = self.places();
        // A memory may say something of the others; a source says something of itself.
        let all = all || files.iter().any(|path| places.role(path).is_some_and(Role::is_ours));
        let mut now = match self.agent.inline().diagnostics {
            true => self.diagnostics_of_open(places, |path| all || files.contains(path)),
            false => BTreeMap::new(),
        };
        let mut shown = self.pushed.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let looked_at = |path: &&PathBuf| all || files.contains(*path);
        for path in shown.keys().filter(looked_at) {
            now.entry(path.clone()).or_default();
        }
        for (path, diagnostics) in now {
            let before = shown.remove(&path).unwrap_or_default();
            if before != diagnostics {
                self.send(&path, &diagnostics);
            }
            if !diagnostics.is_empty() {
                shown.insert(path, diagnostics);
            }
        }
    }

    /// Nothing is computed of what no memory names.
    fn diagnostics_of_open(
        &self,
        places: Places,
        is_wanted: impl Fn(&Path) -> bool,
    ) -> BTreeMap<PathBuf, Vec<Diagnostic>> {
        // What is known need not be brought up to date to see that it has nothing to do with a file.
        let known = self.state().knowledge.clone();
        let may_be_named = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str());
            known.as_ref().zip(name).is_none_or(|(known, name)| known.speaks_of_a_file_named(name))
        };
        let open = self.workspace.documents().into_iter().map(|document| document.path);
        let wanted = open.filter(|path| is_wanted(path)).filter_map(|path| {
            let role = places.role(&path).filter(|role| *role != Role::Settings)?;
            (role.is_ours() || may_be_named(&path)).then_some((path, role))
        });
        let wanted: Vec<(PathBuf, Role)> = wanted.collect();
        if wanted.is_empty() {
            return BTreeMap::new();
        }
        let view = self.view(places);
        let found = wanted.into_iter().filter_map(|(path, role)| {
            let opened = self.open(path.clone(), role)?;
            Some((path, pulled::diagnostics(&view, &opened)))
        });
        found.collect()
    }

    fn send(&self, path: &Path, diagnostics: &[Diagnostic]) {
        let uri = self.frontend.documents.uri(path);
        let params = json!({ "uri": uri, "diagnostics": diagnostics });
        self.frontend.outbound.notify("textDocument/publishDiagnostics", params);
    }
}
