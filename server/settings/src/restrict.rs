//! What a file that may have come with the repository cannot set: it may tighten, never loosen, until the folder
//! is trusted. The local file is not exempt: it is meant to be the user's own, but a checkout can contain one too.
//!
//! Works on the parsed tree, by effective path, so that no spelling of a key gets around it.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    PermissionMode,
    load::{Author, Diagnostic, Layer},
};

/// Keys that run programs, move credentials or memory elsewhere, disguise what a model costs, or speak to the
/// model with the user's own authority.
const OWNER_ONLY: [&str; 7] =
    ["autoMemoryDirectory", "apiKeyHelper", "env", "hooks", "models", "systemPrompt", "appendSystemPrompt"];
const ALLOW: &str = "permissions.allow";
/// A smaller number is tighter.
const LIMITS: [&str; 3] = ["budgets.turnUsd", "maxCost", "maxRounds"];
const MODE: &str = "permissions.defaultMode";
const MEMORY: &str = "autoMemoryEnabled";

/// Rules that a diagnostic names; the file has the rest.
const NAMED: usize = 3;

/// Takes out of the layer what its author may not decide. `below` is what the lower layers have made, `granted`
/// the rules that the user has granted in this folder.
pub(crate) fn apply(
    layer: &mut Layer,
    below: &Map<String, Value>,
    granted: &[String],
    diagnostics: &mut Vec<Diagnostic>,
) {
    // "Any layer may switch it off", and none may switch it on again.
    if get(below, MEMORY) == Some(&Value::Bool(false)) {
        take(&mut layer.document.root, MEMORY);
    }
    match layer.author {
        Author::Owner => return,
        Author::Local => keep_granted(layer, granted, diagnostics),
        Author::Repository => {
            let message =
                "a file of the repository cannot allow anything; put the rule into your own settings";
            refuse(layer, ALLOW, message, diagnostics);
        }
    }
    for key in OWNER_ONLY {
        let message = "is only taken from your own settings, not from files of the workspace";
        refuse(layer, key, message, diagnostics);
    }
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
    for key in LIMITS {
        let limit = |root| get(root, key).and_then(Value::as_f64);
        if let (Some(above), Some(below)) = (limit(&layer.document.root), limit(below))
            && above > below
        {
            refuse(layer, key, "a file of the workspace can only lower a limit", diagnostics);
        }
    }
}

fn keep_granted(layer: &mut Layer, granted: &[String], diagnostics: &mut Vec<Diagnostic>) {
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
    let message = format!(
        "left out, because this file may have come with the repository and you have not granted it on this \
         machine: {names}; answer \"always\" when asked, or put it into your own settings file"
    );
    diagnostics.push(layer.diagnostic(ALLOW, message));
}

fn refuse(layer: &mut Layer, key: &str, message: &str, diagnostics: &mut Vec<Diagnostic>) {
    if take(&mut layer.document.root, key).is_some() {
        diagnostics.push(layer.diagnostic(key, message.to_owned()));
    }
}

fn get<'a>(root: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
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
