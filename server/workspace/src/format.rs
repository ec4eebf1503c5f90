//! How the text of a file is stored: character set, byte order mark, line ends.
//!
//! Three forms of a text are told apart here: the *bytes* on disk, the *raw* text (decoded, without the mark, with
//! the line ends as they are) and the *view*, which is what readers get (every line end is `\n`).

use std::borrow::Cow;

use crate::error::{ReadError, WriteError};

const MARK: char = '\u{feff}';
const MARK_BYTES: &[u8] = &[0xef, 0xbb, 0xbf];

/// How raw text becomes bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) charset: Charset,
    pub(crate) mark: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charset {
    Utf8,
    /// What is not UTF-8 but is text: every byte is a character, so nothing is lost on the way back.
    Latin1,
}

/// Raw text and how it was stored.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<(String, Format), ReadError> {
    refuse_binary(&bytes)?;
    let not_utf8 = match String::from_utf8(bytes) {
        Ok(text) => {
            let (mark, body) = split_mark(&text);
            let format = Format { charset: Charset::Utf8, mark };
            return Ok(if mark { (body.to_owned(), format) } else { (text, format) });
        }
        Err(error) => error.into_bytes(),
    };
    refuse_control_bytes(&not_utf8)?;
    Ok((latin1(&not_utf8), Format { charset: Charset::Latin1, mark: false }))
}

/// The bytes of raw text; fails on a character the character set lacks.
pub(crate) fn encode(raw: &str, format: Format) -> Result<Vec<u8>, WriteError> {
    match format.charset {
        Charset::Utf8 => {
            let mark = if format.mark { MARK_BYTES } else { &[] };
            Ok([mark, raw.as_bytes()].concat())
        }
        Charset::Latin1 => raw
            .char_indices()
            .map(|(at, character)| {
                u8::try_from(character).map_err(|_| WriteError::NotLatin1 {
                    character,
                    line: view(raw.get(..at).unwrap_or_default()).matches('\n').count() + 1,
                })
            })
            .collect(),
    }
}

/// Whether `text` begins with a byte order mark, and what follows it.
pub(crate) fn split_mark(text: &str) -> (bool, &str) {
    match text.strip_prefix(MARK) {
        Some(body) => (true, body),
        None => (false, text),
    }
}

/// Raw text with every line end as `\n`.
pub(crate) fn view(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\r') {
        return Cow::Borrowed(raw);
    }
    let unified = raw.replace("\r\n", "\n");
    Cow::Owned(if unified.contains('\r') { unified.replace('\r', "\n") } else { unified })
}

/// The bytes of a file as its text is read: `\n` line ends, no byte order mark.
pub fn text_of(bytes: Vec<u8>) -> Result<String, ReadError> {
    Ok(view(&decode(bytes)?.0).into_owned())
}

/// The view of the text of an open buffer, which may begin with a byte order mark.
pub(crate) fn view_of_buffer(text: &str) -> Cow<'_, str> {
    view(split_mark(text).1)
}

/// Every byte as the character of that number.
pub(crate) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// Refuses what no reading as text would make sense of.
pub(crate) fn refuse_binary(bytes: &[u8]) -> Result<(), ReadError> {
    if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = bytes {
        let words = "it has the byte order mark of UTF-16; convert it to UTF-8 to work on it";
        return Err(ReadError::Binary(words.to_owned()));
    }
    // Not an iterator search: the comparison of whole slices is what the compiler makes fast.
    if bytes.contains(&0) {
        return Err(ReadError::Binary("it contains NUL bytes".to_owned()));
    }
    Ok(())
}

/// Text in Latin-1 and its relatives has hardly any control bytes; compressed and encrypted data has 1 in 10.
pub(crate) fn refuse_control_bytes(bytes: &[u8]) -> Result<(), ReadError> {
    let control = |byte: &&u8| matches!(**byte, 0x01..=0x06 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    if bytes.iter().filter(control).count() > bytes.len() / 50 {
        return Err(ReadError::Binary("it is neither UTF-8 nor Latin-1".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn round_trip(bytes: &[u8], raw: &str, charset: Charset, mark: bool) {
        let (decoded, format) = decode(bytes.to_vec()).unwrap();
        assert_eq!((decoded.as_str(), format), (raw, Format { charset, mark }));
        assert_eq!(encode(&decoded, format).unwrap(), bytes);
    }

    #[test]
    fn text_survives_decoding_and_encoding() {
        round_trip(b"", "", Charset::Utf8, false);
        round_trip("größe\r\n".as_bytes(), "größe\r\n", Charset::Utf8, false);
        round_trip(b"\xef\xbb\xbfa\n", "a\n", Charset::Utf8, true);
        round_trip(b"\xef\xbb\xbf", "", Charset::Utf8, true);
        round_trip(b"gr\xf6\xdfe\n", "größe\n", Charset::Latin1, false);
        round_trip(b"\xef\xbb\xbf\xff", "\u{ef}\u{bb}\u{bf}\u{ff}", Charset::Latin1, false);
    }

    #[test]
    fn what_is_not_text_is_refused_in_words() {
        let word = |bytes: &[u8]| decode(bytes.to_vec()).unwrap_err().to_string();
        assert!(word(b"\xff\xfea\0").contains("UTF-16"));
        assert!(word(b"\xfe\xff\0a").contains("UTF-16"));
        assert!(word(b"ELF\0").contains("NUL"));
        assert!(word(b"\x1f\x8b\x08\x01\x02\xff\xfe\x03").contains("neither"));
    }

    #[test]
    fn characters_latin1_lacks_are_named() {
        let format = Format { charset: Charset::Latin1, mark: false };
        assert_eq!(encode("a\r\nb€", format), Err(WriteError::NotLatin1 { character: '€', line: 2 }));
    }

    #[test]
    fn the_view_has_one_kind_of_line_end() {
        assert_eq!(view("a\r\nb\rc\n\r\n\n\r\r\n"), "a\nb\nc\n\n\n\n\n");
        assert!(matches!(view("a\nb"), Cow::Borrowed(_)));
    }
}
