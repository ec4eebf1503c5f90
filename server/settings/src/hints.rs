//! Keys that nothing reads but that look like ones that something does. Other unknown keys are left in peace: other
//! programs and later versions share the files.

use std::sync::OnceLock;

use serde_json::{Map, Value};

use crate::{Diagnostic, Severity, json::join, load::Layer, schema};

/// Keys of the same family that mean what they say, though nothing here reads them.
const OTHERS: [&str; 3] = ["$schema", "apiKeyHelper", "statusLine"];

pub(crate) fn of(layer: &Layer) -> Vec<Diagnostic> {
    if layer.document.root.is_empty() {
        return Vec::new();
    }
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    let schema = SCHEMA.get_or_init(schema);
    let mut found = Vec::new();
    walk(&layer.document.root, schema, schema, "", &mut found);
    found.into_iter().map(|(key, message)| layer.at_key(&key, Severity::Hint, message)).collect()
}

fn walk(
    object: &Map<String, Value>,
    node: &Value,
    schema: &Value,
    parent: &str,
    found: &mut Vec<(String, String)>,
) {
    let properties = node.get("properties").and_then(Value::as_object);
    for (name, value) in object {
        let path = join(parent, name);
        let known = properties.and_then(|properties| properties.get(name));
        let below = known.or_else(|| node.get("additionalProperties"));
        match (below, properties) {
            (Some(below), _) => {
                if let Value::Object(inner) = value {
                    walk(inner, resolved(below, schema), schema, &path, found);
                }
            }
            (None, Some(properties)) => {
                found.extend(hint(name, properties, schema).map(|message| (path, message)));
            }
            (None, None) => {}
        }
    }
}

fn hint(name: &str, properties: &Map<String, Value>, schema: &Value) -> Option<String> {
    if OTHERS.contains(&name) {
        return None;
    }
    if let Some((first, rest)) = name.split_once('.')
        && is_known(name, properties, schema)
    {
        return Some(format!("is not read as a path; write {{\"{first}\": {{\"{rest}\": …}}}}"));
    }
    let nearest = properties.keys().map(|known| (distance(name, known), known)).min()?;
    let near = if nearest.1.len() <= 5 { 1 } else { 2 };
    let same = plain(name) == plain(nearest.1);
    (same || nearest.0 <= near).then(|| format!("nothing reads this key; did you mean `{}`?", nearest.1))
}

fn is_known(dotted: &str, properties: &Map<String, Value>, schema: &Value) -> bool {
    match dotted.split_once('.') {
        None => properties.contains_key(dotted),
        Some((first, rest)) => properties
            .get(first)
            .and_then(|below| resolved(below, schema).get("properties")?.as_object())
            .is_some_and(|below| is_known(rest, below, schema)),
    }
}

/// Where a value can be written in several ways, the object among them.
fn resolved<'a>(node: &'a Value, schema: &'a Value) -> &'a Value {
    let variants = node.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    if let Some(object) =
        variants.map(|variant| resolved(variant, schema)).find(|variant| variant["type"] == "object")
    {
        return object;
    }
    let pointer = node.get("$ref").and_then(Value::as_str);
    pointer.and_then(|pointer| schema.pointer(pointer.strip_prefix('#')?)).unwrap_or(node)
}

/// Letters and digits only, and small: how people misremember names.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// How many letters to change, add, leave out or swap with their neighbour; capitals count as the same letter.
fn distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.to_lowercase().chars().collect();
    let other: Vec<char> = other.to_lowercase().chars().collect();
    if one.len().abs_diff(other.len()) > 2 {
        return usize::MAX;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut next = vec![at + 1];
        for (column, wanted) in other.iter().enumerate() {
            let cell = |cells: &[usize], column: usize| cells.get(column).copied().unwrap_or(usize::MAX / 2);
            let same = usize::from(letter != wanted);
            let mut cost =
                (cell(&row, column) + same).min(cell(&row, column + 1) + 1).min(cell(&next, column) + 1);
            let swapped = at > 0
                && column > 0
                && one.get(at - 1) == Some(wanted)
                && other.get(column - 1) == Some(letter);
            if swapped {
                cost = cost.min(cell(&before, column - 1) + 1);
            }
            next.push(cost);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_pen_are_near() {
        for (one, other, expected) in [
            ("permisions", "permissions", 1),
            ("premissions", "permissions", 1),
            ("Model", "model", 0),
            ("langauge", "language", 1),
            ("hooks", "model", 4),
            ("a", "permissions", usize::MAX),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }
}
