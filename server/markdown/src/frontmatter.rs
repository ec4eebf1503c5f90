//! What stands between two lines of `---` at the top of a file, read as generously as people write it.
//!
//! What is plain is read without a parser of YAML, and means the same. Else YAML first. What YAML refuses and everybody writes (`description: Use when: x`, `paths: *.rs`, tabs, a key twice) is
//! then read line by line.

mod plain;

use serde_json::{Map, Value};

/// Nothing that describes a file is longer; a parser of YAML is not given more.
const LARGEST: usize = 16 * 1024;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Document<'a> {
    pub fields: Fields,
    pub body: &'a str,
    /// Why the frontmatter was not read, though there is one.
    pub problem: Option<String>,
}

/// The values by their keys, which are compared in lower case.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, Field)>);

#[derive(Debug, PartialEq, Eq)]
enum Field {
    Text(String),
    List(Vec<String>),
}

impl Fields {
    /// A value as one line of text; `None` for one that says nothing.
    pub fn line(&self, key: &str) -> Option<String> {
        let text = match self.get(key)? {
            Field::Text(text) => text.clone(),
            Field::List(items) => items.join(", "),
        };
        Some(one_line(&text)).filter(|line| !line.is_empty())
    }

    /// A value as a list: one text counts as one item, or as several between commas.
    pub fn list(&self, key: &str) -> Vec<String> {
        let items = match self.get(key) {
            None => return Vec::new(),
            Some(Field::List(items)) => items.clone(),
            Some(Field::Text(text)) => between_commas(text),
        };
        items.into_iter().map(|item| one_line(&item)).filter(|item| !item.is_empty()).collect()
    }

    pub fn is_true(&self, key: &str) -> bool {
        matches!(self.get(key), Some(Field::Text(text)) if matches!(&*text.to_lowercase(), "true" | "yes" | "on"))
    }

    /// The last of several.
    fn get(&self, key: &str) -> Option<&Field> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, field)| field)
    }
}

/// Splits a text, without its byte order mark, into frontmatter and body.
pub fn parse(text: &str) -> Document<'_> {
    let Some((front, body)) = split_off(text) else {
        return Document { body: text, ..Document::default() };
    };
    if front.len() > LARGEST {
        let problem = format!("has a frontmatter of more than {} KB, which is not read", LARGEST / 1024);
        return Document { body, problem: Some(problem), ..Document::default() };
    }
    let fields = plain::fields(front).or_else(|| from_yaml(front)).unwrap_or_else(|| from_lines(front));
    Document { fields, body, problem: None }
}

/// `None` without an opening line, or without a closing one: then it is a thematic break in Markdown.
fn split_off(text: &str) -> Option<(&str, &str)> {
    let mut lines = text.split_inclusive('\n');
    let opening = lines.next().filter(|line| line.trim_end() == "---")?;
    let mut end = opening.len();
    for line in lines {
        if line.trim_end() == "---" {
            return Some((text.get(opening.len()..end)?, text.get(end + line.len()..)?));
        }
        end += line.len();
    }
    None
}

fn from_yaml(front: &str) -> Option<Fields> {
    // Anchors are of no use here, and repeating them is how a small text becomes a large one.
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_anchors: 0, max_events: 10_000 },
    };
    let map: Map<String, Value> = serde_saphyr::from_str_with_options(front, options).ok()?;
    let fields = map.into_iter().filter_map(|(key, value)| Some((key.to_lowercase(), from_value(value)?)));
    Some(Fields(fields.collect()))
}

fn from_value(value: Value) -> Option<Field> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(Field::Text(text)),
        Value::Array(items) => {
            let texts = items.into_iter().filter_map(|item| match item {
                Value::String(text) => Some(text),
                Value::Null | Value::Object(_) | Value::Array(_) => None,
                scalar => Some(scalar.to_string()),
            });
            Some(Field::List(texts.collect()))
        }
        scalar => Some(Field::Text(scalar.to_string())),
    }
}

/// `key: value` at the start of a line; indented lines and items of a list belong to the key above them.
fn from_lines(front: &str) -> Fields {
    let mut fields: Vec<(String, Field)> = Vec::new();
    for line in front.lines() {
        let content = line.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let item = content.strip_prefix("- ").map(str::trim);
        let is_indented = line.starts_with([' ', '\t']);
        match (key_and_value(content), fields.last_mut()) {
            (_, Some((_, field))) if is_indented || item.is_some() => grow(field, item, content),
            (Some((key, value)), _) => {
                // `|` and `>` announce the lines below.
                let value = if matches!(value, "|" | ">" | "|-" | ">-" | "|+" | ">+") { "" } else { value };
                fields.push((key.to_lowercase(), Field::Text(unquoted(value).to_owned())));
            }
            (None, _) => {}
        }
    }
    Fields(fields)
}

fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_name = |character: char| character.is_alphanumeric() || character == '-' || character == '_';
    let key = key.trim();
    (!key.is_empty() && key.chars().all(is_name)).then_some((key, value.trim()))
}

fn grow(field: &mut Field, item: Option<&str>, content: &str) {
    if item.is_some() && matches!(field, Field::Text(text) if text.is_empty()) {
        *field = Field::List(Vec::new());
    }
    match (field, item) {
        (Field::List(items), Some(item)) => items.push(unquoted(item).to_owned()),
        (Field::Text(text), _) => {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(content);
        }
        (Field::List(items), None) => {
            if let Some(last) = items.last_mut() {
                last.push(' ');
                last.push_str(content);
            }
        }
    }
}

/// A comma inside braces belongs to a glob: `src/**/*.{ts,tsx}`.
fn between_commas(text: &str) -> Vec<String> {
    let text = text.trim();
    let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let mut items = vec![String::new()];
    let mut depth = 0_u32;
    for character in text.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(item) = items.last_mut() {
            item.push(character);
        }
    }
    items.iter().map(|item| unquoted(item.trim()).to_owned()).collect()
}

fn unquoted(value: &str) -> &str {
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}

/// Blanks and line ends as one blank, without characters that nobody sees: what is listed to the model must be what
/// the user sees in the file.
pub fn one_line(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && !text.contains("  ") {
        return text.trim().to_owned();
    }
    let visible: String = text.chars().filter(|character| !is_hidden(*character)).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_hidden(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
        || (character.is_control() && !character.is_whitespace())
}

#[cfg(test)]
mod tests;
