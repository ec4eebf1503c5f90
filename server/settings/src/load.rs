//! From layers to one snapshot: read, check, restrict, merge. Whatever is wrong becomes a diagnostic, and the
//! rest still works.

mod layer;
mod prune;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    Cache, Diagnostic, Environment, Seen, Settings, directories, hints,
    merge::Merged,
    restrict::{self, Grants},
    trust::{self, Checkout, Trust},
};
pub(crate) use layer::{Author, Layer};

/// Where settings are looked for, besides the files that the environment names.
pub struct Sources<'a> {
    pub environment: &'a Environment,
    /// The workspace folder, for the project and the local file.
    pub folder: Option<&'a Path>,
    /// What the editor answers for the section `reverie`.
    pub editor: Option<&'a Value>,
    pub command_line: Option<&'a Value>,
}

#[derive(Clone, Debug)]
pub struct Loaded {
    pub settings: Settings,
    pub diagnostics: Vec<Diagnostic>,
    /// What the user has said about the folder; untrusted without one.
    pub trust: Arc<Trust>,
}

/// The text of a document that is open in the editor.
pub type OpenText<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// How files are read.
pub(crate) struct Files<'a> {
    pub(crate) open: Option<OpenText<'a>>,
    pub(crate) cache: Option<&'a Cache>,
    /// All that was looked at.
    pub(crate) seen: &'a mut Seen,
}

impl Settings {
    /// The effective settings. Reads a handful of small files; nothing that is missing is an error.
    pub fn load(sources: &Sources) -> Loaded {
        load(sources, Files { open: None, cache: None, seen: &mut Seen::default() })
    }
}

/// What would be said about the settings files if the documents that are open in the editor were saved now.
pub fn check(sources: &Sources, open: OpenText, cache: &Cache) -> Vec<Diagnostic> {
    load(sources, Files { open: Some(open), cache: Some(cache), seen: &mut Seen::default() }).diagnostics
}

pub(crate) fn load(sources: &Sources, mut files: Files) -> Loaded {
    let mut diagnostics = Vec::new();
    let mut layers = layers(sources, &mut files, &mut diagnostics);
    for layer in &mut layers {
        prune::remove_nulls(&mut layer.document.root);
        prune::remove_invalid(layer, &mut diagnostics);
        diagnostics.extend(hints::of(layer));
    }
    let (trust, granted) = match sources.folder {
        Some(folder) => trust::of_layers(sources.environment, folder, &layers, files.seen, &mut diagnostics),
        None => (Trust::default(), Vec::new()),
    };
    let grants = Grants { trust: trust.status, rules: &granted };
    let mut merged = Merged::default();
    merged.add(DEFAULT, &defaults());
    for mut layer in layers {
        restrict::apply(&mut layer, &merged, &grants, &mut diagnostics);
        merged.add(&layer.source, &layer.document.root);
    }
    // Each layer was checked against the same type, and merging makes nothing that is not in one of them.
    let mut settings = Settings::deserialize(merged.root()).unwrap_or_default();
    settings.entries = merged.entries().into();
    Loaded { settings, diagnostics, trust: Arc::new(trust) }
}

/// The state of a folder's trust as its files are now.
pub(crate) fn trust_of(environment: &Environment, folder: &Path) -> Trust {
    let mut files = Files { open: None, cache: None, seen: &mut Seen::default() };
    let mut diagnostics = Vec::new();
    let mut layers = Vec::new();
    workspace_layers(environment, folder, &mut files, &mut layers, &mut diagnostics);
    for layer in &mut layers {
        prune::remove_nulls(&mut layer.document.root);
        prune::remove_invalid(layer, &mut diagnostics);
    }
    trust::of_layers(environment, folder, &layers, files.seen, &mut diagnostics).0
}

pub(crate) const DEFAULT: &str = "default";

/// What is listed with the source `default`; the rest of the defaults is "unset".
fn defaults() -> Map<String, Value> {
    let settings = Settings::default();
    let listed = json!({
        "permissions": {"defaultMode": settings.permissions.default_mode.as_str()},
        "maxRounds": settings.max_rounds,
        "autoCompactEnabled": settings.auto_compact_enabled,
        "autoMemoryEnabled": settings.auto_memory_enabled,
        "sandbox": {"mainBash": settings.sandbox.main_bash, "network": settings.sandbox.network},
        "notifications": {"quiet": settings.notifications.quiet},
        "inline": {
            "lens": settings.inline.lens,
            "hints": settings.inline.hints,
            "hover": settings.inline.hover,
            "diagnostics": settings.inline.diagnostics,
        },
        "reverie": {"features": settings.reverie.features.listed()},
    });
    listed.as_object().cloned().unwrap_or_default()
}

/// Lowest first: "user, project, local, the editor's configuration, command line, managed".
fn layers(sources: &Sources, files: &mut Files, diagnostics: &mut Vec<Diagnostic>) -> Vec<Layer> {
    let environment = sources.environment;
    let mut layers = Vec::new();
    let user = user_file(environment);
    files.seen.look(&user);
    layers.extend(Layer::read(&user, Author::Owner, files, diagnostics));
    if let Some(folder) = sources.folder {
        workspace_layers(environment, folder, files, &mut layers, diagnostics);
    }
    if let Some(value) = sources.editor {
        layers.extend(Layer::given(editor_shape(value), "editor", Author::Editor, diagnostics));
    }
    if let Some(value) = sources.command_line {
        layers.extend(Layer::given(value.clone(), "command line", Author::Owner, diagnostics));
    }
    let managed = managed_file(environment);
    files.seen.look(&managed);
    layers.extend(Layer::read(&managed, Author::Owner, files, diagnostics));
    layers
}

fn workspace_layers(
    environment: &Environment,
    folder: &Path,
    files: &mut Files,
    layers: &mut Vec<Layer>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let checkout = Checkout::of(folder, files.seen);
    let is_own = directories::holds_config_home(environment, folder, files.seen);
    for (path, author) in [(project_file(folder), Author::Project), (local_file(folder), Author::Local)] {
        files.seen.look(&path);
        // In the home folder the "project file" is the user's own.
        if directories::canonical(&path) == directories::canonical(&user_file(environment)) {
            continue;
        }
        // "0 reads outside before trust": a checkout can contain a link to anything.
        if !is_own && !checkout.holds(&path) {
            let layer = Layer::empty(&path, author);
            let message = "leads out of the folder, so it is not read; put the settings into the file itself";
            diagnostics.push(layer.error(message.to_owned()));
            continue;
        }
        layers.extend(Layer::read(&path, author, files, diagnostics));
    }
}

/// The files that settings of this folder come from, lowest first; whether they exist or not.
pub fn files(environment: &Environment, folder: Option<&Path>) -> Vec<PathBuf> {
    let mut files = vec![user_file(environment)];
    files.extend(folder.into_iter().flat_map(|folder| [project_file(folder), local_file(folder)]));
    files.push(managed_file(environment));
    files
}

fn user_file(environment: &Environment) -> PathBuf {
    directories::config_home(environment).join("settings.json")
}

fn project_file(folder: &Path) -> PathBuf {
    folder.join(".claude").join("settings.json")
}

pub(crate) fn local_file(folder: &Path) -> PathBuf {
    folder.join(".claude").join("settings.local.json")
}

fn managed_file(environment: &Environment) -> PathBuf {
    environment.managed().join("managed-settings.json")
}

/// Editors say `reverie.features.x`, and the section `reverie` leaves `features.x`; files say it in full.
fn editor_shape(value: &Value) -> Value {
    let section = value.get("reverie").filter(|section| section.is_object()).unwrap_or(value);
    let Some(section) = section.as_object() else { return value.clone() };
    let mut shaped = section.clone();
    if let Some(features) = shaped.remove("features") {
        shaped.insert("reverie".to_owned(), json!({ "features": features }));
    }
    Value::Object(shaped)
}

#[cfg(test)]
mod tests;
