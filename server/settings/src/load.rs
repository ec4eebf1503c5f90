//! From layers to one snapshot: read, check, restrict, merge. Whatever is wrong becomes a diagnostic, and the
//! rest still works.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    Environment, Settings, directories,
    file::read_text,
    json::{self, Document, join},
    local,
    merge::Merged,
    restrict,
};

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
}

/// Something in a layer that was not taken, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// A file, `editor` or `command line`.
    pub source: String,
    /// The file, where there is one to open.
    pub file: Option<PathBuf>,
    /// Dotted; empty when it is about the whole layer.
    pub key: String,
    /// Counted from 1.
    pub line: Option<usize>,
    pub message: String,
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.source)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Who wrote a layer; decides what it may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// The user or the administrator.
    Owner,
    /// The user for this folder; but a hostile checkout can contain such a file too.
    Local,
    /// Whoever can put a file into the repository: the project file and workspace-scoped editor settings.
    Repository,
}

#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) author: Author,
    pub(crate) source: String,
    pub(crate) file: Option<PathBuf>,
    pub(crate) document: Document,
}

impl Layer {
    pub(crate) fn diagnostic(&self, key: &str, message: String) -> Diagnostic {
        Diagnostic {
            source: self.source.clone(),
            file: self.file.clone(),
            key: key.to_owned(),
            line: self.document.lines.get(key).copied(),
            message,
        }
    }
}

impl Settings {
    /// The effective settings. Reads a handful of small files; nothing that is missing is an error.
    pub fn load(sources: &Sources) -> Loaded {
        let mut diagnostics = Vec::new();
        let mut merged = Merged::default();
        merged.add("default", &defaults());
        for mut layer in layers(sources, &mut diagnostics) {
            remove_nulls(&mut layer.document.root);
            remove_invalid(&mut layer, &mut diagnostics);
            let granted = granted(&layer, sources, &mut diagnostics);
            restrict::apply(&mut layer, merged.root(), &granted, &mut diagnostics);
            merged.add(&layer.source, &layer.document.root);
        }
        // Each layer was checked against the same type, so the whole fits it too.
        let mut settings = Settings::deserialize(merged.root()).unwrap_or_default();
        settings.entries = merged.entries();
        Loaded { settings, diagnostics }
    }
}

/// The rules of the local file that count: see [`local`].
fn granted(layer: &Layer, sources: &Sources, diagnostics: &mut Vec<Diagnostic>) -> Vec<String> {
    let Some(folder) = sources.folder.filter(|_| layer.author == Author::Local) else { return Vec::new() };
    local::granted(sources.environment, folder).unwrap_or_else(|error| {
        diagnostics.push(layer.diagnostic("permissions.allow", error.to_string()));
        Vec::new()
    })
}

/// What is listed with the source `default`; the rest of the defaults is "unset".
fn defaults() -> Map<String, Value> {
    let settings = Settings::default();
    let listed = json!({
        "permissions": {"defaultMode": settings.permissions.default_mode.as_str()},
        "maxRounds": settings.max_rounds,
        "autoMemoryEnabled": settings.auto_memory_enabled,
    });
    listed.as_object().cloned().unwrap_or_default()
}

/// Lowest first: "user, project, local, the editor's configuration, command line, managed".
fn layers(sources: &Sources, diagnostics: &mut Vec<Diagnostic>) -> Vec<Layer> {
    let user = directories::config_home(sources.environment).join("settings.json");
    let mut layers = Vec::new();
    layers.extend(read(&user, Author::Owner, diagnostics));
    if let Some(folder) = sources.folder {
        let project = folder.join(".claude").join("settings.json");
        // In the home folder the "project file" is the user's own.
        if directories::canonical(&project) != directories::canonical(&user) {
            layers.extend(read(&project, Author::Repository, diagnostics));
        }
        let local = folder.join(".claude").join("settings.local.json");
        layers.extend(read(&local, Author::Local, diagnostics));
    }
    if let Some(value) = sources.editor {
        layers.extend(given(editor_shape(value), "editor", Author::Repository, diagnostics));
    }
    if let Some(value) = sources.command_line {
        layers.extend(given(value.clone(), "command line", Author::Owner, diagnostics));
    }
    let managed = sources.environment.managed().join("managed-settings.json");
    layers.extend(read(&managed, Author::Owner, diagnostics));
    layers
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

fn given(value: Value, source: &str, author: Author, diagnostics: &mut Vec<Diagnostic>) -> Option<Layer> {
    let mut layer = Layer { author, source: source.to_owned(), file: None, document: Document::default() };
    match value {
        Value::Object(root) => {
            layer.document.root = root;
            return Some(layer);
        }
        Value::Null => {}
        _ => diagnostics.push(layer.diagnostic("", "expected an object".to_owned())),
    }
    None
}

fn read(path: &Path, author: Author, diagnostics: &mut Vec<Diagnostic>) -> Option<Layer> {
    let source = path.to_string_lossy().into_owned();
    let mut layer = Layer { author, source, file: Some(path.to_path_buf()), document: Document::default() };
    let text = match read_text(path) {
        Ok(text) => text?,
        Err(message) => {
            diagnostics.push(layer.diagnostic("", message));
            return None;
        }
    };
    match json::parse(&text) {
        Ok(document) => layer.document = document,
        Err(error) => {
            let mut diagnostic = layer.diagnostic("", format!("not valid JSON: {}", error.message));
            diagnostic.line = Some(error.line);
            diagnostics.push(diagnostic);
            return None;
        }
    }
    Some(layer)
}

/// `null` means "not set": editors send it for every key that has no value.
fn remove_nulls(object: &mut Map<String, Value>) {
    object.retain(|_, value| !value.is_null());
    for value in object.values_mut() {
        if let Value::Object(inner) = value {
            remove_nulls(inner);
        }
    }
}

fn remove_invalid(layer: &mut Layer, diagnostics: &mut Vec<Diagnostic>) {
    if Settings::deserialize(&layer.document.root).is_ok() {
        return;
    }
    let mut root = std::mem::take(&mut layer.document.root);
    let mut found = Vec::new();
    prune_object(&mut root, &mut Vec::new(), &mut found);
    layer.document.root = root;
    diagnostics.extend(found.into_iter().map(|(key, message)| layer.diagnostic(&key, message)));
}

fn prune_object(object: &mut Map<String, Value>, path: &mut Vec<String>, found: &mut Vec<(String, String)>) {
    object.retain(|name, value| {
        path.push(name.clone());
        let keep = prune(value, path, found);
        path.pop();
        keep
    });
}

/// Takes out the smallest wrong pieces. Whether a piece is right is asked of the type itself, by a document
/// that contains nothing else. Says whether anything is left.
fn prune(value: &mut Value, path: &mut Vec<String>, found: &mut Vec<(String, String)>) -> bool {
    let Err(message) = fits(path, value.clone()) else { return true };
    let dotted = path.iter().fold(String::new(), |parent, name| join(&parent, name));
    match value {
        Value::Object(object) if fits(path, json!({})).is_ok() => {
            prune_object(object, path, found);
            true
        }
        Value::Array(items) if fits(path, json!([])).is_ok() => {
            items.retain(|item| match fits(path, json!([item])) {
                Ok(()) => true,
                Err(message) => {
                    found.push((dotted.clone(), format!("{message}; the entry is left out")));
                    false
                }
            });
            true
        }
        _ => {
            found.push((dotted, message));
            false
        }
    }
}

fn fits(path: &[String], value: Value) -> Result<(), String> {
    let document = path.iter().rev().fold(value, |inner, name| json!({ name.as_str(): inner }));
    Settings::deserialize(&document).map(|_| ()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
