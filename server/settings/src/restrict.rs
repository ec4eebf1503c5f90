//! What may not be set by files that may have come with the repository: "project settings may only tighten" until the
//! folder is trusted, and some things not even then. The local file is not exempt: it is meant to be the user's own,
//! but a checkout can contain one too; nor is the editor's configuration, part of which a repository can hold.
//!
//! Works on the parsed tree, by effective path, so that no spelling of a key gets around it.

mod variables;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    Diagnostic, PermissionMode,
    features::Gate,
    json::join,
    load::{Author, DEFAULT, Layer},
    merge::Merged,
    trust::TrustState,
};
pub(crate) use variables::may_set as may_set_variable;

/// Keys that run programs with the user's secrets, move credentials, memory or requests elsewhere, disguise what a
/// model costs, or replace what the model is told: never taken from the workspace.
const OWNER_ONLY: [&str; 10] = [
    "apiKeyHelper",
    "autoMemoryDirectory",
    "enableAllProjectMcpServers",
    "enabledMcpjsonServers",
    "mcpServers",
    "models",
    "statusLine",
    "systemPrompt",
    "team",
    "webFetch",
];
/// What a folder's own files may set once the user trusts what they say: to run programs, to be asked less, and to
/// speak to the model with the user's authority. Trust is bound to their content; see `trust`.
pub(crate) const TRUSTED: [&str; 6] = [ALLOW, "agents", "appendSystemPrompt", "env", "hooks", "outputStyle"];
pub(crate) const ALLOW: &str = "permissions.allow";
pub(crate) const ENV: &str = "env";
/// A smaller number is tighter.
const LIMITS: [&str; 5] =
    ["budgets.turnUsd", "budgets.dayUsd", "budgets.backgroundDayUsd", "maxCost", "maxRounds"];
/// Walls: the workspace may choose the tighter value only.
const WALLS: [(&str, bool); 2] = [("sandbox.mainBash", true), ("sandbox.network", false)];
const MODE: &str = "permissions.defaultMode";
const MEMORY: &str = "autoMemoryEnabled";
const LANGUAGE: &str = "language";
pub(crate) const FEATURES: &str = "reverie.features";

const ONLY_YOURS: &str = "is only taken from your own settings, not from files of the workspace";

/// Rules that a diagnostic names; the file has the rest.
const NAMED: usize = 3;
/// Long enough for the name of any language, too short to give the model orders.
const LONGEST_LANGUAGE: usize = 40;

/// What the user has said about the folder.
pub(crate) struct Grants<'a> {
    pub(crate) trust: TrustState,
    /// The rules that the user has allowed always, one by one.
    pub(crate) rules: &'a [String],
}

/// Takes out of the layer what its author may not decide. `below` is what the lower layers have made.
pub(crate) fn apply(layer: &mut Layer, below: &Merged, grants: &Grants, diagnostics: &mut Vec<Diagnostic>) {
    // "Any layer may switch it off", and none may switch it on again.
    if get(below.root(), MEMORY) == Some(&Value::Bool(false)) {
        take(&mut layer.document.root, MEMORY);
    }
    if layer.author == Author::Owner {
        return;
    }
    for key in OWNER_ONLY {
        refuse(layer, key, ONLY_YOURS, diagnostics);
    }
    match (layer.author, grants.trust) {
        (Author::Editor, _) => {
            for key in TRUSTED {
                refuse(layer, key, ONLY_YOURS, diagnostics);
            }
        }
        (_, TrustState::Trusted) => variables(layer, diagnostics),
        (author, state) => {
            if author == Author::Local {
                keep_granted(layer, grants.rules, state, diagnostics);
            }
            for key in TRUSTED.into_iter().filter(|key| !(author == Author::Local && *key == ALLOW)) {
                refuse(layer, key, untrusted(state), diagnostics);
            }
        }
    }
    if layer.author == Author::Editor || grants.trust != TrustState::Trusted {
        language(layer, diagnostics);
    }
    mode(layer, below.root(), diagnostics);
    limits(layer, below.root(), diagnostics);
    for (key, tight) in WALLS {
        if get(&layer.document.root, key) == Some(&Value::Bool(!tight)) {
            refuse(layer, key, "a file of the workspace can only make the walls tighter", diagnostics);
        }
    }
    features(layer, below, diagnostics);
}

fn untrusted(state: TrustState) -> &'static str {
    match state {
        TrustState::Changed => {
            "does not count: what this folder would run has changed since you trusted it; trust it again if you do"
        }
        TrustState::Trusted | TrustState::Untrusted => "counts once you trust this folder",
    }
}

/// "Never variables that move the provider, credentials, the loader or the shell", of a trusted folder either.
fn variables(layer: &mut Layer, diagnostics: &mut Vec<Diagnostic>) {
    let names: Vec<String> = get(&layer.document.root, ENV)
        .and_then(Value::as_object)
        .map(|variables| variables.keys().filter(|name| !may_set_variable(name)).cloned().collect())
        .unwrap_or_default();
    for name in names {
        let message = "a file of the workspace cannot set this variable, not even of a trusted folder; put it into your own settings";
        let diagnostic = layer.diagnostic(&join(ENV, &name), message.to_owned());
        if let Some(variables) = layer.document.root.get_mut(ENV).and_then(Value::as_object_mut) {
            variables.shift_remove(&name);
            diagnostics.push(diagnostic);
        }
    }
}

fn keep_granted(layer: &mut Layer, granted: &[String], state: TrustState, diagnostics: &mut Vec<Diagnostic>) {
    let Some(Value::Array(mut rules)) = take(&mut layer.document.root, ALLOW) else { return };
    let mut refused = Vec::new();
    rules.retain(|rule| {
        let known = rule.as_str().is_some_and(|rule| granted.iter().any(|granted| granted == rule));
        if !known {
            refused.push(rule.as_str().unwrap_or_default().to_owned());
        }
        known
    });
    if !rules.is_empty()
        && let Some(permissions) = layer.document.root.get_mut("permissions").and_then(Value::as_object_mut)
    {
        permissions.insert("allow".to_owned(), Value::Array(rules));
    }
    if refused.is_empty() {
        return;
    }
    let mut names = refused.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if let Some(more) = refused.len().checked_sub(NAMED).filter(|more| *more > 0) {
        names.push_str(&format!(" and {more} more"));
    }
    let message = match state {
        TrustState::Changed => untrusted(state),
        TrustState::Trusted | TrustState::Untrusted => {
            "left out, because this file may have come with the repository: trust the folder, or answer \
             \"always\" when asked"
        }
    };
    diagnostics.push(layer.diagnostic(ALLOW, format!("{names}: {message}")));
}

/// It ends up in the system prompt, so before trust it is a name and nothing else.
fn language(layer: &mut Layer, diagnostics: &mut Vec<Diagnostic>) {
    let Some(language) = get(&layer.document.root, LANGUAGE).and_then(Value::as_str) else { return };
    let fits = |letter: char| letter.is_alphabetic() || matches!(letter, ' ' | '-' | '(' | ')');
    if language.chars().count() > LONGEST_LANGUAGE || !language.chars().all(fits) {
        refuse(layer, LANGUAGE, "a file of the workspace can only name a language", diagnostics);
    }
}

fn mode(layer: &mut Layer, below: &Map<String, Value>, diagnostics: &mut Vec<Diagnostic>) {
    let mode = |root| get(root, MODE).and_then(|value| PermissionMode::deserialize(value).ok());
    match mode(&layer.document.root) {
        Some(PermissionMode::BypassPermissions) => {
            let message = "only your own settings or the command line can switch permissions off";
            refuse(layer, MODE, message, diagnostics);
        }
        above if above > mode(below) => {
            refuse(layer, MODE, "a file of the workspace can only choose a stricter mode", diagnostics);
        }
        _ => {}
    }
}

fn limits(layer: &mut Layer, below: &Map<String, Value>, diagnostics: &mut Vec<Diagnostic>) {
    for key in LIMITS {
        let limit = |root| get(root, key).and_then(Value::as_f64);
        if let (Some(above), Some(below)) = (limit(&layer.document.root), limit(below))
            && above > below
        {
            refuse(layer, key, "a file of the workspace can only lower a limit", diagnostics);
        }
    }
}

/// What the user has switched off stays off. A file of the repository can switch features off and nothing else; the
/// editor's configuration is where they are meant to be chosen.
fn features(layer: &mut Layer, below: &Merged, diagnostics: &mut Vec<Diagnostic>) {
    const OFF: Value = Value::Bool(false);
    let Some(Value::Object(features)) = get(&layer.document.root, FEATURES) else { return };
    let set: Vec<(String, Option<&Gate>)> = features
        .iter()
        .filter(|(name, value)| {
            **value != OFF || Gate::named(name).is_some_and(|gate| !gate.kind.can_be_switched_off())
        })
        .map(|(name, _)| (format!("{FEATURES}.{name}"), Gate::named(name)))
        .collect();
    for (key, gate) in set {
        let switched_off = get(below.root(), &key) == Some(&OFF) && !below.is_from(&key, DEFAULT);
        if switched_off {
            refuse(layer, &key, "you have switched this off in your own settings", diagnostics);
        } else if gate.is_some() && layer.author != Author::Editor {
            refuse(layer, &key, "a file of the workspace can only switch features off", diagnostics);
        }
    }
}

fn refuse(layer: &mut Layer, key: &str, message: &str, diagnostics: &mut Vec<Diagnostic>) {
    if take(&mut layer.document.root, key).is_some() {
        diagnostics.push(layer.diagnostic(key, message.to_owned()));
    }
}

pub(crate) fn get<'a>(root: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        None => root.get(path),
        Some((first, rest)) => get(root.get(first)?.as_object()?, rest),
    }
}

fn take(root: &mut Map<String, Value>, path: &str) -> Option<Value> {
    match path.split_once('.') {
        None => root.shift_remove(path),
        Some((first, rest)) => take(root.get_mut(first)?.as_object_mut()?, rest),
    }
}
