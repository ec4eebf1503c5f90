//! For which files the editor is to ask: registered for just these where it can be told later, else announced for all,
//! and answered with nothing for the others.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ls_types::{InitializeParams, ServerCapabilities};
use serde_json::{Map, Value, json};
use settings::Inline;

use super::{For, Language};

/// A client that has not answered by then is not going to.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// One request of LSP that is answered here.
struct Feature {
    method: &'static str,
    /// Its name among the client's capabilities.
    capability: &'static str,
    /// Its name among the server's.
    provider: &'static str,
    wanted: For,
    switch: fn(&Inline) -> bool,
    options: fn() -> Value,
}

const NO_OPTIONS: fn() -> Value = || json!({});

macro_rules! features {
    ($($method:literal $capability:literal $provider:literal $wanted:ident $switch:expr, $options:expr;)*) => {
        &[$(Feature {
            method: $method, capability: $capability, provider: $provider, wanted: For::$wanted, switch: $switch,
            options: $options,
        }),*]
    };
}

const FEATURES: &[Feature] = features! {
    "textDocument/hover" "hover" "hoverProvider" Both |inline| inline.hover, NO_OPTIONS;
    "textDocument/completion" "completion" "completionProvider" Ours |inline| inline.completion,
        || json!({ "triggerCharacters": ["@", "/", "(", ":", "\""] });
    "textDocument/definition" "definition" "definitionProvider" Ours |inline| inline.navigation, NO_OPTIONS;
    "textDocument/references" "references" "referencesProvider" Ours |inline| inline.navigation, NO_OPTIONS;
    "textDocument/documentLink" "documentLink" "documentLinkProvider" Ours |inline| inline.navigation, || json!({ "resolveProvider": false });
    "textDocument/rename" "rename" "renameProvider" Ours |inline| inline.actions, || json!({ "prepareProvider": true });
    "textDocument/documentSymbol" "documentSymbol" "documentSymbolProvider" Ours |inline| inline.navigation, NO_OPTIONS;
    "textDocument/foldingRange" "foldingRange" "foldingRangeProvider" Ours |inline| inline.navigation, NO_OPTIONS;
    "textDocument/formatting" "formatting" "documentFormattingProvider" Ours |inline| inline.actions, NO_OPTIONS;
    "textDocument/codeLens" "codeLens" "codeLensProvider" Both |inline| inline.lens, || json!({ "resolveProvider": false });
    "textDocument/codeAction" "codeAction" "codeActionProvider" Both |inline| inline.actions,
        || json!({ "codeActionKinds": ["quickfix", "refactor"] });
    "textDocument/inlayHint" "inlayHint" "inlayHintProvider" Source |inline| inline.hints, NO_OPTIONS;
    "textDocument/diagnostic" "diagnostic" "diagnosticProvider" Both |inline| inline.diagnostics,
        || json!({ "identifier": "reverie", "interFileDependencies": true, "workspaceDiagnostics": false });
};

/// What the client says about these features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offered {
    /// By the place in the table: it knows the feature.
    known: u32,
    /// Likewise: it can be told later for which files.
    dynamic: u32,
    pub(super) inlay_hint: bool,
    pub(super) pulls_diagnostics: bool,
    pub(super) renames_files: bool,
    pub(super) creates_files: bool,
    refreshes_lenses: bool,
    refreshes_hints: bool,
    refreshes_diagnostics: bool,
    /// It can be told later which files to watch.
    watches: bool,
}

impl Offered {
    pub(crate) fn of(params: &InitializeParams) -> Self {
        let capabilities = serde_json::to_value(&params.capabilities).unwrap_or_default();
        let is = |pointer: &str| capabilities.pointer(pointer) == Some(&Value::Bool(true));
        let (mut known, mut dynamic) = (0, 0);
        for (place, feature) in FEATURES.iter().enumerate() {
            let pointer = format!("/textDocument/{}", feature.capability);
            if capabilities.pointer(&pointer).is_some_and(Value::is_object) {
                known |= 1 << place;
            }
            if is(&format!("{pointer}/dynamicRegistration")) {
                dynamic |= 1 << place;
            }
        }
        let operations = capabilities.pointer("/workspace/workspaceEdit/resourceOperations");
        let operations = operations.and_then(Value::as_array);
        let can = |wanted: &str| {
            operations.is_some_and(|operations| operations.iter().any(|operation| operation == wanted))
        };
        Self {
            known,
            dynamic,
            inlay_hint: capabilities.pointer("/textDocument/inlayHint").is_some_and(Value::is_object),
            pulls_diagnostics: capabilities.pointer("/textDocument/diagnostic").is_some_and(Value::is_object),
            renames_files: can("rename"),
            creates_files: can("create"),
            refreshes_lenses: is("/workspace/codeLens/refreshSupport"),
            refreshes_hints: is("/workspace/inlayHint/refreshSupport"),
            refreshes_diagnostics: is("/workspace/diagnostics/refreshSupport"),
            watches: is("/workspace/didChangeWatchedFiles/dynamicRegistration"),
        }
    }

    fn has(bits: u32, place: usize) -> bool {
        bits & 1 << place != 0
    }
}

/// What is announced once and for all, to clients that cannot be told later.
pub(crate) fn announced(capabilities: ServerCapabilities, offered: Offered) -> ServerCapabilities {
    let Ok(Value::Object(mut value)) = serde_json::to_value(&capabilities) else { return capabilities };
    for (place, feature) in FEATURES.iter().enumerate() {
        if Offered::has(offered.known, place) && !Offered::has(offered.dynamic, place) {
            value.insert(feature.provider.to_owned(), (feature.options)());
        }
    }
    serde_json::from_value(Value::Object(value)).unwrap_or(capabilities)
}

/// What the client was told so far.
#[derive(Default)]
pub(super) struct Registered {
    /// `None` before `initialized`: until then nothing may be asked of the client.
    switches: Mutex<Option<Inline>>,
    /// By method.
    options: Mutex<BTreeMap<&'static str, Value>>,
}

impl Language {
    pub(super) fn offered(&self) -> Offered {
        self.frontend.client.get().map(|client| client.language).unwrap_or_default()
    }

    /// Tells the client for which files it is to ask, as far as that is not what it was told before.
    pub(super) fn register(&self) {
        let offered = self.offered();
        if offered.dynamic == 0 && !offered.watches {
            return;
        }
        // Held while the switches are looked at: of two at once, the later one decides.
        let mut registered = self.registered.options.lock().unwrap_or_else(PoisonError::into_inner);
        let inline = self.agent.inline();
        let mut wanted: BTreeMap<&'static str, Value> = BTreeMap::new();
        for (place, feature) in FEATURES.iter().enumerate() {
            if !Offered::has(offered.dynamic, place) || !(feature.switch)(&inline) {
                continue;
            }
            let selector = self.selector(feature.wanted);
            if selector.is_empty() {
                continue;
            }
            let mut options = (feature.options)();
            if let Value::Object(options) = &mut options {
                options.insert("documentSelector".to_owned(), Value::Array(selector));
            }
            wanted.insert(feature.method, options);
        }
        if offered.watches {
            // What is made and deleted: a memory may name it from wherever its writer stood.
            let watchers = json!([{ "globPattern": "**/*", "kind": 1 | 4 }]);
            wanted.insert("workspace/didChangeWatchedFiles", json!({ "watchers": watchers }));
        }
        let id = |method: &str| format!("reverie/{method}");
        let gone: Vec<Value> = registered
            .iter()
            .filter(|(method, options)| wanted.get(*method) != Some(options))
            .map(|(method, _)| json!({ "id": id(method), "method": method }))
            .collect();
        let new: Vec<Value> = wanted
            .iter()
            .filter(|(method, options)| registered.get(*method) != Some(options))
            .map(
                |(method, options)| json!({ "id": id(method), "method": method, "registerOptions": options }),
            )
            .collect();
        *registered = wanted;
        if !gone.is_empty() {
            // Sic: the protocol has it so.
            self.ask("client/unregisterCapability", json!({ "unregisterations": gone }));
        }
        if !new.is_empty() {
            self.ask("client/registerCapability", json!({ "registrations": new }));
        }
    }

    /// Asks the editor to ask again.
    pub(super) fn refresh(&self) {
        let offered = self.offered();
        let methods = [
            (offered.refreshes_diagnostics, "workspace/diagnostic/refresh"),
            (offered.refreshes_lenses, "workspace/codeLens/refresh"),
            (offered.refreshes_hints, "workspace/inlayHint/refresh"),
        ];
        for (_, method) in methods.into_iter().filter(|(can, _)| *can) {
            self.ask(method, Value::Null);
        }
        self.push_soon();
    }

    /// Likewise, where nothing else is another.
    pub(super) fn refresh_lenses(&self) {
        if self.offered().refreshes_lenses {
            self.ask("workspace/codeLens/refresh", Value::Null);
        }
    }

    fn ask(&self, method: &'static str, params: Value) {
        let asked = self.frontend.outbound.request(None, method, &params);
        tokio::spawn(async move {
            if let Ok(Err(error)) = tokio::time::timeout(ANSWER_LIMIT, asked).await {
                tracing::warn!(%error, method, "the client did not do it");
            }
        });
    }

    fn selector(&self, wanted: For) -> Vec<Value> {
        let places = self.places();
        let mut patterns: Vec<String> = Vec::new();
        if wanted != For::Source {
            let common = [
                "**/CLAUDE.md",
                "**/CLAUDE.local.md",
                "**/AGENTS.md",
                "**/.claude/**/*.md",
                "**/.claude/settings.json",
                "**/.claude/settings.local.json",
            ];
            patterns.extend(common.map(str::to_owned));
            patterns.extend(places.memory.iter().map(|memory| format!("{}/**/*.md", literal(memory))));
            for home in [&places.config_home, &places.managed] {
                let home = literal(home);
                patterns.push(format!("{home}/**/*.md"));
                patterns.push(format!("{home}/*settings.json"));
            }
        }
        if wanted != For::Ours {
            patterns.extend(places.roots.iter().map(|root| format!("{}/**", literal(root))));
        }
        let filter = |pattern: String| {
            let filter = [("scheme", json!("file")), ("pattern", json!(pattern))];
            Value::Object(Map::from_iter(filter.map(|(key, value)| (key.to_owned(), value))))
        };
        patterns.into_iter().map(filter).collect()
    }

    /// After `initialized`.
    pub(crate) fn begin(self: &Arc<Self>) {
        self.begin_pushing();
        *self.registered.switches.lock().unwrap_or_else(PoisonError::into_inner) = Some(Inline::default());
        self.settings_changed();
    }

    /// Switches may be others, or folders.
    pub(crate) fn settings_changed(self: &Arc<Self>) {
        if self.registered.switches.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            return;
        }
        let language = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            language.register();
            let inline = language.agent.inline();
            let before =
                language.registered.switches.lock().unwrap_or_else(PoisonError::into_inner).replace(inline);
            if before != Some(inline) {
                language.refresh();
            }
            // Memory may have been switched on or off, or be somewhere else now.
            let known = language.state().knowledge.as_ref().map(|known| known.directory().to_owned());
            if known.is_some_and(|known| known != language.agent.memory_directory().unwrap_or_default()) {
                language.memories_changed();
            }
        });
    }
}

/// A glob that matches the path itself; a character that means something to a glob is any character.
fn literal(path: &Path) -> String {
    let special = |character: char| matches!(character, '*' | '?' | '[' | ']' | '{' | '}' | '!' | ',' | '\\');
    let text = path.to_string_lossy();
    text.chars().map(|character| if special(character) { '?' } else { character }).collect()
}
