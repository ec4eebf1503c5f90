//! Layers laid over each other: objects merge, rule lists join, the rest is replaced; each leaf knows by whom.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{Entry, json::join, restrict::FEATURES};

/// "Lists of rules join": nothing that one layer forbids is forgotten because another forbids something else. So do the
/// lists of hooks for an event, which may be there to forbid.
const JOINED: [&str; 5] = [
    "permissions.allow",
    "permissions.ask",
    "permissions.deny",
    "disabledMcpjsonServers",
    "webFetch.allowPrivate",
];

#[derive(Debug, Default)]
pub(crate) struct Merged {
    root: Map<String, Value>,
    /// By dotted path of the leaf, in the order of the layers.
    sources: BTreeMap<String, Vec<String>>,
}

impl Merged {
    pub(crate) fn root(&self) -> &Map<String, Value> {
        &self.root
    }

    /// Whether the value of the key comes from this layer alone.
    pub(crate) fn is_from(&self, key: &str, source: &str) -> bool {
        self.sources.get(key).is_some_and(|sources| sources.iter().eq([source]))
    }

    pub(crate) fn add(&mut self, source: &str, layer: &Map<String, Value>) {
        merge(&mut self.root, layer, "", source, &mut self.sources);
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        list(&self.root, "", Shown::Plain, &self.sources, &mut entries);
        entries.sort_by(|one, other| one.key.cmp(&other.key));
        entries
    }
}

fn merge(
    target: &mut Map<String, Value>,
    layer: &Map<String, Value>,
    parent: &str,
    source: &str,
    sources: &mut BTreeMap<String, Vec<String>>,
) {
    for (name, value) in layer {
        let path = join(parent, name);
        match (target.get_mut(name), value) {
            (Some(Value::Object(below)), Value::Object(above)) if !is_whole(&path) => {
                merge(below, above, &path, source, sources);
            }
            (Some(Value::Array(below)), Value::Array(above)) if is_joined(&path) => {
                let before = below.len();
                for rule in above {
                    if !below.contains(rule) {
                        below.push(rule.clone());
                    }
                }
                if below.len() > before {
                    sources.entry(path).or_default().push(source.to_owned());
                }
            }
            // A switch that is on with parameters, and switched on again, keeps them.
            (Some(Value::Object(_)), Value::Bool(true)) if path.starts_with(FEATURES) => {}
            (_, Value::Object(above)) if !above.is_empty() => {
                let mut fresh = Map::new();
                forget(sources, &path);
                merge(&mut fresh, above, &path, source, sources);
                target.insert(name.clone(), Value::Object(fresh));
            }
            _ => {
                forget(sources, &path);
                sources.insert(path, vec![source.to_owned()]);
                target.insert(name.clone(), value.clone());
            }
        }
    }
}

/// A server or an agent is one thing: parts of two would make a third that nobody wrote.
fn is_whole(path: &str) -> bool {
    path.starts_with("mcpServers.") || path.starts_with("agents.")
}

fn is_joined(path: &str) -> bool {
    JOINED.contains(&path) || path.strip_prefix("hooks.").is_some_and(|event| !event.contains('.'))
}

/// A value that is replaced takes along what was known about its parts.
fn forget(sources: &mut BTreeMap<String, Vec<String>>, path: &str) {
    let below = format!("{path}.");
    sources.retain(|key, _| key != path && !key.starts_with(&below));
}

fn list(
    object: &Map<String, Value>,
    parent: &str,
    how: Shown,
    sources: &BTreeMap<String, Vec<String>>,
    entries: &mut Vec<Entry>,
) {
    for (name, value) in object {
        let key = join(parent, name);
        let how = how.below(name);
        match value {
            Value::Object(inner) if !inner.is_empty() => list(inner, &key, how, sources, entries),
            _ => {
                let source = sources.get(&key).map(|names| names.join(", ")).unwrap_or_default();
                entries.push(Entry { value: how.value(value), key, source });
            }
        }
    }
}

/// Entries go to views and logs: "secrets: never logged".
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Plain,
    Masked,
}

impl Shown {
    /// Environment variables and headers may hold anything, by any name.
    fn below(self, name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let secret = ["key", "token", "secret", "password", "credential", "authorization"];
        let masked =
            matches!(name.as_str(), "env" | "headers") || secret.iter().any(|word| name.contains(word));
        if masked { Self::Masked } else { self }
    }

    fn value(self, value: &Value) -> Value {
        match value {
            Value::String(_) if self == Self::Masked => Value::from("********"),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(inner) => {
                let shown = inner.iter().map(|(name, value)| (name.clone(), self.below(name).value(value)));
                Value::Object(shown.collect())
            }
            _ => value.clone(),
        }
    }
}
