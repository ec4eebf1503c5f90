//! A time on the clock on the wall, as `"03:30"`.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeOfDay {
    hour: u8,
    minute: u8,
}

impl TimeOfDay {
    pub fn hour(self) -> u8 {
        self.hour
    }

    pub fn minute(self) -> u8 {
        self.minute
    }

    fn parse(text: &str) -> Option<Self> {
        let (hour, minute) = text.split_once(':')?;
        let number = |digits: &str| {
            let plain = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_digit());
            plain.then(|| digits.parse::<u8>().ok()).flatten()
        };
        let (hour, minute) = (number(hour)?, number(minute)?);
        (hour < 24 && minute < 60).then_some(Self { hour, minute })
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:02}:{:02}", self.hour, self.minute)
    }
}

impl Serialize for TimeOfDay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TimeOfDay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("expected a time such as \"03:30\""))
    }
}

impl JsonSchema for TimeOfDay {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "TimeOfDay".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_two_digits_a_colon_and_two_digits() {
        for text in ["00:00", "03:30", "23:59"] {
            assert_eq!(TimeOfDay::parse(text).map(|time| time.to_string()).as_deref(), Some(text));
        }
        for text in ["", "3:30", "24:00", "03:60", "03:3", "+3:30", "03:30:00", "0330", "03: 0", "٠٣:٣٠"]
        {
            assert_eq!(TimeOfDay::parse(text), None, "{text}");
        }
    }
}
