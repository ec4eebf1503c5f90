//! The words of the store, numbered by their stems, in one piece of memory.

use std::ops::Range;

use super::{
    lexicon::{Worth, is_common, is_stop},
    stem::stem,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Term(pub(super) u32);

#[derive(Default)]
pub(super) struct Vocabulary {
    stems: Names,
    worths: Vec<Worth>,
}

impl Vocabulary {
    pub(super) fn len(&self) -> usize {
        self.worths.len()
    }

    pub(super) fn find(&self, stem: &str) -> Option<Term> {
        self.stems.find(stem).map(Term)
    }

    pub(super) fn stem(&self, term: Term) -> &str {
        self.stems.name(term.0)
    }

    /// All stems, in the order of their terms.
    pub(super) fn stems(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).map(|number| self.stems.name(number))
    }

    pub(super) fn worth(&self, term: Term) -> Worth {
        self.worths.get(term.0 as usize).copied().unwrap_or(Worth::Telling)
    }

    pub(super) fn intern(&mut self, stem: &str) -> Term {
        let number = self.stems.intern(stem);
        if number as usize == self.worths.len() {
            self.worths.push(match stem {
                _ if is_stop(stem) => Worth::Stop,
                _ if is_common(stem) => Worth::Common,
                _ => Worth::Telling,
            });
        }
        Term(number)
    }
}

/// Remembers what became of words as they are written, while many are read.
#[derive(Default)]
pub(super) struct Cache {
    words: Names,
    terms: Vec<(Term, bool)>,
    stem: String,
}

impl Cache {
    /// The word's term and whether it is a stop word.
    pub(super) fn term(&mut self, word: &str, vocabulary: &mut Vocabulary) -> (Term, bool) {
        let number = self.words.intern(word) as usize;
        if let Some(known) = self.terms.get(number) {
            return *known;
        }
        self.stem.clear();
        self.stem.push_str(word);
        let stops = is_stop(word);
        if !stops {
            stem(&mut self.stem);
        }
        let term = vocabulary.intern(&self.stem);
        self.terms.push((term, stops));
        (term, stops)
    }
}

/// Texts numbered in the order in which they come: one string and a table with open addresses.
#[derive(Default)]
struct Names {
    text: String,
    ends: Vec<u32>,
    /// Hash and number plus one, zero where nothing is; as long as a power of two, at most half full.
    table: Vec<(u32, u32)>,
}

impl Names {
    fn name(&self, number: u32) -> &str {
        self.text.get(self.range(number)).unwrap_or_default()
    }

    fn is(&self, number: u32, name: &str) -> bool {
        self.text.as_bytes().get(self.range(number)) == Some(name.as_bytes())
    }

    fn range(&self, number: u32) -> Range<usize> {
        let at = number as usize;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end as usize);
        start..self.ends.get(at).map_or(start, |end| *end as usize)
    }

    fn find(&self, name: &str) -> Option<u32> {
        self.place(name, hash(name.as_bytes())).ok()
    }

    fn intern(&mut self, name: &str) -> u32 {
        if self.ends.len() * 2 >= self.table.len() {
            self.grow();
        }
        let hash = hash(name.as_bytes());
        let place = match self.place(name, hash) {
            Ok(number) => return number,
            Err(place) => place,
        };
        self.text.push_str(name);
        self.ends.push(self.text.len() as u32);
        let number = self.ends.len() as u32;
        if let Some(entry) = self.table.get_mut(place) {
            *entry = (hash, number);
        }
        number - 1
    }

    /// The name's number, or its place in the table.
    fn place(&self, name: &str, hash: u32) -> Result<u32, usize> {
        let mask = self.table.len().wrapping_sub(1);
        let mut place = hash as usize & mask;
        loop {
            match self.table.get(place) {
                None | Some((_, 0)) => return Err(place),
                Some((other, number)) if *other == hash && self.is(number - 1, name) => return Ok(number - 1),
                Some(_) => place = (place + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        let length = (self.table.len() * 2).max(64);
        let old = std::mem::replace(&mut self.table, vec![(0, 0); length]);
        for (hash, number) in old.into_iter().filter(|(_, number)| *number != 0) {
            let mut place = hash as usize & (length - 1);
            while self.table.get(place).is_some_and(|(_, number)| *number != 0) {
                place = (place + 1) & (length - 1);
            }
            if let Some(entry) = self.table.get_mut(place) {
                *entry = (hash, number);
            }
        }
    }
}

/// Quick; words that nobody chooses against us need no more.
fn hash(bytes: &[u8]) -> u32 {
    let mix = |hash: u64, more: u64| (hash.rotate_left(5) ^ more).wrapping_mul(0x517c_c1b7_2722_0a95);
    let mut hash = bytes.len() as u64;
    let (chunks, rest) = bytes.as_chunks::<8>();
    for chunk in chunks {
        hash = mix(hash, u64::from_le_bytes(*chunk));
    }
    // What is left is read twice where it overlaps, which is quicker than byte by byte.
    let last = match (rest.first_chunk::<4>(), rest.last_chunk::<4>(), rest) {
        (Some(first), Some(last), _) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        (_, _, [one]) => u64::from(*one),
        (_, _, [one, two]) => u64::from(*one) << 8 | u64::from(*two),
        (_, _, [one, two, three]) => u64::from(*one) << 16 | u64::from(*two) << 8 | u64::from(*three),
        _ => 0,
    };
    (mix(hash, last) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_keeps_its_number_while_the_table_grows() {
        let mut names = Names::default();
        let all: Vec<String> = (0..5000).map(|number| format!("name{number}")).collect();
        for (name, number) in all.iter().zip(0..) {
            assert_eq!(names.find(name), None);
            assert_eq!(names.intern(name), number);
        }
        for (name, number) in all.iter().zip(0..) {
            assert_eq!(names.find(name), Some(number));
            assert_eq!(names.intern(name), number);
            assert_eq!(names.name(number), name);
        }
    }

    #[test]
    fn forms_of_a_word_are_one_term() {
        let (mut vocabulary, mut cache) = (Vocabulary::default(), Cache::default());
        let term = cache.term("testing", &mut vocabulary).0;
        assert_eq!(cache.term("tests", &mut vocabulary), (term, false));
        assert_eq!(vocabulary.find("test"), Some(term));
        assert!(cache.term("the", &mut vocabulary).1);
    }
}
