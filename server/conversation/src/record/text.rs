//! Broken text made readable: ids that are no UUIDs, bytes that are no UTF-8, halves of surrogate pairs.

use uuid::Uuid;

/// A stable uuid for an id that is none, so that the links between records hold.
pub(crate) fn identity(bytes: &[u8]) -> Uuid {
    // FNV-1a, 128 bits.
    let hash = bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    Uuid::from_u128(hash)
}

/// The line as text that a strict JSON reader takes: invalid UTF-8 and lone surrogates become U+FFFD. Programs
/// that cut strings by UTF-16 units write such halves (`"\ud83d"`).
pub(crate) fn repaired_json(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut repaired = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(position) = rest.find('\\') {
        let (before, escape) = rest.split_at(position);
        repaired.push_str(before);
        let length = match surrogate(escape) {
            None => escape.chars().take(2).map(char::len_utf8).sum(),
            Some(0xd800..0xdc00) if matches!(surrogate(escape.get(6..).unwrap_or("")), Some(0xdc00..)) => 12,
            Some(_) => {
                repaired.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or("");
                continue;
            }
        };
        let (kept, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        repaired.push_str(kept);
        rest = after;
    }
    repaired.push_str(rest);
    repaired
}

/// The half of a surrogate pair that the text begins with as an escape.
fn surrogate(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..0xe000).contains(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_and_invalid_bytes_are_replaced_and_pairs_kept() {
        let line = br#"{"a":"\ud83d\ude00 \ud83d \\ud83d \ude00\n","b":"#.to_vec();
        let line = [line, b"\"\xff\"}".to_vec()].concat();
        assert_eq!(
            repaired_json(&line),
            "{\"a\":\"\\ud83d\\ude00 \\ufffd \\\\ud83d \\ufffd\\n\",\"b\":\"\u{fffd}\"}"
        );
    }

    #[test]
    fn an_escape_at_the_end_is_kept() {
        assert_eq!(repaired_json(b"a\\"), "a\\");
        assert_eq!(repaired_json(b"a\\ud8"), "a\\ud8");
    }
}
