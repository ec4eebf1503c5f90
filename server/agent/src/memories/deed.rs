//! What the user does to several memories at once: a memory and its entries.

use memory::{
    history::{Author, By, Change, History},
    index,
    lint::{Document, indexes},
};
use workspace::Beneath;

use super::{
    Memories,
    requests::{in_the_way, unavailable},
};
use crate::{agent::Agent, types::AgentError};

/// Several files that change together, and are taken back together.
pub(super) struct Deed<'a> {
    memories: &'a Memories,
    beneath: Beneath,
    history: History,
    author: Author,
    changes: Vec<Change>,
}

impl<'a> Deed<'a> {
    pub(super) fn begin(memories: &'a Memories, why: String) -> Result<Self, AgentError> {
        let mut author = Author::new(By::User, why);
        author.group = Some(uuid::Uuid::now_v7().to_string());
        let beneath = Beneath::open(memories.directory()).map_err(unavailable)?;
        let history = History::open(memories.directory()).map_err(unavailable)?;
        Ok(Self { memories, beneath, history, author, changes: Vec::new() })
    }

    /// `None`: without the file. What is as it should be is left alone.
    pub(super) fn put(&mut self, name: &str, text: Option<&str>) -> Result<(), AgentError> {
        let before = self.memories.bytes(name).map_err(in_the_way)?;
        let after = text.map(str::as_bytes);
        if before.as_deref() == after {
            return Ok(());
        }
        let (place, _) = self.memories.place(name)?;
        let done = match after {
            Some(bytes) => self.beneath.write(&place, bytes),
            None => self.beneath.remove(&place),
        };
        done.map_err(|error| AgentError::Unavailable(error.to_string()))?;
        let recorded = self.history.record(name, before.as_deref(), after, &self.author);
        self.changes.extend(recorded.map_err(unavailable)?);
        Ok(())
    }

    pub(super) fn end(self, agent: &Agent) {
        self.memories.tell(&*agent.shared.frontend, None, Ok(self.changes));
    }
}

impl Memories {
    pub(super) fn indexes(&self) -> impl Iterator<Item = &'static str> {
        index::PATHS.into_iter().filter(|path| self.directory().join(path).is_file())
    }

    /// The texts of the indexes without the entries of a memory.
    pub(super) fn indexes_without(&self, gone: &str) -> Result<Vec<(&'static str, String)>, AgentError> {
        let mut texts = Vec::new();
        for name in self.indexes().filter(|name| *name != gone) {
            let Some(text) = self.text(name).map_err(in_the_way)? else { continue };
            let document = Document::new(self.directory().join(name), name.to_owned(), text);
            texts.push((name, without_entries(&document, gone)));
        }
        Ok(texts)
    }
}

fn without_entries(document: &Document, relative: &str) -> String {
    let gone: Vec<usize> = index::entries(&document.text)
        .iter()
        .filter(|entry| indexes::target_of(document, entry.target).as_deref() == Some(relative))
        .map(|entry| entry.line)
        .collect();
    let lines = document.text.split_inclusive('\n').enumerate();
    lines.filter(|(line, _)| !gone.contains(line)).map(|(_, text)| text).collect()
}
