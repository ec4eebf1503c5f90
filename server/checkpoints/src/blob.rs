//! The name of a content: its SHA-256. Where the bytes lie is the store's.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// Two contents with the same name are the same bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Blob([u8; 32]);

/// What was read is not the hexadecimal form of a SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a blob")]
pub struct NotABlob;

impl Blob {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Blob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&to_hex(&self.0))
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.8}…", to_hex(&self.0))
    }
}

impl FromStr for Blob {
    type Err = NotABlob;

    fn from_str(text: &str) -> Result<Self, NotABlob> {
        let bytes = from_hex(text).ok_or(NotABlob)?;
        Ok(Self(bytes.try_into().map_err(|_| NotABlob)?))
    }
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Lower case only: one content has one name.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().iter().map(|digit| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    });
    let digits: Vec<u8> = digits.collect::<Option<_>>()?;
    digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(high << 4 | low),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_survives_its_text_form() {
        let blob = Blob::of(b"hello world");
        assert_eq!(blob.to_string(), "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9");
        assert_eq!(blob.to_string().parse(), Ok(blob));
    }

    #[test]
    fn other_texts_are_no_names() {
        for text in ["", "b9", "../../../etc/passwd", &"B".repeat(64), &"b".repeat(63)] {
            assert_eq!(text.parse::<Blob>(), Err(NotABlob), "{text}");
        }
    }
}
