//! An open document as an editor has it: text, version, undo. Deliberately naive, so that it is plainly right.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

const UNDO_STEPS: usize = 100;

/// What `character` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16,
}

#[derive(Clone, Debug)]
pub struct Document {
    pub path: PathBuf,
    pub version: i32,
    pub text: String,
    /// What the disk holds, as far as this editor knows.
    pub saved: Option<String>,
    pub(super) undo: Vec<String>,
}

impl Document {
    pub fn is_dirty(&self) -> bool {
        self.saved.as_deref() != Some(self.text.as_str())
    }

    pub(super) fn push_undo(&mut self) {
        if self.undo.len() == UNDO_STEPS {
            self.undo.remove(0);
        }
        self.undo.push(self.text.clone());
    }
}

/// A `file:` URI for an absolute path.
pub fn uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.to_str().expect("test paths are UTF-8").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(byte as char)
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

pub(super) fn path_of(uri: &str) -> PathBuf {
    let encoded = uri.strip_prefix("file://").unwrap_or_else(|| panic!("not a file URI: {uri}")).as_bytes();
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < encoded.len() {
        if encoded[at] == b'%' {
            let digits = std::str::from_utf8(&encoded[at + 1..at + 3]).expect("two hex digits");
            bytes.push(u8::from_str_radix(digits, 16).expect("two hex digits"));
            at += 3;
        } else {
            bytes.push(encoded[at]);
            at += 1;
        }
    }
    PathBuf::from(String::from_utf8(bytes).expect("test paths are UTF-8"))
}

/// The byte offset of a position; one behind the end of its line means the end of the line.
pub fn offset_of(text: &str, line: u32, character: u32, encoding: Encoding) -> usize {
    let (start, end) = line_bounds(text, line).unwrap_or((text.len(), text.len()));
    let mut units = 0;
    for (offset, symbol) in text[start..end].char_indices() {
        if units >= character {
            return start + offset;
        }
        units += units_of(symbol, encoding);
    }
    end
}

/// The line and character of a byte offset on a character boundary.
pub fn position_of(text: &str, offset: usize, encoding: Encoding) -> (u32, u32) {
    let mut line = 0;
    let mut start = 0;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate().take(offset) {
        // A `\r` in front of a `\n` is half of an ending.
        if *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')) {
            line += 1;
            start = at + 1;
        }
    }
    (line, text[start..offset].chars().map(|symbol| units_of(symbol, encoding)).sum())
}

pub fn range_json(text: &str, start: usize, end: usize, encoding: Encoding) -> Value {
    let (start_line, start_character) = position_of(text, start, encoding);
    let (end_line, end_character) = position_of(text, end, encoding);
    json!({
        "start": { "line": start_line, "character": start_character },
        "end": { "line": end_line, "character": end_character },
    })
}

pub(super) fn offsets_of_range(text: &str, range: &Value, encoding: Encoding) -> (usize, usize) {
    let number = |value: &Value| value.as_u64().expect("positions are numbers") as u32;
    let offset = |at: &Value| offset_of(text, number(&at["line"]), number(&at["character"]), encoding);
    (offset(&range["start"]), offset(&range["end"]))
}

fn units_of(symbol: char, encoding: Encoding) -> u32 {
    match encoding {
        Encoding::Utf8 => symbol.len_utf8() as u32,
        Encoding::Utf16 => symbol.len_utf16() as u32,
    }
}

/// Start and end of a line without its ending, which is `\n`, `\r\n` or `\r`.
fn line_bounds(text: &str, line: u32) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut start = 0;
    let mut count = 0;
    loop {
        let end = bytes[start..]
            .iter()
            .position(|b| *b == b'\n' || *b == b'\r')
            .map_or(bytes.len(), |at| start + at);
        if count == line {
            return Some((start, end));
        }
        if end == bytes.len() {
            return None;
        }
        start = if bytes[end..].starts_with(b"\r\n") { end + 2 } else { end + 1 };
        count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_units_and_know_three_line_endings() {
        let text = "a𝄞é\r\nx\ry\nz";
        for (offset, utf8, utf16) in [
            (1, (0, 1), (0, 1)),
            (5, (0, 5), (0, 3)),
            (7, (0, 7), (0, 4)),
            (9, (1, 0), (1, 0)),
            (11, (2, 0), (2, 0)),
            (14, (3, 1), (3, 1)),
        ] {
            assert_eq!(position_of(text, offset, Encoding::Utf8), utf8, "{offset}");
            assert_eq!(position_of(text, offset, Encoding::Utf16), utf16, "{offset}");
            assert_eq!(offset_of(text, utf8.0, utf8.1, Encoding::Utf8), offset);
            assert_eq!(offset_of(text, utf16.0, utf16.1, Encoding::Utf16), offset);
        }
        assert_eq!(offset_of(text, 0, 99, Encoding::Utf16), 7);
        assert_eq!(offset_of(text, 99, 0, Encoding::Utf16), text.len());
    }

    #[test]
    fn uris_come_back_as_their_paths() {
        let path = Path::new("/tmp/a b/ü#?%.rs");
        assert_eq!(uri(path), "file:///tmp/a%20b/%C3%BC%23%3F%25.rs");
        assert_eq!(path_of(&uri(path)), path);
    }
}
