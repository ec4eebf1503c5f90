//! Base64, as the Messages API and notebooks carry bytes.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// How long the text of so many bytes is.
pub(crate) const fn encoded_len(bytes: usize) -> usize {
    bytes.div_ceil(3).saturating_mul(4)
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(encoded_len(bytes.len()));
    let (triples, rest) = bytes.as_chunks::<3>();
    for [first, second, third] in triples {
        push(&mut text, [*first, *second, *third], 4);
    }
    match rest {
        [first] => push(&mut text, [*first, 0, 0], 2),
        [first, second] => push(&mut text, [*first, *second, 0], 3),
        _ => {}
    }
    text
}

fn push(text: &mut String, [first, second, third]: [u8; 3], symbols: usize) {
    let bits = u32::from_be_bytes([0, first, second, third]);
    for (index, shift) in [18, 12, 6, 0].into_iter().enumerate() {
        let symbol = ALPHABET.get((bits >> shift & 63) as usize).copied().unwrap_or(b'=');
        text.push(char::from(if index < symbols { symbol } else { b'=' }));
    }
}

/// `None` for what is not base64. White space is skipped.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let symbols = text.trim_end().trim_end_matches('=');
    let mut bytes = Vec::with_capacity(symbols.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0_u32, 0);
    for symbol in symbols.bytes().filter(|symbol| !symbol.is_ascii_whitespace()) {
        bits = bits << 6 | value(symbol)?;
        count += 1;
        if count == 4 {
            let [_, first, second, third] = bits.to_be_bytes();
            bytes.extend([first, second, third]);
            (bits, count) = (0, 0);
        }
    }
    let [_, first, second, _] = (bits << (6 * (4 - count))).to_be_bytes();
    match count {
        0 => {}
        2 => bytes.push(first),
        3 => bytes.extend([first, second]),
        _ => return None,
    }
    Some(bytes)
}

fn value(symbol: u8) -> Option<u32> {
    let value = match symbol {
        b'A'..=b'Z' => symbol - b'A',
        b'a'..=b'z' => symbol - b'a' + 26,
        b'0'..=b'9' => symbol - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard() {
        for (plain, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(plain.as_bytes()), encoded);
            assert_eq!(decode(encoded).unwrap(), plain.as_bytes());
            assert_eq!(encoded_len(plain.len()), encoded.len());
        }
    }

    #[test]
    fn every_byte_survives() {
        for length in 0..300 {
            let bytes: Vec<u8> = (0..length).map(|number| (number * 7 % 256) as u8).collect();
            assert_eq!(decode(&encode(&bytes)).unwrap(), bytes);
        }
    }

    #[test]
    fn white_space_is_skipped_and_anything_else_refused() {
        assert_eq!(decode("Zm9v\nYmFy\n").unwrap(), b"foobar");
        assert_eq!(decode("Zm9v Yg"), Some(b"foob".to_vec()));
        assert_eq!(decode("Z"), None);
        assert_eq!(decode("Zm9v-"), None);
        assert_eq!(decode("Zm=v"), None);
        assert_eq!(decode("ä"), None);
    }
}
