//! Takes out of a layer the smallest pieces that do not fit, so that the rest holds.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Layer;
use crate::{Diagnostic, Settings, json::join};

/// `null` means "not set": editors send it for every key that has no value.
pub(super) fn remove_nulls(object: &mut Map<String, Value>) {
    object.retain(|_, value| !value.is_null());
    for value in object.values_mut() {
        if let Value::Object(inner) = value {
            remove_nulls(inner);
        }
    }
}

pub(super) fn remove_invalid(layer: &mut Layer, diagnostics: &mut Vec<Diagnostic>) {
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

/// Whether a piece is right is asked of the type itself, by a document that contains nothing else. Says whether
/// anything is left.
fn prune(value: &mut Value, path: &mut Vec<String>, found: &mut Vec<(String, String)>) -> bool {
    let Err(message) = fits(path, value.clone()) else { return true };
    let dotted = path.iter().fold(String::new(), |parent, name| join(&parent, name));
    match value {
        Value::Object(object) if fits(path, json!({})).is_ok() => {
            prune_object(object, path, found);
            true
        }
        Value::Array(items) if fits(path, json!([])).is_ok() => {
            let mut index = 0;
            items.retain(|item| {
                let fitting = fits(path, json!([item]));
                if let Err(message) = &fitting {
                    found.push((format!("{dotted}[{index}]"), format!("{message}; the entry is left out")));
                }
                index += 1;
                fitting.is_ok()
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
