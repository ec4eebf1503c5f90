//! Which names a background agent may give a file or a folder.
//!
//! What it writes is synced to other systems, linked from an index and shown in terminals, so a name has to mean the
//! same everywhere: on disks that do not tell case or composition apart, on Windows, in Markdown, in a shell. Pure; what
//! is on disk already is `beneath.rs`.

use std::ops::RangeInclusive;

use icu_normalizer::ComposingNormalizerBorrowed;

/// What the common file systems take.
const LONGEST: usize = 255;

/// The index, which exists in one spelling.
const INDEX: &str = "MEMORY.md";

/// Read as instructions wherever they are found, not as memories.
const INSTRUCTIONS: [&str; 3] = ["claude.md", "claude.local.md", "agents.md"];

/// Devices on Windows, whatever comes after a dot.
const DEVICES: [&str; 7] = ["con", "prn", "aux", "nul", "conin", "conout", "clock"];

/// ASCII besides letters and digits that is a plain character to shells, links and every file system.
const PLAIN: &str = "_-. +,=@()";

/// Marks without which these scripts cannot be written: Hebrew, Arabic, the Indic ones to Tibetan, Burmese, Khmer.
const MARKS: [RangeInclusive<char>; 6] = [
    '\u{5b0}'..='\u{5c7}',
    '\u{610}'..='\u{61a}',
    '\u{64b}'..='\u{65f}',
    '\u{900}'..='\u{fbc}',
    '\u{102b}'..='\u{109d}',
    '\u{17b6}'..='\u{17d3}',
];

const EMOJI: [RangeInclusive<char>; 2] = ['\u{2600}'..='\u{27bf}', '\u{1f300}'..='\u{1faff}'];

/// Letters that look like Latin ones or like punctuation and are hardly ever meant, and letters without a shape.
const DECEPTIVE: [RangeInclusive<char>; 14] = [
    '\u{1c0}'..='\u{1c3}',
    '\u{250}'..='\u{2ff}',
    '\u{345}'..='\u{345}',
    '\u{1100}'..='\u{11ff}',
    '\u{13a0}'..='\u{13ff}',
    '\u{1d00}'..='\u{1dbf}',
    '\u{2c80}'..='\u{2cff}',
    '\u{a4d0}'..='\u{a4ff}',
    '\u{ab30}'..='\u{abbf}',
    '\u{10300}'..='\u{1032f}',
    '\u{10400}'..='\u{104ff}',
    '\u{118a0}'..='\u{118ff}',
    '\u{16f00}'..='\u{16f9f}',
    '\u{1d400}'..='\u{1d7ff}',
];

/// Characters that are not seen, or that change how their neighbours are.
const INVISIBLE: [RangeInclusive<char>; 10] = [
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{fe00}'..='\u{feff}',
    '\u{e0000}'..='\u{e0fff}',
];

/// Why a folder may not have this name.
pub(super) fn objection_to_folder(name: &str) -> Option<String> {
    objection(name)
}

/// Why a file may not have this name.
pub(super) fn objection_to_file(name: &str) -> Option<String> {
    if let Some(words) = objection(name) {
        return Some(words);
    }
    let folded = folded(name);
    if !folded.ends_with(".md") {
        return Some("a memory is a Markdown file; its name ends in .md".to_owned());
    }
    INSTRUCTIONS
        .contains(&folded.as_str())
        .then(|| format!("{name} is read as instructions, not as a memory"))
}

/// Why a file at the top may not have this name: the index is known by its name.
pub(super) fn objection_at_top(name: &str) -> Option<String> {
    let imitates = name != INDEX && folded(name) == folded(INDEX);
    imitates.then(|| format!("{name} would be {INDEX} on disks that do not tell case apart"))
}

/// Two names with the same result are one file on some file system.
pub(super) fn folded(name: &str) -> String {
    NORMAL.normalize(&name.to_uppercase().to_lowercase()).into_owned()
}

const NORMAL: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfkc();

fn objection(name: &str) -> Option<String> {
    if name.len() > LONGEST {
        return Some(format!("the name is longer than {LONGEST} bytes"));
    }
    if let Some(words) = name.chars().find_map(objection_to_character) {
        return Some(words);
    }
    let words = if name.starts_with('.') {
        "names that begin with a dot are reserved"
    } else if name.starts_with('-') {
        "a name that begins with a dash is taken for an option"
    } else if name.starts_with(' ') || name.ends_with(' ') {
        "a name neither begins nor ends with a space"
    } else if name.ends_with('.') {
        "Windows drops a dot at the end of a name"
    } else if is_device(name) {
        "on Windows this names a device"
    } else if !NORMAL.is_normalized(name) {
        "the name has characters that other systems write differently; use the plain (NFKC) ones"
    } else if mixes_alphabets(name) {
        "a word of the name mixes alphabets, so that it looks like another"
    } else if !is_balanced(name) {
        "parentheses that do not match break the link in the index"
    } else {
        return None;
    };
    Some(words.to_owned())
}

fn objection_to_character(character: char) -> Option<String> {
    let is_in = |ranges: &[RangeInclusive<char>]| ranges.iter().any(|range| range.contains(&character));
    let code = u32::from(character);
    if character.is_control() {
        return Some(format!("the name has a control character (U+{code:04X})"));
    }
    if character.is_ascii() {
        let plain = character.is_ascii_alphanumeric() || PLAIN.contains(character);
        return (!plain)
            .then(|| format!("the character {character} is not plain in a shell, a link or on Windows"));
    }
    if is_in(&INVISIBLE) {
        return Some(format!("the name has an invisible character (U+{code:04X})"));
    }
    if is_in(&DECEPTIVE) {
        return Some(format!("the name has a character that looks like another (U+{code:04X})"));
    }
    let known = character.is_alphanumeric() || is_in(&MARKS) || is_in(&EMOJI);
    (!known).then(|| format!("the name has a character that is neither a letter nor a digit (U+{code:04X})"))
}

fn is_device(name: &str) -> bool {
    let base = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let numbered = |word: &str| {
        let digit = base.strip_prefix(word).map(str::chars);
        digit.is_some_and(|mut rest| rest.next().is_some_and(char::is_numeric) && rest.next().is_none())
    };
    DEVICES.contains(&base.as_str()) || numbered("com") || numbered("lpt")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    Latin,
    Greek,
    Cyrillic,
    Armenian,
}

/// Only those whose letters are mistaken for each other.
fn alphabet(character: char) -> Option<Alphabet> {
    match character {
        'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Some(Alphabet::Latin),
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some(Alphabet::Greek),
        '\u{400}'..='\u{52f}' | '\u{1c80}'..='\u{1c8f}' | '\u{a640}'..='\u{a69f}' => Some(Alphabet::Cyrillic),
        '\u{530}'..='\u{58f}' => Some(Alphabet::Armenian),
        _ => None,
    }
}

fn mixes_alphabets(name: &str) -> bool {
    name.split(|character: char| !character.is_alphanumeric()).any(|word| {
        let mut alphabets = word.chars().filter_map(alphabet);
        let first = alphabets.next();
        alphabets.any(|other| Some(other) != first)
    })
}

fn is_balanced(name: &str) -> bool {
    let mut open = 0_i32;
    for character in name.chars() {
        open += match character {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if open < 0 {
            return false;
        }
    }
    open == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_people_give_are_accepted() {
        for name in [
            "MEMORY.md",
            "user.md",
            "x..md",
            "x.MD",
            "file-name_1.2.md",
            "with space.md",
            "c++.md",
            "a, b.md",
            "notes (2).md",
            "日本語のメモ.md",
            "заметки-api.md",
            "καλημέρα.md",
            "हिन्दी.md",
            "ภาษาไทย.md",
            "עברית.md",
            "العربية.md",
            "한국어.md",
            "größe.md",
            "naïve.md",
            "tiếng Việt.md",
            "🦀 crab.md",
            "2026-01-01.md",
            "conference.md",
            "com.md",
            "communication.md",
        ] {
            assert_eq!(objection_to_file(name), None, "{name}");
        }
    }

    #[test]
    fn names_that_mean_something_else_somewhere_are_refused() {
        for name in [
            "x",
            "x.json",
            ".md",
            ".hidden.md",
            "..notes.md",
            "-rf.md",
            " x.md",
            "x.md ",
            "x.md.",
            "a*b.md",
            "a?b.md",
            "a|b.md",
            "a<b.md",
            "a:b.md",
            "a\"b.md",
            "a;b.md",
            "a&b.md",
            "a`b.md",
            "$(id).md",
            "a'b.md",
            "a#b.md",
            "%2e.md",
            "a\\b.md",
            "a](b.md",
            "a).md",
            "~x.md",
            "x!.md",
            "{a}.md",
            "NUL.md",
            "com1.md",
            "COM¹.md",
            "lpt9.x.md",
            "aux .md",
            "CONIN$.md",
            "e\u{301}.md",
            "\u{ff2d}.md",
            "\u{2024}.md",
            "\u{41c}EMORY.md",
            "ᴍᴇᴍᴏʀʏ.md",
            "ꓟꓰꓟꓳꓣꓬ.md",
            "ME\u{ad}MORY.md",
            "\u{200b}x.md",
            "x\u{202e}y.md",
            "\u{e0041}.md",
            "x\u{fe0f}.md",
            "\u{2215}.md",
            "\u{212a}.md",
            "a\u{3000}b.md",
            "\u{1160}.md",
            "\u{1b}.md",
            "\u{7f}.md",
            "\u{85}.md",
            "CLAUDE.md",
            "agents.MD",
        ] {
            assert!(objection_to_file(name).is_some(), "{name:?}");
        }
        assert!(objection_to_file(&format!("{}.md", "a".repeat(253))).is_some());
        assert!(objection_to_file(&format!("{}.md", "a".repeat(252))).is_none());
    }

    #[test]
    fn twins_fold_to_one_name() {
        for (one, other) in
            [("user.md", "USER.md"), ("caf\u{e9}.md", "CAFE\u{301}.md"), ("straße.md", "STRASSE.md")]
        {
            assert_eq!(folded(one), folded(other));
        }
        assert_ne!(folded("a.md"), folded("b.md"));
        assert!(objection_at_top("Memory.md").is_some());
        assert_eq!(objection_at_top("MEMORY.md"), None);
    }
}
