//! Splits text into words: lower case, without accents, identifiers in parts and whole, scripts without
//! spaces in pairs of characters. Knows nothing of stems and stop words.

use super::scripts::{fold, is_han, is_indic, is_unspaced};

/// Longer runs of letters are keys, hashes and encoded data: nobody asks for them by name.
const LONGEST_WORD: usize = 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Has a place in the text.
    Word,
    /// The whole of an identifier whose parts came before it, without what joins them: `maxWidth`,
    /// `max_width` and `max-width` are all `maxwidth`.
    Whole,
}

pub(super) fn each_word(text: &str, mut found: impl FnMut(&str, Role)) {
    let mut splitter = Splitter::default();
    let mut rest = text;
    loop {
        let start = rest.bytes().take_while(|byte| sort_of(*byte) == SEPARATOR).count();
        rest = rest.get(start..).unwrap_or_default();
        let mut sorts = 0;
        let length = rest.bytes().map(sort_of).take_while(|sort| *sort & (SEPARATOR | FOREIGN) == 0);
        let length = length.inspect(|sort| sorts |= sort).count();
        let next = rest.as_bytes().get(length).map(|byte| sort_of(*byte));
        if length == 0 && next.is_none() {
            return;
        }
        if next != Some(FOREIGN) {
            let (run, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
            rest = after;
            // Most words are of small letters and need no rules.
            let run = if sorts == SMALL { run } else { run.trim_matches(JOINERS) };
            let is_plain = sorts == SMALL || run.bytes().skip(1).all(|byte| sort_of(byte) == SMALL);
            match run.as_bytes().first() {
                None => {}
                Some(_) if is_plain && run.len() > LONGEST_WORD => {}
                Some(first) if is_plain && sort_of(*first) == SMALL => found(run, Role::Word),
                Some(_) if is_plain && run.len() > 1 => {
                    splitter.lower.push_str(run);
                    splitter.lower.make_ascii_lowercase();
                    splitter.flush(&mut found);
                }
                Some(_) => {
                    run.chars().for_each(|character| splitter.take(character, &mut found));
                    splitter.flush(&mut found);
                }
            }
            continue;
        }
        // Other scripts: one by one, up to where a new word can begin.
        let end = rest.bytes().position(|byte| sort_of(byte) == SEPARATOR).unwrap_or(rest.len());
        let (run, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        run.chars().for_each(|character| splitter.take(character, &mut found));
        splitter.flush(&mut found);
        splitter.end_run(&mut found);
        rest = after;
    }
}

const JOINERS: [char; 4] = ['_', '-', '.', '\''];
const SMALL: u8 = 1;
/// Capitals, digits and what joins.
const OTHER: u8 = 2;
const SEPARATOR: u8 = 4;
const FOREIGN: u8 = 8;

fn sort_of(byte: u8) -> u8 {
    const SORTS: [u8; 256] = {
        let mut sorts = [SEPARATOR; 256];
        let mut byte = 0;
        while byte < 256 {
            #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
            {
                sorts[byte] = match byte as u8 {
                    b'a'..=b'z' => SMALL,
                    b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'\'' => OTHER,
                    0x80.. => FOREIGN,
                    _ => SEPARATOR,
                };
            }
            byte += 1;
        }
        sorts
    };
    SORTS.get(usize::from(byte)).copied().unwrap_or(SEPARATOR)
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Class {
    #[default]
    Lower,
    Upper,
    Digit,
}

/// A run of letters, digits and what joins them, in lower case as far as it was read.
#[derive(Default)]
struct Splitter {
    lower: String,
    /// Where parts begin, without the first.
    starts: Vec<usize>,
    last_class: Class,
    last_length: usize,
    /// How many capitals stand at the end.
    capitals: usize,
    /// A joiner was read and waits for what follows it.
    joined: bool,
    /// Where the last apostrophe was.
    apostrophe: Option<usize>,
    /// The last boundary is that of `HTTPServer`, which `APIs` does not have.
    after_capitals: bool,
    /// The last character of a run of a script without spaces, and whether it is the first.
    run: Option<(char, bool)>,
    pair: String,
}

impl Splitter {
    #[inline]
    fn take(&mut self, character: char, found: &mut impl FnMut(&str, Role)) {
        if character.is_ascii() {
            if self.run.is_some() {
                self.end_run(found);
            }
            match character {
                'a'..='z' => self.push(character, Class::Lower),
                'A'..='Z' => self.push(character.to_ascii_lowercase(), Class::Upper),
                '0'..='9' => self.push(character, Class::Digit),
                '_' | '-' | '.' if !self.joined && !self.lower.is_empty() => self.joined = true,
                '\'' if !self.joined && !self.lower.is_empty() => self.apostrophe = Some(self.lower.len()),
                _ => self.flush(found),
            }
            return;
        }
        self.take_unicode(character, found);
    }

    fn take_unicode(&mut self, character: char, found: &mut impl FnMut(&str, Role)) {
        let character = fold(character);
        match character {
            // Accents that stand by themselves, soft hyphens, joiners and marks without width are not there.
            '\u{300}'..='\u{36f}' | '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => {}
            '\u{2019}' if !self.joined && !self.lower.is_empty() => self.apostrophe = Some(self.lower.len()),
            _ if character.is_ascii() => self.take(character, found),
            _ if is_unspaced(character) => {
                self.flush(found);
                self.take_unspaced(character, found);
            }
            _ if character.is_alphanumeric() || is_indic(character) => {
                self.end_run(found);
                let class = if character.is_numeric() {
                    Class::Digit
                } else if character.is_uppercase() {
                    Class::Upper
                } else {
                    Class::Lower
                };
                let mut class = Some(class);
                for lower in character.to_lowercase().filter(|lower| !('\u{300}'..='\u{36f}').contains(lower))
                {
                    self.push(fold(lower), class.take().unwrap_or(self.last_class));
                }
            }
            _ => {
                self.flush(found);
                self.end_run(found);
            }
        }
    }

    #[inline]
    fn push(&mut self, lower: char, class: Class) {
        let at = self.lower.len();
        if at > 0 {
            if self.joined {
                self.starts.push(at);
                self.after_capitals = false;
            } else if class != self.last_class {
                match (self.last_class, class) {
                    (Class::Upper, Class::Lower) => {
                        if self.capitals > 1 {
                            self.starts.push(at - self.last_length);
                            self.after_capitals = true;
                        }
                    }
                    _ => {
                        self.starts.push(at);
                        self.after_capitals = false;
                    }
                }
            }
        }
        self.capitals = match class {
            Class::Upper if self.joined => 1,
            Class::Upper => self.capitals + 1,
            _ => 0,
        };
        self.joined = false;
        self.last_class = class;
        self.last_length = lower.len_utf8();
        self.lower.push(lower);
    }

    fn flush(&mut self, found: &mut impl FnMut(&str, Role)) {
        if !self.lower.is_empty() {
            self.hand_out(found);
            self.lower.clear();
            self.starts.clear();
            self.after_capitals = false;
            self.apostrophe = None;
            self.capitals = 0;
        }
        self.joined = false;
    }

    fn hand_out(&mut self, found: &mut impl FnMut(&str, Role)) {
        if let Some(at) = self.apostrophe
            && self.lower.get(at..) == Some("s")
        {
            self.lower.truncate(at);
        }
        // The plural of an abbreviation, as in `APIs`, is no part.
        if self.after_capitals
            && self.starts.last().is_some_and(|start| self.lower.get(start + 1..) == Some("s"))
        {
            self.starts.pop();
        }
        if self.starts.is_empty() {
            if self.lower.len() <= LONGEST_WORD {
                found(&self.lower, Role::Word);
            }
            return;
        }
        let ends = self.starts.iter().copied().chain([self.lower.len()]);
        for (start, end) in [0].into_iter().chain(self.starts.iter().copied()).zip(ends) {
            // Single letters out of an identifier say nothing.
            if let Some(part) = self.lower.get(start..end)
                && (2..=LONGEST_WORD).contains(&part.len())
            {
                found(part, Role::Word);
            }
        }
        if self.lower.len() <= LONGEST_WORD {
            found(&self.lower, Role::Whole);
        }
    }

    fn take_unspaced(&mut self, character: char, found: &mut impl FnMut(&str, Role)) {
        if let Some((last, _)) = self.run {
            self.pair.clear();
            self.pair.push(last);
            self.pair.push(character);
            found(&self.pair, Role::Word);
        }
        // A single one of these is often a word.
        if is_han(character) {
            self.pair.clear();
            self.pair.push(character);
            found(&self.pair, Role::Whole);
        }
        self.run = Some((character, self.run.is_none()));
    }

    fn end_run(&mut self, found: &mut impl FnMut(&str, Role)) {
        if let Some((character, true)) = self.run
            && !is_han(character)
        {
            self.pair.clear();
            self.pair.push(character);
            found(&self.pair, Role::Word);
        }
        self.run = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let mut words = Vec::new();
        each_word(text, |word, role| {
            words.push(match role {
                Role::Word => word.to_owned(),
                Role::Whole => format!("={word}"),
            });
        });
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn plain_text_is_lower_case_words() {
        check("Run the Tests, please!", "run the tests please");
        check("don't touch the user's file’s end", "dont touch the user file end");
    }

    #[test]
    fn identifiers_come_in_parts_and_whole() {
        check("maxWidth max_width max-width", "max width =maxwidth max width =maxwidth max width =maxwidth");
        check("HTTPServer APIs parseURLs", "http server =httpserver apis parse urls =parseurls");
        check("utf8 FURB101 k8s", "utf =utf8 furb 101 =furb101 =k8s");
        check("src/main.rs C:\\Temp\\a_b", "src main rs =mainrs c temp =ab");
        check("__init__ --dry-run v1.2", "init dry run =dryrun =v12");
    }

    #[test]
    fn scripts_without_spaces_come_in_pairs() {
        check("数据库 ok", "=数 数据 =据 据库 =库 ok");
        check("テスト", "テス スト");
        check("데이터를 쓴다", "데이 이터 터를 쓴다");
        check("の", "の");
        check("用Rust写", "=用 rust =写");
    }

    #[test]
    fn accents_and_widths_do_not_matter() {
        check("Café cafe\u{301} ＡＰＩ Łódź", "cafe cafe api lodz");
        check("Straße ПРИВЕТ", "straße привет");
    }

    #[test]
    fn encoded_data_and_control_characters_are_no_words() {
        check(&format!("a {} b", "x".repeat(500)), "a b");
        check("a\0b\u{7}\u{202e}c\u{feff}d", "a b cd");
    }
}
