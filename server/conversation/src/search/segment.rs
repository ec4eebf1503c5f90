//! One immutable piece of the index: which words are in which messages. In memory is little more than the time of
//! each message; words and lists are read from the file when they are asked for.
//!
//! The file: messages, by time; then blocks of [`TERMS`] words, each block the lists of its words followed by the
//! words themselves; then where the blocks begin; then the sizes of all that, and a checksum.

mod write;

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    sync::{Mutex, PoisonError},
};

use uuid::Uuid;

pub(super) use write::Writer;

use super::{
    Speaker,
    bytes::{Damaged, Reader, checksum, short_checksum},
};

const MAGIC: [u8; 8] = *b"RVSRCH01";
const FOOTER: usize = 8 + 4 + 4 + 8 + 8 + 8;
/// Words of a block.
const TERMS: usize = 64;
/// Messages that are read or written at once.
const CHUNK: usize = 1_024;
/// Bytes of consecutive blocks.
const AT_ONCE: u64 = 1 << 20;
/// Sizes that no segment of ours has.
const MOST_DOCUMENTS: u32 = 1 << 26;

/// A message, as far as the index knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Document {
    pub(super) uuid: Uuid,
    /// Nil: none.
    pub(super) parent: Uuid,
    /// Milliseconds.
    pub(super) when: i64,
    /// Which reading of which transcript it is from.
    pub(super) generation: u64,
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) speaker: Speaker,
}

impl Document {
    pub(super) const BYTES: usize = 16 + 16 + 8 + 8 + 8 + 4 + 1;

    fn put(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.uuid.as_bytes());
        bytes.extend_from_slice(self.parent.as_bytes());
        bytes.extend_from_slice(&self.when.to_le_bytes());
        bytes.extend_from_slice(&self.generation.to_le_bytes());
        bytes.extend_from_slice(&self.offset.to_le_bytes());
        bytes.extend_from_slice(&self.length.to_le_bytes());
        bytes.push(self.speaker as u8);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(Self {
            uuid: Uuid::from_bytes(reader.array()?),
            parent: Uuid::from_bytes(reader.array()?),
            when: i64::from_le_bytes(reader.array()?),
            generation: reader.u64()?,
            offset: reader.u64()?,
            length: reader.u32()?,
            speaker: match reader.array()? {
                [0] => Speaker::User,
                [1] => Speaker::Assistant,
                [2] => Speaker::Tool,
                _ => return Err(Damaged),
            },
        })
    }
}

/// What is kept in memory of each message, to choose by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) when: i64,
    /// Position in [`Segment::generations`].
    generation: u32,
    pub(super) speaker: Speaker,
}

pub(super) struct Segment {
    file: Mutex<File>,
    keys: Vec<Key>,
    generations: Vec<u64>,
    blocks: Vec<Block>,
    documents_at: u64,
}

/// Where 64 words and their lists are.
struct Block {
    first: Box<str>,
    start: u64,
    /// Where the words begin, behind their lists.
    words: u64,
    end: u64,
    checksum: u64,
}

/// A set of messages of one segment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Set(Vec<u64>);

impl Set {
    pub(super) fn empty(documents: usize) -> Self {
        Self(vec![0; documents.div_ceil(64)])
    }

    pub(super) fn all(documents: usize) -> Self {
        let mut set = Self(vec![u64::MAX; documents.div_ceil(64)]);
        if let (Some(last), used @ 1..) = (set.0.last_mut(), documents % 64) {
            *last = (1 << used) - 1;
        }
        set
    }

    fn insert(&mut self, document: u32) {
        if let Some(word) = self.0.get_mut(document as usize / 64) {
            *word |= 1 << (document % 64);
        }
    }

    pub(super) fn intersect(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
    }

    /// Whether none of so many, a multiple of 64, is in it.
    fn is_empty_from(&self, first: usize, count: usize) -> bool {
        self.0.iter().skip(first / 64).take(count / 64).all(|word| *word == 0)
    }

    /// Takes the newest out.
    pub(super) fn pop(&mut self) -> Option<usize> {
        while let Some(word) = self.0.last_mut() {
            if *word != 0 {
                let bit = 63 - word.leading_zeros() as usize;
                *word &= !(1 << bit);
                return Some((self.0.len() - 1) * 64 + bit);
            }
            self.0.pop();
        }
        None
    }
}

impl Segment {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let footer_at = length.checked_sub(FOOTER as u64).ok_or(Damaged)?;
        let footer = read_at(&mut file, footer_at, FOOTER)?;
        let mut reader = Reader(&footer);
        let read_footer = |reader: &mut Reader<'_>| -> Result<_, Damaged> {
            let magic: [u8; 8] = reader.array()?;
            let sizes = (reader.u32()?, reader.u32()?);
            Ok((magic, sizes, (reader.u64()?, reader.u64()?), reader.u64()?))
        };
        let (magic, (documents, blocks), (documents_at, blocks_at), sum) = read_footer(&mut reader)?;
        let documents_end = documents_at.saturating_add(u64::from(documents) * Document::BYTES as u64);
        if magic != MAGIC || documents > MOST_DOCUMENTS || documents_end > blocks_at || blocks_at > footer_at
        {
            return Err(Damaged.into());
        }
        let index = read_at(&mut file, blocks_at, (footer_at - blocks_at) as usize)?;
        let mut keys = Keys::default();
        for first in (0..documents as usize).step_by(CHUNK) {
            let count = CHUNK.min(documents as usize - first);
            let at = documents_at + (first * Document::BYTES) as u64;
            keys.add(&read_at(&mut file, at, count * Document::BYTES)?, count)?;
        }
        if sum_with(keys.sum, &index) != sum {
            return Err(Damaged.into());
        }
        let blocks = read_blocks(&index, blocks as usize, blocks_at)?;
        let Keys { mut keys, generations, .. } = keys;
        keys.shrink_to_fit();
        Ok(Self { file: Mutex::new(file), keys, generations, blocks, documents_at })
    }

    /// By time, oldest first.
    pub(super) fn keys(&self) -> &[Key] {
        &self.keys
    }

    pub(super) fn generation(&self, key: &Key) -> u64 {
        self.generations.get(key.generation as usize).copied().unwrap_or_default()
    }

    pub(super) fn document(&self, number: usize) -> io::Result<Document> {
        let bytes = self.read(self.documents_at + (number * Document::BYTES) as u64, Document::BYTES)?;
        Ok(Document::read(&mut Reader(&bytes))?)
    }

    /// Consecutive messages.
    fn documents(&self, first: usize, count: usize) -> io::Result<Vec<Document>> {
        let at = self.documents_at + (first * Document::BYTES) as u64;
        let bytes = self.read(at, count * Document::BYTES)?;
        let mut reader = Reader(&bytes);
        (0..count).map(|_| Ok(Document::read(&mut reader)?)).collect()
    }

    /// Those of the candidates that are this message, if one is named, and that answer that one, if one is named:
    /// the index alone tells, no transcript is read for it.
    pub(super) fn narrow(
        &self,
        candidates: &mut Set,
        message: Option<Uuid>,
        parent: Option<Uuid>,
    ) -> io::Result<()> {
        if message.is_none() && parent.is_none() {
            return Ok(());
        }
        let mut fitting = Set::empty(self.keys.len());
        for first in (0..self.keys.len()).step_by(CHUNK) {
            if candidates.is_empty_from(first, CHUNK) {
                continue;
            }
            let documents = self.documents(first, CHUNK.min(self.keys.len() - first))?;
            for (number, document) in (first..).zip(documents) {
                let fits = message.is_none_or(|message| document.uuid == message)
                    && parent.is_none_or(|parent| document.parent == parent);
                if let (true, Ok(number)) = (fits, u32::try_from(number)) {
                    fitting.insert(number);
                }
            }
        }
        candidates.intersect(&fitting);
        Ok(())
    }

    /// The messages with this word.
    pub(super) fn with_word(&self, word: &str) -> io::Result<Set> {
        let mut set = Set::empty(self.keys.len());
        let after = self.blocks.partition_point(|block| &*block.first <= word);
        let Some(block) = after.checked_sub(1).and_then(|at| self.blocks.get(at)) else { return Ok(set) };
        let words = self.read(block.words, (block.end - block.words) as usize)?;
        for term in Terms::new(block, &words)? {
            let (text, list) = term?;
            if text == word {
                let list = self.read(block.start + list.start as u64, list.len())?;
                read_list(&list, |document| set.insert(document))?;
                break;
            }
        }
        Ok(set)
    }

    /// The messages with a word that begins so.
    pub(super) fn with_prefix(&self, prefix: &str) -> io::Result<Set> {
        let mut set = Set::empty(self.keys.len());
        let first = self.blocks.partition_point(|block| &*block.first < prefix).saturating_sub(1);
        let blocks = self.blocks.get(first..).unwrap_or_default();
        let fits = |block: &Block| &*block.first < prefix || block.first.starts_with(prefix);
        let mut blocks = blocks.get(..blocks.partition_point(fits)).unwrap_or_default();
        while let Some((first, _)) = blocks.split_first() {
            // Blocks follow each other in the file: many are read at once.
            let count = blocks.partition_point(|block| block.end - first.start <= AT_ONCE).max(1);
            let (now, later) = blocks.split_at(count);
            let end = now.last().map_or(first.end, |last| last.end);
            let bytes = self.read(first.start, (end - first.start) as usize)?;
            for block in now {
                let part = |from: u64, to: u64| {
                    bytes.get((from - first.start) as usize..(to - first.start) as usize).ok_or(Damaged)
                };
                let lists = part(block.start, block.words)?;
                for term in Terms::new(block, part(block.words, block.end)?)? {
                    let (text, list) = term?;
                    if text.starts_with(prefix) {
                        read_list(lists.get(list).ok_or(Damaged)?, |document| set.insert(document))?;
                    }
                }
            }
            blocks = later;
        }
        Ok(set)
    }

    /// All words with their lists, in order.
    pub(super) fn entries(&self) -> Entries<'_> {
        Entries { segment: self, block: 0, waiting: Vec::new().into_iter() }
    }

    fn read(&self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        read_at(&mut file, at, length)
    }
}

/// Streams a segment, block by block.
pub(super) struct Entries<'a> {
    segment: &'a Segment,
    block: usize,
    waiting: std::vec::IntoIter<(String, Vec<u32>)>,
}

impl Entries<'_> {
    pub(super) fn next(&mut self) -> io::Result<Option<(String, Vec<u32>)>> {
        loop {
            if let Some(entry) = self.waiting.next() {
                return Ok(Some(entry));
            }
            let Some(block) = self.segment.blocks.get(self.block) else { return Ok(None) };
            self.block += 1;
            let bytes = self.segment.read(block.start, (block.end - block.start) as usize)?;
            let lists_length = (block.words - block.start) as usize;
            let (lists, words) = bytes.split_at_checked(lists_length).ok_or(Damaged)?;
            let mut entries = Vec::with_capacity(TERMS);
            for term in Terms::new(block, words)? {
                let (text, list) = term?;
                let mut documents = Vec::new();
                read_list(lists.get(list).ok_or(Damaged)?, |document| documents.push(document))?;
                entries.push((text, documents));
            }
            self.waiting = entries.into_iter();
        }
    }
}

/// The words of a block, and where in it their lists are.
struct Terms<'a> {
    reader: Reader<'a>,
    text: String,
    lists_end: usize,
}

impl<'a> Terms<'a> {
    fn new(block: &Block, words: &'a [u8]) -> Result<Self, Damaged> {
        if checksum(words) != block.checksum {
            return Err(Damaged);
        }
        Ok(Self { reader: Reader(words), text: String::new(), lists_end: 0 })
    }

    fn read(&mut self) -> Result<(String, std::ops::Range<usize>), Damaged> {
        let shared = self.reader.varint()? as usize;
        let suffix = self.reader.varint()? as usize;
        let suffix = std::str::from_utf8(self.reader.take(suffix)?).map_err(|_| Damaged)?;
        if !self.text.is_char_boundary(shared) {
            return Err(Damaged);
        }
        self.text.truncate(shared);
        self.text.push_str(suffix);
        let start = self.lists_end;
        self.lists_end += self.reader.varint()? as usize;
        Ok((self.text.clone(), start..self.lists_end))
    }
}

impl Iterator for Terms<'_> {
    type Item = Result<(String, std::ops::Range<usize>), Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_empty() {
            return None;
        }
        let read = self.read();
        if read.is_err() {
            self.reader = Reader(&[]);
        }
        Some(read)
    }
}

/// Distances between ascending numbers, then a checksum.
fn read_list(bytes: &[u8], mut visit: impl FnMut(u32)) -> Result<(), Damaged> {
    let (list, sum) = bytes.split_last_chunk::<2>().ok_or(Damaged)?;
    if short_checksum(list) != *sum {
        return Err(Damaged);
    }
    let mut reader = Reader(list);
    let mut next = 0_u32;
    while !reader.is_empty() {
        let document = next.checked_add(reader.varint()?).ok_or(Damaged)?;
        visit(document);
        next = document.saturating_add(1);
    }
    Ok(())
}

/// Gathers what is kept of the messages.
#[derive(Default)]
struct Keys {
    keys: Vec<Key>,
    generations: Vec<u64>,
    known: HashMap<u64, u32>,
    sum: u64,
}

impl Keys {
    fn add(&mut self, chunk: &[u8], count: usize) -> Result<(), Damaged> {
        self.sum = sum_with(self.sum, chunk);
        let mut reader = Reader(chunk);
        for _ in 0..count {
            let document = Document::read(&mut reader)?;
            let next = u32::try_from(self.generations.len()).map_err(|_| Damaged)?;
            let generation = *self.known.entry(document.generation).or_insert(next);
            if generation == next {
                self.generations.push(document.generation);
            }
            self.keys.push(Key { when: document.when, generation, speaker: document.speaker });
        }
        Ok(())
    }
}

fn sum_with(sum: u64, bytes: &[u8]) -> u64 {
    sum.rotate_left(7) ^ checksum(bytes)
}

fn read_blocks(index: &[u8], count: usize, limit: u64) -> Result<Vec<Block>, Damaged> {
    let mut reader = Reader(index);
    let mut blocks = Vec::new();
    let mut at = 0;
    for _ in 0..count {
        let (start, words, end, checksum) = (reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?);
        let length = reader.varint()? as usize;
        let first = std::str::from_utf8(reader.take(length)?).map_err(|_| Damaged)?.into();
        // In order, so that sizes and distances cannot be negative.
        if start < at || start > words || words > end || end > limit {
            return Err(Damaged);
        }
        at = end;
        blocks.push(Block { first, start, words, end, checksum });
    }
    Ok(blocks)
}

fn read_at(file: &mut File, at: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at))?;
    file.by_ref().take(length as u64).read_to_end(&mut bytes)?;
    match bytes.len() == length {
        true => Ok(bytes),
        false => Err(Damaged.into()),
    }
}

pub(super) fn damaged() -> io::Error {
    Damaged.into()
}
