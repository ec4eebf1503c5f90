//! What editors and the command line ask about memory. All of it reads or writes files: not on a path where somebody types.

use std::{
    collections::HashSet,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use conversation::SessionId;
use jiff::Timestamp;
use memory::{
    Memory,
    history::{Author, By, Change, History, Target, UndoError},
    index,
    lint::{self, Finding, LintContext},
    recall, secrets,
};
use workspace::Beneath;

use super::{
    Memories, actor,
    deed::{Deed, Remembered},
};
use crate::{
    agent::Agent,
    event::{MemoryActor, MemoryEvent, MemoryEventKind},
    files,
    recall::explained,
    types::{AgentError, Recalled},
};

const SNIPPET_CHARS: usize = 200;

pub struct ListedMemories {
    pub directory: PathBuf,
    /// With whether it names files that are not there any more.
    pub memories: Vec<(Memory, bool)>,
}

pub struct MemoryHit {
    pub path: PathBuf,
    pub score: f64,
    pub snippet: String,
}

/// A change as it is shown.
pub struct HistoryEntry {
    pub id: String,
    pub path: PathBuf,
    pub at: Timestamp,
    pub by: MemoryActor,
    pub why: String,
    pub session: Option<String>,
    pub message: Option<String>,
    pub diff: String,
    /// The whole texts, where they were asked for and are kept.
    pub before: Option<String>,
    pub after: Option<String>,
}

/// Which changes are asked for, and how much of them.
#[derive(Clone, Debug, Default)]
pub struct HistoryQuery {
    pub path: Option<String>,
    pub change: Option<String>,
    pub limit: usize,
    pub contents: bool,
}

pub struct UndoneMemories {
    pub restored: Vec<PathBuf>,
    /// What was left alone, and why.
    pub kept: Vec<(PathBuf, String)>,
}

impl Agent {
    pub fn memory_list(&self) -> Result<ListedMemories, AgentError> {
        let memories = self.memories()?;
        let stale = self.stale_paths(&memories);
        let listed = memories.store.memories().into_iter().map(|memory| {
            let is_stale = stale.contains(&memories.directory().join(&memory.path));
            (memory, is_stale)
        });
        Ok(ListedMemories { memories: listed.collect(), directory: memories.directory().to_owned() })
    }

    pub fn memory_read(&self, path: &str) -> Result<String, AgentError> {
        let memories = self.memories()?;
        let (_, relative) = memories.place(path)?;
        match memories.bytes(&relative).map_err(in_the_way)? {
            Some(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            None => Err(AgentError::Invalid(format!("path: there is no memory {relative}"))),
        }
    }

    /// For the user, with a word in the history.
    pub fn memory_write(&self, path: &str, content: &str) -> Result<Remembered, AgentError> {
        let memories = self.memories()?;
        files::create_private_dir(memories.directory()).map_err(unavailable)?;
        let (place, relative) = memories.place(path)?;
        let _alone = memories.edit();
        memories.refuse_unsaved(&self.shared.workspace, [&*relative])?;
        let before = memories.bytes(&relative).map_err(in_the_way)?;
        let beneath = Beneath::open(memories.directory()).map_err(unavailable)?;
        beneath
            .write(&place, content.as_bytes())
            .map_err(|error| AgentError::Unavailable(error.to_string()))?;
        let author = Author::new(By::User, "you edited it");
        let recorded = History::open(memories.directory()).and_then(|history| {
            history.record(&relative, before.as_deref(), Some(content.as_bytes()), &author)
        });
        let change = recorded.as_ref().ok().and_then(|change| Some(change.as_ref()?.id.clone()));
        memories.tell(&*self.shared.frontend, None, recorded.map(|change| change.into_iter().collect()));
        Ok(Remembered { path: memories.directory().join(relative), change })
    }

    /// The file and its lines in the indexes.
    pub fn memory_delete(&self, path: &str) -> Result<Remembered, AgentError> {
        let memories = self.memories()?;
        let (_, relative) = memories.place(path)?;
        let _alone = memories.edit();
        if memories.bytes(&relative).map_err(in_the_way)?.is_none() {
            return Err(AgentError::Invalid(format!("path: there is no memory {relative}")));
        }
        let indexes = memories.indexes_without(&relative)?;
        let names = indexes.iter().map(|(name, _)| *name).chain([&*relative]);
        memories.refuse_unsaved(&self.shared.workspace, names)?;
        let mut deed = Deed::begin(&memories, "you deleted it".to_owned())?;
        deed.put(&relative, None)?;
        for (name, text) in indexes {
            deed.put(name, Some(&text))?;
        }
        Ok(Remembered { path: memories.directory().join(relative), change: deed.end(self) })
    }

    pub fn memory_search(&self, query: &str, limit: usize) -> Result<Vec<MemoryHit>, AgentError> {
        let memories = self.memories()?;
        let ranked = memories.store.rank(query, limit.min(200), Timestamp::now());
        let hits = ranked.hits.into_iter().map(|hit| {
            let text = memories.store.read(&hit.id).unwrap_or_default();
            let snippet = snippet(memory::Topic::parse(&text).body, &hit.parts.matched);
            MemoryHit { path: memories.directory().join(&hit.id), score: f64::from(hit.score), snippet }
        });
        Ok(hits.collect())
    }

    /// Of a turn that recalled something, or of what a text would recall now.
    pub fn memory_explain(
        &self,
        id: &SessionId,
        turn: Option<&str>,
        query: Option<&str>,
    ) -> Result<Vec<Recalled>, AgentError> {
        let session = self.session(id)?;
        if let Some(query) = query {
            let Some(memories) = session.memories() else { return Ok(Vec::new()) };
            let ranked = memories.store.rank(query, recall::CANDIDATES, Timestamp::now());
            let known = crate::recall::known(&session, &memories);
            let mut candidates = recall::candidates(ranked, known);
            for place in recall::likely(&candidates) {
                if let Some(candidate) = candidates.get_mut(place) {
                    candidate.decision = recall::Decision::Recalled;
                    candidate.reason = candidate.hit.as_ref().map(recall::ranked_reason).unwrap_or_default();
                }
            }
            return Ok(candidates
                .iter()
                .map(|candidate| explained(memories.directory(), candidate))
                .collect());
        }
        let state = session.state();
        let mut reports = state.recalls.iter().rev();
        let report = match turn {
            Some(turn) => reports.find(|report| report.turn == turn),
            None => reports.next(),
        };
        match (report, turn) {
            (Some(report), _) => Ok(report.candidates.clone()),
            (None, None) => Ok(Vec::new()),
            (None, Some(turn)) => Err(AgentError::Invalid(format!(
                "turnId: nothing was recalled in turn {turn}, or it is forgotten"
            ))),
        }
    }

    pub fn memory_history(&self, query: &HistoryQuery) -> Result<Vec<HistoryEntry>, AgentError> {
        let memories = self.memories()?;
        let relative = query.path.as_deref().map(|path| memories.named(path)).transpose()?;
        let history = match History::open(memories.directory()) {
            Ok(history) => history,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unavailable(error)),
        };
        // What nobody has looked at yet is a change, too. Whoever writes just now records it.
        if let Ok(_nobody_writes) = memories.writing.try_write() {
            memories.tell(&*self.shared.frontend, None, history.observe());
        }
        // A change is looked for among all that are kept.
        let limit = if query.change.is_some() { usize::MAX } else { query.limit.min(1_000) };
        let changes = history.changes(relative.as_deref(), limit).map_err(unavailable)?;
        let wanted = |change: &Change| query.change.as_ref().is_none_or(|id| *id == change.id);
        let text = |content: std::io::Result<Option<Vec<u8>>>| {
            content
                .ok()
                .flatten()
                .filter(|_| query.contents)
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        let entries = changes.into_iter().filter(wanted).map(|change| HistoryEntry {
            diff: history.diff(&change),
            before: text(history.before(&change)),
            after: text(history.after(&change)),
            path: memories.directory().join(&change.path),
            id: change.id,
            at: change.at,
            by: actor(change.by),
            why: change.why,
            session: change.session,
            message: change.message,
        });
        Ok(entries.collect())
    }

    pub fn memory_undo(&self, target: Target) -> Result<UndoneMemories, AgentError> {
        let memories = self.memories()?;
        let _alone = memories.edit();
        let history = History::open(memories.directory()).map_err(unavailable)?;
        let mut author = Author::new(By::User, "you took it back");
        author.group = Some(uuid::Uuid::now_v7().to_string());
        let undone = history.undo(&target, &author, &memories.unsaved(&self.shared.workspace));
        let undone = undone.map_err(|error| match error {
            UndoError::Unknown(_) => AgentError::Invalid(error.to_string()),
            UndoError::Io(error) => unavailable(error),
        })?;
        memories.store.mark_stale();
        self.shared.frontend.memory_changed();
        let topics = undone.changes.iter().filter(|change| !index::is_index(&change.path));
        let files: Vec<_> = topics.map(|change| memories.file(change)).collect();
        if !files.is_empty() {
            let kind = MemoryEventKind::Undone;
            let by = MemoryActor::User;
            self.shared.frontend.memory_event(MemoryEvent { kind, session: None, turn: None, by, files });
        }
        let absolute = |path: &String| memories.directory().join(path);
        Ok(UndoneMemories {
            restored: undone.paths.iter().map(absolute).collect(),
            kept: undone.conflicts.iter().map(|(path, why)| (absolute(path), why.clone())).collect(),
        })
    }

    pub fn memory_lint(&self) -> Result<Vec<Finding>, AgentError> {
        let memories = self.memories()?;
        let workspace = self.shared.workspace.clone();
        let buffer = move |path: &Path| workspace.document_text(path);
        let context = LintContext {
            roots: self.shared.workspace.roots(),
            secrets: Some(&secrets::by_line),
            buffer: Some(&buffer),
        };
        match lint::lint(memories.directory(), &context) {
            Ok(findings) => Ok(findings),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(unavailable(error)),
        }
    }

    /// The memories that name files which are not there any more.
    fn stale_paths(&self, memories: &Memories) -> HashSet<PathBuf> {
        let context = LintContext { roots: self.shared.workspace.roots(), ..LintContext::default() };
        let findings = lint::lint(memories.directory(), &context).unwrap_or_default();
        let stale = findings.into_iter().filter(|finding| finding.code == lint::code::STALE_REFERENCE);
        stale.map(|finding| finding.path).collect()
    }

    /// Of the first workspace folder.
    pub(super) fn memories(&self) -> Result<Arc<Memories>, AgentError> {
        let folder = self.default_folder();
        let settings = self.shared.settings(&folder).settings;
        if !settings.auto_memory(&self.shared.environment) {
            return Err(AgentError::Unavailable("memory is switched off".to_owned()));
        }
        Ok(self.shared.memories(&settings.memory_dir(&self.shared.environment, &folder)))
    }
}

impl Memories {
    /// Where a user's path leads: below the directory, by the rules that hold for everyone who writes there.
    pub(super) fn place(&self, path: &str) -> Result<(workspace::Relative, String), AgentError> {
        let relative = self.named(path)?;
        let beneath = Beneath::open(self.directory()).map_err(unavailable)?;
        let place = beneath
            .check(&self.directory().join(&relative))
            .map_err(|refusal| AgentError::Invalid(format!("path: {refusal}")))?;
        let relative = place.to_path().to_string_lossy().into_owned();
        Ok((place, relative))
    }

    /// The path below the directory.
    fn named(&self, path: &str) -> Result<String, AgentError> {
        let absolute = self.directory().join(Path::new(path));
        let climbs = absolute.components().any(|part| part == Component::ParentDir);
        self.relative(&absolute).filter(|_| !climbs).ok_or_else(|| {
            AgentError::Invalid(format!("path: {path} is not below {}", self.directory().display()))
        })
    }
}

/// The line that has most of the words, shortened.
fn snippet(body: &str, words: &[String]) -> String {
    let count = |line: &str| {
        let lower = line.to_lowercase();
        words.iter().filter(|word| lower.contains(word.as_str())).count()
    };
    let lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
    // The first of the best.
    let best = lines.rev().max_by_key(|line| count(line)).unwrap_or_default();
    best.chars().take(SNIPPET_CHARS).collect()
}

/// What a file is that cannot be read as a whole; the words name it.
pub(super) fn in_the_way(error: std::io::Error) -> AgentError {
    AgentError::Unavailable(error.to_string())
}

pub(super) fn unavailable(error: std::io::Error) -> AgentError {
    AgentError::Unavailable(format!("memory cannot be used: {error}"))
}
