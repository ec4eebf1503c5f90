//! Adds to a text that people wrote: an entry to a list, or the keys that lead there, everything else byte for byte as
//! it was.

use std::ops::Range;

use serde_json::{Map, Value, json, ser::PrettyFormatter};

use super::{Blanked, Places, blank_extras, join, parse};

/// Two spaces, unless the text shows another taste.
const INDENT: &str = "  ";

/// The text with `entry` at the end of the list at this path, whose objects and list are made where they are missing.
/// `None` if something else is in the way, or the text is not understood.
pub(crate) fn insert(text: &str, path: &[&str], entry: &str) -> Option<String> {
    let before = parse(text).ok()?;
    let mut expected = before.root.clone();
    push(&mut expected, path, entry)?;
    let changed = if before.places.span("").is_none() {
        // Nothing but comments, if anything.
        let text = text.trim_end();
        let style = Style { newline: newline(text), unit: INDENT };
        let gap = if text.is_empty() { "" } else { style.newline };
        let document = style.written(&nested(path, Value::from(entry)), "");
        format!("{text}{gap}{document}{}", style.newline)
    } else {
        extended(text, &before.places, path, entry)?
    };
    // What people wrote is not risked: whatever is not exactly this is not written.
    (parse(&changed).ok()?.root == expected).then_some(changed)
}

/// The same in values.
fn push(root: &mut Map<String, Value>, path: &[&str], entry: &str) -> Option<()> {
    let (first, rest) = path.split_first()?;
    if rest.is_empty() {
        let list = root.entry(*first).or_insert_with(|| json!([]));
        list.as_array_mut()?.push(Value::from(entry));
        return Some(());
    }
    push(root.entry(*first).or_insert_with(|| json!({})).as_object_mut()?, rest, entry)
}

/// The list at the path, within the objects that lead there.
fn nested(path: &[&str], entry: Value) -> Value {
    path.iter().rev().fold(json!([entry]), |inner, name| json!({ *name: inner }))
}

fn extended(text: &str, places: &Places, path: &[&str], entry: &str) -> Option<String> {
    // As deep as the text goes already.
    let mut found = (places.span("")?, 0, String::new());
    for (depth, name) in path.iter().enumerate() {
        let dotted = join(&found.2, name);
        match places.span(&dotted) {
            Some(span) => found = (span, depth + 1, dotted),
            None => break,
        }
    }
    let (span, depth, _) = found;
    let addition = match path.get(depth..)? {
        [] => Addition { key: None, value: Value::from(entry) },
        [name, rest @ ..] => Addition { key: Some(name), value: nested(rest, Value::from(entry)) },
    };
    Some(within(text, span, depth == 0, &addition))
}

/// An entry of a list, or a key with its value.
struct Addition<'a> {
    key: Option<&'a str>,
    value: Value,
}

/// Puts the addition behind all that the brackets at `span` hold, comments included.
fn within(text: &str, span: Range<usize>, is_root: bool, addition: &Addition) -> String {
    let Blanked { plain, trailing_commas } = blank_extras(text);
    let inside = span.start + 1..span.end.saturating_sub(1);
    let part = |text: &'_ str, range: Range<usize>| text.get(range).unwrap_or_default().to_owned();
    let last = inside.start + part(&plain, inside.clone()).trim_end().len();
    let written = inside.start + part(text, inside.clone()).trim_end().len();
    let is_empty = part(&plain, inside.clone()).trim().is_empty();
    let has_comma = trailing_commas.iter().any(|comma| (last..inside.end).contains(comma));
    let style = Style { newline: newline(text), unit: unit(text) };

    let is_open = part(text, inside.clone()).contains(['\n', '\r']);
    let spread = is_root && is_empty && !is_open;
    let addition = if is_open || spread {
        let indent = match is_empty {
            true => format!("{}{}", indent(text, if spread { span.start } else { inside.end }), style.unit),
            false => indent(text, last).to_owned(),
        };
        format!("{}{indent}{}", style.newline, addition.written(&style, &indent))
    } else {
        let gap = if written == inside.start { "" } else { " " };
        format!("{gap}{}", addition.in_one_line())
    };
    let comma = if is_empty || has_comma { "" } else { "," };
    let comma_after = if has_comma { "," } else { "" };
    let end = if spread { style.newline.to_owned() } else { part(text, written..inside.end) };
    format!(
        "{}{comma}{}{addition}{comma_after}{end}{}",
        part(text, 0..last),
        part(text, last..written),
        part(text, inside.end..text.len())
    )
}

impl Addition<'_> {
    fn written(&self, style: &Style, indent: &str) -> String {
        self.with_key(style.written(&self.value, indent))
    }

    fn in_one_line(&self) -> String {
        self.with_key(self.value.to_string())
    }

    fn with_key(&self, value: String) -> String {
        match self.key {
            Some(key) => format!("{}: {value}", Value::from(key)),
            None => value,
        }
    }
}

/// How the text is laid out.
struct Style<'a> {
    newline: &'a str,
    unit: &'a str,
}

impl Style<'_> {
    fn written(&self, value: &Value, indent: &str) -> String {
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        let pretty = match serde::Serialize::serialize(value, &mut serializer) {
            Ok(()) => String::from_utf8(bytes).unwrap_or_else(|_| value.to_string()),
            Err(_) => value.to_string(),
        };
        // Line ends within texts are escaped, so these are all between them.
        pretty.replace('\n', &format!("{}{indent}", self.newline))
    }
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The indent of the first line that has one.
fn unit(text: &str) -> &str {
    let indents =
        text.lines().map(|line| line.split_at(line.len() - line.trim_start_matches([' ', '\t']).len()));
    let mut wanted =
        indents.filter(|(indent, rest)| !indent.is_empty() && rest.trim_start().starts_with('"'));
    wanted.next().map_or(INDENT, |(indent, _)| indent)
}

/// What the line of this position begins with.
fn indent(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let line = text.get(before.rfind(['\n', '\r']).map_or(0, |end| end + 1)..).unwrap_or_default();
    line.get(..line.len() - line.trim_start_matches([' ', '\t']).len()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
