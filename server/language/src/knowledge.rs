//! Everything that is remembered, as one value: the documents, what they link to, what they speak of.
//!
//! Made from a reading of the directory, and from the last value when one document changes, so that whoever types in a
//! memory does not wait for a thousand others.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use memory::{
    Topic,
    history::Change,
    lint::{self, Document, Others, indexes::Linked},
    mentions::{self, Files, Mention, Place, Said},
};

/// Names in one memory; who names more lists a tree.
const MOST_SPOKEN_OF: usize = 200;

/// A document and what was found in it.
#[derive(Debug)]
pub struct Known {
    pub document: Document,
    /// What it calls itself, or the name of its file.
    pub name: String,
    pub description: Option<String>,
    pub(crate) spoken_of: Vec<Spoken>,
    /// Symbols that it says are in a file.
    pub(crate) said: Vec<Said>,
}

/// Something of the workspace that a memory speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spoken {
    pub what: What,
    /// As it is written, without lines and parentheses: a path, or a symbol with all its parts.
    pub name: String,
    /// As a whole, in the memory's text.
    pub mention: Mention,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// With the line, from 1, if it names one.
    File(Option<u32>),
    Symbol,
}

/// Which memory speaks of something.
#[derive(Clone, Debug)]
pub(crate) struct Mentioned {
    pub known: Arc<Known>,
    number: usize,
}

impl Mentioned {
    pub(crate) fn spoken(&self) -> Option<&Spoken> {
        self.known.spoken_of.get(self.number)
    }

    pub(crate) fn name(&self) -> &str {
        self.spoken().map_or("", |spoken| &spoken.name)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    directory: PathBuf,
    documents: BTreeMap<String, Arc<Known>>,
    others: Others,
    /// By the name of the file that is spoken of.
    files: HashMap<String, Vec<Mentioned>>,
    /// By the last part of the symbol.
    symbols: HashMap<String, Vec<Mentioned>>,
    /// The last of each file.
    changes: Arc<HashMap<String, Change>>,
}

impl Known {
    fn of(document: Document, files: &Files) -> Self {
        let topic = Topic::parse(&document.text);
        let file = document.relative.rsplit('/').next().unwrap_or(&document.relative);
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let mentions = match document.role {
            lint::Role::Memory => mentions::find(&document.text),
            lint::Role::Index | lint::Role::Log => Vec::new(),
        };
        let said = mentions::said(&document.text, &mentions, files);
        // What it says twice it speaks of once.
        let mut seen: HashSet<String> = HashSet::new();
        let mentions = mentions.into_iter().filter(|mention| seen.insert(mention.name.clone()));
        let spoken_of = mentions.take(MOST_SPOKEN_OF).filter_map(|mention| {
            let file = mention.file(files).map(|named| (What::File(named.line), named.path.to_owned()));
            let symbol = || Some((What::Symbol, mention.symbol()?.to_owned()));
            let (what, name) = file.or_else(symbol)?;
            Some(Spoken { what, name, mention })
        });
        Self {
            name: topic.name.unwrap_or_else(|| stem.to_owned()),
            description: topic.description,
            spoken_of: spoken_of.collect(),
            said,
            document,
        }
    }

    pub fn body(&self) -> &str {
        Topic::parse(&self.document.text).body.trim()
    }

    pub fn is_memory(&self) -> bool {
        self.document.role == lint::Role::Memory
    }
}

impl Knowledge {
    /// What was found in documents that have not changed since `before` is not looked for again.
    pub fn of(
        directory: PathBuf,
        documents: Vec<Document>,
        changes: Vec<Change>,
        files: &Files,
        before: Option<&Self>,
    ) -> Self {
        let others = Others::of(&documents);
        let documents = documents.into_iter().map(|document| {
            let same = before
                .and_then(|before| before.documents.get(&document.relative))
                .filter(|known| known.document.text == document.text);
            let relative = document.relative.clone();
            (relative, same.map_or_else(|| Arc::new(Known::of(document, files)), Arc::clone))
        });
        let mut last = HashMap::new();
        // They come newest first.
        for change in changes.into_iter().rev() {
            last.insert(change.path.clone(), change);
        }
        let documents = documents.collect();
        Self { directory, documents, others, changes: Arc::new(last), ..Self::default() }.connected()
    }

    /// The same with another text of one document, or without it. Which memories say the same is found out by the next
    /// reading.
    pub fn replaced(&self, relative: &str, text: Option<String>, files: &Files) -> Self {
        let mut documents = self.documents.clone();
        match text {
            Some(text) => {
                let document = Document::new(self.directory.join(relative), relative.to_owned(), text);
                documents.insert(relative.to_owned(), Arc::new(Known::of(document, files)));
            }
            None => drop(documents.remove(relative)),
        }
        let indexes = Linked::of_all(documents.values().map(|known| &known.document));
        let others = Others { indexes, duplicates: Arc::clone(&self.others.duplicates) };
        let (directory, changes) = (self.directory.clone(), Arc::clone(&self.changes));
        Self { directory, documents, others, changes, ..Self::default() }.connected()
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn documents(&self) -> impl Iterator<Item = &Arc<Known>> {
        self.documents.values()
    }

    pub fn document(&self, relative: &str) -> Option<&Arc<Known>> {
        self.documents.get(relative)
    }

    pub fn others(&self) -> &Others {
        &self.others
    }

    pub fn last_change(&self, relative: &str) -> Option<&Change> {
        self.changes.get(relative)
    }

    /// What the memories name that should be a file of the workspace: each path once, in order.
    pub fn named_paths(&self) -> Vec<&str> {
        let mut paths: Vec<&str> = self.files.values().flatten().map(Mentioned::name).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// Whether one of these paths has a part of this name.
    pub fn names_part(&self, name: &str) -> bool {
        self.files.contains_key(name)
            || self.files.values().flatten().any(|mentioned| mentioned.name().split('/').any(|it| it == name))
    }

    /// Whether a file of this name may be spoken of.
    pub fn speaks_of_a_file_named(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// The memories that name files which are not there, with the files.
    pub fn stale(&self, files: &Files) -> BTreeMap<String, Vec<String>> {
        let mut is_gone: HashMap<(&str, bool), bool> = HashMap::new();
        let mut stale: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for mentioned in self.files.values().flatten() {
            let Some(Spoken { name: path, mention, .. }) = mentioned.spoken() else { continue };
            let document = &mentioned.known.document;
            let beside = || {
                let beside = [self.directory.join(document.folder()).join(path), self.directory.join(path)];
                beside.iter().any(|path| path.symlink_metadata().is_ok())
            };
            let named = (path.as_str(), mention.place == Place::Link);
            let is_gone = is_gone.entry(named).or_insert_with(|| files.is_gone(path, mention.place));
            if *is_gone && !beside() {
                let gone = stale.entry(document.relative.clone()).or_default();
                if !gone.iter().any(|other| other == path) {
                    gone.push(path.to_owned());
                }
            }
        }
        for gone in stale.values_mut() {
            gone.sort_unstable();
        }
        stale
    }

    /// Whether an outline of the text could say where something is that a memory names.
    pub fn speaks_of_a_name_in(&self, text: &str) -> bool {
        text.len() <= crate::source::LONGEST
            && self.names_symbols()
            && crate::source::words(text).any(|(_, word)| self.symbols.contains_key(word))
    }

    pub(crate) fn speaking_of_file(&self, name: &str) -> &[Mentioned] {
        self.files.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn speaking_of_symbol(&self, last_part: &str) -> &[Mentioned] {
        self.symbols.get(last_part).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn names_symbols(&self) -> bool {
        !self.symbols.is_empty()
    }

    fn connected(mut self) -> Self {
        for known in self.documents.values() {
            for (number, spoken) in known.spoken_of.iter().enumerate() {
                let mentioned = Mentioned { known: Arc::clone(known), number };
                let (map, separators): (_, &[char]) = match spoken.what {
                    What::File(_) => (&mut self.files, &['/']),
                    What::Symbol => (&mut self.symbols, &[':', '.']),
                };
                let last = spoken.name.rsplit(separators).next().unwrap_or(&spoken.name);
                map.entry(last.to_owned()).or_default().push(mentioned);
            }
        }
        self
    }
}
