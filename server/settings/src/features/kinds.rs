//! What a switch can be set to. "Each takes `true`/`false` or, where parameters are listed, an object."

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::{Dream, MicrocompactTime};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// On or off.
    Switch,
    /// On or off, or on with an object of parameters.
    Parameters,
    /// A number from 1 on.
    Count,
    /// Numbers from 1 on, by the names of tools.
    Limits,
    /// A model, or another way to choose.
    Model,
}

impl Kind {
    /// For documents.
    pub fn takes(self) -> &'static str {
        match self {
            Self::Switch => "`true`, `false`",
            Self::Parameters => "`true`, `false`, an object",
            Self::Count => "a number; `false` is 1",
            Self::Limits => "an object; `false` is none",
            Self::Model => "a text; `true` is `\"auto\"`, `false` `\"local\"`",
        }
    }

    /// Whether `false` means less of something, whatever was said before.
    pub(crate) fn can_be_switched_off(self) -> bool {
        match self {
            Self::Switch | Self::Parameters => true,
            Self::Count | Self::Limits | Self::Model => false,
        }
    }
}

/// Who picks the memories that fit a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RecallModel {
    /// The small model, and the local ranker where there is none.
    #[default]
    Auto,
    /// The local ranker.
    Local,
    Model(String),
}

/// A type of the table.
pub(super) trait Feature: Sized {
    const KIND: Kind;

    fn read(value: &Value) -> Result<Self, String>;
    /// As a file would write it.
    fn shown(&self) -> Value;
    fn off() -> Self;
    fn schema(generator: &mut SchemaGenerator) -> Schema;
}

impl Feature for bool {
    const KIND: Kind = Kind::Switch;

    fn read(value: &Value) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| format!("expected true or false, not {}", told(value)))
    }

    fn shown(&self) -> Value {
        Value::Bool(*self)
    }

    fn off() -> Self {
        false
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "boolean" })
    }
}

/// The parameters of a switch, each of which can be left out.
pub(super) trait Parameters: Default + Serialize + DeserializeOwned + JsonSchema {}

impl Parameters for Dream {}
impl Parameters for MicrocompactTime {}

impl<T: Parameters> Feature for Option<T> {
    const KIND: Kind = Kind::Parameters;

    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Bool(false) => Ok(None),
            Value::Bool(true) => Ok(Some(T::default())),
            Value::Object(_) => T::deserialize(value).map(Some).map_err(|error| error.to_string()),
            _ => Err(format!("expected true, false or an object, not {}", told(value))),
        }
    }

    fn shown(&self) -> Value {
        self.as_ref().map_or(Value::Bool(false), |parameters| json!(parameters))
    }

    fn off() -> Self {
        None
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        let parameters = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [{ "type": "boolean" }, parameters] })
    }
}

impl Feature for u32 {
    const KIND: Kind = Kind::Count;

    fn read(value: &Value) -> Result<Self, String> {
        if value.is_boolean() {
            return Ok(Self::off());
        }
        let count = value.as_u64().and_then(|count| Self::try_from(count).ok()).filter(|count| *count > 0);
        count.ok_or_else(|| format!("expected a number from 1 on, not {}", told(value)))
    }

    fn shown(&self) -> Value {
        Value::from(*self)
    }

    fn off() -> Self {
        1
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "boolean" }, { "type": "integer", "minimum": 1 }] })
    }
}

impl Feature for BTreeMap<String, u64> {
    const KIND: Kind = Kind::Limits;

    fn read(value: &Value) -> Result<Self, String> {
        let fields = match value {
            Value::Bool(_) => return Ok(Self::off()),
            Value::Object(fields) => fields,
            _ => return Err(format!("expected an object of numbers, not {}", told(value))),
        };
        let limit = |(tool, value): (&String, &Value)| match value.as_u64().filter(|limit| *limit > 0) {
            Some(limit) => Ok((tool.clone(), limit)),
            None => Err(format!("expected a number from 1 on, not {}", told(value))),
        };
        fields.iter().map(limit).collect()
    }

    fn shown(&self) -> Value {
        let limits: Map<String, Value> =
            self.iter().map(|(tool, limit)| (tool.clone(), Value::from(*limit))).collect();
        Value::Object(limits)
    }

    fn off() -> Self {
        Self::new()
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        let limit = json!({ "type": "integer", "minimum": 1 });
        json_schema!({ "anyOf": [{ "type": "boolean" }, { "type": "object", "additionalProperties": limit }] })
    }
}

impl Feature for RecallModel {
    const KIND: Kind = Kind::Model;

    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Bool(true) => Ok(Self::Auto),
            Value::Bool(false) => Ok(Self::Local),
            Value::String(name) => match name.trim() {
                "" => Err("expected \"auto\", \"local\" or a model".to_owned()),
                "auto" => Ok(Self::Auto),
                "local" => Ok(Self::Local),
                name => Ok(Self::Model(name.to_owned())),
            },
            _ => Err(format!("expected \"auto\", \"local\" or a model, not {}", told(value))),
        }
    }

    fn shown(&self) -> Value {
        Value::from(match self {
            Self::Auto => "auto",
            Self::Local => "local",
            Self::Model(name) => name,
        })
    }

    fn off() -> Self {
        Self::Local
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["boolean", "string"] })
    }
}

/// A value, short enough for a line.
fn told(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if text.chars().count() > 40 => "a text".to_owned(),
        _ => value.to_string(),
    }
}
