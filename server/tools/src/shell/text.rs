//! A command's bytes as text a model and an editor can take: valid UTF-8, no terminal codes, cut to size.

/// Replaces what is not UTF-8, drops terminal escapes, turns every kind of line end into `\n`.
pub(crate) fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => skip_escape(&mut characters),
            '\r' => {
                characters.next_if_eq(&'\n');
                clean.push('\n');
            }
            '\n' | '\t' => clean.push(character),
            // A backspace, a bell or a NUL means nothing outside a terminal, but it must not pass unseen.
            control if control.is_control() => clean.push('\u{fffd}'),
            other => clean.push(other),
        }
    }
    clean
}

/// The bytes at the end that are the beginning of a character whose rest has not come yet.
pub(crate) fn incomplete_end(bytes: &[u8]) -> usize {
    let last = bytes.iter().rev().take(3).position(|byte| byte & 0b1100_0000 != 0b1000_0000);
    let Some(distance) = last else { return 0 };
    let needed = match bytes.iter().rev().nth(distance) {
        Some(0b1100_0000..=0b1101_1111) => 2,
        Some(0b1110_0000..=0b1110_1111) => 3,
        Some(0b1111_0000..=0b1111_0111) => 4,
        _ => 1,
    };
    if distance + 1 < needed { distance + 1 } else { 0 }
}

/// A text of at most about `limit` characters: the middle goes, with a word on how much it was.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit || text.chars().count() <= limit {
        return text.to_owned();
    }
    let (beginning, end) = (first_part(text, limit / 3), last_part(text, limit - limit / 3));
    let left_out = (text.len() - beginning.len() - end.len()) as u64;
    join_around_gap(&beginning, left_out, &end)
}

pub(crate) fn join_around_gap(beginning: &str, left_out: u64, end: &str) -> String {
    let mut joined = beginning.trim_end_matches('\n').to_owned();
    joined.push_str(&format!("\n\n[... {} bytes left out ...]\n\n", with_commas(left_out)));
    joined.push_str(end.trim_start_matches('\n'));
    joined
}

/// The first `limit` characters.
pub(crate) fn first_part(text: &str, limit: usize) -> String {
    text.chars().take(limit).collect()
}

/// The last `limit` characters.
pub(crate) fn last_part(text: &str, limit: usize) -> String {
    let start = match limit.checked_sub(1) {
        Some(before) => text.char_indices().nth_back(before).map_or(0, |(index, _)| index),
        None => text.len(),
    };
    text.get(start..).unwrap_or_default().to_owned()
}

/// `1234567` as `1,234,567`.
pub(crate) fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// After an ESC: a control sequence ends with a letter, an operating-system command with BEL or ST, all others
/// are one character long, after intermediate ones.
fn skip_escape(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match characters.peek() {
        Some('[') => {
            characters.next();
            while let Some(parameter) = characters.peek() {
                match parameter {
                    ' '..='?' => {
                        characters.next();
                    }
                    '@'..='~' => {
                        characters.next();
                        return;
                    }
                    _ => return,
                }
            }
        }
        Some(']') => {
            characters.next();
            while let Some(character) = characters.next_if(|character| *character != '\n') {
                if character == '\u{7}' {
                    return;
                }
                if character == '\u{1b}' {
                    characters.next_if_eq(&'\\');
                    return;
                }
            }
        }
        _ => {
            while characters.next_if(|character| (' '..='/').contains(character)).is_some() {}
            characters.next_if(|character| ('0'..='~').contains(character));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_codes_go_and_line_ends_become_one_kind() {
        assert_eq!(readable(b"\x1b[1;31mred\x1b[0m\r\n10%\r20%\r\n"), "red\n10%\n20%\n");
        assert_eq!(readable(b"\x1b]0;title\x07text\x1b]8;;x\x1b\\link"), "textlink");
        assert_eq!(readable(b"a\x1b(Bb\x1b"), "ab");
        assert_eq!(readable(b"bell\x07 nul\0"), "bell\u{fffd} nul\u{fffd}");
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        assert_eq!(readable(b"a\xff\xfeb"), "a\u{fffd}\u{fffd}b");
    }

    #[test]
    fn an_unfinished_character_is_seen() {
        let text = "aä€😀";
        for end in 0..=text.len() {
            let whole = (0..=end).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            assert_eq!(incomplete_end(&text.as_bytes()[..end]), end - whole, "{end}");
        }
        assert_eq!(incomplete_end(b"\x80\x80\x80\x80"), 0);
    }

    #[test]
    fn cuts_count_characters_and_tell() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "ä\n\n[... 2 bytes left out ...]\n\nüß");
        assert_eq!(cut("abcdefghi", 6), "ab\n\n[... 3 bytes left out ...]\n\nfghi");
        assert_eq!(with_commas(1_234_567), "1,234,567");
        assert_eq!(last_part("abc", 0), "");
    }
}
