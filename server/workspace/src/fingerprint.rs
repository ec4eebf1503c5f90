//! What a file looked like when it was read, small enough to be kept in a transcript.
//!
//! The hash is over the text as the reader saw it (no byte order mark, `\n` line ends), so that a buffer and the
//! file behind it, or a file before and after `touch`, are the same. It must never change between two builds of
//! one version: fingerprints are read back from transcripts.

use serde::{Deserialize, Serialize};

/// The state of a file or buffer at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Modification time in nanoseconds since 1970; 0 for an open buffer.
    pub mtime_ns: i64,
    /// Bytes on disk; for an open buffer, bytes of its text as read.
    pub size: u64,
    /// Hash of the text as read; absent when only a part was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<u64>,
}

impl Fingerprint {
    /// The fingerprint of an open buffer that reads as `text`.
    pub(crate) fn of_buffer(text: &str) -> Self {
        Self { mtime_ns: 0, size: text.len() as u64, hash: Some(hash(text.as_bytes())) }
    }

    /// Whether time and size are the same; all that can be compared where the content was not read.
    pub(crate) fn same_state(&self, other: &Fingerprint) -> bool {
        (self.mtime_ns, self.size) == (other.mtime_ns, other.size)
    }
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const MULTIPLIER: u64 = 0xd6e8_feb8_6659_fd93;

/// A fixed 64-bit hash, eight bytes a step; good against accidents, not against an adversary.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut state = fold(SEED ^ bytes.len() as u64);
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(tail) {
        *to = *from;
    }
    fold(fold(state ^ u64::from_le_bytes(last)) ^ SEED)
}

/// Both halves of a 128-bit product, so that every input bit reaches every output bit.
fn fold(value: u64) -> u64 {
    let product = u128::from(value ^ SEED) * u128::from(MULTIPLIER);
    (product as u64) ^ ((product >> 64) as u64) ^ value.rotate_left(29)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn hash_is_the_same_in_every_build() {
        let samples = ["", "a", "abcdefgh", "abcdefghi", "Grüße\n"]
            .map(|text| format!("{:016x}", hash(text.as_bytes())));
        expect![[r#"
            cdf59f5efa92183b
            4f40ff12f33adaa7
            ccdbd2edc47ec5e7
            2ee237ee446d687f
            892d52fb0e709529"#]]
        .assert_eq(&samples.join("\n"));
    }

    #[test]
    fn nearby_texts_hash_differently() {
        let mut seen = std::collections::HashSet::new();
        for length in 0..200 {
            for at in 0..=length {
                let mut text = vec![b'x'; length];
                if let Some(byte) = text.get_mut(at) {
                    *byte = b'y';
                }
                assert!(seen.insert(hash(&text)) || at == length && length == 0, "{length} {at}");
            }
        }
    }

    #[test]
    fn survives_json() {
        let fingerprint = Fingerprint { mtime_ns: 1_700_000_000_123_456_789, size: 3, hash: Some(u64::MAX) };
        let json = serde_json::to_string(&fingerprint).unwrap();
        expect![[r#"{"mtime_ns":1700000000123456789,"size":3,"hash":18446744073709551615}"#]]
            .assert_eq(&json);
        assert_eq!(serde_json::from_str::<Fingerprint>(&json).unwrap(), fingerprint);
    }
}
