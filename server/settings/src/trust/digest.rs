//! Digests of what is trusted.
//!
//! One changed file is no reason to read all others: a file that is the same as before by everything the system says
//! about it is not read again.

use std::{
    collections::HashMap,
    fmt::Write as _,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::seen::Stamp;

/// Bounds what is remembered of files.
const MOST: usize = 4_096;

/// The digest of a value, whatever the order of its keys.
pub(super) fn of_value(value: &Value) -> String {
    let mut digest = Sha256::new();
    feed(&mut digest, value);
    hex(&digest.finalize())
}

pub(super) fn of_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    hex(&digest.finalize())
}

/// The digest of a file's content.
pub(super) fn of_file(path: &Path, metadata: &fs::Metadata) -> io::Result<String> {
    static KNOWN: Mutex<Option<HashMap<PathBuf, (Stamp, String)>>> = Mutex::new(None);
    if !metadata.is_file() {
        return Err(io::Error::other("is not a regular file"));
    }
    let (now, stamp) = (SystemTime::now(), Stamp::of(metadata));
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, digest)) =
        known().as_ref().and_then(|known| known.get(path)).filter(|(known, _)| *known == stamp)
    {
        return Ok(digest.clone());
    }
    let mut file = File::open(path)?.take(metadata.len().saturating_add(1));
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = file.read(&mut buffer)?;
        let Some(read) = buffer.get(..count).filter(|read| !read.is_empty()) else { break };
        digest.update(read);
    }
    let digest = hex(&digest.finalize());
    if stamp.is_settled(now) {
        let mut known = known();
        let known = known.get_or_insert_default();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(path.to_path_buf(), (stamp, digest.clone()));
    }
    Ok(digest)
}

fn feed(digest: &mut Sha256, value: &Value) {
    match value {
        Value::Object(object) => {
            let mut fields: Vec<_> = object.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            digest.update(b"{");
            for (name, value) in fields {
                feed(digest, &Value::from(name.as_str()));
                feed(digest, value);
            }
            digest.update(b"}");
        }
        Value::Array(items) => {
            digest.update(b"[");
            for item in items {
                feed(digest, item);
            }
            digest.update(b"]");
        }
        // JSON's own text of a scalar ends where the next begins: strings are quoted.
        scalar => {
            digest.update(scalar.to_string());
            digest.update(b",");
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_keys_does_not_matter_and_everything_else_does() {
        let one = of_value(&json!({"a": 1, "b": [1, 2], "c": {"d": "x"}}));
        assert_eq!(one, of_value(&json!({"c": {"d": "x"}, "b": [1, 2], "a": 1})));
        for other in [
            json!({"a": 1, "b": [2, 1], "c": {"d": "x"}}),
            json!({"a": "1", "b": [1, 2], "c": {"d": "x"}}),
            json!({"a": 1, "b": [12], "c": {"d": "x"}}),
            json!({"a": 1, "b": [1, 2], "c": {"d": "x", "e": null}}),
            json!([{"a": 1, "b": [1, 2], "c": {"d": "x"}}]),
        ] {
            assert_ne!(one, of_value(&other), "{other}");
        }
    }

    #[test]
    fn a_file_that_is_rewritten_has_another_digest() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("a");
        let mut seen = Vec::new();
        for text in ["one", "two", "one"] {
            fs::write(&path, text).unwrap();
            seen.push(of_file(&path, &fs::metadata(&path).unwrap()).unwrap());
        }
        assert_eq!(seen[0], seen[2]);
        assert_ne!(seen[0], seen[1]);
    }
}
