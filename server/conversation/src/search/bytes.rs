//! Numbers as bytes, read with suspicion: a file in a cache may hold anything.

use std::io;

/// The file is not what was written; forget it and start again.
#[derive(Debug, thiserror::Error)]
#[error("the search index is damaged")]
pub(super) struct Damaged;

impl From<Damaged> for io::Error {
    fn from(damaged: Damaged) -> Self {
        Self::new(io::ErrorKind::InvalidData, damaged)
    }
}

pub(super) fn put_varint(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes from the front.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Damaged> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        self.take(N)?.try_into().map_err(|_| Damaged)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Damaged> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Damaged> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn varint(&mut self) -> Result<u32, Damaged> {
        let mut number = 0_u32;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.array()?;
            number |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Damaged)
    }
}

/// Quick, and different for what damage makes of the bytes.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let mut hash = bytes.len() as u64 ^ 0x9e37_79b9_7f4a_7c15;
    for chunk in chunks {
        hash = mix(hash, u64::from_le_bytes(*chunk));
    }
    for byte in rest {
        hash = mix(hash, u64::from(*byte));
    }
    hash
}

fn mix(hash: u64, more: u64) -> u64 {
    (hash.rotate_left(23) ^ more).wrapping_mul(0xff51_afd7_ed55_8ccd)
}

/// Short enough to stand behind every list.
pub(super) fn short_checksum(bytes: &[u8]) -> [u8; 2] {
    let hash = checksum(bytes);
    (((hash >> 48) ^ (hash >> 16)) as u16).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let mut bytes = Vec::new();
        let numbers = [0, 1, 127, 128, 16_383, 16_384, u32::MAX];
        numbers.iter().for_each(|number| put_varint(&mut bytes, *number));
        let mut reader = Reader(&bytes);
        assert_eq!(numbers.map(|_| reader.varint().unwrap()), numbers);
        assert!(reader.is_empty());
        assert!(reader.varint().is_err() && Reader(&[0xff; 9]).varint().is_err());
    }

    #[test]
    fn a_flipped_bit_shows() {
        let bytes: Vec<u8> = (0..100).collect();
        for bit in 0..800 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(checksum(&bytes), checksum(&other));
        }
    }
}
