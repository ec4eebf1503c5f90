//! Ranks memories by how well they fit a message: in-process, from nothing but their words.
//!
//! Owns the words of all memories and the order in which they come. Which files are memories, what the
//! session has shown already and how many are attached is the caller's business.

mod confidence;
mod index;
mod lexicon;
mod nearness;
mod plan;
mod reading;
mod resembling;
mod score;
mod scripts;
mod stem;
#[cfg(test)]
mod tests;
mod vocabulary;
mod words;

pub use confidence::Evidence;
use index::Index;

use crate::topic::Kind;

#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The path, relative to the memory dir.
    pub id: String,
    /// Where it is empty, the file's name takes its place.
    pub name: String,
    pub description: String,
    pub kind: Option<Kind>,
    pub body: String,
    /// In seconds since 1970.
    pub modified: i64,
    /// How often it was attached, and how often the model then made use of it.
    pub recalled: u32,
    pub cited: u32,
}

pub struct Query<'a> {
    pub text: &'a str,
    pub limit: usize,
    /// In seconds since 1970.
    pub now: i64,
    /// What was modified later is left out.
    pub not_after: Option<i64>,
    /// What is left out, by id.
    pub without: &'a dyn Fn(&str) -> bool,
}

#[derive(Clone, Debug, Default)]
pub struct Ranking {
    /// The best first; what has no word of the message is not among them.
    pub hits: Vec<Hit>,
    /// How sure it is, from 0 to 1, that something here answers the message.
    pub confidence: f32,
}

#[derive(Clone, Debug)]
pub struct Hit {
    pub id: String,
    /// Compares with other hits of the same message only.
    pub score: f32,
    /// How sure it is, from 0 to 1, that this very hit is a right one; compares across messages.
    pub confidence: f32,
    pub parts: Parts,
}

/// What the score is the sum of.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    pub name: f32,
    pub description: f32,
    pub body: f32,
    /// From words of like meaning or look.
    pub expansion: f32,
    /// From words that stand together both in the message and in the document.
    pub proximity: f32,
    /// From how much of the name and the description is in the message.
    pub coverage: f32,
    pub recency: f32,
    pub kind: f32,
    /// Less than zero for what is recalled often and never cited.
    pub usage: f32,
    /// The words of the message that the document has.
    pub matched: Vec<String>,
    pub evidence: Evidence,
}

impl Parts {
    /// The parts that count, the largest first, for whoever asks why.
    pub fn words(&self) -> String {
        let mut parts = [
            ("name", self.name),
            ("description", self.description),
            ("body", self.body),
            ("related words", self.expansion),
            ("nearness", self.proximity),
            ("coverage", self.coverage),
            ("recency", self.recency),
            ("type", self.kind),
            ("use", self.usage),
        ];
        parts.sort_by(|(_, one), (_, other)| other.abs().total_cmp(&one.abs()));
        let shown = parts.iter().filter(|(_, part)| part.abs() >= 0.005);
        shown.map(|(name, part)| format!("{name} {part:.2}")).collect::<Vec<_>>().join(" + ")
    }
}

pub struct Ranker {
    index: Index,
}

impl Ranker {
    /// Of several documents with one id the last counts.
    pub fn build(documents: Vec<Document>) -> Self {
        Self { index: Index::build(documents) }
    }

    /// Adds the document or replaces the one with its id.
    pub fn update(&mut self, document: Document) {
        self.index.update(document);
    }

    pub fn remove(&mut self, id: &str) {
        self.index.remove(id);
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn rank(&self, query: &Query<'_>) -> Ranking {
        score::rank(&self.index, query)
    }
}
