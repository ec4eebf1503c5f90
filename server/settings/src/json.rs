//! JSON as people write it: comments, trailing commas and a byte order mark are fine.
//!
//! What is not JSON is blanked, byte for byte, so that positions in the rest stay true.

mod insert;
mod places;

use std::ops::Range;

use serde_json::{Map, Value};

pub(crate) use insert::insert;
pub(crate) use places::Places;

/// A parsed file and where everything in it stands.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) root: Map<String, Value>,
    pub(crate) places: Places,
    /// As it was written.
    pub(crate) text: String,
}

#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) place: Range<usize>,
    pub(crate) message: String,
}

/// An empty text is an empty object: editors and crashes leave such files.
pub(crate) fn parse(text: &str) -> Result<Document, SyntaxError> {
    let plain = blank_extras(text).plain;
    if plain.trim().is_empty() {
        return Ok(Document { text: text.to_owned(), ..Document::default() });
    }
    match serde_json::from_str::<Value>(&plain) {
        Ok(Value::Object(root)) => Ok(Document { root, places: Places::of(&plain), text: text.to_owned() }),
        Ok(_) => {
            let start = plain.len() - plain.trim_start().len();
            let place = start..plain.trim_end().len();
            Err(SyntaxError { place, message: "expected an object in braces".to_owned() })
        }
        Err(error) => Err(SyntaxError { place: place_of(&error, &plain), message: without_place(&error) }),
    }
}

/// serde_json ends its messages with " at line 3 column 7"; the place travels apart.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.split(" at line ").next().unwrap_or(&message).to_owned()
}

/// The character that could not be understood, or the last one before the end of a line or text that came too early.
/// serde_json counts lines and bytes from 1, and calls a line end byte 0 of the next line.
fn place_of(error: &serde_json::Error, text: &str) -> Range<usize> {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let at = (before + error.column()).saturating_sub(1).min(text.len());
    let start = text.floor_char_boundary(at);
    match text.get(start..).and_then(|rest| rest.chars().next()) {
        Some(character) if !matches!(character, '\n' | '\r') => start..start + character.len_utf8(),
        _ => text.floor_char_boundary(start.saturating_sub(1))..start,
    }
}

/// A text with comments, trailing commas and the byte order mark turned into spaces.
struct Blanked {
    plain: String,
    trailing_commas: Vec<usize>,
}

fn blank_extras(text: &str) -> Blanked {
    let mut bytes: Vec<u8> = text.bytes().collect();
    if text.starts_with('\u{feff}') {
        blank(&mut bytes, 0, 3);
    }
    let mut at = 0;
    let mut last_comma = None;
    let mut trailing_commas = Vec::new();
    while let Some(&byte) = bytes.get(at) {
        match (byte, bytes.get(at + 1)) {
            (b'"', _) => {
                at = string_end(&bytes, at);
                last_comma = None;
                continue;
            }
            (b'/', Some(b'/')) => {
                let end = find(&bytes, at, b"\n").unwrap_or(bytes.len());
                blank(&mut bytes, at, end);
                at = end;
                continue;
            }
            (b'/', Some(b'*')) => {
                let end = find(&bytes, at + 2, b"*/").map_or(bytes.len(), |start| start + 2);
                blank(&mut bytes, at, end);
                at = end;
                continue;
            }
            (b',', _) => last_comma = Some(at),
            (b'}' | b']', _) => {
                if let Some(comma) = last_comma.take() {
                    blank(&mut bytes, comma, comma + 1);
                    trailing_commas.push(comma);
                }
            }
            (byte, _) if byte.is_ascii_whitespace() => {}
            _ => last_comma = None,
        }
        at += 1;
    }
    // Only whole comments and single ASCII bytes were blanked, so this is still UTF-8.
    let plain = String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned());
    Blanked { plain, trailing_commas }
}

fn blank(bytes: &mut [u8], from: usize, to: usize) {
    for byte in bytes.iter_mut().take(to).skip(from) {
        if *byte != b'\n' && *byte != b'\r' {
            *byte = b' ';
        }
    }
}

fn find(bytes: &[u8], from: usize, needle: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(needle.len()).position(|window| window == needle).map(|offset| from + offset)
}

/// The position after the string that starts at `start`; the end of the text if it never ends.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// `a.b`, or `b` at the top. A name with a dot in it is quoted, so that it is not taken for a path.
pub(crate) fn join(parent: &str, name: &str) -> String {
    let quote = if name.contains('.') { "\"" } else { "" };
    let dot = if parent.is_empty() { "" } else { "." };
    format!("{parent}{dot}{quote}{name}{quote}")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::Place;

    /// The value, then each of the paths with what stands at its place.
    fn check(text: &str, paths: &[&str], expected: Expect) {
        let shown = match parse(text) {
            Ok(document) => {
                let mut shown = Value::Object(document.root).to_string();
                for path in paths {
                    let range = document.places.value(path, text).unwrap();
                    shown.push_str(&format!("\n{path}: {}", &text[range]));
                }
                for (path, range) in document.places.duplicates {
                    shown.push_str(&format!("\ntwice: {path} at byte {}", range.start));
                }
                shown
            }
            Err(error) => {
                let Place { line, start, end, .. } = Place::of(text, &error.place);
                format!("{line}:{start}-{end}: {}", error.message)
            }
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn comments_trailing_commas_and_the_mark_are_fine() {
        check(
            "\u{feff}// über\n{\n  \"a\": [1, 2, /* x */ ], // y\n  \"b\": {\n    \"c\": \"//, } not ours\",\n  },\n}\n",
            &["a", "a[1]", "b", "b.c"],
            expect![[r#"
                {"a":[1,2],"b":{"c":"//, } not ours"}}
                a: [1, 2, /* x */ ]
                a[1]: 2
                b: "b"
                b.c: "//, } not ours""#]],
        );
    }

    #[test]
    fn keys_in_lists_and_values_that_look_like_keys_are_not_mistaken() {
        check(
            "{\"a\": [{\"in\": 1}, \"text\", [true]],\n\"b\": \"a\",\n\"c\\u0041\": -1.5e3}",
            &["a[0].in", "a[1]", "a[2][0]", "b", "cA"],
            expect![[r#"
                {"a":[{"in":1},"text",[true]],"b":"a","cA":-1500.0}
                a[0].in: 1
                a[1]: "text"
                a[2][0]: true
                b: "a"
                cA: -1.5e3"#]],
        );
    }

    #[test]
    fn of_keys_that_stand_twice_the_last_counts() {
        check(
            r#"{"a": {"b": 1}, "c": [{"d": 1}, {"d": 2}], "a": {"e": 1, "e": 2}}"#,
            &["a", "a.e", "c[1].d"],
            expect![[r#"
                {"a":{"e":2},"c":[{"d":1},{"d":2}]}
                a: {"e": 1, "e": 2}
                a.e: 2
                c[1].d: 2
                twice: a at byte 43
                twice: a.e at byte 57"#]],
        );
    }

    #[test]
    fn errors_name_their_place() {
        check("{\n  \"a\": 1\n  \"b\": 2\n}", &[], expect!["2:2-3: expected `,` or `}`"]);
        check("{\n  \"a\": \"torn", &[], expect!["1:11-12: EOF while parsing a string"]);
        check("{ \"a\": 1 /* open", &[], expect!["0:15-16: EOF while parsing an object"]);
        check(" [1]\n", &[], expect!["0:1-4: expected an object in braces"]);
        check("{\"a\": 1,, }", &[], expect!["0:10-11: trailing comma"]);
        check(
            "{\n  \"a\": \"torn\n}",
            &[],
            expect!["1:11-12: control character (\\u0000-\\u001F) found while parsing a string"],
        );
        check("{\"ü🦀\": x}", &[], expect!["0:8-9: expected value"]);
    }

    #[test]
    fn nothing_is_an_empty_object() {
        check(" // only a comment\n", &[], expect!["{}"]);
    }
}
