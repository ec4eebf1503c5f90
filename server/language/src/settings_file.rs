//! Keys of a settings file, from its schema: what they mean, and what may be written. Half-typed JSON is the usual case.

use std::{ops::Range, sync::LazyLock};

use serde_json::Value;

use crate::{Hover, Item, ItemKind, Page};

static SCHEMA: LazyLock<Value> = LazyLock::new(settings::schema);

/// Where an offset is in a JSON text.
struct Place<'t> {
    /// The keys of the objects around it.
    keys: Vec<String>,
    /// The key whose value it is in or behind.
    key: Option<String>,
    /// The string or word at it.
    token: Range<usize>,
    text: &'t str,
    is_quoted: bool,
}

pub(crate) fn hover(page: &Page<'_>, offset: usize) -> Option<Hover> {
    let place = Place::of(page.text, offset);
    if place.key.is_some() || !place.is_quoted {
        return None;
    }
    let name = place.text.get(place.token.clone())?;
    let node = property(node_of(&place.keys)?, name)?;
    let description = node.get("description").or_else(|| resolved(node).get("description"))?.as_str()?;
    let default = node.get("default").filter(|default| !default.is_null() && !default.is_object());
    let default = default.map_or(String::new(), |default| format!("\n\nDefault: `{default}`"));
    Some(Hover { range: place.token, text: format!("{description}{default}") })
}

/// The dotted name of the setting whose key is at an offset.
pub fn setting_at(page: &Page<'_>, offset: usize) -> Option<String> {
    let place = Place::of(page.text, offset);
    let name = place.text.get(place.token.clone()).filter(|_| place.key.is_none() && place.is_quoted)?;
    let mut keys = place.keys;
    keys.push(name.to_owned());
    Some(keys.join("."))
}

pub(crate) fn complete(page: &Page<'_>, offset: usize) -> Vec<Item> {
    let place = Place::of(page.text, offset);
    let Some(node) = node_of(&place.keys) else { return Vec::new() };
    match &place.key {
        Some(key) => property(node, key).map(|node| values(node, &place)).unwrap_or_default(),
        None => keys(node, &place),
    }
}

fn keys(node: &Value, place: &Place<'_>) -> Vec<Item> {
    let properties = resolved(node).get("properties").and_then(Value::as_object);
    let followed_by_colon = place
        .text
        .get(place.token.end..)
        .is_some_and(|rest| rest.trim_start_matches('"').trim_start().starts_with(':'));
    let items = properties.into_iter().flatten().map(|(name, node)| {
        let description = node.get("description").or_else(|| resolved(node).get("description"));
        let text = match (place.is_quoted, followed_by_colon) {
            (true, _) => name.clone(),
            (false, true) => format!("\"{name}\""),
            (false, false) => format!("\"{name}\": "),
        };
        Item {
            label: name.clone(),
            kind: ItemKind::Key,
            detail: None,
            documentation: description.and_then(Value::as_str).map(str::to_owned),
            range: place.token.clone(),
            text,
        }
    });
    items.collect()
}

fn values(node: &Value, place: &Place<'_>) -> Vec<Item> {
    let node = resolved(node);
    let types: Vec<&str> = match node.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut names: Vec<String> = Vec::new();
    if types.contains(&"boolean") && !place.is_quoted {
        names.extend(["true".to_owned(), "false".to_owned()]);
    }
    let listed = node.get("enum").and_then(Value::as_array).into_iter().flatten();
    let constants = node.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let constants = constants.filter_map(|one| one.get("const"));
    for text in listed.chain(constants).filter_map(Value::as_str) {
        names.push(if place.is_quoted { text.to_owned() } else { format!("\"{text}\"") });
    }
    let items = names.into_iter().map(|name| Item {
        label: name.trim_matches('"').to_owned(),
        kind: ItemKind::Value,
        detail: None,
        documentation: None,
        range: place.token.clone(),
        text: name,
    });
    items.collect()
}

/// The schema of the object that these keys lead to.
fn node_of(keys: &[String]) -> Option<&'static Value> {
    keys.iter().try_fold(&*SCHEMA, |node, key| property(node, key))
}

fn property(node: &'static Value, name: &str) -> Option<&'static Value> {
    let node = resolved(node);
    let known = node.get("properties").and_then(|properties| properties.get(name));
    known.or_else(|| node.get("additionalProperties").filter(|any| any.is_object()))
}

fn resolved(node: &Value) -> &Value {
    // A description beside a reference is the field's own; what is below it is not.
    let target = node.get("$ref").and_then(Value::as_str);
    let either = node.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let target = target.or_else(|| either.filter_map(|one| one.get("$ref")).find_map(Value::as_str));
    let pointer = target.and_then(|target| target.strip_prefix('#'));
    pointer.and_then(|pointer| SCHEMA.pointer(pointer)).unwrap_or(node)
}

impl<'t> Place<'t> {
    fn of(text: &'t str, offset: usize) -> Self {
        let offset = text.floor_char_boundary(offset);
        // Each open bracket, with the key it is the value of.
        let mut open: Vec<Option<String>> = Vec::new();
        let mut key: Option<String> = None;
        let mut last: Option<Range<usize>> = None;
        let bytes = text.as_bytes();
        let mut at = 0;
        let mut inside = None;
        while at < offset {
            match bytes.get(at) {
                Some(b'"') => {
                    let end = string_end(bytes, at);
                    // The quote that opens is not the one that closes.
                    let is_closed = end > at + 1 && bytes.get(end.saturating_sub(1)) == Some(&b'"');
                    if end > offset || end == offset && !is_closed {
                        inside = Some(at + 1..end);
                        break;
                    }
                    last = Some(at + 1..end.saturating_sub(1).max(at + 1));
                    at = end;
                    continue;
                }
                Some(b'/') if matches!(bytes.get(at + 1), Some(b'/')) => {
                    at = bytes
                        .get(at..)
                        .and_then(|rest| rest.iter().position(|byte| *byte == b'\n'))
                        .map_or(offset, |end| at + end);
                    continue;
                }
                Some(b'{' | b'[') => {
                    open.push(key.take());
                    last = None;
                }
                Some(b'}' | b']') => {
                    open.pop();
                    (key, last) = (None, None);
                }
                Some(b',') => (key, last) = (None, None),
                Some(b':') => key = last.take().and_then(|range| Some(text.get(range)?.to_owned())),
                _ => {}
            }
            at += 1;
        }
        let keys = open.into_iter().flatten().collect();
        if let Some(range) = inside {
            let end = if bytes.get(range.end.saturating_sub(1)) == Some(&b'"') && range.end > range.start {
                range.end - 1
            } else {
                range.end
            };
            return Self { keys, key, token: range.start..end.max(range.start), text, is_quoted: true };
        }
        let before = text.get(..offset).unwrap_or_default();
        let start = before.rfind(|other: char| !other.is_alphanumeric()).map_or(0, |found| {
            found + before.get(found..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8)
        });
        Self { keys, key, token: start..offset, text, is_quoted: false }
    }
}

/// Behind the closing mark; a string that is not closed ends with its line.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'"' => return at + 1,
            b'\n' | b'\r' => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests;
