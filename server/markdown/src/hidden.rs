//! Characters that nobody sees and a model reads: zero-width, bidirectional, tags, fillers, controls; and words that mix
//! alphabets so that they look like other words.
//!
//! What a script needs is left alone: joiners in Arabic, Indic and emoji sequences, selectors behind the characters they
//! select, marks of direction in lines that run from right to left, the zero-width space of Thai and Khmer.

use std::{borrow::Cow, fmt::Write as _};

/// Findings in one text; whoever hides more than this has been found out.
const MOST: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// From 0.
    pub line: usize,
    /// Of its first byte in the text.
    pub offset: usize,
    /// In bytes.
    pub length: usize,
    pub class: Class,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    ZeroWidth,
    Bidirectional,
    Tag,
    Selector,
    SoftHyphen,
    Control,
    LineSeparator,
    Filler,
    /// Visible, but not what it seems: Latin letters and look-alikes of another alphabet in one word.
    MixedAlphabets,
}

impl Class {
    pub fn words(self) -> &'static str {
        match self {
            Self::ZeroWidth => "a zero-width character",
            Self::Bidirectional => "a character that turns the direction of text",
            Self::Tag => "an invisible tag character",
            Self::Selector => "a variation selector that selects nothing",
            Self::SoftHyphen => "a soft hyphen",
            Self::Control => "a control character",
            Self::LineSeparator => "a line separator that editors do not show as one",
            Self::Filler => "a character that looks like nothing",
            Self::MixedAlphabets => "a word of letters from two alphabets that look alike",
        }
    }
}

/// All that is hidden in the text, in its order; neighbours of one class are one finding.
pub fn find(text: &str) -> Vec<Hidden> {
    let mut found: Vec<Hidden> = Vec::new();
    if is_plain(text) {
        return found;
    }
    let mut offset = 0;
    for (number, line) in text.split('\n').enumerate() {
        if !is_plain(line) {
            find_in_line(line, number, offset, &mut found);
        }
        offset += line.len() + 1;
        if found.len() >= MOST {
            found.truncate(MOST);
            break;
        }
    }
    found
}

/// The text with what nobody sees spelled out: a model may read it, but not without its user seeing the same.
pub fn shown(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut found = Vec::new();
    let mut offset = 0;
    for line in text.split('\n') {
        if !is_plain(line) {
            find_in_line(line, 0, offset, &mut found);
        }
        offset += line.len() + 1;
    }
    found.retain(|hidden| hidden.class != Class::MixedAlphabets);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut copied = 0;
    for hidden in found {
        safe.push_str(text.get(copied..hidden.offset).unwrap_or_default());
        copied = hidden.offset + hidden.length;
        let run = text.get(hidden.offset..copied).unwrap_or_default();
        let written = match run.chars().count() {
            1 => write!(safe, "[U+{:04X}]", run.chars().next().map_or(0, u32::from)),
            count => write!(safe, "[{count} hidden characters]"),
        };
        debug_assert!(written.is_ok());
    }
    safe.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(safe)
}

/// Most texts are ASCII, and need not be looked at twice.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r'))
}

fn find_in_line(line: &str, number: usize, start: usize, found: &mut Vec<Hidden>) {
    // A mark of order at the start of a file is the file's, not the text's.
    let body = if start == 0 { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
    let skipped = line.len() - body.len();
    let right_to_left = body.chars().any(is_right_to_left);
    let mut previous = None;
    // Inside a flag: a black flag, letters as tags, the closing tag.
    let mut in_flag = false;
    let mut characters = body.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        in_flag = character == '\u{1f3f4}' || (in_flag && is_tag(character));
        if let Some(class) = class_of(character, previous, next, right_to_left, in_flag) {
            let (offset, length) = (start + skipped + at, character.len_utf8());
            match found.last_mut() {
                Some(last) if last.class == class && last.offset + last.length == offset => {
                    last.length += length;
                }
                _ => found.push(Hidden { line: number, offset, length, class }),
            }
        }
        previous = Some(character);
    }
    find_mixed_words(body, number, start + skipped, found);
}

fn class_of(
    character: char,
    previous: Option<char>,
    next: Option<char>,
    right_to_left: bool,
    in_flag: bool,
) -> Option<Class> {
    let after = |test: fn(char) -> bool| previous.is_some_and(test);
    let before = |test: fn(char) -> bool| next.is_some_and(test);
    match character {
        '\t' | '\r' => None,
        '\u{0}'..='\u{1f}' | '\u{7f}' => Some(Class::Control),
        '\u{85}' | '\u{2028}' | '\u{2029}' => Some(Class::LineSeparator),
        '\u{80}'..='\u{9f}' => Some(Class::Control),
        '\u{ad}' => Some(Class::SoftHyphen),
        '\u{200b}' => (!after(is_unspaced) && !before(is_unspaced)).then_some(Class::ZeroWidth),
        '\u{200c}' => (!after(is_joining)).then_some(Class::ZeroWidth),
        '\u{200d}' => (!(after(is_joining) || after(is_emoji_part) && before(is_emoji_part)))
            .then_some(Class::ZeroWidth),
        '\u{200e}' | '\u{200f}' | '\u{61c}' => (!right_to_left).then_some(Class::Bidirectional),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some(Class::Bidirectional),
        '\u{180b}'..='\u{180f}' => (!after(is_mongolian)).then_some(Class::ZeroWidth),
        '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => {
            Some(Class::ZeroWidth)
        }
        '\u{fe00}'..='\u{fe0f}' => (!after(can_be_selected)).then_some(Class::Selector),
        '\u{e0100}'..='\u{e01ef}' => (!after(is_ideograph)).then_some(Class::Selector),
        '\u{e0000}'..='\u{e007f}' => (!in_flag).then_some(Class::Tag),
        '\u{115f}' | '\u{1160}' => (!after(is_jamo) && !before(is_jamo)).then_some(Class::Filler),
        '\u{3164}' | '\u{ffa0}' | '\u{34f}' | '\u{17b4}' | '\u{17b5}' => Some(Class::Filler),
        '\u{2800}' => (!after(is_braille) && !before(is_braille)).then_some(Class::Filler),
        _ => None,
    }
}

/// Latin words in which some letters are another alphabet's look-alikes.
fn find_mixed_words(line: &str, number: usize, start: usize, found: &mut Vec<Hidden>) {
    let mut word_start = None;
    for (at, character) in line.char_indices().chain([(line.len(), ' ')]) {
        if character.is_alphabetic() {
            word_start.get_or_insert(at);
            continue;
        }
        let Some(word) = word_start.take().and_then(|begin| Some((begin, line.get(begin..at)?))) else {
            continue;
        };
        let (begin, letters) = word;
        let foreign = |letter: char| is_greek(letter) || is_cyrillic(letter);
        let latin = letters.chars().filter(char::is_ascii_alphabetic).count();
        let mut others = letters.chars().filter(|letter| foreign(*letter)).peekable();
        if latin >= 2 && others.peek().is_some() && others.all(looks_latin) {
            let hidden = Hidden {
                line: number,
                offset: start + begin,
                length: letters.len(),
                class: Class::MixedAlphabets,
            };
            found.push(hidden);
        }
    }
}

fn is_tag(character: char) -> bool {
    matches!(character, '\u{e0020}'..='\u{e007f}')
}

fn is_right_to_left(character: char) -> bool {
    matches!(character, '\u{590}'..='\u{60f}' | '\u{61b}' | '\u{61d}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{1e800}'..='\u{1eeff}')
}

/// Scripts that write without spaces between words.
fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1980}'..='\u{19df}' | '\u{3040}'..='\u{30ff}' | '\u{f00}'..='\u{fff}')
}

/// Scripts whose letters change with what they are joined to.
fn is_joining(character: char) -> bool {
    matches!(character, '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1800}'..='\u{18af}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{a840}'..='\u{a8ff}' | '\u{11000}'..='\u{11fff}')
}

fn is_mongolian(character: char) -> bool {
    matches!(character, '\u{1800}'..='\u{18af}')
}

fn is_emoji_part(character: char) -> bool {
    matches!(character, '\u{fe0f}' | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{27bf}' | '\u{2900}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

fn can_be_selected(character: char) -> bool {
    is_emoji_part(character) && character != '\u{fe0f}'
        || is_ideograph(character)
        || is_mongolian(character)
        || matches!(character, '#' | '*' | '0'..='9' | '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2100}'..='\u{214f}' | '\u{2200}'..='\u{22ff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1000}'..='\u{109f}')
}

fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{2e80}'..='\u{2fdf}' | '\u{3001}'..='\u{3002}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff01}'..='\u{ff5e}' | '\u{20000}'..='\u{3ffff}')
}

fn is_jamo(character: char) -> bool {
    matches!(character, '\u{1100}'..='\u{115e}' | '\u{1161}'..='\u{11ff}')
}

fn is_braille(character: char) -> bool {
    matches!(character, '\u{2801}'..='\u{28ff}')
}

fn is_greek(character: char) -> bool {
    matches!(character, '\u{370}'..='\u{3ff}')
}

fn is_cyrillic(character: char) -> bool {
    matches!(character, '\u{400}'..='\u{52f}')
}

fn looks_latin(character: char) -> bool {
    "аеорсухіјѕһԁԛԝвкмнтАВЕКМНОРСТУХІЈЅՏԌԚԜοανρτυικωΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳ".contains(character)
}

#[cfg(test)]
mod tests;
