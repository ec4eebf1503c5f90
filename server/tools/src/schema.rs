//! A tool's input, from one struct: the schema and the description that the model reads, and the parsing of
//! what it writes, with errors in words it can act on.
//!
//! Unknown fields are ignored: a model that adds one should not lose its call. The schema still forbids them,
//! so that it seldom does.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::tool::ToolFailure;

/// The schema of `Input`: inline, no titles, every object closed, keys in the order of the fields.
pub(crate) fn input_schema<Input: JsonSchema>() -> Value {
    let mut schema = raw_schema::<Input>();
    if let Some(root) = schema.as_object_mut() {
        root.shift_remove("description");
    }
    tidy(&mut schema);
    schema
}

/// The doc comment of `Input`, its lines joined into paragraphs; a line that begins with `- ` stays a line.
pub(crate) fn description<Input: JsonSchema>() -> String {
    match raw_schema::<Input>().get("description") {
        Some(Value::String(text)) => join_lines(text),
        _ => String::new(),
    }
}

/// `input` as an `Input`, or a sentence that says which field is wrong and what belongs there.
pub(crate) fn parse<Input: JsonSchema + DeserializeOwned>(
    tool: &str,
    input: &Value,
) -> Result<Input, ToolFailure> {
    let mut problems = Vec::new();
    check(&input_schema::<Input>(), input, "", &mut problems);
    if !problems.is_empty() {
        return Err(ToolFailure(format!("the input of {tool} is not valid: {}", problems.join("; "))));
    }
    serde_json::from_value(without_nulls(input))
        .map_err(|error| ToolFailure(format!("the input of {tool} is not valid: {error}")))
}

/// An optional field spelled out as null is an absent one, also where its type has no null.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}

fn raw_schema<Input: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    settings.into_generator().into_root_schema_for::<Input>().into()
}

/// Takes away what tells a model nothing: titles, number formats, defaults, `null` beside a type.
fn tidy(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    for noise in ["title", "format", "default"] {
        map.shift_remove(noise);
    }
    if let Some(Value::String(text)) = map.get_mut("description") {
        *text = join_lines(text);
    }
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(variants)) = map.get_mut("enum") {
        variants.retain(|variant| !variant.is_null());
    }
    unwrap_optional(map);
    if map.get("type") == Some(&Value::String("object".to_owned())) && !map.contains_key("properties") {
        // Of a struct without fields; providers want the key.
        map.insert("properties".to_owned(), Value::Object(Map::new()));
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties.values_mut().for_each(tidy);
        map.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    if let Some(items) = map.get_mut("items") {
        tidy(items);
    }
}

/// `anyOf [X, null]`, which an optional struct or enum becomes, is `X`.
fn unwrap_optional(map: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = map.get_mut("anyOf") else { return };
    choices.retain(|choice| choice.get("type") != Some(&Value::String("null".to_owned())));
    if choices.len() != 1 {
        return;
    }
    if let Some(Value::Object(mut only)) = choices.pop() {
        map.shift_remove("anyOf");
        if map.contains_key("description") {
            only.shift_remove("description");
        }
        map.extend(only);
    }
}

fn join_lines(text: &str) -> String {
    let mut joined = String::new();
    for line in text.lines().map(str::trim) {
        let own_line = line.is_empty() || line.starts_with("- ");
        if !joined.is_empty() {
            joined.push(if own_line || joined.ends_with('\n') { '\n' } else { ' ' });
        }
        joined.push_str(line);
    }
    joined
}

/// Compares `value` with the small part of JSON schema that [`tidy`] leaves.
fn check(schema: &Value, value: &Value, at: &str, problems: &mut Vec<String>) {
    let place = if at.is_empty() { "it" } else { at };
    if let Some(Value::String(kind)) = schema.get("type")
        && !is_of(kind, value)
    {
        let wanted = describe_type(kind);
        let found = describe_value(value);
        problems.push(format!("{place} must be {wanted}, but is {found}"));
        return;
    }
    if let Some(Value::Array(choices)) = schema.get("enum")
        && !choices.contains(value)
    {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        problems.push(format!("{place} must be one of {}, but is {value}", choices.join(", ")));
        return;
    }
    if let (Some(minimum), Some(number)) = (schema.get("minimum").and_then(Value::as_f64), value.as_f64())
        && number < minimum
    {
        problems.push(format!("{place} must be at least {minimum}, but is {value}"));
    }
    if let Value::Object(fields) = value {
        check_fields(schema, fields, at, problems);
    }
    if let (Value::Array(items), Some(schema)) = (value, schema.get("items")) {
        for (index, item) in items.iter().enumerate() {
            check(schema, item, &format!("{at}[{index}]"), problems);
        }
    }
}

fn check_fields(schema: &Value, fields: &Map<String, Value>, at: &str, problems: &mut Vec<String>) {
    let path = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    for name in &required {
        if !fields.contains_key(*name) {
            problems.push(format!("{} is missing", path(name)));
        }
    }
    let Some(Value::Object(properties)) = schema.get("properties") else { return };
    for (name, schema) in properties {
        match fields.get(name) {
            // An optional field may also be spelled out as null.
            Some(Value::Null) if !required.contains(&name.as_str()) => {}
            Some(value) => check(schema, value, &path(name), problems),
            None => {}
        }
    }
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn describe_type(kind: &str) -> &str {
    match kind {
        "string" => "a string",
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "array" => "a list",
        "object" => "an object",
        other => other,
    }
}

fn describe_value(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a fraction",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    /// Counts things. It goes on
    /// over two lines.
    ///
    /// - one
    /// - two
    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Sample {
        /// What to
        /// count.
        name: String,
        #[serde(default)]
        limit: Option<u64>,
        kind: Option<Kind>,
        #[serde(rename = "-n", default)]
        numbered: bool,
        parts: Vec<Part>,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Whole,
        HalfWay,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Part {
        size: u32,
    }

    fn check_parse(input: Value, expected: Expect) {
        let words = match parse::<Sample>("Sample", &input) {
            Ok(_) => "fine".to_owned(),
            Err(ToolFailure(words)) => words,
        };
        expected.assert_eq(&words);
    }

    #[test]
    fn the_schema_is_inline_and_closed() {
        expect![[r#"
            {
              "type": "object",
              "properties": {
                "name": {
                  "type": "string",
                  "description": "What to count."
                },
                "limit": {
                  "type": "integer",
                  "minimum": 0
                },
                "kind": {
                  "type": "string",
                  "enum": [
                    "whole",
                    "half_way"
                  ]
                },
                "-n": {
                  "type": "boolean"
                },
                "parts": {
                  "type": "array",
                  "items": {
                    "type": "object",
                    "properties": {
                      "size": {
                        "type": "integer",
                        "minimum": 0
                      }
                    },
                    "required": [
                      "size"
                    ],
                    "additionalProperties": false
                  }
                }
              },
              "required": [
                "name",
                "parts"
              ],
              "additionalProperties": false
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&input_schema::<Sample>()).unwrap());
    }

    #[test]
    fn the_description_is_the_doc_comment() {
        expect![[r#"
            Counts things. It goes on over two lines.

            - one
            - two"#]]
        .assert_eq(&description::<Sample>());
    }

    #[test]
    fn good_inputs_pass_with_unknown_fields_and_nulls() {
        check_parse(json!({"name": "a", "parts": []}), expect!["fine"]);
        check_parse(
            json!({"name": "a", "limit": null, "kind": null, "-n": null, "parts": [{"size": 1}], "mood": "good"}),
            expect!["fine"],
        );
    }

    #[test]
    fn bad_inputs_name_the_field_and_what_belongs_there() {
        check_parse(
            json!("x"),
            expect!["the input of Sample is not valid: it must be an object, but is a string"],
        );
        check_parse(json!({"parts": []}), expect!["the input of Sample is not valid: name is missing"]);
        check_parse(
            json!({"name": 3, "parts": [{"size": "x"}, {"size": -1}, {}]}),
            expect![
                "the input of Sample is not valid: name must be a string, but is a number; parts[0].size must be a whole number, but is a string; parts[1].size must be at least 0, but is -1; parts[2].size is missing"
            ],
        );
        check_parse(
            json!({"name": "a", "parts": [], "limit": 1.5, "kind": "third"}),
            expect![[
                r#"the input of Sample is not valid: limit must be a whole number, but is a fraction; kind must be one of "whole", "half_way", but is "third""#
            ]],
        );
        check_parse(
            json!({"name": "a", "parts": [{"size": 5_000_000_000_u64}]}),
            expect!["the input of Sample is not valid: invalid value: integer `5000000000`, expected u32"],
        );
    }
}
