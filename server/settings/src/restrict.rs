//! What a file that came with the repository may not set: it may tighten, never loosen, until the folder is
//! trusted.
//!
//! Works on the parsed tree, by effective path, so that no spelling of a key gets around it.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    PermissionMode,
    load::{Author, Diagnostic, Layer},
};

/// Keys that run programs, move credentials or memory elsewhere, or disguise what a model costs.
const OWNER_ONLY: [&str; 5] = ["autoMemoryDirectory", "apiKeyHelper", "env", "hooks", "models"];
const OWNER_AND_LOCAL: [&str; 1] = ["permissions.allow"];
/// A smaller number is tighter.
const LIMITS: [&str; 3] = ["budgets.turnUsd", "maxCost", "maxRounds"];
const MODE: &str = "permissions.defaultMode";
const MEMORY: &str = "autoMemoryEnabled";

/// Takes out of the layer what its author may not decide; `below` is what the lower layers have made.
pub(crate) fn apply(layer: &mut Layer, below: &Map<String, Value>, diagnostics: &mut Vec<Diagnostic>) {
    // "Any layer may switch it off", and none may switch it on again.
    if get(below, MEMORY) == Some(&Value::Bool(false)) {
        take(&mut layer.document.root, MEMORY);
    }
    if layer.author == Author::Owner {
        return;
    }
    let mut refuse = |layer: &mut Layer, key: &str, message: &str| {
        if take(&mut layer.document.root, key).is_some() {
            diagnostics.push(layer.diagnostic(key, message.to_owned()));
        }
    };
    for key in OWNER_ONLY {
        refuse(layer, key, "is only taken from your own settings, not from files of the workspace");
    }
    let mode = get(&layer.document.root, MODE).and_then(|value| PermissionMode::deserialize(value).ok());
    if mode == Some(PermissionMode::BypassPermissions) {
        refuse(layer, MODE, "only your own settings or the command line can switch permissions off");
    }
    if layer.author == Author::Local {
        return;
    }
    for key in OWNER_AND_LOCAL {
        refuse(
            layer,
            key,
            "a file of the repository cannot allow anything; put the rule into your own settings",
        );
    }
    let mode_below = get(below, MODE).and_then(|value| PermissionMode::deserialize(value).ok());
    if mode > mode_below {
        refuse(layer, MODE, "a file of the repository can only choose a stricter mode");
    }
    for key in LIMITS {
        let limit = |root| get(root, key).and_then(Value::as_f64);
        if let (Some(above), Some(below)) = (limit(&layer.document.root), limit(below))
            && above > below
        {
            refuse(layer, key, "a file of the repository can only lower a limit");
        }
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
