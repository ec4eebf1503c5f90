//! Text to words: what a search compares. Case, accents and width make no difference.
//!
//! A word is a run of letters and digits. Scripts that put no blanks between words go letter by letter, so that a
//! search for a part of a sentence finds it.

use std::ops::Range;

/// A longer run is no word that anybody types; its beginning stands for it.
pub(super) const LONGEST: usize = 48;

/// The base letters of U+00C0 to U+017F; `.` has none.
const LATIN: &[u8] =
    b"aaaaaa.ceeeeiiiidnooooo.ouuuuy..aaaaaa.ceeeeiiiidnooooo.ouuuuy.yaaaaaaccccccccddddeeeeeeeeeegggg\
    gggghhhhiiiiiiiiii..jjkkkllllll..llnnnnnn.nnoooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";
/// The same for U+1E00 to U+1EFF.
const LATIN_ADDITIONAL: &[u8] =
    b"aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnnnnnnoooooooopppprrrrrrrr\
    ssssssssssttttttttuuuuuuuuuuvvvvwwwwwwwwwwxxxxyyzzzzzzhtwy.s....aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee\
    eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy......";

/// Calls with each word, folded, and where it is in the text.
pub(super) fn each_word(text: &str, mut visit: impl FnMut(&str, Range<usize>)) {
    let mut word = String::with_capacity(LONGEST + 8);
    let mut start = 0;
    for (at, character) in text.char_indices() {
        let is_part = match character.is_ascii() {
            true => character.is_ascii_alphanumeric(),
            false => character.is_alphanumeric() || (is_mark(character) && !word.is_empty()),
        };
        let alone = is_part && stands_alone(character);
        if (!is_part || alone) && !word.is_empty() {
            visit(&word, start..at);
            word.clear();
        }
        if !is_part {
            continue;
        }
        if word.is_empty() {
            start = at;
        }
        if word.len() < LONGEST {
            fold(character, &mut word);
        }
        if alone && !word.is_empty() {
            visit(&word, start..at + character.len_utf8());
            word.clear();
        }
    }
    if !word.is_empty() {
        visit(&word, start..text.len());
    }
}

fn fold(character: char, word: &mut String) {
    let code = character as usize;
    let table = |table: &[u8], first: usize| table.get(code - first).copied().filter(|base| *base != b'.');
    match character {
        '\0'..='\x7f' => word.push(character.to_ascii_lowercase()),
        'ß' | 'ẞ' => word.push_str("ss"),
        'æ' | 'Æ' => word.push_str("ae"),
        'œ' | 'Œ' => word.push_str("oe"),
        'þ' | 'Þ' => word.push_str("th"),
        'ς' => word.push('σ'),
        '\u{c0}'..='\u{17f}' => push_lower(character, table(LATIN, 0xc0), word),
        '\u{1e00}'..='\u{1eff}' => push_lower(character, table(LATIN_ADDITIONAL, 0x1e00), word),
        // Full width letters and digits.
        '\u{ff10}'..='\u{ff5a}' => {
            let narrow = char::from_u32(character as u32 - 0xfee0).unwrap_or(character);
            word.push(narrow.to_ascii_lowercase());
        }
        _ => push_lower(character, None, word),
    }
}

fn push_lower(character: char, base: Option<u8>, word: &mut String) {
    match base {
        Some(base) => word.push(char::from(base)),
        None => word.extend(character.to_lowercase().filter(|character| !is_mark(*character))),
    }
}

/// An accent on the letter before it.
fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

/// Thai, Lao, Burmese, Khmer, kana and ideographs.
fn stands_alone(character: char) -> bool {
    matches!(
        character,
        '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each_word(text, |word, place| {
            assert!(!text[place].is_empty());
            words.push(word.to_owned());
        });
        words
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        assert_eq!(words("let x_1 = foo::Bar(\"don't\");"), ["let", "x", "1", "foo", "bar", "don", "t"]);
        assert_eq!(words(""), Vec::<String>::new());
        assert_eq!(words("=> ++ …"), Vec::<String>::new());
    }

    #[test]
    fn case_accents_and_width_make_no_difference() {
        assert_eq!(
            words("GROSSE Straße, Ærø, naïve RÉSUMÉ Łódź"),
            ["grosse", "strasse", "aero", "naive", "resume", "lodz"]
        );
        assert_eq!(
            words("re\u{301}sume\u{301} \u{ff21}\u{ff11} ΣΊΣΥΦΟΣ σίσυφος"),
            ["resume", "a1", "σίσυφοσ", "σίσυφοσ"]
        );
        assert_eq!(words("Việt ДОМ İstanbul"), ["viet", "дом", "istanbul"]);
    }

    #[test]
    fn scripts_without_blanks_go_letter_by_letter() {
        assert_eq!(words("検索index中"), ["検", "索", "index", "中"]);
        assert_eq!(words("한국어 검색"), ["한국어", "검색"]);
    }

    #[test]
    fn endless_runs_are_cut() {
        let runs = words(&"a".repeat(10_000));
        assert_eq!(runs, ["a".repeat(LONGEST)]);
        let mut place = 0..0;
        each_word(&"ä".repeat(10_000), |_, whole| place = whole);
        assert_eq!(place, 0..20_000);
    }
}
