//! Documents on their way into the index: read by one thread, with numbers of their own.

use super::{
    Document,
    index::{Entry, FIELDS, NAME, Posting},
    vocabulary::{Cache, Term, Vocabulary},
    words::{Role, each_word},
};

/// No more of a document is read: what a memory is about stands at its beginning.
const MOST_BODY_BYTES: usize = 64 * 1024;
const MOST_HEAD_BYTES: usize = 4 * 1024;
/// Marks a word without a place of its own.
pub(super) const WHOLE: u32 = 1 << 31;

#[derive(Default)]
pub(super) struct Part {
    pub(super) vocabulary: Vocabulary,
    pub(super) entries: Vec<Entry>,
    /// In the order of documents.
    pub(super) postings: Vec<(Term, Posting)>,
    /// By term: how many documents have it.
    pub(super) frequencies: Vec<u32>,
}

impl Part {
    pub(super) fn read(documents: Vec<Document>) -> Self {
        let mut part = Self::default();
        let mut cache = Cache::default();
        let mut latest = Vec::new();
        for document in documents {
            part.take(document, &mut cache, &mut latest);
        }
        part
    }

    /// `latest` has, by term, where its last posting is.
    fn take(&mut self, document: Document, cache: &mut Cache, latest: &mut Vec<u32>) {
        let number = self.entries.len() as u32;
        let first = self.postings.len() as u32;
        let name = if document.name.trim().is_empty() { file_stem(&document.id) } else { &document.name };
        let texts = [
            beginning(name, MOST_HEAD_BYTES),
            beginning(&document.description, MOST_HEAD_BYTES),
            beginning(&document.body, MOST_BODY_BYTES),
        ];
        let mut words = Vec::with_capacity(texts.iter().map(|text| text.len()).sum::<usize>() / 6);
        let mut ends = [0; FIELDS];
        let mut lengths = [0; FIELDS];
        for (field, ((text, end), length)) in texts.into_iter().zip(&mut ends).zip(&mut lengths).enumerate() {
            each_word(text, |word, role| {
                let (term, stops) = cache.term(word, &mut self.vocabulary);
                // A stop word is found only where it is a name.
                if stops && field != NAME {
                    return;
                }
                words.push(if role == Role::Whole { term.0 | WHOLE } else { term.0 });
                *length += u32::from(role == Role::Word);
                self.count(term, field, number, first, latest);
            });
            *end = words.len() as u32;
        }
        let [description, body, _] = ends;
        self.entries.push(Entry {
            id: document.id.into(),
            kind: document.kind,
            modified: document.modified,
            recalled: document.recalled,
            cited: document.cited,
            words: words.into(),
            starts: [description, body],
            lengths,
        });
    }

    fn count(&mut self, term: Term, field: usize, document: u32, first: u32, latest: &mut Vec<u32>) {
        let at = term.0 as usize;
        if latest.len() <= at {
            latest.resize(at + 1, u32::MAX);
            self.frequencies.resize(at + 1, 0);
        }
        let Some(place) = latest.get_mut(at) else { return };
        if *place == u32::MAX || *place < first {
            *place = self.postings.len() as u32;
            self.postings.push((term, Posting::of(document)));
            if let Some(frequency) = self.frequencies.get_mut(at) {
                *frequency += 1;
            }
        }
        if let Some((_, posting)) = self.postings.get_mut(*place as usize) {
            posting.count(field);
        }
    }
}

fn file_stem(id: &str) -> &str {
    let file = id.rsplit(['/', '\\']).next().unwrap_or(id);
    file.strip_suffix(".md").unwrap_or(file)
}

fn beginning(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}
