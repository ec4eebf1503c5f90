//! Writes a segment: messages first, then words in order, out of a batch or of older segments.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use super::{CHUNK, Document, MAGIC, Segment, TERMS, damaged, sum_with};
use crate::search::bytes::{checksum, put_varint, short_checksum};

pub(in crate::search) struct Writer {
    file: BufWriter<File>,
    at: u64,
    documents: u32,
    documents_sum: u64,
    /// The block at hand: lists, words, the first word and the last.
    lists: Vec<u8>,
    words: Vec<u8>,
    first: String,
    last: String,
    terms: usize,
    index: Vec<u8>,
    blocks: u32,
}

impl Writer {
    /// `documents` by time, oldest first.
    pub(in crate::search) fn create(
        path: &Path,
        documents: impl Iterator<Item = io::Result<Document>>,
    ) -> io::Result<Self> {
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut writer = Self {
            file: BufWriter::with_capacity(128 << 10, options.open(path)?),
            at: 0,
            documents: 0,
            documents_sum: 0,
            lists: Vec::new(),
            words: Vec::new(),
            first: String::new(),
            last: String::new(),
            terms: 0,
            index: Vec::new(),
            blocks: 0,
        };
        let mut chunk = Vec::with_capacity(CHUNK * Document::BYTES);
        for document in documents {
            document?.put(&mut chunk);
            writer.documents += 1;
            if chunk.len() == CHUNK * Document::BYTES {
                writer.put_documents(&mut chunk)?;
            }
        }
        if !chunk.is_empty() {
            writer.put_documents(&mut chunk)?;
        }
        Ok(writer)
    }

    /// Words in ascending order, each with its messages in ascending order.
    pub(in crate::search) fn word(&mut self, word: &str, documents: &[u32]) -> io::Result<()> {
        if self.terms == 0 {
            word.clone_into(&mut self.first);
            self.last.clear();
        }
        let start = self.lists.len();
        let mut next = 0;
        for document in documents {
            put_varint(&mut self.lists, document.checked_sub(next).ok_or_else(damaged)?);
            next = document + 1;
        }
        let sum = short_checksum(self.lists.get(start..).unwrap_or_default());
        self.lists.extend_from_slice(&sum);
        let length = u32::try_from(self.lists.len() - start).map_err(io::Error::other)?;

        let shared = shared_prefix(&self.last, word);
        let suffix = word.get(shared..).unwrap_or_default();
        // Words are short.
        put_varint(&mut self.words, shared as u32);
        put_varint(&mut self.words, suffix.len() as u32);
        self.words.extend_from_slice(suffix.as_bytes());
        put_varint(&mut self.words, length);
        word.clone_into(&mut self.last);
        self.terms += 1;
        if self.terms == TERMS { self.finish_block() } else { Ok(()) }
    }

    pub(in crate::search) fn finish(mut self) -> io::Result<()> {
        self.finish_block()?;
        let blocks_at = self.at;
        let index = std::mem::take(&mut self.index);
        let sum = sum_with(self.documents_sum, &index);
        self.put(&index)?;
        let mut footer = MAGIC.to_vec();
        footer.extend_from_slice(&self.documents.to_le_bytes());
        footer.extend_from_slice(&self.blocks.to_le_bytes());
        footer.extend_from_slice(&0_u64.to_le_bytes());
        footer.extend_from_slice(&blocks_at.to_le_bytes());
        footer.extend_from_slice(&sum.to_le_bytes());
        self.put(&footer)?;
        self.file.flush()
    }

    fn put_documents(&mut self, chunk: &mut Vec<u8>) -> io::Result<()> {
        self.documents_sum = sum_with(self.documents_sum, chunk);
        self.put(chunk)?;
        chunk.clear();
        Ok(())
    }

    fn finish_block(&mut self) -> io::Result<()> {
        if self.terms == 0 {
            return Ok(());
        }
        let start = self.at;
        let (lists, words) = (std::mem::take(&mut self.lists), std::mem::take(&mut self.words));
        self.put(&lists)?;
        let words_at = self.at;
        self.put(&words)?;
        for number in [start, words_at, self.at, checksum(&words)] {
            self.index.extend_from_slice(&number.to_le_bytes());
        }
        put_varint(&mut self.index, self.first.len() as u32);
        self.index.extend_from_slice(self.first.as_bytes());
        self.blocks += 1;
        self.terms = 0;
        (self.lists, self.words) = (lists, words);
        self.lists.clear();
        self.words.clear();
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.file.write_all(bytes)
    }
}

fn shared_prefix(a: &str, b: &str) -> usize {
    let shared = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    b.floor_char_boundary(shared)
}

impl Segment {
    /// One segment of several, without the messages that `keep` refuses.
    pub(in crate::search) fn merge(
        segments: &[&Segment],
        path: &Path,
        keep: impl Fn(u64) -> bool,
    ) -> io::Result<()> {
        let order = merged_order(segments, keep);
        let mut numbers: Vec<Vec<u32>> =
            segments.iter().map(|segment| vec![u32::MAX; segment.keys().len()]).collect();
        for ((segment, document), number) in order.iter().zip(0..) {
            if let Some(place) =
                numbers.get_mut(*segment as usize).and_then(|n| n.get_mut(*document as usize))
            {
                *place = number;
            }
        }
        let mut writer = Writer::create(path, Documents::new(segments, &order))?;
        drop(order);
        let mut entries: Vec<_> = segments.iter().map(|segment| segment.entries()).collect();
        let mut heads = Vec::with_capacity(entries.len());
        for entries in &mut entries {
            heads.push(entries.next()?);
        }
        let mut documents = Vec::new();
        while let Some(word) = heads.iter().flatten().map(|(word, _)| word).min().cloned() {
            documents.clear();
            for ((head, entries), numbers) in heads.iter_mut().zip(&mut entries).zip(&numbers) {
                let Some((_, list)) = head.take_if(|(candidate, _)| *candidate == word) else { continue };
                let renumbered = list.iter().filter_map(|document| numbers.get(*document as usize));
                documents.extend(renumbered.copied().filter(|number| *number != u32::MAX));
                *head = entries.next()?;
            }
            if !documents.is_empty() {
                documents.sort_unstable();
                writer.word(&word, &documents)?;
            }
        }
        writer.finish()
    }
}

/// Which message of which segment comes when.
fn merged_order(segments: &[&Segment], keep: impl Fn(u64) -> bool) -> Vec<(u32, u32)> {
    let mut order = Vec::new();
    for (segment, number) in segments.iter().zip(0_u32..) {
        for (key, document) in segment.keys().iter().zip(0_u32..) {
            if keep(segment.generation(key)) {
                order.push((number, document));
            }
        }
    }
    let when = |(segment, document): &(u32, u32)| {
        let segment = segments.get(*segment as usize)?;
        segment.keys().get(*document as usize).map(|key| key.when)
    };
    order.sort_by_key(when);
    order
}

/// Reads the messages of several segments in the order given, a few at a time: each segment's are in order.
struct Documents<'a> {
    segments: &'a [&'a Segment],
    order: std::slice::Iter<'a, (u32, u32)>,
    windows: Vec<(usize, Vec<Document>)>,
}

const WINDOW: usize = 512;

impl<'a> Documents<'a> {
    fn new(segments: &'a [&'a Segment], order: &'a [(u32, u32)]) -> Self {
        Self { segments, order: order.iter(), windows: vec![(0, Vec::new()); segments.len()] }
    }

    fn read(&mut self, segment: usize, document: usize) -> io::Result<Document> {
        let source = self.segments.get(segment).ok_or_else(damaged)?;
        let (first, window) = self.windows.get_mut(segment).ok_or_else(damaged)?;
        if let Some(known) = document.checked_sub(*first).and_then(|at| window.get(at)) {
            return Ok(*known);
        }
        let count = WINDOW.min(source.keys().len().saturating_sub(document));
        (*first, *window) = (document, source.documents(document, count)?);
        window.first().copied().ok_or_else(damaged)
    }
}

impl Iterator for Documents<'_> {
    type Item = io::Result<Document>;

    fn next(&mut self) -> Option<Self::Item> {
        let (segment, document) = self.order.next()?;
        Some(self.read(*segment as usize, *document as usize))
    }
}
