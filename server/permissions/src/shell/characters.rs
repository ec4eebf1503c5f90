//! What is refused before anything is parsed: characters that a person, a shell and a grammar see differently.

/// Longer lines are not looked at.
const LONGEST: usize = 8 * 1024;

pub(super) fn check(command: &str) -> Result<(), String> {
    if command.len() > LONGEST {
        return Err(format!("the line is longer than {LONGEST} bytes"));
    }
    match command.chars().find(|character| is_odd(*character)) {
        Some(character) => {
            Err(format!("it has the character U+{:04X}, which does not show", u32::from(character)))
        }
        None => Ok(()),
    }
}

fn is_odd(character: char) -> bool {
    match character {
        '\t' | '\n' | ' ' => false,
        // Controls, also those of Latin-1; carriage return and NUL among them.
        _ if character.is_control() => true,
        // No-break, ideographic and other spaces, line and paragraph separators.
        _ if character.is_whitespace() => true,
        _ => matches!(character,
            // Soft hyphen, grapheme joiner, Arabic letter mark, fillers, Mongolian separators.
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            // The Greek question mark looks like a semicolon.
            | '\u{37e}'
            // Zero width, direction, isolates, invisible operators.
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{ffa0}' | '\u{feff}'
            // Variation selectors, interlinear annotation, the replacement character, non-characters.
            | '\u{fe00}'..='\u{fe0f}' | '\u{fff0}'..='\u{ffff}' | '\u{fdd0}'..='\u{fdef}'
            // Private use, shorthand and musical format controls, tags, variation selectors.
            | '\u{e000}'..='\u{f8ff}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{10ffff}'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_characters_are_refused_even_in_quotes() {
        for character in
            "\r\0\u{8}\u{1b}\u{7f}\u{85}\u{a0}\u{2028}\u{3000}\u{200b}\u{feff}\u{2066}\u{e0074}\u{37e}\u{ad}"
                .chars()
        {
            assert!(check(&format!("ls '{character}'")).is_err(), "{character:?}");
        }
        assert_eq!(check("ls\t-l\ngrep 'こんにちは é ü 😀' x"), Ok(()));
    }

    #[test]
    fn long_lines_are_refused() {
        assert!(check(&"a".repeat(LONGEST)).is_ok());
        assert!(check(&"a".repeat(LONGEST + 1)).is_err());
    }
}
