//! FNV-1a, and faster for texts: a hash that is the same in every release and on every machine, for what is kept on disk.

use std::io;

use serde::Serialize;

const PRIME: u64 = 0x0100_0000_01b3;

pub(crate) struct Fnv(u64);

impl Fnv {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
    }

    /// The length in front: two texts cannot pass for two others. Eight bytes at a step, and the upper half mixed into
    /// the lower, where multiplying never brings it: a conversation is hashed on its way to the model.
    pub(crate) fn add_text(&mut self, text: &str) {
        self.add(&(text.len() as u64).to_le_bytes());
        let (words, rest) = text.as_bytes().as_chunks();
        for word in words {
            self.0 = (self.0 ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME);
            self.0 ^= self.0 >> 32;
        }
        self.add(rest);
    }

    pub(crate) fn add_json(&mut self, value: &impl Serialize) {
        // Writing does not fail here, and what cannot be serialised is never sent.
        if serde_json::to_writer(&mut *self, value).is_err() {
            self.add(b"?");
        }
    }

    pub(crate) fn value(&self) -> u64 {
        self.0
    }

    /// Folded: half of the bits tell two texts apart as well, and are cheaper to keep.
    pub(crate) fn short(&self) -> u32 {
        (self.0 ^ (self.0 >> 32)) as u32
    }
}

impl io::Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        let mut hash = Fnv::new();
        hash.add(b"foobar");
        assert_eq!(hash.value(), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_text_has_another_hash_wherever_it_is_changed() {
        let text = "the words of a conversation, longer than a step";
        let hash = |text: &str| {
            let mut hash = Fnv::new();
            hash.add_text(text);
            hash.short()
        };
        let mut seen: Vec<u32> = (0..text.len())
            .map(|at| hash(&format!("{}X{}", &text[..at], &text[at + 1..])))
            .chain((0..=text.len()).map(|end| hash(&text[..end])))
            .collect();
        seen.sort_unstable();
        let count = seen.len();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }
}
