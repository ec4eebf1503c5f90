//! Configuration files of unknown origin: regular, of a sane size, JSON as people write it.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use rustix::fs::{Mode, OFlags};
use serde::Deserialize;

/// Claude Code keeps its history in one of them.
const LARGEST: u64 = 32 * 1024 * 1024;

/// `None` if there is no such file. Errors are words that follow the path.
pub(crate) fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Option<T>, String> {
    // Opening a pipe this way does not wait for its other end.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from) {
        Ok(file) => File::from(file),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    let metadata = file.metadata().map_err(|error| format!("cannot be read: {error}"))?;
    if !metadata.is_file() {
        return Err("is not a regular file".to_owned());
    }
    if metadata.len() > LARGEST {
        return Err(format!("is larger than {} MB", LARGEST / 1024 / 1024));
    }
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text).map_err(|error| format!("cannot be read: {error}"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if text.trim().is_empty() {
        return Ok(None);
    }
    // A file without comments is read as it is; the others are small.
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&without_extras(text)))
        .map(Some)
        .map_err(|error| format!("is not valid: {error}"))
}

/// Comments and trailing commas as blanks, so that positions in the rest stay true.
fn without_extras(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    // Where the last comma is, while nothing but blanks has followed it.
    let mut comma = None;
    while let Some(character) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if character == '"' {
            string_length(rest)
        } else {
            character.len_utf8()
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        match character {
            '/' => plain.extend(piece.chars().map(|each| if each == '\n' { '\n' } else { ' ' })),
            ',' => {
                comma = Some(plain.len());
                plain.push(',');
            }
            _ => {
                if let Some(at) = comma.filter(|_| matches!(character, '}' | ']')) {
                    plain.replace_range(at..=at, " ");
                }
                if !character.is_whitespace() {
                    comma = None;
                }
                plain.push_str(piece);
            }
        }
    }
    plain
}

/// Of the string that the text begins with, quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_blanked() {
        let text = "// head\n{\"a\": \"//no\\\" /*no*/,}\", /* b */ \"c\": [1, 2, // x\n ], }";
        let value: Value = serde_json::from_str(&without_extras(text)).unwrap();
        assert_eq!(value.to_string(), r#"{"a":"//no\" /*no*/,}","c":[1,2]}"#);
        for broken in ["\"open", "/* open", "{\"a\": 1,,}", "\\"] {
            assert!(serde_json::from_str::<Value>(&without_extras(broken)).is_err());
        }
    }
}
