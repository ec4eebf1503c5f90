//! The types of the wire, read back from their JSON schema: what the printers print.

use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    Any,
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Literal(String),
    Named(String),
    List(Box<Type>),
    Object(Vec<Field>),
    /// Values by any key.
    Map(Box<Type>),
    Union(Vec<Type>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: String,
    pub kind: Type,
    pub optional: bool,
    pub doc: Option<String>,
}

impl Type {
    pub fn of(schema: &Value) -> Self {
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            return Self::Named(reference.rsplit('/').next().unwrap_or(reference).to_owned());
        }
        if let Some(literal) = schema.get("const").and_then(Value::as_str) {
            return Self::Literal(literal.to_owned());
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(members) = schema.get(key).and_then(Value::as_array) {
                return Self::union(members.iter().map(Self::of).collect());
            }
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            return Self::union(
                words
                    .iter()
                    .map(|word| word.as_str().map_or(Self::Null, |word| Self::Literal(word.to_owned())))
                    .collect(),
            );
        }
        match schema.get("type") {
            Some(Value::String(name)) => Self::plain(name, schema),
            Some(Value::Array(names)) => Self::union(
                names.iter().filter_map(Value::as_str).map(|name| Self::plain(name, schema)).collect(),
            ),
            _ => Self::Any,
        }
    }

    /// Without the `null` that an absent field does not need.
    pub fn without_null(self) -> Self {
        match self {
            Self::Union(members) => {
                Self::union(members.into_iter().filter(|member| *member != Self::Null).collect())
            }
            other => other,
        }
    }

    fn union(mut members: Vec<Self>) -> Self {
        match members.len() {
            1 => members.remove(0),
            _ => Self::Union(members),
        }
    }

    fn plain(name: &str, schema: &Value) -> Self {
        match name {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "array" => Self::List(Box::new(schema.get("items").map_or(Self::Any, Self::of))),
            "object" => Self::object(schema),
            _ => Self::Any,
        }
    }

    fn object(schema: &Value) -> Self {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return match schema.get("additionalProperties") {
                Some(values) if values.is_object() => Self::Map(Box::new(Self::of(values))),
                _ => Self::Object(Vec::new()),
            };
        };
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let fields = properties
            .iter()
            .map(|(name, property)| {
                let optional = !required.contains(&name.as_str());
                let kind = Self::of(property);
                Field {
                    name: name.clone(),
                    kind: if optional { kind.without_null() } else { kind },
                    optional,
                    doc: description(property),
                }
            })
            .collect();
        Self::Object(fields)
    }
}

pub fn description(schema: &Value) -> Option<String> {
    schema.get("description").and_then(Value::as_str).map(|text| text.replace('\n', " "))
}
