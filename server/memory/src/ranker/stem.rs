//! English word stems, by the Snowball English algorithm ("Porter 2").
//!
//! Words of other scripts and words with digits pass through unchanged: stems would do more harm than good.

mod suffixes;

use suffixes::{EXCEPTIONS, FOURTH, INVARIANT, SECOND, THIRD};

const VOWELS: &[u8] = b"aeiouy";
const DOUBLES: &[&[u8]] = &[b"bb", b"dd", b"ff", b"gg", b"mm", b"nn", b"pp", b"rr", b"tt"];

/// Stems a lower-case word in place.
pub(super) fn stem(word: &mut String) {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    if let Some((_, stem)) = EXCEPTIONS.iter().find(|(exception, _)| exception == word) {
        word.clear();
        word.push_str(stem);
        return;
    }
    let mut letters = Letters::of(std::mem::take(word).into_bytes());
    letters.plural();
    if !INVARIANT.iter().any(|invariant| invariant.as_bytes() == letters.bytes) {
        letters.past_and_gerund();
        letters.final_y();
        letters.second();
        letters.third();
        letters.fourth();
        letters.fifth();
    }
    letters.bytes.make_ascii_lowercase();
    *word = String::from_utf8(letters.bytes).unwrap_or_default();
}

/// A word, its consonant y written as Y, and where its two regions begin.
struct Letters {
    bytes: Vec<u8>,
    first: usize,
    second: usize,
}

impl Letters {
    fn of(mut bytes: Vec<u8>) -> Self {
        let mut after_vowel = true;
        for byte in &mut bytes {
            if *byte == b'y' && after_vowel {
                *byte = b'Y';
            }
            after_vowel = VOWELS.contains(byte);
        }
        let prefix = ["gener", "commun", "arsen"].iter().find(|prefix| bytes.starts_with(prefix.as_bytes()));
        let first = prefix.map_or_else(|| region(&bytes, 0), |prefix| prefix.len());
        let second = region(&bytes, first);
        Self { bytes, first, second }
    }

    fn plural(&mut self) {
        if self.ends_with("sses") {
            self.drop_last(2);
        } else if self.ends_with("ied") || self.ends_with("ies") {
            self.drop_last(if self.bytes.len() > 4 { 2 } else { 1 });
        } else if self.ends_with("us") || self.ends_with("ss") {
        } else if self.ends_with("s") && self.has_vowel_before(2) {
            self.drop_last(1);
        }
    }

    fn past_and_gerund(&mut self) {
        if self.ends_with("eed") || self.ends_with("eedly") {
            let length = if self.ends_with("eed") { 3 } else { 5 };
            if self.in_first(length) {
                self.drop_last(length - 2);
            }
            return;
        }
        let Some(suffix) = ["ingly", "edly", "ing", "ed"].into_iter().find(|suffix| self.ends_with(suffix))
        else {
            return;
        };
        if !self.has_vowel_before(suffix.len()) {
            return;
        }
        self.drop_last(suffix.len());
        if ["at", "bl", "iz"].iter().any(|end| self.ends_with(end)) {
            self.bytes.push(b'e');
        } else if DOUBLES.iter().any(|double| self.bytes.ends_with(double)) {
            self.drop_last(1);
        } else if self.first >= self.bytes.len() && ends_in_short_syllable(&self.bytes) {
            self.bytes.push(b'e');
        }
    }

    fn final_y(&mut self) {
        if let [_, .., before, last @ (b'y' | b'Y')] = self.bytes.as_mut_slice()
            && !VOWELS.contains(before)
        {
            *last = b'i';
        }
    }

    fn second(&mut self) {
        if let Some((suffix, instead)) = SECOND.iter().find(|(suffix, _)| self.ends_with(suffix)) {
            if self.in_first(suffix.len()) {
                self.replace(suffix.len(), instead);
            }
        } else if self.ends_with("ogi") {
            if self.in_first(3) && self.before(3) == Some(b'l') {
                self.drop_last(1);
            }
        } else if self.ends_with("li")
            && self.in_first(2)
            && self.before(2).is_some_and(|letter| b"cdeghkmnrt".contains(&letter))
        {
            self.drop_last(2);
        }
    }

    fn third(&mut self) {
        if let Some((suffix, instead)) = THIRD.iter().find(|(suffix, _)| self.ends_with(suffix)) {
            if self.in_first(suffix.len()) {
                self.replace(suffix.len(), instead);
            }
        } else if self.ends_with("ative") && self.in_second(5) {
            self.drop_last(5);
        }
    }

    fn fourth(&mut self) {
        if let Some(suffix) = FOURTH.iter().find(|suffix| self.ends_with(suffix)) {
            if self.in_second(suffix.len()) {
                self.drop_last(suffix.len());
            }
        } else if self.ends_with("ion")
            && self.in_second(3)
            && self.before(3).is_some_and(|letter| letter == b's' || letter == b't')
        {
            self.drop_last(3);
        }
    }

    fn fifth(&mut self) {
        if self.ends_with("e") {
            let stays = self.bytes.split_last().is_some_and(|(_, rest)| ends_in_short_syllable(rest));
            if self.in_second(1) || self.in_first(1) && !stays {
                self.drop_last(1);
            }
        } else if self.ends_with("ll") && self.in_second(1) {
            self.drop_last(1);
        }
    }

    fn ends_with(&self, suffix: &str) -> bool {
        self.bytes.ends_with(suffix.as_bytes())
    }

    fn in_first(&self, suffix: usize) -> bool {
        self.bytes.len() >= self.first + suffix
    }

    fn in_second(&self, suffix: usize) -> bool {
        self.bytes.len() >= self.second + suffix
    }

    /// The letter before a suffix of this length.
    fn before(&self, suffix: usize) -> Option<u8> {
        self.bytes.iter().rev().nth(suffix).copied()
    }

    fn has_vowel_before(&self, suffix: usize) -> bool {
        self.bytes.iter().rev().skip(suffix).any(|letter| VOWELS.contains(letter))
    }

    fn drop_last(&mut self, count: usize) {
        self.bytes.truncate(self.bytes.len().saturating_sub(count));
    }

    fn replace(&mut self, suffix: usize, instead: &str) {
        self.drop_last(suffix);
        self.bytes.extend_from_slice(instead.as_bytes());
    }
}

/// Where the region begins after the first consonant that follows a vowel, from a place on.
fn region(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let found = rest.windows(2).position(
        |pair| matches!(pair, [first, second] if VOWELS.contains(first) && !VOWELS.contains(second)),
    );
    found.map_or(bytes.len(), |at| from + at + 2)
}

fn ends_in_short_syllable(bytes: &[u8]) -> bool {
    match bytes {
        [vowel, consonant] => VOWELS.contains(vowel) && !VOWELS.contains(consonant),
        [.., before, vowel, last] => {
            !VOWELS.contains(before)
                && VOWELS.contains(vowel)
                && !VOWELS.contains(last)
                && !b"wxY".contains(last)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &str, stems: &str) {
        let stemmed: Vec<String> = words
            .split(' ')
            .map(|word| {
                let mut word = word.to_owned();
                stem(&mut word);
                word
            })
            .collect();
        assert_eq!(stemmed.join(" "), stems);
    }

    #[test]
    fn forms_of_one_word_share_a_stem() {
        check(
            "connect connected connecting connection connections",
            "connect connect connect connect connect",
        );
        check("consign consigned consigning consignment", "consign consign consign consign");
        check(
            "generate generates generating generation generator",
            "generat generat generat generat generat",
        );
    }

    #[test]
    fn the_published_examples_come_out_as_published() {
        check(
            "knack knackeries knaves knavish knees kneel knightly knitting",
            "knack knackeri knave knavish knee kneel knight knit",
        );
        check(
            "consolingly conspicuous conspiracy constancy constable",
            "consol conspicu conspiraci constanc constabl",
        );
        check(
            "hopping hoping falling bed shed happy cry by say ties cries",
            "hop hope fall bed shed happi cri by say tie cri",
        );
        check(
            "rational relational national sensibility vietnamization",
            "ration relat nation sensibl vietnam",
        );
        check("youth toy boyish flying yes", "youth toy boyish fli yes");
    }

    #[test]
    fn exceptions_and_short_words_stay() {
        check("news is as skies proceed atlas", "news is as sky proceed atlas");
    }

    #[test]
    fn other_scripts_and_digits_pass_through() {
        check("naïves utf8s ёлки s", "naïves utf8s ёлки s");
    }
}
