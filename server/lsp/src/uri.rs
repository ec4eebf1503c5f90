//! `file:` URIs and paths, byte for byte.
//!
//! Own code because a name need not be UTF-8 and because clients differ in what they escape: what one sends
//! unescaped (a space, `ü`) must still arrive.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

/// The path of a `file:` URI on this machine; `None` for any other scheme or host, such as `untitled:`.
pub(crate) fn to_path(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let path = match rest.strip_prefix("//") {
        Some(authority_and_path) => {
            let start = authority_and_path.find('/')?;
            let (host, path) = authority_and_path.split_at(start);
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return None;
            }
            path
        }
        None => rest,
    };
    let path = path.split(['?', '#']).next()?;
    let bytes = percent_decode(path);
    if bytes.first() != Some(&b'/') || bytes.contains(&0) {
        return None;
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

pub(crate) fn from_path(path: &Path) -> String {
    let mut uri = String::from("file://");
    push_encoded(&mut uri, path.as_os_str().as_bytes(), |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/')
    });
    uri
}

/// The same URI with every character escaped that a strict parser would refuse.
pub(crate) fn strict(uri: &str) -> String {
    let mut strict = String::with_capacity(uri.len());
    push_encoded(&mut strict, uri.as_bytes(), |byte| {
        byte.is_ascii_graphic()
            && !matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | b'[' | b']')
    });
    strict
}

fn push_encoded(target: &mut String, bytes: &[u8], plain: impl Fn(u8) -> bool) {
    for &byte in bytes {
        if plain(byte) {
            target.push(char::from(byte));
        } else {
            target.push('%');
            for nibble in [byte >> 4, byte & 0xF] {
                let digit = char::from_digit(u32::from(nibble), 16).unwrap_or('0');
                target.push(digit.to_ascii_uppercase());
            }
        }
    }
}

/// A `%` without two hexadecimal digits after it stands for itself.
fn percent_decode(text: &str) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        let escaped = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                decoded.push(high << 4 | low);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => decoded.push(first),
        }
    }
    decoded
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_clients_send() {
        let cases = [
            ("file:///home/ada/a%20b.rs", Some("/home/ada/a b.rs")),
            ("file:///home/ada/a b.rs", Some("/home/ada/a b.rs")),
            ("file:///home/ada/%C3%BC.rs", Some("/home/ada/ü.rs")),
            ("file:///home/ada/ü.rs", Some("/home/ada/ü.rs")),
            ("file://localhost/x", Some("/x")),
            ("FILE:/x", Some("/x")),
            ("file:///c%3A/x", Some("/c:/x")),
            ("file:///100%/x%2", Some("/100%/x%2")),
            ("file:///x#L3", Some("/x")),
            ("file://elsewhere/x", None),
            ("file:///a%00b", None),
            ("file:relative", None),
            ("file://", None),
            ("untitled:Untitled-1", None),
            ("vscode-notebook-cell:/x#1", None),
            ("no scheme", None),
        ];
        for (uri, path) in cases {
            assert_eq!(to_path(uri).as_deref(), path.map(Path::new), "{uri}");
        }
    }

    #[test]
    fn a_name_that_is_not_utf8_survives() {
        let path = PathBuf::from(OsString::from_vec(b"/tmp/\xFF\n%?#".to_vec()));
        let uri = from_path(&path);
        assert_eq!(uri, "file:///tmp/%FF%0A%25%3F%23");
        assert_eq!(to_path(&uri), Some(path));
    }

    #[test]
    fn the_strict_form_means_the_same() {
        assert_eq!(strict("file:///a b/ü%20[x]"), "file:///a%20b/%C3%BC%20%5Bx%5D");
        assert_eq!(strict("file:///plain/c%3A?q=1#f"), "file:///plain/c%3A?q=1#f");
    }
}
