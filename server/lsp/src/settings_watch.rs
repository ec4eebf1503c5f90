//! What is wrong with the settings files, shown in the editor at its place: `textDocument/publishDiagnostics`.
//!
//! One task looks at the few files once the client is initialized, and again when one of them changes on disk, is
//! edited in the editor, or when the folders change. It judges the text that the editor has, so that a mistake is
//! seen before it is saved; what is in force is the saved file, which the agent reads anew with every turn.
//! Nothing of this happens for a client that shows no diagnostics.

mod eyes;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use settings::{Cache, Diagnostic, Environment, Place, Severity, Sources};
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;
use workspace::{Encoding, Workspace};

use crate::{Faults, frontend::EditorFrontend, language::Language, server::Server, uri};
use eyes::Eyes;

/// Changes come in flocks: an editor writes a file in several steps.
const DEBOUNCE: Duration = Duration::from_millis(150);
/// How often the files are looked at where the system does not tell of changes.
const POLL: Duration = Duration::from_secs(2);
/// Between two looks that panicked.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
const MOST_FOLDERS: usize = 16;
const MOST_DIAGNOSTICS: usize = 100;

pub(crate) struct SettingsWatch {
    environment: Environment,
    changed: Arc<Notify>,
    running: OnceLock<AbortOnDropHandle<()>>,
    language: OnceLock<Weak<Language>>,
}

impl SettingsWatch {
    pub(crate) fn new(environment: Environment) -> Self {
        Self { environment, changed: Arc::default(), running: OnceLock::new(), language: OnceLock::new() }
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Whom to tell that switches may be others.
    pub(crate) fn tell(&self, language: Weak<Language>) {
        if self.language.set(language).is_err() {
            tracing::debug!("somebody is told of settings already");
        }
    }
}

/// After `initialized`.
pub(crate) fn begin(server: &Server) {
    let Some(client) = server.client().filter(|client| client.shows_diagnostics) else { return };
    let watch = server.settings_watch();
    watch.running.get_or_init(|| {
        let task = Task {
            environment: watch.environment.clone(),
            cache: server.agent().settings_files(),
            workspace: server.workspace().clone(),
            frontend: Arc::clone(server.frontend()),
            encoding: client.encoding,
            faults: server.faults().clone(),
            language: watch.language.get().cloned().unwrap_or_default(),
        };
        AbortOnDropHandle::new(tokio::spawn(task.run(Arc::clone(&watch.changed))))
    });
}

/// After a notification of the client has been applied: has it to do with settings?
pub(crate) fn observe(server: &Server, method: &str, params: Option<&RawValue>) {
    let concerned = match method {
        "textDocument/didOpen"
        | "textDocument/didChange"
        | "textDocument/didSave"
        | "textDocument/didClose" => params.is_some_and(is_settings_document),
        "workspace/didChangeWorkspaceFolders" | "workspace/didRenameFiles" => true,
        "workspace/didChangeWatchedFiles" => {
            params.is_some_and(|params| eyes::NAMES.iter().any(|name| params.get().contains(name)))
        }
        _ => false,
    };
    if concerned {
        server.settings_watch().changed.notify_one();
    }
}

fn is_settings_document(params: &RawValue) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        text_document: Document,
    }
    #[derive(Deserialize)]
    struct Document {
        uri: String,
    }
    // Most documents are not, and theirs need not be read twice.
    let text = params.get();
    text.contains("settings")
        && serde_json::from_str::<Params>(text)
            .ok()
            .and_then(|params| uri::to_path(&params.text_document.uri))
            .is_some_and(|path| eyes::is_watched_name(&path))
}

struct Task {
    environment: Environment,
    cache: Cache,
    workspace: Workspace,
    frontend: Arc<EditorFrontend>,
    encoding: Encoding,
    faults: Faults,
    language: Weak<Language>,
}

/// What the client shows for a file: under which URI, and what.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    uri: String,
    diagnostics: Vec<Value>,
}

impl Task {
    async fn run(self, changed: Arc<Notify>) {
        let this = Arc::new(self);
        let mut eyes = Eyes::new(Arc::clone(&changed));
        let mut shown = BTreeMap::new();
        let mut pause = POLL;
        loop {
            let task = Arc::clone(&this);
            let looked = tokio::task::spawn_blocking(move || {
                task.faults.reach("settings watch");
                // First the watch, then the look: what changes in between is seen again.
                eyes.turn_to(&task.files());
                (task.diagnostics(), eyes)
            });
            match looked.await {
                Ok((found, back)) => {
                    eyes = back;
                    pause = POLL;
                    this.publish(found, &mut shown);
                    if let Some(language) = this.language.upgrade() {
                        language.settings_changed();
                    }
                }
                // Looks again, each time later.
                Err(error) => {
                    tracing::error!(%error, "looking at the settings files panicked");
                    eyes = Eyes::new(Arc::clone(&changed));
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    continue;
                }
            }
            while !eyes.are_open() {
                tokio::select! {
                    () = changed.notified() => break,
                    () = tokio::time::sleep(POLL) => {}
                }
                if eyes.see_a_change(&this.files()) {
                    break;
                }
            }
            if eyes.are_open() {
                changed.notified().await;
            }
            tokio::time::sleep(DEBOUNCE).await;
        }
    }

    fn folders(&self) -> Vec<PathBuf> {
        let mut folders = self.workspace.roots();
        folders.truncate(MOST_FOLDERS);
        folders
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = settings::files(&self.environment, None);
        for folder in self.folders() {
            files.extend(settings::files(&self.environment, Some(&folder)));
        }
        files.sort();
        files.dedup();
        files
    }

    /// Of all files, each once.
    fn diagnostics(&self) -> BTreeMap<PathBuf, Vec<Diagnostic>> {
        let folders = self.folders();
        let places: Vec<_> = if folders.is_empty() {
            vec![None]
        } else {
            folders.iter().map(|folder| Some(folder.as_path())).collect()
        };
        let mut found: BTreeMap<PathBuf, Vec<Diagnostic>> = BTreeMap::new();
        for folder in places {
            let sources =
                Sources { environment: &self.environment, folder, editor: None, command_line: None };
            let open = |path: &Path| self.workspace.document_text(path);
            for diagnostic in settings::check(&sources, &open, &self.cache) {
                let Some(file) = diagnostic.file.clone() else { continue };
                let list = found.entry(file).or_default();
                if !list.contains(&diagnostic) && list.len() < MOST_DIAGNOSTICS {
                    list.push(diagnostic);
                }
            }
        }
        found
    }

    /// Tells the client what is new, and clears what is not so any more.
    fn publish(&self, found: BTreeMap<PathBuf, Vec<Diagnostic>>, shown: &mut BTreeMap<PathBuf, Shown>) {
        let mut now = BTreeMap::new();
        for (path, diagnostics) in found {
            let diagnostics = diagnostics.iter().map(|diagnostic| self.encoded(diagnostic)).collect();
            now.insert(path.clone(), Shown { uri: self.frontend.documents.uri(&path), diagnostics });
        }
        for (path, old) in &*shown {
            if now.get(path).is_none_or(|new| new.uri != old.uri) {
                self.send(path, &Shown { uri: old.uri.clone(), diagnostics: Vec::new() });
            }
        }
        for (path, new) in &now {
            if shown.get(path) != Some(new) {
                self.send(path, new);
            }
        }
        *shown = now;
    }

    fn send(&self, path: &Path, shown: &Shown) {
        let mut params = json!({ "uri": shown.uri, "diagnostics": shown.diagnostics });
        if let (Some(version), Value::Object(params)) = (self.frontend.documents.version(path), &mut params) {
            params.insert("version".to_owned(), version.into());
        }
        self.frontend.outbound.notify("textDocument/publishDiagnostics", params);
    }

    fn encoded(&self, diagnostic: &Diagnostic) -> Value {
        // About the whole file: its beginning.
        let nowhere = Place { line: 0, start: 0, end: 0, start_byte: 0, end_byte: 0 };
        let place = diagnostic.place.unwrap_or(nowhere);
        let (start, end) = match self.encoding {
            Encoding::Utf8 => (place.start_byte, place.end_byte),
            Encoding::Utf16 => (place.start, place.end),
        };
        let severity = match diagnostic.severity {
            Severity::Error => 1,
            Severity::Warning => 2,
            Severity::Hint => 4,
        };
        let message = match diagnostic.key.as_str() {
            "" => diagnostic.message.clone(),
            key => format!("{key}: {}", diagnostic.message),
        };
        json!({
            "range": {
                "start": { "line": place.line, "character": start },
                "end": { "line": place.line, "character": end },
            },
            "severity": severity,
            "source": "reverie",
            "message": message,
        })
    }
}

#[cfg(test)]
mod tests;
