//! `reverie debug path --root DIR [--write]`: may a background agent write here?

use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::{Value, json};
use workspace::{Beneath, BeneathError};

use super::each_line;

/// What is written where it is asked for.
const SAMPLE: &[u8] = b"x";

#[derive(Deserialize)]
struct Input {
    path: Option<String>,
    /// For paths that are not UTF-8.
    path_b64: Option<String>,
}

/// What to do with a path that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Judge,
    Write,
}

pub fn run(root: &Path, deed: Deed) -> anyhow::Result<u8> {
    // Not to begin at all is clearer than to refuse every path.
    Beneath::open(root).map_err(|error| anyhow::anyhow!("{}: {error}", root.display()))?;
    each_line(|line| match path(line) {
        Ok(path) => match judge(root, &path, deed) {
            Ok(()) => json!({"allow": true, "reason": "a Markdown file below the memory folder"}),
            Err(error) => refusal(&error.to_string()),
        },
        Err(words) => refusal(&words),
    })
}

/// The folder is opened for each path: it may be another one by now.
fn judge(root: &Path, path: &Path, deed: Deed) -> Result<(), BeneathError> {
    let beneath = Beneath::open(root)?;
    let relative = beneath.check(path)?;
    match deed {
        Deed::Judge => Ok(()),
        Deed::Write => beneath.write(&relative, SAMPLE),
    }
}

/// What names no path cannot be written to.
fn refusal(reason: &str) -> Value {
    json!({"allow": false, "reason": reason})
}

fn path(line: &[u8]) -> Result<PathBuf, String> {
    let input: Input = serde_json::from_slice(line)
        .map_err(|error| format!("expected {{\"path\": …}} or {{\"path_b64\": …}}: {error}"))?;
    match input {
        Input { path: Some(path), path_b64: None } => Ok(path.into()),
        Input { path: None, path_b64: Some(text) } => {
            let bytes = from_base64(&text).ok_or("path_b64 is not base64")?;
            Ok(OsString::from_vec(bytes).into())
        }
        _ => Err("expected one of path and path_b64".to_owned()),
    }
}

/// With or without padding.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for digit in text.trim_end_matches('=').bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_as_text_or_as_bytes() {
        assert_eq!(path(br#"{"path": "/a b"}"#), Ok(PathBuf::from("/a b")));
        assert_eq!(path(br#"{"path_b64": "L2H/Yg=="}"#), Ok(OsString::from_vec(b"/a\xffb".to_vec()).into()));
        for bad in
            ["{}", "1", r#"{"path": "a", "path_b64": "YQ"}"#, r#"{"path_b64": "*"}"#, r#"{"path": "\ud800"}"#]
        {
            assert!(path(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
