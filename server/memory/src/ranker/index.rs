//! What is kept of the documents: the words of each in order, and for each word the documents that have it.
//!
//! Single changes are made in place; all that ranking looks at is the same as after a new build.

use std::{
    collections::{HashMap, HashSet},
    thread,
};

use super::{
    Document, Kind,
    reading::{Part, WHOLE},
    vocabulary::{Term, Vocabulary},
};

pub(super) const FIELDS: usize = 3;
pub(super) const NAME: usize = 0;
pub(super) const DESCRIPTION: usize = 1;
pub(super) const BODY: usize = 2;

/// What a word's occurrence counts in the name, the description and the body.
const WEIGHTS: [f32; FIELDS] = [3.0, 2.0, 1.0];
/// How much longer fields than usual count less.
const LENGTH_MATTERS: [f32; FIELDS] = [0.5, 0.3, 0.5];
const FEWEST_GAPS: usize = 256;
const MOST_THREADS: usize = 4;
const FEWEST_FOR_A_THREAD: usize = 256;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Posting {
    pub(super) document: u32,
    /// How often the word is in the body, the name and the description, up to what fits.
    body: u16,
    name: u8,
    description: u8,
}

impl Posting {
    pub(super) fn of(document: u32) -> Self {
        Self { document, ..Self::default() }
    }

    pub(super) fn counts(self) -> [f32; FIELDS] {
        [f32::from(self.name), f32::from(self.description), f32::from(self.body)]
    }

    pub(super) fn count(&mut self, field: usize) {
        match field {
            NAME => self.name = self.name.saturating_add(1),
            DESCRIPTION => self.description = self.description.saturating_add(1),
            _ => self.body = self.body.saturating_add(1),
        }
    }
}

/// One document as it is kept.
pub(super) struct Entry {
    pub(super) id: Box<str>,
    pub(super) kind: Option<Kind>,
    pub(super) modified: i64,
    pub(super) recalled: u32,
    pub(super) cited: u32,
    /// Terms, marked where they are wholes.
    pub(super) words: Box<[u32]>,
    /// Where the description and where the body begins.
    pub(super) starts: [u32; 2],
    pub(super) lengths: [u32; FIELDS],
}

#[derive(Default)]
pub(super) struct Index {
    pub(super) vocabulary: Vocabulary,
    /// By number; what was removed leaves a gap.
    pub(super) entries: Vec<Option<Entry>>,
    numbers: HashMap<Box<str>, u32>,
    /// By term, each in the order of documents.
    postings: Vec<Vec<Posting>>,
    total_lengths: [u64; FIELDS],
    /// By number: what an occurrence in each field of this document counts.
    weights: Vec<[f32; FIELDS]>,
}

impl Index {
    pub(super) fn build(documents: Vec<Document>) -> Self {
        let mut documents = last_of_each_id(documents);
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let share = documents.len().div_ceil(threads).max(FEWEST_FOR_A_THREAD);
        let mut shares = Vec::new();
        while !documents.is_empty() {
            let rest = documents.split_off(documents.len().min(share));
            shares.push(std::mem::replace(&mut documents, rest));
        }
        let mut index = Self::default();
        thread::scope(|scope| {
            let mut shares = shares.into_iter();
            let first = shares.next();
            let others: Vec<_> = shares.map(|share| scope.spawn(move || Part::read(share))).collect();
            if let Some(first) = first {
                index.append(Part::read(first));
            }
            for other in others {
                // A thread can only die of a bug in reading; what the others read is still of use.
                if let Ok(part) = other.join() {
                    index.append(part);
                }
            }
        });
        index.weigh();
        index
    }

    pub(super) fn update(&mut self, document: Document) {
        self.take_out(&document.id);
        self.append(Part::read(vec![document]));
        self.tidy();
        self.weigh();
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.take_out(id);
        self.tidy();
        self.weigh();
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(super) fn postings(&self, term: Term) -> &[Posting] {
        self.postings.get(term.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// How much it says that a document has the word: the rarer, the more.
    pub(super) fn rarity(&self, term: Term) -> f32 {
        rarity(self.len(), self.postings(term).len())
    }

    pub(super) fn weights(&self, document: u32) -> [f32; FIELDS] {
        self.weights.get(document as usize).copied().unwrap_or_default()
    }

    pub(super) fn entry(&self, document: u32) -> Option<&Entry> {
        self.entries.get(document as usize)?.as_ref()
    }

    fn append(&mut self, part: Part) {
        let Part { vocabulary, entries, postings, frequencies } = part;
        let base = self.entries.len() as u32;
        // The numbers of the first part are those of the index.
        let terms: Option<Vec<u32>> = if self.vocabulary.len() == 0 {
            self.vocabulary = vocabulary;
            None
        } else {
            Some(vocabulary.stems().map(|stem| self.vocabulary.intern(stem).0).collect())
        };
        let of = |term: u32| match &terms {
            None => term,
            Some(terms) => terms.get(term as usize).copied().unwrap_or(term),
        };
        self.postings.resize_with(self.vocabulary.len(), Vec::new);
        if entries.len() > 1 {
            for (frequency, term) in frequencies.iter().zip(0..) {
                if let Some(list) = self.postings.get_mut(of(term) as usize) {
                    list.reserve_exact(*frequency as usize);
                }
            }
        }
        for (term, posting) in postings {
            if let Some(list) = self.postings.get_mut(of(term.0) as usize) {
                list.push(Posting { document: posting.document + base, ..posting });
            }
        }
        for (mut entry, number) in entries.into_iter().zip(base..) {
            if terms.is_some() {
                for word in &mut entry.words {
                    *word = of(*word & !WHOLE) | *word & WHOLE;
                }
            }
            for (total, length) in self.total_lengths.iter_mut().zip(entry.lengths) {
                *total += u64::from(length);
            }
            self.numbers.insert(entry.id.clone(), number);
            self.entries.push(Some(entry));
        }
    }

    fn take_out(&mut self, id: &str) {
        let Some(number) = self.numbers.remove(id) else { return };
        let Some(entry) = self.entries.get_mut(number as usize).and_then(Option::take) else { return };
        for (total, length) in self.total_lengths.iter_mut().zip(entry.lengths) {
            *total = total.saturating_sub(u64::from(length));
        }
        for word in &entry.words {
            // A word that occurs again is gone already.
            if let Some(list) = self.postings.get_mut((word & !WHOLE) as usize)
                && let Ok(at) = list.binary_search_by_key(&number, |posting| posting.document)
            {
                list.remove(at);
            }
        }
    }

    /// Closes the gaps once there are many, and forgets words that nobody uses any more.
    fn tidy(&mut self) {
        let gaps = self.entries.len() - self.len();
        if gaps < FEWEST_GAPS.max(self.len() / 4) {
            return;
        }
        let old = std::mem::take(self);
        let mut part = Part { frequencies: Vec::new(), ..Part::default() };
        let mut terms = Vec::new();
        for (stem, list) in old.vocabulary.stems().zip(&old.postings) {
            terms.push(if list.is_empty() { 0 } else { part.vocabulary.intern(stem).0 });
        }
        let mut documents = Vec::new();
        for entry in old.entries {
            documents.push(part.entries.len() as u32);
            if let Some(mut entry) = entry {
                for word in &mut entry.words {
                    let term = terms.get((*word & !WHOLE) as usize).copied().unwrap_or_default();
                    *word = term | *word & WHOLE;
                }
                part.entries.push(entry);
            }
        }
        for (list, term) in old.postings.into_iter().zip(terms) {
            part.frequencies.extend((!list.is_empty()).then_some(list.len() as u32));
            for posting in list {
                let document = documents.get(posting.document as usize).copied().unwrap_or_default();
                part.postings.push((Term(term), Posting { document, ..posting }));
            }
        }
        self.append(part);
    }

    fn weigh(&mut self) {
        let count = self.len().max(1) as f32;
        let means = self.total_lengths.map(|total| (total as f32 / count).max(1.0));
        self.weights.clear();
        self.weights.extend(self.entries.iter().map(|entry| {
            let Some(entry) = entry else { return [0.0; FIELDS] };
            let mut weights = WEIGHTS;
            for (((weight, matters), length), mean) in
                weights.iter_mut().zip(LENGTH_MATTERS).zip(entry.lengths).zip(means)
            {
                *weight /= 1.0 - matters + matters * length as f32 / mean;
            }
            weights
        }));
    }
}

/// The inverse document frequency, never below zero.
pub(super) fn rarity(documents: usize, having: usize) -> f32 {
    let (documents, having) = (documents as f32, having as f32);
    (1.0 + (documents - having + 0.5) / (having + 0.5)).ln()
}

fn last_of_each_id(documents: Vec<Document>) -> Vec<Document> {
    let mut seen: HashSet<&str> = HashSet::with_capacity(documents.len());
    let repeated: HashSet<usize> = documents
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, document)| !seen.insert(&document.id))
        .map(|(at, _)| at)
        .collect();
    if repeated.is_empty() {
        return documents;
    }
    documents
        .into_iter()
        .enumerate()
        .filter(|(at, _)| !repeated.contains(at))
        .map(|(_, document)| document)
        .collect()
}
