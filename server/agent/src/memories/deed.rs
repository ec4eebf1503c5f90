//! What the user does to several memories at once: a memory and its entries.

use std::{collections::HashSet, path::PathBuf};

use memory::{
    history::{Author, By, Change, History, UNSAVED},
    index,
    lint::{Document, indexes},
};
use workspace::{Beneath, Workspace};

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

    /// The change of a memory by which all of it is taken back; without the others, its entries come back at least.
    pub(super) fn end(self, agent: &Agent) -> Option<String> {
        let of_memory = self.changes.iter().rfind(|change| !index::is_index(&change.path));
        let change = of_memory.or(self.changes.last()).map(|change| change.id.clone());
        self.memories.tell(&*agent.shared.frontend, None, Ok(self.changes));
        change
    }
}

/// What became of something the user did.
#[derive(Debug)]
pub struct Remembered {
    pub path: PathBuf,
    /// For the way back; `None` if everything was as it should be.
    pub change: Option<String>,
}

impl Memories {
    /// The memories that somebody is writing in.
    pub(super) fn unsaved(&self, workspace: &Workspace) -> HashSet<String> {
        let documents = workspace.documents().into_iter().filter(|document| document.dirty);
        documents.filter_map(|document| self.relative(document.path)).collect()
    }

    /// Nothing is written under an editor's unsaved text: whoever saves it then would lose one or the other.
    pub(super) fn refuse_unsaved<'n>(
        &self,
        workspace: &Workspace,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<(), AgentError> {
        let unsaved = self.unsaved(workspace);
        match names.into_iter().find(|name| unsaved.contains(*name)) {
            Some(name) => Err(AgentError::Unavailable(format!("{name} {UNSAVED}"))),
            None => Ok(()),
        }
    }

    pub(super) fn indexes(&self) -> impl Iterator<Item = &'static str> {
        index::PATHS.into_iter().filter(|path| self.directory().join(path).is_file())
    }

    /// The texts of the indexes that name a memory, without its entries.
    pub(super) fn indexes_without(&self, gone: &str) -> Result<Vec<(&'static str, String)>, AgentError> {
        let mut texts = Vec::new();
        for name in self.indexes().filter(|name| *name != gone) {
            let Some(text) = self.text(name).map_err(in_the_way)? else { continue };
            let document = Document::new(self.directory().join(name), name.to_owned(), text);
            let leads_there = |entry: &index::Entry<'_>| {
                indexes::target_of(&document, entry.target).as_deref() == Some(gone)
            };
            let without = index::without_entries(&document.text, leads_there);
            if without != document.text {
                texts.push((name, without));
            }
        }
        Ok(texts)
    }
}
