//! What a server says about its tools, made fit to be offered: named, shortened, checked. One tool that cannot be
//! offered is left out with a reason; it must not cost the others, or every request of a session.

use serde_json::{Map, Value, json};

use crate::{names, text};

const MOST_TOOLS: usize = 256;
const LONGEST_DESCRIPTION: usize = 2_048;
const LARGEST_SCHEMA: usize = 32 * 1024;

#[derive(Clone, Debug, PartialEq)]
pub struct McpTool {
    /// The server's name as configured.
    pub server: String,
    /// `mcp__server__tool`.
    pub name: String,
    pub description: String,
    /// An object schema, keys in the server's order.
    pub input_schema: Value,
    /// What the server says of itself.
    pub read_only: bool,
}

/// A tool with the name that its server knows it by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offered {
    pub(crate) tool: McpTool,
    pub(crate) original: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Listing {
    /// In the order of their names.
    pub(crate) offered: Vec<Offered>,
    pub(crate) problems: Vec<String>,
}

impl Listing {
    /// `listed` is as the server sent it, all pages together.
    pub(crate) fn new(server: &str, part: &str, listed: Vec<Value>) -> Self {
        let mut listing = Self::default();
        let mut named: Vec<(String, Value)> = Vec::new();
        for tool in listed {
            match tool.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) {
                Some(name) if named.iter().any(|(other, _)| other == name) => {
                    listing.leave_out(server, name, "another has the same name");
                }
                Some(name) => named.push((name.to_owned(), tool)),
                None => listing.leave_out(server, "", "it has no name"),
            }
        }
        named.sort_by(|(one, _), (other, _)| one.cmp(other));
        if named.len() > MOST_TOOLS {
            let count = named.len();
            listing
                .problems
                .push(format!("{server} has {count} tools; only the first {MOST_TOOLS} are offered"));
            named.truncate(MOST_TOOLS);
        }
        let originals: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
        let full_names = names::tool_names(part, &originals);
        for ((original, tool), name) in named.into_iter().zip(full_names) {
            match offer(server, name, &tool) {
                Ok(tool) => listing.offered.push(Offered { tool, original }),
                Err(why) => listing.leave_out(server, &original, &why),
            }
        }
        listing.offered.sort_by(|one, other| one.tool.name.cmp(&other.tool.name));
        listing
    }

    fn leave_out(&mut self, server: &str, tool: &str, why: &str) {
        let tool = text::one_line(tool, 64);
        self.problems.push(format!("the tool {tool:?} of {server} is left out: {why}"));
    }
}

fn offer(server: &str, name: String, tool: &Value) -> Result<McpTool, String> {
    let words = ["description", "title"].iter().find_map(|key| tool.get(key)?.as_str());
    let mut description =
        text::shortened(text::visible(words.unwrap_or_default()).trim(), LONGEST_DESCRIPTION);
    let (input_schema, conditions) = schema(tool.get("inputSchema"))?;
    if let Some(conditions) = conditions {
        description.push_str(&format!("\n\nThe input must also match this JSON schema: {conditions}"));
    }
    let hint = tool.get("annotations").and_then(|annotations| annotations.get("readOnlyHint"));
    let read_only = hint == Some(&Value::Bool(true));
    Ok(McpTool { server: server.to_owned(), name, description, input_schema, read_only })
}

/// The schema, and what had to be taken out of it because providers refuse it at the top: "input_schema does not
/// support oneOf, allOf, or anyOf at the top level".
fn schema(listed: Option<&Value>) -> Result<(Value, Option<String>), String> {
    let mut fields: Map<String, Value> = match listed {
        Some(Value::Object(fields)) => fields.clone(),
        _ => return Err("its schema is not an object".to_owned()),
    };
    let size = Value::Object(fields.clone()).to_string().len();
    if size > LARGEST_SCHEMA {
        return Err(format!("its schema is larger than {} KB", LARGEST_SCHEMA / 1024));
    }
    match fields.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None => {
            fields.insert("type".to_owned(), json!("object"));
        }
        Some(_) => return Err("its input is not an object".to_owned()),
    }
    if let Some(key) = unusable_property(&fields) {
        return Err(format!("its input has a field that models cannot be given: {key:?}"));
    }
    let taken_out: Map<String, Value> =
        ["oneOf", "allOf", "anyOf"].iter().filter_map(|key| fields.shift_remove_entry(*key)).collect();
    let conditions = (!taken_out.is_empty()).then(|| text::shortened(&json!(taken_out).to_string(), 2_000));
    let mut schema = Value::Object(fields);
    text::make_words_visible(&mut schema);
    Ok((schema, conditions))
}

/// "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'", or the whole request is refused.
fn unusable_property(schema: &Map<String, Value>) -> Option<&str> {
    let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-');
    let usable = |key: &str| (1..=64).contains(&key.len()) && key.chars().all(allowed);
    let keys = schema.get("properties")?.as_object()?.keys();
    keys.map(String::as_str).find(|key| !usable(key))
}

#[cfg(test)]
mod tests;
