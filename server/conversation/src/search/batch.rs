//! Messages on their way into a segment: gathered in memory until there are enough of them.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    io,
    path::Path,
};

use super::{
    said::Said,
    segment::{Document, Writer},
    words::each_word,
};

/// How often words may occur in messages until the batch is full: some megabytes.
const MOST_OCCURRENCES: usize = 250_000;
const MOST_WORDS: usize = 40_000;

#[derive(Default)]
pub(super) struct Batch {
    documents: Vec<Document>,
    words: HashMap<Box<str>, u32, BuildHasherDefault<QuickHasher>>,
    /// By word: the message that has it last, so that it counts once in each.
    last: Vec<u32>,
    /// Word and message.
    occurrences: Vec<(u32, u32)>,
}

impl Batch {
    pub(super) fn add(&mut self, said: &Said, generation: u64, offset: u64, length: u32) {
        let Ok(number) = u32::try_from(self.documents.len()) else { return };
        self.documents.push(Document {
            uuid: said.uuid,
            parent: said.parent.unwrap_or_default(),
            when: said.timestamp.as_millisecond(),
            generation,
            offset,
            length,
            speaker: said.speaker,
        });
        each_word(&said.text, |word, _| {
            let id = match self.words.get(word) {
                Some(id) => *id,
                None => {
                    let id = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
                    self.words.insert(word.into(), id);
                    self.last.push(u32::MAX);
                    id
                }
            };
            if let Some(last) = self.last.get_mut(id as usize)
                && *last != number
            {
                *last = number;
                self.occurrences.push((id, number));
            }
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.occurrences.len() >= MOST_OCCURRENCES || self.words.len() >= MOST_WORDS
    }

    pub(super) fn write(self, path: &Path) -> io::Result<()> {
        let Self { documents, words, occurrences, .. } = self;
        // Messages are numbered by time, words by their order.
        let mut by_time: Vec<u32> =
            (0..documents.len()).filter_map(|number| u32::try_from(number).ok()).collect();
        by_time.sort_by_key(|number| documents.get(*number as usize).map(|document| document.when));
        let document_numbers = inverse(&by_time);
        let mut sorted: Vec<(&str, u32)> = words.iter().map(|(word, id)| (&**word, *id)).collect();
        sorted.sort_unstable();
        let word_numbers = inverse(&sorted.iter().map(|(_, id)| *id).collect::<Vec<_>>());
        // By word: where its list ends, then, as it is filled from behind, where it begins.
        let mut ends = vec![0_u32; sorted.len() + 1];
        for (word, _) in &occurrences {
            let number = word_numbers.get(*word as usize).copied().unwrap_or_default();
            if let Some(end) = ends.get_mut(number as usize) {
                *end += 1;
            }
        }
        let mut total = 0;
        for end in &mut ends {
            total += *end;
            *end = total;
        }
        let mut lists = vec![0_u32; occurrences.len()];
        for (word, document) in occurrences {
            let number = word_numbers.get(word as usize).copied().unwrap_or_default();
            if let Some(end) = ends.get_mut(number as usize) {
                *end -= 1;
                if let Some(place) = lists.get_mut(*end as usize) {
                    *place = document_numbers.get(document as usize).copied().unwrap_or_default();
                }
            }
        }
        let in_order = by_time.iter().filter_map(|number| documents.get(*number as usize)).copied().map(Ok);
        let mut writer = Writer::create(path, in_order)?;
        for ((word, _), bounds) in sorted.iter().zip(ends.windows(2)) {
            let [start, end] = bounds else { continue };
            if let Some(list) = lists.get_mut(*start as usize..*end as usize) {
                list.sort_unstable();
                writer.word(word, list)?;
            }
        }
        writer.finish()
    }
}

/// Where each number is in the list.
fn inverse(list: &[u32]) -> Vec<u32> {
    let mut inverse = vec![0; list.len()];
    for (number, at) in list.iter().zip(0..) {
        if let Some(place) = inverse.get_mut(*number as usize) {
            *place = at;
        }
    }
    inverse
}

/// For short words that nobody chooses against us: a slow batch is all that could come of it, and it is bounded.
#[derive(Default)]
struct QuickHasher(u64);

impl Hasher for QuickHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<8>();
        for chunk in chunks {
            self.mix(u64::from_le_bytes(*chunk));
        }
        let last = rest.iter().fold(rest.len() as u64, |last, byte| last << 8 | u64::from(*byte));
        self.mix(last);
    }

    fn write_u8(&mut self, byte: u8) {
        self.mix(u64::from(byte));
    }

    fn finish(&self) -> u64 {
        // The table looks at the topmost and the lowest bits.
        self.0 ^ (self.0 >> 29)
    }
}

impl QuickHasher {
    fn mix(&mut self, more: u64) {
        self.0 = (self.0.rotate_left(5) ^ more).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}
