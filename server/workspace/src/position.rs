//! LSP positions in a rope: line and character, in UTF-8 or UTF-16 units, to and from offsets.
//!
//! Lines end with `\n`, `\r\n` or `\r` and nothing else, as LSP has it (the rope is built with that rule). What a
//! client gets wrong is clamped: "if the character value is greater than the line length it defaults back to the
//! line length", a line past the end is the end of the text, and a position inside a character is its start.

use ropey::Rope;

use crate::editor::{Encoding, Position, Range};

/// A text and the unit in which the editor counts: places in it as offsets of bytes, and as positions.
#[derive(Clone, Debug)]
pub struct Measured {
    rope: Rope,
    encoding: Encoding,
}

impl Measured {
    pub fn new(text: &str, encoding: Encoding) -> Self {
        Self { rope: Rope::from_str(text), encoding }
    }

    pub(crate) fn of_rope(rope: Rope, encoding: Encoding) -> Self {
        Self { rope, encoding }
    }

    pub fn text(&self) -> String {
        self.rope.to_string()
    }

    /// Offsets beyond the text are its end; one inside a character is its start.
    pub fn position(&self, byte: usize) -> Position {
        let byte = byte.min(self.rope.len_bytes());
        let char = self.rope.try_byte_to_char(byte).unwrap_or(0);
        let byte = self.rope.try_char_to_byte(char).unwrap_or(0);
        position_of_byte(&self.rope, byte, self.encoding)
    }

    pub fn range(&self, bytes: &std::ops::Range<usize>) -> Range {
        Range { start: self.position(bytes.start), end: self.position(bytes.end) }
    }

    /// Always on the boundary of a character, and inside the text.
    pub fn offset(&self, position: Position) -> usize {
        let char = char_offset(&self.rope, position, self.encoding);
        self.rope.try_char_to_byte(char).unwrap_or_else(|_| self.rope.len_bytes())
    }

    /// The end of the text.
    pub fn end(&self) -> Position {
        self.position(usize::MAX)
    }
}

/// The char offsets of a range; its ends are put in order.
pub(crate) fn char_range(rope: &Rope, range: Range, encoding: Encoding) -> std::ops::Range<usize> {
    let start = char_offset(rope, range.start, encoding);
    let end = char_offset(rope, range.end, encoding);
    start.min(end)..start.max(end)
}

/// The char offset of a position.
pub(crate) fn char_offset(rope: &Rope, position: Position, encoding: Encoding) -> usize {
    let end_of_text = rope.len_chars();
    let number = position.line as usize;
    let (Ok(start), Some(line)) = (rope.try_line_to_char(number), rope.get_line(number)) else {
        return end_of_text;
    };
    let character = position.character as usize;
    let inside = match encoding {
        Encoding::Utf8 => line.try_byte_to_char(character),
        Encoding::Utf16 => line.try_utf16_cu_to_char(character),
    };
    // The rounding of both conversions is downwards, to the start of the character.
    start + inside.unwrap_or(usize::MAX).min(length_without_end(line))
}

/// The position of a byte offset that lies on a character boundary.
pub(crate) fn position_of_byte(rope: &Rope, byte: usize, encoding: Encoding) -> Position {
    let byte = byte.min(rope.len_bytes());
    let line = rope.try_byte_to_line(byte).unwrap_or(0);
    let line_start = rope.try_line_to_byte(line).unwrap_or(0);
    let character = match encoding {
        Encoding::Utf8 => byte - line_start,
        Encoding::Utf16 => utf16_units(rope, byte) - utf16_units(rope, line_start),
    };
    Position { line: saturated(line), character: saturated(character) }
}

fn utf16_units(rope: &Rope, byte: usize) -> usize {
    rope.try_byte_to_char(byte).and_then(|char| rope.try_char_to_utf16_cu(char)).unwrap_or(0)
}

fn saturated(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The chars of a line before its line end.
fn length_without_end(line: ropey::RopeSlice<'_>) -> usize {
    let length = line.len_chars();
    let from_end = |back: usize| length.checked_sub(back).and_then(|at| line.get_char(at));
    match (from_end(2), from_end(1)) {
        (Some('\r'), Some('\n')) => length - 2,
        (_, Some('\n' | '\r')) => length - 1,
        _ => length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[track_caller]
    fn check(text: &str, encoding: Encoding, position: Position, before: &str) {
        let rope = Rope::from_str(text);
        let offset = char_offset(&rope, position, encoding);
        assert_eq!(text.chars().take(offset).collect::<String>(), before);
    }

    #[test]
    fn counts_in_the_negotiated_unit() {
        check("a😀b", Encoding::Utf16, at(0, 3), "a😀");
        check("a😀b", Encoding::Utf8, at(0, 5), "a😀");
        check("äb", Encoding::Utf8, at(0, 2), "ä");
        check("äb", Encoding::Utf16, at(0, 1), "ä");
    }

    #[test]
    fn a_position_inside_a_character_is_its_start() {
        check("a😀b", Encoding::Utf16, at(0, 2), "a");
        for byte in 2..5 {
            check("a😀b", Encoding::Utf8, at(0, byte), "a");
        }
    }

    #[test]
    fn lines_end_where_lsp_says_and_nowhere_else() {
        let text = "a\nb\r\nc\rd\u{2028}\u{85}\u{c}\u{b}e";
        check(text, Encoding::Utf16, at(1, 0), "a\n");
        check(text, Encoding::Utf16, at(2, 0), "a\nb\r\n");
        check(text, Encoding::Utf16, at(3, 0), "a\nb\r\nc\r");
        check(text, Encoding::Utf16, at(4, 0), text);
    }

    #[test]
    fn characters_beyond_the_line_are_its_end() {
        for (line, before) in
            [(0, "a"), (1, "a\nb"), (2, "a\nb\r\nc"), (3, "a\nb\r\nc\rd"), (9, "a\nb\r\nc\rd")]
        {
            check("a\nb\r\nc\rd", Encoding::Utf16, at(line, u32::MAX), before);
            check("a\nb\r\nc\rd", Encoding::Utf8, at(line, 77), before);
        }
        check("a\r\n", Encoding::Utf16, at(0, 2), "a");
        check("", Encoding::Utf8, at(3, 3), "");
    }

    #[test]
    fn positions_of_bytes_come_back() {
        let text = "a😀\r\nä\rb\n\nende";
        let rope = Rope::from_str(text);
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            for (byte, _) in text
                .char_indices()
                .filter(|(byte, _)| !text[..*byte].ends_with('\r') || !text[*byte..].starts_with('\n'))
            {
                let position = position_of_byte(&rope, byte, encoding);
                assert_eq!(rope.char_to_byte(char_offset(&rope, position, encoding)), byte, "{position:?}");
            }
        }
    }
}
