//! Memories that say the same: one of them will be corrected and the other not.
//!
//! Equal are bodies with the same words; nearly equal, those that share nine in ten of their pairs of neighbouring
//! words. Candidates are found by the smallest hashes of these pairs, in bands, so that many memories are not compared
//! each with each.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher as _};

use super::{Document, Finding, Role, code};
use crate::Topic;

/// What is compared of a body.
const LONGEST: usize = 64 << 10;
/// With fewer words only the very same count.
const FEW_WORDS: usize = 8;
/// 16 bands of 4: of pairs that share nine tenths, one in 20 million is overlooked.
const BANDS: u64 = 16;
const ROWS: u64 = 4;
/// Others in a band that one is compared with; in a crowd of look-alikes, those before it.
const COMPARED: usize = 16;

/// Another memory that says the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// Relative to the memory directory.
    pub of: String,
    pub is_exact: bool,
}

struct Body<'a> {
    document: &'a Document,
    words: Vec<u64>,
    pairs: HashSet<u64>,
}

impl Duplicate {
    pub(super) fn finding(&self, memory: &Document) -> Finding {
        let how = if self.is_exact { "the same as" } else { "nearly the same as" };
        let begin = memory.text.len() - Topic::parse(&memory.text).body.trim_start().len();
        let message = format!("this says {how} {}: merge them", self.of);
        memory.finding(memory.line_at(begin), code::DUPLICATE, message)
    }
}

pub(super) fn find(documents: &[Document]) -> HashMap<String, Duplicate> {
    let mut found = HashMap::new();
    let mut add = |body: &Body<'_>, of: &Body<'_>, is_exact: bool| {
        let duplicate = Duplicate { of: of.document.relative.clone(), is_exact };
        found.insert(body.document.relative.clone(), duplicate);
    };
    let memories = documents.iter().filter(|document| document.role == Role::Memory);
    let bodies: Vec<Body<'_>> = memories.map(Body::new).filter(|body| !body.words.is_empty()).collect();
    let mut same: HashMap<u64, usize> = HashMap::new();
    let mut bands: HashMap<(u64, u64), Vec<usize>> = HashMap::new();
    for (place, body) in bodies.iter().enumerate() {
        // One that says exactly the same has been compared with all others.
        let first = *same.entry(hash_of(&body.words)).or_insert(place);
        if first != place {
            if let Some(first) = bodies.get(first) {
                add(body, first, true);
            }
            continue;
        }
        if body.words.len() < FEW_WORDS {
            continue;
        }
        let mut candidates: Vec<usize> = Vec::new();
        for band in body.bands() {
            let others = bands.entry(band).or_default();
            candidates.extend(others.iter().take(COMPARED));
            others.push(place);
        }
        candidates.sort_unstable();
        candidates.dedup();
        let nearly =
            candidates.into_iter().filter_map(|place| bodies.get(place)).find(|other| body.is_nearly(other));
        if let Some(other) = nearly {
            add(body, other, false);
        }
    }
    found
}

impl<'a> Body<'a> {
    fn new(document: &'a Document) -> Self {
        let topic = Topic::parse(&document.text);
        let body = topic.body.get(..topic.body.floor_char_boundary(LONGEST)).unwrap_or_default();
        let words = words_of(body);
        let pairs = words.windows(2).map(hash_of).collect();
        Self { document, words, pairs }
    }

    /// At least nine of ten pairs are in both.
    fn is_nearly(&self, other: &Self) -> bool {
        let both = self.pairs.intersection(&other.pairs).count();
        let either = self.pairs.len() + other.pairs.len() - both;
        both * 10 >= either * 9
    }

    fn bands(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..BANDS).map(|band| {
            let smallest = (0..ROWS).map(|row| {
                let seed = band * ROWS + row + 1;
                self.pairs.iter().map(|pair| mixed(*pair, seed)).min().unwrap_or_default()
            });
            (band, hash_of(&smallest.collect::<Vec<u64>>()))
        })
    }
}

/// Hashes of the words: lower case, without marks; a sign of a script without spaces is a word.
fn words_of(text: &str) -> Vec<u64> {
    let mut words = Vec::new();
    let mut word = String::new();
    for character in text.chars().chain([' ']).flat_map(char::to_lowercase) {
        let is_sign = matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}');
        if character.is_alphanumeric() && !is_sign {
            word.push(character);
            continue;
        }
        if !word.is_empty() {
            words.push(hash_of(&word));
            word.clear();
        }
        if is_sign {
            words.push(hash_of(&character));
        }
    }
    words
}

fn hash_of<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// One of many orders of the same hashes (the finaliser of SplitMix64).
fn mixed(hash: u64, seed: u64) -> u64 {
    let mut mixed = hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
