//! Text of any length on one short line: for titles, digests and sentences that quote.

/// At most `limit` characters, without line breaks: nothing quoted passes for a part of what quotes it.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut room = limit;
    for word in text.split_whitespace() {
        if !line.is_empty() {
            match room.checked_sub(1) {
                Some(rest) => room = rest,
                None => {
                    line.push('…');
                    break;
                }
            }
            line.push(' ');
        }
        match word.char_indices().nth(room) {
            Some((cut, _)) => {
                line.push_str(word.get(..cut).unwrap_or_default());
                line.truncate(line.trim_end().len());
                line.push('…');
                break;
            }
            None => {
                line.push_str(word);
                room -= word.chars().count();
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_stays_but_for_its_blanks() {
        assert_eq!(one_line("", 9), "");
        assert_eq!(one_line(" a\n\tb  c ", 5), "a b c");
    }

    #[test]
    fn a_long_text_is_cut_by_characters() {
        assert_eq!(one_line("äöü ß", 4), "äöü…");
        assert_eq!(one_line("äöü ß", 3), "äöü…");
        assert_eq!(one_line("äöü ß", 2), "äö…");
        assert_eq!(one_line("äöü ßßß", 5), "äöü ß…");
    }
}
