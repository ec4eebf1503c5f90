//! JSON as people write it: comments, trailing commas and a byte order mark are fine.
//!
//! What is not JSON is blanked, byte for byte, so that positions in the rest stay true.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// A parsed file and the line, counted from 1, on which each key stands.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) root: Map<String, Value>,
    /// By dotted path.
    pub(crate) lines: HashMap<String, usize>,
}

#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// An empty text is an empty object: editors and crashes leave such files.
pub(crate) fn parse(text: &str) -> Result<Document, SyntaxError> {
    let plain = blank_extras(text);
    if plain.trim().is_empty() {
        return Ok(Document::default());
    }
    match serde_json::from_str::<Value>(&plain) {
        Ok(Value::Object(root)) => Ok(Document { root, lines: key_lines(&plain) }),
        Ok(_) => Err(SyntaxError { line: 1, message: "expected an object in braces".to_owned() }),
        Err(error) => Err(SyntaxError { line: error.line(), message: without_place(&error) }),
    }
}

/// serde_json ends its messages with " at line 3 column 7"; the line travels apart.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.split(" at line ").next().unwrap_or(&message).to_owned()
}

/// The text with comments, trailing commas and the byte order mark turned into spaces.
fn blank_extras(text: &str) -> String {
    let mut bytes: Vec<u8> = text.bytes().collect();
    if text.starts_with('\u{feff}') {
        blank(&mut bytes, 0, 3);
    }
    let mut at = 0;
    let mut last_comma = None;
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
                }
            }
            (byte, _) if byte.is_ascii_whitespace() => {}
            _ => last_comma = None,
        }
        at += 1;
    }
    // Only whole comments and single ASCII bytes were blanked, so this is still UTF-8.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
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

/// Walks a text that is known to be JSON and notes where each key of each object stands.
fn key_lines(text: &str) -> HashMap<String, usize> {
    let bytes = text.as_bytes();
    let mut lines = HashMap::new();
    // One entry per open bracket: whether it holds keys, and the path of what is in it.
    let mut open: Vec<(bool, String)> = Vec::new();
    let mut key: Option<String> = None;
    let mut line = 1;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' => line += 1,
            b'{' | b'[' => {
                let inside = open.last().map(|(_, path)| format!("{path}[]")).unwrap_or_default();
                open.push((*byte == b'{', key.take().unwrap_or(inside)));
            }
            b'}' | b']' => {
                open.pop();
            }
            b',' => key = None,
            b'"' => {
                let end = string_end(bytes, at);
                if let (Some((true, parent)), None) = (open.last(), &key) {
                    let name =
                        text.get(at..end).and_then(|quoted| serde_json::from_str::<String>(quoted).ok());
                    let path = join(parent, &name.unwrap_or_default());
                    lines.insert(path.clone(), line);
                    key = Some(path);
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    lines
}

/// `a.b`, or `b` at the top.
pub(crate) fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let shown = match parse(text) {
            Ok(document) => {
                let mut lines: Vec<_> = document.lines.into_iter().collect();
                lines.sort();
                let lines: Vec<String> =
                    lines.into_iter().map(|(key, line)| format!("{key}:{line}")).collect();
                format!("{}\n{}", Value::Object(document.root), lines.join(" "))
            }
            Err(error) => format!("line {}: {}", error.line, error.message),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn comments_trailing_commas_and_the_mark_are_fine() {
        check(
            "\u{feff}// über\n{\n  \"a\": [1, 2, /* x */ ], // y\n  \"b\": {\n    \"c\": \"//, } not ours\",\n  },\n}\n",
            expect![[r#"
                {"a":[1,2],"b":{"c":"//, } not ours"}}
                a:3 b:4 b.c:5"#]],
        );
    }

    #[test]
    fn keys_in_lists_and_values_that_look_like_keys_are_not_mistaken() {
        check(
            "{\"a\": [{\"in\": 1}, \"text\"],\n\"b\": \"a\",\n\"c\\u0041\": 1}",
            expect![[r#"
                {"a":[{"in":1},"text"],"b":"a","cA":1}
                a:1 a[].in:1 b:2 cA:3"#]],
        );
    }

    #[test]
    fn errors_name_their_line() {
        check("{\n  \"a\": 1\n  \"b\": 2\n}", expect!["line 3: expected `,` or `}`"]);
        check("{\n  \"a\": \"torn", expect!["line 2: EOF while parsing a string"]);
        check("{ \"a\": 1 /* open", expect!["line 1: EOF while parsing an object"]);
        check("[1]", expect!["line 1: expected an object in braces"]);
        check("{\"a\": 1,, }", expect!["line 1: trailing comma"]);
    }

    #[test]
    fn nothing_is_an_empty_object() {
        check(" // only a comment\n", expect!["{}\n"]);
    }
}
